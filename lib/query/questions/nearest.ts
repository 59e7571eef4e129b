/** `nearest`: the nearest of some candidates to a source, or to many and which serve them best. @module */
import * as z from "zod";
import { UserError } from "../../base/errors.ts";
import { formatMs, percentText } from "../../base/text.ts";
import { formatTable } from "../../base/text_table.ts";
import { formatPrefix, isAddress, withName } from "../../data/addresses/ip_prefix.ts";
import { basisSchema } from "../../data/addresses/known_addresses.ts";
import { lossText, worstText } from "../destinations/nearest_texts.ts";
import type { SitePairs } from "../destinations/sites.ts";
import type { FileQuery } from "../rtt/query_file.ts";
import { inField, parseQuestion } from "../rtt/rtt_question.ts";
import {
  answeredTime,
  context,
  draws,
  end,
  endNames,
  fields,
  notes,
  probe,
  question,
  readSource,
  seed,
  SERVED_DRAWS,
  src,
  step,
  time,
  timeLine,
} from "./question.ts";

const NEAREST_ORDERS = ["median", "probability"] as const;
/** Maximum number of candidates; each takes 0.14 MB. */
const MAX_CANDIDATES = 10_000;
/** Maximum number of candidates, and of sources, on a server. */
const SERVED_CANDIDATES = 256;
/** Maximum number of sources, and of their pairs with the candidates. */
const MAX_SOURCES = 100_000;
const MAX_PAIRS = 1_000_000;
/** Maximum number of candidates for many sources; each takes 0.4 MB. */
const MAX_SITES = 1000;
const DEFAULT_BEST = 3;

const candidates = (most: number) =>
  z.array(z.union([end, fields({ dst: end, context })])).min(1).max(most)
    .describe(
      "addresses, prefixes or places of the source's IP version; or objects with dst and their own context",
    )
    .meta({ examples: [["198.51.100.7", "203.0.113.0/24"]] });
const sources = (most: number) =>
  z.array(z.union([end, fields({ src: end, weight: z.number().positive().optional() })])).min(1).max(most)
    .optional().describe(
      "in place of src, the clients that the candidates serve: addresses, prefixes or places, or objects with src and a weight (1); a server takes at most 4,096 pairs",
    ).meta({ examples: [["192.0.2.1", "192.0.2.128/25"]] });
const top = (most: number) =>
  z.int().min(1).max(most).optional().describe("number of candidates to list (5)").meta({ examples: [5] });

const worst = {
  worst_src: z.string().optional().describe("the source with the longest median"),
  worst_src_name: endNames.src_name,
};

const candidate = z.object({
  candidate: z.string().describe("the candidate as given"),
  name: z.string().optional().describe("the name of the candidate, if any"),
  median_ms: z.number().describe("median; of many sources that of their mixed distributions"),
  mean_ms: z.number().describe("mean of the replies up to 60 s, to four digits"),
  p_failed: z.number().describe("P(no reply)"),
  p_nearest: z.number().describe("P(its reply is the first of all), with ties shared"),
  regret_ms: z.number().describe(
    "how much longer its RTT is than the shortest of all candidates, on average when all reply",
  ),
  basis: basisSchema.optional().describe("absent if there are sources"),
  high_ms: z.number().optional().describe("5 % of the replies to all sources are slower"),
  worst_ms: z.number().optional().describe("the longest median RTT of a source"),
  ...worst,
  measured: z.int().optional().describe("number of sources whose pair with it was measured"),
  notes,
});

const choice = z.object({
  candidates: z.array(z.string()).describe("in the order of choice: each lowers mean_ms most"),
  shares: z.array(z.number()).describe("share of the sources that use each, by weight"),
  mean_ms: z.number().describe("mean over the sources of the median RTT to the candidate that they use"),
  high_ms: z.number().describe("95 % of the sources have at most this median"),
  worst_ms: z.number().describe("the longest median"),
  ...worst,
  p_failed: z.number().describe("P(no reply)"),
  optimum_ms: z.number().describe(
    "mean_ms of the best choice of as many candidates, or a lower bound of it",
  ),
  is_exact: z.boolean().describe("whether all choices were tried; else optimum_ms is the bound"),
  better: z.array(z.string()).optional().describe("the best choice, if it is known and another"),
});
type Choice = z.output<typeof choice>;

const answer = z.object({
  src: z.string().optional().describe("absent if there are sources"),
  src_name: endNames.src_name,
  sources: z.int().optional().describe(
    "number of distinct sources, if asked; all means are then over them, by weight",
  ),
  time: answeredTime,
  nearest: z.array(candidate).describe("nearest first"),
  candidates: z.int().describe("number of distinct candidates compared"),
  p_no_reply: z.number().describe("P(no candidate replies)"),
  min_ms: z.number().describe("mean of the shortest RTT when all candidates reply"),
  best: z.array(choice).optional().describe(
    "with sources: choices of one candidate, two and so on, where each source uses the one with the shortest median",
  ),
  notes,
  step,
});

export const nearest = question({
  name: "nearest",
  summary: "which candidates are nearest to a source, or serve many sources best, by their RTT distributions",
  question: fields({
    src: src.optional(),
    probe,
    sources: sources(MAX_SOURCES),
    candidates: candidates(MAX_CANDIDATES),
    time,
    context,
    top: top(MAX_CANDIDATES),
    by: z.enum(NEAREST_ORDERS).optional()
      .describe("the order: by median RTT, or by the probability of being the nearest (median)"),
    best: z.int().min(1).max(100).optional().describe(
      `with sources: how many candidates to choose together, by the mean of the sources' medians (${DEFAULT_BEST})`,
    ).meta({ examples: [DEFAULT_BEST] }),
    draws: draws(2 ** 17),
    seed,
  }),
  served: {
    sources: sources(SERVED_CANDIDATES),
    candidates: candidates(SERVED_CANDIDATES),
    top: top(SERVED_CANDIDATES),
    draws: draws(SERVED_DRAWS),
  },
  answer,
  async ask(asking, asked) {
    const { src, sources, candidates, time, context, top = 5, by = "median", draws: numDraws, seed } = asked;
    if ((src === undefined) === (sources === undefined)) {
      throw new UserError({
        path: ["src"],
        value: src === undefined ? null : "both src and sources",
        expected: "either src, or sources for many",
      });
    }
    const [other, needed] = sources === undefined ? ["best", "sources"] as const : ["probe", "src"] as const;
    if (asked[other] !== undefined) {
      throw new UserError({ path: [other], value: String(asked[other]), expected: `it only with ${needed}` });
    }
    const { model } = asking;
    const { prepareQuery } = await import("../rtt/answer_queries.ts");
    const { nearestOf } = await import("../destinations/nearest.ts");
    const clients = (sources ?? [src ?? ""]).map((each) =>
      typeof each === "string" ? { src: each, weight: 1 } : { src: each.src, weight: each.weight ?? 1 }
    );
    const [{ src: first }] = clients;
    const { timeS, context: shared } = readSource({ src: first, time, context }, model.places);
    const queryOf = (src: string, each: typeof candidates[0], i: number): FileQuery => {
      const { dst, context: own } = typeof each === "string" ? { dst: each, context: undefined } : each;
      const read = parseQuestion({ src, dst, time, context: own, probe: asked.probe }, model.places);
      const query = { line: i + 1, src, dst, ...read, context: read.context ?? shared };
      return prepareQuery(model, query, []).query;
    };
    const queries = candidates.map((each, i) => inField(["candidates", i], () => queryOf(first, each, i)));
    if (sources) {
      const { sitesOf } = await import("../destinations/sites.ts");
      const { DEFAULT_NUM_DRAWS } = await import("../rtt/prefix_query.ts");
      const pairs = pairsOf(
        clients.map((each, i) => (
          { ...each, query: inField(["sources", i], () => queryOf(each.src, candidates[0], 0)) }
        )),
        queries,
      );
      const { mostPairs = MAX_PAIRS } = asking;
      const numPairs = pairs.sources.length * pairs.candidates.length;
      if (numPairs > mostPairs || pairs.candidates.length > MAX_SITES) {
        throw new UserError({
          value: `${pairs.sources.length} sources and ${pairs.candidates.length} candidates`,
          expected: `at most ${mostPairs} pairs and ${MAX_SITES} candidates`,
        });
      }
      const best = Math.min(asked.best ?? DEFAULT_BEST, pairs.candidates.length);
      const found = await asking.inTurn(
        costOf(pairs, numDraws ?? DEFAULT_NUM_DRAWS),
        () =>
          sitesOf(model, pairs, {
            ...{ by, top, best, numDraws, seed },
            onDraws: () => asking.onProgress(),
            onProgress: (done) => asking.onProgress(done),
          }),
      );
      const notes = new Set([...pairs.sources, ...pairs.candidates].flatMap(({ notes }) => notes));
      return { time: timeS, ...found, ...(notes.size > 0 && { notes: [...notes] }), step: model.step };
    }
    const answer = await asking.inTurn(queries.length, () =>
      nearestOf(model, queries, {
        by,
        top,
        numDraws,
        seed,
        maxCandidates: MAX_CANDIDATES,
        context: [],
        onDraws: () => asking.onProgress(),
        onProgress: (done) => asking.onProgress(done),
      }));
    return {
      src: first,
      ...model.names.namedEnds({ src: first }),
      time: timeS,
      ...answer,
      step: model.step,
    };
  },
  text({ time, sources, nearest, candidates, p_no_reply, min_ms, best }) {
    const rows = nearest.map((each) => [
      withName(each.candidate, each.name),
      formatMs(each.median_ms),
      ...(each.high_ms === undefined ? [] : [formatMs(each.high_ms), worstText(each)]),
      percentText(each.p_nearest),
      formatMs(each.regret_ms),
      percentText(each.p_failed),
      each.basis?.kind ?? `${each.measured} of ${sources} measured`,
    ]);
    const spread = sources === undefined ? [] : ["95 %", "worst median"];
    const head = ["candidate", "median", ...spread, "P(nearest)", "regret", "no reply", "basis"];
    return [
      formatTable([head, ...rows], { left: [0, head.length - 1] }),
      `of ${candidates} candidates; the shortest of their RTTs is ${formatMs(min_ms)} on average, ` +
      `P(none replies) ${
        percentText(p_no_reply)
      }; the regret of a choice is how much longer its RTT is on average`,
      ...(best ? ["", choicesText(best, nearest)] : []),
      timeLine(time),
    ].join("\n");
  },
});

function choicesText(best: readonly Choice[], nearest: readonly z.output<typeof candidate>[]): string {
  const names = new Map(nearest.map(({ candidate, name }) => [candidate, name]));
  const shown = (candidate: string) => withName(candidate, names.get(candidate));
  const rows = best.map((each, k) => [
    String(k + 1),
    shown(each.candidates[k]),
    formatMs(each.mean_ms),
    formatMs(each.high_ms),
    worstText(each),
    percentText(each.p_failed),
    lossText(each),
  ]);
  const head = ["number", "added", "mean", "95 %", "worst", "no reply", "longer than the best choice"];
  const better = best.flatMap(({ better, optimum_ms }) =>
    better ? [`${better.map(shown).join(" and ")} together have ${formatMs(optimum_ms)}`] : []
  );
  const shares = best[best.length - 1].shares.map((share, k) =>
    `${shown(best[k].candidates[k])} ${percentText(share)}`
  );
  return [
    "Together, each source using the one with the shortest median: mean, 95 % and worst of these medians",
    formatTable([head, ...rows], { left: [1] }),
    ...better,
    `shares of the sources: ${shares.join(", ")}`,
  ].join("\n");
}

/** The distinct sources, whose weights are added, and the distinct candidates. */
function pairsOf(
  clients: readonly { readonly query: FileQuery; readonly weight: number }[],
  candidates: readonly FileQuery[],
): SitePairs {
  const sources = Map.groupBy(clients, ({ query }) => formatPrefix(query.source));
  const distinct = Map.groupBy(candidates, ({ destination }) => formatPrefix(destination));
  return {
    sources: Array.from(sources.values(), ([{ query }]) => query),
    weights: Array.from(sources.values(), (same) => same.reduce((sum, { weight }) => sum + weight, 0)),
    candidates: Array.from(distinct.values(), ([query]) => query),
  };
}

/** The number of distributions: a pair with a prefix or place takes one for each draw. */
function costOf({ sources, candidates }: SitePairs, numDraws: number): number {
  const exact = [
    sources.filter(({ source }) => isAddress(source)),
    candidates.filter(({ destination }) => isAddress(destination)),
  ];
  const numExact = exact[0].length * exact[1].length;
  return numExact + (sources.length * candidates.length - numExact) * numDraws;
}

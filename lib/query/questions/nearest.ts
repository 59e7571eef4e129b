/** `nearest`: the nearest of some candidates to a source. @module */
import * as z from "zod";
import { formatMs, percentText } from "../../base/text.ts";
import { formatTable } from "../../base/text_table.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import { basisSchema } from "../../data/addresses/known_addresses.ts";
import { inField, parseQuestion } from "../rtt/rtt_question.ts";
import {
  answeredTime,
  context,
  draws,
  end,
  endNames,
  fields,
  notes,
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
/** Maximum number of candidates on a server. */
const SERVED_CANDIDATES = 256;

const candidates = (most: number) =>
  z.array(z.union([end, fields({ dst: end, context })])).min(1).max(most)
    .describe(
      "addresses, prefixes or places of the source's IP version; or objects with dst and their own context",
    )
    .meta({ examples: [["198.51.100.7", "203.0.113.0/24"]] });
const top = (most: number) =>
  z.int().min(1).max(most).optional().describe("number of candidates to list (5)").meta({ examples: [5] });

export const nearest = question({
  name: "nearest",
  summary: "which candidates are nearest to a source, by their RTT distributions",
  question: fields({
    src,
    candidates: candidates(MAX_CANDIDATES),
    time,
    context,
    top: top(MAX_CANDIDATES),
    by: z.enum(NEAREST_ORDERS).optional()
      .describe("the order: by median RTT, or by the probability of being the nearest (median)"),
    draws: draws(2 ** 17),
    seed,
  }),
  served: {
    candidates: candidates(SERVED_CANDIDATES),
    top: top(SERVED_CANDIDATES),
    draws: draws(SERVED_DRAWS),
  },
  answer: z.object({
    src: z.string(),
    src_name: endNames.src_name,
    time: answeredTime,
    nearest: z.array(z.object({
      candidate: z.string().describe("the candidate as given"),
      name: z.string().optional().describe("the name of the candidate, if any"),
      median_ms: z.number(),
      mean_ms: z.number().describe("mean of the replies up to 60 s, to four digits"),
      p_failed: z.number().describe("P(no reply)"),
      p_nearest: z.number().describe("P(its reply is the first of all), with ties shared"),
      regret_ms: z.number().describe(
        "how much longer its RTT is than the shortest of all candidates, on average when all reply",
      ),
      basis: basisSchema,
      notes,
    })).describe("nearest first"),
    candidates: z.int().describe("number of distinct candidates compared"),
    p_no_reply: z.number().describe("P(no candidate replies)"),
    min_ms: z.number().describe("mean of the shortest RTT when all candidates reply"),
    step,
  }),
  async ask(asking, { src, candidates, time, context, top = 5, by = "median", draws: numDraws, seed }) {
    const { model } = asking;
    const { prepareQuery } = await import("../rtt/answer_queries.ts");
    const { nearestOf } = await import("../destinations/nearest.ts");
    const { timeS, context: shared } = readSource({ src, time, context }, model.places);
    const queries = candidates.map((each, i) => {
      const { dst, context: own } = typeof each === "string" ? { dst: each, context: undefined } : each;
      return inField(["candidates", i], () => {
        const asked = parseQuestion({ src, dst, time, context: own }, model.places);
        const query = { line: i + 1, src, dst, ...asked, context: asked.context ?? shared };
        return prepareQuery(model, query, []).query;
      });
    });
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
      src,
      ...model.names.namedEnds({ src }),
      time: timeS,
      ...answer,
      step: model.step,
    };
  },
  text({ time, nearest, candidates, p_no_reply, min_ms }) {
    const rows = nearest.map(({ candidate, name, median_ms, p_failed, p_nearest, regret_ms, basis }) => [
      withName(candidate, name),
      formatMs(median_ms),
      percentText(p_nearest),
      formatMs(regret_ms),
      percentText(p_failed),
      basis.kind,
    ]);
    const head = ["candidate", "median", "P(nearest)", "regret", "no reply", "basis"];
    return [
      formatTable([head, ...rows], { left: [0, 5] }),
      `of ${candidates} candidates; the shortest of their RTTs is ${formatMs(min_ms)} on average, ` +
      `P(none replies) ${
        percentText(p_no_reply)
      }; the regret of a choice is how much longer its RTT is on average`,
      timeLine(time),
    ].join("\n");
  },
});

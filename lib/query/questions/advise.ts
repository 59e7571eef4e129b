/** `advise`: the measurements after which an adapted model would be most certain about others. @module */
import * as z from "zod";
import { formatMs } from "../../base/text.ts";
import { formatTable } from "../../base/text_table.ts";
import { UserError } from "../../base/errors.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import { isAddress, withName } from "../../data/addresses/ip_prefix.ts";
import type { FileQuery } from "../rtt/query_file.ts";
import { basisKindSchema } from "../../data/addresses/known_addresses.ts";
import { inField, parseEnds, parseQuestion } from "../rtt/rtt_question.ts";
import {
  answeredTime,
  context,
  draws,
  dst,
  end,
  endNames,
  fields,
  question,
  readSource,
  seed,
  SERVED_DRAWS,
  src,
  step,
  time,
} from "./question.ts";

/** Maximum number of pairs; each takes 20 kB. */
const MAX_PAIRS = 100_000;
/** Maximum number of pairs on a server. */
const SERVED_PAIRS = 256;

const pair = fields({ src: src.optional(), dst, context });
const pairs = (most: number) =>
  z.array(z.union([end, pair])).min(1).max(most)
    .meta({ examples: [["198.51.100.7", "203.0.113.5"]] });
const candidates = (most: number) =>
  pairs(most).optional().describe(
    "candidates to measure: destinations of the source, or objects with src and dst (pairs of the source and " +
      "the most measured addresses that were not measured)",
  );
const targets = (most: number) =>
  pairs(most).optional().describe("the pairs whose RTTs are wanted, in the same form (all candidates)");

export const advise = question({
  name: "advise",
  summary:
    "which measurements would most reduce the uncertainty about the others, once the model is adapted to them",
  question: fields({
    src: src.optional(),
    candidates: candidates(MAX_PAIRS),
    targets: targets(MAX_PAIRS),
    budget: z.int().min(1).max(1000).optional().describe("number of measurements to choose (20)")
      .meta({ examples: [20] }),
    time,
    context,
    draws: draws(2 ** 17),
    seed,
  }),
  served: {
    candidates: candidates(SERVED_PAIRS),
    targets: targets(SERVED_PAIRS),
    draws: draws(SERVED_DRAWS),
  },
  answer: z.object({
    advice: z.array(z.object({
      src: z.string(),
      dst: z.string(),
      ...endNames,
      basis: basisKindSchema,
      median_ms: z.number().describe("median RTT before any adaptation"),
      reduction_ms: z.number()
        .describe("how much the measurement reduces the spread of the wanted RTTs, given the previous ones"),
      spread_before_ms: z.number()
        .describe("geometric mean of the interquartile ranges of the wanted RTTs before the measurement"),
      spread_after_ms: z.number().describe("the same after the measurement"),
    })).describe("best first"),
    time: answeredTime,
    step,
  }),
  async ask(asking, { src, candidates, targets, budget = 20, time, context, draws: numDraws, seed }) {
    const { model } = asking;
    const { adviseOn, knownPairsOf, requireCoordinates } = await import("../destinations/advise.ts");
    const { prepareQuery } = await import("../rtt/answer_queries.ts");
    requireCoordinates(model);
    const { source, timeS, context: shared } = readSource(
      { src: src ?? "0.0.0.0", time, context },
      model.places,
    );
    const unmeasured = () => {
      const known = src === undefined || !isAddress(source) ? [] : knownPairsOf(model, source.bytes);
      const pairs = known.filter(({ isMeasured }) => !isMeasured);
      if (pairs.length > 0) {
        return pairs.map((pair) => ({
          src: formatAddress(pair.source),
          dst: formatAddress(pair.destination),
        }));
      }
      throw new UserError({
        path: ["candidates"],
        found: "found none, and src is not an address with known ones left to measure",
      });
    };
    const read = (list: z.output<ReturnType<typeof pairs>>, name: string) =>
      list.map((each, i): FileQuery => {
        const { src: from = src, dst, context }: z.output<typeof pair> = typeof each === "string"
          ? { dst: each }
          : each;
        return inField([name, i], () => {
          const asked = parseQuestion({ src: from, dst, time, context }, model.places);
          const query = { line: i + 1, src: String(from), dst, ...asked };
          prepareQuery(model, query, shared);
          return query;
        });
      });
    const wanted = {
      candidates: read(candidates ?? unmeasured(), "candidates"),
      targets: targets && read(targets, "targets"),
    };
    const { length: numTargets } = wanted.targets ?? wanted.candidates;
    const advice = await asking.inTurn(wanted.candidates.length * numTargets, () =>
      adviseOn(model, wanted, {
        budget,
        context: shared,
        numDraws,
        seed,
        onDraws: () => asking.onProgress(),
        onProgress: (done) => asking.onProgress(done),
      }));
    return {
      advice: advice.map(({ src, dst, ...numbers }) => ({
        src,
        dst,
        ...model.names.namedEnds({ src, dst }),
        basis: model.basisKindOf(parseEnds(src, dst, model.places)),
        ...numbers,
      })),
      time: timeS,
      step: model.step,
    };
  },
  text({ advice }) {
    const rows = advice.map((each) => [
      withName(each.src, each.src_name),
      withName(each.dst, each.dst_name),
      each.basis,
      formatMs(each.median_ms),
      formatMs(each.reduction_ms),
      `${formatMs(each.spread_before_ms)} -> ${formatMs(each.spread_after_ms)}`,
    ]);
    return formatTable([["src", "dst", "basis", "median", "reduction", "spread"], ...rows], {
      left: [0, 1, 2],
    });
  },
});

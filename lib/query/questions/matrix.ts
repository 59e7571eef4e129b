/** `matrix`: the RTTs between all pairs of some nodes, or from them to others. @module */
import * as z from "zod";
import { UserError } from "../../base/errors.ts";
import { formatMs } from "../../base/text.ts";
import { formatTable } from "../../base/text_table.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import { basisKindSchema } from "../../data/addresses/known_addresses.ts";
import type { MatrixNode, MatrixRow } from "../rtt/rtt_matrix.ts";
import {
  answeredTime,
  context,
  draws,
  end,
  fields,
  question,
  readSource,
  seed,
  SERVED_DRAWS,
  step,
  time,
  timeLine,
} from "./question.ts";

/** Maximum number of pairs on a server, including a node with itself: a few seconds on two cores. */
const SERVED_PAIRS = 4096;
/** Maximum number of nodes on either side, and the maximum on a server. */
const MAX_NODES = 100_000;
const SERVED_NODES = 256;

const nodes = (most: number) =>
  z.array(end).min(1).max(most).meta({ examples: [["192.0.2.1", "198.51.100.0/24"]] });
const perDestination = z.array(z.number().nullable());
const sources = (most: number) => nodes(most).describe("addresses, prefixes or places");
const destinations = (most: number) =>
  nodes(most).optional().describe(
    "report only RTTs from the nodes to these addresses, prefixes or places (the nodes)",
  );
const samples = (most: number) =>
  z.int().min(0).max(most).optional()
    .describe("number of RTTs to draw for each pair; they depend only on the pair and the seed (0)").meta({
      examples: [8],
    });

const row = z.object({
  src: z.string(),
  src_name: z.string().optional(),
  basis: z.array(basisKindSchema.nullable()),
  median_ms: perDestination,
  p_failed: perDestination.describe("P(no reply)"),
  availability: perDestination.describe("1 - P(no reply)"),
  jitter_ms: perDestination.describe(
    "mean absolute difference of the pair's successive measured RTTs, as in RFC 3550; null if it has less than two: " +
      "the spread of its distribution is then uncertainty, not jitter",
  ),
  quantiles_ms: z.record(z.string(), perDestination).describe("RTTs by quantile"),
  samples_ms: z.array(perDestination.nullable()).optional()
    .describe("RTTs drawn for each destination, ms; null: no reply"),
}) satisfies z.ZodType<MatrixRow>;

export const matrix = question({
  name: "matrix",
  summary: "RTTs between all pairs of nodes, or from the nodes to other destinations",
  question: fields({
    nodes: sources(MAX_NODES),
    destinations: destinations(MAX_NODES),
    time,
    context,
    quantiles: z.array(z.number().min(0).max(1)).max(32).optional()
      .describe("quantiles in addition to the median, 0 to 1 (0.05,0.95)").meta({ examples: [[0.1, 0.9]] }),
    samples: samples(1000),
    draws: draws(2 ** 17),
    seed,
  }),
  served: {
    nodes: sources(SERVED_NODES).describe(
      "addresses, prefixes or places; at most 4,096 pairs with the destinations",
    ),
    destinations: destinations(SERVED_NODES),
    samples: samples(32),
    draws: draws(SERVED_DRAWS),
  },
  answer: z.object({
    destinations: z.array(z.string()),
    destination_names: z.array(z.string().nullable()).optional().describe("null if there is none"),
    time: answeredTime,
    rows: z.array(row).describe(
      "a row for each node, in order, with a number for each destination; null for the node itself",
    ),
    step,
  }),
  async ask(
    asking,
    {
      nodes,
      destinations: others = nodes,
      time,
      context,
      quantiles = [0.05, 0.95],
      samples = 0,
      draws,
      seed,
    },
  ) {
    const { model } = asking;
    if (nodes.length * others.length > SERVED_PAIRS) {
      throw new UserError({
        value: `${nodes.length} nodes and ${others.length} destinations`,
        expected: `at most ${SERVED_PAIRS} pairs`,
        advice: "ask for parts of the matrix",
      });
    }
    const { matrixNodes, RttMatrix } = await import("../rtt/rtt_matrix.ts");
    const { queryOf } = await import("../rtt/query_file.ts");
    const read = async (list: readonly string[], field: "nodes" | "destinations") =>
      await matrixNodes(
        list.map((dst, i) => queryOf(i + 1, () => ({ src: "0.0.0.0", dst }), model)),
        field,
        model.names,
      );
    const { timeS, context: known } = readSource({ src: "0.0.0.0", time, context });
    const matrix = new RttMatrix(model, {
      nodes: await read(nodes, "nodes"),
      destinations: await read(others, "destinations"),
      timeS,
      context: known,
      quantiles,
      numSamples: samples,
      numDraws: draws,
      seed,
      onDraws: () => asking.onProgress(),
    });
    const { numCells, blockCells, width, options: { destinations } } = matrix;
    const numbers = new Float64Array(numCells * width);
    await asking.inTurn(numCells, async () => {
      for (let first = 0; first < numCells; first += blockCells) {
        asking.onProgress(first);
        numbers.set(await matrix.block(first), first * width);
      }
    });
    const size = destinations.length * width;
    return {
      destinations: destinations.map(({ dst }) => dst),
      ...destinationNames(destinations),
      time: timeS,
      rows: nodes.map((_, i) => matrix.row(i, numbers.subarray(i * size, (i + 1) * size))),
      step: model.step,
    };
  },
  text({ time, destinations, destination_names: names = [], rows }) {
    const head = ["median", ...destinations.map((each, i) => withName(each, names[i] ?? undefined))];
    const cells = rows.map(({ src, src_name, median_ms }) => [
      withName(src, src_name),
      ...median_ms.map((ms) => ms === null ? "-" : formatMs(ms)),
    ]);
    return `${formatTable([head, ...cells], { left: [0] })}\n${timeLine(time)}`;
  },
});

/** Names of destinations, null for those without; empty if no destination has a name. */
export function destinationNames(
  destinations: readonly MatrixNode[],
): { destination_names?: (string | null)[] } {
  if (destinations.every(({ name }) => name === undefined)) return {};
  return { destination_names: destinations.map(({ name }) => name ?? null) };
}

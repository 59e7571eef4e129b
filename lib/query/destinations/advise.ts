/**
 * Chooses which candidate pairs to measure next, so that a model adapted to the measurements is most certain
 * about others. The choice is based on the model's coordinates (`lib/model/coordinates/design.ts`); the model
 * estimates the benefit of each in ms.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { UserError } from "../../base/errors.ts";
import { meanOf } from "../../base/sample_statistics.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import { formatPrefix, type IpPrefix, isAddress, prefixOfAddress } from "../../data/addresses/ip_prefix.ts";
import { NO_ROW } from "../../model/embedding_table.ts";
import { AddressEmbeddings } from "../../model/address_embeddings.ts";
import {
  type DesignNode,
  type DesignPair,
  gainOf,
  measure,
  MeasurementDesign,
  varianceOf,
  want,
} from "../../model/coordinates/design.ts";
import { noiseOf } from "../../model/coordinates/factorisation.ts";
import type { PingModel } from "../ping_model.ts";
import { type AnswerOptions, answerQueries } from "../rtt/answer_queries.ts";
import type { FileQuery } from "../rtt/query_file.ts";
import { faultIn } from "../rtt/rtt_question.ts";
import { tablesOf } from "./source_prior.ts";

interface AdvisedMeasurement {
  /** Source as given. */
  readonly src: string;
  /** Destination as given. */
  readonly dst: string;
  /** Median RTT that the model predicts for it. */
  readonly median_ms: number;
  /** By how much the spread of the wanted RTTs falls, given the measurements listed before. */
  readonly reduction_ms: number;
  /** Geometric mean of the interquartile ranges of the wanted RTTs before this measurement. */
  readonly spread_before_ms: number;
  /** The same after this measurement. */
  readonly spread_after_ms: number;
}

export interface AdviceOptions extends Omit<AnswerOptions, "quantiles"> {
  /** Maximum number of measurements. */
  readonly budget: number;
  /** Called with the number of pairs that the model has answered; may throw to cancel. */
  readonly onProgress?: (done: number) => void;
}

const QUARTILES = [0.25, 0.5, 0.75];
/** Lower bound of the interquartile range. */
const LEAST_MS = 1e-3;

interface Pair extends Record<"src" | "dst", string> {
  readonly nodes: DesignPair;
  readonly median_ms: number;
  readonly iqrMs: number;
  /** The variance of the logarithm of the RTT, as that of a normal distribution with the same quartiles. */
  readonly variance: number;
}

/** The interquartile range of a normal distribution with variance 1. */
const NORMAL_IQR = 1.349;

/**
 * The share of the model's variance of a pair that is left by the measurements of the design. The model knows
 * more than the coordinates, such as what places tell, so the measurements add their precision to the
 * model's variance instead of the design's. The errors of the coordinates are left in any case.
 *
 * @param before The design's variance without the measurements.
 * @internal
 */
export function varianceLeft({ nodes, variance }: Pick<Pair, "nodes" | "variance">, before: number): number {
  const error = noiseOf(nodes[0].error, nodes[1].error);
  const [own, first, now] = [variance, before, varianceOf(nodes)].map((each) => each - error);
  if (own <= 0 || first === now) return 1;
  return (1 / (1 / own + 1 / now - 1 / first) + error) / variance;
}

/**
 * Chooses measurements, best first. A pair counts once, whatever its direction.
 *
 * @param wanted `targets`: the pairs whose RTTs are wanted (default: the candidates).
 * @throws {UserError} If the model has no coordinates, or cannot answer a query.
 */
export async function adviseOn(
  model: PingModel,
  { candidates, targets }: { candidates: readonly FileQuery[]; targets?: readonly FileQuery[] | undefined },
  { budget, onProgress, ...asking }: AdviceOptions,
): Promise<AdvisedMeasurement[]> {
  const nodes = designNodes(model, [...candidates, ...targets ?? []], asking.context);
  let numDone = 0;
  async function pairsOf(name: string, queries: readonly FileQuery[]): Promise<Pair[]> {
    const pairs = new Map<string, Pair>();
    const answers = answerQueries(
      model,
      queries.filter(({ source, destination }) => formatPrefix(source) !== formatPrefix(destination)),
      { ...asking, quantiles: () => QUARTILES },
      ({ query, answer }) => {
        const { src, dst, source, destination } = query;
        const [low, median_ms, high] = QUARTILES.map((q) => answer.mixture.distribution.quantileMs(q));
        const key = [formatPrefix(source), formatPrefix(destination)].sort().join();
        const width = Math.log(Math.max(LEAST_MS, high) / Math.max(LEAST_MS, low)) / NORMAL_IQR;
        pairs.set(key, {
          src,
          dst,
          nodes: [nodes(source), nodes(destination)],
          median_ms,
          iqrMs: Math.max(LEAST_MS, high - low),
          variance: width ** 2,
        });
        onProgress?.(++numDone);
      },
    );
    for await (const answer of answers) {
      if (answer) throw new UserError(faultIn([name, answer.line - 1], answer.error));
    }
    return [...pairs.values()];
  }
  const left = await pairsOf("candidates", candidates);
  const wanted = targets ? await pairsOf("targets", targets) : left;
  const before = wanted.map(({ nodes }) => varianceOf(nodes));
  for (const { nodes } of wanted) want(nodes);
  const spreadMs = () => {
    const logs = wanted.map((pair, i) => Math.log(pair.iqrMs) + Math.log(varianceLeft(pair, before[i])) / 2);
    return Math.exp(meanOf(logs) ?? NaN);
  };
  const advised: AdvisedMeasurement[] = [];
  let spread_before_ms = spreadMs();
  for (const { src, dst, median_ms } of mostInformative(left, budget)) {
    const spread_after_ms = spreadMs();
    const reduction_ms = spread_before_ms - spread_after_ms;
    advised.push({ src, dst, median_ms, reduction_ms, spread_before_ms, spread_after_ms });
    spread_before_ms = spread_after_ms;
    // Lets pending signals arrive.
    await new Promise((resolve) => setTimeout(resolve, 0));
    onProgress?.(numDone);
  }
  return advised;
}

/** Yields up to `budget` pairs, best first, each after it counts as measured. */
function* mostInformative<P extends { readonly nodes: DesignPair }>(
  pairs: readonly P[],
  budget: number,
): Generator<P> {
  const gains = new Map(pairs.map((pair) => [pair, gainOf(pair.nodes)]));
  for (let numLeft = Math.min(budget, gains.size); numLeft > 0; numLeft--) {
    const [best] = [...gains].reduce((best, each) => each[1] > best[1] ? each : best);
    gains.delete(best);
    measure(best.nodes);
    yield best;
    for (const pair of gains.keys()) {
      if (pair.nodes.some((node) => best.nodes.includes(node))) gains.set(pair, gainOf(pair.nodes));
    }
  }
}

/** Maximum number of known addresses that are proposed: the most measured ones. */
const MAX_PROPOSED = 256;

interface KnownPair {
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  readonly isMeasured: boolean;
}

/**
 * The pairs of an address with the most measured known addresses: with destinations of the training data or, if
 * no source is the address, with its sources.
 */
export function knownPairsOf(
  { trainingData }: Pick<PingModel, "trainingData">,
  address: Uint8Array,
): KnownPair[] {
  const tables = tablesOf(trainingData);
  const isSource = tables.some((table) => (table.address(address)?.asSource.measurements ?? 0) > 0);
  const role = isSource ? "asDestination" : "asSource";
  return [...trainingData.known.addresses()]
    .filter((other) => other[role].measurements > 0 && other.bytes.length === address.length)
    .sort((a, b) => b[role].measurements - a[role].measurements).slice(0, MAX_PROPOSED)
    .map(({ bytes }) => {
      const [source, destination] = isSource ? [address, bytes] : [bytes, address];
      const isMeasured = tables.some((table) => table.pair(source, destination).measurements > 0);
      return { source, destination, isMeasured };
    });
}

/**
 * Chooses which measurements of an address would tell the most about its RTTs to all known addresses, without
 * asking the model.
 *
 * @returns `proposed`: best first; empty if the model has no coordinates. `numMeasured`: how many of these
 *   addresses it was measured with.
 */
export function proposalsFor(
  model: Pick<PingModel, "config" | "weights" | "trainingData">,
  address: Uint8Array,
  budget: number,
): { proposed: KnownPair[]; numMeasured: number } {
  if (!model.config.coordinates) return { proposed: [], numMeasured: 0 };
  const asked = knownPairsOf(model, address).map((pair) => ({
    ...pair,
    ends: { source: prefixOfAddress(pair.source), destination: prefixOfAddress(pair.destination) },
  }));
  const nodes = designNodes(model, asked.map(({ ends }) => ends));
  const designed = asked.map((pair) => ({
    ...pair,
    nodes: [nodes(pair.ends.source), nodes(pair.ends.destination)] as const,
  }));
  for (const { nodes } of designed) want(nodes);
  const left = designed.filter(({ isMeasured }) => !isMeasured);
  return { proposed: [...mostInformative(left, budget)], numMeasured: designed.length - left.length };
}

/** Returns the coordinates of a model. @throws {UserError} If it has none. */
export function requireCoordinates({ config, weights }: Pick<PingModel, "config" | "weights">) {
  const embeddings = new AddressEmbeddings(config);
  embeddings.load(weights);
  const fit = embeddings.coordinates?.fitted;
  if (fit) return { embeddings, fit };
  throw new UserError({
    found: "the model has no coordinates",
    advice: "train one with --config demo or campaign",
  });
}

/** Returns the nodes of the queries' endpoints, with their measurements. Nothing is known about a prefix. */
function designNodes(
  { config, weights, trainingData }: Pick<PingModel, "config" | "weights" | "trainingData">,
  queries: readonly Pick<FileQuery, "source" | "destination">[],
  context: AnswerOptions["context"] = [],
): (end: IpPrefix) => DesignNode {
  const { embeddings, fit } = requireCoordinates({ config, weights });
  const nodeOf = (bytes: Uint8Array) => embeddings.nodeOf(bytes);
  const ends = new Map(
    queries.flatMap(({ source, destination }) => [source, destination]).map((end) => {
      const node = isAddress(end) ? nodeOf(end.bytes) : NO_ROW;
      const place = isAddress(end) ? embeddings.nodeOfPlace(end.bytes) : undefined;
      return [formatPrefix(end), { node, place, measured: new Set<number>() }] as const;
    }),
  );
  const byNode = new Map(Array.from(ends.values(), (end) => [end.node, end]));
  byNode.delete(NO_ROW);
  for (const known of tablesOf(trainingData)) {
    const nodes = Array.from(known.addresses(), ({ bytes }) => nodeOf(bytes));
    for (const [a, b] of known.pairs()) {
      byNode.get(nodes[a])?.measured.add(nodes[b]);
      byNode.get(nodes[b])?.measured.add(nodes[a]);
    }
  }
  for (const { source, destination, rttCode } of context) {
    if (rttCode === null) continue;
    ends.get(formatAddress(source))?.measured.add(nodeOf(destination));
    ends.get(formatAddress(destination))?.measured.add(nodeOf(source));
  }
  const design = new MeasurementDesign(fit);
  const made = new Map<string, DesignNode>();
  return (end) => {
    const name = formatPrefix(end);
    const { node = NO_ROW, place, measured = [] } = ends.get(name) ?? {};
    return getOrMake(made, name, () => design.node(node, measured, place));
  };
}

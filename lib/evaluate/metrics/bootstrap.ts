/**
 * How far numbers of an evaluation might be off by the chance of which measurements were drawn: the cluster bootstrap.
 *
 * Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 8 and 13: a statistic is computed again of
 * resamples, and the central 95 % of what comes out is its interval (the percentile interval). Measurements of one pair
 * or source are alike, so whole clusters of them are drawn, with replacement: Cameron, Gelbach, Miller,
 * "Bootstrap-Based Improvements for Inference with Clustered Errors", Review of Economics and Statistics 90 (2008).
 * All statistics see the same resamples, so that the difference of two of them has an interval too, a paired one.
 *
 * @module
 */
import { Breather } from "../../threads/stage_hooks.ts";
import type { SplitMode } from "../../preprocess/splits.ts";
import { RandomStream } from "../../random/philox.ts";
import type { EvalCase } from "../cases.ts";
import { quantileOfSorted } from "./sample_statistics.ts";

/** The ends of a 95 % interval. */
export type Interval = readonly [low: number, high: number];

/** A statistic in each of the resamples; NaN where a resample had nothing of it. */
export type Replicates = Float64Array;

/** Resamples: their noise is a tenth of an interval's width at most (Efron and Tibshirani, section 13.3, advise 1000). */
export const NUM_RESAMPLES = 1000;
/** The share of the resamples that lies in an interval. */
export const CONFIDENCE = 0.95;
/** With 5 clusters even a sign test that all of them agree in is not sure to 95 % (2 / 2^5): no intervals are told. */
export const MIN_CLUSTERS = 6;

/** Measurements that statistics are of: sums of their values by cluster, a column per kind of value. */
interface Block {
  /** Place of each cluster in the columns. */
  row: Map<number, number>;
  columns: Float64Array[];
  /** The columns of values that were given before. */
  known: Map<ArrayLike<number>, number>;
  ones: Float64Array;
  ratios: { numerator: number; denominator: number; replicates: Replicates }[];
  rankings: Ranking[];
}

/** Values in descending order, and the clusters that they are of. */
interface Ranking {
  cluster: Uint32Array;
  values: Float64Array;
  /** The column that counts them. */
  count: number;
  /** The shares in descending order, one array of replicates each. */
  shares: readonly number[];
  replicates: readonly Replicates[];
}

/** Statistics of measurements in clusters; they are registered first, then all are resampled in one run. */
export class ClusterBootstrap {
  readonly #clusterOf: Uint32Array;
  readonly #numClusters: number;
  readonly #seed: number;
  readonly #blocks = new Map<readonly number[], Block>();

  /** @param clusterOf The cluster of each place, numbered from 0. */
  constructor(clusterOf: Uint32Array, { seed }: { seed: number }) {
    this.#clusterOf = clusterOf;
    this.#numClusters = clusterOf.reduce((most, cluster) => Math.max(most, cluster + 1), 0);
    this.#seed = seed;
  }

  /**
   * The mean of values.
   *
   * @param places The place of each value; statistics that share the array are computed together.
   * @returns To be filled by the run. Values that are NaN are left out.
   */
  mean(values: ArrayLike<number>, places: readonly number[]): Replicates {
    return this.ratio(values, this.#blockOf(places).ones, places);
  }

  /** The sum of some values over the sum of others; as {@link mean}. */
  ratio(
    numerators: ArrayLike<number>,
    denominators: ArrayLike<number>,
    places: readonly number[],
  ): Replicates {
    const block = this.#blockOf(places);
    const isKnown = places.map((_, i) => !Number.isNaN(numerators[i]));
    const replicates = newReplicates();
    if (this.#hasFew(places, isKnown)) return replicates;
    const columnOf = (values: ArrayLike<number>) => this.#columnOf(values, { block, places, isKnown });
    const [numerator, denominator] = [columnOf(numerators), columnOf(denominators)];
    block.ratios.push({ numerator, denominator, replicates });
    return replicates;
  }

  /** Quantiles of values, as `quantileOfSorted` tells them. @param shares Ascending. Else as {@link mean}. */
  quantiles(
    values: Float64Array,
    places: readonly number[],
    shares: readonly number[],
  ): readonly Replicates[] {
    const block = this.#blockOf(places);
    const isKnown = places.map((_, i) => !Number.isNaN(values[i]));
    const replicates = shares.map(newReplicates);
    if (this.#hasFew(places, isKnown)) return replicates;
    const order = Uint32Array.from(places.keys().filter((i) => isKnown[i])).sort((a, b) =>
      values[b] - values[a]
    );
    block.rankings.push({
      cluster: order.map((i) => this.#clusterOf[places[i]]),
      values: Float64Array.from(order, (i) => values[i]),
      count: this.#columnOf(block.ones, { block, places, isKnown }),
      ...{ shares: shares.toReversed(), replicates: replicates.toReversed() },
    });
    return replicates;
  }

  /** Fills the replicates of all that was registered. @param hooks `onProgress`: told the resamples done. */
  async run(
    hooks: { onProgress?: (done: number, total: number) => void; signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const breather = new Breather(hooks);
    const random = new RandomStream(this.#seed, "evaluate/bootstrap");
    const counts = new Uint16Array(this.#numClusters);
    const resamplers = [...this.#blocks.values()].map((block) => resamplerOf(block));
    for (let resample = 0; resample < NUM_RESAMPLES; resample++) {
      counts.fill(0);
      for (let draw = 0; draw < counts.length; draw++) counts[random.below(counts.length)]++;
      for (const fill of resamplers) fill(counts, resample);
      hooks.onProgress?.(resample + 1, NUM_RESAMPLES);
      await breather.breathe();
    }
  }

  #blockOf(places: readonly number[]): Block {
    let block = this.#blocks.get(places);
    if (!block) {
      const row = new Map<number, number>();
      for (const place of places) {
        const cluster = this.#clusterOf[place];
        if (!row.has(cluster)) row.set(cluster, row.size);
      }
      const ones = new Float64Array(places.length).fill(1);
      block = { row, columns: [], known: new Map(), ones, ratios: [], rankings: [] };
      this.#blocks.set(places, block);
    }
    return block;
  }

  #hasFew(places: readonly number[], isKnown: readonly boolean[]): boolean {
    if (isKnown.every((is) => is)) return this.#blockOf(places).row.size < MIN_CLUSTERS;
    const ofKnown = places.filter((_, i) => isKnown[i]).map((place) => this.#clusterOf[place]);
    return new Set(ofKnown).size < MIN_CLUSTERS;
  }

  /** Sums values by cluster, but those that are not known. @returns The number of the column. */
  #columnOf(
    values: ArrayLike<number>,
    { block, places, isKnown }: { block: Block; places: readonly number[]; isKnown: readonly boolean[] },
  ): number {
    const isWhole = isKnown.every((is) => is);
    const known = isWhole ? block.known.get(values) : undefined;
    if (known !== undefined) return known;
    const sums = new Float64Array(block.row.size);
    places.forEach((place, i) => {
      const row = block.row.get(this.#clusterOf[place]);
      if (isKnown[i] && row !== undefined) sums[row] += values[i];
    });
    const column = block.columns.push(sums) - 1;
    if (isWhole) block.known.set(values, column);
    return column;
  }
}

/** What fills the replicates of one resample, given how often it drew each cluster. */
function resamplerOf({ row, columns, ratios, rankings }: Block): (counts: Uint16Array, at: number) => void {
  const [clusters, width] = [Uint32Array.from(row.keys()), columns.length];
  // Row-major: a cluster's sums lie side by side, as they are read.
  const sums = new Float64Array(clusters.length * width);
  columns.forEach((column, c) => column.forEach((sum, r) => sums[r * width + c] = sum));
  const totals = new Float64Array(width);
  return (counts, at) => {
    addRows({ clusters, sums, totals }, counts);
    for (const { numerator, denominator, replicates } of ratios) {
      replicates[at] = totals[numerator] / totals[denominator];
    }
    for (const ranking of rankings) fillQuantiles(ranking, { counts, total: totals[ranking.count] }, at);
  };
}

function addRows(
  { clusters, sums, totals }: { clusters: Uint32Array; sums: Float64Array; totals: Float64Array },
  counts: Uint16Array,
): void {
  const width = totals.length;
  totals.fill(0);
  for (let r = 0; r < clusters.length; r++) {
    const count = counts[clusters[r]];
    if (count === 0) continue;
    for (let c = 0, place = r * width; c < width; c++) totals[c] += count * sums[place++];
  }
}

function fillQuantiles(
  { cluster, values, shares, replicates }: Ranking,
  { counts, total }: { counts: Uint16Array; total: number },
  at: number,
): void {
  if (total === 0) return;
  let [seen, rank] = [0, 0];
  for (let k = 0; k < shares.length; k++) {
    const wanted = total - Math.max(1, Math.ceil(shares[k] * total)) + 1;
    while (seen < wanted) seen += counts[cluster[rank++]];
    replicates[k][at] = values[rank - 1];
  }
}

/** The interval of a statistic; null where there were too few clusters. */
export function intervalOf(replicates: Replicates): Interval | null {
  const ascending = replicates.filter((value) => !Number.isNaN(value)).sort();
  if (ascending.length === 0) return null;
  const tail = (1 - CONFIDENCE) / 2;
  return [quantileOfSorted(ascending, tail), quantileOfSorted(ascending, 1 - tail)];
}

/** The interval of a statistic minus another in the same resamples; null where there were too few clusters. */
export function differenceInterval(a: Replicates, b: Replicates): Interval | null {
  return intervalOf(a.map((value, i) => value - b[i]));
}

function newReplicates(): Replicates {
  return new Float64Array(NUM_RESAMPLES).fill(NaN);
}

/** What clusters of measurements have in common: both ends, in either direction, the source, or an end never seen. */
export type ClusterBy = "pair" | "source" | "address";

/** Measurements in clusters. */
export interface Clusters {
  by: ClusterBy;
  /** The cluster of each case, numbered from 0. */
  ofCase: Uint32Array;
  count: number;
}

/**
 * Clusters as the rows were held out: by source where whole sources were, else by pair. What was drawn as one, and is
 * measured over the same path, counts as one.
 *
 * @param splitBy How the rows were held out, if that is known.
 */
export function clustersOf(
  cases: readonly Pick<EvalCase, "sourceKey" | "dstAddr">[],
  splitBy?: SplitMode,
): Clusters {
  const by = splitBy === "probe" ? "source" : "pair";
  const numbers = new Map<string, number>();
  const ofCase = Uint32Array.from(cases, ({ sourceKey, dstAddr }) => {
    const key = by === "source" ? sourceKey : [sourceKey, dstAddr].sort().join(" ");
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  });
  return { by, ofCase, count: numbers.size };
}

/**
 * The cluster bootstrap: how far the numbers of an evaluation may be off by chance, because other
 * measurements could have been drawn.
 *
 * Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 8 and 13: a statistic is computed
 * for many resamples, and the central 95 % of the results are its interval (the percentile interval).
 * Measurements of one pair or source are alike, so whole clusters of them are drawn, with replacement:
 * Cameron, Gelbach, Miller, "Bootstrap-Based Improvements for Inference with Clustered Errors", Review of
 * Economics and Statistics 90 (2008). All statistics use the same resamples, so the difference between two
 * statistics has a paired interval.
 *
 * @module
 */
import type { SplitMode } from "../../data/probe_rows/splits.ts";
import { RandomStream } from "../../base/random.ts";
import { quantileOfSorted } from "../../base/sample_statistics.ts";

export type Interval = readonly [low: number, high: number];

/** A statistic of each resample; NaN if the resample has no value of it. */
export type Replicates = Float64Array;

/** The noise of an interval is at most a tenth of its width (Efron and Tibshirani, 13.3, advise 1000). */
export const NUM_RESAMPLES = 1000;
/** The share of the resamples inside an interval. */
export const CONFIDENCE = 0.95;
/** With 5 clusters even a unanimous sign test does not reach 95 % (2 / 2^5), so there is no interval. */
export const MIN_CLUSTERS = 6;

/** The resamples of clustered measurements, and their statistics. */
export class ClusterBootstrap {
  readonly #numClusters: number;
  /** How often each resample drew each cluster. Counts above 255 practically never occur. */
  readonly #counts: Uint8Array;

  /** @param clusterOf The cluster of each measurement, numbered from 0. */
  constructor(readonly clusterOf: Uint32Array, { seed }: { seed: number }) {
    this.#numClusters = clusterOf.reduce((most, cluster) => Math.max(most, cluster + 1), 0);
    this.#counts = new Uint8Array(NUM_RESAMPLES * this.#numClusters);
    const random = new RandomStream(seed, "evaluate/bootstrap");
    for (let first = 0; first < this.#counts.length; first += this.#numClusters) {
      for (let draw = 0; draw < this.#numClusters; draw++) {
        this.#counts[first + random.below(this.#numClusters)]++;
      }
    }
  }

  /**
   * The mean of values in each resample.
   *
   * @param places The measurement of each value. NaN values are left out.
   */
  mean(values: ArrayLike<number>, places: readonly number[]): Replicates {
    return this.ratio(values, new Float64Array(places.length).fill(1), places);
  }

  /** The sum of some values divided by the sum of others, as {@link mean}. */
  ratio(
    numerators: ArrayLike<number>,
    denominators: ArrayLike<number>,
    places: readonly number[],
  ): Replicates {
    const known = this.#knownOf(numerators, places);
    if (!known) return newReplicates();
    const below = this.#totals(denominators, known);
    return this.#totals(numerators, known).map((total, i) => total / below[i]);
  }

  /** Quantiles as `quantileOfSorted` defines them, as {@link mean}. @param shares Ascending. */
  quantiles(
    values: Float64Array,
    places: readonly number[],
    shares: readonly number[],
  ): readonly Replicates[] {
    const replicates = shares.map(newReplicates);
    const known = this.#knownOf(values, places);
    if (!known) return replicates;
    const totals = this.#totals(new Float64Array(places.length).fill(1), known);
    const order = known.indexes.toSorted((a, b) => values[b] - values[a]);
    const clusters = Uint32Array.from(order, (i) => this.clusterOf[places[i]]);
    const descending = Float64Array.from(order, (i) => values[i]);
    const counts = this.#counts;
    for (let resample = 0; resample < NUM_RESAMPLES; resample++) {
      const first = resample * this.#numClusters;
      const total = totals[resample];
      let seen = 0;
      let rank = 0;
      // From the largest value down, so from the largest share down.
      for (let k = shares.length - 1; total > 0 && k >= 0; k--) {
        const wanted = total - Math.max(1, Math.ceil(shares[k] * total)) + 1;
        while (seen < wanted) seen += counts[first + clusters[rank++]];
        replicates[k][resample] = descending[rank - 1];
      }
    }
    return replicates;
  }

  /** The values that are numbers, and the clusters of all values; undefined with too few clusters. */
  #knownOf(values: ArrayLike<number>, places: readonly number[]): Known | undefined {
    const rows = new Map<number, number>();
    const rowOf = Uint32Array.from(places, (place) => {
      const cluster = this.clusterOf[place];
      const row = rows.get(cluster) ?? rows.size;
      rows.set(cluster, row);
      return row;
    });
    const indexes = [...places.keys()].filter((i) => !Number.isNaN(values[i]));
    const numClusters = new Set(indexes.map((i) => rowOf[i])).size;
    return numClusters < MIN_CLUSTERS
      ? undefined
      : { indexes, rowOf, clusters: Uint32Array.from(rows.keys()) };
  }

  #totals(values: ArrayLike<number>, { indexes, rowOf, clusters }: Known): Float64Array {
    const sums = new Float64Array(clusters.length);
    for (const i of indexes) sums[rowOf[i]] += values[i];
    const totals = new Float64Array(NUM_RESAMPLES);
    const counts = this.#counts;
    // 0 times a finite sum adds nothing, so only other sums need the unpredictable branch below.
    const isFinite = sums.every(Number.isFinite);
    for (let resample = 0, first = 0; resample < NUM_RESAMPLES; resample++, first += this.#numClusters) {
      let total = 0;
      for (let row = 0; row < sums.length; row++) {
        const count = counts[first + clusters[row]];
        if (isFinite || count > 0) total += count * sums[row];
      }
      totals[resample] = total;
    }
    return totals;
  }
}

/** Indexes of values that are numbers, the row of each value's cluster, and the cluster of each row. */
interface Known {
  indexes: readonly number[];
  rowOf: Uint32Array;
  clusters: Uint32Array;
}

/** The interval of a statistic; null with too few clusters. */
export function intervalOf(replicates: Replicates): Interval | null {
  const ascending = replicates.filter((value) => !Number.isNaN(value)).sort();
  if (ascending.length === 0) return null;
  const tail = (1 - CONFIDENCE) / 2;
  return [quantileOfSorted(ascending, tail), quantileOfSorted(ascending, 1 - tail)];
}

/** The paired interval of a statistic minus another; null with too few clusters. */
export function differenceInterval(a: Replicates, b: Replicates): Interval | null {
  return intervalOf(a.map((value, i) => value - b[i]));
}

/**
 * Intervals of a method's numbers, and of the first method's numbers minus them; the latter are absent for
 * the first method.
 */
export interface ComparedIntervals<K extends string> {
  intervals: Record<K, Interval | null>;
  modelMinusThis?: Record<K, Interval | null>;
}

/** Compares methods with the first one, on the same resamples. @param methods The numbers of each. */
export function comparedWithFirst<K extends string>(
  methods: readonly Readonly<Record<K, Replicates>>[],
): ComparedIntervals<K>[] {
  const ofEach = (numbers: Readonly<Record<K, Replicates>>, of: (name: K) => Interval | null) =>
    Object.fromEntries((Object.keys(numbers) as K[]).map((name) => [name, of(name)])) as ComparedIntervals<
      K
    >["intervals"];
  const [first] = methods;
  return methods.map((numbers, i) => ({
    intervals: ofEach(numbers, (name) => intervalOf(numbers[name])),
    ...i > 0 && {
      modelMinusThis: ofEach(numbers, (name) => differenceInterval(first[name], numbers[name])),
    },
  }));
}

function newReplicates(): Replicates {
  return new Float64Array(NUM_RESAMPLES).fill(NaN);
}

/** What the measurements of a cluster share: both endpoints in any order, the source, or a new address. */
export type ClusterBy = "pair" | "source" | "address";

export interface Clusters {
  by: ClusterBy;
  ofCase: Uint32Array;
  count: number;
}

/**
 * Clusters that match how the rows were held out: by source if whole sources were, else by pair.
 *
 * @param splitBy How the rows were held out, if known.
 */
export function clustersOf(
  cases: readonly { readonly sourceKey: string; readonly dstAddr: string }[],
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

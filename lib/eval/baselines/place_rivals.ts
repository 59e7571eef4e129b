/**
 * Baselines that know where addresses are, as a model with places does: a regression on the great-circle
 * distance, medians by country pair, and a random forest on everything known about a pair.
 *
 * @module
 */
import { getOrMake, partitionPoint } from "../../base/collections.ts";
import { RandomStream } from "../../base/random.ts";
import { quantileOfSample, quantileOfSorted } from "../../base/sample_statistics.ts";
import { logOfRtt } from "../../model/coordinates/rtt_scale.ts";
import {
  type Hidden,
  NEW_PAIRS,
  NOTHING_HIDDEN,
  NUM_NEWEST,
  type Pair,
  PlacedPairs,
  placesOf,
} from "./placed_pairs.ts";
import type { PlaceOf } from "../../model/pool/forecast.ts";
import { FeatureRows, type ForestSize, type RandomForest } from "../../model/pool/random_forest.ts";
import {
  type Baseline,
  type BaselineMeasurement,
  type BaselineQuery,
  OnePassBaseline,
  SAMPLE_LEVELS,
} from "./baseline.ts";
import { RttHistogram } from "./histories.ts";

/** Predicts the median of the country pair, else of the source's or destination's country, else of all. */
export class CountryBaseline extends OnePassBaseline {
  readonly #histograms = new Map<string, RttHistogram>();
  readonly #keys = new Map<string, readonly string[]>();

  /** @param minCount Measurements that a median needs; with fewer the next one is used. */
  constructor(readonly placeOf: PlaceOf, readonly minCount: number) {
    super();
  }

  observe(measurement: BaselineMeasurement): void {
    const { rttMs, isRepeated } = measurement;
    if (rttMs === null || isRepeated) return;
    for (const key of this.#keysOf(measurement)) {
      getOrMake(this.#histograms, key, () => new RttHistogram()).add(rttMs);
    }
  }

  predictMs(query: BaselineQuery): number | undefined {
    return this.#histogramOf(query)?.medianMs();
  }

  predictSampleMs(query: BaselineQuery): Float64Array | undefined {
    return this.#histogramOf(query)?.quantilesMs(SAMPLE_LEVELS);
  }

  #histogramOf(query: BaselineQuery): RttHistogram | undefined {
    const known = this.#keysOf(query).flatMap((key) => this.#histograms.get(key) ?? []);
    return known.find(({ total }) => total >= this.minCount) ?? known.at(-1);
  }

  #keysOf(query: BaselineQuery): readonly string[] {
    return getOrMake(this.#keys, `${query.source} ${query.destination}`, () => {
      const [from, to] = placesOf(this.placeOf, query).map(({ country }) => country);
      const ends = [...from > 0 ? [`from ${from}`] : [], ...to > 0 ? [`to ${to}`] : []];
      return [...ends.length === 2 ? [[from, to].sort((a, b) => a - b).join(" ")] : [], ...ends, ""];
    });
  }
}

/** Measurements of each pair whose residuals are kept. */
const RESIDUALS_PER_PAIR = 4;
/** Residuals at similar distances that make up a distribution. */
const NUM_ALIKE = 400;

/** Predicts from the distance and optionally from how much longer than usual both endpoints' RTTs are. */
export class DistanceBaseline implements Baseline {
  readonly #known: PlacedPairs;
  #isTrained = false;
  /** Distances, ascending, and the residual of one measurement at each. */
  #km = new Float64Array(0);
  #residuals = new Float64Array(0);

  constructor(placeOf: PlaceOf, readonly hasEnds: boolean) {
    this.#known = new PlacedPairs(placeOf);
  }

  train(measurements: Iterable<BaselineMeasurement>): void {
    this.#isTrained = this.#known.train(measurements);
    const found = [...this.#known.pairs()].flatMap((pair) => {
      const expected = this.#expected(pair, { ...NOTHING_HIDDEN, pair: true });
      return pair.newest.slice(-RESIDUALS_PER_PAIR).map((log) => ({ km: kmOrFar(pair), by: log - expected }));
    }).sort((a, b) => a.km - b.km);
    this.#km = Float64Array.from(found, ({ km }) => km);
    this.#residuals = Float64Array.from(found, ({ by }) => by);
  }

  observe(measurement: BaselineMeasurement): void {
    if (this.hasEnds && this.#isTrained) this.#known.observe(measurement);
  }

  predictMs(query: BaselineQuery): number | undefined {
    if (!this.#isTrained) return undefined;
    return Math.exp(this.#expected(this.#known.pairOf(query), NOTHING_HIDDEN));
  }

  predictSampleMs(query: BaselineQuery): Float64Array | undefined {
    if (!this.#isTrained) return undefined;
    const pair = this.#known.pairOf(query);
    const expected = this.#expected(pair, NOTHING_HIDDEN);
    const km = kmOrFar(pair);
    const middle = partitionPoint(this.#km.length, (i) => this.#km[i] >= km);
    const first = Math.max(0, Math.min(middle - NUM_ALIKE / 2, this.#km.length - NUM_ALIKE));
    const alike = this.#residuals.slice(first, first + NUM_ALIKE).sort();
    return Float64Array.from(SAMPLE_LEVELS, (level) => Math.exp(expected + quantileOfSorted(alike, level)));
  }

  #expected(pair: Pair, hidden: Hidden): number {
    return this.hasEnds ? this.#known.expectedWithEnds(pair, hidden) : this.#known.expectedLog(pair);
  }
}

/** The distance; larger than any if unknown. */
function kmOrFar({ km }: Pair): number {
  return Number.isNaN(km) ? 1e6 : km;
}

const SIZE: ForestSize = { numTrees: 50, maxDepth: 16, minLeaf: 8, numKept: 16 };
/** Maximum number of measurements that a forest is trained on. */
const MAX_LEARNED = 20_000;
/**
 * Measurements taken per pair on average: as a pair with a history, and as a new one. More of the latter
 * would repeat the same facts and make the distributions too narrow.
 */
const [LEARNED_OF_KNOWN, LEARNED_OF_NEW] = [20, 1];

/**
 * Two random forests. One predicts how far the RTT of a pair with a history is from the median of its newest
 * RTTs, the other how far the RTT of a new pair is from what its distance and endpoints suggest. Features are
 * the distance, the positions, how much longer than usual the RTTs of the countries, the ASes and the
 * endpoints are, how many pairs each endpoint has, and the hour. The second forest learns each pair as if it,
 * an endpoint, or both had never been measured.
 */
export class PlaceForestBaseline implements Baseline {
  readonly #known: PlacedPairs;
  #ofKnown: RandomForest | undefined;
  #ofNew: RandomForest | undefined;

  constructor(placeOf: PlaceOf, readonly seed: number) {
    this.#known = new PlacedPairs(placeOf);
  }

  train(measurements: Iterable<BaselineMeasurement>): void {
    if (!this.#known.train(measurements)) return;
    const pairs = [...this.#known.pairs()];
    const shareOf = (perPair: number) =>
      Math.min(1, MAX_LEARNED / pairs.reduce((sum, { count }) => sum + Math.min(count, perPair), 0));
    const [shareOfKnown, shareOfNew] = [LEARNED_OF_KNOWN, LEARNED_OF_NEW].map(shareOf);
    const random = new RandomStream(this.seed, "evaluate/place-forest");
    const [known, fresh] = [new FeatureRows(), new FeatureRows()];
    for (const pair of pairs) pair.newest = [];
    for (const measurement of measurements) {
      if (measurement.rttMs === null) continue;
      const pair = this.#known.pairOf(measurement);
      const log = logOfRtt(measurement.rttMs);
      const isTaken = (perPair: number, share: number) =>
        random.float64() < share * Math.min(1, perPair / pair.count);
      if (isTaken(LEARNED_OF_NEW, shareOfNew)) {
        for (const hidden of NEW_PAIRS) {
          fresh.add(this.#featuresOf(pair, measurement, hidden), log - this.#expected(pair, hidden));
        }
      }
      if (pair.newest.length > 0 && isTaken(LEARNED_OF_KNOWN, shareOfKnown)) {
        const features = this.#featuresOf(pair, measurement, NOTHING_HIDDEN);
        known.add(features, log - this.#expected(pair, NOTHING_HIDDEN));
      }
      if (pair.newest.push(log) > NUM_NEWEST) pair.newest.shift();
    }
    this.#ofKnown = known.forest(SIZE, this.seed);
    this.#ofNew = fresh.forest(SIZE, this.seed);
  }

  observe(measurement: BaselineMeasurement): void {
    if (this.#ofNew) this.#known.observe(measurement);
  }

  predictMs(query: BaselineQuery): number | undefined {
    return this.#quantilesMs(query, [0.5])?.[0];
  }

  predictSampleMs(query: BaselineQuery): Float64Array | undefined {
    return this.#quantilesMs(query, SAMPLE_LEVELS);
  }

  #quantilesMs(query: BaselineQuery, levels: readonly number[]): Float64Array | undefined {
    const pair = this.#known.pairOf(query);
    const forest = pair.newest.length > 0 && this.#ofKnown || this.#ofNew;
    if (!forest) return undefined;
    const hidden = forest === this.#ofNew ? NEW_PAIRS[0] : NOTHING_HIDDEN;
    const expected = this.#expected(pair, hidden);
    return forest.quantiles(this.#featuresOf(pair, query, hidden), levels)
      .map((by) => Math.exp(expected + by));
  }

  #expected(pair: Pair, hidden: Hidden): number {
    return hidden.pair ? this.#known.expectedWithEnds(pair, hidden) : quantileOfSample(pair.newest, 0.5);
  }

  #featuresOf(pair: Pair, { timeS }: BaselineQuery, hidden: Hidden): number[] {
    const { newest } = pair;
    const isKnown = !hidden.pair;
    return [
      ...this.#known.featuresOf(pair, hidden),
      timeS / 3600 % 24,
      isKnown ? newest.length : NaN,
      isKnown ? quantileOfSample(newest, 0.9) - quantileOfSample(newest, 0.1) : NaN,
      isKnown ? quantileOfSample(newest, 0.5) : NaN,
      isKnown ? newest[newest.length - 1] - quantileOfSample(newest, 0.5) : NaN,
    ];
  }
}

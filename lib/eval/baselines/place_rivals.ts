/**
 * Baselines that know where addresses are, as a model with places does: a regression on the great-circle distance,
 * medians of country pairs, and a random forest of all that is known of a pair.
 *
 * @module
 */
import { getOrMake, partitionPoint } from "../../base/collections.ts";
import { RandomStream } from "../../base/random.ts";
import { quantileOfSample, quantileOfSorted } from "../../base/sample_statistics.ts";
import { distanceKm, type LocatedPlace, NOWHERE } from "../../data/addresses/place_table.ts";
import { logOfRtt } from "../../model/coordinates/rtt_scale.ts";
import {
  type Baseline,
  type BaselineMeasurement,
  type BaselineQuery,
  OnePassBaseline,
  SAMPLE_LEVELS,
} from "./baseline.ts";
import { RttHistogram } from "./histories.ts";
import { RandomForest } from "./random_forest.ts";

/** What is known of an address given as text; undefined if nothing is. */
export type PlaceOf = (address: string) => LocatedPlace | undefined;

function placesOf(placeOf: PlaceOf, { source, sourceAddress = source, destination }: BaselineQuery) {
  return [placeOf(sourceAddress) ?? NOWHERE, placeOf(destination) ?? NOWHERE] as const;
}

// Medians by country.

/** Predicts the median of the two countries, of those of the source's, of the destination's, of all. */
export class CountryBaseline extends OnePassBaseline {
  readonly #histograms = new Map<string, RttHistogram>();
  readonly #keys = new Map<string, readonly string[]>();

  /** @param minCount Measurements of a median, without which the next one is taken. */
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

// What is known of a pair besides its RTTs: its distance, and how much longer RTTs of its ends, their networks and their
// countries are than those of other pairs of this distance.

/** A sum over pairs of how much longer RTTs are, as logarithms. */
interface Excess {
  sum: number;
  count: number;
}
const NONE: Excess = { sum: 0, count: 0 };

/** An end of a pair. */
interface End {
  readonly place: LocatedPlace;
  /** The excess of its country, its AS and itself, in this role. */
  readonly levels: readonly [country: Excess, network: Excess, own: Excess];
  /** What the pair adds to them. */
  readonly added: Excess;
}

interface Pair {
  readonly km: number;
  readonly source: End;
  readonly destination: End;
  /** The excess of all pairs from its first to its second country, of its source's, of its destination's. */
  readonly countries: readonly [all: Excess, ofSource: Excess, ofDestination: Excess];
  /** The sum of the logarithms, how many, and the newest of them, oldest first. */
  logSum: number;
  count: number;
  newest: number[];
}

/** The prior of an excess counts as so many pairs: that of the next wider level, or 0. */
const PRIOR_PAIRS = 2;
/** The newest RTTs of a pair of which the median is taken. */
const NUM_NEWEST = 9;
/** The slowest, and the fastest, rise of RTTs per km, in shares of the RTT at 0 km; and how many are tried between. */
const [SLOWEST, FASTEST, NUM_SLOPES] = [1e-5, 0.3, 40];
/** Pairs to which the regression is fitted. */
const MAX_FITTED = 4096;

/** The parts of a pair that a training row is made without, as if they were not known. */
interface Hidden {
  readonly pair: boolean;
  readonly source: boolean;
  readonly destination: boolean;
}
const NOTHING_HIDDEN: Hidden = { pair: false, source: false, destination: false };

/** Pairs, and what their places and ends say of their RTTs. */
class PlacedPairs {
  readonly #pairs = new Map<string, Pair>();
  readonly #excesses = new Map<string, Excess>();
  /** log RTT = base + log(1 + slope * km); where the distance is not known, the median. */
  #base = 0;
  #slope = 0;
  #median = 0;

  constructor(readonly placeOf: PlaceOf) {}

  /** Learns all measurements. @returns Whether there is any. */
  train(measurements: Iterable<BaselineMeasurement>): boolean {
    for (const measurement of measurements) this.#add(measurement);
    const pairs = [...this.#pairs.values()];
    if (pairs.length === 0) return false;
    this.#fit(pairs);
    for (const end of ["source", "destination"] as const) {
      for (const pair of pairs) this.#update(pair, end, meanOf(pair) - this.expectedLog(pair));
    }
    return true;
  }

  /** Learns one more measurement. */
  observe(measurement: BaselineMeasurement): void {
    const pair = this.#add(measurement);
    if (!pair || measurement.isRepeated) return;
    const excess = meanOf(pair) - this.expectedLog(pair);
    this.#update(pair, "source", excess);
    this.#update(pair, "destination", excess);
  }

  /** A pair; with nothing measured if it is not known. */
  pairOf(query: BaselineQuery): Pair {
    return this.#pairs.get(keyOf(query)) ?? this.#newPair(query);
  }

  pairs(): Iterable<Pair> {
    return this.#pairs.values();
  }

  /** The logarithm of the RTT by the distance alone. */
  expectedLog({ km }: Pair): number {
    return Number.isNaN(km) ? this.#median : this.#base + Math.log1p(this.#slope * km);
  }

  /** The same with the excesses of both ends. */
  expectedWithEnds(pair: Pair, hidden: Hidden): number {
    const excessOf = (end: End, isHidden: boolean) => {
      const without = isHidden ? end.levels[2] : hidden.pair ? end.added : NONE;
      return end.levels.slice(0, isHidden ? 2 : 3).reduce((prior, level) => excess(level, without, prior), 0);
    };
    return this.expectedLog(pair) + excessOf(pair.source, hidden.source) +
      excessOf(pair.destination, hidden.destination);
  }

  #add(measurement: BaselineMeasurement): Pair | undefined {
    const { rttMs, isRepeated } = measurement;
    if (rttMs === null) return undefined;
    const pair = getOrMake(this.#pairs, keyOf(measurement), () => this.#newPair(measurement));
    const log = logOfRtt(rttMs);
    if (pair.newest.push(log) > NUM_NEWEST) pair.newest.shift();
    if (isRepeated) return pair;
    pair.logSum += log;
    pair.count++;
    return pair;
  }

  #newPair(query: BaselineQuery): Pair {
    const [from, to] = placesOf(this.placeOf, query);
    const excessOf = (key: string) => getOrMake(this.#excesses, key, () => ({ ...NONE }));
    const endOf = (role: string, place: LocatedPlace, name: string): End => ({
      place,
      levels: [
        excessOf(`${role} country ${place.country}`),
        excessOf(`${role} AS ${place.asNumber}`),
        excessOf(`${role} ${name}`),
      ],
      added: { ...NONE },
    });
    const km = from.position && to.position ? distanceKm(from.position, to.position) : NaN;
    return {
      km,
      source: endOf("from", from, query.source),
      destination: endOf("to", to, query.destination),
      countries: [
        excessOf(`${from.country} to ${to.country}`),
        excessOf(`from ${query.source} to ${to.country}`),
        excessOf(`to ${query.destination} from ${from.country}`),
      ],
      logSum: 0,
      count: 0,
      newest: [],
    };
  }

  /** Least absolute errors of the logarithm, so that wrong places and slow pairs hardly count. */
  #fit(pairs: readonly Pair[]): void {
    this.#median = quantileOfSample(pairs.map(meanOf), 0.5);
    const step = Math.max(1, pairs.length / MAX_FITTED);
    const some = Array.from(
      { length: Math.floor(pairs.length / step) },
      (_, i) => pairs[Math.floor(i * step)],
    ).filter(({ km }) => !Number.isNaN(km));
    let least = Infinity;
    [this.#base, this.#slope] = [this.#median, 0];
    for (let i = 0; i < NUM_SLOPES && some.length > 0; i++) {
      const slope = SLOWEST * (FASTEST / SLOWEST) ** (i / (NUM_SLOPES - 1));
      const bases = Float64Array.from(some, (pair) => meanOf(pair) - Math.log1p(slope * pair.km));
      const base = quantileOfSample(bases, 0.5);
      const error = bases.reduce((sum, each) => sum + Math.abs(each - base), 0);
      if (error < least) [least, this.#base, this.#slope] = [error, base, slope];
    }
  }

  /** Tells all levels of an end what the pair adds now; a destination's is what its source does not explain. */
  #update(pair: Pair, role: "source" | "destination", ofPair: number): void {
    const end = pair[role];
    const [, , own] = pair.source.levels;
    const sum = role === "source" ? ofPair : ofPair - excess(own, NONE, 0);
    const levels = role === "source" ? [...end.levels, ...pair.countries] : end.levels;
    for (const level of levels) {
      level.sum += sum - end.added.sum;
      level.count += 1 - end.added.count;
    }
    Object.assign(end.added, { sum, count: 1 });
  }
}

function keyOf({ source, destination }: BaselineQuery): string {
  return `${source} ${destination}`;
}

function meanOf({ logSum, count }: Pair): number {
  return logSum / count;
}

/** What a pair's countries do not have without the pair and what else is hidden. */
function withoutOf({ source, countries: [, ofSource, ofDestination] }: Pair, hidden: Hidden): Excess {
  const { added } = source;
  const total = (part: "sum" | "count") => {
    const [a, b] = [hidden.source ? ofSource : added, hidden.destination ? ofDestination : added];
    return a[part] + b[part] - added[part];
  };
  return { sum: total("sum"), count: total("count") };
}

/** As {@link excess} without a prior; NaN of no pair. */
function excessOf(of: Excess, without: Excess): number {
  return of.count === without.count ? NaN : excess(of, without, 0);
}

function excess(of: Excess, without: Excess, prior: number): number {
  return (of.sum - without.sum + PRIOR_PAIRS * prior) / (of.count - without.count + PRIOR_PAIRS);
}

// Regression on the distance.

/** Measurements of a pair that tell how far RTTs are from the regression. */
const RESIDUALS_PER_PAIR = 4;
/** Residuals of about the same distance that make a distribution. */
const NUM_ALIKE = 400;

/** Predicts from the distance; on request with how much longer than others the RTTs of both ends are. */
export class DistanceBaseline implements Baseline {
  readonly #known: PlacedPairs;
  #isTrained = false;
  /** Distances, ascending, and the residual of one measurement each. */
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

/** The distance; of pairs without one more than any. */
function kmOrFar({ km }: Pair): number {
  return Number.isNaN(km) ? 1e6 : km;
}

// The forest.

/** Measurements that a forest learns from at most. */
const MAX_LEARNED = 20_000;
/**
 * Measurements of one pair, on average: as one with a history, and as a new one. More of the latter would only tell the
 * forest the same again, and its distributions would be too narrow.
 */
const [LEARNED_OF_KNOWN, LEARNED_OF_NEW] = [20, 1];
/** What is hidden of a measurement that is learned as one of a new pair: four rows of each. */
const HIDDEN: readonly Hidden[] = [
  { pair: true, source: false, destination: false },
  { pair: true, source: false, destination: true },
  { pair: true, source: true, destination: false },
  { pair: true, source: true, destination: true },
];

/** Collects the rows of a forest. */
class Rows {
  readonly #features: number[][] = [];
  readonly #targets: number[] = [];

  add(features: number[], target: number): void {
    this.#features.push(features);
    this.#targets.push(target);
  }

  forest(seed: number): RandomForest | undefined {
    if (this.#targets.length === 0) return undefined;
    const columns = this.#features[0].map((_, k) => Float64Array.from(this.#features, (row) => row[k]));
    return new RandomForest({ columns, targets: Float64Array.from(this.#targets) }, seed);
  }
}

/**
 * Two random forests of what a pair's RTT is more than expected: of a pair with a history, than the median of its newest
 * RTTs; of another one, than its distance and ends say. They see the distance, the positions, how much longer RTTs of the
 * countries, the ASes and the ends are, how many pairs of each end were measured, and the hour. The second one learns each
 * pair as if it, or an end, or both, had never been measured.
 */
export class PlaceForestBaseline implements Baseline {
  readonly #seed: number;
  readonly #known: PlacedPairs;
  #ofKnown: RandomForest | undefined;
  #ofNew: RandomForest | undefined;

  constructor(placeOf: PlaceOf, seed: number) {
    this.#seed = seed;
    this.#known = new PlacedPairs(placeOf);
  }

  train(measurements: Iterable<BaselineMeasurement>): void {
    if (!this.#known.train(measurements)) return;
    const pairs = [...this.#known.pairs()];
    const shareOf = (perPair: number) =>
      Math.min(1, MAX_LEARNED / pairs.reduce((sum, { count }) => sum + Math.min(count, perPair), 0));
    const [shareOfKnown, shareOfNew] = [LEARNED_OF_KNOWN, LEARNED_OF_NEW].map(shareOf);
    const random = new RandomStream(this.#seed, "evaluate/place-forest");
    const [known, fresh] = [new Rows(), new Rows()];
    for (const pair of pairs) pair.newest = [];
    for (const measurement of measurements) {
      if (measurement.rttMs === null) continue;
      const pair = this.#known.pairOf(measurement);
      const log = logOfRtt(measurement.rttMs);
      const isTaken = (perPair: number, share: number) =>
        random.float64() < share * Math.min(1, perPair / pair.count);
      if (isTaken(LEARNED_OF_NEW, shareOfNew)) {
        for (const hidden of HIDDEN) {
          fresh.add(this.#featuresOf(pair, measurement, hidden), log - this.#expected(pair, hidden));
        }
      }
      if (pair.newest.length > 0 && isTaken(LEARNED_OF_KNOWN, shareOfKnown)) {
        const features = this.#featuresOf(pair, measurement, NOTHING_HIDDEN);
        known.add(features, log - this.#expected(pair, NOTHING_HIDDEN));
      }
      if (pair.newest.push(log) > NUM_NEWEST) pair.newest.shift();
    }
    this.#ofKnown = known.forest(this.#seed);
    this.#ofNew = fresh.forest(this.#seed);
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
    const hidden = forest === this.#ofNew ? HIDDEN[0] : NOTHING_HIDDEN;
    const expected = this.#expected(pair, hidden);
    return forest.quantiles(this.#featuresOf(pair, query, hidden), levels)
      .map((by) => Math.exp(expected + by));
  }

  #expected(pair: Pair, hidden: Hidden): number {
    return hidden.pair ? this.#known.expectedWithEnds(pair, hidden) : quantileOfSample(pair.newest, 0.5);
  }

  #featuresOf(pair: Pair, { timeS }: BaselineQuery, hidden: Hidden): number[] {
    const { km, source, destination, newest } = pair;
    const endOf = ({ place, levels, added }: End, isHidden: boolean) => {
      const [, , own] = levels;
      const numOther = isHidden ? 0 : own.count - added.count;
      const excesses = levels.map((level) => excessOf(level, isHidden ? own : added));
      return [place.position?.latitude ?? NaN, place.position?.longitude ?? NaN, ...excesses, numOther];
    };
    const isKnown = !hidden.pair;
    return [
      km,
      ...endOf(source, hidden.source),
      ...endOf(destination, hidden.destination),
      excessOf(pair.countries[0], withoutOf(pair, hidden)),
      hidden.source ? NaN : excessOf(pair.countries[1], source.added),
      hidden.destination ? NaN : excessOf(pair.countries[2], source.added),
      this.#known.expectedLog(pair),
      timeS / 3600 % 24,
      this.#known.expectedWithEnds(pair, { ...hidden, pair: true }),
      isKnown ? newest.length : NaN,
      isKnown ? quantileOfSample(newest, 0.9) - quantileOfSample(newest, 0.1) : NaN,
      isKnown ? quantileOfSample(newest, 0.5) : NaN,
      isKnown ? newest[newest.length - 1] - quantileOfSample(newest, 0.5) : NaN,
    ];
  }
}

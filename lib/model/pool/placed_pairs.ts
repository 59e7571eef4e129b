/**
 * What is known about a pair apart from its RTTs: its distance, and how much longer the RTTs of its
 * endpoints, their networks and their countries are than those of other pairs at this distance. Random
 * forests learn from this.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { quantileOfSample } from "../../base/sample_statistics.ts";
import { distanceKm, type LocatedPlace, NOWHERE } from "../../data/addresses/place_table.ts";
import { logOfRtt } from "../coordinates/rtt_scale.ts";
import { advance, beginAddress, keyOfHashes } from "../embedding_table.ts";

/** Returns the place of an address given as text; undefined if it is not known. */
export type PlaceOf = (address: string) => LocatedPlace | undefined;

/** The names of a pair's endpoints, any text. */
export interface PairEnds {
  source: string;
  destination: string;
}

export interface PairMeasurement extends PairEnds {
  /** Null for no reply, which is ignored. */
  rttMs: number | null;
  /** Whether it was learned before. It then becomes the newest RTT, but counts once. */
  isRepeated?: boolean;
}

export function placesOf(placeOf: PlaceOf, { source, destination }: PairEnds) {
  return [placeOf(source) ?? NOWHERE, placeOf(destination) ?? NOWHERE] as const;
}

/** How much longer RTTs are, as a sum of logarithms over pairs. */
interface Excess {
  sum: number;
  count: number;
}
const NONE: Readonly<Excess> = { sum: 0, count: 0 };

interface End {
  readonly place: LocatedPlace;
  /** The excess of the endpoint's country, its AS and itself, in this role. */
  readonly levels: readonly [country: Excess, network: Excess, own: Excess];
  /** How much the pair contributes to these. */
  readonly added: Excess;
}

export interface Pair {
  readonly km: number;
  readonly source: End;
  readonly destination: End;
  /** Excesses between both countries, in this direction: of all pairs, of the source, of the destination. */
  readonly countries: readonly [all: Excess, ofSource: Excess, ofDestination: Excess];
  /** The sum of the logarithms, their number, and the newest of them, oldest first. */
  logSum: number;
  count: number;
  newest: number[];
}

/** The prior of an excess, which is that of the next wider level or 0, counts as this many pairs. */
const PRIOR_PAIRS = 2;
/** Number of a pair's newest RTTs that its median is taken over. */
export const NUM_NEWEST = 9;
/** The slowest and the fastest rise per km, relative to the RTT at 0 km, and the number of values to try. */
const [SLOWEST, FASTEST, NUM_SLOPES] = [1e-5, 0.3, 40];
const MAX_FITTED = 4096;

/** Maximum number of excesses to save: 0.8 MB. */
const MAX_SAVED = 2 ** 15;

/** Six features of each endpoint and six of the pair; see `featuresOf`. */
export const NUM_FEATURES = 18;

interface SavedExcesses {
  /** Base, slope, median. */
  readonly regression: Float32Array;
  /** Two hashes of each excess's text, (excesses, 2). */
  readonly excessHashes: Uint32Array;
  /** Sums and counts, (excesses, 2). */
  readonly excesses: Float32Array;
}

/** The parts of a pair that are treated as unknown when a training row is made. */
export interface Hidden {
  readonly pair: boolean;
  readonly source: boolean;
  readonly destination: boolean;
}
export const NOTHING_HIDDEN: Hidden = { pair: false, source: false, destination: false };
/** What is hidden when a pair is learned as a new pair: four rows per pair. */
export const NEW_PAIRS: readonly Hidden[] = [
  { pair: true, source: false, destination: false },
  { pair: true, source: false, destination: true },
  { pair: true, source: true, destination: false },
  { pair: true, source: true, destination: true },
];

export class PlacedPairs {
  readonly #pairs = new Map<string, Pair>();
  /** Keyed by the hash of the text that names the excess. */
  readonly #excesses = new Map<number, Excess>();
  #isLoaded = false;
  /** log RTT = base + log(1 + slope * km); the median if the distance is unknown. */
  #base = 0;
  #slope = 0;
  #median = 0;

  constructor(readonly placeOf: PlaceOf, saved?: SavedExcesses) {
    if (!saved) return;
    this.#isLoaded = true;
    [this.#base, this.#slope, this.#median] = saved.regression;
    const { excessHashes, excesses } = saved;
    for (let i = 0; i < excesses.length; i += 2) {
      const key = keyOfHashes({ hash1: excessHashes[i], hash2: excessHashes[i + 1] });
      this.#excesses.set(key, { sum: excesses[i], count: excesses[i + 1] });
    }
  }

  /** The regression and the excesses of the most pairs, for answers about pairs that were not measured. */
  save(): SavedExcesses {
    const known = [...this.#excesses].filter(([, { count }]) => count > 0)
      .sort(([a, x], [b, y]) => y.count - x.count || a - b).slice(0, MAX_SAVED);
    return {
      regression: Float32Array.of(this.#base, this.#slope, this.#median),
      excessHashes: Uint32Array.from(
        known.flatMap(([key]) => [Math.floor(key / 2 ** 21), key % 2 ** 21 * 2 ** 11]),
      ),
      excesses: Float32Array.from(known.flatMap(([, { sum, count }]) => [sum, count])),
    };
  }

  /** @returns False if no measurement had a reply. */
  train(measurements: Iterable<PairMeasurement>): boolean {
    for (const measurement of measurements) this.#add(measurement);
    const pairs = [...this.#pairs.values()];
    if (pairs.length === 0) return false;
    const points = pairs.map((pair) => ({ km: pair.km, log: meanOf(pair) }));
    this.#median = quantileOfSample(points.map(({ log }) => log), 0.5);
    ({ base: this.#base, slope: this.#slope } = fitDistances(points));
    for (const end of ["source", "destination"] as const) {
      for (const pair of pairs) this.#update(pair, end, meanOf(pair) - this.expectedLog(pair));
    }
    return true;
  }

  observe(measurement: PairMeasurement): void {
    const pair = this.#add(measurement);
    if (!pair || measurement.isRepeated) return;
    const excess = meanOf(pair) - this.expectedLog(pair);
    this.#update(pair, "source", excess);
    this.#update(pair, "destination", excess);
  }

  /** Returns a pair without RTTs if it is unknown. */
  pairOf(query: PairEnds): Pair {
    return this.#pairs.get(keyOf(query)) ?? this.#newPair(query);
  }

  pairs(): Iterable<Pair> {
    return this.#pairs.values();
  }

  /** The logarithm of the RTT that the distance alone suggests. */
  expectedLog({ km }: Pair): number {
    return Number.isNaN(km) ? this.#median : this.#base + Math.log1p(this.#slope * km);
  }

  /** {@link expectedLog} plus the excesses of both endpoints. */
  expectedWithEnds(pair: Pair, hidden: Hidden): number {
    const excessOf = (end: End, isHidden: boolean) => {
      const without = isHidden ? end.levels[2] : hidden.pair ? end.added : NONE;
      return end.levels.slice(0, isHidden ? 2 : 3).reduce((prior, level) => excess(level, without, prior), 0);
    };
    return this.expectedLog(pair) + excessOf(pair.source, hidden.source) +
      excessOf(pair.destination, hidden.destination);
  }

  /** Computes the {@link NUM_FEATURES} features of a pair with parts hidden; NaN for unknown values. */
  featuresOf(pair: Pair, hidden: Hidden): number[] {
    const { km, source, destination, countries } = pair;
    const endOf = ({ place, levels, added }: End, isHidden: boolean) => {
      const [, , own] = levels;
      const numOther = isHidden ? 0 : own.count - added.count;
      const excesses = levels.map((level) => excessOf(level, isHidden ? own : added));
      return [place.position?.latitude ?? NaN, place.position?.longitude ?? NaN, ...excesses, numOther];
    };
    return [
      km,
      ...endOf(source, hidden.source),
      ...endOf(destination, hidden.destination),
      excessOf(countries[0], withoutOf(pair, hidden)),
      hidden.source ? NaN : excessOf(countries[1], source.added),
      hidden.destination ? NaN : excessOf(countries[2], source.added),
      this.expectedLog(pair),
      this.expectedWithEnds(pair, { ...hidden, pair: true }),
    ];
  }

  #add(measurement: PairMeasurement): Pair | undefined {
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

  #newPair(query: PairEnds): Pair {
    const [from, to] = placesOf(this.placeOf, query);
    const excessOf = (text: string) =>
      this.#isLoaded
        ? this.#excesses.get(keyOfText(text)) ?? { ...NONE }
        : getOrMake(this.#excesses, keyOfText(text), () => ({ ...NONE }));
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

  /** Updates all levels of an endpoint. A pair adds to its destination what its source does not explain. */
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

/**
 * Fits ln RTT = base + ln(1 + slope km). Minimises absolute errors, so wrong places and slow pairs have little
 * influence.
 *
 * @param pairs At most {@link MAX_FITTED} are used; those without a distance, NaN, are not. @returns The slope is 0
 *   if none is used.
 */
export function fitDistances(pairs: readonly { km: number; log: number }[]): { base: number; slope: number } {
  const step = Math.max(1, pairs.length / MAX_FITTED);
  const some = Array.from({ length: Math.floor(pairs.length / step) }, (_, i) => pairs[Math.floor(i * step)])
    .filter(({ km }) => !Number.isNaN(km));
  let [base, slope, least] = [quantileOfSample(pairs.map(({ log }) => log), 0.5), 0, Infinity];
  for (let i = 0; i < NUM_SLOPES && some.length > 0; i++) {
    const tried = SLOWEST * (FASTEST / SLOWEST) ** (i / (NUM_SLOPES - 1));
    const bases = Float64Array.from(some, ({ km, log }) => log - Math.log1p(tried * km));
    const median = quantileOfSample(bases, 0.5);
    const error = bases.reduce((sum, each) => sum + Math.abs(each - median), 0);
    if (error < least) [least, base, slope] = [error, median, tried];
  }
  return { base, slope };
}

function keyOf({ source, destination }: PairEnds): string {
  return `${source} ${destination}`;
}

const ENCODER = new TextEncoder();

/** Hashes the text that names an excess to a key. */
function keyOfText(text: string): number {
  const state = beginAddress(0, 4);
  for (const byte of ENCODER.encode(text)) advance(state, byte);
  return keyOfHashes(state);
}

function meanOf({ logSum, count }: Pair): number {
  return logSum / count;
}

/** What the pair and its hidden endpoints contribute to the excess of its countries. */
function withoutOf({ source, countries: [, ofSource, ofDestination] }: Pair, hidden: Hidden): Excess {
  const { added } = source;
  const total = (part: "sum" | "count") => {
    const [a, b] = [hidden.source ? ofSource : added, hidden.destination ? ofDestination : added];
    return a[part] + b[part] - added[part];
  };
  return { sum: total("sum"), count: total("count") };
}

/** {@link excess} with a prior of 0; NaN if there are no pairs. */
function excessOf(of: Excess, without: Excess): number {
  return of.count === without.count ? NaN : excess(of, without, 0);
}

function excess(of: Excess, without: Excess, prior: number): number {
  return (of.sum - without.sum + PRIOR_PAIRS * prior) / (of.count - without.count + PRIOR_PAIRS);
}

/**
 * What is known about a pair apart from its RTTs: its distance, and how much longer the RTTs of its
 * endpoints, their networks and their countries are than those of other pairs at this distance. Random
 * forests learn from this.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { kmBetween, type LocatedPlace, NOWHERE } from "../../data/addresses/place_table.ts";
import { logOfRtt } from "../../model/coordinates/rtt_scale.ts";
import { expectedLog, fitDistances, type Regression } from "../../model/pool/distance_regression.ts";
import type { PairEnds, PlaceOf } from "../../model/pool/forecast.ts";

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
  /** Keyed by the text that names the excess. */
  readonly #excesses = new Map<string, Excess>();
  #regression: Regression = { base: 0, slope: 0, median: 0 };

  constructor(readonly placeOf: PlaceOf) {}

  /** @returns False if no measurement had a reply. */
  train(measurements: Iterable<PairMeasurement>): boolean {
    for (const measurement of measurements) this.#add(measurement);
    const pairs = [...this.#pairs.values()];
    if (pairs.length === 0) return false;
    this.#regression = fitDistances(pairs.map((pair) => ({ km: pair.km, log: meanOf(pair) })));
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
    return expectedLog(km, this.#regression);
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

  /**
   * Computes the features of a pair with parts hidden, six of each endpoint and six of the pair; NaN for unknown
   * values.
   */
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
    const excessOf = (text: string) => getOrMake(this.#excesses, text, () => ({ ...NONE }));
    const endOf = (role: string, place: LocatedPlace, name: string): End => ({
      place,
      levels: [
        excessOf(`${role} country ${place.country}`),
        excessOf(`${role} AS ${place.asNumber}`),
        excessOf(`${role} ${name}`),
      ],
      added: { ...NONE },
    });
    const km = kmBetween(from, to);
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

function keyOf({ source, destination }: PairEnds): string {
  return `${source} ${destination}`;
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

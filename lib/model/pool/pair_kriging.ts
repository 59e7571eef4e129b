/**
 * Estimates the RTT of a pair that was not measured from similar pairs, by kriging: the mean and the standard
 * deviation of a Gaussian process (Rasmussen, Williams, "Gaussian Processes for Machine Learning", 2006,
 * algorithm 2.1), given the measured pairs with the greatest covariance (Vecchia, "Estimation and Model
 * Identification for Continuous Spatial Processes", JRSS B 50, 1988). Its values are how much longer RTTs are than
 * their distance suggests. The covariance is a sum of the similarity of the sources, that of the destinations, and
 * the product of both. Similarity is by address, prefixes, AS, country and distance.
 *
 * @module
 */
import { kmBetween, NOWHERE, type Position } from "../../data/addresses/place_table.ts";
import { dot, factorize, substituteForward } from "../coordinates/ridge.ts";
import { expectedLog, fitDistances, type Regression } from "./distance_regression.ts";
import type { PairEnds } from "./forecast.ts";
import { type End, endOf, equalBytes, type MeasuredPairs } from "./measured_pairs.ts";

// Variances of the process. Weights that maximise the likelihood of some pairs differ much with the pairs, since
// a few detours decide, and are not better on measurements that were held out.

/** Distances at which the similarity of two endpoints is 1/e, km, and their weights. */
const BY_DISTANCE: readonly (readonly [km: number, weight: number])[] = [[1000, 0.1], [4000, 0.3]];
/** Weights of an equal address, /24 (IPv6: /48), /16 (/32), AS and country. */
const [ADDRESS, LONG_PREFIX, SHORT_PREFIX, AS, COUNTRY] = [0.02, 0.03, 0.03, 0.1, 0.03];
/** The weight of each endpoint's similarity alone; the variance that all pairs share; that of one pair. */
const [ALONE, COMMON, OWN] = [0.12, 0.02, 0.01];

/** Maximum number of measured pairs that an estimate depends on, half of them by each endpoint. */
const MAX_NEAR = 192;
/** Maximum number of similarities of endpoints that are kept, per role: 16 MB. */
const MAX_KEPT = 2 ** 21;

/** What similar pairs suggest about a pair. All values are logarithms of RTTs in ms, or differences of them. */
export interface KrigedRtt {
  /** By the distance alone. */
  readonly expected: number;
  /** The mean of how much longer the RTT is than expected, given the similar pairs. */
  readonly excess: number;
  /** See {@link NUM_FEATURES}. NaN for unknown values. */
  readonly features: number[];
}

/**
 * The distance, the expected RTT, the mean and the standard deviation of its excess; of the measured pairs of the
 * same source, the excess of the one to the most similar destination, that similarity, and the mean of all,
 * weighted by it; the same for the same destination.
 */
export const NUM_FEATURES = 10;

export class PairKriging {
  /** The similarities of an endpoint of a question to all endpoints of its role. */
  readonly #similarTo: (name: string, role: number) => Float64Array;
  /** Similarities of known endpoints, by role; NaN until they are needed, empty if there are too many. */
  readonly #kept: readonly Float64Array[];

  /** @param corrected The same with the places that measurements suggest, for pairs of addresses of the training data. */
  constructor(
    readonly known: MeasuredPairs,
    readonly regression: Regression,
    readonly corrected?: PairKriging,
  ) {
    this.#similarTo = known.compared((end, others) =>
      Float64Array.from(others, (other) => similarity(end, other))
    );
    this.#kept = known.ends.map(({ length }) =>
      new Float64Array(length ** 2 <= MAX_KEPT ? length ** 2 : 0).fill(NaN)
    );
  }

  /** @param moved The positions of measured addresses that the database misplaces. */
  static of(
    known: MeasuredPairs,
    regression: Regression,
    moved: ReadonlyMap<string, Position>,
  ): PairKriging {
    if (moved.size === 0) return new PairKriging(known, regression);
    const placeOf = (name: string) => {
      const position = moved.get(name);
      const place = known.placeOf(name);
      return position ? { ...NOWHERE, ...place, position } : place;
    };
    return new PairKriging(known, regression, new PairKriging(known.withPlaces(placeOf), regression));
  }

  /**
   * Asks about a pair as if it had not been measured.
   *
   * @param isNew Whether its source and its destination count as never measured either. @returns Undefined if no
   *   pair is left to learn from.
   */
  ask({ source, destination }: PairEnds, isNew = [false, false]): KrigedRtt | undefined {
    const { known, regression, corrected } = this;
    const names = [source, destination];
    const isTrained = (name: string, i: number) => !isNew[i] && known.isTrained(name);
    if (corrected && names.every(isTrained)) return corrected.ask({ source, destination });
    const similar = names.map(this.#similarTo);
    const near = this.#nearest(similar, this.#dependingOn(names, isNew));
    if (near.length === 0) return undefined;
    const rows = [0, 1].map((role) => near.map((pair) => known.rows[2 * pair + role]));
    const excesses = Float64Array.from(near, (pair) => this.#excessOf(pair));
    const covariances = Float64Array.from(
      near,
      (_, i) => covariance(similar[0][rows[0][i]], similar[1][rows[1][i]]),
    );
    const lower = new Float64Array(near.length ** 2);
    for (let i = 0, at = 0; i < near.length; i++, at = i * near.length) {
      for (let j = 0; j <= i; j++) {
        lower[at + j] = covariance(
          this.#between(0, rows[0][i], rows[0][j]),
          this.#between(1, rows[1][i], rows[1][j]),
        );
      }
      lower[at + i] += OWN;
    }
    factorize(lower, near.length);
    const solved = excesses.slice();
    substituteForward(lower, solved);
    substituteForward(lower, covariances);
    const excess = dot(solved, covariances);
    const ofSame = names.flatMap((name, role) => {
      const same = known.rowOf(name, role);
      let [nearest, sum, weights] = [-1, 0, 0];
      const similarityOf = (i: number) => similar[1 - role][rows[1 - role][i]];
      rows[role].forEach((row, i) => {
        if (row !== same) return;
        const weight = similarityOf(i);
        if (nearest < 0 || weight > similarityOf(nearest)) nearest = i;
        sum += weight * excesses[i];
        weights += weight;
      });
      return nearest < 0
        ? [NaN, NaN, NaN]
        : [excesses[nearest], similarityOf(nearest), weights > 0 ? sum / weights : NaN];
    });
    const [from, to] = names.map((name) => endOf(name, known.placeOf));
    const km = kmBetween(from.place, to.place);
    const expected = expectedLog(km, regression);
    const own = covariance(similarity(from, from), similarity(to, to));
    const deviation = Math.sqrt(Math.max(0, own - dot(covariances, covariances)));
    return { expected, excess, features: [km, expected, excess, deviation, ...ofSame] };
  }

  /** How much longer the RTT of a measured pair is than expected. */
  #excessOf(pair: number): number {
    const km = kmOf(this.known, pair);
    return (this.known.medianOf(pair) ?? NaN) - expectedLog(km, this.regression);
  }

  /** Returns whether a measured pair is the pair of two addresses, or has one of them that is new. */
  #dependingOn(names: readonly string[], [isNewA, isNewB]: readonly boolean[]): (pair: number) => boolean {
    const { known, known: { rows } } = this;
    const [[fromA, fromB], [toA, toB]] = [0, 1].map((role) => names.map((name) => known.rowOf(name, role)));
    return (pair) => {
      const [from, to] = [rows[2 * pair], rows[2 * pair + 1]];
      return from === fromA && to === toB || from === fromB && to === toA ||
        isNewA && (from === fromA || to === toA) || isNewB && (from === fromB || to === toB);
    };
  }

  /** The pairs with the greatest covariance by the source, and by the destination, ascending. */
  #nearest([from, to]: readonly Float64Array[], isHidden: (pair: number) => boolean): number[] {
    const { length, rows } = this.known;
    const byRole = [0, 1].map((role) =>
      greatest(length, MAX_NEAR / 2, (pair) => {
        if (isHidden(pair)) return NaN;
        const [ofSource, ofDestination] = [from[rows[2 * pair]], to[rows[2 * pair + 1]]];
        return ALONE * (role === 0 ? ofSource : ofDestination) + ofSource * ofDestination;
      })
    );
    return [...new Set(byRole.flat())].filter((pair) => this.known.medianOf(pair) !== undefined)
      .sort((a, b) => a - b);
  }

  /** The similarity of two known endpoints. */
  #between(role: number, row: number, other: number): number {
    const kept = this.#kept[role];
    const ends = this.known.ends[role];
    const at = row * ends.length + other;
    if (!Number.isNaN(kept[at] ?? NaN)) return kept[at];
    const found = similarity(ends[row], ends[other]);
    if (kept.length > 0) kept[at] = found;
    return found;
  }
}

/** Fits the regression on the distance to pairs, each of which has an RTT. */
export function regressionOf(known: MeasuredPairs): Regression {
  return fitDistances(
    Array.from(
      { length: known.length },
      (_, pair) => ({ km: kmOf(known, pair), log: known.medianOf(pair) ?? NaN }),
    ),
  );
}

/** The distance of a measured pair, km; NaN if it is unknown. */
function kmOf(known: MeasuredPairs, pair: number): number {
  return kmBetween(known.endOf(pair, 0).place, known.endOf(pair, 1).place);
}

/** The indexes below `length` with the greatest scores, of equal ones the first; those with NaN are left out. */
function greatest(length: number, count: number, scoreOf: (index: number) => number): number[] {
  const found: { index: number; score: number }[] = [];
  let least = -Infinity;
  const cut = () => {
    found.sort((a, b) => b.score - a.score || a.index - b.index).splice(count);
    if (found.length === count) least = found[count - 1].score;
  };
  for (let index = 0; index < length; index++) {
    const score = scoreOf(index);
    if (!(score > least)) continue;
    if (found.push({ index, score }) === 4 * count) cut();
  }
  cut();
  return found.map(({ index }) => index);
}

function similarity(a: End, b: End): number {
  const { length } = a.address;
  const equal = equalBytes(a, b);
  const share = length === 4 ? 1 : 2;
  const [ofA, ofB] = [a.place, b.place];
  const km = kmBetween(ofA, ofB);
  return (equal >= length ? ADDRESS : 0) + (equal >= 3 * share ? LONG_PREFIX : 0) +
    (equal >= 2 * share ? SHORT_PREFIX : 0) +
    (ofA.asNumber > 0 && ofA.asNumber === ofB.asNumber ? AS : 0) +
    (ofA.country > 0 && ofA.country === ofB.country ? COUNTRY : 0) +
    (Number.isNaN(km)
      ? 0
      : BY_DISTANCE.reduce((sum, [scale, weight]) => sum + weight * Math.exp(-km / scale), 0));
}

/** The covariance of two pairs. @param from, to Similarity of their sources and of their destinations. */
function covariance(from: number, to: number): number {
  return COMMON + ALONE * (from + to) + from * to;
}

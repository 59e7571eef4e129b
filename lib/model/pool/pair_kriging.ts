/**
 * Estimates the RTT of a pair that was not measured from similar pairs, by kriging: the mean of a Gaussian
 * process (Rasmussen, Williams, "Gaussian Processes for Machine Learning", 2006, algorithm 2.1). Its values
 * are how much longer RTTs are than their distance suggests. The covariance is a sum of the similarity of the
 * sources, the similarity of the destinations, and the product of both. Similarity is by address, prefixes,
 * AS, country and distance, weighted so as to maximise the likelihood of some of the pairs (section 5.4).
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { named } from "../../base/errors.ts";
import { addressBytes, formatAddress } from "../../data/addresses/ip.ts";
import { distanceKm, type LocatedPlace, NOWHERE } from "../../data/addresses/place_table.ts";
import { factorize, substituteBack, substituteForward } from "../coordinates/ridge.ts";
import { type Allowed, ANY, COUNT, real, type Rows, type Tensor, whole } from "../possible_numbers.ts";
import type { PairEnds, PlaceOf } from "./placed_pairs.ts";

/** A pair, and how much longer its RTT is than its distance suggests, ln. */
interface KrigedPair extends PairEnds {
  readonly excess: number;
}

/** Distances at which the similarity of two endpoints is 1/e, km. */
const SCALES_KM = [1000, 4000];
/** Similarities of endpoints: equal address, /24 (IPv6: /48), /16 (/32), AS, country; one per distance. */
const NUM_SIMILARITIES = 5 + SCALES_KM.length;
/** Weights of source similarities, of destination similarities, of each role alone; a pair's variance. */
const KERNEL_LENGTH = 2 * NUM_SIMILARITIES + 3;
const FIRST_WEIGHTS = [0.02, 0.03, 0.03, 0.1, 0.03, 0.1, 0.3];
const FIRST_KERNEL = [...FIRST_WEIGHTS, ...FIRST_WEIGHTS, 0.03, 0.03, 0.01];
/** The variance that all pairs share. */
const COMMON = 0.02;
/** Lower bound of a pair's variance given the previous pairs, for equal pairs whose own variance is small. */
const LEAST_VARIANCE = 1e-12;

/** Maximum number of pairs in a process, and maximum number used to choose the weights. */
export const MAX_KRIGED = 1024;
const MAX_TUNED = 400;
/** The prior standard deviation of the logarithms of weights around the first kernel. */
const PRIOR_SPREAD = 1.5;
/** In each round a weight is multiplied or divided by this at most `MAX_STEPS` times, while that helps. */
const [TUNING_FACTOR, MAX_STEPS, NUM_ROUNDS] = [4, 3, 2];

/** Endpoints whose similarities are cached, per role: at most 8 MB. */
const MAX_KNOWN = 1024;

const ADDRESS_LENGTH: Allowed = {
  ...whole(4, 16),
  wanted: "4 or 16",
  also: (length) => length === 4 || length === 16,
};

/** The length of an address and its bytes, then zeros. */
export const END_BYTES: readonly Allowed[] = [ADDRESS_LENGTH, ...Array(16).fill(ANY)];

export const KRIGING_TENSORS = {
  kernel: ["pool.kriging_kernel", Array(KERNEL_LENGTH).fill(real(0, 2 ** 20))],
  ends: ["pool.kriging_ends", END_BYTES, "U8"],
  /** Rows of the source and the destination (sources come first), and the weight of the covariance. */
  pairs: ["pool.kriging_pairs", [COUNT, COUNT, ANY]],
} as const satisfies Record<string, Tensor>;

interface KrigingArrays {
  readonly kernel: Float32Array;
  readonly ends: Uint8Array;
  readonly pairs: Float32Array;
}

export interface End {
  readonly address: Uint8Array;
  readonly place: LocatedPlace;
}

export class PairKriging {
  readonly #endsByRole: readonly (readonly End[])[];
  /** Similarities of the endpoints of recent questions to the endpoints of the same role. */
  readonly #knownByRole = [new Map<string, Float64Array>(), new Map<string, Float64Array>()];

  /** @param tensors See {@link KRIGING_TENSORS}. */
  constructor(
    readonly tensors: KrigingArrays,
    readonly placeOf: PlaceOf,
  ) {
    this.#endsByRole = endsOf(tensors.ends, tensors.pairs, KRIGING_TENSORS.pairs[1].length, placeOf);
  }

  /** Fits a process and returns its tensors. @param kernel The weights; chosen from the pairs by default. */
  static fit(
    pairs: readonly KrigedPair[],
    placeOf: PlaceOf,
    kernel = tuned(new Sample(pairs.slice(0, MAX_TUNED), placeOf)),
  ): KrigingArrays {
    const sample = new Sample(pairs, placeOf);
    const weights = sample.solve(kernel).weights();
    const { sources: { ends, ofPairs }, destinations } = sample;
    const rows = ofPairs.map((from, i) => [from, ends.length + destinations.ofPairs[i], weights[i]]);
    return {
      kernel,
      ends: Uint8Array.from([...ends, ...destinations.ends].flatMap(endRow)),
      pairs: Float32Array.from(rows.flat()),
    };
  }

  /** How much longer a pair's RTT is than its distance suggests, ln; undefined if nothing was learned. */
  excessOf({ source, destination }: PairEnds): number | undefined {
    const { kernel, pairs } = this.tensors;
    const [ofSource, ofDestination] = [source, destination].map((name, role) => this.#ofEnd(name, role));
    let sum = 0;
    for (let i = 0; i < pairs.length; i += 3) {
      const [from, to] = [ofSource[pairs[i]], ofDestination[pairs[i + 1] - ofSource.length]];
      sum += pairs[i + 2] * covariance(from, to, kernel);
    }
    return pairs.length > 0 ? sum : undefined;
  }

  /** The similarities of an endpoint to all endpoints of its role. */
  #ofEnd(name: string, role: number): Float64Array {
    const known = this.#knownByRole[role];
    if (known.size === MAX_KNOWN && !known.has(name)) known.clear();
    return getOrMake(known, name, () => {
      const end = endOf(name, this.placeOf);
      const compared = new Float32Array(NUM_SIMILARITIES);
      return Float64Array.from(this.#endsByRole[role], (other) => {
        compare(end, other, compared, 0);
        return weighed(compared, this.tensors.kernel, role);
      });
    });
  }
}

class Sample {
  readonly sources: RoleEnds;
  readonly destinations: RoleEnds;
  readonly #excesses: Float64Array;

  constructor(pairs: readonly KrigedPair[], placeOf: PlaceOf) {
    this.sources = new RoleEnds(pairs.map(({ source }) => source), placeOf);
    this.destinations = new RoleEnds(pairs.map(({ destination }) => destination), placeOf);
    this.#excesses = Float64Array.from(pairs, ({ excess }) => excess);
  }

  /** The log-likelihood up to a constant; `weights` returns the weights of the covariances with each pair. */
  solve(kernel: Float32Array): { logLikelihood: number; weights: () => Float64Array } {
    const count = this.#excesses.length;
    const [from, to] = [this.sources.weighed(kernel, 0), this.destinations.weighed(kernel, 1)];
    const lower = new Float64Array(count * count);
    for (let i = 0; i < count; i++) {
      for (let j = 0; j <= i; j++) lower[i * count + j] = covariance(from(i, j), to(i, j), kernel);
      lower[i * count + i] += kernel[KERNEL_LENGTH - 1];
    }
    const solved = this.#excesses.slice();
    factorize(lower, count, LEAST_VARIANCE);
    substituteForward(lower, solved);
    const logLikelihood = solved.reduce(
      (sum, each, i) => sum - each ** 2 / 2 - Math.log(lower[i * (count + 1)]),
      0,
    );
    return {
      logLikelihood,
      weights: () => {
        substituteBack(lower, solved);
        return solved;
      },
    };
  }
}

class RoleEnds {
  readonly ends: readonly End[];
  /** For each pair the index of its endpoint in `ends`. */
  readonly ofPairs: readonly number[];
  readonly #similarities: Float32Array;

  constructor(names: readonly string[], placeOf: PlaceOf) {
    const numbers = new Map([...new Set(names)].map((name, i) => [name, i]));
    this.ofPairs = names.map((name) => named(numbers, name));
    const ends = this.ends = [...numbers.keys()].map((name) => endOf(name, placeOf));
    this.#similarities = new Float32Array(ends.length ** 2 * NUM_SIMILARITIES);
    ends.forEach((a, i) => ends.forEach((b, j) => compare(a, b, this.#similarities, i * ends.length + j)));
  }

  /** Returns a function that computes the similarity of two pairs' endpoints in this role. */
  weighed(kernel: Float32Array, role: number): (pair: number, other: number) => number {
    const { length } = this.ends;
    const all = Float64Array.from(
      { length: length ** 2 },
      (_, i) => weighed(this.#similarities, kernel, role, i),
    );
    return (pair, other) => all[this.ofPairs[pair] * length + this.ofPairs[other]];
  }
}

/** Searches for the weights with the greatest likelihood by changing one weight at a time. */
function tuned(sample: Sample): Float32Array {
  const scoreOf = (kernel: Float32Array) =>
    kernel.reduce(
      (score, weight, i) => score - (Math.log(weight / FIRST_KERNEL[i]) / PRIOR_SPREAD) ** 2 / 2,
      sample.solve(kernel).logLikelihood,
    );
  let best = Float32Array.from(FIRST_KERNEL);
  let greatest = scoreOf(best);
  for (let round = 0; round < NUM_ROUNDS; round++) {
    for (let i = 0; i < KERNEL_LENGTH; i++) {
      for (const factor of [TUNING_FACTOR, 1 / TUNING_FACTOR]) {
        for (let step = 0; step < MAX_STEPS; step++) {
          const changed = best.with(i, best[i] * factor);
          const score = scoreOf(changed);
          if (score <= greatest) break;
          [best, greatest] = [changed, score];
        }
      }
    }
  }
  return best;
}

export function endOf(name: string, placeOf: PlaceOf): End {
  return { address: addressBytes(name), place: placeOf(name) ?? NOWHERE };
}

/** A row of {@link END_BYTES}. */
export function endRow({ address }: End): number[] {
  return [address.length, ...address, ...Array(16 - address.length).fill(0)];
}

/**
 * The sources and the destinations of pairs, with their places.
 *
 * @param ends Rows of {@link END_BYTES}; sources come first. @param pairs (pairs, width): rows of the source and
 *   of the destination, and others.
 */
export function endsOf(ends: Uint8Array, pairs: ArrayLike<number>, width: number, placeOf: PlaceOf): End[][] {
  const all = Array.from({ length: ends.length / END_BYTES.length }, (_, i) => {
    const [length, ...bytes] = ends.subarray(i * END_BYTES.length, (i + 1) * END_BYTES.length);
    return endOf(formatAddress(Uint8Array.from(bytes.slice(0, length))), placeOf);
  });
  let numSources = 0;
  for (let i = 0; i < pairs.length; i += width) numSources = Math.max(numSources, pairs[i] + 1);
  return [all.slice(0, numSources), all.slice(numSources)];
}

/** Pairs must refer to a source and a destination; rows of destinations follow those of sources. */
export function* faultsOfEnds(ends: Rows, pairs: Rows): Generator<string> {
  const numSources = pairs.column(0).reduce((most, row) => Math.max(most, row + 1), 0);
  yield* pairs.where(
    0,
    `below ${ends.count}, the number of endpoints`,
    (row) => pairs.at(row, 0) >= ends.count,
  );
  yield* pairs.where(
    1,
    `from ${numSources} to ${ends.count - 1}, a row after those of the sources`,
    (row) => pairs.at(row, 1) < numSources || pairs.at(row, 1) >= ends.count,
  );
}

/** The number of leading bytes that two addresses share; 0 for different IP versions. */
export function equalBytes({ address: a }: End, { address: b }: End): number {
  let equal = 0;
  while (a.length === b.length && equal < a.length && a[equal] === b[equal]) equal++;
  return equal;
}

/** Writes the similarities of two endpoints; see {@link NUM_SIMILARITIES}. @param row Row of `out`. */
function compare(a: End, b: End, out: Float32Array, row: number): void {
  const { length } = a.address;
  const equal = equalBytes(a, b);
  const share = length === 4 ? 1 : 2;
  const [ofA, ofB] = [a.place, b.place];
  const km = ofA.position && ofB.position ? distanceKm(ofA.position, ofB.position) : Infinity;
  let at = row * NUM_SIMILARITIES;
  for (const bytes of [length, 3 * share, 2 * share]) out[at++] = Number(equal >= bytes);
  out[at++] = Number(ofA.asNumber > 0 && ofA.asNumber === ofB.asNumber);
  out[at++] = Number(ofA.country > 0 && ofA.country === ofB.country);
  for (const scale of SCALES_KM) out[at++] = Math.exp(-km / scale);
}

/** Combines similarities. @param role 0 for sources, 1 for destinations. @param row Row of `values`. */
function weighed(values: ArrayLike<number>, kernel: Float32Array, role: number, row = 0): number {
  let sum = 0;
  for (let i = 0; i < NUM_SIMILARITIES; i++) {
    sum += kernel[role * NUM_SIMILARITIES + i] * values[row * NUM_SIMILARITIES + i];
  }
  return sum;
}

/** The covariance of two pairs. @param from, to Similarity of their sources and of their destinations. */
function covariance(from: number, to: number, kernel: Float32Array): number {
  return COMMON + kernel[2 * NUM_SIMILARITIES] * from + kernel[2 * NUM_SIMILARITIES + 1] * to + from * to;
}

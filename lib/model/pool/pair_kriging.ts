/**
 * The RTT of a pair that was not measured by those of similar pairs: the mean of a Gaussian process (Rasmussen, Williams,
 * "Gaussian Processes for Machine Learning", 2006, algorithm 2.1), or kriging. Its values are how much longer RTTs are than
 * their distance says. Their covariance is a sum of how similar the sources are, how similar the destinations are, and the
 * product of both. Ends are similar by their address, prefixes, AS, country and distance. The weights of these are those
 * with the greatest likelihood of some of the pairs (section 5.4).
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { addressBytes, formatAddress } from "../../data/addresses/ip.ts";
import { distanceKm, type LocatedPlace, NOWHERE } from "../../data/addresses/place_table.ts";
import type { PairEnds, PlaceOf } from "./placed_pairs.ts";

/** A pair, and how much longer its RTT is than its distance says, ln. */
export interface KrigedPair extends PairEnds {
  readonly excess: number;
}

/** Distances at which two ends are similar by 1/e, km. */
const SCALES_KM = [1000, 4000];
/** How similar two ends are: equal addresses, /24 (IPv6: /48), /16 (/32), ASes, countries; then by each distance. */
const NUM_SIMILARITIES = 5 + SCALES_KM.length;
/** The weights of similarities of sources, then of destinations; of both roles alone; the variance of a pair alone. */
const KERNEL_LENGTH = 2 * NUM_SIMILARITIES + 3;
const FIRST_WEIGHTS = [0.02, 0.03, 0.03, 0.1, 0.03, 0.1, 0.3];
const FIRST_KERNEL = [...FIRST_WEIGHTS, ...FIRST_WEIGHTS, 0.03, 0.03, 0.01];
/** The variance of all pairs together. */
const COMMON = 0.02;

/** Pairs that a process has at most, and pairs that choose the weights. */
export const MAX_KRIGED = 1024;
const MAX_TUNED = 400;
/** Each weight is multiplied or divided by this at most so often in each round, while that pays. */
/** The standard deviation of the logarithms of weights around those of the first kernel, before any pair. */
const PRIOR_SPREAD = 1.5;
const [TUNING_FACTOR, MAX_STEPS, NUM_ROUNDS] = [4, 3, 2];

/** The names of the tensors, and the numbers of a row of each. */
export const KRIGING_TENSORS = {
  kernel: ["pool.kriging_kernel", KERNEL_LENGTH],
  /** The length of the address and its bytes. */
  ends: ["pool.kriging_ends", 17],
  /** The rows of the source and the destination; the weight of its covariance. */
  pairs: ["pool.kriging_pairs", 3],
} as const;

/** An end of a pair. */
interface End {
  readonly address: Uint8Array;
  readonly place: LocatedPlace;
}

/** The pairs of a process. */
export class PairKriging {
  readonly #ends: readonly End[];

  /** @param tensors See {@link KRIGING_TENSORS}. */
  constructor(
    readonly tensors: Readonly<Record<keyof typeof KRIGING_TENSORS, Float32Array>>,
    readonly placeOf: PlaceOf,
  ) {
    const { ends } = tensors;
    const width = KRIGING_TENSORS.ends[1];
    this.#ends = Array.from({ length: ends.length / width }, (_, i) => {
      const [length, ...bytes] = ends.subarray(i * width, (i + 1) * width);
      return endOf(formatAddress(Uint8Array.from(bytes.slice(0, length))), placeOf);
    });
  }

  /** The tensors of a process. @param kernel Its weights; chosen by the pairs if it is not given. */
  static fit(
    pairs: readonly KrigedPair[],
    placeOf: PlaceOf,
    kernel = tuned(new Sample(pairs.slice(0, MAX_TUNED), placeOf)),
  ): Record<keyof typeof KRIGING_TENSORS, Float32Array> {
    const sample = new Sample(pairs, placeOf);
    const { weights } = sample.solve(kernel);
    return {
      kernel,
      ends: Float32Array.from(sample.ends.flatMap(({ address }) => [
        address.length,
        ...Array.from({ length: 16 }, (_, i) => address[i] ?? 0),
      ])),
      pairs: Float32Array.from(sample.rows.flatMap(([from, to], i) => [from, to, weights[i]])),
    };
  }

  /** How much longer the RTT of a pair is than its distance says, ln; undefined if nothing was learned. */
  excessOf({ source, destination }: PairEnds): number | undefined {
    const { kernel, pairs } = this.tensors;
    const [ofSource, ofDestination] = [source, destination].map((name, role) => {
      const end = endOf(name, this.placeOf);
      return this.#ends.map((other) => weighed(similarities(end, other), kernel, role));
    });
    let sum = 0;
    for (let i = 0; i < pairs.length; i += 3) {
      sum += pairs[i + 2] * covariance(ofSource[pairs[i]], ofDestination[pairs[i + 1]], kernel);
    }
    return pairs.length > 0 ? sum : undefined;
  }
}

/** Pairs, and how similar their ends are. */
class Sample {
  readonly ends: End[];
  /** The places in `ends` of each source and destination. */
  readonly rows: [number, number][];
  readonly #excesses: Float64Array;
  readonly #similarities: Float32Array;

  constructor(pairs: readonly KrigedPair[], placeOf: PlaceOf) {
    const numbers = new Map<string, number>();
    const numberOf = (name: string) => getOrMake(numbers, name, () => numbers.size);
    this.rows = pairs.map(({ source, destination }) => [numberOf(source), numberOf(destination)]);
    this.ends = [...numbers.keys()].map((name) => endOf(name, placeOf));
    this.#excesses = Float64Array.from(pairs, ({ excess }) => excess);
    const count = this.ends.length;
    this.#similarities = new Float32Array(count * count * NUM_SIMILARITIES);
    for (let a = 0; a < count; a++) {
      for (let b = 0; b <= a; b++) {
        const values = similarities(this.ends[a], this.ends[b]);
        this.#similarities.set(values, (a * count + b) * NUM_SIMILARITIES);
        this.#similarities.set(values, (b * count + a) * NUM_SIMILARITIES);
      }
    }
  }

  /** The weights of the covariances with each pair, and the logarithm of the likelihood but for a constant. */
  solve(kernel: Float32Array): { weights: Float64Array; logLikelihood: number } {
    const count = this.rows.length;
    const all = this.ends.length;
    const [ofSources, ofDestinations] = [0, 1].map((role) =>
      Float64Array.from({ length: all * all }, (_, i) => weighed(this.#similarities, kernel, role, i))
    );
    // Of the symmetric matrix and its Cholesky factor the lower half is used.
    const lower = new Float64Array(count * count);
    this.rows.forEach(([from, to], i) => {
      for (let j = 0; j <= i; j++) {
        const [otherFrom, otherTo] = this.rows[j];
        lower[i * count + j] = covariance(
          ofSources[from * all + otherFrom],
          ofDestinations[to * all + otherTo],
          kernel,
        );
      }
      lower[i * count + i] += kernel[KERNEL_LENGTH - 1];
    });
    const weights = this.#excesses.slice();
    let logLikelihood = 0;
    for (let i = 0; i < count; i++) {
      for (let j = 0; j <= i; j++) {
        let sum = lower[i * count + j];
        for (let k = 0; k < j; k++) sum -= lower[i * count + k] * lower[j * count + k];
        lower[i * count + j] = i === j ? Math.sqrt(Math.max(sum, 1e-12)) : sum / lower[j * count + j];
      }
      for (let k = 0; k < i; k++) weights[i] -= lower[i * count + k] * weights[k];
      weights[i] /= lower[i * count + i];
      logLikelihood -= weights[i] ** 2 / 2 + Math.log(lower[i * count + i]);
    }
    for (let i = count - 1; i >= 0; i--) {
      weights[i] /= lower[i * count + i];
      for (let k = 0; k < i; k++) weights[k] -= lower[i * count + k] * weights[i];
    }
    return { weights, logLikelihood };
  }
}

/** The weights with the greatest likelihood that is found by changing one after the other. */
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

function endOf(name: string, placeOf: PlaceOf): End {
  return { address: addressBytes(name), place: placeOf(name) ?? NOWHERE };
}

/** See {@link NUM_SIMILARITIES}. */
function similarities(a: End, b: End): number[] {
  const { length } = a.address;
  let equal = 0;
  while (equal < length && a.address[equal] === b.address[equal]) equal++;
  const isSame = length === b.address.length;
  const share = length === 4 ? 1 : 2;
  const km = a.place.position && b.place.position ? distanceKm(a.place.position, b.place.position) : Infinity;
  return [
    isSame && equal === length,
    isSame && equal >= 3 * share,
    isSame && equal >= 2 * share,
    a.place.asNumber > 0 && a.place.asNumber === b.place.asNumber,
    a.place.country > 0 && a.place.country === b.place.country,
  ].map(Number).concat(SCALES_KM.map((scale) => Math.exp(-km / scale)));
}

/** Similarities as one number. @param role 0: of sources, 1: of destinations. @param row Of which row of values. */
function weighed(values: ArrayLike<number>, kernel: Float32Array, role: number, row = 0): number {
  let sum = 0;
  for (let i = 0; i < NUM_SIMILARITIES; i++) {
    sum += kernel[role * NUM_SIMILARITIES + i] * values[row * NUM_SIMILARITIES + i];
  }
  return sum;
}

/** The covariance of two pairs. @param from, to How similar their sources and their destinations are. */
function covariance(from: number, to: number, kernel: Float32Array): number {
  return COMMON + kernel[2 * NUM_SIMILARITIES] * from + kernel[2 * NUM_SIMILARITIES + 1] * to + from * to;
}

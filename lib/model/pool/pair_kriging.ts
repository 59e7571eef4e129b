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
import { named } from "../../base/errors.ts";
import { addressBytes, formatAddress } from "../../data/addresses/ip.ts";
import { distanceKm, type LocatedPlace, NOWHERE } from "../../data/addresses/place_table.ts";
import { factorize, substituteBack, substituteForward } from "../coordinates/ridge.ts";
import { type Allowed, ANY, COUNT, real, type Tensor, whole } from "../possible_numbers.ts";
import type { PairEnds, PlaceOf } from "./placed_pairs.ts";

/** A pair, and how much longer its RTT is than its distance says, ln. */
interface KrigedPair extends PairEnds {
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
/** The least variance of a pair given those before, which equal pairs of little variance of their own lack. */
const LEAST_VARIANCE = 1e-12;

/** Pairs that a process has at most, and pairs that choose the weights. */
export const MAX_KRIGED = 1024;
const MAX_TUNED = 400;
/** The standard deviation of the logarithms of weights around those of the first kernel, before any pair. */
const PRIOR_SPREAD = 1.5;
/** Each weight is multiplied or divided by this at most so often in each round, while that pays. */
const [TUNING_FACTOR, MAX_STEPS, NUM_ROUNDS] = [4, 3, 2];

/** Ends whose similarities are kept, for each role: 8 MB at most. */
const MAX_KNOWN = 1024;

const ADDRESS_LENGTH: Allowed = {
  ...whole(4, 16),
  wanted: "4 or 16",
  also: (length) => length === 4 || length === 16,
};

export const KRIGING_TENSORS = {
  kernel: ["pool.kriging_kernel", Array(KERNEL_LENGTH).fill(real(0, 2 ** 20))],
  /** The length of the address and its bytes. */
  ends: ["pool.kriging_ends", [ADDRESS_LENGTH, ...Array(16).fill(ANY)], "U8"],
  /** The rows of the source and the destination, whose rows follow those of sources; the weight of its covariance. */
  pairs: ["pool.kriging_pairs", [COUNT, COUNT, ANY]],
} as const satisfies Record<string, Tensor>;

interface KrigingArrays {
  readonly kernel: Float32Array;
  readonly ends: Uint8Array;
  readonly pairs: Float32Array;
}

interface End {
  readonly address: Uint8Array;
  readonly place: LocatedPlace;
}

export class PairKriging {
  readonly #endsByRole: readonly (readonly End[])[];
  /** How similar the ends of recent questions are to those of their role. */
  readonly #knownByRole = [new Map<string, Float64Array>(), new Map<string, Float64Array>()];

  /** @param tensors See {@link KRIGING_TENSORS}. */
  constructor(
    readonly tensors: KrigingArrays,
    readonly placeOf: PlaceOf,
  ) {
    const width = KRIGING_TENSORS.ends[1].length;
    const ends = Array.from({ length: tensors.ends.length / width }, (_, i) => {
      const [length, ...bytes] = tensors.ends.subarray(i * width, (i + 1) * width);
      return endOf(formatAddress(Uint8Array.from(bytes.slice(0, length))), placeOf);
    });
    const numSources = tensors.pairs.reduce(
      (most, row, i) => i % 3 === 0 ? Math.max(most, row + 1) : most,
      0,
    );
    this.#endsByRole = [ends.slice(0, numSources), ends.slice(numSources)];
  }

  /** The tensors of a process. @param kernel Its weights; chosen by the pairs if it is not given. */
  static fit(
    pairs: readonly KrigedPair[],
    placeOf: PlaceOf,
    kernel = tuned(new Sample(pairs.slice(0, MAX_TUNED), placeOf)),
  ): KrigingArrays {
    const sample = new Sample(pairs, placeOf);
    const weights = sample.solve(kernel).weights();
    const { sources: { ends, ofPairs }, destinations } = sample;
    const rowOf = ({ address }: End) => [address.length, ...address, ...Array(16 - address.length).fill(0)];
    const rows = ofPairs.map((from, i) => [from, ends.length + destinations.ofPairs[i], weights[i]]);
    return {
      kernel,
      ends: Uint8Array.from([...ends, ...destinations.ends].flatMap(rowOf)),
      pairs: Float32Array.from(rows.flat()),
    };
  }

  /** How much longer the RTT of a pair is than its distance says, ln; undefined if nothing was learned. */
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

  /** How similar an end is to each of its role. */
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

/** Pairs, and how similar their ends are. */
class Sample {
  readonly sources: RoleEnds;
  readonly destinations: RoleEnds;
  readonly #excesses: Float64Array;

  constructor(pairs: readonly KrigedPair[], placeOf: PlaceOf) {
    this.sources = new RoleEnds(pairs.map(({ source }) => source), placeOf);
    this.destinations = new RoleEnds(pairs.map(({ destination }) => destination), placeOf);
    this.#excesses = Float64Array.from(pairs, ({ excess }) => excess);
  }

  /** The logarithm of the likelihood but for a constant; `weights` gives those of the covariances with each pair. */
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
  /** The place in `ends` of that of each pair. */
  readonly ofPairs: readonly number[];
  readonly #similarities: Float32Array;

  constructor(names: readonly string[], placeOf: PlaceOf) {
    const numbers = new Map([...new Set(names)].map((name, i) => [name, i]));
    this.ofPairs = names.map((name) => named(numbers, name));
    const ends = this.ends = [...numbers.keys()].map((name) => endOf(name, placeOf));
    this.#similarities = new Float32Array(ends.length ** 2 * NUM_SIMILARITIES);
    ends.forEach((a, i) => ends.forEach((b, j) => compare(a, b, this.#similarities, i * ends.length + j)));
  }

  /** How similar the ends of two pairs are. */
  weighed(kernel: Float32Array, role: number): (pair: number, other: number) => number {
    const { length } = this.ends;
    const all = Float64Array.from(
      { length: length ** 2 },
      (_, i) => weighed(this.#similarities, kernel, role, i),
    );
    return (pair, other) => all[this.ofPairs[pair] * length + this.ofPairs[other]];
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

/** Writes how similar two ends are, see {@link NUM_SIMILARITIES}. @param row Which row of `out`. */
function compare(a: End, b: End, out: Float32Array, row: number): void {
  const { length } = a.address;
  let equal = 0;
  while (equal < length && a.address[equal] === b.address[equal]) equal++;
  if (length !== b.address.length) equal = 0;
  const share = length === 4 ? 1 : 2;
  const [ofA, ofB] = [a.place, b.place];
  const km = ofA.position && ofB.position ? distanceKm(ofA.position, ofB.position) : Infinity;
  let at = row * NUM_SIMILARITIES;
  for (const bytes of [length, 3 * share, 2 * share]) out[at++] = Number(equal >= bytes);
  out[at++] = Number(ofA.asNumber > 0 && ofA.asNumber === ofB.asNumber);
  out[at++] = Number(ofA.country > 0 && ofA.country === ofB.country);
  for (const scale of SCALES_KM) out[at++] = Math.exp(-km / scale);
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

/**
 * Estimates the RTT of a pair that was not measured from the measured pairs, by matrix factorisation: DMFSGD
 * (Liao, Du, Geurts, Leduc, "DMFSGD: A Decentralized Matrix Factorization Algorithm for Network Distance
 * Prediction", IEEE/ACM Transactions on Networking 21, 2013, arXiv 1201.1174). The RTT is X_source .
 * Y_destination, with non-negative vectors, under the robust L1 loss |X . Y - RTT|.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { type TensorArray, tensorOf, type Tensors } from "../../base/safetensors_header.ts";
import { drawDistinct, RandomStream } from "../../base/random.ts";
import { quantileOfSample } from "../../base/sample_statistics.ts";
import { dot } from "../coordinates/ridge.ts";
import { type Hashes, keyOfHashes, pairHashes } from "../embedding_table.ts";
import { HASHES, real, Rows, type Tensor } from "../possible_numbers.ts";
import type { Memory, TrainingPair } from "./forecast.ts";

/**
 * One step of both vectors of a measured pair (the equations of the paper's algorithm 2, L1 loss).
 *
 * @param rates The step sizes of `x` and `y`.
 * @param regularisation The weight of the L2 regularisation.
 */
export function descend(
  [x, y]: readonly [x: Float64Array, y: Float64Array],
  rttMs: number,
  [rateX, rateY]: readonly [number, number],
  regularisation: number,
): void {
  const sign = Math.sign(rttMs - dot(x, y));
  for (let k = 0; k < x.length; k++) {
    const [xk, yk] = [x[k], y[k]];
    x[k] = Math.max(0, xk + rateX * (sign * yk - regularisation * xk));
    y[k] = Math.max(0, yk + rateY * (sign * xk - regularisation * yk));
  }
}

type FactoredPair = Pick<TrainingPair, "hashes" | "rttsMs">;

/** The vector length in the paper. */
const RANK = 10;
/** The hashes of each address, and its X and Y. */
const TENSORS = {
  hashes: ["pool.factor_hashes", HASHES, "U32"],
  factors: ["pool.factors", Array(2 * RANK).fill(real(0, 2 ** 32))],
} as const satisfies Record<string, Tensor>;
const MAX_FACTORED = 2 ** 16;
/** Addresses with fewer pairs have no vectors. If too many remain, the most measured are kept: 1.6 MB. */
const LEAST_PAIRS = 4;
const MAX_ADDRESSES = 2 ** 14;
/** Candidates; the best is chosen by the error on a held-out tenth of the pairs. */
const REGULARISATIONS = [0.1, 0.03, 0.01];
const HELD_OUT = 10;
/** Step sizes of the first and the last epoch; they fall geometrically. */
const [FIRST_RATE, LAST_RATE] = [0.1, 0.001];
/** Bounds on the number of epochs, each with one RTT per pair, and on the total number of steps. */
const [LEAST_PASSES, MOST_PASSES, MAX_STEPS] = [20, 200, 4e6];

/** An address's vectors as a source and as a destination. */
type Factor = readonly [x: Float64Array, y: Float64Array];

class PairFactors {
  readonly #factors = new Map<number, Factor>();

  /** @param tensors See {@link fit}. */
  constructor(tensors: Tensors) {
    const hashes = tensorOf(tensors, TENSORS.hashes[0], "U32");
    const factors = Float64Array.from(tensorOf(tensors, TENSORS.factors[0], "F32"));
    for (let i = 0; i < hashes.length / 2; i++) {
      const [x, y] = [2 * i, 2 * i + 1].map((row) => factors.subarray(row * RANK, (row + 1) * RANK));
      this.#factors.set(keyOfHashes({ hash1: hashes[2 * i], hash2: hashes[2 * i + 1] }), [x, y]);
    }
  }

  /** Fits vectors to pairs in both directions and returns the tensors. */
  static fit(pairs: readonly FactoredPair[], seed: number): Tensors {
    const learned = usablePairs(pairs);
    const heldOut = learned.filter((_, i) => i % HELD_OUT === 0);
    const others = learned.filter((_, i) => i % HELD_OUT > 0);
    const errors = REGULARISATIONS.map((regularisation) => {
      const tried = fitFactors(others, regularisation, seed);
      return quantileOfSample(
        heldOut.flatMap(({ hashes: [a, b], rttsMs }) => {
          const ms = estimateMs(tried.get(keyOfHashes(a)), tried.get(keyOfHashes(b)));
          return ms === undefined ? [] : [Math.abs(ms - quantileOfSample(rttsMs, 0.5))];
        }),
        0.5,
      );
    });
    const best = REGULARISATIONS[errors.indexOf(Math.min(...errors))] ?? REGULARISATIONS[0];
    const factors = fitFactors(learned, best, seed);
    const ends = new Map(learned.flatMap(({ hashes }) => hashes.map((end) => [keyOfHashes(end), end])));
    const sorted = [...ends].sort(([a], [b]) => a - b);
    const vectors = sorted.flatMap(([key]) => (factors.get(key) ?? []).flatMap((vector) => [...vector]));
    const hashes = sorted.flatMap(([, { hash1, hash2 }]) => [hash1, hash2]);
    return new Map<string, TensorArray>([
      [TENSORS.hashes[0], Uint32Array.from(hashes)],
      [TENSORS.factors[0], Float32Array.from(vectors)],
    ]);
  }

  /** Estimates the RTT of a pair, ln ms; empty if an endpoint has no vectors. */
  logs(source: Hashes, destination: Hashes): number[] {
    const [a, b] = [source, destination].map((end) => this.#factors.get(keyOfHashes(end)));
    const ms = estimateMs(a, b);
    return ms === undefined ? [] : [Math.log(ms)];
  }
}

/** Vectors of addresses, fitted to all pairs or to a sample of {@link MAX_FACTORED}. */
export const PAIR_FACTORS: Memory<PairFactors> = {
  tensors: TENSORS,
  learn(directed, { seed }) {
    const keyOf = ({ hashes: [a, b] }: TrainingPair) => keyOfHashes(pairHashes(a, b));
    const sorted = directed.toSorted((a, b) => keyOf(a) - keyOf(b));
    // Both directions have the same key.
    const pairs = sorted.filter((pair, i) => i === 0 || keyOf(pair) !== keyOf(sorted[i - 1]));
    const random = new RandomStream(seed, "pool/pairs of vectors");
    const chosen = drawDistinct(pairs.length, Math.min(pairs.length, MAX_FACTORED), random).sort();
    return PairFactors.fit(Array.from(chosen, (i) => pairs[i]), seed);
  },
  open: (tensors) => new PairFactors(tensors),
  *faults(tensors) {
    yield* Rows.of(tensors, TENSORS.hashes).asManyAs(Rows.of(tensors, TENSORS.factors));
  },
};

/** The mean of both directions; undefined if an endpoint is unknown or the products are 0. */
function estimateMs(a: Factor | undefined, b: Factor | undefined): number | undefined {
  const ms = a && b ? (dot(a[0], b[1]) + dot(b[0], a[1])) / 2 : 0;
  return ms > 0 ? ms : undefined;
}

/** Keeps the pairs whose addresses have enough pairs. */
function usablePairs(pairs: readonly FactoredPair[]): FactoredPair[] {
  const counts = new Map<number, number>();
  for (const { hashes } of pairs) {
    for (const key of hashes.map(keyOfHashes)) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const kept = new Set(
    [...counts].filter(([, count]) => count >= LEAST_PAIRS).sort(([a, x], [b, y]) => y - x || a - b)
      .slice(0, MAX_ADDRESSES).map(([key]) => key),
  );
  return pairs.filter(({ hashes }) => hashes.every((end) => kept.has(keyOfHashes(end))));
}

function fitFactors(
  pairs: readonly FactoredPair[],
  regularisation: number,
  seed: number,
): Map<number, Factor> {
  const random = new RandomStream(seed, "pool/factors");
  const vector = () => Float64Array.from({ length: RANK }, () => random.float64());
  const factors = new Map<number, Factor>();
  const ofPairs = pairs.map(({ hashes, rttsMs }) => {
    const [a, b] = hashes.map((end) =>
      getOrMake(factors, keyOfHashes(end), (): Factor => [vector(), vector()])
    );
    return { directions: [[a[0], b[1]], [b[0], a[1]]] as const, rttsMs };
  });
  const numPasses = Math.max(
    LEAST_PASSES,
    Math.min(MOST_PASSES, Math.floor(MAX_STEPS / (2 * Math.max(1, pairs.length)))),
  );
  for (let pass = 0; pass < numPasses; pass++) {
    const rate = FIRST_RATE * (LAST_RATE / FIRST_RATE) ** (pass / (numPasses - 1));
    for (const { directions, rttsMs } of ofPairs) {
      const rttMs = rttsMs[pass % rttsMs.length];
      for (const vectors of directions) descend(vectors, rttMs, [rate, rate], regularisation);
    }
  }
  return factors;
}

/**
 * Factorisation of a symmetric matrix of RTTs: an RTT, on a scale, is the sum of both nodes' biases and of the products
 * of their vectors' parts, of which a quarter count as they are and the rest negatively. A matrix of distances is like
 * that: |x - y|^2 = |x|^2 + |y|^2 - 2 x.y (Torgerson, "Multidimensional scaling", Psychometrika 17, 1952); the positive
 * parts are for what violates triangles. One vector a node, the same both ways, takes half the numbers of one as source
 * and one as destination.
 *
 * All nodes are solved for one after the other while the rest stand still, under the loss of Huber ("Robust Estimation
 * of a Location Parameter", Ann. Math. Statist. 35, 1964) by weights of the errors before: few RTTs that lie far off,
 * as of detours and queues, do not move a node.
 *
 * @module
 */
import { RandomStream } from "../random/philox.ts";
import type { FoldSet, Neighbours } from "./known_pairs.ts";
import { RidgeSum } from "./ridge.ts";

/** Standard deviation of the first values of the vectors: small beside the biases. */
const INITIAL_SCALE = 0.1;
const POSITIVE_SHARE = 0.25;
/** How much more the biases are regularised: on campaigns, where many nodes have few pairs, errors are least so. */
const BIAS_REGULARISATION = 3;

/** How vectors are fitted. */
export interface VectorOptions {
  /** Length of the vectors, without the bias. */
  readonly rank: number;
  /** Weight of the L2 regularisation. */
  readonly regularisation: number;
  /** Up to which error, on the scale, errors count by their squares; as such, beyond. */
  readonly knee: number;
}

/** By what products of a part, from 1, are multiplied. */
function signOf(part: number, rank: number): number {
  return part > Math.floor(rank * POSITIVE_SHARE) ? -1 : 1;
}

/** Solves for one node, given others. */
export class NodeSolver {
  readonly #options: VectorOptions;
  readonly #sums: RidgeSum;
  readonly #penalties: Float64Array;
  readonly #signs: Float64Array;
  readonly #rows: Float64Array;
  readonly #targets = new Float64Array(4);
  readonly #weights = new Float64Array(4);
  #numRows = 0;

  /** @param options See {@link VectorOptions}. */
  constructor(options: VectorOptions) {
    this.#options = options;
    const width = options.rank + 1;
    this.#sums = new RidgeSum(width);
    this.#penalties = new Float64Array(width).fill(options.regularisation);
    this.#penalties[0] *= BIAS_REGULARISATION;
    this.#signs = Float64Array.from({ length: width }, (_, part) => signOf(part, options.rank));
    this.#rows = new Float64Array(4 * width);
  }

  /**
   * Adds what is known of the node and another.
   *
   * @param known The RTT on the scale, and how much it counts.
   * @param others The other's bias and vector, which begin at `at`.
   * @param own The node's bias and vector before, which begin at `ownAt`; by their error the RTT counts less.
   */
  add(
    { value, weight }: { value: number; weight: number },
    others: Float32Array | Float64Array,
    at: number,
    own?: Float64Array,
    ownAt = 0,
  ): void {
    const signs = this.#signs;
    const width = signs.length;
    const row = this.#numRows * width;
    const rows = this.#rows;
    const target = value - others[at];
    rows[row] = 1;
    for (let part = 1; part < width; part++) rows[row + part] = signs[part] * others[at + part];
    let counts = weight;
    if (own) {
      let error = target;
      for (let part = 0; part < width; part++) error -= rows[row + part] * own[ownAt + part];
      counts *= this.#options.knee / Math.max(this.#options.knee, Math.abs(error));
    }
    this.#targets[this.#numRows] = target;
    this.#weights[this.#numRows++] = counts;
    if (this.#numRows === 4) this.#flush();
  }

  /**
   * The bias and the vector, (1 + rank,); forgets what was added.
   *
   * @param prior What they are regularised towards; zeros by default.
   */
  solve(prior?: Float64Array): Float64Array {
    this.#weights.fill(0, this.#numRows);
    this.#flush();
    const solved = this.#sums.solve(this.#penalties, prior);
    this.#sums.clear();
    return solved;
  }

  #flush(): void {
    this.#sums.addFour(this.#rows, this.#targets, this.#weights);
    this.#numRows = 0;
  }
}

/**
 * First values of biases and vectors.
 *
 * @param seed Of the random numbers.
 * @returns (nodes, 1 + rank).
 */
export function firstVectors(numNodes: number, rank: number, seed: number): Float64Array {
  const random = new RandomStream(seed, "coordinates/vectors");
  const isBias = (i: number) => i % (rank + 1) === 0;
  return Float64Array.from(
    { length: numNodes * (rank + 1) },
    (_, i) => isBias(i) ? 0 : INITIAL_SCALE * random.normal(),
  );
}

/**
 * Fits a bias and a vector to every node; zeros to nodes without pairs.
 *
 * @param vectors Where it begins, and what is fitted, (nodes, 1 + rank), the bias first.
 * @param known The known pairs, and their RTTs on the scale, one for each entry.
 * @param options See {@link VectorOptions}; `numPlainSweeps`: in how many sweeps all errors count by their squares, and
 *   `numSweeps`: in how many nodes are solved for at all; `without`: folds that are not looked at.
 */
export function fitVectors(
  vectors: Float64Array,
  known: { neighbours: Neighbours; values: Float32Array },
  options: VectorOptions & { numPlainSweeps: number; numSweeps: number; without: FoldSet },
): void {
  const { neighbours: { start, others, folds, weights, numNodes }, values } = known;
  const { rank, numPlainSweeps, numSweeps, without } = options;
  const width = rank + 1;
  const solver = new NodeSolver(options);
  for (let sweep = 0; sweep < numSweeps; sweep++) {
    const own = sweep < numPlainSweeps ? undefined : vectors;
    for (let node = 0; node < numNodes; node++) {
      if (start[node] === start[node + 1]) {
        vectors.fill(0, node * width, (node + 1) * width);
        continue;
      }
      for (let entry = start[node]; entry < start[node + 1]; entry++) {
        if (without >> folds[entry] & 1) continue;
        const known = { value: values[entry], weight: weights[entry] };
        solver.add(known, vectors, others[entry] * width, own, node * width);
      }
      vectors.set(solver.solve(), node * width);
    }
  }
}

/**
 * The sum of both biases and the product of both vectors.
 *
 * @param at Where both begin.
 * @param rank How long the vectors are; 0 for the biases alone.
 */
export function valueOf(a: Float32Array, b: Float32Array, at: number, rank: number): number {
  let value = a[at] + b[at];
  for (let part = 1; part <= rank; part++) value += signOf(part, rank) * a[at + part] * b[at + part];
  return value;
}

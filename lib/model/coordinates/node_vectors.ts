/**
 * Factorises a symmetric matrix of RTTs. On a scale, an RTT is the sum of both nodes' biases and of the
 * products of their vectors' elements. A quarter of the products are added, the rest subtracted. Squared
 * distances have this form, |x - y|^2 = |x|^2 + |y|^2 - 2 x.y (Torgerson, "Multidimensional scaling",
 * Psychometrika 17, 1952); the added products allow violations of the triangle inequality. A node has one
 * vector for both directions, half the numbers of a source and a destination vector.
 *
 * Alternating least squares solves for one node after the other. Errors count by Huber's loss ("Robust
 * Estimation of a Location Parameter", Ann. Math. Statist. 35, 1964), with weights from the previous errors,
 * so a few outlying RTTs, such as those caused by detours and queues, do not move a node.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import type { FoldSet, Neighbours } from "./known_pairs.ts";
import { RidgeSum } from "./ridge.ts";

/** Standard deviation of the initial vectors, small compared with the biases. */
const INITIAL_SCALE = 0.1;
const POSITIVE_SHARE = 0.25;
/** Factor on the regularisation of biases; the best one for campaigns, where many nodes have few pairs. */
const BIAS_REGULARISATION = 3;

export interface VectorOptions {
  /** Length of the vectors, not counting the bias. */
  readonly rank: number;
  /** Weight of the L2 regularisation. */
  readonly regularisation: number;
  /** Errors on the scale up to this count by their squares, larger ones by their magnitude. */
  readonly knee: number;
}

/** The sign of the products of a vector element. @param part From 1 to `rank`. */
export function signOf(part: number, rank: number): number {
  return part > Math.floor(rank * POSITIVE_SHARE) ? -1 : 1;
}

/** The derivative of an RTT with respect to the bias and vector of the other node. @param own (1 + rank). */
export function featuresOf(own: Float64Array): Float64Array {
  return own.map((part, i) => i === 0 ? 1 : signOf(i, own.length - 1) * part);
}

/** Solves for one node, given the others. */
export class NodeSolver {
  readonly #options: VectorOptions;
  readonly #sums: RidgeSum;
  readonly #penalties: Float64Array;
  readonly #signs: Float64Array;
  readonly #rows: Float64Array;
  readonly #targets = new Float64Array(4);
  readonly #weights = new Float64Array(4);
  #numRows = 0;

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
   * Adds a known RTT between the node and another.
   *
   * @param value The RTT on the scale.
   * @param others The bias and vector of the other node begin at `at` in this array.
   * @param own The node's present bias and vector begin at `ownAt`. If their error is large, the RTT counts
   *   less.
   */
  add(
    value: number,
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
    let weight = 1;
    if (own) {
      let error = target;
      for (let part = 0; part < width; part++) error -= rows[row + part] * own[ownAt + part];
      weight = this.#options.knee / Math.max(this.#options.knee, Math.abs(error));
    }
    this.#targets[this.#numRows] = target;
    this.#weights[this.#numRows++] = weight;
    if (this.#numRows === 4) this.#flush();
  }

  /**
   * Returns the node's bias and vector, (1 + rank,), and clears the added RTTs.
   *
   * @param prior The values to regularise towards; zeros by default.
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

/** Draws initial vectors of shape (nodes, 1 + rank); biases are 0. */
export function firstVectors(numNodes: number, rank: number, seed: number): Float64Array {
  const random = new RandomStream(seed, "coordinates/vectors");
  const isBias = (i: number) => i % (rank + 1) === 0;
  return Float64Array.from(
    { length: numNodes * (rank + 1) },
    (_, i) => isBias(i) ? 0 : INITIAL_SCALE * random.normal(),
  );
}

/**
 * Fits a bias and a vector to every node; nodes without pairs get zeros.
 *
 * @param vectors (nodes, 1 + rank), biases first: initial values, which the fit replaces.
 * @param known The known pairs, and one RTT on the scale for each entry.
 * @param options See {@link VectorOptions}. `numSweeps`: how often each node is solved for; `numPlainSweeps`:
 *   for how many of the first sweeps all errors count by their squares; `without`: folds to ignore.
 */
export function fitVectors(
  vectors: Float64Array,
  known: { neighbours: Neighbours; values: Float32Array },
  options: VectorOptions & { numPlainSweeps: number; numSweeps: number; without: FoldSet },
): void {
  const { neighbours: { start, others, folds, numNodes }, values } = known;
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
        solver.add(values[entry], vectors, others[entry] * width, own, node * width);
      }
      vectors.set(solver.solve(), node * width);
    }
  }
}

/**
 * The sum of both biases and the product of both vectors.
 *
 * @param at The index at which both begin.
 * @param rank Length of the vectors; 0 to use the biases alone.
 */
export function valueOf(a: Float32Array, b: Float32Array, at: number, rank: number): number {
  let value = a[at] + b[at];
  for (let part = 1; part <= rank; part++) value += signOf(part, rank) * a[at + part] * b[at + part];
  return value;
}

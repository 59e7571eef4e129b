/** Vectors by name, and how they are learned: what the matrix factorisations share. @module */

/** A vector for each of some names, made when it is first needed. */
export class VectorTable {
  readonly #rank: number;
  readonly #initial: () => number;
  readonly #vectors = new Map<string, Float64Array>();

  /** @param rank Length of the vectors. @param initial Gives each entry its first value. */
  constructor(rank: number, initial: () => number) {
    this.#rank = rank;
    this.#initial = initial;
  }

  /** The vector of a name, (rank,), made if there is none. */
  of(name: string): Float64Array {
    let vector = this.#vectors.get(name);
    if (!vector) {
      vector = Float64Array.from({ length: this.#rank }, this.#initial);
      this.#vectors.set(name, vector);
    }
    return vector;
  }

  /** The vector of a name, (rank,), if there is one. */
  get(name: string): Float64Array | undefined {
    return this.#vectors.get(name);
  }
}

/** The inner product of two vectors of the same length. */
export function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
  return sum;
}

/**
 * The step size of a pass: from the first to the last by the same factor each pass.
 *
 * @param pass Which pass, from 0.
 * @param numPasses How many there are.
 */
export function passRate(pass: number, numPasses: number, [first, last]: readonly [number, number]): number {
  return numPasses === 1 ? first : first * (last / first) ** (pass / (numPasses - 1));
}

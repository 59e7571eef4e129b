/** What the matrix factorisations share: vectors of ends, and how fast they are learned. @module */

/** What is learned of a source or a destination. */
export interface Factor {
  /** (rank,) */
  vector: Float64Array;
  /** How many measurements it was learned from, each pass counted. */
  numSteps: number;
}

/** Factors by name, each made when it is first needed. */
export class FactorTable<F extends Factor> {
  readonly #make: () => F;
  readonly #factors = new Map<string, F>();

  /** @param make Gives a new factor its first values. */
  constructor(make: () => F) {
    this.#make = make;
  }

  /** The factor of a name, made if there is none. */
  of(name: string): F {
    let factor = this.#factors.get(name);
    if (!factor) this.#factors.set(name, factor = this.#make());
    return factor;
  }

  /** The factor of a name, if there is one. */
  get(name: string): F | undefined {
    return this.#factors.get(name);
  }
}

/** The inner product of two vectors of the same length. */
export function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
  return sum;
}

/** Step sizes at the beginning and at the end. */
export type Rates = readonly [first: number, last: number];

/**
 * The step size of a pass: from the first to the last by the same factor each pass.
 *
 * @param pass Which pass, from 0.
 * @param numPasses How many there are.
 */
export function passRate(pass: number, numPasses: number, [first, last]: Rates): number {
  return numPasses === 1 ? first : first * (last / first) ** (pass / (numPasses - 1));
}

/** Steps after which the own rate of an end is half of the first one (ASSUMPTION). */
const NUM_STEPS_TO_HALF_RATE = 10;

/**
 * The step size of one end: the one of the pass, but larger while the end is new, so that an end that is first met
 * after training does not keep its random first values for long.
 *
 * @param numSteps How many steps it made.
 * @param rates The step size of its first step, and the one of the pass.
 */
export function endRate(numSteps: number, [first, ofPass]: Rates): number {
  return Math.max(ofPass, first / (1 + numSteps / NUM_STEPS_TO_HALF_RATE));
}

/** What the matrix factorisations share: their settings, and stochastic gradient descent on vectors of ends. @module */
import { getOrMake } from "../../base/collections.ts";
import { type Baseline, type BaselineMeasurement, observePasses } from "./baseline.ts";

/** How a factorisation is trained. */
export interface FactorisationOptions {
  /** Seed of the vectors' first values. */
  seed: number;
  /** Length of the vectors, without a bias. */
  rank: number;
  /** Weight of the L2 regularisation. */
  regularisation: number;
  /** How often gradient descent goes over the measurements (20). */
  numPasses?: number;
}

/** What is learned of a source or a destination. */
export interface Factor {
  /** (rank,) */
  vector: Float64Array;
  /** How many measurements it was learned from, each pass counted. */
  numSteps: number;
}

/** The inner product of two vectors of the same length. */
export function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
  return sum;
}

/** Step sizes. */
export interface DescentRates {
  /** Of the first and the last pass; between, each pass has the one before times the same factor. */
  first: number;
  last: number;
  /** Of the first step of an end. */
  firstOfEnd: number;
}

/** Steps after which the own rate of an end is half of the first one (ASSUMPTION). */
const NUM_STEPS_TO_HALF_RATE = 10;

/** Factors by name, learned step by step. */
export class Descent<F extends Factor> {
  readonly sources = new Map<string, F>();
  readonly destinations = new Map<string, F>();
  readonly #make: () => F;
  readonly #rates: DescentRates;
  readonly #numPasses: number;
  #rate: number;

  /** @param make Gives the factor of a new end its first values. */
  constructor(
    make: () => F,
    rates: DescentRates,
    { numPasses = 20 }: Pick<FactorisationOptions, "numPasses">,
  ) {
    this.#make = make;
    this.#rates = rates;
    this.#numPasses = numPasses;
    this.#rate = rates.first;
  }

  /** Lets a baseline observe all measurements in several passes of ever smaller steps. */
  train(baseline: Baseline, measurements: Iterable<BaselineMeasurement>): void {
    const numPasses = this.#numPasses;
    const { first, last } = this.#rates;
    const rateOf = (pass: number) =>
      numPasses === 1 ? first : first * (last / first) ** (pass / (numPasses - 1));
    observePasses(baseline, measurements, { numPasses, onPass: (pass) => this.#rate = rateOf(pass) });
  }

  /** The factors of a measurement's ends, made if there are none. */
  factorsOf({ source, destination }: BaselineMeasurement): [from: F, to: F] {
    return [
      getOrMake(this.sources, source, this.#make),
      getOrMake(this.destinations, destination, this.#make),
    ];
  }

  /**
   * The size of the next step of an end: the one of the pass, but larger while the end is new, so that an end that is
   * first met after training does not keep its random first values for long.
   */
  nextRate(factor: F): number {
    const own = this.#rates.firstOfEnd / (1 + factor.numSteps++ / NUM_STEPS_TO_HALF_RATE);
    return Math.max(this.#rate, own);
  }
}

/**
 * Baseline: decentralised matrix factorisation by stochastic gradient descent. Liao, Du, Geurts, Leduc, "DMFSGD: A
 * Decentralized Matrix Factorization Algorithm for Network Distance Prediction", IEEE/ACM Transactions on
 * Networking 21 (2013), arXiv 1201.1174: the RTT is X_source . Y_destination, with vectors of rank 10 and no negative
 * entries, under the robust L1 loss |X . Y - RTT|.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import type { Baseline, BaselineMeasurement, BaselineQuery } from "./baseline.ts";
import { Descent, dot, type Factor, type FactorisationOptions } from "./factors.ts";

/**
 * Step sizes of the first and the last pass. ASSUMPTION: the paper searches along each step for its size, which needs
 * batches of measurements; steps that shrink from pass to pass need one at a time.
 */
const RATES = { first: 0.1, last: 0.001, firstOfEnd: 0.1 };

/** Predicts the product of a vector of the source and one of the destination. */
export class DmfsgdBaseline implements Baseline {
  readonly #regularisation: number;
  readonly #descent: Descent<Factor>;

  /**
   * @param options See {@link FactorisationOptions}. The paper's rank is 10. With a regularisation of 1 all vectors go
   *   to 0, as under the L1 loss the pull X . Y towards 0 is then as strong as the push.
   */
  constructor({ seed, rank, regularisation, ...passes }: FactorisationOptions) {
    this.#regularisation = regularisation;
    const random = new RandomStream(seed, "evaluate/dmfsgd");
    const make = () => ({
      vector: Float64Array.from({ length: rank }, () => random.float64()),
      numSteps: 0,
    });
    this.#descent = new Descent(make, RATES, passes);
  }

  /** As {@link Baseline.train}, in several passes of ever smaller steps. */
  train(measurements: Iterable<BaselineMeasurement>): void {
    this.#descent.train(this, measurements);
  }

  /** As {@link Baseline.observe}: one step of both vectors (the paper's equations of its algorithm 2, L1 loss). */
  observe(measurement: BaselineMeasurement): void {
    const { rttMs } = measurement;
    if (rttMs === null) return;
    const [from, to] = this.#descent.factorsOf(measurement);
    const [x, y] = [from.vector, to.vector];
    const [rateX, rateY] = [this.#descent.nextRate(from), this.#descent.nextRate(to)];
    const sign = Math.sign(rttMs - dot(x, y));
    for (let k = 0; k < x.length; k++) {
      const [xk, yk] = [x[k], y[k]];
      x[k] = Math.max(0, xk + rateX * (sign * yk - this.#regularisation * xk));
      y[k] = Math.max(0, yk + rateY * (sign * xk - this.#regularisation * yk));
    }
  }

  /** The product; undefined unless both ends were measured. */
  predictMs({ source, destination }: BaselineQuery): number | undefined {
    const { sources, destinations } = this.#descent;
    const [from, to] = [sources.get(source), destinations.get(destination)];
    return from && to && dot(from.vector, to.vector);
  }
}

/**
 * Baseline: decentralised matrix factorisation by stochastic gradient descent. Liao, Du, Geurts, Leduc, "DMFSGD: A
 * Decentralized Matrix Factorization Algorithm for Network Distance Prediction", IEEE/ACM Transactions on
 * Networking 21 (2013), arXiv 1201.1174: the RTT is X_source . Y_destination, with vectors of rank 10 and no negative
 * entries, under the robust L1 loss |X . Y - RTT|.
 *
 * @module
 */
import { RandomStream } from "../../random/philox.ts";
import { type Baseline, type BaselineMeasurement, type BaselineQuery, observePasses } from "./baseline.ts";
import { dot, endRate, type Factor, FactorTable, passRate, type Rates } from "./factors.ts";

/**
 * Step sizes of the first and the last pass. ASSUMPTION: the paper searches along each step for its size, which needs
 * batches of measurements; steps that shrink from pass to pass need one at a time.
 */
const RATES: Rates = [0.1, 0.001];

/** How DMFSGD is trained. */
export interface DmfsgdOptions {
  /** Seed of the vectors' first values. */
  seed: number;
  /** Length of the vectors (default 10, the paper's). */
  rank?: number;
  /**
   * Weight of the L2 regularisation (default 0.1). With 1 all vectors go to 0, as under the L1 loss the pull X . Y
   * towards 0 is then as strong as the push.
   */
  regularisation?: number;
  /** How often training goes over the measurements (default 20). */
  numPasses?: number;
}

/** Predicts the product of a vector of the source and one of the destination. */
export class DmfsgdBaseline implements Baseline {
  readonly #numPasses: number;
  readonly #regularisation: number;
  readonly #sources: FactorTable<Factor>;
  readonly #destinations: FactorTable<Factor>;
  #rate = RATES[0];

  /** @param options See {@link DmfsgdOptions}. */
  constructor(options: DmfsgdOptions) {
    this.#numPasses = options.numPasses ?? 20;
    this.#regularisation = options.regularisation ?? 0.1;
    const random = new RandomStream(options.seed, "evaluate/dmfsgd");
    const make = () => ({
      vector: Float64Array.from({ length: options.rank ?? 10 }, () => random.float64()),
      numSteps: 0,
    });
    this.#sources = new FactorTable(make);
    this.#destinations = new FactorTable(make);
  }

  /** As {@link Baseline.train}, in several passes of ever smaller steps. */
  train(measurements: Iterable<BaselineMeasurement>): void {
    const numPasses = this.#numPasses;
    const onPass = (pass: number) => this.#rate = passRate(pass, numPasses, RATES);
    observePasses(this, measurements, { numPasses, onPass });
  }

  /** As {@link Baseline.observe}: one step of both vectors (the paper's equations of its algorithm 2, L1 loss). */
  observe({ source, destination, rttMs }: BaselineMeasurement): void {
    if (rttMs === null) return;
    const [from, to] = [this.#sources.of(source), this.#destinations.of(destination)];
    const [x, y] = [from.vector, to.vector];
    const [rateX, rateY] = [this.#rateOf(from), this.#rateOf(to)];
    const sign = Math.sign(rttMs - dot(x, y));
    for (let k = 0; k < x.length; k++) {
      const [xk, yk] = [x[k], y[k]];
      x[k] = Math.max(0, xk + rateX * (sign * yk - this.#regularisation * xk));
      y[k] = Math.max(0, yk + rateY * (sign * xk - this.#regularisation * yk));
    }
  }

  /** The product; undefined unless both ends were measured. */
  predictMs({ source, destination }: BaselineQuery): number | undefined {
    const [from, to] = [this.#sources.get(source), this.#destinations.get(destination)];
    return from && to && dot(from.vector, to.vector);
  }

  #rateOf(factor: Factor): number {
    return endRate(factor.numSteps++, [RATES[0], this.#rate]);
  }
}

/**
 * Baseline: decentralised matrix factorisation by stochastic gradient descent. Liao, Du, Geurts, Leduc, "DMFSGD: A
 * Decentralized Matrix Factorization Algorithm for Network Distance Prediction", IEEE/ACM Transactions on
 * Networking 21 (2013), arXiv 1201.1174: the RTT is X_source . Y_destination, with vectors of rank 10 and no negative
 * entries, under the robust L1 loss |X . Y - RTT|.
 *
 * @module
 */
import { RandomStream } from "../../random/philox.ts";
import type { Baseline, BaselineMeasurement, BaselineQuery } from "./baseline.ts";
import { dot, passRate, VectorTable } from "./factors.ts";

/** Step size of the first and the last pass. */
const FIRST_RATE = 0.1;
const LAST_RATE = 0.001;
const REGULARISATION = 0.1;

/** How DMFSGD is trained. */
export interface DmfsgdOptions {
  /** Seed of the vectors' first values. */
  seed: number;
  /** Length of the vectors (default 10, the paper's). */
  rank?: number;
  /** How often training goes over the measurements (default 20). */
  numPasses?: number;
}

/** Predicts the product of a vector of the source and one of the destination. */
export class DmfsgdBaseline implements Baseline {
  readonly #numPasses: number;
  readonly #sources: VectorTable;
  readonly #destinations: VectorTable;
  #rate = FIRST_RATE;

  /** @param options See {@link DmfsgdOptions}. */
  constructor(options: DmfsgdOptions) {
    this.#numPasses = options.numPasses ?? 20;
    const random = new RandomStream(options.seed, "evaluate/dmfsgd");
    const initial = () => random.float64();
    this.#sources = new VectorTable(options.rank ?? 10, initial);
    this.#destinations = new VectorTable(options.rank ?? 10, initial);
  }

  /** As {@link Baseline.train}, in several passes of ever smaller steps. */
  train(measurements: Iterable<BaselineMeasurement>): void {
    for (let pass = 0; pass < this.#numPasses; pass++) {
      this.#rate = passRate(pass, this.#numPasses, [FIRST_RATE, LAST_RATE]);
      for (const measurement of measurements) this.observe(measurement);
    }
  }

  /** As {@link Baseline.observe}: one step of both vectors (the paper's equations of its algorithm 2, L1 loss). */
  observe({ source, destination, rttMs }: BaselineMeasurement): void {
    if (rttMs === null) return;
    const [x, y] = [this.#sources.of(source), this.#destinations.of(destination)];
    const push = this.#rate * Math.sign(rttMs - dot(x, y));
    const keep = 1 - this.#rate * REGULARISATION;
    for (let k = 0; k < x.length; k++) {
      const [xk, yk] = [x[k], y[k]];
      x[k] = Math.max(0, keep * xk + push * yk);
      y[k] = Math.max(0, keep * yk + push * xk);
    }
  }

  /** The product; undefined unless both ends were measured. */
  predictMs({ source, destination }: BaselineQuery): number | undefined {
    const [x, y] = [this.#sources.get(source), this.#destinations.get(destination)];
    return x && y && dot(x, y);
  }
}

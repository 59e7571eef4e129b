/**
 * Baseline: biased matrix factorisation of the RTT's logarithm. Koren, Bell, Volinsky, "Matrix Factorization
 * Techniques for Recommender Systems", IEEE Computer 42 (2009), equations 3 to 5: log RTT = mean + bias of the source
 * + bias of the destination + p_source . q_destination, by stochastic gradient descent on the squared error with L2
 * regularisation.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import type { Baseline, BaselineMeasurement, BaselineQuery } from "./baseline.ts";
import { Descent, dot, type Factor, type FactorisationOptions } from "./factors.ts";
import { logOfRtt } from "../../model/coordinates/rtt_scale.ts";

/** Step sizes (ASSUMPTION; the article gives none). */
const RATES = { first: 0.01, last: 0.001, firstOfEnd: 0.1 };
/** Standard deviation of the first values of the vectors: small beside the biases. */
const INITIAL_SCALE = 0.1;

interface BiasedFactor extends Factor {
  bias: number;
}

/** Predicts from biases and vectors of the source and the destination. */
export class BiasedFactorisationBaseline implements Baseline {
  readonly #regularisation: number;
  readonly #descent: Descent<BiasedFactor>;
  #meanLog: number | undefined;

  /** @param options See {@link FactorisationOptions}. */
  constructor({ seed, rank, regularisation, ...passes }: FactorisationOptions) {
    this.#regularisation = regularisation;
    const random = new RandomStream(seed, "evaluate/biased-factorisation");
    const make = () => ({
      bias: 0,
      vector: Float64Array.from({ length: rank }, () => INITIAL_SCALE * random.normal()),
      numSteps: 0,
    });
    this.#descent = new Descent(make, RATES, passes);
  }

  /** As {@link Baseline.train}: one pass for the mean, then several of ever smaller steps. */
  train(measurements: Iterable<BaselineMeasurement>): void {
    this.#meanLog = meanLogRtt(measurements);
    this.#descent.train(this, measurements);
  }

  /** As {@link Baseline.observe}: one step of the biases and vectors. */
  observe(measurement: BaselineMeasurement): void {
    const { rttMs } = measurement;
    if (rttMs === null) return;
    const log = logOfRtt(rttMs);
    this.#meanLog ??= log;
    const [from, to] = this.#descent.factorsOf(measurement);
    const error = log - this.#predictLog(measurement, this.#meanLog);
    const [rateP, rateQ] = [this.#descent.nextRate(from), this.#descent.nextRate(to)];
    from.bias += rateP * (error - this.#regularisation * from.bias);
    to.bias += rateQ * (error - this.#regularisation * to.bias);
    const [p, q] = [from.vector, to.vector];
    for (let k = 0; k < p.length; k++) {
      const [pk, qk] = [p[k], q[k]];
      p[k] += rateP * (error * qk - this.#regularisation * pk);
      q[k] += rateQ * (error * pk - this.#regularisation * qk);
    }
  }

  /** The prediction, in which an end that was never measured counts as an average one; undefined if untrained. */
  predictMs(query: BaselineQuery): number | undefined {
    return this.#meanLog === undefined ? undefined : Math.exp(this.#predictLog(query, this.#meanLog));
  }

  #predictLog({ source, destination }: BaselineQuery, meanLog: number): number {
    const { sources, destinations } = this.#descent;
    const [from, to] = [sources.get(source), destinations.get(destination)];
    return meanLog + (from?.bias ?? 0) + (to?.bias ?? 0) + (from && to ? dot(from.vector, to.vector) : 0);
  }
}

function meanLogRtt(measurements: Iterable<BaselineMeasurement>): number | undefined {
  let sum = 0;
  let count = 0;
  for (const { rttMs } of measurements) {
    if (rttMs === null) continue;
    sum += logOfRtt(rttMs);
    count++;
  }
  return count === 0 ? undefined : sum / count;
}

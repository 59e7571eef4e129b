/**
 * Baseline: biased matrix factorisation of the RTT's logarithm. Koren, Bell, Volinsky, "Matrix Factorization
 * Techniques for Recommender Systems", IEEE Computer 42 (2009), equations 3 to 5: log RTT = mean + bias of the source
 * + bias of the destination + p_source . q_destination, by stochastic gradient descent on the squared error with L2
 * regularisation.
 *
 * @module
 */
import { RandomStream } from "../../random/philox.ts";
import { type Baseline, type BaselineMeasurement, type BaselineQuery, observePasses } from "./baseline.ts";
import { dot, endRate, type Factor, FactorTable, passRate, type Rates } from "./factors.ts";
import { logOfRtt } from "../../coordinates/log_rtt.ts";

/** Step sizes of the first and the last pass (ASSUMPTION; the article gives none). */
const RATES: Rates = [0.01, 0.001];
/** Step size of the first step of an end (ASSUMPTION). */
const FIRST_END_RATE = 0.1;
/** Standard deviation of the first values of the vectors: small beside the biases. */
const INITIAL_SCALE = 0.1;

/** How the factorisation is trained. */
export interface BiasedFactorisationOptions {
  /** Seed of the vectors' first values. */
  seed: number;
  /** Length of the vectors (default 16). */
  rank?: number;
  /** Weight of the L2 regularisation (default 0.02). */
  regularisation?: number;
  /** How often training goes over the measurements (default 20). */
  numPasses?: number;
}

interface BiasedFactor extends Factor {
  bias: number;
}

/** Predicts from biases and vectors of the source and the destination. */
export class BiasedFactorisationBaseline implements Baseline {
  readonly #numPasses: number;
  readonly #regularisation: number;
  readonly #sources: FactorTable<BiasedFactor>;
  readonly #destinations: FactorTable<BiasedFactor>;
  #meanLog: number | undefined;
  #rate = RATES[0];

  /** @param options See {@link BiasedFactorisationOptions}. */
  constructor(options: BiasedFactorisationOptions) {
    this.#numPasses = options.numPasses ?? 20;
    this.#regularisation = options.regularisation ?? 0.02;
    const random = new RandomStream(options.seed, "evaluate/biased-factorisation");
    const make = () => ({
      bias: 0,
      vector: Float64Array.from({ length: options.rank ?? 16 }, () => INITIAL_SCALE * random.normal()),
      numSteps: 0,
    });
    this.#sources = new FactorTable(make);
    this.#destinations = new FactorTable(make);
  }

  /** As {@link Baseline.train}: one pass for the mean, then several of ever smaller steps. */
  train(measurements: Iterable<BaselineMeasurement>): void {
    this.#meanLog = meanLogRtt(measurements);
    const numPasses = this.#numPasses;
    const onPass = (pass: number) => this.#rate = passRate(pass, numPasses, RATES);
    observePasses(this, measurements, { numPasses, onPass });
  }

  /** As {@link Baseline.observe}: one step of the biases and vectors. */
  observe(measurement: BaselineMeasurement): void {
    const { source, destination, rttMs } = measurement;
    if (rttMs === null) return;
    const log = logOfRtt(rttMs);
    this.#meanLog ??= log;
    const [from, to] = [this.#sources.of(source), this.#destinations.of(destination)];
    const error = log - this.#predictLog(measurement, this.#meanLog);
    const [rateP, rateQ] = [this.#rateOf(from), this.#rateOf(to)];
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
    const [from, to] = [this.#sources.get(source), this.#destinations.get(destination)];
    return meanLog + (from?.bias ?? 0) + (to?.bias ?? 0) + (from && to ? dot(from.vector, to.vector) : 0);
  }

  #rateOf(factor: Factor): number {
    return endRate(factor.numSteps++, [FIRST_END_RATE, this.#rate]);
  }
}

function meanLogRtt(measurements: Iterable<BaselineMeasurement>): number | undefined {
  let [sum, count] = [0, 0];
  for (const { rttMs } of measurements) {
    if (rttMs === null) continue;
    sum += logOfRtt(rttMs);
    count++;
  }
  return count === 0 ? undefined : sum / count;
}

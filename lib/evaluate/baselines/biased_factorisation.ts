/**
 * Baseline: biased matrix factorisation of the RTT's logarithm. Koren, Bell, Volinsky, "Matrix Factorization
 * Techniques for Recommender Systems", IEEE Computer 42 (2009), equations 3 to 5: log RTT = mean + bias of the source
 * + bias of the destination + p_source . q_destination, by stochastic gradient descent on the squared error with L2
 * regularisation.
 *
 * @module
 */
import { RandomStream } from "../../random/philox.ts";
import type { Baseline, BaselineMeasurement, BaselineQuery } from "./baseline.ts";
import { dot, passRate, VectorTable } from "./factors.ts";

const FIRST_RATE = 0.01;
const LAST_RATE = 0.001;
const REGULARISATION = 0.02;
/** Standard deviation of the first values of the vectors: small beside the biases. */
const INITIAL_SCALE = 0.1;
/** RTTs are at least this before the logarithm is taken, in ms; far below what a network card can do. */
const MIN_RTT_MS = 1e-3;

/** How the factorisation is trained. */
export interface BiasedFactorisationOptions {
  /** Seed of the vectors' first values. */
  seed: number;
  /** Length of the vectors (default 16). */
  rank?: number;
  /** How often training goes over the measurements (default 20). */
  numPasses?: number;
}

/** Predicts from biases and vectors of the source and the destination. */
export class BiasedFactorisationBaseline implements Baseline {
  readonly #numPasses: number;
  readonly #sources: VectorTable;
  readonly #destinations: VectorTable;
  readonly #sourceBiases = new Map<string, number>();
  readonly #destinationBiases = new Map<string, number>();
  #meanLog: number | undefined;
  #rate = FIRST_RATE;

  /** @param options See {@link BiasedFactorisationOptions}. */
  constructor(options: BiasedFactorisationOptions) {
    this.#numPasses = options.numPasses ?? 20;
    const random = new RandomStream(options.seed, "evaluate/biased-factorisation");
    const initial = () => INITIAL_SCALE * random.normal();
    this.#sources = new VectorTable(options.rank ?? 16, initial);
    this.#destinations = new VectorTable(options.rank ?? 16, initial);
  }

  /** As {@link Baseline.train}: one pass for the mean, then several of ever smaller steps. */
  train(measurements: Iterable<BaselineMeasurement>): void {
    this.#meanLog = meanLogRtt(measurements);
    for (let pass = 0; pass < this.#numPasses; pass++) {
      this.#rate = passRate(pass, this.#numPasses, [FIRST_RATE, LAST_RATE]);
      for (const measurement of measurements) this.observe(measurement);
    }
  }

  /** As {@link Baseline.observe}: one step of the biases and vectors. */
  observe(measurement: BaselineMeasurement): void {
    const { source, destination, rttMs } = measurement;
    if (rttMs === null) return;
    const log = logOf(rttMs);
    this.#meanLog ??= log;
    const [p, q] = [this.#sources.of(source), this.#destinations.of(destination)];
    const rate = this.#rate;
    const error = log - this.#predictLog(measurement, this.#meanLog);
    step(this.#sourceBiases, source, { error, rate });
    step(this.#destinationBiases, destination, { error, rate });
    for (let k = 0; k < p.length; k++) {
      const [pk, qk] = [p[k], q[k]];
      p[k] += rate * (error * qk - REGULARISATION * pk);
      q[k] += rate * (error * pk - REGULARISATION * qk);
    }
  }

  /** The prediction, in which an end that was never measured counts as an average one; undefined if untrained. */
  predictMs(query: BaselineQuery): number | undefined {
    return this.#meanLog === undefined ? undefined : Math.exp(this.#predictLog(query, this.#meanLog));
  }

  #predictLog({ source, destination }: BaselineQuery, meanLog: number): number {
    const biases = (this.#sourceBiases.get(source) ?? 0) + (this.#destinationBiases.get(destination) ?? 0);
    const [p, q] = [this.#sources.get(source), this.#destinations.get(destination)];
    return meanLog + biases + (p && q ? dot(p, q) : 0);
  }
}

function step(
  biases: Map<string, number>,
  name: string,
  { error, rate }: { error: number; rate: number },
): void {
  const bias = biases.get(name) ?? 0;
  biases.set(name, bias + rate * (error - REGULARISATION * bias));
}

function meanLogRtt(measurements: Iterable<BaselineMeasurement>): number | undefined {
  let [sum, count] = [0, 0];
  for (const { rttMs } of measurements) {
    if (rttMs === null) continue;
    sum += logOf(rttMs);
    count++;
  }
  return count === 0 ? undefined : sum / count;
}

function logOf(rttMs: number): number {
  return Math.log(Math.max(rttMs, MIN_RTT_MS));
}

/**
 * Matrix factorisation baselines: DMFSGD and a biased factorisation, both by stochastic gradient descent on
 * one vector per endpoint, and a biased factorisation by alternating least squares.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { type Baseline, type BaselineMeasurement, type BaselineQuery, observePasses } from "./baseline.ts";
import { RandomStream } from "../../base/random.ts";
import { descend } from "../../model/pool/pair_factors.ts";
import { logOfRtt } from "../../model/coordinates/rtt_scale.ts";
import { dot, RidgeSum } from "../../model/coordinates/ridge.ts";

interface FactorisationOptions {
  seed: number;
  /** Length of the vectors, not counting a bias. */
  rank: number;
  /** Weight of the L2 regularisation. */
  regularisation: number;
  /** Passes of gradient descent over the measurements (20). */
  numPasses?: number;
}

/** Parameters learned for a source or a destination. */
export interface Factor {
  /** (rank,) */
  vector: Float64Array;
  /** Measurements it was learned from, counting each pass. */
  numSteps: number;
}

interface DescentRates {
  /** Step sizes of the first and the last pass; they shrink geometrically in between. */
  first: number;
  last: number;
  /** Step size of a new endpoint. */
  firstOfEnd: number;
}

/** Steps after which an endpoint's own step size has halved (ASSUMPTION). */
const NUM_STEPS_TO_HALF_RATE = 10;

/** Factors by name, learned by gradient descent. */
class Descent<F extends Factor> {
  readonly sources = new Map<string, F>();
  readonly destinations = new Map<string, F>();
  readonly #make: () => F;
  readonly #rates: DescentRates;
  readonly #numPasses: number;
  #rate: number;

  /** @param make Makes the initial factor of a new endpoint. */
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

  /** Lets a baseline observe all measurements in several passes with shrinking steps. */
  train(baseline: Baseline, measurements: Iterable<BaselineMeasurement>): void {
    const numPasses = this.#numPasses;
    const { first, last } = this.#rates;
    const rateOf = (pass: number) =>
      numPasses === 1 ? first : first * (last / first) ** (pass / (numPasses - 1));
    observePasses(baseline, measurements, { numPasses, onPass: (pass) => this.#rate = rateOf(pass) });
  }

  /** The factors of both endpoints, made if missing. */
  factorsOf({ source, destination }: BaselineMeasurement): [from: F, to: F] {
    return [
      getOrMake(this.sources, source, this.#make),
      getOrMake(this.destinations, destination, this.#make),
    ];
  }

  /**
   * Returns an endpoint's next step size: that of the pass, or a larger one while the endpoint is new, so
   * that an endpoint first seen after training soon leaves its random initial vector.
   */
  nextRate(factor: F): number {
    const own = this.#rates.firstOfEnd / (1 + factor.numSteps++ / NUM_STEPS_TO_HALF_RATE);
    return Math.max(this.#rate, own);
  }
}

// DMFSGD (see lib/model/pool/pair_factors.ts), one measurement at a time.

/**
 * ASSUMPTION: the paper searches for the step size along each step, which needs batches of measurements. Step
 * sizes that shrink from pass to pass work with one measurement at a time.
 */
const DMFSGD_RATES = { first: 0.1, last: 0.001, firstOfEnd: 0.1 };

/** Predicts the product of the source's and the destination's vectors. */
export class DmfsgdBaseline implements Baseline {
  readonly #regularisation: number;
  readonly #descent: Descent<Factor>;

  /**
   * @param options See {@link FactorisationOptions}. The paper's rank is 10. With a regularisation of 1 all
   *   vectors go to 0: under the L1 loss the pull towards 0 is then as strong as the push.
   */
  constructor({ seed, rank, regularisation, ...passes }: FactorisationOptions) {
    this.#regularisation = regularisation;
    const random = new RandomStream(seed, "evaluate/dmfsgd");
    const make = () => ({
      vector: Float64Array.from({ length: rank }, () => random.float64()),
      numSteps: 0,
    });
    this.#descent = new Descent(make, DMFSGD_RATES, passes);
  }

  train(measurements: Iterable<BaselineMeasurement>): void {
    this.#descent.train(this, measurements);
  }

  observe(measurement: BaselineMeasurement): void {
    const { rttMs } = measurement;
    if (rttMs === null) return;
    const [from, to] = this.#descent.factorsOf(measurement);
    const rates = [this.#descent.nextRate(from), this.#descent.nextRate(to)] as const;
    descend([from.vector, to.vector], rttMs, rates, this.#regularisation);
  }

  /** The product; undefined unless both endpoints were measured. */
  predictMs({ source, destination }: BaselineQuery): number | undefined {
    const { sources, destinations } = this.#descent;
    const [from, to] = [sources.get(source), destinations.get(destination)];
    return from && to && dot(from.vector, to.vector);
  }
}

// Biased matrix factorisation of log RTT. Koren, Bell, Volinsky, "Matrix Factorization Techniques for
// Recommender Systems", IEEE Computer 42 (2009), equations 3 to 5: log RTT = mean + bias of the source + bias
// of the destination + p_source . q_destination, by stochastic gradient descent on the squared error with L2
// regularisation.

/** ASSUMPTION: the article gives no step sizes. */
const BIASED_RATES = { first: 0.01, last: 0.001, firstOfEnd: 0.1 };
/** Standard deviation of the initial vectors: small compared with the biases. */
const INITIAL_SCALE = 0.1;

interface BiasedFactor extends Factor {
  bias: number;
}

export class BiasedFactorisationBaseline implements Baseline {
  readonly #regularisation: number;
  readonly #descent: Descent<BiasedFactor>;
  #meanLog: number | undefined;

  constructor({ seed, rank, regularisation, ...passes }: FactorisationOptions) {
    this.#regularisation = regularisation;
    const random = new RandomStream(seed, "evaluate/biased-factorisation");
    const make = () => ({
      bias: 0,
      vector: Float64Array.from({ length: rank }, () => INITIAL_SCALE * random.normal()),
      numSteps: 0,
    });
    this.#descent = new Descent(make, BIASED_RATES, passes);
  }

  /** As {@link Baseline.train}: one pass for the mean, then gradient descent. */
  train(measurements: Iterable<BaselineMeasurement>): void {
    this.#meanLog = meanLogRtt(measurements);
    this.#descent.train(this, measurements);
  }

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

  /** The prediction; undefined if untrained. An endpoint that was never measured counts as average. */
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

// Biased factorisation of log RTT by alternating least squares. The model is the one above; all sources are
// solved for exactly while the destinations are fixed, then the other way round. Each pair counts once, with
// the mean of its logarithms.

/** Alternations. On PlanetLab's RTTs the errors no longer change after 10. */
const NUM_SWEEPS = 15;
/** How many of the newest measurements are used for an endpoint that was not in the training set. */
const MAX_FOLDED = 256;

/** An endpoint's bias, followed by its vector. */
type Weights = Float64Array;
/** Measurements with one other endpoint: its weights, and the mean logarithm. */
type Entry = [other: Weights, log: number];

/** All sources, or all destinations. */
class Side {
  readonly weights = new Map<string, Weights>();
  /** Entries of endpoints that were not in the training set, newest last, and their weights. */
  readonly #met = new Map<string, { entries: Entry[]; weights?: Weights }>();

  meet(name: string, entry: Entry): void {
    const met = this.#met.get(name) ?? { entries: [] };
    met.entries.push(entry);
    if (met.entries.length > MAX_FOLDED) met.entries.shift();
    this.#met.set(name, { entries: met.entries });
  }

  weightsOf(name: string, solve: (entries: readonly Entry[]) => Weights): Weights | undefined {
    const met = this.#met.get(name);
    return this.weights.get(name) ?? (met && (met.weights ??= solve(met.entries)));
  }
}

export class LogAlsBaseline implements Baseline {
  readonly #seed: number;
  readonly #regularisation: number;
  readonly #sums: RidgeSum;
  readonly #features: Float64Array;
  #mean = 0;
  #sources = new Side();
  #destinations = new Side();

  constructor({ seed, rank, regularisation }: FactorisationOptions) {
    this.#seed = seed;
    this.#regularisation = regularisation;
    this.#sums = new RidgeSum(rank + 1);
    this.#features = new Float64Array(rank + 1);
  }

  train(measurements: Iterable<BaselineMeasurement>): void {
    const random = new RandomStream(this.#seed, "evaluate/log-als");
    const first = () => {
      const weights = this.#features.map(() => INITIAL_SCALE * random.normal());
      return weights.fill(0, 0, 1);
    };
    [this.#sources, this.#destinations] = [new Side(), new Side()];
    const [bySource, byDestination] = [new Map<Weights, Entry[]>(), new Map<Weights, Entry[]>()];
    let sum = 0;
    let count = 0;
    for (const { source, destination, meanLog } of pairMeans(measurements)) {
      const [from, to] = [
        getOrMake(this.#sources.weights, source, first),
        getOrMake(this.#destinations.weights, destination, first),
      ];
      getOrMake(bySource, from, () => []).push([to, meanLog]);
      getOrMake(byDestination, to, () => []).push([from, meanLog]);
      sum += meanLog;
      count++;
    }
    this.#mean = count === 0 ? 0 : sum / count;
    for (let sweep = 0; sweep < NUM_SWEEPS; sweep++) {
      for (const side of [bySource, byDestination]) {
        for (const [weights, entries] of side) weights.set(this.#solve(entries));
      }
    }
  }

  /** Endpoints that were not in the training set are learned from those that were. */
  observe({ source, destination, rttMs }: BaselineMeasurement): void {
    if (rttMs === null) return;
    const [from, to] = [this.#sources.weights.get(source), this.#destinations.weights.get(destination)];
    if (to && !from) this.#sources.meet(source, [to, logOfRtt(rttMs)]);
    if (from && !to) this.#destinations.meet(destination, [from, logOfRtt(rttMs)]);
  }

  /** The prediction; undefined unless both endpoints were measured. */
  predictMs({ source, destination }: BaselineQuery): number | undefined {
    const solve = (entries: readonly Entry[]) => this.#solve(entries);
    const from = this.#sources.weightsOf(source, solve);
    const to = this.#destinations.weightsOf(destination, solve);
    if (!from || !to) return undefined;
    let log = this.#mean + from[0] + to[0];
    for (let k = 1; k < from.length; k++) log += from[k] * to[k];
    return Math.exp(log);
  }

  #solve(entries: readonly Entry[]): Weights {
    this.#sums.clear();
    for (const [other, log] of entries) {
      this.#features.set(other);
      this.#features[0] = 1;
      this.#sums.add(this.#features, log - this.#mean - other[0]);
    }
    return this.#sums.solve(this.#regularisation);
  }
}

function* pairMeans(measurements: Iterable<BaselineMeasurement>) {
  const sources = new Map<string, Map<string, [sum: number, count: number]>>();
  for (const { source, destination, rttMs } of measurements) {
    if (rttMs === null) continue;
    const sum = getOrMake(getOrMake(sources, source, () => new Map()), destination, () => [0, 0]);
    sum[0] += logOfRtt(rttMs);
    sum[1]++;
  }
  for (const [source, destinations] of sources) {
    for (const [destination, [sum, count]] of destinations) {
      yield { source, destination, meanLog: sum / count };
    }
  }
}

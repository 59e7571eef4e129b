/**
 * Baseline: biased factorisation of the RTT's logarithm by alternating least squares. Koren, Bell, Volinsky, "Matrix
 * Factorization Techniques for Recommender Systems", IEEE Computer 42 (2009): log RTT = mean + bias of the source +
 * bias of the destination + p_source . q_destination, where all sources are solved for exactly while the destinations
 * stand still, and the other way round. Each pair counts once, with the mean of its logarithms.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import { type Baseline, type BaselineMeasurement, type BaselineQuery } from "./baseline.ts";
import { getOrMake } from "../../base/collections.ts";
import { type FactorisationOptions } from "./factorisations.ts";
import { logOfRtt } from "../../model/coordinates/rtt_scale.ts";
import { RidgeSum } from "../../model/coordinates/ridge.ts";

/** Standard deviation of the first values of the vectors: small beside the biases. */
const INITIAL_SCALE = 0.1;
/** How often both sides are solved for; on PlanetLab's RTTs the errors stand still after 10. */
const NUM_SWEEPS = 15;
/** The newest measurements that an end is learned from which training never met. */
const MAX_FOLDED = 256;

/** An end's bias, then its vector. */
type Weights = Float64Array;
/** The measurements with one other end: its weights, and the logarithm. */
type Entry = [other: Weights, log: number];

/** The sources or the destinations. */
class Side {
  readonly weights = new Map<string, Weights>();
  /** Entries of ends that training never met, newest last, and the weights they give. */
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

/** Predicts from biases and vectors of the source and the destination. */
export class LogAlsBaseline implements Baseline {
  readonly #seed: number;
  readonly #regularisation: number;
  readonly #sums: RidgeSum;
  readonly #features: Float64Array;
  #mean = 0;
  #sources = new Side();
  #destinations = new Side();

  /** @param options See {@link FactorisationOptions}. */
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

  /** As {@link Baseline.observe}: ends that training never met are learned from those that it met. */
  observe({ source, destination, rttMs }: BaselineMeasurement): void {
    if (rttMs === null) return;
    const [from, to] = [this.#sources.weights.get(source), this.#destinations.weights.get(destination)];
    if (to && !from) this.#sources.meet(source, [to, logOfRtt(rttMs)]);
    if (from && !to) this.#destinations.meet(destination, [from, logOfRtt(rttMs)]);
  }

  /** The prediction; undefined unless both ends were measured. */
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

/** The mean logarithm of each pair's RTTs. */
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

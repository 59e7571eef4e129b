/**
 * Vivaldi network coordinates. Dabek, Cox, Kaashoek, Morris, "Vivaldi: A Decentralized Network Coordinate
 * System", SIGCOMM 2004: the algorithm with the adaptive timestep of figure 3, on the height vectors of
 * section 5.4. Every node has a position in a Euclidean space, the core of the network, and a height above
 * it, its access link; the RTT is the distance plus both heights.
 *
 * In the paper every node measures and moves itself. Here both endpoints of a measurement move, because
 * destinations measure nothing and an RTT is the same in both directions.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { RandomStream } from "../../base/random.ts";
import { type Baseline, type BaselineMeasurement, type BaselineQuery, observePasses } from "./baseline.ts";

/** How far a node moves, and how fast its error adapts: the paper's constants (section 4.2, figure 3). */
const TIMESTEP_CC = 0.25;
const ERROR_CE = 0.25;
/** ASSUMPTION: the paper only asks for a positive height. */
const MIN_HEIGHT_MS = 0.01;
/** Lower bound of RTTs in relative errors, far below what a network card can do. */
const MIN_RTT_MS = 1e-3;

interface VivaldiOptions {
  seed: number;
  /** Dimensions of the space (4). */
  numDimensions?: number;
  /** Training passes over the measurements (5). */
  numPasses?: number;
}

interface Node {
  /** Position in the core, ms. */
  place: Float64Array;
  heightMs: number;
  /** The node's estimate of its own relative error; 1 if unknown. */
  error: number;
}

export class VivaldiBaseline implements Baseline {
  readonly #numDimensions: number;
  readonly #numPasses: number;
  readonly #random: RandomStream;
  readonly #nodes = new Map<string, Node>();

  constructor(options: VivaldiOptions) {
    this.#numDimensions = options.numDimensions ?? 4;
    this.#numPasses = options.numPasses ?? 5;
    this.#random = new RandomStream(options.seed, "evaluate/vivaldi");
  }

  train(measurements: Iterable<BaselineMeasurement>): void {
    observePasses(this, measurements, { numPasses: this.#numPasses });
  }

  /** Both endpoints move as a spring of the measured length would move them. */
  observe({ source, destination, rttMs }: BaselineMeasurement): void {
    if (rttMs === null || source === destination) return;
    const [a, b] = [this.#node(source), this.#node(destination)];
    const apartMs = distanceMs(a, b);
    const relativeError = Math.abs(apartMs - rttMs) / Math.max(rttMs, MIN_RTT_MS);
    const weightA = a.error / (a.error + b.error);
    const stretch = (rttMs - apartMs) / apartMs;
    const heightsMs = a.heightMs + b.heightMs;
    const [moveA, moveB] = [TIMESTEP_CC * weightA * stretch, TIMESTEP_CC * (1 - weightA) * stretch];
    for (let d = 0; d < this.#numDimensions; d++) {
      const difference = a.place[d] - b.place[d];
      a.place[d] += moveA * difference;
      b.place[d] -= moveB * difference;
    }
    a.heightMs = Math.max(MIN_HEIGHT_MS, a.heightMs + moveA * heightsMs);
    b.heightMs = Math.max(MIN_HEIGHT_MS, b.heightMs + moveB * heightsMs);
    a.error += ERROR_CE * weightA * (relativeError - a.error);
    b.error += ERROR_CE * (1 - weightA) * (relativeError - b.error);
  }

  /** The distance; undefined unless both endpoints were measured. */
  predictMs({ source, destination }: BaselineQuery): number | undefined {
    const [a, b] = [this.#nodes.get(source), this.#nodes.get(destination)];
    return a && b && distanceMs(a, b);
  }

  /**
   * The paper starts all nodes at the origin and pushes them apart at random, which amounts to random
   * positions nearby.
   */
  #node(key: string): Node {
    return getOrMake(this.#nodes, key, () => {
      const place = Float64Array.from({ length: this.#numDimensions }, () => this.#random.normal());
      return { place, heightMs: MIN_HEIGHT_MS, error: 1 };
    });
  }
}

function distanceMs(a: Node, b: Node): number {
  let squared = 0;
  for (let d = 0; d < a.place.length; d++) squared += (a.place[d] - b.place[d]) ** 2;
  return Math.sqrt(squared) + a.heightMs + b.heightMs;
}

/**
 * Chooses which RTTs to measure to learn the most about others: Bayesian experimental design (Chaloner and
 * Verdinelli, Statistical Science 10, 1995). On the logarithmic scale an RTT is linear in a node's bias and
 * vector, given those of the other node. The bias and vector of an unknown node are normally distributed, at
 * first with the covariance over all fitted nodes; each known RTT reduces it. The algorithm is greedy: each
 * step chooses the pair that most reduces the summed variance of the wanted RTTs (V-optimality), as in
 * Krause, Singh and Guestrin, "Near-optimal sensor placements in Gaussian processes", JMLR 9, 2008. Variances
 * do not depend on RTTs, so all pairs are chosen before the first is measured.
 *
 * @module
 */
import type { Fit } from "./coordinates.ts";
import { mostFrequent } from "./factorisation.ts";
import { UNKNOWN } from "./known_pairs.ts";
import { signOf } from "./node_vectors.ts";
import { dot } from "./ridge.ts";

/** The standard deviation of a normal distribution whose median magnitude is 1. */
const NORMAL_SPREAD = 1.4826;

export interface DesignNode {
  /** Derivative of an RTT of this node with respect to the other node's bias and vector, (1 + rank). */
  readonly features: Float64Array;
  /** The covariance of this node's bias and vector, (1 + rank, 1 + rank). */
  readonly covariance: Float64Array;
  /** The sum of outer products of features over nodes whose RTTs to this node are wanted, same shape. */
  readonly wanted: Float64Array;
  /** See `Fit.errors`. */
  readonly error: number;
}

/** Two nodes whose RTT may be measured, or is wanted. */
export type DesignPair = readonly [DesignNode, DesignNode];

export class MeasurementDesign {
  readonly #width: number;
  readonly #component: number | undefined;
  readonly #mean: Float64Array;
  readonly #covariance: Float64Array;

  /** @param fit The fit of all pairs. */
  constructor(readonly fit: Fit) {
    const { components, options: { rank } } = fit.factorisation.factors;
    const width = this.#width = rank + 1;
    // Nodes that were located and not fitted are left out: their components are below `UNKNOWN`.
    this.#component = mostFrequent(components.filter((component) => component > UNKNOWN));
    const nodes = [...components.keys()].filter((node) => components[node] === this.#component);
    this.#mean = new Float64Array(width);
    for (const node of nodes) this.#partsOf(node).forEach((part, i) => this.#mean[i] += part / nodes.length);
    this.#covariance = new Float64Array(width * width);
    for (const node of nodes) {
      addProduct(
        this.#covariance,
        this.#partsOf(node).map((part, i) => part - this.#mean[i]),
        1 / nodes.length,
      );
    }
  }

  /** A node's bias and vector on the first scale, which is logarithmic. */
  #partsOf(node: number): Float64Array {
    return Float64Array.from(this.fit.factorisation.vectorOf(node).vectors.subarray(0, this.#width));
  }

  /**
   * Makes a node of the linear model.
   *
   * @param node Its index. If the node has no coordinates, or for `NO_ROW`, only `measured` is known.
   * @param measured Nodes whose RTTs to this node are known. Nodes without coordinates are ignored. If
   *   omitted, a node with coordinates is known exactly.
   */
  node(node: number, measured?: Iterable<number>): DesignNode {
    const isExact = measured === undefined && this.#isKnown(node);
    const covariance = this.#covariance.map((each) => isExact ? 0 : each);
    const error = this.#errorOf(node);
    for (const other of measured ?? []) {
      if (this.#isKnown(other)) {
        lessen(covariance, this.#featuresOf(other), noiseOf(error, this.#errorOf(other)));
      }
    }
    return {
      features: this.#featuresOf(node),
      covariance,
      wanted: new Float64Array(this.#width ** 2),
      error,
    };
  }

  #isKnown(node: number): boolean {
    return this.fit.factorisation.vectorOf(node).component === this.#component;
  }

  #featuresOf(node: number): Float64Array {
    const parts = this.#isKnown(node) ? this.#partsOf(node) : this.#mean;
    return parts.map((part, i) => i === 0 ? 1 : signOf(i, this.#width - 1) * part);
  }

  #errorOf(node: number): number {
    return this.#isKnown(node) ? this.fit.errors[node] : this.fit.usualError;
  }
}

/** The variance of the logarithm of a pair's RTT. */
export function varianceOf([a, b]: DesignPair): number {
  const of = (own: DesignNode, other: DesignNode) =>
    dot(other.features, times(own.covariance, other.features));
  return noiseOf(a.error, b.error) + of(a, b) + of(b, a);
}

export function want([a, b]: DesignPair): void {
  addProduct(a.wanted, b.features, 1);
  addProduct(b.wanted, a.features, 1);
}

/** How much measuring a pair would reduce the summed variance of the wanted RTTs. */
export function gainOf([a, b]: DesignPair): number {
  const of = (own: DesignNode, other: DesignNode) => {
    const changes = times(own.covariance, other.features);
    return dot(changes, times(own.wanted, changes));
  };
  return (of(a, b) + of(b, a)) / varianceOf([a, b]);
}

/** Treats the RTT of a pair as known. */
export function measure([a, b]: DesignPair): void {
  const variance = varianceOf([a, b]);
  const noiseFor = (own: DesignNode, other: DesignNode) =>
    variance - dot(other.features, times(own.covariance, other.features));
  const noises = [noiseFor(a, b), noiseFor(b, a)];
  lessen(a.covariance, b.features, noises[0]);
  lessen(b.covariance, a.features, noises[1]);
}

/** The variance of the error of an estimate between known nodes. */
function noiseOf(errorA: number, errorB: number): number {
  return NORMAL_SPREAD ** 2 * errorA * errorB;
}

/** Updates a covariance for a measurement of `features` whose error has the variance `noise`. */
function lessen(covariance: Float64Array, features: Float64Array, noise: number): void {
  const changes = times(covariance, features);
  addProduct(covariance, changes, -1 / (dot(features, changes) + noise));
}

/** Adds the weighted outer product of a column with itself. */
function addProduct(matrix: Float64Array, column: Float64Array, weight: number): void {
  const { length } = column;
  for (let i = 0; i < length; i++) {
    for (let j = 0; j < length; j++) matrix[i * length + j] += weight * column[i] * column[j];
  }
}

function times(matrix: Float64Array, column: Float64Array): Float64Array {
  const { length } = column;
  return column.map((_, i) => dot(matrix.subarray(i * length, (i + 1) * length), column));
}

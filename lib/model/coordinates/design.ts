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
import { type Fit, noiseOf, type Population } from "./factorisation.ts";
import { featuresOf } from "./node_vectors.ts";
import { addProduct, lessen, type NodeDistribution, times, varianceAlong } from "./posterior.ts";
import { dot } from "./ridge.ts";

/** Stands for a node that does not exist. */
const NO_NODE = -1;

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
  readonly #population: Population | undefined;
  /** The logarithmic scale, the first one, of all fitted nodes. */
  readonly #ofAll: NodeDistribution;

  /** @param fit The fit of all pairs. */
  constructor(readonly fit: Fit) {
    const { factorisation } = fit;
    const width = factorisation.factors.options.rank + 1;
    this.#population = factorisation.population();
    this.#ofAll = this.#population?.scales[0] ??
      { mean: new Float64Array(width), covariance: new Float64Array(width ** 2) };
  }

  /**
   * Makes a node of the linear model.
   *
   * @param node Its index. If the node has no coordinates, or for `NO_ROW`, only `measured` is known.
   * @param measured Nodes whose RTTs to this node are known. Nodes without coordinates are ignored. If
   *   omitted, a node with coordinates is known exactly.
   * @param place The node of its place, which it resembles if it has no coordinates.
   */
  node(node: number, measured?: Iterable<number>, place = NO_NODE): DesignNode {
    const { covariance: ofAll } = this.#ofAll;
    const isExact = measured === undefined && this.#isKnown(node);
    const covariance = ofAll.map((each) => isExact ? 0 : each);
    const error = this.#errorOf(node);
    for (const other of measured ?? []) {
      if (this.#isKnown(other)) {
        lessen(covariance, this.#featuresOf(other), noiseOf(error, this.#errorOf(other)));
      }
    }
    return {
      features: this.#featuresOf(this.#isKnown(node) ? node : place),
      covariance,
      wanted: new Float64Array(covariance.length),
      error,
    };
  }

  #isKnown(node: number): boolean {
    return this.fit.factorisation.vectorOf(node).component === this.#population?.component;
  }

  #featuresOf(node: number): Float64Array {
    const { factorisation } = this.fit;
    return this.#isKnown(node) ? featuresOf(factorisation.partsOf(node, 0)) : featuresOf(this.#ofAll.mean);
  }

  #errorOf(node: number): number {
    return this.#isKnown(node) ? this.fit.errors[node] : this.fit.usualError;
  }
}

/** The variance of the logarithm of a pair's RTT. */
export function varianceOf([a, b]: DesignPair): number {
  const of = (own: DesignNode, other: DesignNode) => varianceAlong(own.covariance, other.features);
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
    variance - varianceAlong(own.covariance, other.features);
  const noises = [noiseFor(a, b), noiseFor(b, a)];
  lessen(a.covariance, b.features, noises[0]);
  lessen(b.covariance, a.features, noises[1]);
}

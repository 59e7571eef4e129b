/**
 * A factorisation of RTTs: vectors of nodes on three scales, from milliseconds to the logarithm. The
 * estimates of the scales are averaged because their errors differ: the logarithm minimises relative errors,
 * milliseconds absolute ones.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { componentsOf, type FoldSet, type Neighbours, UNKNOWN } from "./known_pairs.ts";
import {
  featuresOf,
  firstVectors,
  fitVectors,
  NodeSolver,
  valueOf,
  type VectorOptions,
} from "./node_vectors.ts";
import { distributionOf, logDensity, type NodeDistribution, posterior } from "./posterior.ts";
import { fromScale, toScale } from "./rtt_scale.ts";

// Finds the coordinates of a node that was not fitted.
//
// A few RTTs cannot determine two dozen numbers. Its bias and vector are distributed around those of its place,
// as those of all nodes around their mean; each RTT narrows the distribution (posterior.ts). Without a place it
// may be like a fitted node instead, since nodes in the same network are often alike, which no normal
// distribution describes. The result is then the mean over this distribution and all fitted nodes, weighted by
// how well each predicts the RTTs: Bayesian model averaging (Hoeting et al., Statistical Science 14, 1999;
// compare GNP, Ng and Zhang, INFOCOM 2002). With a place, nodes elsewhere predict a few RTTs by chance only.

/** The probability, before any RTT, that a node without a place is not like one of the fitted nodes. */
const NEW_SHARE = 0.8;
/** Maximum number of nodes to compare with, evenly spaced; it bounds the time in large networks. */
const MAX_CANDIDATES = 2048;
/** Maximum number of RTTs to locate a node by. */
const MAX_COMPARED = 64;
/** Nodes with a smaller weight, relative to the largest weight, are ignored. */
const LEAST_WEIGHT = 1e-6;
/** The weight of the expected error, in RTTs, and by how much one known RTT increases it. */
const NUM_EXPECTED = 8;
const EXPECTED_OF_ONE = 2;

/** The standard deviation of a normal distribution whose median magnitude is 1. */
const NORMAL_SPREAD = 1.4826;

/** The variance of the error of an estimate, by the errors of both nodes; see `Fit.errors`. */
export function noiseOf(errorA: number, errorB: number): number {
  return NORMAL_SPREAD ** 2 * errorA * errorB;
}

/** What predicts the RTTs of a new node: a node's vectors. */
interface Candidate {
  readonly vectors: Float32Array;
  /** Its probability before any RTT. */
  readonly share: number;
  /** The logarithms of the known RTTs that it predicts, and the densities of their errors, as logarithms. */
  readonly logs: Float64Array;
  readonly fits: Float64Array;
}

/**
 * Weighs candidates by how well they predict known RTTs.
 *
 * @param logs The logarithms of the known RTTs; at least one.
 * @param expected The error that is expected before any RTT.
 * @returns Weights that sum to 1, and the error of estimates: the smoothed difference between each RTT and its
 *   prediction from the others.
 */
function weighed(
  candidates: readonly Candidate[],
  logs: readonly number[],
  expected: number,
): { weights: Float64Array; error: number } {
  const sums = Float64Array.from(
    candidates,
    ({ share, fits }) => fits.reduce((sum, fit) => sum + fit, Math.log(share)),
  );
  const errors = logs.map((log, i) => {
    const weights = shares(sums.map((sum, j) => sum - candidates[j].fits[i]));
    return Math.abs(weights.reduce((mean, weight, j) => mean + weight * candidates[j].logs[i], 0) - log);
  }).sort((a, b) => a - b);
  const count = errors.length;
  return {
    weights: shares(sums),
    error: (count * errors[count >> 1] + NUM_EXPECTED * expected) / (count + NUM_EXPECTED),
  };
}

/** Normalises weights given as logarithms. @returns Weights that sum to 1. */
function shares(logs: Float64Array): Float64Array {
  const most = logs.reduce((a, b) => Math.max(a, b), -Infinity);
  const weights = logs.map((log) => Math.exp(log - most)).map((weight) => weight < LEAST_WEIGHT ? 0 : weight);
  const sum = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / sum);
}

/** Takes at most `most` of the items, evenly spaced. */
function spread<T>(all: readonly T[], most: number): readonly T[] {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, i) => all[Math.floor(i * all.length / most)]);
}

/** In the first sweeps all errors count by their squares, since they only reflect the initial values. */
const NUM_PLAIN_SWEEPS = 2;
/** Each scale starts from the vectors of the previous one, which saves this share of the sweeps. */
const SAVED_SHARE = 2 / 3;

/** How strongly the vectors of a place are regularised, as a multiple of a node's, and how often solved for. */
const PRIOR_STRENGTH = 5;
const NUM_LOCATING_SWEEPS = 5;
/** Factor on the errors of means over nodes: the estimates of their scales are closer together. */
const CLOSER_SCALES = 2;

/** The component of a located node is stored as this minus the component, always below {@link UNKNOWN}. */
const LOCATED = UNKNOWN - 1;

interface LogEstimate {
  /** Natural logarithm of the RTT in ms. */
  readonly log: number;
  /** Half the range of the logarithms that the scales estimate. */
  readonly spread: number;
}

interface NodeVector {
  /** Shape (scales, 1 + rank): a bias and a vector for each scale. */
  readonly vectors: Float32Array;
  /** See {@link componentsOf}. */
  readonly component: number;
}

/** The coordinates of a node that was not fitted. */
export interface LocatedNodeVector extends NodeVector {
  /** The expected error of estimates for this node; see `Fit.errors`. */
  readonly error: number;
}

interface Factors {
  /** The scales' powers; see {@link toScale}. */
  readonly powers: readonly number[];
  readonly options: VectorOptions;
  /** Shape (nodes, scales, 1 + rank). */
  readonly vectors: Float32Array;
  /** Shape (nodes,); see {@link componentsOf}. Nodes that were not fitted: {@link Factorisation.put}. */
  readonly components: Float32Array;
  /** Shape (3,): logarithms of the typical, the smallest and the largest RTT. */
  readonly range: Float32Array;
}

/** Fitted nodes of a component, and the distributions of their biases and vectors on each scale. */
export interface Population {
  readonly component: number;
  readonly nodes: readonly number[];
  readonly scales: readonly NodeDistribution[];
}

export interface Fit {
  readonly factorisation: Factorisation;
  /** The smoothed median of |log(estimate / RTT)| of each node's pairs. */
  readonly errors: Float32Array;
  /** The median over all pairs. */
  readonly usualError: number;
}

/** See {@link Factorisation.locate}. */
export interface LocateOptions {
  readonly without?: ReadonlySet<number>;
  readonly place?: number | undefined;
  readonly isPlace?: boolean;
}

export class Factorisation {
  readonly #width: number;
  readonly #populations = new Map<number, Population | undefined>();

  constructor(readonly factors: Factors) {
    this.#width = factors.options.rank + 1;
  }

  /**
   * @param options See {@link VectorOptions} and {@link Factors}. `numSweeps`: how often all nodes are solved
   *   for; `without`: folds that the result must not depend on; `seed`: seed of the initial values.
   */
  static fit(
    neighbours: Neighbours,
    options: VectorOptions & { powers: readonly number[]; numSweeps: number; without: FoldSet; seed: number },
  ): Factorisation {
    const { powers, rank, without } = options;
    const { numNodes, logs } = neighbours;
    const width = rank + 1;
    const range = rangeOf(neighbours, without);
    const vectors = new Float32Array(numNodes * powers.length * width);
    const values = new Float32Array(logs.length);
    const fitted = firstVectors(numNodes, rank, options.seed);
    powers.forEach((power, scale) => {
      for (let entry = 0; entry < values.length; entry++) {
        values[entry] = toScale(power, logs[entry] - range[0]);
      }
      const sweeps = scale === 0
        ? { numPlainSweeps: NUM_PLAIN_SWEEPS, numSweeps: options.numSweeps }
        : { numPlainSweeps: 0, numSweeps: Math.ceil((1 - SAVED_SHARE) * options.numSweeps) };
      fitVectors(fitted, { neighbours, values }, { ...options, ...sweeps });
      for (let node = 0; node < numNodes; node++) {
        vectors.set(
          fitted.subarray(node * width, (node + 1) * width),
          (node * powers.length + scale) * width,
        );
      }
    });
    return new Factorisation({
      powers,
      options,
      vectors,
      components: componentsOf(neighbours, without),
      range,
    });
  }

  vectorOf(node: number): NodeVector {
    const { powers, vectors, components } = this.factors;
    const length = powers.length * this.#width;
    const component = components[node];
    return {
      vectors: vectors.subarray(node * length, (node + 1) * length),
      component: component < UNKNOWN ? LOCATED - component : component,
    };
  }

  isFitted(node: number): boolean {
    return this.factors.components[node] > UNKNOWN;
  }

  /**
   * Assigns coordinates to a node that was not fitted. It then has estimates, but neither {@link typicalNode}
   * nor nodes located later depend on it.
   */
  put(node: number, { vectors, component }: NodeVector): void {
    this.vectorOf(node).vectors.set(vectors);
    this.factors.components[node] = component === UNKNOWN ? UNKNOWN : LOCATED - component;
  }

  /** Estimates a pair, regardless of direction; undefined if one of the nodes is unknown. */
  estimate(a: NodeVector, b: NodeVector): LogEstimate | undefined {
    if (a.component === UNKNOWN || b.component === UNKNOWN) return undefined;
    const { powers, options, range: [typical, least, greatest] } = this.factors;
    // Vectors of different components are unrelated.
    const rank = a.component === b.component ? options.rank : 0;
    let sum = 0;
    let low = Infinity;
    let high = -Infinity;
    powers.forEach((power, scale) => {
      const value = valueOf(a.vectors, b.vectors, scale * this.#width, rank);
      const log = Math.min(greatest, Math.max(least, typical + fromScale(power, value)));
      sum += log;
      low = Math.min(low, log);
      high = Math.max(high, log);
    });
    return { log: sum / powers.length, spread: (high - low) / 2 };
  }

  /**
   * Finds the coordinates of a node that was not fitted, in the component of most of the known nodes.
   *
   * @param known Nodes and the logarithms of their RTTs to the new node.
   * @param options `usualError` and `errors`: see `Fit`; `without`: nodes that the new node is not compared
   *   with; `place`: the node of its place, which it resembles before any RTT (default: the typical node);
   *   `isPlace`: whether it stands for addresses with different RTTs, which no single one determines.
   */
  locate(
    known: readonly { node: number; log: number }[],
    { usualError, errors, without = new Set(), place, isPlace = false }:
      & Pick<Fit, "usualError" | "errors">
      & LocateOptions,
  ): LocatedNodeVector {
    const { powers, components } = this.factors;
    const componentOf = (node: number) => this.vectorOf(node).component;
    const found = mostFrequent(known.map(({ node }) => componentOf(node)).filter((of) => of !== UNKNOWN));
    const population = found === undefined ? undefined : this.population(found);
    if (!population) {
      return {
        vectors: new Float32Array(powers.length * this.#width),
        component: UNKNOWN,
        error: usualError,
      };
    }
    const { component } = population;
    const all = known.filter(({ node }) => componentOf(node) === component);
    const usable = spread(all, MAX_COMPARED);
    const logs = usable.map(({ log }) => log);
    const others = spread(
      [...components.keys()].filter((node) => components[node] === component && !without.has(node)),
      MAX_CANDIDATES,
    );
    const compared = usable.map(({ node }) => this.vectorOf(node));
    const home = place !== undefined && componentOf(place) === component ? place : undefined;
    const candidates = [
      ...isPlace ? [] : [this.#ofItsOwn(usable, population, { usualError, errors, place: home })],
      ...(home === undefined ? others : []).map((node): Candidate => {
        const own = this.vectorOf(node);
        const estimates = Float64Array.from(compared, (other) => this.estimate(own, other)?.log ?? NaN);
        const fits = estimates.map((log, i) => logDensity(log - logs[i], usualError ** 2));
        return { vectors: own.vectors, share: (1 - NEW_SHARE) / others.length, logs: estimates, fits };
      }),
    ];
    const ofFew = usualError * (1 + EXPECTED_OF_ONE / logs.length);
    const expected = home === undefined ? ofFew : Math.min(ofFew, errors[home]);
    const { weights, error } = weighed(candidates, logs, expected);
    const mean = meanOf(candidates, weights);
    const located = { vectors: mean, component, error: errorOfVector(error, usualError) };
    if (!isPlace) return located;
    return { ...located, vectors: this.#solved(mean, all), error: CLOSER_SCALES * located.error };
  }

  /** The candidate that is like no fitted node: the mean of its distribution after the known RTTs. */
  #ofItsOwn(
    known: readonly { node: number; log: number }[],
    { scales }: Population,
    { usualError, errors, place }: Pick<Fit, "usualError" | "errors"> & LocateOptions,
  ): Candidate {
    const { powers, range: [typical] } = this.factors;
    const found = powers.map((power, scale) => {
      const mean = place === undefined ? scales[scale].mean : this.partsOf(place, scale);
      const values = known.map(({ node, log }) => {
        const other = this.partsOf(node, scale);
        const value = toScale(power, log - typical) - other[0];
        return { features: featuresOf(other), value, noise: noiseOf(usualError, errors[node]) };
      });
      return posterior({ ...scales[scale], mean }, values);
    });
    // The first scale is logarithmic, so errors of its values are those of logarithms.
    const logs = found[0].predicted.map(({ value }, i) =>
      typical + this.partsOf(known[i].node, 0)[0] + value
    );
    return {
      vectors: Float32Array.from(found.flatMap(({ mean }) => [...mean])),
      share: NEW_SHARE,
      logs: Float64Array.from(logs),
      fits: Float64Array.from(
        logs,
        (log, i) => logDensity(log - known[i].log, found[0].predicted[i].variance),
      ),
    };
  }

  /** Vectors fitted to known RTTs, regularised towards the given ones. */
  #solved(vectors: Float32Array, known: readonly { node: number; log: number }[]): Float32Array {
    const { options, powers, range } = this.factors;
    const width = this.#width;
    const solver = new NodeSolver({ ...options, regularisation: PRIOR_STRENGTH * options.regularisation });
    return Float32Array.from(powers.flatMap((power, scale) => {
      const prior = Float64Array.from(vectors.subarray(scale * width, (scale + 1) * width));
      let own: Float64Array = prior;
      for (let sweep = 0; sweep < NUM_LOCATING_SWEEPS; sweep++) {
        for (const { node, log } of known) {
          const at = (node * powers.length + scale) * width;
          solver.add(toScale(power, log - range[0]), this.factors.vectors, at, own);
        }
        own = solver.solve(prior);
      }
      return [...own];
    }));
  }

  /**
   * The coordinates of an unknown node: the mean over the fitted nodes of the largest component. The error is
   * the difference between its estimates and those of other nodes.
   */
  typicalNode(usualError: number): LocatedNodeVector {
    const { powers } = this.factors;
    const vectors = new Float32Array(powers.length * this.#width);
    const population = this.population();
    if (!population) return { vectors, component: UNKNOWN, error: usualError };
    const { component, nodes, scales } = population;
    scales.forEach(({ mean }, scale) => vectors.set(mean, scale * this.#width));
    const places = spread(nodes, MAX_COMPARED).map((node) => this.vectorOf(node));
    const logOf = (a: NodeVector, b: NodeVector) => this.estimate(a, b)?.log ?? NaN;
    const errors = places.flatMap((a) => {
      const log = logOf(a, { vectors, component });
      return places.filter((b) => b !== a).map((b) => Math.abs(logOf(a, b) - log));
    }).sort((a, b) => a - b);
    const error = errorOfVector(errors[errors.length >> 1] ?? usualError, usualError);
    return { vectors, component, error: CLOSER_SCALES * error };
  }

  /**
   * The fitted nodes of a component, at most {@link MAX_CANDIDATES}, evenly spaced.
   *
   * @param component The largest one by default. @returns Undefined if it has no fitted node.
   */
  population(component = mostFrequent(this.factors.components.filter((of) => of > UNKNOWN))):
    | Population
    | undefined {
    if (component === undefined) return undefined;
    return getOrMake(this.#populations, component, () => {
      const { powers, components } = this.factors;
      const nodes = spread(
        [...components.keys()].filter((node) => components[node] === component),
        MAX_CANDIDATES,
      );
      if (nodes.length === 0) return undefined;
      const scales = powers.map((_, scale) => distributionOf(nodes.map((node) => this.partsOf(node, scale))));
      return { component, nodes, scales };
    });
  }

  /** A node's bias and vector on a scale, (1 + rank). */
  partsOf(node: number, scale: number): Float64Array {
    const at = (node * this.factors.powers.length + scale) * this.#width;
    return Float64Array.from(this.factors.vectors.subarray(at, at + this.#width));
  }
}

/** The mean vectors of candidates. */
function meanOf(candidates: readonly Candidate[], weights: Float64Array): Float32Array {
  const mean = new Float64Array(candidates[0].vectors.length);
  candidates.forEach(({ vectors }, c) => {
    if (weights[c] > 0) vectors.forEach((part, i) => mean[i] += weights[c] * part);
  });
  return Float32Array.from(mean);
}

/**
 * The stored error of a node that was not fitted. The error of a pair is the geometric mean of both nodes'
 * errors; large errors are raised so that the pair's error is about this node's.
 */
function errorOfVector(error: number, usualError: number): number {
  return Math.fround(error * Math.max(1, error / usualError));
}

/** The most frequent value, the smallest in a tie; undefined if there are no values. */
export function mostFrequent(values: ArrayLike<number> & Iterable<number>): number | undefined {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([a, countA], [b, countB]) => countB - countA || a - b)[0]?.[0];
}

/** The mean, the smallest and the largest logarithm. */
function rangeOf({ logs, folds }: Neighbours, without: FoldSet): Float32Array {
  let sum = 0;
  let count = 0;
  let least = Infinity;
  let most = -Infinity;
  for (let entry = 0; entry < logs.length; entry++) {
    if (without >> folds[entry] & 1) continue;
    sum += logs[entry];
    count++;
    least = Math.min(least, logs[entry]);
    most = Math.max(most, logs[entry]);
  }
  return count === 0 ? new Float32Array(3) : Float32Array.of(sum / count, least, most);
}

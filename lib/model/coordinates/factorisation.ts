/**
 * A factorisation of RTTs: vectors of nodes on three scales, from milliseconds to the logarithm. The
 * estimates of the scales are averaged because their errors differ: the logarithm minimises relative errors,
 * milliseconds absolute ones.
 *
 * @module
 */
import { componentsOf, type FoldSet, type Neighbours, UNKNOWN } from "./known_pairs.ts";
import { firstVectors, fitVectors, NodeSolver, valueOf, type VectorOptions } from "./node_vectors.ts";
import { fromScale, toScale } from "./rtt_scale.ts";

// Finds the coordinates of a node that was not fitted.
//
// A few RTTs cannot determine two dozen numbers, but they show which nodes the new one resembles: those with
// similar estimates to the same others (compare GNP, Ng and Zhang, INFOCOM 2002, and nearest neighbours,
// Cover and Hart, IEEE Trans. Inf. Theory 13, 1967). The new node's vectors are regularised towards the
// weighted mean of these nodes.

/** Factor on the regularisation of a new node's vectors, which similar nodes mostly determine. */
const PRIOR_STRENGTH = 5;
/** Degrees of freedom of Student's t, with which a few outlying RTTs hardly reduce a node's weight. */
const DEGREES = 3;
/** Maximum number of nodes to compare with, evenly spaced; it bounds the time in large networks. */
const MAX_CANDIDATES = 2048;
/** Maximum number of RTTs to compare nodes by. */
const MAX_COMPARED = 64;
/** Nodes with a smaller weight, relative to the largest weight, are ignored. */
const LEAST_WEIGHT = 1e-6;
/** The weight of the expected error, in RTTs, and by how much one known RTT increases it. */
const NUM_EXPECTED = 8;
const EXPECTED_OF_ONE = 2;

interface SimilarNodes {
  /** Weights sum to 1. */
  readonly nodes: readonly { readonly node: number; readonly weight: number }[];
  /** The error of estimates: the smoothed difference between each RTT and its prediction from the others. */
  readonly error: number;
}

/**
 * Finds the nodes that a new one resembles.
 *
 * @param candidates Nodes and their coordinates.
 * @param known Coordinates of nodes and the logarithms of their RTTs to the new node; at least one.
 * @param options `estimate` returns the logarithm of the RTT between two nodes' coordinates; `usualError` is
 *   the usual error of such estimates.
 */
function similarNodes<P>(
  candidates: readonly { node: number; place: P }[],
  known: readonly { place: P; log: number }[],
  { estimate, usualError }: { estimate: (a: P, b: P) => number; usualError: number },
): SimilarNodes {
  const compared = spread(known, MAX_COMPARED);
  const logs = compared.map((known) =>
    Float64Array.from(candidates, (candidate) => estimate(candidate.place, known.place))
  );
  const fits = compared.map(({ log }, i) =>
    logs[i].map((found) => -(DEGREES + 1) / 2 * Math.log1p(((found - log) / usualError) ** 2 / DEGREES))
  );
  const sums = new Float64Array(candidates.length);
  for (const fit of fits) fit.forEach((value, i) => sums[i] += value);
  const errors = compared.map(({ log }, i) => {
    const weights = shares(sums.map((sum, j) => sum - fits[i][j]));
    return Math.abs(weights.reduce((mean, weight, j) => mean + weight * logs[i][j], 0) - log);
  }).sort((a, b) => a - b);
  const count = errors.length;
  const expected = usualError * (1 + EXPECTED_OF_ONE / count);
  return {
    nodes: [...shares(sums)].flatMap((weight, i) => weight > 0 ? [{ node: candidates[i].node, weight }] : []),
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
const NUM_LOCATING_SWEEPS = 5;

/** Factor on the errors of nodes that were not fitted; see {@link errorOfVector}. */
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

export class Factorisation {
  readonly #width: number;

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
   * @param options `usualError`: the usual error of estimates, as a logarithm; `without`: nodes that the new
   *   node is not compared with.
   */
  locate(
    known: readonly { node: number; log: number }[],
    { usualError, without }: { usualError: number; without: ReadonlySet<number> },
  ): LocatedNodeVector {
    const { powers, options, components } = this.factors;
    const vectors = new Float32Array(powers.length * this.#width);
    const componentOf = (node: number) => this.vectorOf(node).component;
    const component = mostFrequent(known.map(({ node }) => componentOf(node)).filter((of) => of !== UNKNOWN));
    const usable = known.filter(({ node }) => componentOf(node) === component);
    if (component === undefined) return { vectors, component: UNKNOWN, error: usualError };
    const others = [...components.keys()].filter((node) =>
      components[node] === component && !without.has(node)
    );
    const candidates = spread(others, MAX_CANDIDATES).map((node) => ({ node, place: this.vectorOf(node) }));
    const compared = usable.map(({ node, log }) => ({ place: this.vectorOf(node), log }));
    const { nodes, error } = similarNodes(candidates, compared, {
      estimate: (a: NodeVector, b: NodeVector) => this.estimate(a, b)?.log ?? NaN,
      usualError,
    });
    const regularisation = options.regularisation * PRIOR_STRENGTH;
    const solver = new NodeSolver({ ...options, regularisation });
    powers.forEach((_, scale) => {
      const prior = this.#meanOf(nodes, scale);
      let own = prior;
      for (let sweep = 0; sweep < NUM_LOCATING_SWEEPS; sweep++) {
        this.#addKnown(solver, usable, scale, own);
        own = solver.solve(prior);
      }
      vectors.set(own, scale * this.#width);
    });
    return { vectors, component, error: errorOfVector(error, usualError) };
  }

  /**
   * The coordinates of an unknown node: the mean over the fitted nodes of the largest component. The error is
   * the difference between its estimates and those of other nodes.
   */
  typicalNode(usualError: number): LocatedNodeVector {
    const { powers, components } = this.factors;
    const vectors = new Float32Array(powers.length * this.#width);
    const component = mostFrequent(components.filter((of) => of > UNKNOWN));
    if (component === undefined) return { vectors, component: UNKNOWN, error: usualError };
    const nodes = spread(
      [...components.keys()].filter((node) => components[node] === component),
      MAX_CANDIDATES,
    );
    const weighted = nodes.map((node) => ({ node, weight: 1 / nodes.length }));
    powers.forEach((_, scale) => vectors.set(this.#meanOf(weighted, scale), scale * this.#width));
    const places = spread(nodes, MAX_COMPARED).map((node) => this.vectorOf(node));
    const logOf = (a: NodeVector, b: NodeVector) => this.estimate(a, b)?.log ?? NaN;
    const errors = places.flatMap((a) => {
      const log = logOf(a, { vectors, component });
      return places.filter((b) => b !== a).map((b) => Math.abs(logOf(a, b) - log));
    }).sort((a, b) => a - b);
    return { vectors, component, error: errorOfVector(errors[errors.length >> 1] ?? usualError, usualError) };
  }

  #addKnown(
    solver: NodeSolver,
    known: readonly { node: number; log: number }[],
    scale: number,
    own: Float64Array,
  ): void {
    const { powers, vectors, range } = this.factors;
    for (const { node, log } of known) {
      const at = (node * powers.length + scale) * this.#width;
      solver.add(toScale(powers[scale], log - range[0]), vectors, at, own);
    }
  }

  #meanOf(nodes: SimilarNodes["nodes"], scale: number): Float64Array {
    const mean = new Float64Array(this.#width);
    const { vectors, powers } = this.factors;
    for (const { node, weight } of nodes) {
      const at = (node * powers.length + scale) * this.#width;
      for (let i = 0; i < mean.length; i++) mean[i] += weight * vectors[at + i];
    }
    return mean;
  }
}

/**
 * The stored error of a node that was not fitted. The error of a pair is the geometric mean of both nodes'
 * errors; large errors are raised so that the pair's error is about this node's. That also makes up for
 * estimates of the scales being closer together, since they share a prior.
 */
function errorOfVector(error: number, usualError: number): number {
  return Math.fround(CLOSER_SCALES * error * Math.max(1, error / usualError));
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

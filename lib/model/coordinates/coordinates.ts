/**
 * RTT estimates from the coordinates of nodes. A model learns the errors of these estimates: stacking
 * (Wolpert, "Stacked Generalization", Neural Networks 5, 1992). An estimate to learn from must not depend on
 * the RTT that it estimates, so the known pairs are divided into folds. Each fold has a factorisation that is
 * fitted without it (Chernozhukov et al., "Double/debiased machine learning", Econometrics Journal 21, 2018).
 * One more is fitted to all pairs.
 *
 * @module
 */
import { ensure } from "../../base/errors.ts";
import { Factorisation, type Fit, type LocatedNodeVector, type LocateOptions } from "./factorisation.ts";
import { foldOfPair, type FoldSet, type KnownPairs, Neighbours, UNKNOWN } from "./known_pairs.ts";
import { logOfRtt } from "./rtt_scale.ts";
import type { VectorOptions } from "./node_vectors.ts";

/** The scales whose estimates are averaged; see `toScale`. */
const POWERS: readonly number[] = [0, 0.5, 1];
/** Number of saved values per factorisation, not counting vectors: its range, settings and usual error. */
const NUM_NUMBERS = 6;

/** The error of an estimate if all scales agree, as a share of the nodes' error (ASSUMPTION). */
const LEAST_SHARE = 0.2;

interface CoordinateEstimate {
  readonly rttMs: number;
  /**
   * The expected error: about the median of |log(estimate / RTT)| of such pairs. It follows from the errors
   * of both nodes' other pairs and from how far the scales' estimates of this pair differ.
   */
  readonly error: number;
}

/** The coordinates of a node that was not fitted, one entry per factorisation. */
export type LocatedNode = readonly LocatedNodeVector[];

interface CoordinateSize {
  readonly nodes: number;
  readonly folds: number;
  readonly rank: number;
}

export interface SavedCoordinates {
  /** Shape (folds + 1, nodes, scales, 1 + rank). */
  readonly vectors: Float32Array;
  /** Shape (folds + 1, 2, nodes): the nodes' components, then their errors. */
  readonly nodes: Float32Array;
  /** Shape (folds + 1, 6). */
  readonly fits: Float32Array;
}

export function coordinateShapes(
  { nodes, folds, rank }: CoordinateSize,
): Record<keyof SavedCoordinates, number[]> {
  return {
    vectors: [folds + 1, nodes, POWERS.length, 1 + rank],
    nodes: [folds + 1, 2, nodes],
    fits: [folds + 1, NUM_NUMBERS],
  };
}

/** Returns the ranges of a node's values in {@link SavedCoordinates}, always in the same order. */
export function numbersOfNode(
  { nodes, folds, rank }: CoordinateSize,
  node: number,
): { part: "vectors" | "nodes"; start: number; length: number }[] {
  const length = POWERS.length * (1 + rank);
  return Array.from({ length: folds + 1 }, (_, fold) => [
    { part: "vectors" as const, start: (fold * nodes + node) * length, length },
    { part: "nodes" as const, start: 2 * fold * nodes + node, length: 1 },
    { part: "nodes" as const, start: (2 * fold + 1) * nodes + node, length: 1 },
  ]).flat();
}

/** Factorisations of the RTTs of known pairs: one without each fold, then one of all pairs. */
export class Coordinates {
  #typical: LocatedNode | undefined;

  /** @param fits One per fold, then the fit of all pairs. */
  constructor(readonly size: CoordinateSize, readonly fits: readonly Fit[]) {
    ensure(fits.length === size.folds + 1, `${fits.length} factorisations`);
  }

  /** The fold of a pair, also the index of the fit that has not seen the pair. Direction does not matter. */
  foldOf(a: number, b: number): number {
    return foldOfPair(a, b, this.size.folds);
  }

  /**
   * Estimates the RTT of a pair. The direction does not matter.
   *
   * @param a A node's index, or a node from {@link locate}.
   * @param fold Selects the factorisation without this fold (default: the factorisation of all pairs).
   * @returns Undefined if one of the nodes has no known pair in the factorisation.
   */
  estimate(
    a: number | LocatedNode,
    b: number | LocatedNode,
    fold = this.size.folds,
  ): CoordinateEstimate | undefined {
    const { factorisation, errors, usualError } = this.fits[fold];
    const place = (node: number | LocatedNode) =>
      typeof node === "number" ? factorisation.vectorOf(node) : node[fold];
    const estimate = factorisation.estimate(place(a), place(b));
    if (!estimate) return undefined;
    const errorOf = (node: number | LocatedNode) =>
      typeof node === "number" ? errors[node] : node[fold].error;
    const error = Math.sqrt(errorOf(a) * errorOf(b)) * (estimate.spread / usualError + LEAST_SHARE);
    return { rttMs: Math.exp(estimate.log), error };
  }

  /**
   * Finds the coordinates of a node that was not fitted.
   *
   * @param known Nodes and their RTTs to the new node in ms.
   * @param options `without`: nodes that the new node is not compared with; none of them is in `known`.
   */
  locate(
    known: readonly { node: number; rttMs: number }[],
    options: LocateOptions = {},
  ): LocatedNode {
    const logs = known.map(({ node, rttMs }) => ({ node, log: logOfRtt(rttMs) }));
    return this.fits.map(({ factorisation, ...fit }) => factorisation.locate(logs, { ...fit, ...options }));
  }

  /** Coordinates that represent an unknown node, at typical distances from other nodes. */
  get typical(): LocatedNode {
    return this.#typical ??= this.fits.map(({ factorisation, usualError }) =>
      factorisation.typicalNode(usualError)
    );
  }

  /** Reports whether RTTs of a node can be estimated. @param fold See {@link estimate}. */
  hasCoordinates(node: number, fold = this.size.folds): boolean {
    return this.fits[fold].factorisation.vectorOf(node).component !== UNKNOWN;
  }

  /** Assigns the coordinates found by {@link locate} to a node. */
  put(node: number, located: LocatedNode): void {
    located.forEach((place, i) => {
      const { factorisation, errors } = this.fits[i];
      factorisation.put(node, place);
      errors[node] = place.error;
    });
  }

  save(): SavedCoordinates {
    const concatenated = (parts: readonly ArrayLike<number>[]) => {
      const all = new Float32Array(parts.reduce((length, part) => length + part.length, 0));
      let at = 0;
      for (const part of parts) {
        all.set(part, at);
        at += part.length;
      }
      return all;
    };
    const factors = this.fits.map(({ factorisation }) => factorisation.factors);
    return {
      vectors: concatenated(factors.map(({ vectors }) => vectors)),
      nodes: concatenated(this.fits.flatMap(({ errors }, i) => [factors[i].components, errors])),
      fits: concatenated(this.fits.map(({ usualError }, i) => {
        const { range, options: { knee, regularisation } } = factors[i];
        return [...range, knee, regularisation, usualError];
      })),
    };
  }

  /** Makes coordinates from the values of {@link save}, without copying the arrays. */
  static load(size: CoordinateSize, saved: SavedCoordinates): Coordinates {
    const { nodes: numNodes, folds, rank } = size;
    for (const [name, shape] of Object.entries(coordinateShapes(size))) {
      const { length } = saved[name as keyof SavedCoordinates];
      ensure(length === shape.reduce((a, b) => a * b), `${length} ${name} of coordinates of shape ${shape}`);
    }
    const { vectors, nodes, fits } = saved;
    const part = (array: Float32Array, length: number, i: number) =>
      array.subarray(i * length, (i + 1) * length);
    return new Coordinates(
      size,
      Array.from({ length: folds + 1 }, (_, i) => {
        const numbers = part(fits, NUM_NUMBERS, i);
        const [knee, regularisation, usualError] = numbers.subarray(3);
        const factorisation = new Factorisation({
          powers: POWERS,
          options: { rank, knee, regularisation },
          vectors: part(vectors, numNodes * POWERS.length * (1 + rank), i),
          components: part(nodes, numNodes, 2 * i),
          range: numbers.subarray(0, 3),
        });
        return { factorisation, errors: part(nodes, numNodes, 2 * i + 1), usualError };
      }),
    );
  }
}

// Fits coordinates to known pairs and chooses the settings of the fit.
//
// Neither the settings nor the nodes' errors of a fold's factorisation may depend on that fold. So each fold
// has a partner, and for each setting, trial factorisations are fitted without both. The errors of a trial on
// one fold decide the settings and the errors of the partner's factorisation.

type CoordinateSettings = Pick<VectorOptions, "knee" | "regularisation">;

/** The first suits most data; the others suit meshes, campaigns with few pairs per node, and noisy RTTs. */
const SETTINGS: readonly CoordinateSettings[] = [
  { knee: 0.025, regularisation: 0.12 },
  { knee: 0.01, regularisation: 0.06 },
  { knee: 0.06, regularisation: 0.12 },
  { knee: 0.06, regularisation: 0.5 },
];
/** Trials use the middle scale only. */
const TRIED_POWERS = [0.5];
/** The weight of the usual error when a node's error is smoothed, in pairs. */
const NUM_USUAL_ERRORS = 5;
/** The error without data to learn it from: a factor of e. */
const UNKNOWN_ERROR = 1;
/** The smallest error: the resolution of RTT codes. */
const LEAST_ERROR = 5e-4;
/** How often each node is solved for on the first scale. */
const NUM_SWEEPS = 30;

interface FitOptions {
  /** Number of factorisations that each leave out some of the pairs: even, from 4 to 30 (default 4). */
  numFolds?: number | undefined;
  /** Seed of the initial vectors (default 0). */
  seed?: number | undefined;
  /** Length of the vectors (default 24). */
  rank?: number | undefined;
}

/**
 * Fits coordinates. The time is linear in pairs + nodes. The fit needs the memory of the vectors and at most
 * about 52 bytes per pair and 8 (1 + rank) bytes per node.
 */
export function fitCoordinates(pairs: KnownPairs, options: FitOptions = {}): Coordinates {
  const { seed = 0, numFolds = 4, rank = 24 } = options;
  const neighbours = new Neighbours(pairs, numFolds);
  const each = { rank, numSweeps: NUM_SWEEPS, seed };
  const candidates = SETTINGS.map(rounded);
  const trials = candidates.map((candidate) => tryOut(neighbours, { ...each, ...candidate }));
  const fits = Array.from({ length: numFolds + 1 }, (_, fold): Fit => {
    const isWhole = fold === numFolds;
    const judges = isWhole ? 2 ** numFolds - 1 : 1 << partnerOf(fold);
    const best = leastOf(trials.map((errors) => meanError(neighbours, errors, judges)));
    const factorisation = Factorisation.fit(neighbours, {
      ...each,
      ...candidates[best],
      powers: POWERS,
      without: isWhole ? 0 : 1 << fold,
    });
    return { factorisation, ...errorsOfNodes(neighbours, trials[best], judges) };
  });
  return new Coordinates({ nodes: pairs.numNodes, folds: numFolds, rank }, fits);
}

/** Rounds settings to float32, as checkpoints store them. */
function rounded({ knee, regularisation }: CoordinateSettings): CoordinateSettings {
  return { knee: Math.fround(knee), regularisation: Math.fround(regularisation) };
}

function partnerOf(fold: number): number {
  return fold ^ 1;
}

/** Leaves out two folds at a time. @returns |log(estimate / RTT)| of each entry; NaN if unknown. */
function tryOut(
  neighbours: Neighbours,
  options: VectorOptions & { numSweeps: number; seed: number },
): Float32Array {
  const { start, others, folds, logs, numNodes, numFolds } = neighbours;
  const errors = new Float32Array(logs.length);
  for (let fold = 0; fold < numFolds; fold += 2) {
    const without = 3 << fold;
    const tried = Factorisation.fit(neighbours, { ...options, powers: TRIED_POWERS, without });
    for (let node = 0; node < numNodes; node++) {
      const place = tried.vectorOf(node);
      for (let entry = start[node]; entry < start[node + 1]; entry++) {
        if (!isIn(without, folds[entry])) continue;
        const estimate = tried.estimate(place, tried.vectorOf(others[entry]));
        errors[entry] = estimate ? Math.abs(estimate.log - logs[entry]) : NaN;
      }
    }
  }
  return errors;
}

function isIn(folds: FoldSet, fold: number): boolean {
  return (folds >> fold & 1) === 1;
}

/** The mean square root of the errors, which accounts for both usual and large errors. */
function meanError({ folds }: Neighbours, errors: Float32Array, judges: FoldSet): number {
  let sum = 0;
  let count = 0;
  for (let entry = 0; entry < errors.length; entry++) {
    if (!isIn(judges, folds[entry]) || Number.isNaN(errors[entry])) continue;
    sum += Math.sqrt(errors[entry]);
    count++;
  }
  return count === 0 ? 0 : sum / count;
}

function leastOf(values: readonly number[]): number {
  return values.indexOf(Math.min(...values));
}

/** Computes the median error over all entries of the given folds, and a smoothed median per node. */
function errorsOfNodes({ start, folds, numNodes }: Neighbours, errors: Float32Array, judges: FoldSet) {
  const medianOf = (from: number, to: number) => {
    const own = errors.subarray(from, to).filter((error, i) =>
      isIn(judges, folds[from + i]) && !Number.isNaN(error)
    );
    return { count: own.length, median: own.sort()[own.length >> 1] };
  };
  const median = medianOf(0, errors.length).median ?? UNKNOWN_ERROR;
  const usualError = Math.fround(Math.max(LEAST_ERROR, median));
  const smoothed = Float32Array.from({ length: numNodes }, (_, node) => {
    const { count, median } = medianOf(start[node], start[node + 1]);
    return (count * (median ?? 0) + NUM_USUAL_ERRORS * usualError) / (count + NUM_USUAL_ERRORS);
  });
  return { usualError, errors: smoothed };
}

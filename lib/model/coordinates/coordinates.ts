/**
 * Estimates of RTTs by coordinates of nodes. A model learns their errors: stacking (Wolpert, "Stacked
 * Generalization", Neural Networks 5, 1992). An estimate to learn from must not depend on the RTT that it estimates.
 * So the known pairs are divided into folds, and each fold has a factorisation that is fitted without it
 * (Chernozhukov et al., "Double/debiased machine learning", Econometrics Journal 21, 2018). One more is fitted to all
 * pairs.
 *
 * @module
 */
import { ensure } from "../../base/errors.ts";
import { Factorisation, type LocatedNodeVector } from "./factorisation.ts";
import { foldOfPair, type FoldSet, type KnownPairs, Neighbours, UNKNOWN } from "./known_pairs.ts";
import { logOfRtt } from "./rtt_scale.ts";
import type { VectorOptions } from "./node_vectors.ts";

/** The scales whose estimates are averaged, see `toScale`. */
const POWERS: readonly number[] = [0, 0.5, 1];
/** The number of saved values of a factorisation in addition to its vectors: its range, settings, and usual error. */
const NUM_NUMBERS = 6;

/** The error if all scales agree, as a share of the nodes' error (ASSUMPTION). */
const LEAST_SHARE = 0.2;

interface CoordinateEstimate {
  readonly rttMs: number;
  /**
   * Its expected error: about the median of |log(estimate / RTT)| of such pairs. It follows from the errors of both
   * nodes' other pairs and from the spread of the scales' estimates of this pair.
   */
  readonly error: number;
}

/** The coordinates of a node that was not fitted, in each factorisation. */
export type LocatedNode = readonly LocatedNodeVector[];

/** The size of coordinates, in the terms of the configuration. */
export interface CoordinateSize {
  readonly nodes: number;
  readonly folds: number;
  readonly rank: number;
}

/** Coordinates in the form of checkpoints. */
export interface SavedCoordinates {
  /** (folds + 1, nodes, scales, 1 + rank). */
  readonly vectors: Float32Array;
  /** (folds + 1, 2, nodes): the nodes' components, then their errors. */
  readonly nodes: Float32Array;
  /** (folds + 1, 6). */
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

/** The positions of a node's values in {@link SavedCoordinates}, always in the same order. */
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

/** A factorisation, and the errors of its estimates. */
export interface Fit {
  readonly factorisation: Factorisation;
  /** For each node the smoothed median of |log(estimate / RTT)| of its pairs. */
  readonly errors: Float32Array;
  /** The median of all pairs. */
  readonly usualError: number;
}

/** Factorisations of the RTTs of known pairs: one without each fold, then one of all. */
export class Coordinates {
  #typical: LocatedNode | undefined;

  /** @param fits One for each fold, and the one of all pairs. */
  constructor(readonly size: CoordinateSize, readonly fits: readonly Fit[]) {
    ensure(fits.length === size.folds + 1, `${fits.length} factorisations`);
  }

  /** The fold of a pair, the same in both directions: the factorisation that has not seen it. */
  foldOf(a: number, b: number): number {
    return foldOfPair(a, b, this.size.folds);
  }

  /**
   * The estimate of a pair, the same in both directions.
   *
   * @param a A node's index, or a node from {@link locate}.
   * @param fold Uses the factorisation without this fold (default: the one of all pairs).
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
   * @param known Nodes and their RTTs to it in ms.
   * @param without Nodes that it is not compared with; none of them is in `known`.
   */
  locate(
    known: readonly { node: number; rttMs: number }[],
    without: ReadonlySet<number> = new Set(),
  ): LocatedNode {
    const logs = known.map(({ node, rttMs }) => ({ node, log: logOfRtt(rttMs) }));
    return this.fits.map(({ factorisation, usualError }) =>
      factorisation.locate(logs, { usualError, without })
    );
  }

  /** Stands for an unknown node: its distances to others are typical ones. */
  get typical(): LocatedNode {
    return this.#typical ??= this.fits.map(({ factorisation, usualError }) =>
      factorisation.typicalNode(usualError)
    );
  }

  /** Whether a node's RTTs can be estimated. @param fold See {@link estimate}. */
  hasCoordinates(node: number, fold = this.size.folds): boolean {
    return this.fits[fold].factorisation.vectorOf(node).component !== UNKNOWN;
  }

  /** Gives a node the coordinates found by {@link locate}. */
  put(node: number, located: LocatedNode): void {
    located.forEach((place, i) => {
      const { factorisation, errors } = this.fits[i];
      factorisation.put(node, place);
      errors[node] = place.error;
    });
  }

  /** The values for a checkpoint, see {@link coordinateShapes}. */
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

  /** Makes coordinates from the values of {@link save}; they keep the arrays. */
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

// Fits coordinates to known pairs, and chooses the settings of the fit.
//
// A fold's factorisation must not depend on that fold, neither in its settings nor in the nodes' errors. So folds are
// paired into couples. Trial factorisations are fitted without both folds of a couple, with each of the settings.
// Their errors on one fold decide the settings and the errors of the other fold's factorisation.

/** Settings that are chosen by trial. */
type CoordinateSettings = Pick<VectorOptions, "knee" | "regularisation">;

/** The first suits most data; the others suit meshes, campaigns with few pairs per node, and noisy RTTs. */
const SETTINGS: readonly CoordinateSettings[] = [
  { knee: 0.025, regularisation: 0.12 },
  { knee: 0.01, regularisation: 0.06 },
  { knee: 0.06, regularisation: 0.12 },
  { knee: 0.06, regularisation: 0.5 },
];
/** The scale of the trials: the middle one. */
const TRIED_POWERS = [0.5];
/** The weight of the usual error, in pairs, when a node's own error is smoothed. */
const NUM_USUAL_ERRORS = 5;
/** The error without data to learn it from: a factor of e. */
const UNKNOWN_ERROR = 1;
/** The smallest error: that of an RTT's code. */
const LEAST_ERROR = 5e-4;
/** How often each node is solved for on the first scale. */
const NUM_SWEEPS = 30;

interface FitOptions {
  /** Factorisations that each leave out a part of the pairs: an even number from 4 to 30 (default 4). */
  numFolds?: number | undefined;
  /** Seed of the vectors' first values (default 0). */
  seed?: number | undefined;
  /** Length of the vectors (default 24). */
  rank?: number | undefined;
}

/**
 * Fits coordinates, in time that grows with pairs + nodes. Besides the vectors it takes at most about 52 bytes per
 * pair and 8 (1 + rank) per node.
 *
 * @param pairs The known pairs.
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

/** The settings as float32, in the form of checkpoints. */
function rounded({ knee, regularisation }: CoordinateSettings): CoordinateSettings {
  return { knee: Math.fround(knee), regularisation: Math.fround(regularisation) };
}

function partnerOf(fold: number): number {
  return fold ^ 1;
}

/** Fits without each couple of folds in turn. @returns |log(estimate / RTT)| of each entry; NaN if unknown. */
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

/** The mean of the errors' square roots, which takes both usual and large errors into account. */
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

/** The median error of all entries of some folds, and the smoothed one of each node's entries. */
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

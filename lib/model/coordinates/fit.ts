/**
 * Fits coordinates to known pairs, and chooses the settings of the fit.
 *
 * A fold's factorisation must not depend on that fold, neither in its settings nor in the nodes' errors. So folds are
 * paired into couples. Trial factorisations are fitted without both folds of a couple, with each of the settings.
 * Their errors on one fold decide the settings and the errors of the other fold's factorisation.
 *
 * @module
 */
import { Coordinates, type Fit, POWERS } from "./coordinates.ts";
import { Factorisation } from "./factorisation.ts";
import { type FoldSet, type KnownPairs, Neighbours } from "./known_pairs.ts";
import type { VectorOptions } from "./node_vectors.ts";

/** Settings that are chosen by trial. */
export type CoordinateSettings = Pick<VectorOptions, "knee" | "regularisation">;

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

/** The options of fitting coordinates. */
export interface FitOptions {
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
  return new Coordinates({ numNodes: pairs.numNodes, numFolds, rank }, fits);
}

/** The settings as float32, in the form of checkpoints. */
function rounded({ knee, regularisation }: CoordinateSettings): CoordinateSettings {
  return { knee: Math.fround(knee), regularisation: Math.fround(regularisation) };
}

/** The other fold of a couple. */
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

/**
 * A random forest of pairs that were not measured, small enough for a checkpoint. It learns each pair as if it, or an end,
 * or both, had never been measured: how much longer its RTT is than its distance and its ends say.
 *
 * @module
 */
import { named } from "../../base/errors.ts";
import { drawDistinct, RandomStream } from "../../base/random.ts";
import { quantileOfSample } from "../../base/sample_statistics.ts";
import { logOfRtt } from "../coordinates/rtt_scale.ts";
import { KRIGING_TENSORS, MAX_KRIGED, PairKriging } from "./pair_kriging.ts";
import {
  NEW_PAIRS,
  type PairEnds,
  type PairMeasurement,
  PlacedPairs,
  type PlaceOf,
  SAVED_WIDTH,
} from "./placed_pairs.ts";
import {
  FeatureRows,
  type ForestArrays,
  type ForestSize,
  NODE_WIDTH,
  RandomForest,
} from "./random_forest.ts";

/** A pair and some of its RTTs, at least one. */
export interface MeasuredPair extends PairEnds {
  readonly rttsMs: readonly number[];
}

/** The names of the tensors of a forest and of the kriging beside it, and the numbers of a row of each. */
export const FOREST_TENSORS = {
  regression: ["pool.regression", 3],
  excesses: ["pool.excesses", SAVED_WIDTH],
  roots: ["pool.roots", 1],
  nodes: ["pool.nodes", NODE_WIDTH],
  targets: ["pool.leaves", 8],
  ...KRIGING_TENSORS,
} as const;

/** At most 1,024 leaves a tree: 1 MB. */
const SIZE: ForestSize = { numTrees: 16, maxDepth: 10, minLeaf: 16, numKept: FOREST_TENSORS.targets[1] };
/** Pairs whose rows a forest has at most. */
const MAX_ROWS = 5000;
/** The levels of the quantiles that stand for a forecast. */
const LEVELS: readonly number[] = Array.from({ length: 16 }, (_, i) => (i + 0.5) / 16);

const NONE = new Float32Array();
const NO_FOREST: ForestArrays = { roots: NONE, nodes: NONE, targets: NONE };

export class PairForest {
  readonly #known: PlacedPairs;
  readonly #forest: RandomForest;
  readonly #kriging: PairKriging;

  /** @param tensors See {@link FOREST_TENSORS}; `placeOf`: the places of addresses. */
  constructor(tensors: ReadonlyMap<string, Float32Array>, placeOf: PlaceOf) {
    const of = (part: keyof typeof FOREST_TENSORS) => named(tensors, FOREST_TENSORS[part][0]);
    this.#known = new PlacedPairs(placeOf, { regression: of("regression"), excesses: of("excesses") });
    this.#forest = new RandomForest({ roots: of("roots"), nodes: of("nodes"), targets: of("targets") });
    this.#kriging = new PairKriging({ kernel: of("kernel"), ends: of("ends"), pairs: of("pairs") }, placeOf);
  }

  /** The tensors of a forest of pairs. @param kernel See {@link PairKriging.fit}. */
  static fit(
    pairs: readonly MeasuredPair[],
    placeOf: PlaceOf,
    seed: number,
    kernel?: Float32Array,
  ): Map<string, Float32Array> {
    const known = new PlacedPairs(placeOf);
    known.train(measurementsOf(pairs));
    const rows = new FeatureRows();
    const random = new RandomStream(seed, "pool/rows of a forest");
    for (const i of drawDistinct(pairs.length, Math.min(pairs.length, MAX_ROWS), random).sort()) {
      const measured = pairs[i];
      // One RTT of each pair, not always of the same age, so that the spread within pairs counts.
      const log = logOfRtt(measured.rttsMs[random.below(measured.rttsMs.length)]);
      const pair = known.pairOf(measured);
      for (const hidden of NEW_PAIRS) {
        rows.add(known.featuresOf(pair, hidden), log - known.expectedWithEnds(pair, hidden));
      }
    }
    const kriged = Array.from(drawDistinct(pairs.length, Math.min(pairs.length, MAX_KRIGED), random), (i) => {
      const { rttsMs, ...ends } = pairs[i];
      const log = quantileOfSample(rttsMs.map(logOfRtt), 0.5);
      return { ...ends, excess: log - known.expectedLog(known.pairOf(ends)) };
    });
    const arrays = {
      ...known.save(),
      ...rows.forest(SIZE, seed)?.arrays ?? NO_FOREST,
      ...PairKriging.fit(kriged, placeOf, kernel),
    };
    const parts = Object.entries(FOREST_TENSORS) as [
      keyof typeof FOREST_TENSORS,
      readonly [string, number],
    ][];
    return new Map(parts.map(([part, [name]]) => [name, arrays[part]]));
  }

  /** Quantiles of the RTT of a pair that was not measured, ln ms, ascending; none if nothing was learned. */
  logs(ends: PairEnds): number[] {
    if (this.#forest.arrays.roots.length === 0) return [];
    const pair = this.#known.pairOf(ends);
    const [hidden] = NEW_PAIRS;
    const expected = this.#known.expectedWithEnds(pair, hidden);
    return Array.from(
      this.#forest.quantiles(this.#known.featuresOf(pair, hidden), LEVELS),
      (by) => expected + by,
    );
  }

  /** The RTT of such a pair by those of similar pairs, ln ms; none if nothing was learned. */
  krigedLogs(ends: PairEnds): number[] {
    const excess = this.#kriging.excessOf(ends);
    return excess === undefined ? [] : [this.#known.expectedLog(this.#known.pairOf(ends)) + excess];
  }
}

function* measurementsOf(pairs: readonly MeasuredPair[]): Generator<PairMeasurement> {
  for (const { rttsMs, ...ends } of pairs) for (const rttMs of rttsMs) yield { ...ends, rttMs };
}

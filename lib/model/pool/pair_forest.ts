/**
 * A random forest for pairs that were not measured, small enough for a checkpoint. It learns how much longer
 * each pair's RTT is than the distance and the endpoints suggest, as if the pair had never been measured, and
 * with either endpoint, or both, unknown as well.
 *
 * @module
 */
import { tensorOf, type Tensors } from "../../base/safetensors_header.ts";
import { drawDistinct, RandomStream } from "../../base/random.ts";
import { quantileOfSample } from "../../base/sample_statistics.ts";
import { logOfRtt } from "../coordinates/rtt_scale.ts";
import { ANY, COUNT, HASHES, LOG, MOST_LOG, real, Rows, type Tensor, whole } from "../possible_numbers.ts";
import type { Memory, TrainingPair } from "./forecast.ts";
import { faultsOfEnds, KRIGING_TENSORS, MAX_KRIGED, PairKriging } from "./pair_kriging.ts";
import {
  NEW_PAIRS,
  NUM_FEATURES,
  type PairEnds,
  type PairMeasurement,
  PlacedPairs,
  type PlaceOf,
} from "./placed_pairs.ts";
import { FeatureRows, type ForestArrays, type ForestSize, LEAF, RandomForest } from "./random_forest.ts";

type MeasuredPair = Omit<TrainingPair, "hashes">;

/** At most 1,024 leaves per tree: 1 MB. */
const SIZE: ForestSize = { numTrees: 16, maxDepth: 10, minLeaf: 16, numKept: 8 };

const FOREST_TENSORS = {
  regression: ["pool.regression", [LOG, real(0, 1), LOG]],
  excessHashes: ["pool.excess_hashes", HASHES, "U32"],
  /** Sum and count. */
  excesses: ["pool.excesses", [ANY, whole(1, 2 ** 32)]],
  roots: ["pool.roots", [COUNT], "U32"],
  nodes: ["pool.nodes", [whole(LEAF, NUM_FEATURES - 1), ANY, COUNT]],
  targets: ["pool.leaves", Array(SIZE.numKept).fill(real(-MOST_LOG, MOST_LOG))],
  ...KRIGING_TENSORS,
} as const satisfies Record<string, Tensor>;

/** Maximum number of pairs that a forest learns from, counting each direction. */
const MAX_LEARNED = 2 ** 15;
/** Maximum number of pairs that become rows of a forest. */
const MAX_ROWS = 5000;
/** The levels of the quantiles that represent a forecast. */
const LEVELS: readonly number[] = Array.from({ length: 16 }, (_, i) => (i + 0.5) / 16);

const NONE = new Float32Array();
const NO_FOREST: ForestArrays = { roots: new Uint32Array(), nodes: NONE, targets: NONE };

class PairForest {
  readonly #known: PlacedPairs;
  readonly #forest: RandomForest;
  readonly #kriging: PairKriging;

  /** @param tensors See {@link FOREST_TENSORS}. @param placeOf The places of addresses. */
  constructor(tensors: Tensors, placeOf: PlaceOf) {
    const floats = (part: keyof typeof FOREST_TENSORS) => tensorOf(tensors, FOREST_TENSORS[part][0], "F32");
    const words = (part: keyof typeof FOREST_TENSORS) => tensorOf(tensors, FOREST_TENSORS[part][0], "U32");
    this.#known = new PlacedPairs(placeOf, {
      regression: floats("regression"),
      excessHashes: words("excessHashes"),
      excesses: floats("excesses"),
    });
    this.#forest = new RandomForest({
      roots: words("roots"),
      nodes: floats("nodes"),
      targets: floats("targets"),
    });
    const ends = tensorOf(tensors, FOREST_TENSORS.ends[0], "U8");
    this.#kriging = new PairKriging({ kernel: floats("kernel"), ends, pairs: floats("pairs") }, placeOf);
  }

  /** @param kernel See {@link PairKriging.fit}. */
  static fit(
    pairs: readonly MeasuredPair[],
    placeOf: PlaceOf,
    seed: number,
    kernel?: Float32Array,
  ): Tensors {
    const known = new PlacedPairs(placeOf);
    known.train(measurementsOf(pairs));
    const rows = new FeatureRows();
    const random = new RandomStream(seed, "pool/rows of a forest");
    for (const i of drawDistinct(pairs.length, Math.min(pairs.length, MAX_ROWS), random).sort()) {
      const measured = pairs[i];
      // One RTT per pair, at a random age, so that the forest learns the spread within pairs too.
      const log = logOfRtt(measured.rttsMs[random.below(measured.rttsMs.length)]);
      const pair = known.pairOf(measured);
      for (const hidden of NEW_PAIRS) {
        rows.add(known.featuresOf(pair, hidden), log - known.expectedWithEnds(pair, hidden));
      }
    }
    const kriged = Array.from(drawDistinct(pairs.length, Math.min(pairs.length, MAX_KRIGED), random), (i) => {
      const { rttsMs, source, destination } = pairs[i];
      const log = quantileOfSample(rttsMs.map(logOfRtt), 0.5);
      const ends = { source, destination };
      return { ...ends, excess: log - known.expectedLog(known.pairOf(ends)) };
    });
    const arrays = {
      ...known.save(),
      ...rows.forest(SIZE, seed)?.arrays ?? NO_FOREST,
      ...PairKriging.fit(kriged, placeOf, kernel),
    };
    const parts = Object.entries(FOREST_TENSORS) as [keyof typeof FOREST_TENSORS, Tensor][];
    return new Map(parts.map(([part, [name]]) => [name, arrays[part]]));
  }

  /** Quantiles of the RTT of a pair that was not measured, ln ms, ascending; empty if nothing was learned. */
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

  /** Estimates the RTT of such a pair from similar pairs, ln ms; empty if nothing was learned. */
  krigedLogs(ends: PairEnds): number[] {
    const excess = this.#kriging.excessOf(ends);
    return excess === undefined ? [] : [this.#known.expectedLog(this.#known.pairOf(ends)) + excess];
  }
}

/** A forest and kriging, fitted to all pairs or to a sample of {@link MAX_LEARNED}. */
export const PAIR_FOREST: Memory<PairForest> = {
  tensors: FOREST_TENSORS,
  knowsUnknown: true,
  learn(pairs, { placeOf, seed, earlier }) {
    const random = new RandomStream(seed, "pool/pairs of a forest");
    const chosen = drawDistinct(pairs.length, Math.min(pairs.length, MAX_LEARNED), random).sort();
    // The weights of similarities are chosen once, from all pairs.
    const kernel = earlier && tensorOf(earlier, KRIGING_TENSORS.kernel[0], "F32");
    return PairForest.fit(Array.from(chosen, (i) => pairs[i]), placeOf, seed, kernel);
  },
  open: (tensors, placeOf) => new PairForest(tensors, placeOf),
  *faults(tensors) {
    const of = (part: keyof typeof FOREST_TENSORS) => Rows.of(tensors, FOREST_TENSORS[part]);
    yield* faultsOfForest(of);
    yield* faultsOfEnds(of("ends"), of("pairs"));
  },
};

function* measurementsOf(pairs: readonly MeasuredPair[]): Generator<PairMeasurement> {
  for (const { rttsMs, source, destination } of pairs) {
    for (const rttMs of rttsMs) yield { source, destination, rttMs };
  }
}

/** Checks the forest. Children must come after their parent, so that every descent ends at a leaf. */
function* faultsOfForest(of: (part: keyof typeof FOREST_TENSORS) => Rows): Generator<string> {
  const [excesses, roots, nodes, targets] = (["excesses", "roots", "nodes", "targets"] as const).map(of);
  yield* of("excessHashes").asManyAs(excesses);
  yield* excesses.where(
    0,
    `at most ${MOST_LOG} times its row's count`,
    (row) => Math.abs(excesses.at(row, 0)) > MOST_LOG * excesses.at(row, 1),
  );
  if (of("regression").count !== 1) {
    yield `tensor ${of("regression").name} has ${of("regression").count} rows, expected 1`;
  }
  if ((roots.count === 0) !== (nodes.count === 0)) {
    yield `tensor ${roots.name} has ${roots.count} rows and ${nodes.name} ${nodes.count}, expected both or neither to be 0`;
  }
  yield* roots.where(
    0,
    `below ${nodes.count}, the number of nodes`,
    (row) => roots.at(row, 0) >= nodes.count,
  );
  const isLeaf = (row: number) => nodes.at(row, 0) === LEAF;
  const numLeaves = nodes.column(0).filter((feature) => feature === LEAF).length;
  if (targets.count !== numLeaves) {
    yield `tensor ${nodes.name} has ${numLeaves} leaves, expected ${targets.count}, the rows of ${targets.name}`;
  }
  yield* nodes.where(
    1,
    `a whole number from 0 to ${numLeaves - 1}, a row of ${targets.name}`,
    (row) =>
      isLeaf(row) &&
      !(Number.isInteger(nodes.at(row, 1)) && nodes.at(row, 1) >= 0 && nodes.at(row, 1) < numLeaves),
  );
  yield* nodes.where(
    2,
    (row) => `a node from ${row + 2} to ${nodes.count - 1}`,
    (row) => !isLeaf(row) && !(nodes.at(row, 2) > row + 1 && nodes.at(row, 2) < nodes.count),
  );
  const { values, width } = targets;
  const isLess = (i: number) => i % width > 0 && values[i] < values[i - 1];
  yield* new Rows(targets.name, values, 1).where(0, "numbers in ascending order", isLess);
}

/**
 * A random forest for pairs that were not measured, small enough for a checkpoint. It learns how far each
 * pair's RTT is from what kriging estimates, from what similar pairs suggest (`pair_kriging.ts`), as if the pair
 * had never been measured, and with either endpoint, or both, unknown as well.
 *
 * What a row of the forest is learned from must not contain its own RTT. An estimate that leaves only the pair
 * out of sums does: given the sums, the rest tells the RTT.
 *
 * @module
 */
import { getOrMakeAtMost } from "../../base/collections.ts";
import { tensorOf, type Tensors } from "../../base/safetensors_header.ts";
import { drawDistinct, RandomStream } from "../../base/random.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import type { Position } from "../../data/addresses/place_table.ts";
import { hashesOf, keyOfHashes } from "../embedding_table.ts";
import { logOfRtt } from "../coordinates/rtt_scale.ts";
import { ANY, COUNT, LOG, MOST_LOG, real, Rows, type Tensor, whole } from "../possible_numbers.ts";
import { FORECAST_LEVELS, type Memory, type PairEnds } from "./forecast.ts";
import { chosenPairs, MEASURED_PAIRS, MeasuredPairs } from "./measured_pairs.ts";
import { MOVED_PLACES, movedPlaces, savedMoves } from "./moved_places.ts";
import { type KrigedRtt, NUM_FEATURES, PairKriging, regressionOf } from "./pair_kriging.ts";
import { FeatureRows, type ForestArrays, type ForestSize, LEAF, RandomForest } from "./random_forest.ts";

/** 8,000 rows make at most 500 leaves per tree: 0.9 MB. */
const SIZE: ForestSize = { numTrees: 32, maxDepth: 10, minLeaf: 16, numKept: 8 };

const TENSORS = {
  regression: ["pool.regression", [LOG, real(0, 1), LOG]],
  roots: ["pool.roots", [COUNT], "U32"],
  nodes: ["pool.nodes", [whole(LEAF, NUM_FEATURES - 1), ANY, COUNT]],
  targets: ["pool.leaves", Array(SIZE.numKept).fill(real(-MOST_LOG, MOST_LOG))],
} as const satisfies Record<string, Tensor>;

/** Maximum number of pairs that become rows of the forest. */
const MAX_LEARNED = 2000;
/** Whether the source and the destination count as never measured: each pair becomes four rows. */
const NEW_ENDS = [[false, false], [false, true], [true, false], [true, true]];
/** Pairs whose estimates are cached. */
const MAX_CACHED = 2 ** 12;

const NONE = new Float32Array();
const NO_FOREST: ForestArrays = { roots: new Uint32Array(), nodes: NONE, targets: NONE };

class PairForest {
  readonly #asked = new Map<string, { kriged: KrigedRtt | undefined; logs: number[] }>();

  constructor(readonly kriging: PairKriging, readonly forest: RandomForest) {}

  /** Quantiles of the RTT of a pair that was not measured, ln ms, ascending; empty if nothing was learned. */
  logs(ends: PairEnds): readonly number[] {
    return this.#ask(ends).logs;
  }

  /** Estimates the RTT of such a pair, ln ms; empty if nothing was learned. */
  krigedLogs(ends: PairEnds): number[] {
    const { kriged } = this.#ask(ends);
    return kriged ? [kriged.expected + kriged.excess] : [];
  }

  #ask(ends: PairEnds) {
    return getOrMakeAtMost(MAX_CACHED, this.#asked, `${ends.source} ${ends.destination}`, () => {
      const kriged = this.kriging.ask(ends);
      if (!kriged || this.forest.arrays.roots.length === 0) return { kriged, logs: [] };
      const { expected, excess, features } = kriged;
      const quantiles = this.forest.quantiles(features, FORECAST_LEVELS);
      return { kriged, logs: Array.from(quantiles, (by) => expected + excess + by) };
    });
  }
}

/** A forest and kriging, fitted to the pairs of {@link MEASURED_PAIRS}. */
export const PAIR_FOREST: Memory<PairForest> = {
  tensors: TENSORS,
  learn(pairs, { placeOf, seed, onProgress }) {
    const chosen = chosenPairs(pairs, seed);
    const known = MeasuredPairs.of(chosen, placeOf);
    const regression = regressionOf(known);
    const moved = movedPlaces(known, regression, onProgress);
    const kriging = PairKriging.of(known, regression, moved);
    const random = new RandomStream(seed, "pool/rows of a forest");
    const learned = drawDistinct(chosen.length, Math.min(chosen.length, MAX_LEARNED), random).sort();
    const rows = new FeatureRows();
    learned.forEach((pair, i) => {
      onProgress?.(i + 1, learned.length);
      // One RTT per pair, at a random age, so that the forest learns the spread within pairs too.
      const { rttsMs } = chosen[pair];
      const log = logOfRtt(rttsMs[random.below(rttsMs.length)]);
      for (const isNew of NEW_ENDS) {
        const kriged = kriging.ask(chosen[pair], isNew);
        if (kriged) rows.add(kriged.features, log - kriged.expected - kriged.excess);
      }
    });
    const { base, slope, median } = regression;
    const arrays = {
      regression: Float32Array.of(base, slope, median),
      ...rows.forest(SIZE, seed)?.arrays ?? NO_FOREST,
    };
    const parts = Object.entries(TENSORS) as [keyof typeof TENSORS, Tensor][];
    return new Map([
      ...parts.map(([part, [name]]) => [name, arrays[part]] as const),
      ...savedMoves(moved),
    ]);
  },
  open(tensors, { recall }) {
    const floats = (part: keyof typeof TENSORS) => tensorOf(tensors, TENSORS[part][0], "F32");
    const [base, slope, median] = floats("regression");
    const known = recall(MEASURED_PAIRS);
    const moved = recall(MOVED_PLACES);
    const movedEnds = known.ends.flat().flatMap(({ address }): [string, Position][] => {
      const position = moved.get(keyOfHashes(hashesOf(address)));
      return position ? [[formatAddress(address), position]] : [];
    });
    const kriging = PairKriging.of(known, { base, slope, median }, new Map(movedEnds));
    const roots = tensorOf(tensors, TENSORS.roots[0], "U32");
    const forest = new RandomForest({ roots, nodes: floats("nodes"), targets: floats("targets") });
    return new PairForest(kriging, forest);
  },
  faults: faultsOfForest,
};

/** Checks the forest. Children must come after their parent, so that every descent ends at a leaf. */
function* faultsOfForest(tensors: Tensors): Generator<string> {
  const of = (part: keyof typeof TENSORS) => Rows.of(tensors, TENSORS[part]);
  const [roots, nodes, targets] = (["roots", "nodes", "targets"] as const).map(of);
  const { name, count } = of("regression");
  if (count !== 1) yield `tensor ${name} has ${count} rows, expected 1`;
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

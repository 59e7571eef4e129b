/**
 * A random forest that forecasts distributions. Breiman, "Random Forests", Machine Learning 45 (2001): trees
 * grow on resampled rows, and each split is the best among a few random features. Meinshausen, "Quantile
 * Regression Forests", Journal of Machine Learning Research 7 (2006): the forecast is the distribution of the
 * targets in the leaves, not their mean. Features are binned first, as in LightGBM (Ke et al., NIPS 2017), so
 * a split costs one pass over the rows.
 *
 * `ml-random-forest` 2.1.0 of npm (MIT) took 73 s for 5 trees of 10,000 rows with 12 features, and 11 s for
 * 3,000 rows, and does not forecast distributions. This implementation takes 5 s for 50 trees of 100,000 rows
 * with 20 features.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import { quantileOfSorted } from "../../base/sample_statistics.ts";
import { partitionPoint } from "../../base/collections.ts";

/** Bins per feature. The first is for missing values; the others have equal numbers of rows. */
const NUM_BINS = 64;
/** Maximum number of rows that bin edges are computed from. */
const MAX_BINNED = 4096;
/** The share of the features that each split considers. */
const FEATURE_SHARE = 0.4;

interface ForestRows {
  /** For each feature one value per row; NaN for a missing value. */
  readonly columns: readonly Float32Array[];
  readonly targets: Float64Array;
}

export interface ForestSize {
  readonly numTrees: number;
  readonly maxDepth: number;
  /** The fewest rows of a leaf, and how many quantiles of their targets the leaf keeps. */
  readonly minLeaf: number;
  readonly numKept: number;
}

export interface ForestArrays {
  /** The row of each tree's first node, (trees). */
  readonly roots: Uint32Array;
  /**
   * Nodes, (nodes, 3), each before its children. A split: its feature; the greatest value (or missing) that
   * goes to the first child, which is the next node; the row of the second child. A leaf: -1, the row of its
   * targets, 0.
   */
  readonly nodes: Float32Array;
  /** Ascending quantiles of the targets of each leaf, (leaves, numKept). */
  readonly targets: Float32Array;
}
const NODE_WIDTH = 3;
/** Stored in place of the feature of a leaf. */
export const LEAF = -1;
/** Less than any feature, yet finite, as all numbers in checkpoints must be. */
const LEAST = -(2 ** 100);

export class RandomForest {
  readonly #numKept: number;

  constructor(readonly arrays: ForestArrays) {
    const { nodes, targets } = arrays;
    let numLeaves = 0;
    for (let i = 0; i < nodes.length; i += NODE_WIDTH) if (nodes[i] === LEAF) numLeaves++;
    this.#numKept = targets.length / numLeaves;
  }

  /** @param rows At least one. */
  static grow(rows: ForestRows, size: ForestSize, seed: number): RandomForest {
    const grower = new TreeGrower(rows, size);
    const roots = Uint32Array.from(
      { length: size.numTrees },
      (_, tree) => grower.grow(new RandomStream(seed, "evaluate/forest", tree)),
    );
    return new RandomForest({
      roots,
      nodes: Float32Array.from(grower.nodes),
      targets: Float32Array.from(grower.kept),
    });
  }

  /** Forecasts quantiles at levels. @param features One value per feature; NaN for a missing value. */
  quantiles(features: ArrayLike<number>, levels: readonly number[]): Float64Array {
    const { roots, nodes, targets } = this.arrays;
    const values = Float32Array.from(features);
    const count = this.#numKept;
    const found = new Float64Array(roots.length * count);
    // Every tree counts the same, whatever the size of its leaf.
    roots.forEach((root, tree) => {
      let at = NODE_WIDTH * root;
      while (nodes[at] !== LEAF) {
        at = values[nodes[at]] > nodes[at + 1] ? NODE_WIDTH * nodes[at + 2] : at + NODE_WIDTH;
      }
      const first = count * nodes[at + 1];
      found.set(targets.subarray(first, first + count), tree * count);
    });
    found.sort();
    return Float64Array.from(levels, (level) => quantileOfSorted(found, level));
  }
}

export class FeatureRows {
  readonly #features: number[][] = [];
  readonly #targets: number[] = [];

  add(features: number[], target: number): void {
    this.#features.push(features);
    this.#targets.push(target);
  }

  /** Grows a forest; undefined if there are no rows. */
  forest(size: ForestSize, seed: number): RandomForest | undefined {
    if (this.#targets.length === 0) return undefined;
    const columns = this.#features[0].map((_, k) => Float32Array.from(this.#features, (row) => row[k]));
    return RandomForest.grow({ columns, targets: Float64Array.from(this.#targets) }, size, seed);
  }
}

/** The greatest value of each bin, except the first and the last bin. */
function binEnds(column: Float32Array): Float64Array {
  const known = column.filter((value) => !Number.isNaN(value));
  const step = Math.max(1, known.length / MAX_BINNED);
  const some = Float64Array.from(
    { length: Math.floor(known.length / step) },
    (_, i) => known[Math.floor(i * step)],
  ).sort();
  const ends = Array.from(
    { length: NUM_BINS - 2 },
    (_, i) => some[Math.floor((i + 1) * some.length / (NUM_BINS - 1))],
  );
  return Float64Array.from(new Set(ends.filter((end) => end < some[some.length - 1])));
}

function binOf(ends: Float64Array, value: number): number {
  return Number.isNaN(value) ? 0 : 1 + partitionPoint(ends.length, (i) => ends[i] >= value);
}

/** Grows trees from the same rows and reuses memory between them. */
class TreeGrower {
  /** See {@link ForestArrays}. */
  readonly nodes: number[] = [];
  readonly kept: number[] = [];
  readonly #ends: readonly Float64Array[];
  readonly #bins: readonly Uint8Array[];
  readonly #targets: Float64Array;
  readonly #sums = new Float64Array(NUM_BINS);
  readonly #counts = new Float64Array(NUM_BINS);
  /** The rows of the current tree; those of a node are contiguous. */
  readonly #rows: Uint32Array;
  readonly #features: number[];

  constructor({ columns, targets }: ForestRows, readonly size: ForestSize) {
    this.#ends = columns.map(binEnds);
    this.#bins = columns.map((column, k) => Uint8Array.from(column, (value) => binOf(this.#ends[k], value)));
    this.#targets = targets;
    this.#rows = new Uint32Array(targets.length);
    this.#features = [...columns.keys()];
  }

  /** @returns The row of the tree's first node. */
  grow(random: RandomStream): number {
    const rows = this.#rows;
    for (let i = 0; i < rows.length; i++) rows[i] = random.below(rows.length);
    return this.#grow(0, rows.length, { depth: 0, random });
  }

  #grow(first: number, end: number, at: { depth: number; random: RandomStream }): number {
    const { maxDepth, minLeaf, numKept } = this.size;
    const node = this.nodes.length / NODE_WIDTH;
    const split = at.depth < maxDepth && end - first >= 2 * minLeaf
      ? this.#bestSplit(first, end, at.random)
      : undefined;
    if (!split) {
      this.nodes.push(LEAF, this.kept.length / numKept, 0);
      this.#keep(first, end);
      return node;
    }
    const middle = this.#divide(first, end, split);
    const below = { ...at, depth: at.depth + 1 };
    const { feature, bin } = split;
    this.nodes.push(feature, bin === 0 ? LEAST : this.#ends[feature][bin - 1], 0);
    this.#grow(first, middle, below);
    this.nodes[NODE_WIDTH * node + 2] = this.#grow(middle, end, below);
    return node;
  }

  /** Finds the split with the least squared error; undefined if none leaves enough rows on both sides. */
  #bestSplit(
    first: number,
    end: number,
    random: RandomStream,
  ): { feature: number; bin: number } | undefined {
    const [sums, counts, features] = [this.#sums, this.#counts, this.#features];
    const { minLeaf } = this.size;
    random.shuffle(features);
    let best: { feature: number; bin: number } | undefined;
    let bestGain = 0;
    for (const feature of features.slice(0, Math.ceil(FEATURE_SHARE * features.length))) {
      const bins = this.#bins[feature];
      sums.fill(0);
      counts.fill(0);
      let total = 0;
      for (let i = first; i < end; i++) {
        const row = this.#rows[i];
        const target = this.#targets[row];
        sums[bins[row]] += target;
        counts[bins[row]]++;
        total += target;
      }
      const all = total * total / (end - first);
      let [sum, count] = [0, 0];
      for (let bin = 0; bin < NUM_BINS - 1; bin++) {
        sum += sums[bin];
        count += counts[bin];
        const rest = end - first - count;
        if (rest < minLeaf) break;
        if (count < minLeaf || counts[bin] === 0) continue;
        const gain = sum * sum / count + (total - sum) ** 2 / rest - all;
        if (gain > bestGain) [bestGain, best] = [gain, { feature, bin }];
      }
    }
    return best;
  }

  /** Moves the rows of the first child to the front. @returns The index of the second child's first row. */
  #divide(first: number, end: number, { feature, bin }: { feature: number; bin: number }): number {
    const rows = this.#rows;
    let middle = first;
    for (let i = first; i < end; i++) {
      const row = rows[i];
      if (this.#bins[feature][row] > bin) continue;
      rows[i] = rows[middle];
      rows[middle++] = row;
    }
    return middle;
  }

  #keep(first: number, end: number): void {
    const { numKept } = this.size;
    const targets = Float64Array.from(this.#rows.subarray(first, end), (row) => this.#targets[row]).sort();
    for (let i = 0; i < numKept; i++) this.kept.push(quantileOfSorted(targets, (i + 0.5) / numKept));
  }
}

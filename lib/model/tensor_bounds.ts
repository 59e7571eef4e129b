/**
 * The possible numbers of a checkpoint: one table by tensor, and the rules between several numbers. A checksum only shows
 * that a file is as somebody wrote it. Numbers are checked when a file is read, so that the code which uses them can index,
 * loop and divide without looking.
 *
 * @module
 */
import { END_TIME_US, MIN_TIME_US } from "../data/formats/batch.ts";
import { isCanonicalRttCode } from "../data/tokens/rtt_code.ts";
import { named } from "../base/errors.ts";
import { LOSS_SCALE } from "../tensor/ops/clip.ts";
import { keyOfHashes } from "./embedding_table.ts";
import { numbersPerNode } from "./embedding_update.ts";
import { faultOfTensors } from "./finite.ts";
import { EMBEDDING_KEYS, type ModelConfig, PAIR_HISTORY, PLACE_TABLE } from "./model_config.ts";
import { COORDINATE_KEYS, nameOfCoordinates } from "./node_coordinates.ts";
import { HISTORY_LENGTH, TIME_PART } from "./pair_history.ts";
import { indexOfCode, NUM_CODES } from "./pool/kernel_mixture.ts";
import { FACTORS_WIDTH } from "./pool/pair_factors.ts";
import { FOREST_TENSORS } from "./pool/pair_forest.ts";
import { NUM_FEATURES, SAVED_WIDTH } from "./pool/placed_pairs.ts";
import { POOL_ROWS, POOL_TENSORS, POOL_WIDTHS } from "./pool/pool.ts";
import { LEAF } from "./pool/random_forest.ts";
import { NUM_COMPONENTS, NUM_KINDS } from "./pool/simple_forecasts.ts";

/** The numbers that are possible in a place. */
interface Allowed {
  /** For people, after "expected". */
  readonly wanted: string;
  readonly least: number;
  readonly most: number;
  readonly isWhole: boolean;
  /** Whether 0 is possible besides: it stands for none. */
  readonly hasNone: boolean;
  /** A further condition. */
  readonly also: ((value: number) => boolean) | undefined;
}

function real(least: number, most: number): Allowed {
  const wanted = most === Infinity ? `a number of at least ${least}` : `a number from ${least} to ${most}`;
  return { wanted, least, most, isWhole: false, hasNone: false, also: undefined };
}

function whole(least: number, most: number): Allowed {
  return { ...real(least, most), wanted: `a whole number from ${least} to ${most}`, isWhole: true };
}

function orNone(allowed: Allowed): Allowed {
  return { ...allowed, wanted: `0 or ${allowed.wanted}`, hasNone: true };
}

const ANY = real(-Infinity, Infinity);
const HALF = whole(0, 2 ** 16 - 1);
const HASHES = [HALF, HALF, HALF, HALF];
const COUNT = whole(0, 2 ** 32);
const SHARE = real(0, 1);
const CODE: Allowed = { ...whole(1, 2 ** 16 - 1), wanted: "an RTT code", also: isCanonicalRttCode };
const [LEAST_S, END_S] = [MIN_TIME_US, END_TIME_US].map((us) => us / 1e6);
/** Unix seconds in two parts, see {@link TIME_PART}. */
const TIME = [
  orNone(whole(Math.floor(LEAST_S / TIME_PART), Math.floor(END_S / TIME_PART))),
  whole(0, TIME_PART - 1),
];
/** Logarithms of RTTs, ln ms, and their differences: codes span 29. */
const LOG = real(-64, 64);
const MOST_LOG = 1024;
const DIFFERENCE = real(-MOST_LOG, MOST_LOG);
/** Errors of logarithms; those of a located node are squared. */
const ERROR = real(0, MOST_LOG ** 2);
/** The numbers of a fit of coordinates: three logarithms, two settings, the usual error. */
const FIT = [LOG, LOG, LOG, real(0, MOST_LOG), real(0, MOST_LOG), ERROR];
const ADDRESS_LENGTH: Allowed = {
  ...whole(4, 16),
  wanted: "4 or 16",
  also: (value) => value === 4 || value === 16,
};
const SLOPE = real(0, 1);
const BYTES = Array.from({ length: 16 }, () => whole(0, 255));

/** The possible numbers of a tensor, column by column in turn. */
interface Bounds {
  readonly columns: readonly Allowed[];
  /** How many consecutive numbers a column has in its turn (1). */
  readonly run?: number;
}

/** The bounds that do not depend on the model. A tensor without bounds may have all finite numbers. */
const BOUNDS: Readonly<Record<string, readonly Allowed[]>> = {
  [EMBEDDING_KEYS]: [HALF],
  "address_embed.rows": [HALF],
  [PAIR_HISTORY]: [...Array.from({ length: HISTORY_LENGTH - 2 }, () => orNone(CODE)), ...TIME],
  [PLACE_TABLE]: [whole(0, 2 ** 24 - 1)],
  [COORDINATE_KEYS]: [HALF],
  "coordinates.numbers": [HALF],
  [nameOfCoordinates("fits")]: FIT,
  // Training data, in halves of 32-bit numbers.
  v4: [HALF],
  v6: [HALF],
  seen: [HALF],
  pairs: [HALF],
  // Optimizer states, by the end of their names.
  exp_avg_sq: [real(0, Infinity)],
  num_updates: [whole(0, 2 ** 32)],
  loss_scale: [real(LOSS_SCALE.min, LOSS_SCALE.max), whole(0, 2 ** 24)],
  [POOL_TENSORS.weights]: [SHARE],
  [POOL_TENSORS.range]: [whole(0, NUM_CODES - 1), whole(1, NUM_CODES), ...TIME],
  [POOL_TENSORS.pairs]: [...HASHES, COUNT],
  [POOL_TENSORS.rtts]: [CODE, whole(0, END_S)],
  [POOL_TENSORS.ends]: [...HASHES, COUNT, COUNT],
  [POOL_TENSORS.usual]: [CODE],
  [POOL_TENSORS.all]: [CODE],
  [POOL_TENSORS.failureWeights]: [SHARE],
  [POOL_TENSORS.endTries]: [...HASHES, COUNT, COUNT, COUNT, COUNT],
  [POOL_TENSORS.pairTries]: [...HASHES, COUNT, COUNT],
  [POOL_TENSORS.factors]: [
    ...HASHES,
    ...Array.from({ length: FACTORS_WIDTH - 4 }, () => real(0, 2 ** 32)),
  ],
  [FOREST_TENSORS.regression[0]]: [LOG, SLOPE, LOG],
  [FOREST_TENSORS.excesses[0]]: [...HASHES, ANY, whole(1, 2 ** 32)],
  [FOREST_TENSORS.roots[0]]: [COUNT],
  [FOREST_TENSORS.nodes[0]]: [whole(LEAF, NUM_FEATURES - 1), ANY, COUNT],
  [FOREST_TENSORS.targets[0]]: [DIFFERENCE],
  [FOREST_TENSORS.kernel[0]]: [real(0, 2 ** 20)],
  [FOREST_TENSORS.ends[0]]: [ADDRESS_LENGTH, ...BYTES],
  [FOREST_TENSORS.pairs[0]]: [COUNT, COUNT, ANY],
};

/** How names of the tensors of an adaptation begin. */
export const ADAPTATION = "adaptation.";

function boundsOf(name: string, config: ModelConfig | undefined): Bounds | undefined {
  const known = BOUNDS[name.startsWith(ADAPTATION) ? name.slice(ADAPTATION.length) : name] ??
    BOUNDS[name.slice(name.lastIndexOf(".") + 1)];
  if (known) return { columns: known };
  if (!config?.coordinates) return undefined;
  const { nodes, folds } = config.coordinates;
  // Located nodes have those below -1, see `Factorisation.put`.
  const component = whole(-nodes - 1, nodes - 1);
  if (name === nameOfCoordinates("nodes")) return { columns: [component, ERROR], run: nodes };
  if (name !== nameOfCoordinates("values")) return undefined;
  const vectors = Array.from({ length: numbersPerNode(config) / (folds + 1) - 2 }, () => ANY);
  return { columns: [...vectors, component, ERROR] };
}

/**
 * The first impossible number of a file's tensors.
 *
 * @param tensors By name.
 * @param options `config`: the model that they are of; `limit`: the exclusive bound on all magnitudes (Infinity: finite).
 * @returns It, for people; undefined if all are possible.
 */
export function faultOfNumbers(
  tensors: ReadonlyMap<string, Float32Array>,
  { config, limit }: { config?: ModelConfig; limit?: number } = {},
): string | undefined {
  const fault = faultOfTensors(tensors, limit);
  if (fault !== undefined) return fault;
  for (const [name, values] of tensors) {
    const bounds = boundsOf(name, config);
    const index = bounds ? indexOfOther(values, bounds) : -1;
    if (bounds && index >= 0) return faultAt(name, values, index, allowedAt(bounds, index).wanted);
  }
  for (const fault of faultsBetween(tensors)) return fault;
  return undefined;
}

function allowedAt({ columns, run = 1 }: Bounds, index: number): Allowed {
  return columns[Math.floor(index / run) % columns.length];
}

/**
 * The index of a number that is not possible, in the first column that has one; -1 if all are.
 *
 * It takes 3 ms for a checkpoint of 5 million numbers, 0.4 million of them with bounds.
 */
function indexOfOther(values: Float32Array, { columns, run = 1 }: Bounds): number {
  const width = columns.length * run;
  for (const [place, { least, most, isWhole, hasNone, also }] of columns.entries()) {
    for (let start = place * run; start < values.length; start += width) {
      for (let i = start; i < start + run; i++) {
        const value = values[i];
        if (hasNone && value === 0) continue;
        if (
          value >= least && value <= most && (!isWhole || value === Math.floor(value)) &&
          (!also || also(value))
        ) {
          continue;
        }
        return i;
      }
    }
  }
  return -1;
}

function faultAt(name: string, values: ArrayLike<number>, index: number, wanted: string): string {
  return `element ${index} of tensor ${name} is ${values[index]}, expected ${wanted}`;
}

/** The rules between numbers, each of which is within its bounds. */
function* faultsBetween(tensors: ReadonlyMap<string, Float32Array>): Generator<string> {
  const fits = tensors.get(nameOfCoordinates("fits"));
  if (fits) yield* faultsOfFits(fits);
  const history = tensors.get(PAIR_HISTORY);
  if (history) yield* faultsOfTimes(new Rows(PAIR_HISTORY, history, HISTORY_LENGTH));
  // `Pool` refuses one with other weights: another version fitted it.
  if (tensors.get(POOL_TENSORS.weights)?.length !== NUM_KINDS * NUM_COMPONENTS) return;
  for (const [name, width] of POOL_ROWS) {
    const length = tensors.get(name)?.length;
    if (length === undefined || length % width !== 0) {
      yield `tensor ${name} has ${length ?? "no"} numbers, expected rows of ${width}`;
    }
  }
  const rowsOf = (name: string, width: number) => new Rows(name, named(tensors, name), width);
  const rows = (part: keyof typeof POOL_TENSORS) => rowsOf(POOL_TENSORS[part], POOL_WIDTHS[part]);
  const ofForest = (part: keyof typeof FOREST_TENSORS) =>
    rowsOf(FOREST_TENSORS[part][0], FOREST_TENSORS[part][1]);
  yield* faultsOfMemory(rows);
  yield* faultsOfTries(rows("endTries"), rows("pairTries"));
  yield* faultsOfForest(ofForest);
  yield* faultsOfKriging(ofForest("ends"), ofForest("pairs"));
}

/** A tensor's rows. */
class Rows {
  readonly count: number;

  constructor(readonly name: string, readonly values: Float32Array, readonly width: number) {
    this.count = values.length / width;
  }

  at(row: number, column: number): number {
    return this.values[row * this.width + column];
  }

  /** The numbers of a column. */
  column(column: number): Float32Array {
    return Float32Array.from({ length: this.count }, (_, row) => this.at(row, column));
  }

  fault(row: number, column: number, wanted: string): string {
    return faultAt(this.name, this.values, row * this.width + column, wanted);
  }

  /** The first row of which something is not as it must be. */
  *where(
    column: number,
    wanted: string | ((row: number) => string),
    isWrong: (row: number) => boolean,
  ): Generator<string> {
    for (let row = 0; row < this.count; row++) {
      if (!isWrong(row)) continue;
      return yield this.fault(row, column, typeof wanted === "string" ? wanted : wanted(row));
    }
  }

  /** Rows are found by the hashes that they begin with. */
  *ascending(): Generator<string> {
    const { values, width } = this;
    const hash = (at: number) => values[at] * 2 ** 16 + values[at + 1];
    let before = -1;
    yield* this.where(0, "rows in ascending order of their hashes", (row) => {
      const key = keyOfHashes({ hash1: hash(row * width), hash2: hash(row * width + 2) });
      const isWrong = key <= before;
      before = key;
      return isWrong;
    });
  }

  /** Counts of the rows of another tensor. */
  *counting(first: number, others: Rows): Generator<string> {
    let sum = 0;
    for (let row = 0; row < this.count; row++) {
      for (let column = first; column < this.width; column++) sum += this.at(row, column);
    }
    if (sum === others.count) return;
    yield `the counts of tensor ${this.name} add up to ${sum}, expected ${others.count}, the rows of ${others.name}`;
  }
}

/** The last two columns are {@link TIME}. */
function* faultsOfTimes(rows: Rows): Generator<string> {
  const first = rows.width - 2;
  yield* rows.where(first, "0 or a time from 1990 on", (row) => {
    const timeS = rows.at(row, first) * TIME_PART + rows.at(row, first + 1);
    return timeS !== 0 && timeS < LEAST_S;
  });
}

/** Zeros are of a model that was not trained. */
function* faultsOfFits(values: Float32Array): Generator<string> {
  const fits = new Rows(nameOfCoordinates("fits"), values, FIT.length);
  if (values.every((value) => value === 0)) return;
  const ordered = "least, typical and greatest logarithm in this order";
  yield* fits.where(0, ordered, (i) => fits.at(i, 0) < fits.at(i, 1) || fits.at(i, 0) > fits.at(i, 2));
  yield* fits.where(5, "a number above 0", (i) => fits.at(i, 5) <= 0);
}

/** Weights, and what is remembered of pairs and addresses. */
function* faultsOfMemory(rows: (part: keyof typeof POOL_TENSORS) => Rows): Generator<string> {
  const [weights, range, pairs, rtts, ends, usual, all] =
    (["weights", "range", "pairs", "rtts", "ends", "usual", "all"] as const).map(rows);
  for (let kind = 0; kind < weights.count; kind++) {
    let sum = 0;
    for (let k = 0; k < weights.width; k++) sum += weights.at(kind, k);
    if (Math.abs(sum - 1) > MOST_ROUNDING) {
      yield `row ${kind} of tensor ${weights.name} adds up to ${sum}, expected 1`;
    }
  }
  if (range.count !== 1) yield `tensor ${range.name} has ${range.count} rows, expected 1`;
  if (all.count === 0) yield `tensor ${all.name} is empty, expected at least an RTT code`;
  yield* faultsOfTimes(range);
  const [first, end, startParts, startS] = range.values;
  for (const each of [rtts, usual, all]) {
    const isOutside = (row: number) => {
      const index = indexOfCode(each.at(row, 0));
      return index < first || index >= end;
    };
    yield* each.where(0, `a code within the range of ${range.name}`, isOutside);
  }
  const mostS = END_S - (startParts * TIME_PART + startS);
  yield* rtts.where(1, `at most ${mostS}`, (row) => rtts.at(row, 1) > mostS);
  for (const each of [pairs, ends]) yield* each.ascending();
  yield* pairs.counting(HASHES.length, rtts);
  yield* ends.counting(HASHES.length, usual);
}

/** The largest rounding error of a sum of float32 numbers. */
const MOST_ROUNDING = 1e-3;

/** Measurements, and those without a reply. */
function* faultsOfTries(ends: Rows, pairs: Rows): Generator<string> {
  const first = HASHES.length;
  for (const each of [ends, pairs]) {
    yield* each.ascending();
    for (let column = first; column < each.width; column += 2) {
      const wanted = "at most the measurements beside it";
      yield* each.where(column + 1, wanted, (row) => each.at(row, column + 1) > each.at(row, column));
    }
  }
  for (const part of [0, 1]) {
    const [asSources, asDestinations] = [first + part, first + 2 + part].map((column) =>
      ends.column(column).reduce((a, b) => a + b, 0)
    );
    if (Math.abs(asSources - asDestinations) <= MOST_ROUNDING * asSources) continue;
    yield `the counts of tensor ${ends.name} add up to ${asSources} of sources and ${asDestinations} of ` +
      "destinations, expected equal sums";
  }
  const total = ends.column(first).reduce((a, b) => a + b, 0);
  const most = (1 + MOST_ROUNDING) * total;
  yield* pairs.where(
    first,
    `at most ${total}, the measurements of all`,
    (row) => pairs.at(row, first) > most,
  );
}

/** Trees whose nodes lead to later ones, so that each walk ends at a leaf. */
function* faultsOfForest(of: (part: keyof typeof FOREST_TENSORS) => Rows): Generator<string> {
  const [excesses, roots, nodes, targets] = (["excesses", "roots", "nodes", "targets"] as const).map(of);
  const [sum, count] = [SAVED_WIDTH - 2, SAVED_WIDTH - 1];
  yield* excesses.where(
    sum,
    `at most ${MOST_LOG} times its count`,
    (row) => Math.abs(excesses.at(row, sum)) > MOST_LOG * excesses.at(row, count),
  );
  if (of("regression").count !== 1) {
    yield `tensor ${of("regression").name} has more or less than a row, expected 1`;
  }
  if ((roots.count === 0) !== (nodes.count === 0)) {
    yield `tensor ${roots.name} has ${roots.count} rows and ${nodes.name} ${nodes.count}, expected both or none`;
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

/** Pairs of a source, and a destination, whose rows follow those of sources. */
function* faultsOfKriging(ends: Rows, pairs: Rows): Generator<string> {
  const numSources = pairs.column(0).reduce((most, row) => Math.max(most, row + 1), 0);
  yield* pairs.where(0, `below ${ends.count}, the number of ends`, (row) => pairs.at(row, 0) >= ends.count);
  yield* pairs.where(
    1,
    `from ${numSources} to ${ends.count - 1}, an end after the sources`,
    (row) => pairs.at(row, 1) < numSources || pairs.at(row, 1) >= ends.count,
  );
}

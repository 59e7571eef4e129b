/**
 * The possible numbers of a checkpoint: a table by tensor, and the rules between several numbers. A checksum
 * only shows that a file is as its author wrote it. Numbers are checked when a file is read, so that code
 * using them can index, loop and divide without further checks.
 *
 * @module
 */
import { type ArrayType, type TensorArray, type Tensors, typeOf } from "../base/safetensors_header.ts";
import { LOSS_SCALE } from "../tensor/ops/clip.ts";
import { numbersPerNode } from "./embedding_update.ts";
import { faultAt, faultOfTensors } from "./finite.ts";
import { EMBEDDING_KEYS, type ModelConfig, PAIR_HISTORY, PLACE_TABLE } from "./model_config.ts";
import { COORDINATE_KEYS, nameOfCoordinates } from "./node_coordinates.ts";
import { HISTORY_LENGTH } from "./pair_history.ts";
import { faultOfWeights, MEMORIES, NUM_COMPONENTS, weightsOf } from "./pool/forecasts.ts";
import { faultsOfMeasured, pairTensors } from "./pool/measured_pairs.ts";
import { NEIGHBOUR_WEIGHTS, NEIGHBOUR_WIDTHS } from "./pool/pair_neighbours.ts";
import { IDENTITIES } from "./pool/identities.ts";
import { MOVED } from "./pool/moved_places.ts";
import { indexOfCode } from "./pool/kernel_mixture.ts";
import { type MemoryName, memoryTensors } from "./pool/pair_memory.ts";
import { NUM_KERNELS, NUM_SHARES } from "./pool/time_kernels.ts";
import { NUM_FAILURE_KINDS } from "./pool/no_reply.ts";
import { ADAPTED_COLUMNS, OPTIONAL_COLUMNS, POOL_COLUMNS, POOL_TENSORS } from "./pool/pool.ts";
import { NUM_KINDS } from "./pool/question_kinds.ts";
import {
  type Allowed,
  ANY,
  CODE,
  HASHES,
  LOG,
  MOST_LOG,
  orNone,
  real,
  Rows,
  type Tensor,
  TIME,
  whole,
} from "./possible_numbers.ts";

/** Errors of logarithms; those of a located node are squared. */
const ERROR = real(0, MOST_LOG ** 2);
/** The numbers of a fit of coordinates: three logarithms, two settings, the usual error. */
const FIT = [LOG, LOG, LOG, real(0, MOST_LOG), real(0, MOST_LOG), ERROR];

/** The type and the possible numbers of a tensor, whose columns alternate. */
interface Bounds {
  readonly type: ArrayType;
  readonly columns: readonly Allowed[];
  /** Number of consecutive values of a column (default: 1). */
  readonly run?: number;
}

/** Tensors of arbitrary 32-bit numbers: keys, row and node indexes, training data. */
const WORDS = [
  EMBEDDING_KEYS,
  "address_embed.rows",
  COORDINATE_KEYS,
  "coordinates.numbers",
  "v4",
  "v6",
  "seen",
  "pairs",
];
const TENSORS: readonly Tensor[] = [
  ...WORDS.map((name): Tensor => [name, [], "U32"]),
  [PAIR_HISTORY, [...Array.from({ length: HISTORY_LENGTH - 1 }, () => orNone(CODE)), orNone(TIME)], "U32"],
  [PLACE_TABLE, [], "U8"],
  [nameOfCoordinates("fits"), FIT],
  // Optimizer states, by suffix.
  ["exp_avg_sq", [real(0, Infinity)]],
  ["num_updates", [whole(0, 2 ** 32)]],
  ["loss_scale", [real(LOSS_SCALE.min, LOSS_SCALE.max), whole(0, 2 ** 24)]],
  ...POOL_COLUMNS,
  ...OPTIONAL_COLUMNS,
];
/** Bounds that do not depend on the model. Tensors without bounds may have all finite numbers. */
const BOUNDS: ReadonlyMap<string, Bounds> = new Map(
  TENSORS.map(([name, columns, type = "F32"]) => [name, { type, columns }]),
);
const UNBOUNDED: Bounds = { type: "F32", columns: [] };

/** Prefix of the tensor names of an adaptation. */
export const ADAPTATION = "adaptation.";

function boundsOf(name: string, config: ModelConfig | undefined): Bounds {
  const known = BOUNDS.get(name.startsWith(ADAPTATION) ? name.slice(ADAPTATION.length) : name) ??
    BOUNDS.get(name.slice(name.lastIndexOf(".") + 1));
  if (known) return known;
  if (!config?.coordinates) return UNBOUNDED;
  const { nodes, folds } = config.coordinates;
  // Located nodes have components below -1; see `Factorisation.put`.
  const component = whole(-nodes - 1, nodes - 1);
  if (name === nameOfCoordinates("nodes")) return { ...UNBOUNDED, columns: [component, ERROR], run: nodes };
  if (name !== nameOfCoordinates("values")) return UNBOUNDED;
  const vectors = Array.from({ length: numbersPerNode(config) / (folds + 1) - 2 }, () => ANY);
  return { ...UNBOUNDED, columns: [...vectors, component, ERROR] };
}

/**
 * Describes the first impossible number of a file's tensors for the user; undefined if there is none.
 *
 * @param tensors By name.
 * @param options `config`: their model; `limit`: the exclusive bound on all magnitudes (Infinity: finite).
 */
export function faultOfNumbers(
  tensors: Tensors,
  { config, limit }: { config?: ModelConfig; limit?: number } = {},
): string | undefined {
  const fault = faultOfTensors(tensors, limit);
  if (fault !== undefined) return fault;
  // `Pool` rejects those with weights that another version fitted.
  const isOther = tensors.has(POOL_TENSORS.range[0]) && faultOfWeights(tensors) !== undefined;
  for (const [name, values] of tensors) {
    if (isOther && name.startsWith("pool.")) continue;
    const bounds = boundsOf(name, config);
    if (typeOf(values) !== bounds.type) return `tensor ${name} is ${typeOf(values)}, expected ${bounds.type}`;
    const index = indexOfOther(values, bounds);
    if (index >= 0) return faultAt(name, values, index, allowedAt(bounds, index).wanted);
  }
  for (const fault of faultsBetween(tensors)) return fault;
  return undefined;
}

function allowedAt({ columns, run = 1 }: Bounds, index: number): Allowed {
  return columns[Math.floor(index / run) % columns.length];
}

/**
 * Finds the index of an impossible number in the first column that has one; -1 if there is none.
 *
 * It takes 3 ms for a checkpoint of 5 million numbers, 0.4 million of them with bounds.
 */
function indexOfOther(values: TensorArray, { columns, run = 1 }: Bounds): number {
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

/** The rules between numbers, each of which is within its bounds. */
function* faultsBetween(tensors: Tensors): Generator<string> {
  const fits = tensors.get(nameOfCoordinates("fits"));
  if (fits) yield* faultsOfFits(fits);
  if (tensors.has(ADAPTED_COLUMNS[0][0])) yield* faultsOfPairs(tensors, "adapted");
  if (tensors.has(pairTensors("adapted").ends[0])) yield* faultsOfMeasured(tensors, "adapted");
  for (const tensor of [IDENTITIES, MOVED]) yield* faultsOfHashed(tensors, tensor);
  if (!tensors.has(POOL_TENSORS.range[0]) || faultOfWeights(tensors) !== undefined) return;
  for (const [name, { length: width }] of POOL_COLUMNS) {
    const length = tensors.get(name)?.length;
    if (length === undefined || length % width !== 0) {
      yield `tensor ${name} has ${length ?? "no"} numbers, expected rows of ${width}`;
    }
  }
  yield* faultsOfPoolWeights(weightsOf(tensors));
  const ofNeighbours = Rows.of(tensors, NEIGHBOUR_WEIGHTS);
  yield* ofNeighbours.where(0, "weights that add up to at most 1", (row) => {
    const sum = NEIGHBOUR_WIDTHS.reduce((sum, _, w) => sum + ofNeighbours.at(row, w), 0);
    return sum > 1 + MOST_ROUNDING;
  });
  const rows = (part: keyof typeof POOL_TENSORS) => Rows.of(tensors, POOL_TENSORS[part]);
  yield* faultsOfMemory(rows);
  yield* faultsOfTries(rows("endTries"));
  yield* faultsOfPairs(tensors, "pool");
  for (const { faults } of MEMORIES) yield* faults?.(tensors) ?? [];
}

/** The rules of an optional tensor whose rows are found by the hashes that they begin with. */
function* faultsOfHashed(tensors: Tensors, tensor: Tensor): Generator<string> {
  if (!tensors.has(tensor[0])) return;
  const rows = Rows.of(tensors, tensor);
  const { name, width, values: { length } } = rows;
  if (length % width > 0) yield `tensor ${name} has ${length} numbers, expected rows of ${width}`;
  yield* rows.ascending();
}

/** Zeros belong to a model that was not trained. */
function* faultsOfFits(values: TensorArray): Generator<string> {
  const fits = new Rows(nameOfCoordinates("fits"), values, FIT.length);
  if (values.every((value) => value === 0)) return;
  const ordered = "minimum, typical and maximum logarithm in this order";
  yield* fits.where(0, ordered, (i) => fits.at(i, 0) < fits.at(i, 1) || fits.at(i, 0) > fits.at(i, 2));
  yield* fits.where(5, "a number above 0", (i) => fits.at(i, 5) <= 0);
}

function* faultsOfPoolWeights(weights: Float64Array): Generator<string> {
  for (let kind = 0; kind < NUM_KINDS; kind++) {
    const own = weights.subarray(kind * NUM_COMPONENTS, (kind + 1) * NUM_COMPONENTS);
    const sum = own.reduce((a, b) => a + b, 0);
    if (Math.abs(sum - 1) > MOST_ROUNDING) {
      yield `pool.weights of kind ${kind} add up to ${sum}, expected 1`;
    }
  }
}

function* faultsOfMemory(rows: (part: keyof typeof POOL_TENSORS) => Rows): Generator<string> {
  const [range, ends, usual, all, failureWeights, age, usualPair] =
    (["range", "ends", "usual", "all", "failureWeights", "age", "usualPair"] as const).map(rows);
  const counts = [[range, 1], [failureWeights, NUM_FAILURE_KINDS], [age, 1], [usualPair, 1]] as const;
  for (const [{ name, count }, expected] of counts) {
    if (count !== expected) yield `tensor ${name} has ${count} rows, expected ${expected}`;
  }
  const shares = [...age.values].slice(1).reduce((sum, share) => sum + share, 0);
  if (Math.abs(shares - 1) > MOST_ROUNDING) yield `the shares of ${age.name} add up to ${shares}, expected 1`;
  for (let first = 0; first < NUM_SHARES; first += NUM_KERNELS) {
    const sum = [...usualPair.values.subarray(first, first + NUM_KERNELS)].reduce((a, b) => a + b, 0);
    if (Math.abs(sum - 1) > MOST_ROUNDING) {
      yield `the shares of ${usualPair.name} from element ${first} on add up to ${sum}, expected 1`;
    }
  }
  if (all.count === 0) yield `tensor ${all.name} is empty, expected at least one RTT code`;
  const [first, end] = range.values;
  for (const each of [usual, all]) {
    const isOutside = (row: number) => {
      const index = indexOfCode(each.at(row, 0));
      return index < first || index >= end;
    };
    yield* each.where(0, `a code within the range of ${range.name}`, isOutside);
  }
  yield* ends.ascending();
  yield* ends.counting(HASHES.length, usual);
}

/** The largest rounding error of a sum of float32 numbers. */
const MOST_ROUNDING = 1e-3;

function* faultsOfTries(ends: Rows): Generator<string> {
  const first = HASHES.length;
  yield* ends.ascending();
  for (let column = first; column < ends.width; column += 2) {
    const wanted = "at most the number of measurements before it";
    yield* ends.where(column + 1, wanted, (row) => ends.at(row, column + 1) > ends.at(row, column));
  }
  for (const part of [0, 1]) {
    const [asSources, asDestinations] = [first + part, first + 2 + part].map((column) =>
      ends.column(column).reduce((a, b) => a + b, 0)
    );
    if (Math.abs(asSources - asDestinations) <= MOST_ROUNDING * asSources) continue;
    yield `the counts of tensor ${ends.name} add up to ${asSources} for sources and ${asDestinations} for ` +
      "destinations, expected equal sums";
  }
}

/** Measurements of a memory: the pairs in order, each with its measurements oldest first. */
function* faultsOfPairs(tensors: Tensors, name: MemoryName): Generator<string> {
  const { pairs, measurements, shares, spreads } = memoryTensors(name);
  const [ofPairs, all, ofShares, ofSpreads] = [pairs, measurements, shares, spreads].map((each) =>
    Rows.of(tensors, each)
  );
  yield* ofPairs.ascending();
  yield* ofPairs.counting(HASHES.length, all);
  for (const each of [ofShares, ofSpreads]) yield* each.asManyAs(ofPairs);
  const starts = new Set<number>();
  let start = 0;
  for (const count of ofPairs.column(HASHES.length)) {
    starts.add(start);
    start += count;
  }
  const isEarlier = (row: number) => !starts.has(row) && row > 0 && all.at(row, 0) < all.at(row - 1, 0);
  yield* all.where(0, "the measurements of a pair in the order of their times", isEarlier);
  for (let situation = 0; situation < NUM_SHARES / NUM_KERNELS; situation++) {
    const first = situation * NUM_KERNELS;
    const isEmpty = (row: number) =>
      Array.from({ length: NUM_KERNELS }, (_, k) => ofShares.at(row, first + k)).every((share) =>
        share === 0
      );
    yield* ofShares.where(first, "a share above 0", isEmpty);
  }
}

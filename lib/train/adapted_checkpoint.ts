/**
 * Adapted checkpoints: `rows.safetensors`, the changed rows and coordinates of addresses on top of a base that is not
 * copied.
 *
 * Tensors: `wpe.rows` (n, 2), the numbers of rows, and `wpe.keys` (n, 2), both as pairs of numbers below 2^16, the more
 * significant first; `wpe.weight` (n, C); `wpe.history` (n, K), see `RowDelta`. Of a model with
 * coordinates also `coordinates.numbers` (m, 2), `coordinates.keys` (m, 2) and `coordinates.values` (m, L), see
 * `NodeDelta`; files without them change none. Metadata: `base`, the folder of the checkpoint; `base_sha256`, that of its
 * model.safetensors; `sha256`, that of the tensors.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join } from "@std/path";
import { FormatError, UserError } from "../errors.ts";
import { exists, fingerprint } from "../files/inputs.ts";
import { type ModelConfig, numAddressRows, PAIR_HISTORY, ROW_KEYS } from "../model/config.ts";
import { faultOfTensors, WEIGHT_LIMIT } from "../model/finite.ts";
import { COORDINATE_KEYS } from "../model/node_coordinates.ts";
import { NO_NODES, type NodeDelta, numbersPerNode } from "../model/node_delta.ts";
import { historyShape, ROW_VALUES, type RowDelta, withRowDelta } from "../model/row_delta.ts";
import type { LoadedCheckpoint } from "./checkpoint.ts";
import { readSafetensors, type SafetensorsContent, writeSafetensors } from "./safetensors.ts";

/** The file's name in its folder. */
export const DELTA_FILE = "rows.safetensors";
const ROW_NUMBERS = "wpe.rows";
const NODE_NUMBERS = "coordinates.numbers";
const NODE_VALUES = "coordinates.values";
const HALF = 2 ** 16;

/** What changed rows are of. */
export interface AdaptedFrom {
  /** The folder of the checkpoint that everything else is of. */
  readonly base: string;
  /** Of its model.safetensors. */
  readonly baseSha256: string;
}

/** Whether a folder holds an adapted checkpoint. */
export function isAdapted(path: string): boolean {
  return exists(join(path, DELTA_FILE));
}

/** What an adaptation of a checkpoint is of: the checkpoint, or its own base where it is adapted already. */
export function baseOf({ adapted, directory, state }: LoadedCheckpoint): AdaptedFrom {
  if (adapted) return { base: adapted.base, baseSha256: adapted.baseSha256 };
  return { base: Deno.realPathSync(directory), baseSha256: state.files.model.sha256 };
}

/** Writes changed rows. @param path The file. @param config The model. */
export function writeDelta(
  path: string,
  { rows, keys, values, history, coordinates }: RowDelta,
  { from: { base, baseSha256 }, config }: { from: AdaptedFrom; config: ModelConfig },
): void {
  const tensors = new Map([[ROW_NUMBERS, halvesOf(rows)], [ROW_KEYS, keys], [ROW_VALUES, values], [
    PAIR_HISTORY,
    history,
  ]]);
  const shapes = new Map([
    [ROW_NUMBERS, [rows.length, 2]],
    [ROW_KEYS, [rows.length, 2]],
    [ROW_VALUES, [rows.length, config.width]],
    [PAIR_HISTORY, [rows.length, historyShape(config).length]],
  ]);
  if (config.coordinates) {
    const { nodes, keys, values } = coordinates;
    tensors.set(NODE_NUMBERS, halvesOf(nodes)).set(COORDINATE_KEYS, keys).set(NODE_VALUES, values);
    shapes.set(NODE_NUMBERS, [nodes.length, 2]).set(COORDINATE_KEYS, [nodes.length, 2])
      .set(NODE_VALUES, [nodes.length, numbersPerNode(config)]);
  }
  const metadata = { format: "pt", base, base_sha256: baseSha256, sha256: sha256Of(tensors) };
  writeSafetensors(path, { shapes, tensors, metadata });
}

/**
 * Reads an adapted checkpoint.
 *
 * @param folder Where it is.
 * @param load Reads the base.
 * @throws {UserError} If the base is not there or another one than it was.
 * @throws {FormatError} If the file is damaged.
 */
export function loadAdapted(folder: string, load: (path: string) => LoadedCheckpoint): LoadedCheckpoint {
  const path = join(folder, DELTA_FILE);
  const { tensors, shapes, metadata: { base, base_sha256: baseSha256, sha256 } } = readSafetensors(path);
  if (base === undefined || baseSha256 === undefined || sha256 !== sha256Of(tensors)) {
    throw new FormatError("it holds no changed rows of a checkpoint, or was damaged; run adapt again", {
      path,
    });
  }
  if (!exists(base)) throw wrongBase(folder, { base, found: "it is not there" });
  const checkpoint = load(base);
  const { config: { model }, state } = checkpoint;
  const found = state.files.model.sha256;
  if (found !== baseSha256) {
    throw wrongBase(folder, { base, found: `its model has SHA-256 ${found.slice(0, 12)}…`, baseSha256 });
  }
  const delta = deltaOf({ tensors, shapes, metadata: {} }, { path, config: model });
  const file = { sizeBytes: fingerprint(path).sizeBytes, sha256 };
  return {
    ...checkpoint,
    directory: folder,
    state: { ...state, files: { ...state.files, model: file } },
    weights: withRowDelta(model, checkpoint.weights, delta),
    adapted: { base, baseSha256, rows: new Set(delta.rows), nodes: new Set(delta.coordinates.nodes) },
  };
}

function deltaOf(
  { tensors, shapes }: SafetensorsContent,
  { path, config }: { path: string; config: ModelConfig },
): RowDelta {
  const [numbers, keys, values, history] = [ROW_NUMBERS, ROW_KEYS, ROW_VALUES, PAIR_HISTORY].map((name) =>
    tensors.get(name)
  );
  const count = shapes.get(ROW_NUMBERS)?.[0] ?? 0;
  const isWhole = numbers?.length === 2 * count && keys?.length === 2 * count &&
    values?.length === config.width * count && history?.length === historyShape(config).length * count;
  if (!isWhole || faultOfTensors(new Map([[ROW_VALUES, values]]), WEIGHT_LIMIT)) throw damaged(path);
  const rows = numbersOf(numbers);
  if (rows.some((row) => row >= numAddressRows(config))) throw damaged(path);
  return { rows, keys, values, history, coordinates: nodeDeltaOf({ tensors, shapes }, { path, config }) };
}

function nodeDeltaOf(
  { tensors, shapes }: Pick<SafetensorsContent, "tensors" | "shapes">,
  { path, config }: { path: string; config: ModelConfig },
): NodeDelta {
  const [numbers, keys, values] = [NODE_NUMBERS, COORDINATE_KEYS, NODE_VALUES].map((name) =>
    tensors.get(name)
  );
  if (!numbers && !keys && !values) return NO_NODES;
  const count = shapes.get(NODE_NUMBERS)?.[0] ?? 0;
  const isWhole = numbers?.length === 2 * count && keys?.length === 2 * count &&
    values?.length === numbersPerNode(config) * count;
  if (!isWhole || faultOfTensors(new Map([[NODE_VALUES, values]]), WEIGHT_LIMIT)) throw damaged(path);
  const nodes = numbersOf(numbers);
  if (nodes.some((node) => node >= (config.coordinates?.nodes ?? 0))) throw damaged(path);
  return { nodes, keys, values };
}

/** Numbers as pairs of numbers below 2^16, which float32 holds exactly. */
function halvesOf(numbers: Uint32Array): Float32Array {
  return Float32Array.from([...numbers].flatMap((number) => [Math.floor(number / HALF), number % HALF]));
}

function numbersOf(halves: Float32Array): Uint32Array {
  return Uint32Array.from({ length: halves.length / 2 }, (_, i) => halves[2 * i] * HALF + halves[2 * i + 1]);
}

function damaged(path: string): FormatError {
  return new FormatError("its rows are none of its base's model, it was damaged; run adapt again", { path });
}

function wrongBase(
  folder: string,
  { base, found, baseSha256 }: { base: string; found: string; baseSha256?: string },
): UserError {
  const wanted = baseSha256 === undefined ? "the checkpoint" : `${baseSha256.slice(0, 12)}…`;
  return new UserError(
    `Cannot read ${folder}: its base is ${base}, ${found}, ${wanted} was wanted; put it back, or run adapt again on ` +
      "another checkpoint",
  );
}

/** Of the tensors' bytes, by name. */
function sha256Of(tensors: ReadonlyMap<string, Float32Array>): string {
  const hash = createHash("sha256");
  for (const [name, values] of [...tensors].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(name).update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }
  return hash.digest("hex");
}

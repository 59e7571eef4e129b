/**
 * Adapted checkpoints: `rows.safetensors`, the changed rows of addresses on top of a base that is not copied.
 *
 * Tensors: `wpe.rows` (n, 2), the numbers of rows, and `wpe.keys` (n, 2), both as pairs of numbers below 2^16, the more
 * significant first; `wpe.weight` (n, C); `wpe.history` (n, K), see `RowDelta`. Metadata: `base`, the folder of the checkpoint; `base_sha256`, that of its
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
import { historyShape, ROW_VALUES, type RowDelta, withRowDelta } from "../model/row_delta.ts";
import type { LoadedCheckpoint } from "./checkpoint.ts";
import { readSafetensors, type SafetensorsContent, writeSafetensors } from "./safetensors.ts";

/** The file's name in its folder. */
export const DELTA_FILE = "rows.safetensors";
const ROW_NUMBERS = "wpe.rows";
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
  { rows, keys, values, history }: RowDelta,
  { from: { base, baseSha256 }, config }: { from: AdaptedFrom; config: ModelConfig },
): void {
  const numbers = Float32Array.from([...rows].flatMap((row) => [Math.floor(row / HALF), row % HALF]));
  const tensors = new Map([[ROW_NUMBERS, numbers], [ROW_KEYS, keys], [ROW_VALUES, values], [
    PAIR_HISTORY,
    history,
  ]]);
  const shapes = new Map([
    [ROW_NUMBERS, [rows.length, 2]],
    [ROW_KEYS, [rows.length, 2]],
    [ROW_VALUES, [rows.length, config.width]],
    [PAIR_HISTORY, [rows.length, historyShape(config).length]],
  ]);
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
  if (delta.rows.some((row) => row >= numAddressRows(model))) throw damaged(path);
  const file = { sizeBytes: fingerprint(path).sizeBytes, sha256 };
  return {
    ...checkpoint,
    directory: folder,
    state: { ...state, files: { ...state.files, model: file } },
    weights: withRowDelta(model, checkpoint.weights, delta),
    adapted: { base, baseSha256, rows: new Set(delta.rows) },
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
  const rows = Uint32Array.from({ length: count }, (_, i) => numbers[2 * i] * HALF + numbers[2 * i + 1]);
  return { rows, keys, values, history };
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

/**
 * The files of one checkpoint: `model.safetensors`, `optimizer.safetensors`, `training_data.safetensors` and
 * `state.json` (see lib/train/CHECKPOINTS.md). `state.json` contains the checksums of the others, so that
 * damage is found before training continues.
 *
 * @module
 */
import * as z from "zod";
import { isObject } from "../base/collections.ts";
import { createHash } from "node:crypto";
import { join } from "@std/path";
import { ConfigError, ensure, FormatError, UserError } from "../base/errors.ts";
import { checked } from "../base/schema_fault.ts";
import { floatsOf, type TensorArray, tensorOf, type Tensors } from "../base/safetensors_header.ts";
import { modelShapes, PLACE_TABLE } from "../model/model_config.ts";
import { PlaceTable } from "../data/addresses/place_table.ts";
import { checkFormatVersion, FORMAT_METADATA, FORMAT_VERSION } from "../model/checkpoint_format.ts";
import { USE_ANOTHER, WEIGHT_LIMIT } from "../model/finite.ts";
import { faultOfNumbers } from "../model/tensor_bounds.ts";
import { LOSS_SCALE_STATE } from "./optim/optimizer.ts";
import { ByteFile } from "../io/files/byte_file.ts";
import {
  readSafetensors,
  type SafetensorsContent,
  type SafetensorsFile,
  sha256OfTensors,
  writeSafetensors,
} from "../io/safetensors.ts";
import { STATE_FILE } from "../io/files/checkpoint_folder.ts";
import { exists, readText } from "../io/files/inputs.ts";
import { writeJsonAtomic } from "../io/files/atomic.ts";
import { parseRunConfig, type RunConfig } from "./run_config.ts";
import { decodeTrainingData } from "../model/training_tables.ts";
import { TRAINING_DATA_FILE, writeTrainingData } from "./training_data.ts";
import type { TrainingData } from "../data/addresses/known_addresses.ts";
import { poolShapes } from "../model/pool/pool.ts";

export interface CheckpointContent {
  state: Omit<CheckpointState, "files">;
  /** Entries of `ModelShapes.entries`, by name. */
  weights: Map<string, TensorArray>;
  /** See lib/train/optim/README.md. */
  optimizer: Map<string, Float32Array>;
  trainingData: TrainingData;
  pool?: Tensors | undefined;
}

/** A checkpoint with everything needed to continue training. */
export interface ResumableCheckpoint extends LoadedCheckpoint {
  optimizer: Map<string, Float32Array>;
}

/** @throws {UserError} If the disk is full. */
export function writeCheckpoint(
  folder: string,
  { state, weights, optimizer, trainingData, pool }: CheckpointContent,
): void {
  const metadata = { ...FORMAT_METADATA, config: JSON.stringify(state.config), step: String(state.step) };
  const shapes = new Map(modelShapes(state.config.model).entries);
  const write = (name: string, content: SafetensorsContent): SafetensorsFile =>
    writeSafetensors(join(folder, name), content);
  const optimizerShapes = new Map([...optimizer].map(([name, { length }]): [string, number[]] => {
    if (name === LOSS_SCALE_STATE) return [name, [length]];
    const shape = shapes.get(name.slice(0, name.lastIndexOf(".")));
    ensure(shape, `optimizer tensor ${name} belongs to no parameter`);
    return [name, length === shape[0] ? [length] : shape];
  }));
  const files = {
    model: write("model.safetensors", { shapes, tensors: weights, metadata }),
    optimizer: write("optimizer.safetensors", { shapes: optimizerShapes, tensors: optimizer, metadata }),
    trainingData: writeTrainingData(folder, trainingData),
  };
  if (pool) writePool(folder, pool, files.model.sha256);
  writeState(folder, { ...state, files });
}

/** Paths of a checkpoint's files. A run without a validation split has no pool. */
export function checkpointFiles(folder: string): string[] {
  return ["model.safetensors", "optimizer.safetensors", TRAINING_DATA_FILE, POOL_FILE, STATE_FILE]
    .map((name) => join(folder, name)).filter(exists);
}

/**
 * @throws {UserError} If a file is missing or has another format version.
 * @throws {FormatError} If it is damaged.
 */
export function readCheckpoint(directory: string): LoadedCheckpoint {
  const state = readState(directory);
  const path = join(directory, "model.safetensors");
  const { model: config } = state.config;
  const { tensors: weights, shapes } = readVerified(path, state.files.model, { config, limit: WEIGHT_LIMIT });
  for (const [name, shape] of modelShapes(state.config.model).entries) {
    const found = shapes.get(name);
    if (found?.join() !== shape.join()) {
      throw new FormatError(`parameter ${name} has shape [${found ?? "none"}], expected [${shape}]`, {
        path,
      });
    }
  }
  if (weights.has(PLACE_TABLE)) PlaceTable.decode(tensorOf(weights, PLACE_TABLE, "U8"), path);
  return {
    directory,
    config: state.config,
    state,
    weights,
    trainingData: readTrainingData(directory, state),
    pool: readPool(directory, state.files.model.sha256),
  };
}

/** @throws {FormatError} If the table is damaged. */
export function readTrainingData(
  directory: string,
  state: CheckpointState = readState(directory),
): TrainingData {
  const path = join(directory, TRAINING_DATA_FILE);
  return decodeTrainingData(readVerified(path, state.files.trainingData), path);
}

/** Like {@link readCheckpoint}, with the optimizer's state. */
export function readResumable(directory: string): ResumableCheckpoint {
  const checkpoint = readCheckpoint(directory);
  const path = join(directory, "optimizer.safetensors");
  const { tensors } = readVerified(path, checkpoint.state.files.optimizer);
  return { ...checkpoint, optimizer: floatsOf(tensors, path) };
}

function readVerified(
  path: string,
  wanted: SafetensorsFile,
  options?: Parameters<typeof faultOfNumbers>[1],
): SafetensorsContent {
  const sha256 = sha256OfFile(path);
  if (sha256 !== wanted.sha256) {
    throw new FormatError("its checksum does not match state.json: it is damaged or truncated", { path });
  }
  const content = readSafetensors(path);
  checkFormatVersion(content.metadata.format_version, path);
  const fault = faultOfNumbers(content.tensors, options);
  if (fault) throw new FormatError(`${fault}; ${USE_ANOTHER}`, { path });
  return content;
}

function sha256OfFile(path: string): string {
  using file = ByteFile.open(path);
  const hash = createHash("sha256");
  for (const chunk of file.chunks()) hash.update(chunk);
  return hash.digest("hex");
}

const count = z.int().min(0);
const fileSchema = z.object({ sizeBytes: count, sha256: z.string() });

const stateSchema = z.object({
  version: z.string(),
  step: count,
  /** Seed of the initial weights and of the data's order and sampling. */
  seed: z.int(),
  config: z.record(z.string(), z.unknown()),
  /** Fingerprint of the training and validation data; see `dataFingerprint`. */
  dataFingerprint: z.string(),
  /** Fingerprint of the configuration before its sizes were derived (see `lastingText`); absent if not derived. */
  asked: z.string().optional(),
  /** SHA-256 of the teacher's weights, if the run has a teacher. */
  teacher: z.string().optional(),
  /** The WebGPU implementation used last. */
  engine: z.enum(["deno", "dawn"]),
  /** Where the loader continues, and the number of rows in a block. */
  position: z.object({ epoch: count, block: count, sequence: count, blockRows: z.int().min(1) }),
  /** Training losses of the last steps, in nats per token; null if not finite. */
  losses: z.array(z.object({ step: count, loss: z.number().nullable() })),
  /** Validation loss after this step, in nats per token; null if not evaluated. */
  evalLoss: z.number().nullable(),
  /** Steps whose update was skipped. */
  numSkippedSteps: count,
  /** Consecutive skipped steps, except those that only lowered the loss scale (see `addClipFactor`). */
  numSkippedInRow: count,
  files: z.object({ model: fileSchema, optimizer: fileSchema, trainingData: fileSchema }),
}).superRefine(({ step, losses, numSkippedSteps, numSkippedInRow }, context) => {
  const isLater = losses.findIndex((each) => each.step > step);
  const wrong = isLater >= 0
    ? ["losses", isLater, "step"]
    : numSkippedSteps > step
    ? ["numSkippedSteps"]
    : numSkippedInRow > numSkippedSteps
    ? ["numSkippedInRow"]
    : undefined;
  if (wrong) {
    context.addIssue({ code: "custom", path: wrong, message: "at most the total number of steps" });
  }
});

export interface CheckpointState extends Omit<z.infer<typeof stateSchema>, "config"> {
  config: RunConfig;
}

export interface AdaptedFrom {
  readonly base: string;
  /** SHA-256 of its model.safetensors. */
  readonly baseSha256: string;
}

export interface LoadedCheckpoint {
  /** The folder it was read from. */
  directory: string;
  config: RunConfig;
  /** The step, the losses, the checksums and everything else that the run needs to continue. */
  state: CheckpointState;
  weights: Map<string, TensorArray>;
  trainingData: TrainingData;
  pool?: Tensors | undefined;
  /** Base of an adapted checkpoint, and the rows and nodes that differ from it. */
  adapted?: AdaptedFrom & { rows: ReadonlySet<number>; nodes: ReadonlySet<number> };
}

export function writeState(folder: string, state: CheckpointState): void {
  const content = { formatVersion: FORMAT_VERSION, ...state };
  writeJsonAtomic(join(folder, STATE_FILE), { sha256: stateSha256(content), ...content });
}

/**
 * @throws {UserError} If `state.json` is missing or has another format version.
 * @throws {FormatError} If it is damaged, or this version of the program does not know its configuration.
 */
export function readState(folder: string): CheckpointState {
  const path = join(folder, STATE_FILE);
  const text = readText(path);
  const { sha256, formatVersion, state } = parseState(text, path);
  if (sha256 !== stateSha256({ formatVersion, ...state })) {
    throw new FormatError("its checksum does not match: it is damaged or was edited", { path });
  }
  return { ...state, config: configOf(state.config, path) };
}

function configOf(value: unknown, path: string): RunConfig {
  try {
    return parseRunConfig(value);
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    throw new FormatError(`${cause.message}; use the version of the program that wrote it`, { path, cause });
  }
}

function parseState(
  text: string,
  path: string,
): { sha256: string; formatVersion: unknown; state: z.infer<typeof stateSchema> } {
  try {
    const { sha256, formatVersion, ...rest } = z.looseObject({ sha256: z.string() }).parse(JSON.parse(text));
    checkFormatVersion(formatVersion, path);
    const state = checked(stateSchema, rest);
    if ("fault" in state) throw new FormatError({ ...state.fault, advice: USE_ANOTHER }, { path });
    return { sha256, formatVersion, state: state.data };
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw new FormatError("it is not a checkpoint state, or it is damaged or truncated", { path, cause });
  }
}

/** Hashes JSON with sorted keys, so that layout and order do not matter. */
function stateSha256(state: unknown): string {
  const sorted = JSON.stringify(
    state,
    (_key, value) =>
      isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1)) : value,
  );
  return createHash("sha256").update(sorted).digest("hex");
}

/**
 * A checkpoint's pool: its weights, and what it stores of the training data (see lib/model/pool/README.md).
 * It is made after the checkpoint and names the checkpoint's weights.
 */
export const POOL_FILE = "pool.safetensors";

/** @param modelSha256 SHA-256 of the checkpoint's model.safetensors. */
export function writePool(
  folder: string,
  tensors: Tensors,
  modelSha256: string,
): void {
  const metadata = { ...FORMAT_METADATA, model_sha256: modelSha256, sha256: sha256OfTensors(tensors) };
  writeSafetensors(join(folder, POOL_FILE), {
    tensors: new Map(tensors),
    shapes: poolShapes(tensors),
    metadata,
  });
}

/**
 * @param modelSha256 SHA-256 of the checkpoint's model.safetensors.
 * @returns Undefined if the checkpoint has no pool.
 * @throws {FormatError} If the file is damaged or belongs to another checkpoint.
 */
function readPool(folder: string, modelSha256: string): Tensors | undefined {
  const path = join(folder, POOL_FILE);
  if (!exists(path)) return undefined;
  const { tensors, metadata } = readSafetensors(path);
  checkFormatVersion(metadata.format_version, path);
  const refuse = (fault: string) =>
    new FormatError(`${fault}; delete it (the model also answers without it)`, { path });
  if (metadata.sha256 !== sha256OfTensors(tensors)) {
    throw refuse("its checksum does not match: it is damaged or truncated");
  }
  if (metadata.model_sha256 !== modelSha256) throw refuse("it belongs to another checkpoint");
  const fault = faultOfNumbers(tensors);
  if (fault !== undefined) throw refuse(fault);
  return tensors;
}

/**
 * Checkpoints: `checkpoints/step-00000200/` with `model.safetensors`, `optimizer.safetensors` and `state.json`,
 * and `checkpoints/latest`, a text file with the name of the newest one.
 *
 * A checkpoint is written under a temporary name, flushed and renamed, and `latest` is replaced last; so a kill
 * at any moment leaves the one before usable. What was damaged later is found by its checksums.
 * See lib/train/README.md.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { basename, dirname, join } from "@std/path";
import { ensure, explainFileError, FormatError, UserError } from "../errors.ts";
import { removeStaleTemporaries, syncDirectory, temporaryName, writeFileAtomic } from "../files/atomic.ts";
import { ByteFile } from "../files/byte_file.ts";
import { exists } from "../files/inputs.ts";
import { checkpointShapes } from "../model/config.ts";
import { faultOfTensors, WEIGHT_LIMIT } from "../model/finite.ts";
import { DELTA_FILE, isAdapted, loadAdapted } from "./adapted_checkpoint.ts";
import { LOSS_SCALE_STATE } from "../optim/optimizer.ts";
import { type CheckpointState, type LoadedCheckpoint, readState, writeState } from "./checkpoint_state.ts";
import {
  readSafetensors,
  type SafetensorsContent,
  type SafetensorsFile,
  writeSafetensors,
} from "../tensor_files/safetensors.ts";

/** What is saved; the checksums are added. */
export interface CheckpointContent {
  state: Omit<CheckpointState, "files">;
  /** Parameters by the names of the configuration's shapes. */
  weights: Map<string, Float32Array>;
  /** Optimizer tensors, each of a parameter's shape: the parameter's name, a dot, what it is; and the loss scale. */
  optimizer: Map<string, Float32Array>;
}

/** A checkpoint as read to go on training. */
export interface ResumableCheckpoint extends LoadedCheckpoint {
  /** Optimizer tensors by name. */
  optimizer: Map<string, Float32Array>;
}

const STEP_NAME = /^step-(\d{8,})$/;
const LATEST = "latest";

/** The folder name of a step's checkpoint. */
export function stepName(step: number): string {
  return `step-${String(step).padStart(8, "0")}`;
}

/**
 * Saves a checkpoint and makes it the latest; older ones are deleted but for the last ones and the best.
 *
 * @param checkpointsDir The folder of all checkpoints of the run.
 * @param content What to save.
 * @param options `keep`: how many of the last ones stay.
 * @returns The checkpoint's folder.
 * @throws {UserError} If it cannot be written or would be refused when it is read, since a weight is not finite; what
 *   was there before is then still whole.
 */
export function saveCheckpoint(
  checkpointsDir: string,
  content: CheckpointContent,
  options: { keep: number },
): string {
  const name = stepName(content.state.step);
  const directory = join(checkpointsDir, name);
  const temporary = temporaryName(directory);
  const fault = faultOfTensors(content.weights, WEIGHT_LIMIT) ?? faultOfTensors(content.optimizer);
  if (fault) {
    throw new UserError(
      `Cannot go on training: after step ${content.state.step} ${fault}; what was saved before is kept; lower the ` +
        "learning rates (--set optim.groups…) and start another run",
    );
  }
  try {
    removeStaleTemporaries(checkpointsDir);
    Deno.mkdirSync(temporary, { recursive: true });
    writeFiles(temporary, content);
    removeWhole(directory);
    Deno.renameSync(temporary, directory);
    syncDirectory(checkpointsDir);
    makeLatest(directory);
  } catch (error) {
    removeWhole(temporary);
    throw explainFileError(error, `write checkpoint ${directory}`);
  }
  prune(checkpointsDir, content.state.step, options.keep);
  return directory;
}

function writeFiles(folder: string, { state, weights, optimizer }: CheckpointContent): void {
  const metadata = { format: "pt", config: JSON.stringify(state.config), step: String(state.step) };
  const shapes = checkpointShapes(state.config.model);
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
  };
  writeState(folder, { ...state, files });
}

/**
 * Reads the weights and configuration of a checkpoint.
 *
 * @param path A run directory, its `checkpoints` folder, one checkpoint's folder, or that of an adapted one.
 * @param options `which`: of several, the `latest` (default) or the `best` by validation loss; `onNote` is
 *   called with a line for the user when a damaged checkpoint was passed over.
 * @throws {UserError} If there is no checkpoint.
 * @throws {FormatError} If it is damaged and there is no earlier one.
 */
export function loadCheckpoint(
  path: string,
  options: { which?: "latest" | "best"; onNote?: (line: string) => void } = {},
): LoadedCheckpoint {
  return isAdapted(path) ? loadAdapted(path, readCheckpoint) : loadFrom(path, readCheckpoint, options);
}

/**
 * Reads a checkpoint with its optimizer state.
 *
 * @param path As for {@link loadCheckpoint}.
 * @param options `onNote`: as for {@link loadCheckpoint}.
 * @throws {UserError} If there is no checkpoint.
 * @throws {FormatError} If it is damaged and there is no earlier one.
 */
export function loadResumable(
  path: string,
  options: { onNote?: (line: string) => void } = {},
): ResumableCheckpoint {
  if (isAdapted(path)) {
    throw new UserError(
      `Cannot resume from ${path}: it holds changed rows only, a checkpoint of a run was wanted; use --init-from`,
    );
  }
  return loadFrom(path, readResumable, options);
}

/**
 * Reads the latest whole checkpoint of a run with its optimizer state.
 *
 * @param checkpointsDir The folder of all checkpoints of the run; it may not exist.
 * @param options `onNote`: as for {@link loadCheckpoint}.
 * @returns The checkpoint, or undefined if the run has none.
 * @throws {FormatError} If there are checkpoints and all are damaged.
 */
export function loadForResume(
  checkpointsDir: string,
  options: { onNote?: (line: string) => void } = {},
): ResumableCheckpoint | undefined {
  if (!hasCheckpoints(checkpointsDir)) return undefined;
  return firstWhole(newestFirst(checkpointsDir), readResumable, options.onNote);
}

/** Makes a checkpoint the one that its run goes on from; later ones are deleted when the next is saved. */
export function makeLatest(directory: string): void {
  writeFileAtomic(join(dirname(directory), LATEST), `${basename(directory)}\n`);
}

/** Whether a folder holds checkpoints, damaged ones included. @param checkpointsDir It may not exist. */
export function hasCheckpoints(checkpointsDir: string): boolean {
  return exists(checkpointsDir) && stepsIn(checkpointsDir).length > 0;
}

/** All that checkpoints are made of in a folder. @param checkpointsDir It may not exist. */
export function checkpointPaths(checkpointsDir: string): string[] {
  if (!exists(checkpointsDir)) return [];
  const names = [...stepsIn(checkpointsDir).map(stepName), LATEST];
  return names.map((name) => join(checkpointsDir, name)).filter(exists);
}

/** The states of the checkpoints of a folder, by step; damaged ones are left out. */
export function listCheckpoints(checkpointsDir: string): CheckpointState[] {
  const states = stepsIn(checkpointsDir).flatMap((step) => {
    try {
      return [readState(join(checkpointsDir, stepName(step)))];
    } catch (error) {
      if (error instanceof UserError) return [];
      throw error;
    }
  });
  return states;
}

/**
 * The folder of the checkpoint that a path stands for, without reading it.
 *
 * @param path As for {@link loadCheckpoint}; of a run, its latest.
 * @throws {UserError} If there is no checkpoint.
 */
export function checkpointDirectory(path: string): string {
  if (isAdapted(path)) return path;
  const { folders } = candidates(path, "latest");
  if (folders.length === 0) throw noCheckpoint(path);
  return folders[0];
}

/** The file that tells a checkpoint from others. @throws {UserError} As {@link checkpointDirectory}. */
export function modelFileOf(path: string): string {
  const folder = checkpointDirectory(path);
  return join(folder, isAdapted(folder) ? DELTA_FILE : "model.safetensors");
}

function loadFrom<T>(
  path: string,
  read: (folder: string) => T,
  options: { which?: "latest" | "best"; onNote?: (line: string) => void },
): T {
  const { folders, isSingle } = candidates(path, options.which ?? "latest");
  if (folders.length === 0) throw noCheckpoint(path);
  return isSingle ? read(folders[0]) : firstWhole(folders, read, options.onNote);
}

function noCheckpoint(path: string): UserError {
  return new UserError(
    `Cannot read a checkpoint from ${path}: there is none, a run directory was wanted; ` +
      `make one with deno task train --data DIR --run ${path}`,
  );
}

function candidates(path: string, which: "latest" | "best"): { folders: string[]; isSingle: boolean } {
  if (!exists(path)) {
    throw new UserError(`Cannot read a checkpoint from ${path}: no such file or directory; check the path`);
  }
  if (exists(join(path, "state.json")) || STEP_NAME.test(basename(path))) {
    return { folders: [path], isSingle: true };
  }
  const nested = join(path, "checkpoints");
  const checkpointsDir = exists(nested) ? nested : path;
  const folders = newestFirst(checkpointsDir);
  const best = which === "best" ? bestStep(listCheckpoints(checkpointsDir)) : undefined;
  if (best === undefined) return { folders, isSingle: false };
  return { folders: [join(checkpointsDir, stepName(best))], isSingle: true };
}

/** The folder that `latest` names, then the others from the highest step down. */
function newestFirst(checkpointsDir: string): string[] {
  const steps = stepsIn(checkpointsDir).reverse();
  const path = join(checkpointsDir, LATEST);
  const named = exists(path) ? STEP_NAME.exec(Deno.readTextFileSync(path).trim())?.[1] : undefined;
  const latest = named === undefined ? Infinity : Number(named);
  const order = [...steps.filter((step) => step <= latest), ...steps.filter((step) => step > latest)];
  return order.map((step) => join(checkpointsDir, stepName(step)));
}

function firstWhole<T>(folders: string[], read: (folder: string) => T, onNote?: (line: string) => void): T {
  let firstError: unknown;
  for (const folder of folders) {
    try {
      const whole = read(folder);
      if (firstError instanceof Error) onNote?.(`${firstError.message}; using ${folder} instead`);
      return whole;
    } catch (error) {
      if (!isDamage(error)) throw error;
      firstError ??= error;
    }
  }
  throw firstError;
}

/** Whether an error means that this checkpoint is not whole: damaged bytes, or a file that is not there. */
function isDamage(error: unknown): boolean {
  return error instanceof FormatError ||
    (error instanceof UserError && error.cause instanceof Deno.errors.NotFound);
}

function readCheckpoint(directory: string): LoadedCheckpoint {
  const state = readState(directory);
  const path = join(directory, "model.safetensors");
  const { tensors: weights, shapes } = readVerified(path, state.files.model, WEIGHT_LIMIT);
  for (const [name, shape] of checkpointShapes(state.config.model)) {
    const found = shapes.get(name);
    if (found?.join() !== shape.join()) {
      throw new FormatError(`parameter ${name} has shape [${found ?? "none"}], [${shape}] was wanted`, {
        path,
      });
    }
  }
  return { directory, config: state.config, state, weights };
}

function readResumable(directory: string): ResumableCheckpoint {
  const checkpoint = readCheckpoint(directory);
  const path = join(directory, "optimizer.safetensors");
  const { tensors: optimizer } = readVerified(path, checkpoint.state.files.optimizer);
  return { ...checkpoint, optimizer };
}

function readVerified(path: string, wanted: SafetensorsFile, limit = Infinity): SafetensorsContent {
  const sha256 = sha256OfFile(path);
  if (sha256 !== wanted.sha256) {
    throw new FormatError("its checksum does not match state.json, it was damaged or cut short", { path });
  }
  const content = readSafetensors(path);
  const fault = faultOfTensors(content.tensors, limit);
  if (fault) throw new FormatError(`${fault}; use an earlier checkpoint or another run`, { path });
  return content;
}

function sha256OfFile(path: string): string {
  using file = ByteFile.open(path);
  const hash = createHash("sha256");
  for (const chunk of file.chunks()) hash.update(chunk);
  return hash.digest("hex");
}

/** Deletes checkpoints but the last `keep` up to `step` and the best; later ones are of an abandoned line. */
function prune(checkpointsDir: string, step: number, keep: number): void {
  const steps = stepsIn(checkpointsDir);
  const kept = new Set(steps.filter((other) => other <= step).slice(-keep));
  const best = bestStep(listCheckpoints(checkpointsDir).filter((state) => state.step <= step));
  for (const other of steps) {
    if (!kept.has(other) && other !== best) removeWhole(join(checkpointsDir, stepName(other)));
  }
}

function bestStep(states: CheckpointState[]): number | undefined {
  let best: CheckpointState | undefined;
  for (const state of states) {
    if (state.evalLoss === null) continue;
    if (best?.evalLoss === undefined || best.evalLoss === null || state.evalLoss < best.evalLoss) {
      best = state;
    }
  }
  return best?.step;
}

/** The steps that have a folder, ascending. */
function stepsIn(checkpointsDir: string): number[] {
  const steps: number[] = [];
  try {
    for (const entry of Deno.readDirSync(checkpointsDir)) {
      const match = STEP_NAME.exec(entry.name);
      if (match && entry.isDirectory) steps.push(Number(match[1]));
    }
  } catch (error) {
    throw explainFileError(error, `read ${checkpointsDir}`);
  }
  return steps.sort((a, b) => a - b);
}

/** Deletes a folder; renamed first, so that a kill in between leaves no half of it under its name. */
function removeWhole(folder: string): void {
  if (!exists(folder)) return;
  const doomed = temporaryName(folder);
  Deno.renameSync(folder, doomed);
  Deno.removeSync(doomed, { recursive: true });
}

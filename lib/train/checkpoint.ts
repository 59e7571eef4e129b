/**
 * The checkpoints of a run: one folder each, such as `checkpoints/step-00000200/`, and `checkpoints/latest`,
 * a text file with the name of the newest one.
 *
 * A checkpoint is written under a temporary name, flushed and renamed, and `latest` is replaced last. A kill
 * at any moment therefore leaves the previous checkpoint usable. Checksums detect later damage.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import { FormatError, UserError } from "../base/errors.ts";
import { explained, explainFileError } from "../io/files/file_errors.ts";
import { removeStaleTemporaries, syncDirectory, temporaryName, writeFileAtomic } from "../io/files/atomic.ts";
import {
  CHECKPOINTS,
  isCheckpointFolder,
  runOfCheckpoint,
  stepName,
  stepOfName,
} from "../io/files/checkpoint_folder.ts";
import { exists, infoOf, readText } from "../io/files/inputs.ts";
import { readManifests } from "../io/files/task_manifests.ts";
import { faultOfTensors, WEIGHT_LIMIT } from "../model/finite.ts";
import {
  type CheckpointContent,
  type CheckpointState,
  type LoadedCheckpoint,
  POOL_FILE,
  readCheckpoint,
  readResumable,
  readState,
  type ResumableCheckpoint,
  writeCheckpoint,
} from "./checkpoint_files.ts";
import { isAdapted, loadAdapted, UPDATE_FILE } from "./adapted_checkpoint.ts";

const LATEST = "latest";

/**
 * Saves a checkpoint and makes it the latest. Older ones are deleted, except the last few, the best, and
 * those at which the run may end.
 *
 * @param checkpointsDir The folder of all checkpoints of the run.
 * @param options `keep`: how many of the last checkpoints to keep; `ends`: steps whose checkpoints are kept.
 * @returns The checkpoint's folder.
 * @throws {UserError} If it cannot be written, or a weight is not finite, which reading would reject. Earlier
 *   checkpoints are then unchanged.
 */
export function saveCheckpoint(
  checkpointsDir: string,
  content: CheckpointContent,
  options: { keep: number; ends?: readonly number[] },
): string {
  const name = stepName(content.state.step);
  const directory = join(checkpointsDir, name);
  const temporary = temporaryName(directory);
  const fault = faultOfTensors(content.weights, WEIGHT_LIMIT) ?? faultOfTensors(content.optimizer);
  if (fault) {
    throw new UserError(
      `Cannot continue training: after step ${content.state.step} ${fault}; earlier checkpoints are kept; lower the ` +
        "learning rates (--set optim.groups…) and start another run",
    );
  }
  try {
    removeStaleTemporaries(checkpointsDir);
    Deno.mkdirSync(temporary, { recursive: true });
    writeCheckpoint(temporary, content);
    removeWhole(directory);
    Deno.renameSync(temporary, directory);
    syncDirectory(checkpointsDir);
    makeLatest(directory);
  } catch (error) {
    removeWhole(temporary);
    throw explainFileError(error, `write checkpoint ${directory}`);
  }
  prune(checkpointsDir, content.state.step, options);
  return directory;
}

interface ReadOptions {
  /** Called with a message for the user when a damaged checkpoint is skipped. */
  onNote?: (line: string) => void;
}

/**
 * Reads the weights and configuration of a checkpoint.
 *
 * @param path A run's folder, its `checkpoints` folder, or the folder of a checkpoint, adapted or not.
 * @throws {UserError} If there is no checkpoint.
 * @throws {FormatError} If it is damaged and there is no earlier one.
 */
export function loadCheckpoint(path: string, options: ReadOptions = {}): LoadedCheckpoint {
  return orReplacing(
    path,
    () => isAdapted(path) ? loadAdapted(path, readCheckpoint) : loadFrom(path, readCheckpoint, options),
  );
}

/** Like {@link loadCheckpoint}, with the optimizer's state, which adapted checkpoints lack. */
export function loadResumable(path: string, options: ReadOptions = {}): ResumableCheckpoint {
  if (isAdapted(path)) {
    throw new UserError(
      `Cannot resume from ${path}: it contains only changed embeddings, expected a checkpoint of a run; use --init-from`,
    );
  }
  return orReplacing(path, () => loadFrom(path, readResumable, options));
}

/**
 * Loads the latest intact checkpoint of a run with its optimizer state; undefined if the run has none.
 *
 * @param checkpointsDir May not exist.
 * @throws {FormatError} If there are checkpoints and all are damaged.
 */
export function loadForResume(
  checkpointsDir: string,
  options: ReadOptions = {},
): ResumableCheckpoint | undefined {
  if (!hasCheckpoints(checkpointsDir)) return undefined;
  return firstWhole(newestFirst(checkpointsDir), readResumable, options.onNote);
}

/** Makes a checkpoint the one that its run continues from. Later ones are deleted at the next save. */
export function makeLatest(directory: string): void {
  writeFileAtomic(join(dirname(directory), LATEST), `${basename(directory)}\n`);
}

/** Whether a folder, which may not exist, contains checkpoints, damaged ones included. */
export function hasCheckpoints(checkpointsDir: string): boolean {
  return exists(checkpointsDir) && stepsIn(checkpointsDir).length > 0;
}

/** Lists the paths of all checkpoints, the latest last, and of `latest`. The folder may not exist. */
export function checkpointPaths(checkpointsDir: string): string[] {
  if (!exists(checkpointsDir)) return [];
  return [...newestFirst(checkpointsDir).reverse(), join(checkpointsDir, LATEST)].filter(exists);
}

/** Reads the states of a folder's checkpoints, ordered by step, without damaged ones. */
export function listCheckpoints(checkpointsDir: string): CheckpointState[] {
  return stepsIn(checkpointsDir).flatMap((step) => {
    try {
      return [readState(join(checkpointsDir, stepName(step)))];
    } catch (error) {
      if (error instanceof UserError) return [];
      throw error;
    }
  });
}

/**
 * Finds the folder of the checkpoint that a path refers to, without reading it.
 *
 * @param path As for {@link loadCheckpoint}; a run refers to its latest checkpoint.
 * @throws {UserError} If there is no checkpoint.
 */
export function checkpointDirectory(path: string): string {
  if (isAdapted(path)) return path;
  return orReplacing(path, () => {
    const { folders } = candidates(path);
    if (folders.length === 0) throw noCheckpoint(path);
    return folders[0];
  });
}

/**
 * Lists the files that determine a checkpoint's answers: its weights, and its pool if it has one.
 *
 * @throws {UserError} As {@link checkpointDirectory}.
 */
export function modelFilesOf(path: string): string[] {
  const folder = checkpointDirectory(path);
  const pool = join(folder, POOL_FILE);
  const weights = join(folder, isAdapted(folder) ? UPDATE_FILE : "model.safetensors");
  return [weights, ...(exists(pool) ? [pool] : [])];
}

/** Calls `read`. If it fails because a checkpoint is only half replaced, the error reports that. */
function orReplacing<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof UserError) readManifests(runOfCheckpoint(path) ?? path);
    throw error;
  }
}

function loadFrom<T>(path: string, read: (folder: string) => T, options: ReadOptions): T {
  const { folders, isSingle } = candidates(path);
  if (folders.length === 0) throw noCheckpoint(path);
  return isSingle ? read(folders[0]) : firstWhole(folders, read, options.onNote);
}

/** Describes what is at a path instead of a checkpoint. */
function noCheckpoint(path: string): UserError {
  const wanted = "expected a run directory";
  const train = join(path, "train");
  const [found, advice] = hasCheckpoints(join(train, CHECKPOINTS))
    ? [`found a folder with a run in it, ${wanted}`, `use ${train}`]
    : [path, train].some(holdsRows)
    ? [`found probe rows, ${wanted}`, `train a model: deno task train --data ${path} --run runs/first`]
    : [`found no checkpoint, ${wanted}`, "train a model: deno task train --data DIR --run runs/first"];
  return new UserError(`Cannot read a checkpoint from ${path}: ${found}; ${advice}`);
}

/** Whether a folder, which may not exist, contains files of probe rows. */
function holdsRows(folder: string): boolean {
  return infoOf(folder)?.isDirectory === true &&
    [...Deno.readDirSync(folder)].some(({ name }) => name.endsWith(".arrayrecord"));
}

function candidates(path: string): { folders: string[]; isSingle: boolean } {
  const info = infoOf(path);
  if (!info) {
    throw new UserError(`Cannot read a checkpoint from ${path}: no such file or directory; check the path`);
  }
  if (!info.isDirectory) {
    throw new UserError(
      `Cannot read a checkpoint from ${path}: found a file, expected a run directory; give the run's folder`,
    );
  }
  if (isCheckpointFolder(path)) return { folders: [path], isSingle: true };
  const nested = join(path, CHECKPOINTS);
  const checkpointsDir = exists(nested) ? nested : path;
  return { folders: newestFirst(checkpointsDir), isSingle: false };
}

/** The folder that `latest` names, then the others by descending step. */
function newestFirst(checkpointsDir: string): string[] {
  const steps = stepsIn(checkpointsDir).reverse();
  const path = join(checkpointsDir, LATEST);
  const latest = (exists(path) ? stepOfName(readText(path).trim()) : undefined) ?? Infinity;
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

/** Whether an error means that this checkpoint is damaged or incomplete. */
function isDamage(error: unknown): boolean {
  return error instanceof FormatError ||
    (error instanceof UserError && error.cause instanceof Deno.errors.NotFound);
}

/**
 * Deletes all checkpoints except the best, the last `keep` and those of `ends` up to `step`. Checkpoints
 * after `step` remain from before a resume.
 */
function prune(
  checkpointsDir: string,
  step: number,
  { keep, ends = [] }: { keep: number; ends?: readonly number[] },
): void {
  const steps = stepsIn(checkpointsDir);
  const earlier = (all: readonly number[]) => all.filter((other) => other <= step);
  const kept = new Set([...earlier(steps).slice(-keep), ...earlier(ends)]);
  const best = bestStep(listCheckpoints(checkpointsDir).filter((state) => state.step <= step));
  for (const other of steps) {
    if (!kept.has(other) && other !== best) removeWhole(join(checkpointsDir, stepName(other)));
  }
}

/** The step with the lowest validation loss, the first in a tie. */
function bestStep(states: CheckpointState[]): number | undefined {
  const evaluated = states.flatMap(({ step, evalLoss }) => evalLoss === null ? [] : [{ step, evalLoss }]);
  return evaluated.sort((a, b) => a.evalLoss - b.evalLoss)[0]?.step;
}

/** The steps that have a folder, ascending. */
function stepsIn(checkpointsDir: string): number[] {
  const entries = explained(`read ${checkpointsDir}`, () => [...Deno.readDirSync(checkpointsDir)]);
  const folders = entries.filter(({ isDirectory }) => isDirectory);
  return folders.flatMap(({ name }) => stepOfName(name) ?? []).sort((a, b) => a - b);
}

/** Deletes a folder or file. It is renamed first, so that a kill leaves no partial content under its name. */
export function removeWhole(folder: string): void {
  if (!exists(folder)) return;
  const doomed = temporaryName(folder);
  Deno.renameSync(folder, doomed);
  Deno.removeSync(doomed, { recursive: true });
}

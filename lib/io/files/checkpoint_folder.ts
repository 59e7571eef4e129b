/**
 * Names in the folders of runs and checkpoints: `RUN/checkpoints/step-00000200/`, which contains
 * `state.json`. The program uses them at every start, before loading a stage, so this module must not import
 * any module of a stage.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import { exists } from "./inputs.ts";

export const CHECKPOINTS = "checkpoints";
/** The files that `train` writes to a run's folder, except {@link CHECKPOINTS} and the work folder. */
export const RUN_FILES = {
  tensorboard: "tensorboard",
  metrics: "metrics.jsonl",
  profile: "profile.txt",
  manifest: "manifest.json",
  places: "places.json",
  choice: "choice.json",
  report: "report.html",
} as const;
/** The checkpoint file with the step, the configuration and checksums. */
export const STATE_FILE = "state.json";
const STEP_NAME = /^step-(\d{8,})$/;

export function stepName(step: number): string {
  return `step-${String(step).padStart(8, "0")}`;
}

/** Parses the step from a checkpoint's folder name; undefined for other names. */
export function stepOfName(folder: string): number | undefined {
  const digits = STEP_NAME.exec(basename(folder))?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Whether a folder is a checkpoint. A folder with a checkpoint's name counts, even if damaged. */
export function isCheckpointFolder(folder: string): boolean {
  return hasState(folder) || stepOfName(folder) !== undefined;
}

/** Whether a folder contains the state of a checkpoint. @throws {UserError} If that may not be read. */
export function hasState(folder: string): boolean {
  return exists(join(folder, STATE_FILE));
}

/** The run of a path that is a run's checkpoints folder or a checkpoint in it; undefined for other paths. */
export function runOfCheckpoint(path: string): string | undefined {
  const checkpoints = [path, dirname(path)].find((folder) => basename(folder) === CHECKPOINTS);
  return checkpoints && dirname(checkpoints);
}

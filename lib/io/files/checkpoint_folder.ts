/**
 * The names in the folders of runs and checkpoints: `RUN/checkpoints/step-00000200/` with `state.json` in it. The program looks
 * for them at every start, before it loads a stage, so this imports no module of a stage.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import { exists } from "./inputs.ts";

/** The folder of a run's checkpoints. */
export const CHECKPOINTS = "checkpoints";
/** The names of what `train` writes to the folder of a run, beside {@link CHECKPOINTS} and its work folder. */
export const RUN_FILES = {
  tensorboard: "tensorboard",
  metrics: "metrics.jsonl",
  profile: "profile.txt",
  manifest: "manifest.json",
  places: "places.json",
  choice: "choice.json",
  report: "report.html",
} as const;
/** A checkpoint's file with its step, configuration and checksums. */
export const STATE_FILE = "state.json";
const STEP_NAME = /^step-(\d{8,})$/;

/** The folder name of a step's checkpoint. */
export function stepName(step: number): string {
  return `step-${String(step).padStart(8, "0")}`;
}

/** The step that a checkpoint's folder is named for; undefined if it has another name. */
export function stepOfName(folder: string): number | undefined {
  const digits = STEP_NAME.exec(basename(folder))?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Whether a folder is a checkpoint: one of this name may be damaged. */
export function isCheckpointFolder(folder: string): boolean {
  return hasState(folder) || stepOfName(folder) !== undefined;
}

/** Whether a folder has the state of a checkpoint. @throws {UserError} If that may not be read. */
export function hasState(folder: string): boolean {
  return exists(join(folder, STATE_FILE));
}

/** The run of a path: of a run's checkpoints or one of them the run, else undefined. */
export function runOfCheckpoint(path: string): string | undefined {
  const checkpoints = [path, dirname(path)].find((folder) => basename(folder) === CHECKPOINTS);
  return checkpoints && dirname(checkpoints);
}

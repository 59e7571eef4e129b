/**
 * Checks of the inputs of the stages that read other stages' data.
 *
 * @module
 */
import { PhaseProgress } from "../lib/cli/progress.ts";
import type { StageContext } from "../lib/cli/stage.ts";
import { UserError } from "../lib/base/errors.ts";
import { type CheckedOutputs, checkOutputs, type OutputCheck } from "../lib/io/files/checked_outputs.ts";
import { exists, findFiles } from "../lib/io/files/inputs.ts";

/**
 * Checks the inputs of a stage against their manifests; logs the links that are followed.
 *
 * @param paths Files, folders and globs.
 * @param options The stage's options for {@link checkOutputs}.
 * @param context The stage's context.
 * @throws {UserError} If a file is missing, changed or not listed.
 */
export async function checkInputs(
  paths: readonly string[],
  { verify, onCorrupt, isRead }: Pick<OutputCheck, "verify" | "onCorrupt" | "isRead">,
  context: StageContext,
): Promise<CheckedOutputs> {
  using progress = new PhaseProgress(context, "bytes");
  return await checkOutputs(paths, {
    verify,
    onCorrupt,
    isRead,
    signal: context.signal,
    onProgress: progress.update,
    onLink: context.log,
  });
}

/** Refuses measurements instead of probe rows. @param action Such as `train on`. @throws {UserError} If it finds them. */
export function requireProbeRows(path: string, action: string): void {
  if (holds(path, ".arrayrecord") || !holds(path, ".parquet")) return;
  throw new UserError(
    `Cannot ${action} ${path}: found measurements Parquet, expected a folder of probe rows; make probe rows first: ` +
      `deno task probe-rows --input ${path} --output data/rows`,
  );
}

/** Refuses probe rows instead of measurements. @param action Such as `shard`. @throws {UserError} If it finds them. */
export function requireMeasurements(paths: readonly string[], action: string): void {
  for (const path of paths) {
    if (holds(path, ".parquet") || !holds(path, ".arrayrecord")) continue;
    throw new UserError(
      `Cannot ${action} ${path}: found probe rows, expected measurements Parquet; give the Parquet files from ` +
        "which the probe rows were made",
    );
  }
}

/** Whether a path is a file of a kind, or a folder with one. */
function holds(path: string, extension: string): boolean {
  if (!exists(path)) return false;
  if (!Deno.statSync(path).isDirectory) return path.endsWith(extension);
  return findFiles(path, { extensions: [extension] }).size > 0;
}

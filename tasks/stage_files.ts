/** Files of stages: checks of inputs that other stages wrote, and outputs that are a single file. @module */
import { PhaseProgress } from "../lib/cli/progress.ts";
import type { StageContext } from "../lib/cli/stage.ts";
import { UserError } from "../lib/base/errors.ts";
import { formatSeconds } from "../lib/base/text.ts";
import { type CheckedOutputs, checkOutputs, type OutputCheck } from "../lib/io/files/checked_outputs.ts";
import { exists, findFiles } from "../lib/io/files/inputs.ts";
import { basename, dirname, join } from "@std/path";
import type { Manifest } from "../lib/io/files/manifest.ts";
import { Output, type OutputStart } from "../lib/io/files/output.ts";
import { placeOfFile } from "../lib/io/files/output_place.ts";

/**
 * Checks the inputs of a stage against their manifests, and logs which links are followed.
 *
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

/** @param action Such as `train on`. @throws {UserError} If it finds measurements instead of probe rows. */
export function requireProbeRows(path: string, action: string): void {
  if (holds(path, ".arrayrecord") || !holds(path, ".parquet")) return;
  throw new UserError(
    `Cannot ${action} ${path}: found measurements Parquet, expected a folder of probe rows; make probe rows first: ` +
      `deno task probe-rows --input ${path} --output data/rows`,
  );
}

/** @param action Such as `shard`. @throws {UserError} If it finds probe rows instead of measurements. */
export function requireMeasurements(paths: readonly string[], action: string): void {
  for (const path of paths) {
    if (holds(path, ".parquet") || !holds(path, ".arrayrecord")) continue;
    throw new UserError(
      `Cannot ${action} ${path}: found probe rows, expected measurements Parquet; give the Parquet files from ` +
        "which the probe rows were made",
    );
  }
}

/** Whether a path is a file of a kind, or a folder that contains one. */
function holds(path: string, extension: string): boolean {
  if (!exists(path)) return false;
  if (!Deno.statSync(path).isDirectory) return path.endsWith(extension);
  return findFiles(path, { extensions: [extension] }).size > 0;
}

interface WrittenFile extends Pick<Manifest, "counts"> {
  rows?: number;
  /** Numbers of rejected rows by reason. */
  rejected?: Manifest["rejected"];
}

export interface FileRun {
  manifest: Manifest;
  /** How long the work took; 0 if it had been done before. */
  seconds: number;
  /** Whether an earlier run with the same inputs and options had made it. */
  isDone: boolean;
}

/**
 * Makes an output file and its manifest, unless they exist from a run with the same inputs and options.
 *
 * @param start `besides`: further files that the stage may write next to the output.
 * @param make Writes the file to `path` and further ones next to it; temporary files go to `workPath`.
 * @throws {UserError} If one of the files belongs to another run, or another process is writing them.
 */
export async function makeOutputFile(
  output: string,
  start: OutputStart & { besides: (path: string) => readonly string[] },
  make: (work: { path: string; workPath(name: string): string }) => Promise<WrittenFile>,
): Promise<FileRun> {
  const startMs = performance.now();
  const { path } = placeOfFile(output);
  using staged = Output.openFile(path, { ...start, besides: start.besides(path) });
  const { manifest } = staged;
  if (staged.isComplete) return { manifest, seconds: 0, isDone: true };
  const made = join(staged.folder, basename(path));
  const { counts, rows, rejected = {} } = await make({
    path: made,
    workPath: (name) => staged.workPath(name),
  });
  Object.assign(manifest, { counts, rejected });
  await staged.record(basename(path), rows === undefined ? undefined : { rows });
  for (const beside of start.besides(made)) if (exists(beside)) await staged.record(basename(beside));
  staged.publish();
  return { manifest, seconds: (performance.now() - startMs) / 1000, isDone: false };
}

/** The beginning of a result's text. `seconds` is how long the work took, if that is known. */
export function madeText(output: string, { isDone, seconds }: { isDone: boolean; seconds?: number }): string {
  if (isDone) return `${output} is already complete, from the same inputs and options`;
  return `Wrote ${output}${seconds === undefined ? "" : ` in ${formatSeconds(seconds)}`}`;
}

export function outputPaths(output: string, { outputs }: Manifest): string[] {
  return outputs.map(({ path }) => `${dirname(output)}/${path}`);
}

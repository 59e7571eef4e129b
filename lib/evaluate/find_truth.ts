/**
 * Finds the truth file of probe rows that were made of a synthetic Internet: probe rows know what they were made of,
 * and `synth` writes its truth beside its measurements.
 *
 * @module
 */
import { dirname } from "@std/path";
import { exists } from "../files/inputs.ts";
import { requireFinished } from "../files/task_manifests.ts";
import { truthPathBeside } from "../synth/truth.ts";

/**
 * The truth file beside the measurements that probe rows were made of, directly or by way of shards.
 *
 * @param rowsDir The folder of probe rows.
 * @returns Undefined if there is none, or if the rows were made of several files with a truth each.
 */
export function findTruthFile(rowsDir: string): string | undefined {
  const inputs = inputsOf(rowsDir);
  const beside = truthsBeside(inputs);
  if (beside.length > 0) return onlyOf(beside);
  const shardFolders = [...new Set(inputs.map((path) => dirname(dirname(path))))];
  return onlyOf(truthsBeside(shardFolders.flatMap(inputsOf)));
}

function truthsBeside(files: readonly string[]): string[] {
  return [...new Set(files.map(truthPathBeside))].filter(isReadable);
}

function onlyOf(files: readonly string[]): string | undefined {
  return files.length === 1 ? files[0] : undefined;
}

/** Paths of what the stage that wrote a folder read; none where no manifest says. */
function inputsOf(folder: string): string[] {
  return isReadable(folder)
    ? requireFinished(folder).flatMap(({ manifest: { inputs } }) => inputs.map(({ path }) => path))
    : [];
}

/** Whether a path that a manifest names is there and may be read. */
export function isReadable(path: string): boolean {
  return Deno.permissions.querySync({ name: "read", path }).state === "granted" && exists(path);
}

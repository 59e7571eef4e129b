/**
 * The origin of probe rows: their manifests, those of the shards they were made of, and the truth file of a synthetic
 * Internet beside the measurements.
 *
 * @module
 */
import { dirname } from "@std/path";
import { exists } from "../io/files/inputs.ts";
import type { Manifest } from "../io/files/manifest.ts";
import { requireFinished } from "../io/files/task_manifests.ts";
import { truthPathBeside } from "../data/synth/truth.ts";

/** The manifests of a folder; none where it is not there or may not be read. */
export function manifestsOf(folder: string): readonly Manifest[] {
  return isReadable(folder) ? requireFinished(folder).map(({ manifest }) => manifest) : [];
}

/** The folders of the shards that probe rows may have been made of. @param manifests Those of the rows. */
export function shardFoldersOf(manifests: readonly Manifest[]): string[] {
  return [...new Set(inputsOf(manifests).map((path) => dirname(dirname(path))))];
}

/**
 * The truth file beside the measurements that probe rows were made of, directly or by way of shards.
 *
 * @param rowsDir The folder of probe rows.
 * @returns Undefined if there is none, or if the rows were made of several files with a truth each.
 */
export function findTruthFile(rowsDir: string): string | undefined {
  const manifests = manifestsOf(rowsDir);
  let truths = truthsBeside(manifests);
  if (truths.length === 0) truths = truthsBeside(shardFoldersOf(manifests).flatMap(manifestsOf));
  return truths.length === 1 ? truths[0] : undefined;
}

function truthsBeside(manifests: readonly Manifest[]): string[] {
  return [...new Set(inputsOf(manifests).map(truthPathBeside))].filter(isReadable);
}

function inputsOf(manifests: readonly Manifest[]): string[] {
  return manifests.flatMap(({ inputs }) => inputs.map(({ path }) => path));
}

function isReadable(path: string): boolean {
  return Deno.permissions.querySync({ name: "read", path }).state === "granted" && exists(path);
}

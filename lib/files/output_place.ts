/**
 * Where outputs go, where they are made, and how they get from one place to the other.
 *
 * @module
 */
import { basename, dirname, join, resolve } from "@std/path";
import { explainFileError } from "../errors.ts";
import { syncDirectory } from "./atomic.ts";
import { exists } from "./inputs.ts";
import { readManifest } from "./manifest.ts";
import { WORK } from "./array_task.ts";

/** The folder of outputs within a work folder. */
export const NEXT = "next";
/** The manifest of unfinished work, within its folder. */
export const MANIFEST = "manifest.json";

/** Where an output goes. */
export interface Place {
  /** As the user named it. */
  output: string;
  /** The folder that names in the manifest are relative to. */
  root: string;
  /** The folder of everything unfinished, within `root`. */
  work: string;
  /** The manifest of what is in its place. */
  manifestPath: string;
}

/** The file that a path stands for, whose place it takes when it is whole, and the folder of work on it. */
export function placeOfFile(file: string): { path: string; work: string } {
  const path = targetOf(file);
  return { path, work: join(dirname(path), `.${basename(path)}${WORK}`) };
}

/** Where a link points to, perhaps to nothing yet; any other path itself. */
function targetOf(file: string): string {
  try {
    if (!Deno.lstatSync(file).isSymlink) return file;
    return targetOf(resolve(dirname(file), Deno.readLinkSync(file)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return file;
    throw explainFileError(error, `write ${file}`);
  }
}

/**
 * Moves the outputs of finished work to their places, and deletes what they replace, if there is such work. After a
 * kill on the way the next call goes on.
 *
 * @throws {UserError} If a file cannot be moved.
 */
export function finishMoving({ root, work, manifestPath }: Place): void {
  const manifest = readManifest(join(work, MANIFEST));
  if (!manifest?.complete) return;
  try {
    const names = new Set(manifest.outputs.map(({ path }) => path));
    const replaced = readManifest(manifestPath);
    if (replaced?.stage === manifest.stage) {
      for (const { path } of replaced.outputs) if (!names.has(path)) removeOutput(root, path);
    }
    const folders = new Set([root]);
    for (const name of names) {
      const from = join(work, NEXT, name);
      if (!exists(from)) continue;
      const to = join(root, name);
      // The place of a file is there, and this process may not be allowed to make it.
      if (!folders.has(dirname(to))) Deno.mkdirSync(dirname(to), { recursive: true });
      folders.add(dirname(to));
      Deno.renameSync(from, to);
    }
    folders.forEach(syncDirectory);
    Deno.renameSync(join(work, MANIFEST), manifestPath);
    syncDirectory(root);
  } catch (error) {
    throw explainFileError(error, `write to ${root}`);
  }
}

/** Deletes a file, and the folders on the way to it that are empty then. */
function removeOutput(root: string, name: string): void {
  try {
    Deno.removeSync(join(root, name));
    for (let folder = dirname(name); folder !== "."; folder = dirname(folder)) {
      Deno.removeSync(join(root, folder));
    }
  } catch { /* it is gone already, or the folder holds more */ }
}

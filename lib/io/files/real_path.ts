/**
 * Paths as the file system sees them, and whether an output would replace, delete or mix with the inputs of
 * the same command. The program loads this module at every start, before it loads a stage.
 *
 * @module
 */
import { basename, dirname, join, resolve } from "@std/path";
import { getOrMake } from "../../base/collections.ts";
import { UsageError } from "../../base/errors.ts";

/** Resolves links. Parts of the path that do not exist or may not be read stay unchanged. */
export function realPath(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch { /* only the part that can be followed counts */ }
  const whole = resolve(path);
  const folder = dirname(whole);
  if (folder === whole) return whole;
  const realFolder = realPath(folder);
  try {
    return realPath(resolve(realFolder, Deno.readLinkSync(whole)));
  } catch {
    return join(realFolder, basename(whole));
  }
}

/**
 * Rejects an output that is an input, lies in an input folder, or contains an input.
 *
 * Paths are compared as the file system sees them: links are followed, and two paths are equal if they name
 * the same file, whatever their spelling.
 *
 * @param output The file or folder to be written; it may not exist.
 * @param inputs Files and folders to be read; those that do not exist are ignored.
 * @param what What the message calls them.
 * @throws {UsageError} If they overlap.
 */
export function refuseOverlap(output: string, inputs: readonly string[], what = "input"): void {
  const known = new Map<string, string>();
  const lineOf = (path: string) =>
    placesUpFrom(path).map((place) => getOrMake(known, place, () => identityOf(place)));
  const outputLine = lineOf(output);
  for (const input of inputs) {
    const inputLine = lineOf(input);
    const fault = outputLine[0] === inputLine[0]
      ? `it is also an ${what}`
      : inputLine.includes(outputLine[0])
      ? `it contains the ${what} ${input}`
      : outputLine.includes(inputLine[0])
      ? `it is inside the ${what} ${input}`
      : undefined;
    if (fault === undefined) continue;
    throw new UsageError(
      `Cannot write to ${output}: ${fault}, expected a path outside the ${what}s; choose another one`,
    );
  }
}

/** The real path and all folders above it, up to the root. */
function placesUpFrom(path: string): string[] {
  const places = [realPath(path)];
  for (let folder = dirname(places[0]); folder !== places.at(-1); folder = dirname(folder)) {
    places.push(folder);
  }
  return places;
}

/** Device and inode if available, else the path. */
function identityOf(place: string): string {
  try {
    const { dev, ino } = Deno.statSync(place);
    return ino === null ? place : `${dev}:${ino}`;
  } catch {
    return place;
  }
}

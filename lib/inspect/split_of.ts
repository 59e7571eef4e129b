/**
 * Which split a file of a data folder belongs to.
 *
 * @module
 */
import { basename, dirname } from "@std/path";

const SPLITS = new Set(["train", "val", "test"]);

/** The name of the file's folder if it is that of a split. */
export function splitOf(path: string): string | undefined {
  const folder = basename(dirname(path));
  return SPLITS.has(folder) ? folder : undefined;
}

/**
 * The version of the format of checkpoints, and what tensors were called in earlier versions. A file without a version has
 * version 1.
 *
 * @module
 */
import { UserError } from "../base/errors.ts";

/** The version that is written: in the metadata of tensor files, in `state.json`, and in `site.json`. */
export const FORMAT_VERSION = 2;

/** The metadata of every tensor file of a checkpoint; `pt` tells PyTorch's readers that tensors are row-major. */
export const FORMAT_METADATA = { format: "pt", format_version: String(FORMAT_VERSION) } as const;

/** Starts of names in version 1. In GPT-2 `wpe` is the embedding of positions. */
const PREFIX_V1 = "wpe.";
const PREFIX = "address_embed.";

/**
 * Checks the version of a file.
 *
 * @param found As the file states it; undefined for version 1.
 * @throws {UserError} If this program does not know it.
 */
export function checkFormatVersion(found: unknown, path: string): void {
  const version = Number(found ?? 1);
  if (Number.isInteger(version) && version >= 1 && version <= FORMAT_VERSION) return;
  throw new UserError(
    `Cannot read ${path}: found format version ${found}, expected 1 to ${FORMAT_VERSION}; use the version of the ` +
      "program that wrote it",
  );
}

/**
 * Tensors, their shapes or optimizer states by their present names.
 *
 * @param byName As the file has them.
 * @param version As the file states it; undefined for version 1.
 * @throws {UserError} As {@link checkFormatVersion}.
 */
export function presentNames<T>(
  byName: ReadonlyMap<string, T>,
  version: unknown,
  path: string,
): Map<string, T> {
  checkFormatVersion(version, path);
  if (Number(version ?? 1) > 1) return new Map(byName);
  const present = (name: string) => name.startsWith(PREFIX_V1) ? PREFIX + name.slice(PREFIX_V1.length) : name;
  return new Map([...byName].map(([name, value]) => [present(name), value]));
}

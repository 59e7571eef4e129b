/** The version of the checkpoint format. @module */
import { UserError } from "../base/errors.ts";

/** The version written to the metadata of tensor files, to `state.json` and to `site.json`. */
export const FORMAT_VERSION = 1;

/** Metadata of all tensor files of a checkpoint. `pt` means row-major to PyTorch's readers. */
export const FORMAT_METADATA = { format: "pt", format_version: String(FORMAT_VERSION) } as const;

/** Checks the version that a file states. @throws {UserError} If it is not {@link FORMAT_VERSION}. */
export function checkFormatVersion(found: unknown, path: string): void {
  if (String(found) === String(FORMAT_VERSION)) return;
  throw new UserError(
    `Cannot read ${path}: found format version ${
      found ?? "none"
    }, expected ${FORMAT_VERSION}; use the version of ` +
      "the program that wrote it",
  );
}

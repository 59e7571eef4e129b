/**
 * Lines on standard output. If standard output is closed at the start, the runtime replaces it with
 * /dev/null, and what is written there is lost without an error.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { printable } from "../../base/printed.ts";
import { explainFileError } from "./file_errors.ts";
import { writeWhole } from "./byte_file.ts";

const encoder = new TextEncoder();

/**
 * Writes a line to standard output, see `lib/base/printed.ts`. @throws {UserError} If the disk is full or the
 * pipe's reader is gone.
 */
export function printLine(text: string): void {
  try {
    writeWhole(Deno.stdout, encoder.encode(`${printable(text)}\n`));
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) {
      throw new UserError("Cannot write to standard output: its reader has exited", { cause: error });
    }
    throw explainFileError(error, "write to standard output");
  }
}

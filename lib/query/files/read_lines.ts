/**
 * The lines of a file or of standard input.
 *
 * @module
 */
import { STANDARD_INPUT } from "../../io/compression/decompress.ts";
import { explainFileError } from "../../io/files/file_errors.ts";
import { linesOf, type TextLine } from "../text_lines.ts";

/**
 * Reads lines.
 *
 * @param path A file, or `-` for standard input.
 * @param maxLineBytes The longest line.
 * @throws {UserError} If the file cannot be read.
 */
export async function* readLines(path: string, maxLineBytes?: number): AsyncGenerator<TextLine> {
  try {
    // Leaving the loop closes the file.
    const file = path === STANDARD_INPUT ? Deno.stdin : await Deno.open(path);
    yield* linesOf(file.readable, maxLineBytes);
  } catch (error) {
    throw explainFileError(error, `read ${path}`);
  }
}

/** The lines of a file or of standard input. @module */
import { STANDARD_INPUT } from "../../io/compression/decompress.ts";
import { explainFileError } from "../../io/files/file_errors.ts";
import { chunksUntil, linesOf, type TextLine } from "../text_lines.ts";

/**
 * Reads lines of a file, a named pipe, or standard input (`-`).
 *
 * @param signal Stops reading with its reason, even while no input arrives.
 * @throws {UserError} If the file cannot be read.
 */
export async function* readLines(
  path: string,
  signal: AbortSignal,
  maxLineBytes?: number,
): AsyncGenerator<TextLine> {
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {});
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    signal.throwIfAborted();
    // Opening a named pipe blocks until another program writes to it. Leaving the loop closes the file.
    const file = path === STANDARD_INPUT
      ? Deno.stdin
      : await Promise.race([Deno.open(path), aborted.promise]);
    yield* linesOf(chunksUntil(signal, file.readable), maxLineBytes);
    signal.throwIfAborted();
  } catch (error) {
    throw explainFileError(error, `read ${path}`);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

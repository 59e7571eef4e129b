/**
 * JSON lines for a file, which appears whole or not at all, or for standard output.
 *
 * @module
 */
import { explainFileError, UserError } from "../lib/errors.ts";
import { AtomicFile } from "../lib/files/atomic.ts";

/** Takes values one by one. */
export class JsonLinesOutput {
  readonly #encoder = new TextEncoder();
  readonly #file: AtomicFile | undefined;

  /**
   * Opens the output.
   *
   * @param path The file, or undefined for standard output.
   * @throws {UserError} If the file cannot be made.
   */
  constructor(path: string | undefined) {
    this.#file = path === undefined ? undefined : AtomicFile.create(path);
  }

  /**
   * Writes a value as one line.
   *
   * @throws {UserError} If the disk is full or nobody reads standard output any more.
   */
  write(value: unknown): void {
    const bytes = this.#encoder.encode(JSON.stringify(value) + "\n");
    if (this.#file) this.#file.writeSync(bytes);
    else writeToStandardOutput(bytes);
  }

  /** Gives the file its name. */
  commit(): void {
    this.#file?.commit();
  }

  [Symbol.dispose](): void {
    this.#file?.abort();
  }
}

function writeToStandardOutput(bytes: Uint8Array): void {
  try {
    for (let done = 0; done < bytes.length;) done += Deno.stdout.writeSync(bytes.subarray(done));
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) {
      throw new UserError("Cannot write to standard output: its reader has gone", { cause: error });
    }
    throw explainFileError(error, "write to standard output");
  }
}

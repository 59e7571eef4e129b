/**
 * JSON lines for a file, which appears whole or not at all, or for standard output.
 *
 * @module
 */
import { OutputFile, type OutputFileOptions, writeAll } from "../lib/files/output_file.ts";

/** Takes values one by one. */
export class JsonLinesOutput {
  readonly #encoder = new TextEncoder();
  readonly #file: OutputFile | undefined;

  /**
   * Opens the output.
   *
   * @param path The file, or undefined for standard output.
   * @param options Who writes it, and what that reads.
   * @throws {UserError} If the file cannot be made.
   */
  constructor(path: string | undefined, options: OutputFileOptions) {
    this.#file = path === undefined ? undefined : new OutputFile(path, options);
  }

  /**
   * Writes a value as one line.
   *
   * @throws {UserError} If the disk is full or nobody reads the output any more.
   */
  write(value: unknown): void {
    const bytes = this.#encoder.encode(JSON.stringify(value) + "\n");
    if (this.#file) this.#file.writeSync(bytes);
    else writeAll(Deno.stdout, bytes, "standard output");
  }

  /** Gives the file its name. */
  commit(): void {
    this.#file?.commit();
  }

  [Symbol.dispose](): void {
    this.#file?.[Symbol.dispose]();
  }
}

/**
 * Writes JSON lines to a file, which appears complete or not at all, or to standard output.
 *
 * @module
 */
import { OutputFile, type OutputFileOptions, writeAll } from "../lib/io/files/output_file.ts";

/** Writes values one by one. */
export class JsonLinesOutput {
  readonly #encoder = new TextEncoder();
  readonly #file: OutputFile | undefined;

  /**
   * Opens the output.
   *
   * @param path The file, or undefined for standard output.
   * @param options The writing stage, and its inputs.
   * @throws {UserError} If the file cannot be made.
   */
  constructor(path: string | undefined, options: OutputFileOptions) {
    this.#file = path === undefined ? undefined : new OutputFile(path, options);
  }

  /**
   * Writes a value as one line.
   *
   * @throws {UserError} If the disk is full or the output's reader has gone.
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

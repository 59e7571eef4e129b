/**
 * A file that a command writes without a manifest: answers, a picture, a page, metrics.
 *
 * It appears when it is complete, and replaces only what the same command wrote, as the first bytes show, or an empty
 * file; with `overwrite` any file. The target of a link is replaced, not the link.
 *
 * @module
 */
import { basename, join } from "@std/path";
import { UserError } from "../../base/errors.ts";
import { explainFileError } from "./file_errors.ts";
import { AtomicFile } from "./atomic.ts";
import { openRegularFile, requireRegular } from "./byte_file.ts";
import { isMissing } from "./inputs.ts";
import { OutputLock } from "./output_lock.ts";
import { placeOfFile } from "./output_place.ts";

/** The bytes of a file that show who wrote it. */
const HEAD_BYTES = 4096;

/** The command that writes a file. */
export interface OutputFileOptions {
  /** Its name, for messages. */
  stage: string;
  /** Matches the beginning of what it writes, and of no file that others write. */
  own: RegExp;
  /** Whether a file that it did not write is replaced. */
  overwrite: boolean;
}

/** An open output. */
export class OutputFile implements Disposable {
  readonly #opened = new DisposableStack();
  readonly #lock: OutputLock;
  readonly #file: AtomicFile;
  readonly #target: string;
  /** Which file was at the path when this one was opened. */
  readonly #found: string;

  /**
   * Opens the output.
   *
   * @throws {UserError} If a file is there that may not be replaced, another process writes it, or it cannot be made.
   */
  constructor(readonly path: string, readonly options: OutputFileOptions) {
    const { path: target, work } = placeOfFile(path);
    this.#target = target;
    this.#found = versionOf(path);
    requireReplaceable(path, options);
    this.#lock = this.#opened.use(OutputLock.acquire(work, { output: path, stage: options.stage }));
    try {
      this.#lock.clearFolder(); // deletes files that a killed process left
      this.#file = this.#opened.use(AtomicFile.create(join(work, basename(target))));
    } catch (error) {
      this.#opened.dispose();
      throw error;
    }
  }

  /** Appends all the bytes. @throws {UserError} If the disk is full. */
  writeSync(bytes: Uint8Array): void {
    this.#file.writeSync(bytes);
  }

  /** Writes a text (UTF-8) and gives the file its name. @throws {UserError} As {@link commit}. */
  finish(text: string): void {
    this.writeSync(new TextEncoder().encode(text));
    this.commit();
  }

  /** Gives the file its name. @throws {UserError} If another program's file has taken the name since the output was opened. */
  commit(): void {
    this.#lock.requireHeld();
    if (versionOf(this.path) !== this.#found) {
      requireReplaceable(this.path, { ...this.options, overwrite: false });
    }
    this.#file.commit(this.#target);
  }

  [Symbol.dispose](): void {
    this.#opened.dispose();
  }
}

/** Writes a whole file through an {@link OutputFile}. @param content Text (written as UTF-8). */
export function writeOutputFile(path: string, content: string, options: OutputFileOptions): void {
  using file = new OutputFile(path, options);
  file.finish(content);
}

/**
 * Refuses a path where something is that a command may not replace.
 *
 * @throws {UserError} If it is not a regular file, or if another program wrote it and `overwrite` is not set.
 */
function requireReplaceable(path: string, { stage, own, overwrite }: OutputFileOptions): void {
  try {
    requireRegular(Deno.statSync(path), `write ${path}`);
    if (overwrite) return;
    using file = openRegularFile(path, `write ${path}`);
    const head = new Uint8Array(HEAD_BYTES);
    const numBytes = file.readSync(head) ?? 0;
    if (numBytes === 0 || own.test(new TextDecoder().decode(head.subarray(0, numBytes)))) return;
  } catch (error) {
    if (isMissing(error)) return;
    throw explainFileError(error, `write ${path}`);
  }
  throw new UserError(
    `Cannot write ${path}: it is a file that ${stage} did not write; choose another path, or add --overwrite to ` +
      "replace it",
  );
}

/** Identifies a file and its content at a path; empty if there is no file. */
function versionOf(path: string): string {
  try {
    const { dev, ino, size, mtime } = Deno.statSync(path);
    return [dev, ino, size, mtime?.getTime()].join();
  } catch (error) {
    if (isMissing(error)) return "";
    throw explainFileError(error, `write ${path}`);
  }
}

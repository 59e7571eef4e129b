/**
 * A file that a command writes without a manifest, such as answers, a picture, a page or metrics.
 *
 * It appears once complete. It replaces only an empty file or one from the same command, judged by the first
 * bytes; with `overwrite` it replaces any file. If the path is a link, the link's target is replaced.
 *
 * @module
 */
import { basename, join } from "@std/path";
import { UserError } from "../../base/errors.ts";
import { explained, explainFileError, isMissing, unlessMissing } from "./file_errors.ts";
import { AtomicFile } from "./atomic.ts";
import { openRegularFile, requireRegular } from "./byte_file.ts";
import { OutputLock } from "./output_lock.ts";
import { placeOfFile } from "./output_place.ts";

/** How many bytes at the beginning of a file show which program wrote it. */
const HEAD_BYTES = 4096;

export interface OutputFileOptions {
  /** The command's name, for messages. */
  stage: string;
  /** Matches the beginning of this command's files and of no other files. */
  own: RegExp;
  /** Whether to replace a file that this command did not write. */
  overwrite: boolean;
}

export class OutputFile implements Disposable {
  readonly #opened = new DisposableStack();
  readonly #lock: OutputLock;
  readonly #file: AtomicFile;
  readonly #target: string;
  /** Identifies the file that was at the path when this one was opened. */
  readonly #found: string;

  /**
   * @throws {UserError} If the file at the path may not be replaced, another process is writing it, or it
   *   cannot be made.
   */
  constructor(readonly path: string, readonly options: OutputFileOptions) {
    const { path: target, work } = placeOfFile(path);
    this.#target = target;
    this.#found = versionOf(path);
    requireReplaceable(path, options);
    this.#lock = this.#opened.use(OutputLock.acquire(work, { output: path, stage: options.stage }));
    try {
      this.#lock.clearFolder(); // deletes files left by a killed process
      this.#file = this.#opened.use(AtomicFile.create(join(work, basename(target))));
    } catch (error) {
      this.#opened.dispose();
      throw error;
    }
  }

  /** Appends all bytes. @throws {UserError} If the disk is full. */
  writeSync(bytes: Uint8Array): void {
    this.#file.writeSync(bytes);
  }

  /** Writes a text (UTF-8) and renames the file to its final name. @throws {UserError} As {@link commit}. */
  finish(text: string): void {
    this.writeSync(new TextEncoder().encode(text));
    this.commit();
  }

  /**
   * Renames the file to its final name. @throws {UserError} If another program's file has taken the name
   * since the output was opened.
   */
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

/** Writes a whole file through an {@link OutputFile}. @param content Written as UTF-8. */
export function writeOutputFile(path: string, content: string, options: OutputFileOptions): void {
  using file = new OutputFile(path, options);
  file.finish(content);
}

/** @throws {UserError} If the path is not a regular file, or is another program's without `overwrite`. */
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
    `Cannot write ${path}: ${stage} did not write this file; choose another path, or add --overwrite to ` +
      "replace it",
  );
}

/** Identifies a file and its content; empty if the file does not exist. */
function versionOf(path: string): string {
  const info = explained(`write ${path}`, () => unlessMissing(() => Deno.statSync(path)));
  return info ? [info.dev, info.ino, info.size, info.mtime?.getTime()].join() : "";
}

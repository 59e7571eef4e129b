/**
 * A file that a command writes without a manifest: answers, a picture, a cache.
 *
 * A regular file is replaced when the new one is complete; of a link, the target is replaced. Other files, such as
 * a pipe or /dev/null, are written to directly.
 *
 * @module
 */
import { basename, join } from "@std/path";
import { UserError } from "../../base/errors.ts";
import { explainFileError } from "./file_errors.ts";
import { AtomicFile } from "./atomic.ts";
import { writeWhole } from "./byte_file.ts";
import { refuseOverlap } from "./real_path.ts";
import { isMissing } from "./inputs.ts";
import { OutputLock } from "./output_lock.ts";
import { placeOfFile } from "./staged_output.ts";

/** The command that writes a file. */
export interface OutputFileOptions {
  /** Its name, for the messages of others that want to write the file. */
  stage: string;
  /** Files and folders that it reads; the output must not be one of them. */
  inputs: readonly string[];
}

/** An open output. */
export class OutputFile implements Disposable {
  readonly #opened = new DisposableStack();
  readonly #write: (bytes: Uint8Array) => void;
  readonly #commit: () => void;

  /**
   * Opens the output.
   *
   * @throws {UserError} If it is read too, another process writes it, or it cannot be made.
   */
  constructor(readonly path: string, { stage, inputs }: OutputFileOptions) {
    refuseOverlap(path, inputs);
    const special = openSpecial(path);
    if (special) {
      this.#opened.use(special);
      this.#write = (bytes) => writeAll(special, bytes, path);
      this.#commit = () => {};
      return;
    }
    const { path: target, work } = placeOfFile(path);
    const lock = this.#opened.use(OutputLock.acquire(work, { output: path, stage }));
    lock.clearFolder(); // deletes files that a killed process left
    const file = this.#opened.use(AtomicFile.create(join(work, basename(target))));
    this.#write = (bytes) => file.writeSync(bytes);
    this.#commit = () => file.commit(target);
  }

  /** Appends all the bytes. @throws {UserError} If the disk is full or the pipe's reader has gone. */
  writeSync(bytes: Uint8Array): void {
    this.#write(bytes);
  }

  /** Gives a regular file its name. */
  commit(): void {
    this.#commit();
  }

  [Symbol.dispose](): void {
    this.#opened.dispose();
  }
}

/** Writes a whole file through an {@link OutputFile}. @param content Text (written as UTF-8). */
export function writeOutputFile(path: string, content: string, options: OutputFileOptions): void {
  using file = new OutputFile(path, options);
  file.writeSync(new TextEncoder().encode(content));
  file.commit();
}

/**
 * Writes all the bytes to a writer that may take them in pieces.
 *
 * @param path Its name in errors.
 * @throws {UserError} If the disk is full or the pipe's reader has gone.
 */
export function writeAll(
  writer: { writeSync(bytes: Uint8Array): number },
  bytes: Uint8Array,
  path: string,
): void {
  try {
    writeWhole(writer, bytes);
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) {
      throw new UserError(`Cannot write to ${path}: its reader has gone`, { cause: error });
    }
    throw explainFileError(error, `write to ${path}`);
  }
}

/** Opens a pipe or device; undefined for a regular file or one that does not exist yet. */
function openSpecial(path: string): Deno.FsFile | undefined {
  try {
    const { isFile, isDirectory } = Deno.statSync(path);
    if (isFile) return undefined;
    if (isDirectory) throw new Deno.errors.IsADirectory();
    return Deno.openSync(path, { write: true });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw explainFileError(error, `write to ${path}`);
  }
}

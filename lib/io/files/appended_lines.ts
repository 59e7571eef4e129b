/**
 * A file of lines that grows for weeks. Each line is on disk when `write` returns, so that no crash loses a
 * line and the next process continues after the last one.
 *
 * @module
 */
import { concat } from "@std/bytes";
import { dirname } from "@std/path";
import { UserError } from "../../base/errors.ts";
import { syncDirectory } from "./atomic.ts";
import { ByteFile, requireRegular } from "./byte_file.ts";
import { exists } from "./inputs.ts";
import { OutputLock } from "./output_lock.ts";
import { placeOfFile } from "./output_place.ts";

const NEWLINE = 0x0a;

/** The command that appends lines, and which lines an existing file may contain. */
interface OwnLines {
  /** The command's name, for messages. */
  stage: string;
  /** The beginning of each line that the command writes. */
  beginning: string;
  /** Reads an existing line. @returns Whether this command wrote it. */
  take(line: string): boolean;
}

export class AppendedLines implements Disposable {
  readonly #opened = new DisposableStack();
  readonly #file: ByteFile;

  /**
   * Opens the file, creating it if needed. If a killed process left the last line without a newline, a
   * complete line gets one and a partial line is removed.
   *
   * @throws {UserError} If another process is writing it, its first line is from another program, or it
   *   cannot be written.
   */
  constructor(readonly path: string, own: OwnLines) {
    const { path: target, work } = placeOfFile(path);
    if (exists(target)) requireRegular(Deno.statSync(target), `write to ${path}`);
    using opened = new DisposableStack();
    opened.use(OutputLock.acquire(work, { output: path, stage: own.stage })).clearFolder();
    this.#file = opened.use(ByteFile.write(target, "update"));
    this.#goOn(own);
    syncDirectory(dirname(target));
    this.#opened = opened.move();
  }

  /** Reads the existing lines, and completes or removes the last one. */
  #goOn({ stage, beginning, take }: OwnLines): void {
    const decoder = new TextDecoder();
    let rest: Uint8Array = new Uint8Array(0);
    let numBytes = 0;
    const refuseFirst = () => {
      if (numBytes > 0) return;
      throw new UserError(
        `Cannot append to ${this.path}: its first line was not written by ${stage}; choose ` +
          "another --output",
      );
    };
    for (const chunk of this.#file.chunks()) {
      const bytes = concat([rest, chunk]);
      let at = 0;
      for (let end; (end = bytes.indexOf(NEWLINE, at)) >= 0; at = end + 1) {
        if (!take(decoder.decode(bytes.subarray(at, end)))) refuseFirst();
        numBytes += end + 1 - at;
      }
      rest = bytes.slice(at);
    }
    const last = decoder.decode(rest);
    if (last !== "" && take(last)) {
      this.#file.writeAt(numBytes + rest.length, Uint8Array.of(NEWLINE));
      return;
    }
    if (!beginning.startsWith(last) && !last.startsWith(beginning)) refuseFirst();
    this.#file.truncate(numBytes);
    this.#file.writeAt(numBytes, new Uint8Array(0));
  }

  /** Appends a line and waits until it is on disk. @throws {UserError} If the disk is full. */
  write(value: unknown): void {
    this.#file.write(new TextEncoder().encode(`${JSON.stringify(value)}\n`));
    this.#file.flush();
  }

  /** Does nothing: every line is already on the disk. */
  commit(): void {}

  [Symbol.dispose](): void {
    this.#opened.dispose();
  }
}

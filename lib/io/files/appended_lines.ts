/**
 * A file of lines that grows for weeks: each line is on the disk when it was written, so that no end of the process loses
 * one, and the next process goes on behind them.
 *
 * @module
 */
import { dirname } from "@std/path";
import { joinBytes } from "../../base/collections.ts";
import { UserError } from "../../base/errors.ts";
import { syncDirectory } from "./atomic.ts";
import { ByteFile, requireRegular } from "./byte_file.ts";
import { exists } from "./inputs.ts";
import { OutputLock } from "./output_lock.ts";
import { placeOfFile } from "./output_place.ts";

const NEWLINE = 0x0a;

/** The command that appends lines, and what a file may have that they are appended to. */
interface OwnLines {
  /** Its name, for messages. */
  stage: string;
  /** How each line of the stage begins. */
  beginning: string;
  /** Takes a line that is there. @returns Whether it is one of the stage. */
  take(line: string): boolean;
}

/** A file open for appending. */
export class AppendedLines implements Disposable {
  readonly #opened = new DisposableStack();
  readonly #file: ByteFile;

  /**
   * Opens the file, which is made if needed. A last line that a killed process did not end is
   * ended if it is whole, else removed.
   *
   * @throws {UserError} If another process writes it, its first line is not one of the stage, or it cannot be written.
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

  /** Takes the lines that are there, and ends the last one. */
  #goOn({ stage, beginning, take }: OwnLines): void {
    const decoder = new TextDecoder();
    let rest: Uint8Array = new Uint8Array(0);
    let numBytes = 0;
    const refuseFirst = () => {
      if (numBytes > 0) return;
      throw new UserError(
        `Cannot append to ${this.path}: its first line is not one of ${stage}, expected its own output; choose ` +
          "another --output",
      );
    };
    for (const chunk of this.#file.chunks()) {
      const bytes = joinBytes([rest, chunk]);
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

  /** Appends a line, and waits until it is on the disk. @throws {UserError} If the disk is full. */
  write(value: unknown): void {
    this.#file.write(new TextEncoder().encode(`${JSON.stringify(value)}\n`));
    this.#file.flush();
  }

  /** Does nothing: all lines are there. */
  commit(): void {}

  [Symbol.dispose](): void {
    this.#opened.dispose();
  }
}

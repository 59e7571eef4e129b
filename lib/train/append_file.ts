/** A file that grows as training goes, and is cut off where a run resumes. @module */
import { dirname } from "@std/path";
import { explainFileError } from "../errors.ts";

/** An open file to append to. */
export class AppendFile implements Disposable {
  readonly #file: Deno.FsFile;

  private constructor(readonly path: string, file: Deno.FsFile) {
    this.#file = file;
  }

  /** Opens the file, making it and its folder if needed. @throws {UserError} If it cannot be written. */
  static open(path: string): AppendFile {
    return explained(path, () => {
      Deno.mkdirSync(dirname(path), { recursive: true });
      return new AppendFile(path, Deno.openSync(path, { append: true, create: true }));
    });
  }

  /** Cuts the file off. @param sizeBytes What is left, at most the present size. */
  truncate(sizeBytes: number): void {
    explained(this.path, () => this.#file.truncateSync(sizeBytes));
  }

  /** Appends all the bytes. @throws {UserError} If the disk is full. */
  append(bytes: Uint8Array): void {
    explained(this.path, () => {
      for (let done = 0; done < bytes.length;) done += this.#file.writeSync(bytes.subarray(done));
    });
  }

  /** Makes what was appended durable. */
  flush(): void {
    explained(this.path, () => this.#file.syncSync());
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }
}

function explained<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw explainFileError(error, `write ${path}`);
  }
}

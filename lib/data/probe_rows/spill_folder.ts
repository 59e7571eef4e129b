/**
 * The rows of a sharded stage, divided over files by thread, in its work folder: complete when `spill/index.json` exists.
 * A rerun with the same inputs and options then does not read the input again.
 *
 * @module
 */
import { join } from "@std/path";
import { writeJsonAtomic } from "../../io/files/atomic.ts";
import { exists, readText } from "../../io/files/inputs.ts";
import type { Output } from "../../io/files/output.ts";
import type { SpillIndex } from "./external_sort/spill.ts";

/** The content of `spill/index.json`. */
export interface SpillState {
  /** The index of each thread's spill file, in the order of their rows. */
  indexes: SpillIndex[];
  /** Partitions of a shard; depends on the memory limit of the run that wrote the spill files. */
  subdivisions: number;
  /** Names of the further columns found. */
  columns: string[];
}

/** The spill files of an output. */
export class SpillFolder {
  constructor(readonly output: Output) {}

  /** The path of a thread's spill file. */
  rowsPath(thread: number): string {
    return join(this.#path, `rows-${thread}.bin`);
  }

  /** The path for a thread's sorted runs of a partition larger than memory. */
  runsPath(thread: number): string {
    return join(this.#path, `runs-${thread}.bin`);
  }

  /** The state of complete spill files, of this run or of an earlier run of the same work. */
  read(): SpillState | undefined {
    return exists(this.#indexPath) ? JSON.parse(readText(this.#indexPath)) : undefined;
  }

  /** Makes an empty folder. */
  begin(): void {
    this.remove();
    Deno.mkdirSync(this.#path, { recursive: true });
  }

  /** Records that all rows are divided. */
  finish(state: SpillState): void {
    this.output.save();
    writeJsonAtomic(this.#indexPath, state);
  }

  remove(): void {
    // The index first, because the files that it describes are no longer complete.
    for (const path of [this.#indexPath, this.#path]) {
      if (exists(path)) Deno.removeSync(path, { recursive: true });
    }
  }

  get #path(): string {
    return this.output.workPath("spill");
  }

  get #indexPath(): string {
    return join(this.#path, "index.json");
  }
}

/**
 * An output folder that is filled shard by shard; a run can be killed at any moment and started again.
 *
 * Rows are first written to `spill/` in the work folder, which is complete when `spill/index.json` exists. Then each
 * finished shard is added to the manifest. A rerun with the same inputs and options keeps finished shards and complete
 * spill files, and writes the same bytes.
 *
 * @module
 */
import { join } from "@std/path";
import { UserError } from "../errors.ts";
import { type ArrayTask, ONLY_TASK, taskSuffix } from "../files/array_task.ts";
import { writeJsonAtomic } from "../files/atomic.ts";
import { exists, fingerprint } from "../files/inputs.ts";
import { describeOutput, type ManifestOutput } from "../files/manifest.ts";
import { StagedOutput } from "../files/staged_output.ts";
import type { SpillIndex } from "../external_sort/spill.ts";
import { SPLIT_NAMES } from "./splits.ts";

/** Rewriting the manifest after each shard may take at most this share of the time, whatever its size. */
const MANIFEST_TIME_SHARE = 0.05;

/** What stands in `spill/index.json` beside the index itself. */
export interface SpillState {
  /** Of each thread's spill file, in the order of their rows. */
  indexes: SpillIndex[];
  /** Partitions of a shard; depends on the memory limit of the run that wrote the spill files. */
  subdivisions: number;
  /** Names of further columns that were found. */
  columns: string[];
}

/** What {@link OutputRun} needs. */
interface OutputRunStart {
  stage: string;
  /** Input files. */
  inputs: readonly string[];
  /** See {@link Manifest}. */
  inputManifests?: readonly string[] | undefined;
  /** The options that decide the output's bytes. */
  options: Record<string, unknown>;
  /** Whether another run's files are replaced instead of refused. */
  overwrite: boolean;
  /** Which of several runs that write to the folder this is; the only one by default. */
  task?: ArrayTask;
}

/** The state of one run's output folder. */
export class OutputRun implements Disposable {
  #nextWriteMs = 0;
  /** The folder and its manifest. */
  readonly output: StagedOutput;
  readonly #task: ArrayTask;
  /** Where the task lists rejected rows, within the folder. */
  readonly rejectsName: string;

  /**
   * Opens the folder: fresh, or with what an earlier run of the same work left.
   *
   * @throws {UserError} If it holds another run's files, or an input does not exist.
   */
  constructor(folder: string, { task = ONLY_TASK, stage, options, overwrite, ...start }: OutputRunStart) {
    const inputs = start.inputs.map(fingerprint);
    const inputManifests = start.inputManifests?.map(fingerprint);
    const output = { stage, inputs, inputManifests, options, overwrite };
    this.output = StagedOutput.openFolder(folder, output, task);
    this.#task = task;
    this.rejectsName = `rejects${taskSuffix(task)}.jsonl`;
  }

  /** The path of a thread's spill file. */
  spillPath(thread: number): string {
    return join(this.#spill, `rows-${thread}.bin`);
  }

  /** The path for a thread's sorted runs of a partition larger than memory. */
  runsPath(thread: number): string {
    return join(this.#spill, `runs-${thread}.bin`);
  }

  /** The spill files of an earlier run of the same work, if they are whole. */
  earlierSpill(): SpillState | undefined {
    const path = join(this.#spill, "index.json");
    if (!exists(path)) return undefined;
    try {
      const state: SpillState = JSON.parse(Deno.readTextFileSync(path));
      const isWhole = state.indexes.every(({ sizeBytes }, thread) =>
        Deno.statSync(this.spillPath(thread)).size === sizeBytes
      );
      return isWhole ? state : undefined;
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  /** Makes the spill folder anew. */
  beginSpill(): void {
    this.#removeSpill();
    Deno.mkdirSync(this.#spill, { recursive: true });
  }

  /** Records that all rows are divided: from now on a rerun does not read the input again. */
  finishSpill(
    state: SpillState,
    found: { counts: Record<string, unknown>; rejected: Record<string, number> },
  ): void {
    this.output.manifest.counts = found.counts;
    this.output.manifest.rejected = found.rejected;
    this.output.save();
    writeJsonAtomic(join(this.#spill, "index.json"), state);
  }

  /** Deletes the work of a run that failed before there was anything worth keeping. */
  discardIfUseless(): void {
    if (this.earlierSpill()) return;
    this.#removeSpill();
    if (this.output.manifest.outputs.length === 0) this.output.discard();
  }

  /** Adds a finished output to the manifest. */
  async record(name: string, counts?: Record<string, number>): Promise<void> {
    this.add(await describeOutput(this.output.folder, name, counts));
  }

  /** As {@link record}, of an output that is described already; saves the manifest if that takes little of the time. */
  add(output: ManifestOutput): void {
    this.output.add(output);
    const startMs = performance.now();
    if (startMs < this.#nextWriteMs) return;
    this.output.save();
    const endMs = performance.now();
    this.#nextWriteMs = endMs + (endMs - startMs) / MANIFEST_TIME_SHARE;
  }

  /**
   * Checks that no input changed since the start.
   *
   * @throws {UserError} If one did.
   */
  checkInputs(): void {
    for (const { path, sizeBytes, mtimeMs } of this.output.manifest.inputs) {
      const now = fingerprint(path);
      if (now.sizeBytes === sizeBytes && now.mtimeMs === mtimeMs) continue;
      throw new UserError(
        `Cannot use ${path}: it changed while it was read (${sizeBytes} bytes at the start, ${now.sizeBytes} now), ` +
          `expected an unchanging file; when it is complete, ` +
          (this.#task.count === 1
            ? "run again with --overwrite"
            : "delete the output and run all tasks again"),
      );
    }
  }

  /**
   * The sums of the outputs' counts by split, `all` for outputs in no split.
   *
   * @param files What the number of outputs is called.
   * @param counted What is counted of an output.
   * @param splits Those that are there even without outputs.
   */
  sumBySplit(
    files: string,
    counted: readonly string[],
    splits: readonly string[] = [],
  ): Record<string, Record<string, number>> {
    const zeros = () => Object.fromEntries([files, "bytes", ...counted].map((name) => [name, 0]));
    const sums = Object.fromEntries(splits.map((split) => [split, zeros()]));
    for (const { path, sizeBytes, counts } of this.output.manifest.outputs) {
      if (!counts) continue;
      const sum = sums[SPLIT_NAMES.find((name) => path.startsWith(`${name}/`)) ?? "all"] ??= zeros();
      sum[files]++;
      sum.bytes += sizeBytes;
      for (const name of counted) sum[name] += counts[name];
    }
    return sums;
  }

  /**
   * Puts the outputs in their places.
   *
   * @param splits Of {@link sumBySplit}, for the manifest.
   * @throws {UserError} If an input changed since the start.
   */
  finish(splits: Record<string, Record<string, number>>): void {
    this.checkInputs();
    this.output.manifest.counts = { ...this.output.manifest.counts, splits };
    this.output.publish();
  }

  /** Gives the folder free; unfinished work stays. */
  [Symbol.dispose](): void {
    this.output[Symbol.dispose]();
  }

  get #spill(): string {
    return this.output.workPath("spill");
  }

  #removeSpill(): void {
    // The index first: what it describes is not whole any more.
    for (const path of [join(this.#spill, "index.json"), this.#spill]) {
      if (exists(path)) Deno.removeSync(path, { recursive: true });
    }
  }
}

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
import { UserError } from "../../base/errors.ts";
import { type ArrayTask, ONLY_TASK, taskSuffix } from "../../io/files/array_task.ts";
import { writeJsonAtomic } from "../../io/files/atomic.ts";
import { exists, fingerprint, readText } from "../../io/files/inputs.ts";
import { describeOutput, type ManifestOutput } from "../../io/files/manifest.ts";
import { StagedOutput } from "../../io/files/staged_output.ts";
import type { SpillIndex } from "./external_sort/spill.ts";
import { SPLIT_NAMES } from "./splits.ts";

/** The largest share of the time for rewriting the manifest after each shard, whatever its size. */
const MANIFEST_TIME_SHARE = 0.05;

/** The content of `spill/index.json` in addition to the indexes. */
export interface SpillState {
  /** The index of each thread's spill file, in the order of their rows. */
  indexes: SpillIndex[];
  /** Partitions of a shard; depends on the memory limit of the run that wrote the spill files. */
  subdivisions: number;
  /** Names of the further columns found. */
  columns: string[];
}

/** Options of {@link OutputRun}. */
interface OutputRunStart {
  stage: string;
  inputs: readonly string[];
  /** See {@link Manifest}. */
  inputManifests?: readonly string[] | undefined;
  /** The options that decide the output's bytes. */
  options: Record<string, unknown>;
  /** Whether another run's files are replaced instead of refused. */
  overwrite: boolean;
  /** This run's task among those that write to the folder; by default it is the only one. */
  task?: ArrayTask;
}

/** The state of a run's output folder. */
export class OutputRun implements Disposable {
  #nextWriteMs = 0;
  readonly output: StagedOutput;
  readonly #task: ArrayTask;
  /** The path of the task's list of rejected rows, within the folder. */
  readonly rejectsName: string;

  /**
   * Opens the folder: empty, or with the work that an earlier run of the same inputs and options left.
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

  /** The spill files of an earlier run of the same work, if they are complete. */
  earlierSpill(): SpillState | undefined {
    const path = join(this.#spill, "index.json");
    if (!exists(path)) return undefined;
    try {
      const state: SpillState = JSON.parse(readText(path));
      const isWhole = state.indexes.every(({ sizeBytes }, thread) =>
        Deno.statSync(this.spillPath(thread)).size === sizeBytes
      );
      return isWhole ? state : undefined;
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  /** Makes an empty spill folder. */
  beginSpill(): void {
    this.#removeSpill();
    Deno.mkdirSync(this.#spill, { recursive: true });
  }

  /** Records that all rows are divided: a rerun then does not read the input again. */
  finishSpill(
    state: SpillState,
    found: { counts: Record<string, unknown>; rejected: Record<string, number> },
  ): void {
    this.output.manifest.counts = found.counts;
    this.output.manifest.rejected = found.rejected;
    this.output.save();
    writeJsonAtomic(join(this.#spill, "index.json"), state);
  }

  /** Deletes the work of a run that failed before it had a result worth keeping. */
  discardIfUseless(): void {
    if (this.earlierSpill()) return;
    this.#removeSpill();
    if (this.output.manifest.outputs.length === 0) this.output.discard();
  }

  /** Adds a finished output to the manifest. */
  async record(name: string, counts?: Record<string, number>): Promise<void> {
    this.add(await describeOutput(this.output.folder, name, counts));
  }

  /** {@link record} for an output that is already described; saves the manifest if that takes little of the time. */
  add(output: ManifestOutput): void {
    this.output.add(output);
    const startMs = performance.now();
    if (startMs < this.#nextWriteMs) return;
    this.output.save();
    const endMs = performance.now();
    this.#nextWriteMs = endMs + (endMs - startMs) / MANIFEST_TIME_SHARE;
  }

  /**
   * Checks that no input has changed since the start.
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
   * @param files The name of the number of outputs.
   * @param counted The counts of an output to sum.
   * @param splits The splits that are present even without outputs.
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
   * Publishes the outputs.
   *
   * @param splits The sums of {@link sumBySplit}, for the manifest.
   * @throws {UserError} If an input changed since the start.
   */
  finish(splits: Record<string, Record<string, number>>): void {
    this.checkInputs();
    this.output.manifest.counts = { ...this.output.manifest.counts, splits };
    this.output.publish();
  }

  /** Releases the folder; unfinished work is kept. */
  [Symbol.dispose](): void {
    this.output[Symbol.dispose]();
  }

  get #spill(): string {
    return this.output.workPath("spill");
  }

  #removeSpill(): void {
    // The index first, because the files that it describes are no longer complete.
    for (const path of [join(this.#spill, "index.json"), this.#spill]) {
      if (exists(path)) Deno.removeSync(path, { recursive: true });
    }
  }
}

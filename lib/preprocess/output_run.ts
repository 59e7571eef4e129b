/**
 * An output folder that fills shard by shard and survives a kill at any moment.
 *
 * The manifest stands there from the first moment with `complete: false`. Rows are first divided over
 * `spill/` (done when `spill/index.json` is there), then each finished shard is added to the manifest. A rerun
 * with the same inputs and options keeps finished shards, and the spill file where it is whole; since all the
 * rest is a function of inputs and options, the files end up the same.
 *
 * @module
 */
import { basename, join } from "@std/path";
import { explainFileError, UserError } from "../errors.ts";
import { type ArrayTask, ONLY_TASK, taskSuffix } from "../files/array_task.ts";
import { removeStaleTemporaries, writeJsonAtomic } from "../files/atomic.ts";
import { exists, fingerprint } from "../files/inputs.ts";
import {
  describeOutput,
  type Manifest,
  type ManifestOutput,
  newManifest,
  openOutputFolder,
  writeManifest,
} from "../files/manifest.ts";
import { manifestName, openTaskFolder, refuseOtherDivision } from "../files/task_manifests.ts";
import type { SpillIndex } from "./spill.ts";

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

/** What {@link OutputRun.open} needs. */
export interface OutputRunStart {
  stage: string;
  /** Input files. */
  inputs: readonly string[];
  /** The options that decide the output's bytes. */
  options: Record<string, unknown>;
  /** Whether another run's files are deleted instead of refused. */
  overwrite: boolean;
  /** Which of several runs that write to the folder this is; the only one by default. */
  task?: ArrayTask;
  /** The outputs of a task among several: other tasks may be writing everything else. */
  outputNames?: readonly string[];
}

/** The state of one run's output folder. */
export class OutputRun {
  #nextWriteMs = 0;
  readonly #task: ArrayTask;
  readonly #manifestName: string;
  readonly #spill: string;
  /** Where the task lists rejected rows. */
  readonly rejectsName: string;

  private constructor(readonly folder: string, readonly manifest: Manifest, task: ArrayTask) {
    this.#task = task;
    this.#manifestName = manifestName(task);
    this.#spill = `spill${taskSuffix(task)}`;
    this.rejectsName = `rejects${taskSuffix(task)}.jsonl`;
  }

  /**
   * Opens the folder: fresh, or with what an earlier run of the same work left.
   *
   * @throws {UserError} If it holds another run's files, or an input does not exist.
   */
  static open(folder: string, start: OutputRunStart): OutputRun {
    const manifest = newManifest({
      stage: start.stage,
      inputs: start.inputs.map((path) => fingerprint(path)),
      options: start.options,
    });
    const { task = ONLY_TASK, overwrite, outputNames = [] } = start;
    makeFolder(folder);
    removeStaleTemporaries(folder, { only: manifestName(task) });
    if (task.count === 1) refuseOtherDivision(folder, task);
    const earlier = task.count === 1
      ? openOutputFolder(folder, manifest, { overwrite })
      : openTaskFolder(folder, manifest, { task, overwrite });
    const run = new OutputRun(folder, earlier ?? manifest, task);
    if (earlier) run.#dropMissing(outputNames);
    return run;
  }

  /** Whether all is done. */
  get isComplete(): boolean {
    return this.manifest.complete;
  }

  /** The path of a thread's spill file. */
  spillPath(thread: number): string {
    return join(this.folder, this.#spill, thread === 0 ? "rows.bin" : `rows-${thread}.bin`);
  }

  /** The path for a thread's sorted runs of a partition larger than memory. */
  runsPath(thread: number): string {
    return join(this.folder, this.#spill, `runs-${thread}.bin`);
  }

  /** What is recorded of an output, if it is finished. */
  finished(name: string): ManifestOutput | undefined {
    return this.manifest.outputs.find((output) => output.path === name);
  }

  /** The spill files of an earlier run of the same work, if they are whole. */
  earlierSpill(): SpillState | undefined {
    const path = join(this.folder, this.#spill, "index.json");
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
    this.removeSpill();
    makeFolder(join(this.folder, this.#spill));
  }

  /** Records that all rows are divided: from now on a rerun does not read the input again. */
  finishSpill(
    state: SpillState,
    found: { counts: Record<string, unknown>; rejected: Record<string, number> },
  ): void {
    this.manifest.counts = found.counts;
    this.manifest.rejected = found.rejected;
    this.#write();
    writeJsonAtomic(join(this.folder, this.#spill, "index.json"), state);
  }

  /** Empties the folder if the run failed before there was anything worth keeping. */
  discardIfUseless(): void {
    if (this.manifest.outputs.length > 0 || this.earlierSpill()) return;
    this.removeSpill();
    Deno.removeSync(join(this.folder, this.#manifestName));
  }

  /** Deletes the spill folder, its index first. */
  removeSpill(): void {
    for (const name of [join(this.#spill, "index.json"), this.#spill]) {
      const path = join(this.folder, name);
      if (exists(path)) Deno.removeSync(path, { recursive: true });
    }
  }

  /** Adds a finished output to the manifest. */
  async record(name: string, counts?: Record<string, number>): Promise<void> {
    this.add(await describeOutput(this.folder, name, counts));
  }

  /** As {@link record}, of an output that is described already. */
  add(output: ManifestOutput): void {
    this.manifest.outputs = [...this.manifest.outputs.filter(({ path }) => path !== output.path), output];
    const startMs = performance.now();
    if (startMs < this.#nextWriteMs) return;
    this.#write();
    const endMs = performance.now();
    this.#nextWriteMs = endMs + (endMs - startMs) / MANIFEST_TIME_SHARE;
  }

  /**
   * Checks that no input changed since the start.
   *
   * @throws {UserError} If one did.
   */
  checkInputs(): void {
    for (const { path, sizeBytes, mtimeMs } of this.manifest.inputs) {
      const now = fingerprint(path);
      if (now.sizeBytes === sizeBytes && now.mtimeMs === mtimeMs) continue;
      throw new UserError(
        `Cannot use ${path}: it changed while it was read (${sizeBytes} bytes at the start, ${now.sizeBytes} now), ` +
          `an unchanging file was wanted; when it is complete, ` +
          (this.#task.count === 1
            ? "run again with --overwrite"
            : "delete the output and run all tasks again"),
      );
    }
  }

  /**
   * Removes what is temporary and says in the manifest that all is done.
   *
   * @param splits The sums of the shards' counts, for the manifest.
   * @throws {UserError} If an input changed since the start.
   */
  finish(splits: Record<string, Record<string, number>>): void {
    this.checkInputs();
    this.removeSpill();
    this.manifest.counts = { ...this.manifest.counts, splits };
    this.manifest.outputs.sort((a, b) => (a.path < b.path ? -1 : 1));
    this.manifest.complete = true;
    this.#write();
  }

  /** Writes the manifest with its keys in one order, whether it was made or read. */
  #write(): void {
    const { stage, version, inputs, options, counts, rejected, outputs, complete } = this.manifest;
    const manifest = { stage, version, inputs, options, counts, rejected, outputs, complete };
    writeManifest(join(this.folder, this.#manifestName), manifest);
  }

  /** Forgets recorded outputs that are no longer there, and what was left under temporary names. */
  #dropMissing(outputNames: readonly string[]): void {
    const isThere = ({ path, sizeBytes }: ManifestOutput) => {
      const full = join(this.folder, path);
      return exists(full) && Deno.statSync(full).size === sizeBytes;
    };
    const kept = this.manifest.outputs.filter(isThere);
    if (kept.length < this.manifest.outputs.length) {
      this.manifest.outputs = kept;
      this.manifest.complete = false;
    }
    const own = new Set([this.rejectsName, ...outputNames.map((name) => basename(name))]);
    const which = this.#task.count === 1 ? {} : { only: own };
    for (const entry of Deno.readDirSync(this.folder)) {
      if (entry.isDirectory) removeStaleTemporaries(join(this.folder, entry.name), which);
    }
    removeStaleTemporaries(this.folder, which);
  }
}

function makeFolder(path: string): void {
  if (exists(path) && !Deno.statSync(path).isDirectory) {
    throw new UserError(
      `Cannot write to ${path}: it is a file, a folder was wanted; choose another --output`,
    );
  }
  try {
    Deno.mkdirSync(path, { recursive: true });
  } catch (error) {
    throw explainFileError(error, `write to ${path}`);
  }
}

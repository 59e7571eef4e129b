/**
 * The threads of a stage: this one, which also works, and workers. With one thread there are no workers.
 *
 * A failure in one thread stops all threads. The error is thrown after every thread has closed its files, so nothing
 * is written afterwards.
 *
 * @module
 */
import { join } from "@std/path";
import { type SpillPart, SpillReader } from "../external_sort/spill.ts";
import { describeOutput, type ManifestOutput } from "../files/manifest.ts";
import { Breather, type StageHooks } from "../threads/stage_hooks.ts";
import { type JobContext, WorkerPool } from "../threads/worker_pool.ts";
import { type PartitionShare, partitionShare, type ShareResult } from "./partition_share.ts";
import type { Shard } from "./shard_layout.ts";
import type { ShardedStage } from "./sharded_stage_definition.ts";

/** A thread has its own runtime, caches and buffers: 270 MB measured with 10 M rows and a limit of 2 GB. */
const THREAD_BYTES = 270e6;
/** The number of copies of a record that a thread's memory must hold: columns, bytes, compressed bytes. */
const RECORDS_PER_THREAD = 8;
const WORKER = new URL("./stage_worker.ts", import.meta.url);

/** The unfinished shards: plain data, the same for all threads. */
export interface ShardQueue {
  /** The output folder. */
  folder: string;
  spill: SpillPart[];
  /** Optional columns that the input had. */
  columns: string[];
  shards: (Shard & { partitions: number[] })[];
  /** One i32: the number of shards that threads have taken. */
  numTaken: SharedArrayBuffer;
}

/** A piece of work for a thread: plain data. */
export type StageWork =
  | { kind: "partition"; share: PartitionShare }
  | { kind: "write"; queue: ShardQueue; runsPath: string };

/** A thread's events: the number of rows done, or a finished shard. */
export type StageEvent = { rows: number } | { shard: ManifestOutput };

/** The result of a piece of work: that of dividing rows. */
export type StageResult = ShareResult | undefined;

/**
 * The number of threads that fit in memory.
 *
 * @param wanted Largest number of threads.
 * @param memoryLimitBytes The limit for all threads together.
 * @param largestRecordBytes The largest record that a thread makes.
 * @returns At least 1.
 */
export function threadsWithin(wanted: number, memoryLimitBytes: number, largestRecordBytes = 0): number {
  const each = Math.max(THREAD_BYTES, RECORDS_PER_THREAD * largestRecordBytes);
  return Math.max(1, Math.min(wanted, Math.floor(memoryLimitBytes / each)));
}

/** Does a piece of work in this thread. */
export async function doStageWork(
  stage: ShardedStage,
  work: StageWork,
  { signal, report }: JobContext<StageEvent>,
): Promise<StageResult> {
  const hooks: StageHooks = { signal, onProgress: (_phase, rows) => report({ rows }) };
  if (work.kind === "partition") return await partitionShare(stage, work.share, hooks);
  const { queue, runsPath } = work;
  await writeFromQueue(stage, { queue, runsPath, onShard: (shard) => report({ shard }) }, hooks);
  return undefined;
}

/** Writes shards until none is left. @param hooks `onProgress` gets the rows written by this thread. */
async function writeFromQueue(
  stage: ShardedStage,
  { queue, runsPath, onShard }: { queue: ShardQueue; runsPath: string; onShard(shard: ManifestOutput): void },
  hooks: StageHooks,
): Promise<void> {
  using spill = new SpillReader(queue.spill, stage.schema);
  const breather = new Breather(hooks);
  const taken = new Int32Array(queue.numTaken);
  let numRowsDone = 0;
  for (let at; (at = Atomics.add(taken, 0, 1)) < queue.shards.length;) {
    const { partitions, ...shard } = queue.shards[at];
    const name = stage.shardName(shard);
    const path = join(queue.folder, name);
    const job = { spill, columns: queue.columns, partitions, path, breather, runsPath };
    const counts = await stage.writeShard(job);
    onShard(await describeOutput(queue.folder, name, counts));
    for (const partition of partitions) numRowsDone += spill.numRows[partition];
    hooks.onProgress?.("writing", numRowsDone, numRowsDone);
    await breather.breathe();
  }
}

/** A round of work for all threads. */
interface StageRound {
  /** A piece of work for each thread, this one's first. */
  work: StageWork[];
  /** Called with finished shards. */
  onShard?(output: ManifestOutput): void;
  /** For progress. */
  phase: string;
  /** Total number of rows. */
  total: number;
}

/** Runs rounds of work; the caller must dispose of it. */
export class StageThreads implements Disposable {
  readonly #pool: WorkerPool<StageWork, StageResult, StageEvent>;
  readonly #stage: ShardedStage;

  /**
   * Starts the workers.
   *
   * @param numThreads This thread included.
   * @param stage The work.
   * @param module The workers' module.
   */
  constructor(readonly numThreads: number, stage: ShardedStage, module: URL = WORKER) {
    const { stage: name, options } = stage;
    this.#stage = stage;
    this.#pool = new WorkerPool({ name, options }, { name, module, numWorkers: numThreads - 1 });
  }

  /**
   * Does a round of work.
   *
   * @returns The results, this thread's first.
   * @throws The error of the first thread that failed.
   */
  async run({ work, onShard, phase, total }: StageRound, hooks: StageHooks): Promise<StageResult[]> {
    const failed = new AbortController();
    const signal = hooks.signal ? AbortSignal.any([hooks.signal, failed.signal]) : failed.signal;
    const rowsOf = new Float64Array(this.numThreads);
    const results = work.map(async (piece, thread) => {
      const report = (event: StageEvent) => {
        if ("shard" in event) return onShard?.(event.shard);
        rowsOf[thread] = event.rows;
        hooks.onProgress?.(phase, rowsOf.reduce((sum, rows) => sum + rows, 0), total);
      };
      try {
        return await (thread === 0
          ? doStageWork(this.#stage, piece, { signal, report })
          : this.#pool.ask(thread - 1, piece, report));
      } catch (error) {
        if (!failed.signal.aborted) this.#pool.stop();
        failed.abort(error);
        throw error;
      }
    });
    await Promise.allSettled(results);
    failed.signal.throwIfAborted();
    return await Promise.all(results);
  }

  [Symbol.dispose](): void {
    this.#pool[Symbol.dispose]();
  }
}

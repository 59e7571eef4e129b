/**
 * What distinguishes `shard` and `probe-rows`, and the threads that do their work: the calling thread and
 * workers. With one thread there are no workers.
 *
 * A failure in one thread stops all threads. The error is thrown after every thread has closed its files, so
 * that nothing is written afterwards.
 *
 * @module
 */
import { join } from "@std/path";
import type { ArrayTask } from "../../io/files/array_task.ts";
import { describeOutput, type ManifestOutput } from "../../io/files/manifest.ts";
import { EventLoopPacer, type StageHooks } from "../../io/threads/stage_hooks.ts";
import { type JobContext, WorkerPool } from "../../io/threads/worker_pool.ts";
import type { OptionalColumn } from "../measurement_files/parquet_writer.ts";
import { RejectLog, type RejectSnapshot } from "../measurement_files/rejects.ts";
import type { GroupKey } from "./external_sort/probe_columns.ts";
import {
  type ColumnData,
  type SpillColumn,
  type SpillIndex,
  type SpillPart,
  SpillReader,
  SpillWriter,
} from "./external_sort/spill.ts";
import { readKeyed } from "./keyed_reader.ts";
import { type Shard, ShardLayout, type ShardRange } from "./shard_layout.ts";
import { assignSplits, type KeyedBatch, SPLIT_NAMES, type SplitName, type SplitPlan } from "./splits.ts";
import type { TimeCuts } from "./time_cuts.ts";

export interface ShardedStageOptions {
  /** Parquet files, sorted. */
  inputs: readonly string[];
  /** The manifests of all inputs, from `neededParts()`, if `inputs` contains only what the task reads. */
  inputManifests?: readonly string[] | undefined;
  output: string;
  overwrite: boolean;
  /** The column that identifies a source. */
  groupBy: GroupKey;
  /** Seed of the hash, u32. */
  seed: number;
  /** Number of files for train, val and test. */
  numShards: readonly [train: number, val: number, test: number];
  maxRejectRatio: number;
  memoryLimitBytes: number;
  /** Maximum number of threads, 1 by default. The output does not depend on it. */
  workers?: number;
  /** By default this run is the only task. */
  task?: ArrayTask;
}

/** How a row's split is determined: by a plan, or by the folder of its file. */
export type SplitSource =
  | { plan: Omit<SplitPlan, "timeCuts"> }
  | { splitOfFile: ReadonlyMap<string, SplitName> };

export interface ShardJob {
  spill: SpillReader;
  /** Optional columns found in the input. */
  columns: readonly string[];
  /** The partitions of the spill files, in order. */
  partitions: readonly number[];
  path: string;
  pacer: EventLoopPacer;
  /** A file for sorted runs, removed after use. */
  runsPath: string;
}

/** A stage that writes one file per shard. */
export interface ShardedStage extends ShardedStageOptions {
  stage: "shard" | "probe-rows";
  /** The options from which a worker makes the same stage. */
  options: ShardedStageOptions;
  /** The options that determine the bytes of the output. */
  identity: Record<string, unknown>;
  splits: SplitSource;
  /** The share of the input's rows to read. */
  rowShare: ArrayTask;
  /** The shards to make; rows of other shards are skipped. */
  ownShards: ShardRange;
  schema: readonly SpillColumn[];
  /** Optional columns to read if a file has them. */
  columns: readonly OptionalColumn[];
  /** The spill file's columns of a batch. */
  columnsOf(keyed: KeyedBatch): ColumnData[];
  /** Number of partitions per shard for a given number of rows. */
  subdivisions(numRows: number): number;
  shardName(shard: Shard): string;
  /** Names of a shard's counts, in order. */
  counted: readonly string[];
  writeShard(job: ShardJob): Promise<Record<string, number>>;
}

/** Each thread has its own runtime, caches and buffers: 270 MB, measured with 10 M rows and a 2 GB limit. */
const THREAD_BYTES = 270e6;
/** Number of copies of a record that must fit in a thread's memory: columns, bytes, compressed bytes. */
const RECORDS_PER_THREAD = 8;
const WORKER = new URL("./stage_worker.ts", import.meta.url);

/**
 * The number of threads that fit in memory, at least 1.
 *
 * @param largestRecordBytes The largest record that a thread makes.
 */
export function threadsWithin(wanted: number, memoryLimitBytes: number, largestRecordBytes = 0): number {
  const each = Math.max(THREAD_BYTES, RECORDS_PER_THREAD * largestRecordBytes);
  return Math.max(1, Math.min(wanted, Math.floor(memoryLimitBytes / each)));
}

/** One thread's share of the rows to divide, as plain data. */
interface PartitionShare {
  /** The range of rows, counted over all inputs; the end is exclusive. */
  rowRange: readonly [first: number, end: number];
  spillPath: string;
  /** Partitions per shard. */
  subdivisions: number;
  /** Memory for rows waiting to be written. */
  bufferBytes: number;
  timeCuts: TimeCuts | undefined;
}

/** The unfinished shards, as plain data that is the same for all threads. */
export interface ShardQueue {
  folder: string;
  spill: SpillPart[];
  columns: string[];
  shards: (Shard & { partitions: number[] })[];
  /** One i32: how many shards threads have taken. */
  numTaken: SharedArrayBuffer;
}

/** A piece of work for a thread, as plain data. */
export type StageWork =
  | { kind: "partition"; share: PartitionShare }
  | { kind: "write"; queue: ShardQueue; runsPath: string };

/** How many rows a thread has done, and the shard it has finished, if any. */
export interface StageEvent {
  rows: number;
  shard?: ManifestOutput;
}

/** The result of dividing rows, as plain data; writing shards has none. */
export type StageResult = {
  index: SpillIndex;
  rows: Record<SplitName, number>;
  numRowsRead: number;
  rejects: RejectSnapshot;
} | undefined;

export type StagePool = WorkerPool<StageWork, StageResult, StageEvent>;

/** Starts a stage's workers, which the caller must dispose of. @param numThreads Includes this thread. */
export function startWorkers({ stage: name, options }: ShardedStage, numThreads: number): StagePool {
  return new WorkerPool({ name, options }, { name, module: WORKER, numWorkers: numThreads - 1 });
}

interface StageRound {
  /** A piece of work for each thread, starting with this one. */
  work: StageWork[];
  onShard?(output: ManifestOutput): void;
  phase: string;
  total: number;
}

/** Does a round of work in this thread and the workers. @throws The error of the first thread that fails. */
export async function runRound(
  stage: ShardedStage,
  pool: StagePool,
  { work, onShard, phase, total }: StageRound,
  hooks: StageHooks,
): Promise<StageResult[]> {
  const failed = new AbortController();
  const signal = hooks.signal ? AbortSignal.any([hooks.signal, failed.signal]) : failed.signal;
  const rowsOf = new Float64Array(work.length);
  const fail = (error: unknown) => {
    if (!failed.signal.aborted) pool.stop();
    failed.abort(error);
  };
  const results = work.map(async (piece, thread) => {
    const report = ({ rows, shard }: StageEvent) => {
      try {
        if (shard) onShard?.(shard);
      } catch (error) {
        return fail(error); // an error in a worker's message would end the process
      }
      rowsOf[thread] = rows;
      hooks.onProgress?.(phase, rowsOf.reduce((sum, rows) => sum + rows, 0), total);
    };
    try {
      return await (thread === 0
        ? doStageWork(stage, piece, { signal, report })
        : pool.ask(thread - 1, piece, report));
    } catch (error) {
      fail(error);
      throw error;
    }
  });
  await Promise.allSettled(results);
  failed.signal.throwIfAborted();
  return await Promise.all(results);
}

export async function doStageWork(
  stage: ShardedStage,
  work: StageWork,
  context: JobContext<StageEvent>,
): Promise<StageResult> {
  if (work.kind === "partition") return await partitionShare(stage, work.share, context);
  return await writeFromQueue(stage, work, context);
}

/** Divides a share's rows among the partitions of its spill file. Rejected rows are counted and listed. */
async function partitionShare(
  stage: ShardedStage,
  share: PartitionShare,
  { signal, report }: JobContext<StageEvent>,
): Promise<StageResult> {
  const pacer = new EventLoopPacer({ signal });
  const rejects = new RejectLog();
  const layout = new ShardLayout(stage.numShards, share.subdivisions, stage.ownShards);
  using spill = new SpillWriter(share.spillPath, stage.schema, {
    numPartitions: layout.numPartitions,
    bufferBytes: share.bufferBytes,
  });
  const rows: Record<SplitName, number> = { train: 0, val: 0, test: 0 };
  let numRowsRead = 0;
  const { inputs, groupBy, seed, columns, splits } = stage;
  const splitMode = "plan" in splits ? splits.plan.mode : undefined;
  const read = { groupBy, seed, columns, splitMode, rejects, rowRange: share.rowRange };
  for await (const keyed of readKeyed(inputs, read)) {
    const { batch, keys, groupId } = keyed;
    const split = "plan" in splits
      ? assignSplits({ ...splits.plan, timeCuts: share.timeCuts }, keyed)
      : new Uint8Array(batch.numRows).fill(
        SPLIT_NAMES.indexOf(splits.splitOfFile.get(batch.path) ?? "train"),
      );
    const partitionOf = new Uint32Array(batch.numRows);
    for (let row = 0; row < batch.numRows; row++) {
      const partition = layout.partitionOf(split[row], keys.hashes[4 * groupId[row]]);
      partitionOf[row] = partition;
      if (partition < layout.numPartitions) rows[SPLIT_NAMES[split[row]]]++;
    }
    spill.append({ numRows: batch.numRows, columns: stage.columnsOf(keyed), keys }, partitionOf);
    numRowsRead += batch.numRowsRead;
    report({ rows: numRowsRead });
    await pacer.yieldToEventLoop();
  }
  return { index: spill.finish(), rows, numRowsRead, rejects: rejects.snapshot() };
}

async function writeFromQueue(
  stage: ShardedStage,
  { queue, runsPath }: { queue: ShardQueue; runsPath: string },
  { signal, report }: JobContext<StageEvent>,
): Promise<undefined> {
  using spill = new SpillReader(queue.spill, stage.schema);
  const pacer = new EventLoopPacer({ signal });
  const taken = new Int32Array(queue.numTaken);
  let rows = 0;
  for (let at; (at = Atomics.add(taken, 0, 1)) < queue.shards.length;) {
    const { partitions, ...shard } = queue.shards[at];
    const name = stage.shardName(shard);
    const path = join(queue.folder, name);
    const job = { spill, columns: queue.columns, partitions, path, pacer, runsPath };
    const counts = await stage.writeShard(job);
    for (const partition of partitions) rows += spill.numRows[partition];
    report({ rows, shard: await describeOutput(queue.folder, name, counts) });
    await pacer.yieldToEventLoop();
  }
}

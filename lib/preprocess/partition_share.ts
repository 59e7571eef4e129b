/**
 * The map side of the group-by for a share of the rows: every usable row of the share read once and put into a
 * spill file with the rows of its partition, rejects counted and listed.
 *
 * @module
 */
import type { ArrayTask } from "../files/array_task.ts";
import type { OptionalColumn } from "../measurement/parquet_writer.ts";
import { RejectLog, type RejectSnapshot } from "../measurement/rejects.ts";
import { type KeyedReadOptions, readKeyed } from "./keyed_reader.ts";
import type { GroupKey } from "../external_sort/probe_columns.ts";
import { ShardLayout, type ShardRange } from "./shard_layout.ts";
import { type SpillIndex, SpillWriter } from "../external_sort/spill.ts";
import { type ColumnData, makeColumn, type SpillColumn } from "../external_sort/spill_block.ts";
import { type KeyedBatch, SPLIT_NAMES, SplitAssigner, type SplitName, type SplitPlan } from "./splits.ts";
import { Breather, type StageHooks } from "../threads/stage_hooks.ts";

/** Where the split of a row comes from: a plan, or the folder of its file. */
export type SplitSource =
  | { plan: Omit<SplitPlan, "timeRangeUs"> }
  | { splitOfFile: ReadonlyMap<string, SplitName> };

/** What is read, and where its rows go. */
export interface PartitionTask {
  inputs: readonly string[];
  /** Which share of their rows. */
  rowShare: ArrayTask;
  splits: SplitSource;
  groupBy: GroupKey;
  /** Of the hash that places sources, u32. */
  seed: number;
  numShards: readonly number[];
  /** Rows of other shards are left out. */
  ownShards: ShardRange;
  /** The spill file's columns. */
  schema: readonly SpillColumn[];
  /** Optional columns to read where a file has them. */
  columns: readonly OptionalColumn[];
  /** Fills the spill file's columns from a batch. */
  fill(keyed: KeyedBatch, into: ColumnData[]): void;
  /** How many partitions a shard is to have, from the number of rows. */
  subdivisions(numRows: number): number;
  maxRejectRatio: number;
  memoryLimitBytes: number;
}

/** One thread's part of the work: plain data. */
export interface PartitionShare {
  /** The rows, counted over all inputs, from the first to before the last. */
  rowRange: readonly [first: number, end: number];
  spillPath: string;
  /** Partitions of a shard. */
  subdivisions: number;
  /** Memory for rows waiting to be written. */
  bufferBytes: number;
  timeRangeUs: [number, number] | undefined;
}

/** What became of a share: plain data. */
export interface ShareResult {
  index: SpillIndex;
  /** Rows by split. */
  rows: Record<SplitName, number>;
  numRowsRead: number;
  rejects: RejectSnapshot;
}

/** How the rows of a task are read. */
function readOptionsOf(task: PartitionTask, rejects: RejectLog): KeyedReadOptions {
  const splitMode = "plan" in task.splits ? task.splits.plan.mode : undefined;
  const { groupBy, seed, columns } = task;
  return { groupBy, seed, columns, splitMode, rejects };
}

/**
 * Divides the rows of a share over its spill file.
 *
 * @param hooks `onProgress` gets the rows read of this share.
 * @throws {UserError} If the input cannot be used or the disk is full.
 */
export async function partitionShare(
  task: PartitionTask,
  share: PartitionShare,
  hooks: StageHooks,
): Promise<ShareResult> {
  const breather = new Breather(hooks);
  const rejects = new RejectLog();
  const splitOf = makeSplitter(task, share.timeRangeUs);
  const layout = new ShardLayout(task.numShards, share.subdivisions, task.ownShards);
  using spill = new SpillWriter(share.spillPath, task.schema, {
    numPartitions: layout.numPartitions,
    bufferBytes: share.bufferBytes,
  });
  const rows: Record<SplitName, number> = { train: 0, val: 0, test: 0 };
  let numRowsRead = 0;
  const read = { ...readOptionsOf(task, rejects), rowRange: share.rowRange };
  for await (const keyed of readKeyed(task.inputs, read)) {
    const { batch, keys, groupId } = keyed;
    const split = splitOf(keyed, batch.path);
    const partitionOf = new Uint32Array(batch.numRows);
    for (let row = 0; row < batch.numRows; row++) {
      const partition = layout.partitionOf(split[row], keys.hashes[4 * groupId[row]]);
      partitionOf[row] = partition;
      if (partition < layout.numPartitions) rows[SPLIT_NAMES[split[row]]]++;
    }
    const columns = task.schema.map((column) => makeColumn(column, batch.numRows));
    task.fill(keyed, columns);
    spill.append({ numRows: batch.numRows, columns, keys }, partitionOf);
    numRowsRead += batch.numRowsRead;
    hooks.onProgress?.("reading", numRowsRead, share.rowRange[1] - share.rowRange[0]);
    await breather.breathe();
  }
  return { index: spill.finish(), rows, numRowsRead, rejects: rejects.snapshot() };
}

function makeSplitter(
  { splits }: PartitionTask,
  timeRangeUs: [number, number] | undefined,
): (keyed: KeyedBatch, path: string) => Uint8Array {
  if ("splitOfFile" in splits) {
    const { splitOfFile } = splits;
    return ({ batch }, path) =>
      new Uint8Array(batch.numRows).fill(SPLIT_NAMES.indexOf(splitOfFile.get(path) ?? "train"));
  }
  const assigner = new SplitAssigner({ ...splits.plan, ...(timeRangeUs ? { timeRangeUs } : {}) });
  return (keyed) => assigner.assign(keyed);
}

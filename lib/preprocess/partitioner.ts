/**
 * The first half of `shard` and `probe-rows`: every usable row read once and put on disk with the rows of its
 * partition, rejects counted and listed.
 *
 * @module
 */
import { join } from "@std/path";
import { countRows } from "../measurement/parquet_reader.ts";
import type { OptionalColumn } from "../measurement/parquet_writer.ts";
import { RejectLog } from "../measurement/rejects.ts";
import { type KeyedReadOptions, readKeyed, readTimeRangeUs } from "./keyed_reader.ts";
import type { OutputRun, SpillState } from "./output_run.ts";
import type { GroupKey } from "./probe_columns.ts";
import { ShardLayout } from "./shard_layout.ts";
import { type ColumnData, makeColumn, type SpillColumn, SpillWriter } from "./spill.ts";
import { type KeyedBatch, SPLIT_NAMES, SplitAssigner, type SplitName, type SplitPlan } from "./splits.ts";
import { Breather, type StageHooks } from "./stage_hooks.ts";

/** Where the split of a row comes from: a plan, or the folder of its file. */
export type SplitSource =
  | { plan: Omit<SplitPlan, "timeRangeUs"> }
  | { splitOfFile: ReadonlyMap<string, SplitName> };

/** What {@link partitionRows} does. */
export interface PartitionTask {
  inputs: readonly string[];
  splits: SplitSource;
  groupBy: GroupKey;
  /** Of the hash that places sources, u32. */
  seed: number;
  numShards: readonly number[];
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

/** Share of the memory limit for rows waiting to be written. */
const SPILL_BUFFER_SHARE = 1 / 8;

/**
 * Divides all rows over the spill file of the run, or finds that an earlier run did.
 *
 * @param task What to divide, and how.
 * @param run The output folder; gets `rejects.jsonl`, the counts and the spill file.
 * @throws {UserError} If the input cannot be used, too many rows are rejected, or the disk is full.
 */
export async function partitionRows(
  task: PartitionTask,
  run: OutputRun,
  hooks: StageHooks,
): Promise<SpillState> {
  const earlier = run.earlierSpill();
  if (earlier) return earlier;
  run.beginSpill();
  const breather = new Breather(hooks);
  const rejects = new RejectLog();
  const splitMode = "plan" in task.splits ? task.splits.plan.mode : undefined;
  const read: KeyedReadOptions = { ...task, splitMode, rejects };
  const numInputRows = await countRows(task.inputs);
  const { splitOf, timeRangeUs } = await makeSplitter(task, read, breather);
  const layout = new ShardLayout(task.numShards, task.subdivisions(numInputRows));
  using spill = SpillWriter.create(run.spillPath, task.schema, {
    numPartitions: layout.numPartitions,
    bufferBytes: task.memoryLimitBytes * SPILL_BUFFER_SHARE,
  });
  const rows = Object.fromEntries(SPLIT_NAMES.map((split) => [split, 0]));
  const found = new Set<OptionalColumn>();
  let numRowsRead = 0;
  for await (const keyed of readKeyed(task.inputs, read)) {
    const { batch, groups, groupId } = keyed;
    const split = splitOf(keyed, batch.path);
    const partitionOf = new Uint32Array(batch.numRows);
    for (let row = 0; row < batch.numRows; row++) {
      partitionOf[row] = layout.partitionOf(split[row], groups.hashes[4 * groupId[row]]);
      rows[SPLIT_NAMES[split[row]]]++;
    }
    for (const column of task.columns) if (batch[column]) found.add(column);
    const columns = task.schema.map((column) => makeColumn(column, batch.numRows));
    task.fill(keyed, columns);
    spill.append({ numRows: batch.numRows, columns }, partitionOf);
    numRowsRead += batch.numRowsRead;
    hooks.onProgress?.("reading", numRowsRead, numInputRows);
    await breather.breathe();
  }
  if (rejects.write(join(run.folder, "rejects.jsonl"))) await run.record("rejects.jsonl");
  rejects.check(numRowsRead, task.maxRejectRatio);
  run.checkInputs();
  const state = { index: spill.finish(), subdivisions: layout.subdivisions, columns: [...found].sort() };
  const counts = { inputRows: numRowsRead, rows, ...(timeRangeUs ? { timeRangeUs } : {}) };
  run.finishSpill(state, { counts, rejected: rejects.counts });
  return state;
}

interface Splitter {
  /** The split of each row. */
  splitOf(keyed: KeyedBatch, path: string): Uint8Array;
  timeRangeUs: [number, number] | undefined;
}

async function makeSplitter(
  task: PartitionTask,
  read: KeyedReadOptions,
  breather: Breather,
): Promise<Splitter> {
  if ("splitOfFile" in task.splits) {
    const { splitOfFile } = task.splits;
    return {
      splitOf: ({ batch }, path) =>
        new Uint8Array(batch.numRows).fill(SPLIT_NAMES.indexOf(splitOfFile.get(path) ?? "train")),
      timeRangeUs: undefined,
    };
  }
  const { plan } = task.splits;
  const timeRangeUs = plan.mode === "time" ? await readTimeRangeUs(task.inputs, read, breather) : undefined;
  const assigner = new SplitAssigner({ ...plan, ...(timeRangeUs ? { timeRangeUs } : {}) });
  return { splitOf: (keyed) => assigner.assign(keyed), timeRangeUs };
}

/** Copies the words of each row's address. @param ids The address id of each row. */
export function fillWords(into: ColumnData, words: Uint32Array, ids: Uint32Array): void {
  for (let row = 0; row < ids.length; row++) {
    const from = 4 * ids[row];
    const to = 4 * row;
    into[to] = words[from];
    into[to + 1] = words[from + 1];
    into[to + 2] = words[from + 2];
    into[to + 3] = words[from + 3];
  }
}

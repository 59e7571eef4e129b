/**
 * `probe-rows`: measurements grouped by source, each group in time order, as ArrayRecord files of probe rows.
 *
 * Rows are divided by ranges of the source's hash over so many partitions on disk that each fits in memory; each
 * partition is sorted by (group, time) and cut into records. Records of a shard are in the order of the source's
 * hash; rows of equal time are in the order of the input. The output depends neither on the memory limit nor on the
 * number of partitions.
 *
 * Several tasks may divide the work: each makes consecutive shards, and of a folder that `shard` wrote it reads
 * only files that can hold their rows.
 *
 * @module
 */
import { UsageError } from "../errors.ts";
import { ONLY_TASK } from "../files/array_task.ts";
import { ArrayRecordWriter } from "../array_record/writer.ts";
import { encodeProbeRow, type ProbeRow } from "../probe_rows/probe_row.ts";
import { probeSchema } from "../external_sort/probe_columns.ts";
import { RECORD_OVERHEAD_BYTES, RowCutter } from "./row_cutter.ts";
import { recordShardName, shardRangeOf, shardsWithin } from "./shard_layout.ts";
import { runShardedStage, type StageSummary } from "./sharded_stage.ts";
import type { ShardedStage, ShardedStageOptions, ShardJob, SplitSource } from "./sharded_stage_definition.ts";
import { PartitionSorter, type RowSink, rowsWithin } from "../external_sort/sorted_rows.ts";
import { type ColumnData, rowBytes } from "../external_sort/spill_block.ts";
import { type KeyedBatch, SPLIT_NAMES } from "./splits.ts";
import type { StageHooks } from "../threads/stage_hooks.ts";

/** Share of the memory limit for the rows of a partition and their sort. */
const SORT_MEMORY_SHARE = 1 / 4;
/** The planned size of a partition, as a share of the rows that fit, since sources are not equally large. */
const PARTITION_FILL = 0.6;
/** The largest number of partitions; larger partitions are sorted on disk. */
const MAX_PARTITIONS = 4096;
/**
 * Rows are taken from a partition in the order of the sort, which is faster if the partition fits in the processor's
 * cache: 10 M rows took 6.8 s of processor time in partitions of 0.5 M rows, 5.8 s in these (two cores of a shared
 * server).
 */
const CACHED_ROWS = 32768;
/** The largest number of partitions made for the cache's sake: with more, their blocks would be small. */
const MAX_CACHED_PARTITIONS = 1024;
/** A record is held about three times while it is built, encoded and compressed; the rest is for other data. */
const RECORD_MEMORY_SHARE = 1 / 8;

/** Options of {@link buildProbeRows}; a task makes a share of the output's shards. */
export interface ProbeRowsOptions extends ShardedStageOptions {
  splits: SplitSource;
  /** The largest size of a record, bytes. */
  maxRowSizeBytes: number;
  compression: "zstd" | "brotli" | "none";
}

/**
 * Runs the stage.
 *
 * @returns Per split `records`, `measurements`, `sources`, `shards`, `bytes`.
 * @throws {UserError} If the input or output cannot be used; a rerun continues where this run ended.
 */
export async function buildProbeRows(
  options: ProbeRowsOptions,
  hooks: StageHooks = {},
): Promise<StageSummary> {
  checkRowSize(options);
  return await runShardedStage(probeRowsStage(options), hooks);
}

/** The definition of the stage, for all its threads. */
export function probeRowsStage(options: ProbeRowsOptions): ShardedStage {
  const { splits, groupBy, numShards, maxRowSizeBytes, compression, seed, inputManifests } = options;
  const { workers = 1, task = ONLY_TASK } = options;
  const ownShards = shardRangeOf(task, numShards);
  const own = shardsWithin(numShards, ownShards);
  const sortMemoryBytes = options.memoryLimitBytes * SORT_MEMORY_SHARE / workers;
  const schema = probeSchema(groupBy);
  const rowsPerPartition = PARTITION_FILL * rowsWithin(sortMemoryBytes, rowBytes(schema));
  const identity = "plan" in splits
    ? { splitBy: splits.plan.mode, ratios: splits.plan.ratios }
    : { splitBy: "folders" };
  let sorter: PartitionSorter | undefined;
  return {
    ...options,
    stage: "probe-rows",
    options,
    identity: { ...identity, groupBy, numShards, maxRowSizeBytes, compression, seed },
    rowShare: ONLY_TASK,
    ownShards,
    schema,
    columns: [],
    fill,
    subdivisions: (numRows) => {
      const rowsPerShard = numRows / (inputManifests ? own.length : numShards[0]);
      const most = (partitions: number) => Math.floor(partitions / own.length);
      const needed = Math.min(Math.ceil(rowsPerShard / rowsPerPartition), most(MAX_PARTITIONS));
      const fast = Math.min(Math.ceil(rowsPerShard / CACHED_ROWS), most(MAX_CACHED_PARTITIONS));
      return Math.max(1, needed, fast);
    },
    shardName: (shard) => recordShardName(shard, numShards[SPLIT_NAMES.indexOf(shard.split)]),
    counted: ["records", "measurements", "sources"],
    writeShard: (job) => {
      // One for all shards, because its arrays are large.
      sorter ??= new PartitionSorter(job.spill, {
        seed,
        memoryBytes: sortMemoryBytes,
        runsPath: job.runsPath,
      });
      return writeShard(job, options, sorter);
    },
  };
}

function checkRowSize({ maxRowSizeBytes, memoryLimitBytes }: ProbeRowsOptions): void {
  const largest = memoryLimitBytes * RECORD_MEMORY_SHARE;
  const smallest = 2 * RECORD_OVERHEAD_BYTES;
  if (maxRowSizeBytes >= smallest && maxRowSizeBytes <= largest) return;
  throw new UsageError(
    `Cannot use --max-row-size-mb ${maxRowSizeBytes / 1e6}: expected ${smallest / 1e6} to ${largest / 1e6} ` +
      "(an eighth of the memory limit); change it or raise --memory-limit-gb",
  );
}

function fill({ batch, srcId, dstId, groupId }: KeyedBatch, into: ColumnData[]): void {
  const [timeUs, rttMs, src, dst, group] = into;
  timeUs.set(batch.eventTimeUs);
  rttMs.set(batch.rttMs);
  src.set(srcId);
  dst.set(dstId);
  group?.set(groupId);
}

async function writeShard(
  job: ShardJob,
  { compression, maxRowSizeBytes }: ProbeRowsOptions,
  sorter: PartitionSorter,
): Promise<Record<string, number>> {
  using writer = await ArrayRecordWriter.create(job.path, { compression });
  let measurements = 0;
  let sources = 0;
  const cutter = new RowCutter(maxRowSizeBytes, (row: ProbeRow) => {
    measurements += row.eventTimeUs.length;
    writer.write(encodeProbeRow(row));
  });
  const sink: RowSink = {
    beginGroup(group) {
      sources++;
      cutter.beginGroup(group);
    },
    push: (columns, row) => cutter.push(columns, row),
  };
  for (const partition of job.partitions) {
    await sorter.sort(partition, sink, () => job.breather.breathe());
  }
  cutter.flush();
  const { numRecords } = writer.close();
  return { records: numRecords, measurements, sources };
}

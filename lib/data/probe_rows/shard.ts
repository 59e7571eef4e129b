/**
 * `shard`: divides measurements into Parquet files for train, val and test, and each split into shards by the
 * source's hash.
 *
 * Rows are first divided among the partitions of one spill file, one partition per shard, and then each shard
 * is written from its partition. So there is one Parquet writer at a time, whatever the number of shards.
 * Rows keep their input order. Addresses are written as in RFC 5952, so that a source has one spelling.
 *
 * The work can be divided among several tasks. Each reads consecutive row groups and writes its part of every
 * shard. The names of a shard's parts sort in input order.
 *
 * @module
 */
import { ONLY_TASK } from "../../io/files/array_task.ts";
import type { MeasurementBatch } from "../formats/batch.ts";
import { MeasurementParquetWriter, OPTIONAL_COLUMNS } from "../measurement_files/parquet_writer.ts";
import { integerToWords, KeyKind, KeyTable, wordsToAddress } from "./external_sort/keys.ts";
import type { GroupKey } from "./external_sort/probe_columns.ts";
import { parquetShardName } from "./shard_layout.ts";
import { runShardedStage, type StageSummary } from "./sharded_stage.ts";
import type { ShardedStage, ShardedStageOptions, ShardJob } from "./stage_threads.ts";
import { type ColumnData, makeColumn, type SpillColumn } from "./external_sort/spill.ts";
import type { SplitMode, SplitRatios } from "./splits.ts";
import type { StageHooks } from "../../io/threads/stage_hooks.ts";

const SCHEMA: readonly SpillColumn[] = [
  { name: "timeUs", type: "f64" },
  { name: "rttMs", type: "f64" },
  { name: "src", type: "key" },
  { name: "dst", type: "key" },
  ...OPTIONAL_COLUMNS.map(({ name }): SpillColumn => ({ name, type: "f64" })),
];
/** Maximum number of address texts kept from block to block. */
const MAX_TEXTS = 1 << 18;

/** Options of {@link shardMeasurements}. A task reads a share of the input and makes a part of each shard. */
export interface ShardOptions extends ShardedStageOptions {
  splitBy: SplitMode;
  ratios: SplitRatios;
}

/** Runs the stage. @returns `rows`, `sources`, `shards` and `bytes` per split. */
export async function shardMeasurements(
  options: ShardOptions,
  hooks: StageHooks = {},
): Promise<StageSummary> {
  return await runShardedStage(shardStage(options), hooks);
}

/** The stage's definition, for all its threads. */
export function shardStage(options: ShardOptions): ShardedStage {
  const { splitBy, ratios, groupBy, numShards, seed, task = ONLY_TASK } = options;
  return {
    ...options,
    stage: "shard",
    options,
    identity: { splitBy, ratios, groupBy, numShards, seed },
    splits: { plan: { mode: splitBy, ratios, seed } },
    rowShare: task,
    ownShards: [0, numShards[0] + numShards[1] + numShards[2]],
    schema: SCHEMA,
    columns: OPTIONAL_COLUMNS.map(({ key }) => key),
    columnsOf: ({ batch, srcId, dstId }) => {
      const missing = () => new Float64Array(batch.numRows).fill(NaN);
      const optional = OPTIONAL_COLUMNS.map(({ key }) => batch[key] ?? missing());
      return [batch.eventTimeUs, batch.rttMs, srcId, dstId, ...optional];
    },
    subdivisions: () => 1,
    shardName: (shard) => parquetShardName(shard, task),
    counted: ["rows", "sources"],
    writeShard: (job) => writeShard(job, groupBy),
  };
}

async function writeShard(job: ShardJob, groupBy: GroupKey): Promise<Record<string, number>> {
  const optional = OPTIONAL_COLUMNS.map(({ key }) => key).filter((key) => job.columns.includes(key));
  using writer = MeasurementParquetWriter.create(job.path, { optionalColumns: optional });
  const keys = new KeyTable();
  const sources = new KeyTable();
  const prbIdColumn = SCHEMA.findIndex(({ name }) => name === "prb_id");
  const words = new Uint32Array(4);
  let texts: string[] = [];
  for (const partition of job.partitions) {
    for (const block of job.spill.blocks(partition)) {
      if (keys.size > MAX_TEXTS) {
        keys.clear();
        texts = [];
      }
      const columns = SCHEMA.map((column) => makeColumn(column, block.numRows));
      block.read({ into: columns, at: 0, keys });
      for (let id = texts.length; id < keys.size; id++) {
        texts.push(wordsToAddress(keys.words, 4 * id, keys.kinds[id]));
      }
      if (groupBy === "src_addr") { for (const id of columns[2]) sources.idIn(keys, id); }
      else {
        for (const prbId of columns[prbIdColumn]) {
          integerToWords(prbId, words, 2);
          sources.idOf(words, 0, KeyKind.PROBE);
        }
      }
      writer.append(toBatch(columns, job.columns, { kinds: keys.kinds, texts }));
      await job.pacer.yieldToEventLoop();
    }
  }
  const { rows } = writer.close();
  return { rows, sources: sources.size };
}

function toBatch(
  columns: readonly ColumnData[],
  found: readonly string[],
  { kinds, texts }: { kinds: Uint8Array; texts: readonly string[] },
): MeasurementBatch {
  const [timeUs, rttMs, src, dst, ...optional] = columns;
  const batch: MeasurementBatch = {
    numRows: timeUs.length,
    eventTimeUs: timeUs as Float64Array,
    srcAddr: Array.from(src, (id) => texts[id]),
    dstAddr: Array.from(dst, (id) => texts[id]),
    ipVersion: Uint8Array.from(dst, (id) => kinds[id]),
    rttMs: rttMs as Float64Array,
  };
  OPTIONAL_COLUMNS.forEach(({ key }, i) => {
    if (found.includes(key)) batch[key] = optional[i] as Float64Array;
  });
  return batch;
}

/**
 * `shard`: measurements Parquet divided into train, val and test, each into shards by hash of the source.
 *
 * Rows are first divided over one spill file, in which every shard is a partition, then each shard is written
 * from its partition: one Parquet writer at a time, whatever the number of shards. Rows keep the order of the
 * input. Addresses are written as RFC 5952 does, so that a source has one spelling.
 *
 * Several tasks may divide the work: each reads a run of consecutive row groups and writes its part of every
 * shard. The names of a shard's parts sort in the order of the input.
 *
 * @module
 */
import { type ArrayTask, ONLY_TASK } from "../files/array_task.ts";
import type { MeasurementBatch } from "../measurement/batch.ts";
import { MeasurementParquetWriter, OPTIONAL_COLUMNS } from "../measurement/parquet_writer.ts";
import { KeyTable } from "./key_table.ts";
import { fillWords } from "./partition_share.ts";
import type { GroupKey } from "./probe_columns.ts";
import { parquetShardName } from "./shard_layout.ts";
import { runShardedStage, type StageSummary } from "./sharded_stage.ts";
import type { ShardedStage, ShardJob } from "./sharded_stage_definition.ts";
import { integerToWords, KeyKind, wordsToAddress } from "./source_key.ts";
import type { ColumnData, SpillBlock, SpillColumn } from "./spill.ts";
import type { KeyedBatch, SplitMode, SplitRatios } from "./splits.ts";
import type { StageHooks } from "./stage_hooks.ts";

const SCHEMA: readonly SpillColumn[] = [
  { name: "timeUs", type: "f64", width: 1 },
  { name: "rttMs", type: "f64", width: 1 },
  { name: "src", type: "u32", width: 4 },
  { name: "dst", type: "u32", width: 4 },
  { name: "version", type: "u8", width: 1 },
  ...OPTIONAL_COLUMNS.map(({ name }): SpillColumn => ({ name, type: "f64", width: 1 })),
];
const FIRST_OPTIONAL = 5;
/** The address texts kept from block to block. */
const MAX_TEXTS = 1 << 18;

/** What {@link shardMeasurements} does. */
export interface ShardOptions {
  /** Parquet files, sorted. */
  inputs: readonly string[];
  /** The output folder. */
  output: string;
  splitBy: SplitMode;
  ratios: SplitRatios;
  /** What a source is. */
  groupBy: GroupKey;
  /** Shards of train, val and test. */
  numShards: readonly [train: number, val: number, test: number];
  /** Of the hash, u32. */
  seed: number;
  /** Largest share of rows that may be rejected. */
  maxRejectRatio: number;
  memoryLimitBytes: number;
  overwrite: boolean;
  /** Threads at most (default 1); the output does not depend on it. */
  workers?: number;
  /** Which share of the input is read and makes a part of each shard; all of it by default. */
  task?: ArrayTask;
}

/**
 * Runs the stage.
 *
 * @returns Per split `rows`, `sources`, `shards`, `bytes`.
 * @throws {UserError} If the input or output cannot be used; a rerun goes on where this run ended.
 */
export async function shardMeasurements(
  options: ShardOptions,
  hooks: StageHooks = {},
): Promise<StageSummary> {
  return await runShardedStage(shardStage(options), hooks);
}

/** What the stage does, for whichever thread does it. */
export function shardStage(options: ShardOptions): ShardedStage {
  const { splitBy, ratios, groupBy, numShards, seed, inputs, output, overwrite } = options;
  const arrayTask = options.task ?? ONLY_TASK;
  return {
    arrayTask,
    inputs,
    workers: options.workers ?? 1,
    options,
    stage: "shard",
    output,
    overwrite,
    identity: { splitBy, ratios, groupBy, numShards, seed },
    task: {
      ...options,
      rowShare: arrayTask,
      ownShards: [0, numShards[0] + numShards[1] + numShards[2]],
      splits: { plan: { mode: splitBy, ratios, seed } },
      schema: SCHEMA,
      columns: OPTIONAL_COLUMNS.map(({ key }) => key),
      fill,
      subdivisions: () => 1,
    },
    shardName: (shard) => parquetShardName(shard, arrayTask),
    writeShard: (job) => writeShard(job, groupBy),
  };
}

function fill({ batch, addresses, srcId, dstId }: KeyedBatch, into: ColumnData[]): void {
  const [timeUs, rttMs, src, dst, version, ...optional] = into;
  timeUs.set(batch.eventTimeUs);
  rttMs.set(batch.rttMs);
  fillWords(src, addresses.words, srcId);
  fillWords(dst, addresses.words, dstId);
  version.set(batch.ipVersion);
  OPTIONAL_COLUMNS.forEach(({ key }, i) => {
    const values = batch[key];
    if (values) optional[i].set(values);
    else optional[i].fill(NaN);
  });
}

async function writeShard(job: ShardJob, groupBy: GroupKey): Promise<Record<string, number>> {
  const optional = OPTIONAL_COLUMNS.map(({ key }) => key).filter((key) => job.columns.includes(key));
  using writer = MeasurementParquetWriter.create(job.path, { optionalColumns: optional });
  const sources = new KeyTable();
  const texts = new AddressTexts();
  for (const partition of job.partitions) {
    for (const block of job.spill.blocks(partition)) {
      countSources(block, groupBy, sources);
      writer.append(toBatch(block, job.columns, texts));
      await job.breather.breathe();
    }
  }
  const { rows } = writer.close();
  return { rows, sources: sources.size };
}

function toBatch(
  { numRows, columns }: SpillBlock,
  found: readonly string[],
  texts: AddressTexts,
): MeasurementBatch {
  const [timeUs, rttMs, src, dst, version, ...optional] = columns;
  const batch: MeasurementBatch = {
    numRows,
    eventTimeUs: timeUs as Float64Array,
    srcAddr: texts.ofAll(src as Uint32Array, version as Uint8Array),
    dstAddr: texts.ofAll(dst as Uint32Array, version as Uint8Array),
    ipVersion: version as Uint8Array,
    rttMs: rttMs as Float64Array,
  };
  OPTIONAL_COLUMNS.forEach(({ key }, i) => {
    if (found.includes(key)) batch[key] = optional[i] as Float64Array;
  });
  return batch;
}

function countSources({ numRows, columns }: SpillBlock, groupBy: GroupKey, sources: KeyTable): void {
  const [, , src, , version] = columns;
  const prbId = columns[FIRST_OPTIONAL + OPTIONAL_COLUMNS.findIndex(({ key }) => key === "prbId")];
  const words = new Uint32Array(4);
  for (let row = 0; row < numRows; row++) {
    if (groupBy === "prb_id") {
      integerToWords(prbId[row], words, 2);
      sources.idOf(words, 0, KeyKind.PROBE);
    } else sources.idOf(src as Uint32Array, 4 * row, version[row]);
  }
}

/** The texts of addresses, each made once. */
class AddressTexts {
  readonly #table = new KeyTable();
  #texts: string[] = [];

  ofAll(words: Uint32Array, versions: Uint8Array): string[] {
    if (this.#table.size > MAX_TEXTS) {
      this.#table.clear();
      this.#texts = [];
    }
    return Array.from(versions, (version, row) => {
      const id = this.#table.idOf(words, 4 * row, version);
      return this.#texts[id] ??= wordsToAddress(words, 4 * row, version);
    });
  }
}

/**
 * `probe-rows`: measurements grouped by source, each group in time order, as ArrayRecord files of probe rows.
 *
 * Rows are divided by ranges of the source's hash among partitions on disk. Each partition fits in memory,
 * where it is sorted by (group, time) and cut into records. A shard's records are in the order of the
 * source's hash; rows with equal times are in input order. The output depends neither on the memory limit nor
 * on the number of partitions.
 *
 * The work can be divided among several tasks. Each makes consecutive shards, and from a folder written by
 * `shard` it reads only the files that can contain their rows.
 *
 * @module
 */
import { ensure, UsageError } from "../../base/errors.ts";
import { encodeProbeRow, type ProbeRow, probeRowSrcId, SEVERAL_PROBES } from "./probe_row.ts";
import { IdNumbering, KeyKind, KeyTable, wordsToAddress } from "./external_sort/keys.ts";
import { type Group, type ProbeColumns, probeSchema } from "./external_sort/probe_columns.ts";
import { PartitionSorter, type RowSink, rowsWithin } from "./external_sort/sorted_rows.ts";
import { ONLY_TASK } from "../../io/files/array_task.ts";
import { ArrayRecordWriter } from "../../io/array_record/writer.ts";
import { recordShardName, shardRangeOf, shardsWithin } from "./shard_layout.ts";
import { runShardedStage, type StageSummary } from "./sharded_stage.ts";
import type { ShardedStage, ShardedStageOptions, ShardJob, SplitSource } from "./stage_threads.ts";
import { rowBytes } from "./external_sort/spill.ts";
import { type KeyedBatch, SPLIT_NAMES } from "./splits.ts";
import type { StageHooks } from "../../io/threads/stage_hooks.ts";

/** The share of the memory limit for the rows of a partition and for sorting them. */
const SORT_MEMORY_SHARE = 1 / 4;
/** The planned size of a partition, as a share of the rows that fit, since sources differ in size. */
const PARTITION_FILL = 0.6;
/** With more, partitions would be larger and sorted on disk instead. */
const MAX_PARTITIONS = 4096;
/**
 * Rows are taken from a partition in sorted order, which is faster if the partition fits in the processor's
 * cache: 10 M rows took 6.8 s of processor time in partitions of 0.5 M rows, and 5.8 s in partitions of this
 * size (two cores of a shared server).
 */
const CACHED_ROWS = 32768;
/** Maximum number of partitions made to suit the cache: with more, their blocks would be small. */
const MAX_CACHED_PARTITIONS = 1024;
/** While a record is built, encoded and compressed, it takes about three times its size. */
const RECORD_MEMORY_SHARE = 1 / 8;

/** Options of {@link buildProbeRows}. A task makes its share of the output's shards. */
export interface ProbeRowsOptions extends ShardedStageOptions {
  splits: SplitSource;
  maxRowSizeBytes: number;
  compression: "zstd" | "brotli" | "none";
}

/** Runs the stage. @returns `records`, `measurements`, `sources`, `shards` and `bytes` per split. */
export async function buildProbeRows(
  options: ProbeRowsOptions,
  hooks: StageHooks = {},
): Promise<StageSummary> {
  checkRowSize(options);
  return await runShardedStage(probeRowsStage(options), hooks);
}

/** The stage's definition, for all its threads. */
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
    columns: ["prbId"],
    columnsOf: (keyed) => {
      const { batch, srcId, dstId, groupId } = keyed;
      const last = groupBy === "src_addr" ? probesOf(keyed) : groupId;
      return [batch.eventTimeUs, batch.rttMs, srcId, dstId, last];
    },
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
      // Shared by all shards, because its arrays are large.
      sorter ??= new PartitionSorter(job.spill, {
        seed,
        memoryBytes: sortMemoryBytes,
        runsPath: job.runsPath,
      });
      return writeShard(job, options, sorter);
    },
  };
}

/** The keys of the probes; of the sources where the probe is unknown. */
function probesOf({ batch: { prbId }, keys, srcId }: KeyedBatch): Uint32Array {
  if (!prbId) return srcId;
  // Few addresses have more than one probe, so each probe is looked up once.
  const [prbIdOf, keyOf] = [new Float64Array(keys.size).fill(NaN), new Uint32Array(keys.size)];
  return srcId.map((id, row) => {
    if (!(prbId[row] >= 0)) return id;
    if (prbIdOf[id] !== prbId[row]) {
      prbIdOf[id] = prbId[row];
      keyOf[id] = keys.idOfProbe(prbId[row]);
    }
    return keyOf[id];
  });
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
    await sorter.sort(partition, sink, () => job.pacer.yieldToEventLoop());
  }
  cutter.flush();
  const { numRecords } = writer.close();
  return { records: numRecords, measurements, sources };
}

/** event_time 8, two dictionary indexes 4 + 4, ip_version 1, rtt 4. */
const BYTES_PER_MEASUREMENT = 21;
/** One offset per dictionary entry. */
const BYTES_PER_ENTRY = 4;
/**
 * Bytes of a record in addition to its measurements and dictionaries: two schemas, five messages, and padding
 * of each buffer; 2,100 to 2,190 with apache-arrow 21.2.
 */
const RECORD_OVERHEAD_BYTES = 4096;
/** Maximum number of address texts kept from row to row. */
const MAX_TEXTS = 1 << 18;

/**
 * Cuts sorted rows into probe rows. A new probe row begins with each group, and whenever the record would
 * exceed the size limit. Column widths and dictionary texts determine an upper bound of the size, so a row is
 * encoded only once.
 */
class RowCutter implements RowSink {
  readonly #maxRecordBytes: number;
  readonly #emit: (row: ProbeRow) => void;
  readonly #maxMeasurements: number;
  readonly #addresses = new KeyTable();
  readonly #texts: string[] = [];
  readonly #sources = new IdNumbering();
  readonly #destinations = new IdNumbering();
  #group: Group | undefined;
  #prbId: number | undefined;
  #numRows = 0;
  #sizeBytes = RECORD_OVERHEAD_BYTES;
  #timeUs = new Float64Array(1024);
  #srcIndex = new Int32Array(1024);
  #dstIndex = new Int32Array(1024);
  #version = new Int8Array(1024);
  #rttMs = new Float32Array(1024);

  /**
   * @param maxRecordBytes The maximum size of a record; at least twice {@link RECORD_OVERHEAD_BYTES}.
   * @param emit Receives each finished row; its arrays are views that change after the call.
   */
  constructor(maxRecordBytes: number, emit: (row: ProbeRow) => void) {
    ensure(maxRecordBytes >= 2 * RECORD_OVERHEAD_BYTES, "the size limit of a probe row is too small");
    this.#maxRecordBytes = maxRecordBytes;
    this.#maxMeasurements = Math.ceil(maxRecordBytes / BYTES_PER_MEASUREMENT);
    this.#emit = emit;
  }

  beginGroup(group: Group): void {
    this.flush();
    this.#group = group;
  }

  push(columns: ProbeColumns, row: number): void {
    const { keys } = columns;
    const src = this.#addresses.idIn(keys, columns.src[row]);
    const dst = this.#addresses.idIn(keys, columns.dst[row]);
    const added = BYTES_PER_MEASUREMENT + this.#entryBytes(this.#sources, src) +
      this.#entryBytes(this.#destinations, dst);
    if (this.#sizeBytes + added > this.#maxRecordBytes && this.#numRows > 0) {
      this.flush();
      return this.push(columns, row);
    }
    this.#sizeBytes += added;
    const at = this.#numRows++;
    if (at === this.#timeUs.length) this.#grow();
    this.#timeUs[at] = columns.timeUs[row];
    this.#srcIndex[at] = this.#sources.numberOf(src);
    this.#dstIndex[at] = this.#destinations.numberOf(dst);
    this.#version[at] = this.#addresses.kinds[dst];
    this.#rttMs[at] = columns.rttMs[row];
    if (columns.further.length > 0) this.#addProbe(keys, columns.further[0][row]);
  }

  /** @param id The key of the probe, or of an address if it is unknown. */
  #addProbe({ words, kinds }: KeyTable, id: number): void {
    if (kinds[id] !== KeyKind.PROBE) return;
    const prbId = words[4 * id + 2] * 2 ** 32 + words[4 * id + 3];
    if (this.#prbId !== prbId) this.#prbId = this.#prbId === undefined ? prbId : SEVERAL_PROBES;
  }

  flush(): void {
    const n = this.#numRows;
    if (n === 0) return;
    ensure(this.#group, "rows came before their group");
    const [srcAddrs, dstAddrs] = [this.#sources, this.#destinations].map(({ ids }) =>
      ids.map((id) => this.#textOf(id))
    );
    this.#emit({
      srcId: srcIdOf(this.#group, srcAddrs[0]),
      ...(this.#prbId !== undefined && { prbId: this.#prbId }),
      eventTimeUs: this.#timeUs.subarray(0, n),
      srcAddrs,
      srcIndex: this.#srcIndex.subarray(0, n),
      dstAddrs,
      dstIndex: this.#dstIndex.subarray(0, n),
      ipVersion: this.#version.subarray(0, n),
      rttMs: this.#rttMs.subarray(0, n),
    });
    this.#prbId = undefined;
    this.#numRows = 0;
    this.#sizeBytes = RECORD_OVERHEAD_BYTES;
    this.#sources.clear();
    this.#destinations.clear();
    if (this.#addresses.size > MAX_TEXTS) {
      this.#addresses.clear();
      this.#texts.length = 0;
    }
  }

  #entryBytes(dictionary: IdNumbering, id: number): number {
    return dictionary.has(id) ? 0 : this.#textOf(id).length + BYTES_PER_ENTRY;
  }

  #textOf(id: number): string {
    const { words, kinds } = this.#addresses;
    return this.#texts[id] ??= wordsToAddress(words, 4 * id, kinds[id]);
  }

  #grow(): void {
    const length = Math.min(2 * this.#timeUs.length, this.#maxMeasurements);
    this.#timeUs = new Float64Array(this.#timeUs.buffer.transfer(8 * length));
    this.#srcIndex = new Int32Array(this.#srcIndex.buffer.transfer(4 * length));
    this.#dstIndex = new Int32Array(this.#dstIndex.buffer.transfer(4 * length));
    this.#version = new Int8Array(this.#version.buffer.transfer(length));
    this.#rttMs = new Float32Array(this.#rttMs.buffer.transfer(4 * length));
  }
}

/** The record's src_id, from the address's text or the probe id. @param text The first source address. */
function srcIdOf({ words, kind }: Group, text: string): bigint {
  if (kind === KeyKind.PROBE) return (BigInt(words[2]) << 32n) | BigInt(words[3]);
  return probeRowSrcId(text);
}

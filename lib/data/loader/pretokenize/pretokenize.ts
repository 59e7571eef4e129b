/**
 * `pretokenize`: writes the tokens that this program trains on as Parquet, for other trainers.
 *
 * Vocabulary v1 makes a sequence of each measurement, v2 of each context of one epoch. Input folders with
 * `train`, `val`, `test` in them keep their splits. A rerun of interrupted work keeps the finished files.
 *
 * @module
 */
import { DEFAULT_SAMPLING, numContextsOfRow, sampleContext } from "../../tokens/contexts.ts";
import { type PreparedRow, prepareRow } from "../prepared_row.ts";
import { openRowFiles, type ProbeRowSource } from "../row_source.ts";
import { RandomStream } from "../../../base/random.ts";
import { TokenWriter, VOCAB_SIZE as V2_VOCAB_SIZE } from "../../tokens/vocab_v2.ts";
import { TokenShards } from "./token_shards.ts";
import { decodeRttCode, encodeRttCode } from "../../tokens/rtt_code.ts";
import { ensure } from "../../../base/errors.ts";
import { readMeasurements, type SourcedBatch, surveyInputs } from "../../measurement_files/parquet_reader.ts";
import { OPTIONAL_COLUMNS, type OptionalColumn } from "../../measurement_files/parquet_writer.ts";
import { RejectLog, type RejectReason } from "../../measurement_files/rejects.ts";
import { parseAddress } from "../../addresses/ip.ts";
import {
  blockOrder,
  chosenRttEncoding,
  clippedRtt,
  MAX_ERROR_COUNT,
  MAX_SIZE_BYTES,
  type RttEncoding,
  type RttEncodingName,
  VOCAB_SIZE as V1_VOCAB_SIZE,
  WholeMeasurementWriter,
} from "../../tokens/vocab_v1.ts";
import { join } from "@std/path";
import { type CheckedOutputs, checkOutputs } from "../../../io/files/checked_outputs.ts";
import { fingerprint } from "../../../io/files/inputs.ts";
import { Output } from "../../../io/files/output.ts";
import { PeakMemory } from "../../../io/threads/peak_memory.ts";
import { listSplitInputs, SPLIT_NAMES, type SplitInputs, sumBySplit } from "../../probe_rows/splits.ts";
import { EventLoopPacer, type StageHooks } from "../../../io/threads/stage_hooks.ts";

// Sequences of vocabulary v2: the contexts of one epoch, as the loader draws them, one a sequence.
//
// Contexts are not packed: masks for several contexts in a row of tokens depend on
// the trainer, and trainers that pack use lengths. Rows are in the order of the files, each with all its
// contexts; the loader shuffles, and so should other trainers. A context has up to T + 1 tokens, T inputs and the
// last one's target.

/** The options of drawing contexts; with the loader's values the contexts are the same. */
interface ContextSequenceOptions {
  /** The seed, 0..2^53 - 1. */
  seed: number;
  /** 0 or more. */
  epoch: number;
  /** T, tokens of a sequence. */
  sequenceLength: number;
  /** Called after each row. */
  onRow: () => Promise<void>;
}

/**
 * Writes the contexts of all rows as sequences.
 *
 * @param source The rows.
 * @param shards Takes the sequences.
 * @throws {FormatError} If a row cannot be read.
 * @throws {UserError} If the disk is full.
 */
async function writeContextSequences(
  source: ProbeRowSource,
  shards: TokenShards,
  { seed, epoch, sequenceLength, onRow }: ContextSequenceOptions,
): Promise<void> {
  const maxTokens = sequenceLength + 1;
  const tokens = new Uint16Array(maxTokens);
  for (let index = 0; index < source.numRows; index++) {
    let prepared = shards.isWanted ? prepare(source, index) : undefined;
    const numMeasurements = prepared?.timeS.length ?? source.numMeasurements(index);
    const numContexts = numContextsOfRow(numMeasurements, DEFAULT_SAMPLING);
    for (let i = 0; i < numContexts; i++) {
      if (!shards.isWanted) {
        await shards.skip();
        continue;
      }
      prepared ??= prepare(source, index);
      // The loader's stream (loader/blocks.ts): the same contexts.
      const random = new RandomStream(seed, "loader/context", epoch, index, i);
      const context = sampleContext(prepared, maxTokens, random, DEFAULT_SAMPLING);
      const writer = new TokenWriter(tokens);
      for (const measurement of context.measurements) writer.write(measurement, measurement.order);
      await shards.append(tokens.subarray(0, writer.at));
    }
    await onRow();
  }
}

function prepare(source: ProbeRowSource, index: number): PreparedRow {
  return prepareRow(source.row(index), { path: source.path, index });
}

// Quantiles of any number of RTTs in bounded memory, from counts of the RTT codes.

/** Counts RTTs; half a megabyte. */
export class RttCodeCounts {
  total = 0;
  readonly #counts = new Float64Array(0x10000);

  /** Counts an RTT. @param rttMs Milliseconds, 0 or more. */
  add(rttMs: number): void {
    this.#counts[encodeRttCode(rttMs)]++;
    this.total++;
  }

  /**
   * The least RTT, in milliseconds, that more than the share `quantile` of the RTTs do not exceed, as its code is read:
   * off by 0.049 % at most, below 2.048 ms by 1 µs; NaN if there are none.
   *
   * @param quantile 0 to 1.
   */
  quantileMs(quantile: number): number {
    if (this.total === 0) return NaN;
    const rank = Math.min(this.total - 1, Math.floor(quantile * this.total));
    let numBelow = 0;
    return decodeRttCode(this.#counts.findIndex((count) => (numBelow += count) > rank));
  }
}

// Sequences of vocabulary v1: each row of measurements Parquet becomes one, in the order of the files.

const US_PER_S = 1e6;
const US_PER_MS = 1000;
const MAX_TOKENS = 69;
/** Cached addresses, some 300 bytes each, so 60 MB. */
const MAX_CACHED_ADDRESSES = 200_000;
const NEEDED: readonly OptionalColumn[] = ["msmId", "sizeBytes", "packetErrorCount"];

/** The options of reading rows. */
interface MeasurementSequenceOptions {
  rejects: RejectLog;
  /** Called after each batch with the rows read since the last call. */
  onRows: (numRows: number) => Promise<void>;
}

/**
 * Writes the rows of files as sequences.
 *
 * @param files Parquet files, in their order.
 * @param shards Takes the sequences.
 * @param options `rttEncoding`: the encoding of RTTs.
 * @throws {FormatError} If a file is damaged or lacks a column.
 * @throws {UserError} If the disk is full.
 */
async function writeMeasurementSequences(
  files: readonly string[],
  shards: TokenShards,
  options: MeasurementSequenceOptions & { rttEncoding: RttEncoding },
): Promise<void> {
  const { rejects, rttEncoding, onRows } = options;
  const encoder = new RowEncoder(rttEncoding);
  for await (const batch of readMeasurements(files, { rejects, columns: NEEDED, required: NEEDED })) {
    for (let row = 0; row < batch.numRows; row++) {
      const fault = faultOfRow(batch, row, rttEncoding);
      if (fault) reject(rejects, batch, row, fault);
      else if (!shards.isWanted) await shards.skip();
      else {
        // Awaited only at the end of a file: a row takes less time than a turn of the event loop.
        const finishing = shards.append(encoder.encode(batch, row));
        if (finishing) await finishing;
      }
    }
    await onRows(batch.numRowsRead);
  }
}

/**
 * A quantile of the RTTs of files, in whole microseconds, as its RTT code is read: off by 0.049 % at most.
 *
 * @param files Parquet files.
 * @param quantile 0 to 1.
 * @param options The log that counts rejected rows.
 * @returns At least 1; 1 if the files have no replies.
 * @throws {FormatError} If a file is damaged or lacks a column.
 */
async function rttQuantileUs(
  files: readonly string[],
  quantile: number,
  { rejects, onRows }: MeasurementSequenceOptions,
): Promise<number> {
  const counts = new RttCodeCounts();
  for await (const { rttMs, numRows, numRowsRead } of readMeasurements(files, { rejects, columns: [] })) {
    for (let row = 0; row < numRows; row++) {
      if (rttMs[row] >= 0) counts.add(rttMs[row]);
    }
    await onRows(numRowsRead);
  }
  return counts.total === 0 ? 1 : Math.max(1, Math.round(counts.quantileMs(quantile) * US_PER_MS));
}

interface Fault {
  reason: RejectReason;
  detail: string;
}

/** The reason for which a row has no tokens, if it has none: values are never wrapped or cut. */
function faultOfRow(batch: SourcedBatch, row: number, { maxRttMs }: RttEncoding): Fault | undefined {
  for (const key of NEEDED) {
    const value = batch[key]?.[row] ?? NaN;
    if (Number.isSafeInteger(value) && (value >= 0 || key === "msmId")) continue;
    const name = OPTIONAL_COLUMNS.find((column) => column.key === key)?.name ?? key;
    return Number.isNaN(value)
      ? { reason: "nullValue", detail: name }
      : { reason: "invalidInteger", detail: `${name} ${value}` };
  }
  const sizeBytes = batch.sizeBytes?.[row] ?? 0;
  if (sizeBytes > MAX_SIZE_BYTES) return { reason: "sizeTooLarge", detail: `size ${sizeBytes}` };
  const errorCount = batch.packetErrorCount?.[row] ?? 0;
  if (errorCount > MAX_ERROR_COUNT) {
    return { reason: "errorCountTooLarge", detail: `packet_error_count ${errorCount}` };
  }
  if (batch.rttMs[row] > maxRttMs) return { reason: "invalidRtt", detail: `rtt ${batch.rttMs[row]}` };
  return undefined;
}

/** If the reader rejected rows of a batch, their indexes are unknown, so the place is that of the whole batch. */
function reject(rejects: RejectLog, batch: SourcedBatch, row: number, { reason, detail }: Fault): void {
  const isExact = batch.numRowsRead === batch.numRows;
  const place = isExact ? "" : `, in the ${batch.numRowsRead} rows from ${batch.firstRow} on`;
  rejects.add(reason, batch.path, batch.firstRow + (isExact ? row : 0), detail + place);
}

/** Encodes rows of batches; an address is parsed once. */
class RowEncoder {
  readonly #writer: WholeMeasurementWriter;
  readonly #addresses = new Map<string, Uint8Array>();

  constructor(rttEncoding: RttEncoding) {
    this.#writer = new WholeMeasurementWriter(new Uint16Array(MAX_TOKENS), rttEncoding);
  }

  /** The tokens of a row without fault; valid until the next call. */
  encode(batch: SourcedBatch, row: number): Uint16Array {
    const msmId = batch.msmId?.[row] ?? 0;
    const rttMs = batch.rttMs[row];
    const eventTimeUs = batch.eventTimeUs[row];
    const measurement = {
      source: this.#address(batch.srcAddr[row]),
      destination: this.#address(batch.dstAddr[row]),
      rttMs: rttMs < 0 ? null : rttMs,
      sizeBytes: batch.sizeBytes?.[row] ?? 0,
      packetErrorCount: batch.packetErrorCount?.[row] ?? 0,
      timeS: Math.floor(eventTimeUs / US_PER_S),
      msmId,
    };
    this.#writer.at = 0;
    const length = this.#writer.write(measurement, blockOrder(msmId, eventTimeUs));
    return this.#writer.out.subarray(0, length);
  }

  #address(text: string): Uint8Array {
    let bytes = this.#addresses.get(text);
    if (!bytes) {
      bytes = parseAddress(text);
      ensure(bytes, `the reader accepted the address ${text}`);
      if (this.#addresses.size >= MAX_CACHED_ADDRESSES) this.#addresses.clear();
      this.#addresses.set(text, bytes);
    }
    return bytes;
  }
}

const PROBE_ROWS = {
  extensions: [".arrayrecord"],
  wanted: "an ArrayRecord file of probe rows (probe-rows makes them of Parquet)",
};

/** The common options of both vocabularies. */
interface CommonOptions {
  /** Files, folders and globs. */
  inputs: readonly string[];
  /** The facts in the inputs' manifests; read by default. */
  checked?: CheckedOutputs;
  output: string;
  sequencesPerFile: number;
  overwrite: boolean;
}

/** Options of {@link pretokenize} for measurements Parquet. */
export interface V1Options extends CommonOptions {
  vocabulary: "v1";
  rttEncoding: RttEncodingName;
  /** For `clipped`: the clip in milliseconds, or a quantile of all RTTs of the input. */
  rttClip: { ms: number } | { quantile: number };
  /** Largest share of rows that may be rejected. */
  maxRejectRatio: number;
}

/** Options of {@link pretokenize} for probe rows. */
export interface V2Options extends CommonOptions {
  vocabulary: "v2";
  /** Seed of the contexts; a loader with the same seed draws the same ones. */
  seed: number;
  /** The epoch of the loader, from 0. */
  epoch: number;
  /** T: a context has up to T + 1 tokens. */
  sequenceLength: number;
  /** The effect of a damaged chunk. */
  onCorrupt: "error" | "skip";
}

/** The result of a run. */
export interface PretokenizeSummary {
  sequences: number;
  tokens: number;
  /** Rows read: measurements, or probe rows. */
  inputRows: number;
  rejected: Record<string, number>;
  /** Sums by split; `all` if the input has no splits. */
  splits: Record<string, Record<string, number>>;
  /** Further figures of the run: the clip of RTTs in microseconds, the number of skipped damaged chunks. */
  further: Record<string, number>;
  /** Output files, relative to the folder. */
  outputs: string[];
  seconds: number;
  peakMemoryBytes: number;
  /** Whether all outputs already existed. */
  wasComplete: boolean;
}

/**
 * Runs the stage.
 *
 * @throws {UserError} If the input or output cannot be used; a rerun continues where this run ended.
 */
export async function pretokenize(
  options: V1Options | V2Options,
  hooks: StageHooks = {},
): Promise<PretokenizeSummary> {
  const startMs = performance.now();
  using memory = new PeakMemory();
  const checked = options.checked ?? await checkOutputs(options.inputs, {
    onCorrupt: options.vocabulary === "v2" ? options.onCorrupt : "error",
  });
  const inputs = listSplitInputs(options.inputs, options.vocabulary === "v2" ? PROBE_ROWS : undefined);
  using output = Output.openFolder(options.output, {
    stage: "pretokenize",
    inputs: inputs.files.map(fingerprint),
    options: identityOf(options),
    overwrite: options.overwrite,
  });
  const { manifest } = output;
  const sums = () => sumBySplit(manifest.outputs, ["files", "sequences", "tokens"]);
  const wasComplete = output.isComplete;
  if (!wasComplete) {
    try {
      const work = new Work(output, inputs, hooks);
      if (options.vocabulary === "v1") await work.writeV1(options);
      else await work.writeV2({ ...options, checked });
    } catch (error) {
      output.discardIfEmpty();
      throw error;
    }
    output.checkInputs();
    manifest.counts.splits = sums();
    output.publish();
  }
  const { inputRows, splits: _, ...further } = manifest.counts;
  const splits = sums();
  const sum = (name: string) => Object.values(splits).reduce((total, counts) => total + counts[name], 0);
  return {
    sequences: sum("sequences"),
    tokens: sum("tokens"),
    inputRows: Number(inputRows),
    rejected: manifest.rejected,
    splits,
    further: further as Record<string, number>,
    outputs: manifest.outputs.map(({ path }) => path),
    seconds: (performance.now() - startMs) / 1000,
    peakMemoryBytes: memory.peakBytes,
    wasComplete,
  };
}

/** The options that decide the output's bytes. */
function identityOf(options: V1Options | V2Options): Record<string, unknown> {
  const { vocabulary, sequencesPerFile } = options;
  if (vocabulary === "v2") {
    const { seed, epoch, sequenceLength, onCorrupt } = options;
    return { vocabulary, sequencesPerFile, seed, epoch, sequenceLength, onCorrupt };
  }
  const { rttEncoding, rttClip } = options;
  return { vocabulary, sequencesPerFile, rttEncoding, ...(rttEncoding === "clipped" ? { rttClip } : {}) };
}

/** The work of one run: its input, its output, and its callbacks. */
class Work {
  readonly #pacer: EventLoopPacer;

  constructor(readonly output: Output, readonly inputs: SplitInputs, readonly hooks: StageHooks) {
    this.#pacer = new EventLoopPacer(hooks);
  }

  async writeV1(options: V1Options): Promise<void> {
    const { files } = this.inputs;
    const { numRows: totalRows } = await surveyInputs(files);
    const rttEncoding = await this.#rttEncoding(options, totalRows);
    const { clipUs } = rttEncoding;
    const rejects = new RejectLog();
    const reading = { rejects, onRows: this.#counter("writing", totalRows), rttEncoding };
    const metadata = {
      "ping_llm.rtt_encoding": rttEncoding.name,
      ...(clipUs === undefined ? {} : { "ping_llm.rtt_clip_us": String(clipUs) }),
    };
    for (const [split, files] of this.#groups()) {
      using shards = this.#shards(options, { split, vocabSize: V1_VOCAB_SIZE, metadata });
      await writeMeasurementSequences(files, shards, reading);
      await shards.close();
    }
    this.output.manifest.counts = {
      inputRows: totalRows,
      ...(clipUs === undefined ? {} : { rttClipUs: clipUs }),
    };
    this.output.manifest.rejected = rejects.counts;
    if (rejects.write(join(this.output.folder, "rejects.jsonl"))) await this.output.record("rejects.jsonl");
    rejects.check(totalRows, options.maxRejectRatio);
  }

  async writeV2(options: V2Options & { checked: CheckedOutputs }): Promise<void> {
    const { seed, epoch, sequenceLength, onCorrupt } = options;
    const metadata = {
      "ping_llm.seed": String(seed),
      "ping_llm.epoch": String(epoch),
      "ping_llm.sequence_length": String(sequenceLength),
    };
    let inputRows = 0;
    let numCorruptChunks = 0;
    for (const [split, files] of this.#groups()) {
      using source = await openRowFiles({ path: files[0], files, onCorrupt }, options.checked);
      using shards = this.#shards(options, { split, vocabSize: V2_VOCAB_SIZE, metadata });
      const onRows = this.#counter(split === undefined ? "writing" : `writing ${split}`, source.numRows);
      await writeContextSequences(source, shards, { ...options, onRow: () => onRows(1) });
      await shards.close();
      inputRows += source.numRows;
      numCorruptChunks += source.numCorruptChunks;
    }
    this.output.manifest.counts = { inputRows, ...(onCorrupt === "skip" ? { numCorruptChunks } : {}) };
  }

  async #rttEncoding({ rttEncoding: name, rttClip }: V1Options, totalRows: number): Promise<RttEncoding> {
    if ("ms" in rttClip) return chosenRttEncoding({ name, clipMs: rttClip.ms });
    if (name !== "clipped") return chosenRttEncoding({ name, clipMs: Infinity });
    const onRows = this.#counter("finding the clip of RTTs", totalRows);
    // The pass that writes counts rejected rows.
    const reading = { rejects: new RejectLog(), onRows };
    return clippedRtt(await rttQuantileUs(this.inputs.files, rttClip.quantile, reading));
  }

  /** The files of each split, or all of them. */
  #groups(): [split: string | undefined, files: string[]][] {
    const { files, splitOfFile } = this.inputs;
    if (!splitOfFile) return [[undefined, files]];
    const filesOf = (split: string) => files.filter((file) => splitOfFile.get(file) === split);
    return SPLIT_NAMES.map((split): [string, string[]] => [split, filesOf(split)])
      .filter(([, files]) => files.length > 0);
  }

  #shards(
    { vocabulary, sequencesPerFile }: V1Options | V2Options,
    { split, vocabSize, metadata }: {
      split: string | undefined;
      vocabSize: number;
      metadata: Record<string, string>;
    },
  ): TokenShards {
    const shared = { "ping_llm.vocabulary": vocabulary, "ping_llm.vocab_size": String(vocabSize) };
    return new TokenShards(this.output, {
      split,
      sequencesPerFile,
      vocabSize,
      metadata: { ...shared, ...metadata },
    });
  }

  /** Shows progress and yields to signals. */
  #counter(phase: string, totalRows: number): (numRows: number) => Promise<void> {
    let numRowsDone = 0;
    return (numRows) => {
      numRowsDone += numRows;
      this.hooks.onProgress?.(phase, numRowsDone, totalRows);
      return this.#pacer.yieldToEventLoop();
    };
  }
}

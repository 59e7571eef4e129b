/**
 * `pretokenize`: writes the tokens that this program trains on as Parquet, for other trainers.
 *
 * Vocabulary v1 makes a sequence from each measurement, v2 from each context of one epoch. Input folders that
 * contain `train`, `val` and `test` keep their splits. Rerunning interrupted work keeps the finished files.
 *
 * @module
 */
import { join } from "@std/path";
import { getOrMake } from "../../../base/collections.ts";
import { RandomStream } from "../../../base/random.ts";
import { type CheckedOutputs, checkOutputs } from "../../../io/files/checked_outputs.ts";
import { fingerprint } from "../../../io/files/inputs.ts";
import { Output } from "../../../io/files/output.ts";
import { PeakMemory } from "../../../io/threads/peak_memory.ts";
import { EventLoopPacer, type StageHooks } from "../../../io/threads/stage_hooks.ts";
import { addressBytes } from "../../addresses/ip.ts";
import type { Rejection } from "../../formats/format.ts";
import { readMeasurements, type SourcedBatch, surveyInputs } from "../../measurement_files/parquet_reader.ts";
import { OPTIONAL_COLUMNS, type OptionalColumn } from "../../measurement_files/parquet_writer.ts";
import { RejectLog } from "../../measurement_files/rejects.ts";
import type { StageSummary } from "../../probe_rows/sharded_stage.ts";
import { listSplitInputs, SPLIT_NAMES, type SplitInputs, sumBySplit } from "../../probe_rows/splits.ts";
import { DEFAULT_SAMPLING, numContextsOfRow, sampleContext } from "../../tokens/contexts.ts";
import { decodeRttCode, encodeRttCode } from "../../tokens/rtt_code.ts";
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
import { TokenWriter, VOCAB_SIZE as V2_VOCAB_SIZE } from "../../tokens/vocab_v2.ts";
import { type PreparedRow, prepareRow } from "../prepared_row.ts";
import { openRowFiles, type ProbeRowSource } from "../row_source.ts";
import { TokenShards } from "./token_shards.ts";

const PROBE_ROWS = {
  extensions: [".arrayrecord"],
  wanted: "an ArrayRecord file of probe rows (probe-rows makes them of Parquet)",
};

interface CommonOptions {
  /** Files, folders and globs. */
  inputs: readonly string[];
  /** Contents of the inputs' manifests; read from the inputs by default. */
  checked?: CheckedOutputs;
  output: string;
  sequencesPerFile: number;
  overwrite: boolean;
}

/** Options of {@link pretokenize} for Parquet files of measurements. */
export interface V1Options extends CommonOptions {
  vocabulary: "v1";
  rttEncoding: RttEncodingName;
  /** For `clipped`: the clip in milliseconds, or a quantile of all RTTs in the input. */
  rttClip: { ms: number } | { quantile: number };
  maxRejectRatio: number;
}

/** Options of {@link pretokenize} for probe rows. */
export interface V2Options extends CommonOptions {
  vocabulary: "v2";
  /** Seed of the contexts; a loader with the same seed draws the same contexts. */
  seed: number;
  /** The loader's epoch, from 0. */
  epoch: number;
  /** T: a context has up to T + 1 tokens. */
  sequenceLength: number;
  onCorrupt: "error" | "skip";
}

/** `inputRows`: measurements or probe rows; `splits`: sums by split, or `all` if the input has no splits. */
export interface PretokenizeSummary extends Omit<StageSummary, "timeCuts" | "rowsPerSecond"> {
  sequences: number;
  tokens: number;
  /** Other figures of the run: the clip of RTTs in microseconds, and the number of skipped damaged chunks. */
  further: Record<string, number>;
  /** Output files, relative to the folder. */
  outputs: string[];
}

/**
 * Runs the stage.
 *
 * @throws {UserError} If the input or output cannot be used. A rerun continues where this run ended.
 */
export async function pretokenize(
  options: V1Options | V2Options,
  hooks: StageHooks = {},
): Promise<PretokenizeSummary> {
  const startMs = performance.now();
  using memory = new PeakMemory();
  const isV1 = options.vocabulary === "v1";
  const checked = options.checked ?? await checkOutputs(options.inputs, {
    onCorrupt: isV1 ? "error" : options.onCorrupt,
  });
  const inputs = listSplitInputs(options.inputs, isV1 ? undefined : PROBE_ROWS);
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
      if (isV1) await work.writeV1(options);
      else await work.writeV2(options, checked);
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

/** The options that determine the output's bytes. */
function identityOf(options: V1Options | V2Options): Record<string, unknown> {
  const { vocabulary, sequencesPerFile } = options;
  if (vocabulary === "v2") {
    const { seed, epoch, sequenceLength, onCorrupt } = options;
    return { vocabulary, sequencesPerFile, seed, epoch, sequenceLength, onCorrupt };
  }
  const { rttEncoding, rttClip } = options;
  return { vocabulary, sequencesPerFile, rttEncoding, ...(rttEncoding === "clipped" ? { rttClip } : {}) };
}

type RowCounter = (numRows: number) => Promise<void>;

class Work {
  readonly #pacer: EventLoopPacer;

  constructor(readonly output: Output, readonly inputs: SplitInputs, readonly hooks: StageHooks) {
    this.#pacer = new EventLoopPacer(hooks);
  }

  async writeV1(options: V1Options): Promise<void> {
    const { numRows } = await surveyInputs(this.inputs.files);
    const encoding = await this.#rttEncoding(options, numRows);
    const { clipUs } = encoding;
    const rejects = new RejectLog();
    const onRows = this.#counter("writing", numRows);
    const metadata = {
      "ping_llm.rtt_encoding": encoding.name,
      ...(clipUs === undefined ? {} : { "ping_llm.rtt_clip_us": String(clipUs) }),
    };
    for (const [split, files] of this.#groups()) {
      using shards = this.#shards(options, { split, vocabSize: V1_VOCAB_SIZE, metadata });
      await writeMeasurementSequences(files, shards, { encoding, rejects, onRows });
      await shards.close();
    }
    const { manifest, folder } = this.output;
    manifest.counts = { inputRows: numRows, ...(clipUs === undefined ? {} : { rttClipUs: clipUs }) };
    manifest.rejected = rejects.counts;
    if (rejects.write(join(folder, "rejects.jsonl"))) await this.output.record("rejects.jsonl");
    rejects.check(numRows, options.maxRejectRatio);
  }

  async writeV2(options: V2Options, checked: CheckedOutputs): Promise<void> {
    const { seed, epoch, sequenceLength, onCorrupt } = options;
    const metadata = {
      "ping_llm.seed": String(seed),
      "ping_llm.epoch": String(epoch),
      "ping_llm.sequence_length": String(sequenceLength),
    };
    let inputRows = 0;
    let numCorruptChunks = 0;
    for (const [split, files] of this.#groups()) {
      using source = await openRowFiles({ path: files[0], files, onCorrupt }, checked);
      using shards = this.#shards(options, { split, vocabSize: V2_VOCAB_SIZE, metadata });
      const onRows = this.#counter(split === undefined ? "writing" : `writing ${split}`, source.numRows);
      await writeContextSequences(source, shards, { ...options, onRows });
      await shards.close();
      inputRows += source.numRows;
      numCorruptChunks += source.numCorruptChunks;
    }
    this.output.manifest.counts = { inputRows, ...(onCorrupt === "skip" ? { numCorruptChunks } : {}) };
  }

  async #rttEncoding({ rttEncoding: name, rttClip }: V1Options, numRows: number): Promise<RttEncoding> {
    if ("ms" in rttClip) return chosenRttEncoding({ name, clipMs: rttClip.ms });
    if (name !== "clipped") return chosenRttEncoding({ name, clipMs: Infinity });
    const onRows = this.#counter("finding where to clip RTTs", numRows);
    return clippedRtt(await rttQuantileUs(this.inputs.files, rttClip.quantile, onRows));
  }

  /** The files of each split, or all files if there are no splits. */
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
    const options = { split, sequencesPerFile, vocabSize, metadata: { ...shared, ...metadata } };
    return new TokenShards(this.output, options);
  }

  /** Shows progress and handles signals. */
  #counter(phase: string, numRows: number): RowCounter {
    let numRowsDone = 0;
    return (numNewRows) => {
      numRowsDone += numNewRows;
      this.hooks.onProgress?.(phase, numRowsDone, numRows);
      return this.#pacer.yieldToEventLoop();
    };
  }
}

/**
 * Writes all contexts of one epoch, in row order. They are not packed, because masks for several contexts in
 * one sequence depend on the trainer, and trainers that pack use lengths.
 */
async function writeContextSequences(
  source: ProbeRowSource,
  shards: TokenShards,
  { seed, epoch, sequenceLength, onRows }: V2Options & { onRows: RowCounter },
): Promise<void> {
  const maxTokens = sequenceLength + 1;
  const tokens = new Uint16Array(maxTokens);
  for (let index = 0; index < source.numRows; index++) {
    let prepared: PreparedRow | undefined;
    const prepare = () => prepared ??= prepareRow(source.row(index), { path: source.path, index });
    const numMeasurements = shards.isWanted ? prepare().timeS.length : source.numMeasurements(index);
    const numContexts = numContextsOfRow(numMeasurements, DEFAULT_SAMPLING);
    for (let i = 0; i < numContexts; i++) {
      if (!shards.isWanted) {
        await shards.skip();
        continue;
      }
      // The same stream as the loader (loader/blocks.ts), and thus the same contexts.
      const random = new RandomStream(seed, "loader/context", epoch, index, i);
      const context = sampleContext(prepare(), maxTokens, random, DEFAULT_SAMPLING);
      const writer = new TokenWriter(tokens);
      for (const measurement of context.measurements) writer.write(measurement, measurement.order);
      await shards.append(tokens.subarray(0, writer.at));
    }
    await onRows(1);
  }
}

const US_PER_S = 1e6;
const US_PER_MS = 1000;
const MAX_TOKENS = 69;
/** Cached addresses take about 300 bytes each, 60 MB in all. */
const MAX_CACHED_ADDRESSES = 200_000;
const NEEDED: readonly OptionalColumn[] = ["msmId", "sizeBytes", "packetErrorCount"];

/** Writes the rows of Parquet files as sequences of vocabulary v1, in file order. */
async function writeMeasurementSequences(
  files: readonly string[],
  shards: TokenShards,
  { encoding, rejects, onRows }: { encoding: RttEncoding; rejects: RejectLog; onRows: RowCounter },
): Promise<void> {
  const encoder = new RowEncoder(encoding);
  for await (const batch of readMeasurements(files, { rejects, columns: NEEDED, required: NEEDED })) {
    for (let row = 0; row < batch.numRows; row++) {
      const fault = faultOfRow(batch, row, encoding);
      if (fault) reject(rejects, batch, row, fault);
      else if (!shards.isWanted) await shards.skip();
      else {
        // Awaited only at the end of a file, because a row takes less time than a turn of the event loop.
        const finishing = shards.append(encoder.encode(batch, row));
        if (finishing) await finishing;
      }
    }
    await onRows(batch.numRowsRead);
  }
}

/**
 * A quantile of the RTTs in the files, in whole microseconds, computed in bounded memory. It is read from an
 * RTT code and off by at most 0.049 %.
 *
 * @param quantile 0 to 1.
 * @returns At least 1; 1 if the files have no replies.
 */
async function rttQuantileUs(
  files: readonly string[],
  quantile: number,
  onRows: RowCounter,
): Promise<number> {
  const counts = new Float64Array(0x10000);
  let total = 0;
  // The later pass that writes tokens counts rejected rows.
  const read = { rejects: new RejectLog(), columns: [] };
  for await (const { rttMs, numRows, numRowsRead } of readMeasurements(files, read)) {
    for (let row = 0; row < numRows; row++) {
      if (rttMs[row] < 0) continue;
      counts[encodeRttCode(rttMs[row])]++;
      total++;
    }
    await onRows(numRowsRead);
  }
  if (total === 0) return 1;
  const rank = Math.min(total - 1, Math.floor(quantile * total));
  let numBelow = 0;
  const code = counts.findIndex((count) => (numBelow += count) > rank);
  return Math.max(1, Math.round(decodeRttCode(code) * US_PER_MS));
}

/** Why a row has no tokens; undefined if it has. Values are never wrapped or truncated. */
function faultOfRow(batch: SourcedBatch, row: number, { maxRttMs }: RttEncoding): Rejection | undefined {
  for (const key of NEEDED) {
    const value = batch[key]?.[row] ?? NaN;
    if (Number.isSafeInteger(value) && (value >= 0 || key === "msmId")) continue;
    const name = OPTIONAL_COLUMNS.find((column) => column.key === key)?.name ?? key;
    return Number.isNaN(value)
      ? { reason: "nullValue", found: name }
      : { reason: "invalidInteger", found: `${name} ${value}` };
  }
  const sizeBytes = batch.sizeBytes?.[row] ?? 0;
  if (sizeBytes > MAX_SIZE_BYTES) return { reason: "sizeTooLarge", found: `size ${sizeBytes}` };
  const errorCount = batch.packetErrorCount?.[row] ?? 0;
  if (errorCount > MAX_ERROR_COUNT) {
    return { reason: "errorCountTooLarge", found: `packet_error_count ${errorCount}` };
  }
  if (batch.rttMs[row] > maxRttMs) return { reason: "invalidRtt", found: `rtt ${batch.rttMs[row]}` };
  return undefined;
}

/** If the reader rejected rows of a batch, row indexes are unknown, so the error names the whole batch. */
function reject(rejects: RejectLog, batch: SourcedBatch, row: number, { reason, found }: Rejection): void {
  const isExact = batch.numRowsRead === batch.numRows;
  const place = isExact ? "" : `, in one of the ${batch.numRowsRead} rows from ${batch.firstRow} on`;
  rejects.add(reason, batch.path, batch.firstRow + (isExact ? row : 0), { found: found + place });
}

/** Encodes rows of batches, parsing each address once. */
class RowEncoder {
  readonly #writer: WholeMeasurementWriter;
  readonly #addresses = new Map<string, Uint8Array>();

  constructor(encoding: RttEncoding) {
    this.#writer = new WholeMeasurementWriter(new Uint16Array(MAX_TOKENS), encoding);
  }

  /** Returns the tokens of a valid row. The array is only valid until the next call. */
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
    if (this.#addresses.size >= MAX_CACHED_ADDRESSES) this.#addresses.clear();
    return getOrMake(this.#addresses, text, () => addressBytes(text));
  }
}

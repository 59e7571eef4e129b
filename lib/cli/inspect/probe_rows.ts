/**
 * Inspects probe rows: sizes, time spans, order violations, duplicates, and how they pack into sequences.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { FormatError, shortened, UserError } from "../../base/errors.ts";
import { BatchLoader } from "../../data/loader/batches.ts";
import { ArrayRecordRowSource } from "../../data/loader/row_source.ts";
import { MEASUREMENT_START } from "../../data/tokens/vocab_v2.ts";
import { EventLoopPacer } from "../../io/threads/stage_hooks.ts";
import { ArrayRecordReader } from "../../io/array_record/reader.ts";
import { decodeProbeRow, decodeProbeRowHeader, type ProbeRow } from "../../data/probe_rows/probe_row.ts";
import {
  distributionFact,
  type Fact,
  formatFiles,
  type InspectOptions,
  logHistogram,
  type Report,
  type Target,
  ValueHistogram,
} from "./report.ts";
import {
  countStepsBack,
  DistinctCount,
  MeasurementSet,
  MeasurementTally,
  splitOf,
} from "./measurement_tally.ts";
import { decodeV2, describeMeasurement, type TokenSample, tokenSection } from "./token_samples.ts";
import { formatBytes, formatShare } from "../../base/text.ts";

/** Tokens of the most common measurement: IPv4 with a 1-byte gap. */
const TYPICAL_MEASUREMENT_TOKENS = 16;

/** @throws {FormatError} If a record is not a probe row. */
async function inspectProbeRows(
  path: string,
  readers: readonly ArrayRecordReader[],
  options: InspectOptions,
): Promise<Report> {
  const pacer = new EventLoopPacer(options);
  const tally = new ProbeRowTally(options);
  let done = 0;
  for (const reader of readers) {
    for (let index = 0; index < reader.numRecords; index++) {
      await pacer.yieldToEventLoop();
      const record = reader.readOrSkip(index);
      if (record) tally.add(record, { path: reader.path, place: `record ${index}` });
      options.onProgress?.(++done, reader.path);
    }
  }
  const packing = tally.measurements.count === 0
    ? { numSequences: 0, paddingShare: null, problem: "found no measurements", samples: [] }
    : await tryPacking(path, readers, options);
  return tally.report(path, packing);
}

class ProbeRowTally {
  readonly measurements = new MeasurementTally();
  readonly #options: InspectOptions;
  readonly #smallBelow: number;
  readonly #sizes = new ValueHistogram();
  readonly #lengths = new ValueHistogram();
  readonly #spansS = new ValueHistogram();
  /** Measurements of the current row that have the same time as a neighbour. */
  readonly #tied = new MeasurementSet();
  readonly #groups = new DistinctCount();
  readonly #contents = new DistinctCount();
  readonly #splits: Record<string, { records: number; measurements: number }> = {};
  readonly #samples: string[] = [];
  #numSmall = 0;
  #numOrderViolations = 0;
  #numDuplicates = 0;
  #numDuplicateRows = 0;
  /** The last time of each group in the current file. */
  readonly #lastUsOfGroup = new Map<bigint, number>();
  #file = "";
  #numRowsOutOfOrder = 0;
  #numWrongHeaders = 0;

  constructor(options: InspectOptions) {
    this.#options = options;
    this.#smallBelow = Math.ceil(options.sequenceLength / TYPICAL_MEASUREMENT_TOKENS);
  }

  add(record: Uint8Array, where: { path: string; place: string }): void {
    const header = decodeProbeRowHeader(record, where);
    const row = decodeProbeRow(record, where);
    const n = row.rttMs.length;
    if (n === 0) throw new FormatError("its row has no measurements; run probe-rows again", where);
    this.#sizes.add(record.length);
    this.#lengths.add(n);
    if (n < this.#smallBelow) this.#numSmall++;
    this.#groups.add(row.srcId);
    row.srcAddrs.forEach((address) => this.measurements.sources.add(address));
    row.dstAddrs.forEach((address) => this.measurements.destinations.add(address));
    this.#addMeasurements(row);
    this.#addSplit(where.path, n);
    this.#numOrderViolations += countStepsBack(row.eventTimeUs);
    if (this.#contents.add(createHash("sha256").update(record).digest("base64"))) this.#numDuplicateRows++;
    const firstUs = row.eventTimeUs.reduce((a, b) => Math.min(a, b));
    const lastUs = row.eventTimeUs.reduce((a, b) => Math.max(a, b));
    this.#addOrder(where.path, row.srcId, firstUs, lastUs);
    this.#spansS.add((lastUs - firstUs) / 1e6);
    if (header.firstTimeUs !== firstUs || header.lastTimeUs !== lastUs) this.#numWrongHeaders++;
    if (this.#samples.length === 0) this.#takeSamples(row);
  }

  #addMeasurements({ eventTimeUs, rttMs, ipVersion, srcIndex, dstIndex }: ProbeRow): void {
    let numTied = 0;
    this.#tied.clear();
    for (let i = 0; i < rttMs.length; i++) {
      this.measurements.add(eventTimeUs[i], rttMs[i], ipVersion[i]);
      if (eventTimeUs[i] !== eventTimeUs[i - 1] && eventTimeUs[i] !== eventTimeUs[i + 1]) continue;
      this.#tied.add(eventTimeUs[i], rttMs[i], srcIndex[i], dstIndex[i]);
      numTied++;
    }
    this.#numDuplicates += numTied - this.#tied.size;
  }

  /** Counts rows out of order: in a file, the rows of a group are sorted by time. */
  #addOrder(path: string, srcId: bigint, firstUs: number, lastUs: number): void {
    if (path !== this.#file) this.#lastUsOfGroup.clear();
    this.#file = path;
    if (firstUs < (this.#lastUsOfGroup.get(srcId) ?? -Infinity)) this.#numRowsOutOfOrder++;
    this.#lastUsOfGroup.set(srcId, lastUs);
  }

  #addSplit(path: string, numMeasurements: number): void {
    const split = splitOf(path);
    if (!split) return;
    const counts = this.#splits[split] ??= { records: 0, measurements: 0 };
    counts.records++;
    counts.measurements += numMeasurements;
  }

  #takeSamples(row: ProbeRow): void {
    for (let i = 0; i < Math.min(this.#options.samples, row.rttMs.length); i++) {
      const src = row.srcAddrs[row.srcIndex[i]];
      const dst = row.dstAddrs[row.dstIndex[i]];
      this.#samples.push(describeMeasurement(row.eventTimeUs[i], src, dst, row.rttMs[i]));
    }
  }

  report(path: string, packing: PackingTrial): Report {
    return {
      kind: "probe rows",
      path,
      facts: [
        ...this.#rowFacts(),
        ...this.measurements.facts([this.#groups]),
        ...this.#faultFacts(),
        this.#paddingFact(packing),
      ],
      sections: [
        ["first row", this.#samples, { samples: this.#samples }],
        tokenSection("first measurements of a sequence, and their tokens", packing.samples),
      ],
      histograms: [
        logHistogram("measurements in a row", "rows", this.#lengths),
        logHistogram("size of a row, bytes", "rows", this.#sizes),
        ...this.measurements.histograms(),
      ],
    };
  }

  #rowFacts(): Fact[] {
    const { sequenceLength } = this.#options;
    const smallRowShare = this.#numSmall / Math.max(1, this.#lengths.count);
    const splits = Object.entries(this.#splits).map(([split, { records, measurements }]) =>
      `${split} ${records} rows of ${measurements} measurements`
    );
    return [
      ["splits", splits.join(", ") || undefined, { splits: this.#splits }],
      distributionFact("row size", this.#sizes, "B", "rowBytes"),
      ["measurements", `${this.measurements.count}`, { measurements: this.measurements.count }],
      distributionFact("in a row", this.#lengths, "measurements", "measurementsPerRow"),
      [
        "small rows",
        `${formatShare(smallRowShare)} of rows have fewer than ${this.#smallBelow} measurements, about one ` +
        `sequence of ${sequenceLength} tokens`,
        { smallRowShare, smallRowBelow: this.#smallBelow, sequenceLength },
      ],
      distributionFact("time span of a row", this.#spansS, "s", "timeSpanS"),
      ["groups", `${this.#groups}`, { groups: this.#groups.count }],
    ];
  }

  #faultFacts(): Fact[] {
    const { numImpossible } = this.measurements;
    const duplicates = `${this.#numDuplicates} measurements, ${this.#numDuplicateRows} rows`;
    return [
      ["impossible RTTs", `${numImpossible}`, { impossibleRtts: numImpossible }],
      ["order violations", `${this.#numOrderViolations}`, { orderViolations: this.#numOrderViolations }],
      ["rows out of order", `${this.#numRowsOutOfOrder}`, { rowsOutOfOrder: this.#numRowsOutOfOrder }],
      ["duplicates", duplicates, { duplicates: this.#numDuplicates, duplicateRows: this.#numDuplicateRows }],
      ["wrong row times", `${this.#numWrongHeaders}`, { wrongRowTimes: this.#numWrongHeaders }],
    ];
  }

  #paddingFact({ numSequences, paddingShare, problem }: PackingTrial): Fact {
    const text = paddingShare === null
      ? `not computed: ${problem}`
      : `${formatShare(paddingShare)} of ${numSequences} sequences of ${this.#options.sequenceLength} tokens`;
    return ["padding", text, { paddingShare, packedSequences: numSequences }];
  }
}

/** Enough to determine the padding to within a tenth of a percent. */
const MAX_SEQUENCES = 256;

interface PackingTrial {
  numSequences: number;
  /** The share of padding positions; null if nothing was packed, for the reason in `problem`. */
  paddingShare: number | null;
  problem?: string;
  /** The first measurements of the first sequence. */
  samples: TokenSample[];
}

/** Packs up to {@link MAX_SEQUENCES} sequences as the trainer does. @param path For errors. */
async function tryPacking(
  path: string,
  readers: readonly ArrayRecordReader[],
  options: InspectOptions,
): Promise<PackingTrial> {
  const { sequenceLength, seed, onCorrupt } = options;
  const pacer = new EventLoopPacer(options);
  try {
    const files = readers.map((reader) => reader.path);
    const source = new ArrayRecordRowSource({ path, files, onCorrupt }, readers);
    const loader = BatchLoader.open(source, { seed, batchSize: 1, sequenceLength });
    let numSequences = 0;
    let numPadding = 0;
    let first = new Uint16Array(0);
    while (numSequences < MAX_SEQUENCES && loader.position.epoch === 0) {
      await pacer.yieldToEventLoop();
      const { tokens, numPaddingTokens } = await loader.next();
      if (numSequences === 0) first = tokens.slice(0, sequenceLength - numPaddingTokens);
      numSequences++;
      numPadding += numPaddingTokens;
    }
    const paddingShare = numPadding / (numSequences * sequenceLength);
    return { numSequences, paddingShare, samples: samplesOf(first, options.samples) };
  } catch (error) {
    // Rows that cannot be packed are a finding, not a failure of the inspection.
    if (!(error instanceof UserError) || options.signal?.aborted) throw error;
    return { numSequences: 0, paddingShare: null, problem: error.message, samples: [] };
  }
}

/** The first measurements, the last of which may be incomplete. */
function samplesOf(tokens: Uint16Array, numSamples: number): TokenSample[] {
  const starts = [...tokens.keys()].filter((at) => tokens[at] === MEASUREMENT_START);
  return starts.slice(0, numSamples).map((start, i) =>
    decodeV2(tokens.subarray(start, starts[i + 1]), tokens.subarray(0, start))
  );
}

const SAMPLE_BYTES = 32;
const MAX_OPTIONS_LENGTH = 1000;

/**
 * Reads all records, which verifies every checksum.
 *
 * @throws {FormatError} If a file is damaged, unless damaged chunks are skipped.
 */
export async function inspectArrayRecords({ path, files }: Target, options: InspectOptions): Promise<Report> {
  const readers: ArrayRecordReader[] = [];
  try {
    for (const file of files) readers.push(await ArrayRecordReader.open(file, options));
    const inspect = holdsProbeRows(readers) ? inspectProbeRows : inspectRecords;
    const report = await inspect(path, readers, options);
    return { ...report, facts: [...containerFacts(readers), ...report.facts] };
  } finally {
    for (const reader of readers) reader.close();
  }
}

/** Whether the first readable record is a probe row. */
function holdsProbeRows(readers: readonly ArrayRecordReader[]): boolean {
  const reader = readers.find(({ numRecords }) => numRecords > 0);
  if (!reader) return false;
  const record = reader.readOrSkip(0);
  if (!record) return true;
  try {
    decodeProbeRowHeader(record, { path: reader.path });
    return true;
  } catch (error) {
    if (error instanceof FormatError) return false;
    throw error;
  }
}

async function inspectRecords(
  path: string,
  readers: readonly ArrayRecordReader[],
  options: InspectOptions,
): Promise<Report> {
  const pacer = new EventLoopPacer(options);
  const sizes = new ValueHistogram();
  const samples: string[] = [];
  for (const reader of readers) {
    for (const record of reader) {
      await pacer.yieldToEventLoop();
      sizes.add(record.length);
      if (samples.length < options.samples) samples.push(describeBytes(record));
      options.onProgress?.(sizes.count, reader.path);
    }
  }
  const facts = [distributionFact("record size", sizes, "B", "recordBytes")];
  return { kind: "records", path, facts, sections: [["first records", samples, { samples }]] };
}

function containerFacts(readers: readonly ArrayRecordReader[]): Fact[] {
  const sum = (of: (reader: ArrayRecordReader) => number) => readers.reduce((total, r) => total + of(r), 0);
  const files = readers.length;
  const records = sum((reader) => reader.numRecords);
  const chunks = sum((reader) => reader.numChunks);
  const bytes = sum((reader) => reader.sizeBytes);
  const decodedBytes = sum((reader) => reader.decodedSizeBytes);
  const corruptChunks = sum((reader) => reader.numCorruptChunks);
  const writerOptions = [...new Set(readers.map((reader) => reader.writerOptions))];
  const written = shortened(writerOptions.join(" | "), MAX_OPTIONS_LENGTH) || "no options recorded";
  const found = `${records} in ${chunks} chunks, ${formatFiles(files)}, every checksum verified`;
  return [
    ["records", found, { files, records, chunks }],
    ["size", `${formatBytes(bytes)}, ${formatBytes(decodedBytes)} of records`, { bytes, decodedBytes }],
    ["written with", written, { writerOptions }],
    ["damaged chunks", corruptChunks > 0 ? `${corruptChunks}, skipped` : undefined, { corruptChunks }],
  ];
}

function describeBytes(record: Uint8Array): string {
  const head = record.subarray(0, SAMPLE_BYTES);
  const hex = [...head].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return `${record.length} B: ${hex}${record.length > head.length ? " …" : ""}`;
}

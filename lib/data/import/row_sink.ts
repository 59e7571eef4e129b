/**
 * Collects single measurements, passes them to a Parquet writer in batches and counts their contents.
 *
 * @module
 */
import { FAILED_RTT_MS, type MeasurementBatch } from "../formats/batch.ts";
import type { MeasurementParquetWriter } from "../measurement_files/parquet_writer.ts";

/** Distinct addresses are counted exactly up to this many, about 150 MB. */
const MAX_COUNTED_ADDRESSES = 1_000_000;

const BATCH_ROWS = 8192;

/** A measurement; NaN stands for an unknown optional number. */
export interface MeasurementRow {
  eventTimeUs: number;
  srcAddr: string;
  dstAddr: string;
  ipVersion: number;
  rttMs: number;
  msmId: number;
  prbId: number;
  sizeBytes: number;
  packetErrorCount: number;
}

/** Counts of rows. */
export interface RowCounts {
  /** Number of rows. */
  rows: number;
  /** Rows without a reply. */
  failed: number;
  /** Distinct source addresses; {@link MAX_COUNTED_ADDRESSES} stands for that many or more. */
  sources: number;
  /** Distinct destination addresses, likewise. */
  destinations: number;
  /** Earliest time of a row, seconds since 1970; absent without rows. */
  firstTimeS?: number;
  /** Latest time of a row, likewise. */
  lastTimeS?: number;
}

/** RTTs are counted by their logarithm, in steps of 2 %, from 1 ns to 51 days. */
const STEPS_PER_E = 50;
const LEAST_RTT_MS = 1e-6;
const NUM_STEPS = Math.ceil(STEPS_PER_E * Math.log(1e16));
/** Medians of plausible data, ms. */
const PLAUSIBLE_MS = { least: 0.05, most: 10_000 };

/** One line if RTTs are not what they are in any network, or undefined. @param medianMs NaN without an RTT. */
export function adviceOnUnit(medianMs: number): string | undefined {
  const { least, most } = PLAUSIBLE_MS;
  if (!(medianMs < least || medianMs > most)) return undefined;
  const [unit, key] = medianMs < least
    ? ["seconds", "rtt_s"]
    : medianMs > 1000 * most
    ? ["nanoseconds", "rtt_ns"]
    : ["microseconds", "rtt_us"];
  return `the median RTT is ${+medianMs.toPrecision(3)} ms, which looks like ${unit}: name the column with ` +
    `--columns ${key}=NAME`;
}

/** Writes and counts rows. */
export class RowSink {
  /** Rows added so far. */
  numRows = 0;
  readonly #writer: MeasurementParquetWriter;
  readonly #sources = new Set<string>();
  readonly #destinations = new Set<string>();
  readonly #batch = makeBatch();
  #numFailed = 0;
  #firstTimeUs = Infinity;
  #lastTimeUs = -Infinity;
  readonly #rttCounts = new Float64Array(NUM_STEPS);

  /** @param writer Takes the rows; it must be closed after {@link finish}. */
  constructor(writer: MeasurementParquetWriter) {
    this.#writer = writer;
  }

  /** Adds a row. @throws {UserError} If the disk is full. */
  add(row: MeasurementRow): void {
    const batch = this.#batch;
    const at = batch.numRows++;
    batch.eventTimeUs[at] = row.eventTimeUs;
    batch.srcAddr[at] = row.srcAddr;
    batch.dstAddr[at] = row.dstAddr;
    batch.ipVersion[at] = row.ipVersion;
    batch.rttMs[at] = row.rttMs;
    batch.msmId[at] = row.msmId;
    batch.prbId[at] = row.prbId;
    batch.sizeBytes[at] = row.sizeBytes;
    batch.packetErrorCount[at] = row.packetErrorCount;
    this.#count(row);
    if (batch.numRows === BATCH_ROWS) this.#flush();
  }

  /** Passes all rows to the writer. */
  finish(): RowCounts {
    this.#flush();
    const toSeconds = (timeUs: number) => Math.floor(timeUs / 1e6);
    return {
      rows: this.numRows,
      failed: this.#numFailed,
      sources: this.#sources.size,
      destinations: this.#destinations.size,
      ...(this.numRows > 0
        ? { firstTimeS: toSeconds(this.#firstTimeUs), lastTimeS: toSeconds(this.#lastTimeUs) }
        : {}),
    };
  }

  /** The median of the RTTs, to 2 %, ms; NaN if there is none. */
  get medianRttMs(): number {
    const half = (this.numRows - this.#numFailed) / 2;
    let numBelow = 0;
    const step = this.#rttCounts.findIndex((count) => count > 0 && (numBelow += count) >= half);
    return step < 0 ? NaN : LEAST_RTT_MS * Math.exp((step + 0.5) / STEPS_PER_E);
  }

  #count({ srcAddr, dstAddr, eventTimeUs, rttMs }: MeasurementRow): void {
    this.numRows++;
    if (rttMs === FAILED_RTT_MS) this.#numFailed++;
    else this.#rttCounts[stepOf(rttMs)]++;
    if (this.#sources.size < MAX_COUNTED_ADDRESSES) this.#sources.add(srcAddr);
    if (this.#destinations.size < MAX_COUNTED_ADDRESSES) this.#destinations.add(dstAddr);
    this.#firstTimeUs = Math.min(this.#firstTimeUs, eventTimeUs);
    this.#lastTimeUs = Math.max(this.#lastTimeUs, eventTimeUs);
  }

  #flush(): void {
    this.#writer.append(this.#batch);
    this.#batch.numRows = 0;
  }
}

function stepOf(rttMs: number): number {
  const step = Math.floor(STEPS_PER_E * Math.log(rttMs / LEAST_RTT_MS));
  return Math.max(0, Math.min(NUM_STEPS - 1, step));
}

function makeBatch(): Required<MeasurementBatch> {
  return {
    numRows: 0,
    eventTimeUs: new Float64Array(BATCH_ROWS),
    srcAddr: [],
    dstAddr: [],
    ipVersion: new Uint8Array(BATCH_ROWS),
    rttMs: new Float64Array(BATCH_ROWS),
    msmId: new Float64Array(BATCH_ROWS),
    prbId: new Float64Array(BATCH_ROWS),
    sizeBytes: new Float64Array(BATCH_ROWS),
    packetErrorCount: new Float64Array(BATCH_ROWS),
  };
}

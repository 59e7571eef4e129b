/**
 * Collects single measurements, passes them to a Parquet writer in batches, and counts them.
 *
 * @module
 */
import { FAILED_RTT_MS, type MeasurementBatch } from "../formats/batch.ts";
import type { PingRow } from "../formats/format.ts";
import type { MeasurementParquetWriter } from "../measurement_files/parquet_writer.ts";
import { RttScale } from "../measurement_files/rtt_scale.ts";

/** Distinct addresses are counted exactly up to this number, which takes about 150 MB. */
const MAX_COUNTED_ADDRESSES = 1_000_000;

const BATCH_ROWS = 8192;

/** What the rows of a result have in common. */
interface ResultFacts
  extends Pick<PingRow, "eventTimeUs" | "srcAddr" | "dstAddr" | "msmId" | "prbId" | "sizeBytes"> {
  ipVersion: number;
}

export interface MeasurementRow extends ResultFacts {
  rttMs: number;
  packetErrorCount: number;
}

/** @internal Counts of rows. */
export interface RowCounts {
  rows: number;
  /** Rows without a reply. */
  failed: number;
  /** Distinct source addresses, up to {@link MAX_COUNTED_ADDRESSES}. */
  sources: number;
  /** Distinct destination addresses, up to the same number. */
  destinations: number;
  /** Earliest time of a row, seconds since 1970; absent if there are no rows. */
  firstTimeS?: number;
  /** Latest time of a row; absent if there are no rows. */
  lastTimeS?: number;
}

export class RowSink {
  numRows = 0;
  readonly scale = new RttScale();
  readonly #writer: MeasurementParquetWriter;
  readonly #sources = new Set<string>();
  readonly #destinations = new Set<string>();
  readonly #batch = makeBatch();
  #numFailed = 0;
  #firstTimeUs = Infinity;
  #lastTimeUs = -Infinity;

  /** @param writer Takes the rows. The caller closes it after {@link finish}. */
  constructor(writer: MeasurementParquetWriter) {
    this.#writer = writer;
  }

  /** @throws {UserError} If the disk is full. */
  add(result: ResultFacts, rttMs: number, packetErrorCount: number): void {
    const batch = this.#batch;
    const at = batch.numRows++;
    batch.eventTimeUs[at] = result.eventTimeUs;
    batch.srcAddr[at] = result.srcAddr;
    batch.dstAddr[at] = result.dstAddr;
    batch.ipVersion[at] = result.ipVersion;
    batch.rttMs[at] = rttMs;
    batch.msmId[at] = result.msmId;
    batch.prbId[at] = result.prbId;
    batch.sizeBytes[at] = result.sizeBytes;
    batch.packetErrorCount[at] = packetErrorCount;
    this.#count(result, rttMs);
    if (batch.numRows === BATCH_ROWS) this.#flush();
  }

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

  #count({ srcAddr, dstAddr, eventTimeUs }: ResultFacts, rttMs: number): void {
    this.numRows++;
    if (rttMs === FAILED_RTT_MS) this.#numFailed++;
    else this.scale.add(rttMs);
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

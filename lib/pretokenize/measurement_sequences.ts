/**
 * Sequences of vocabulary v1: each row of measurements Parquet becomes one, in the order of the files.
 *
 * @module
 */
import { ensure } from "../errors.ts";
import { readMeasurements, type SourcedBatch } from "../measurement/parquet_reader.ts";
import { OPTIONAL_COLUMNS, type OptionalColumn } from "../measurement/parquet_writer.ts";
import type { RejectLog, RejectReason } from "../measurement/rejects.ts";
import { parseAddress } from "../addresses/ip.ts";
import { RttCodeCounts } from "../tokens/rtt_code_counts.ts";
import {
  blockOrder,
  MAX_ERROR_COUNT,
  MAX_SIZE_BYTES,
  type RttEncoding,
  WholeMeasurementWriter,
} from "../tokens/vocab_v1.ts";
import type { TokenShards } from "./token_shards.ts";

const US_PER_S = 1e6;
const US_PER_MS = 1000;
const MAX_TOKENS = 69;
/** Cached addresses, some 300 bytes each, so 60 MB. */
const MAX_CACHED_ADDRESSES = 200_000;
const NEEDED: readonly OptionalColumn[] = ["msmId", "sizeBytes", "packetErrorCount"];

/** The options of reading rows. */
export interface MeasurementSequenceOptions {
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
export async function writeMeasurementSequences(
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
export async function rttQuantileUs(
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

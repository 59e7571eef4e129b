/**
 * Selects the usable rows of a Parquet file: those with a valid time, addresses, RTT and numbers. The others are
 * counted, each with its reason.
 *
 * @module
 */
import { ensure, shortened } from "../errors.ts";
import { parseAddress } from "../addresses/ip.ts";
import { END_TIME_US, FAILED_RTT_MS, isRtt, type MeasurementBatch, MIN_TIME_US } from "./batch.ts";
import type { TextPiece } from "../parquet/column.ts";
import type { Piece } from "../parquet/pages.ts";
import { OPTIONAL_COLUMNS, type OptionalColumn } from "./parquet_writer.ts";
import type { RejectLog, RejectReason } from "./rejects.ts";
import { PerText, type TextPool } from "../parquet/text_pool.ts";

const MICROSECONDS = 1e6;

/** A batch whose addresses are codes; equal texts have equal codes. */
export interface CodedBatch extends MeasurementBatch {
  /** The pool of the codes' texts; codes become invalid when its generation changes. */
  pool: TextPool;
  /** The code of each source address. */
  srcCode: Int32Array;
  /** The code of each destination address. */
  dstCode: Int32Array;
}

/** Some rows of the needed columns. */
export interface RowPieces {
  eventTimeUs: Piece<Float64Array>;
  rttMs: Piece<Float64Array>;
  srcAddr: TextPiece;
  dstAddr: TextPiece;
  ipVersion: Piece<Float64Array> | undefined;
  optional: { key: OptionalColumn; values: Float64Array }[];
}

/** The inputs of {@link selectRows} besides the rows. */
export interface Selection {
  versions: AddressVersions;
  /** Counts the other rows. */
  rejects: RejectLog;
  /** Optional columns that must have a value in every usable row. */
  neverNull: readonly OptionalColumn[];
}

/** Selects the usable rows. */
export function selectRows(
  pieces: RowPieces,
  { path, firstRow, numRowsRead }: { path: string; firstRow: number; numRowsRead: number },
  { versions, rejects, neverNull }: Selection,
): CodedBatch {
  const eventTimeUs = pieces.eventTimeUs.values;
  const rttMs = pieces.rttMs.values;
  const srcAddr = pieces.srcAddr.values;
  const dstAddr = pieces.dstAddr.values;
  const ipVersion = pieces.ipVersion?.values;
  const srcCode = pieces.srcAddr.codes;
  const dstCode = pieces.dstAddr.codes;
  versions.byCode(srcCode);
  const versionByCode = versions.byCode(dstCode);
  const faulty = findFaulty(pieces, neverNull);
  const versionOf = new Uint8Array(numRowsRead);
  let numKept = 0;
  for (let row = 0; row < numRowsRead; row++) {
    const timeUs = eventTimeUs[row];
    const rtt = rttMs[row];
    const version = versionByCode[srcCode[row]];
    const isGood = timeUs >= MIN_TIME_US && timeUs < END_TIME_US &&
      (isRtt(rtt) || rtt === FAILED_RTT_MS) && version > 0 &&
      version === versionByCode[dstCode[row]] &&
      (!ipVersion || ipVersion[row] === version || Number.isNaN(ipVersion[row])) &&
      faulty?.[row] !== 1;
    if (isGood) {
      versionOf[row] = version;
      numKept++;
      continue;
    }
    const { reason, detail } = explainReject(pieces, row, neverNull);
    rejects.add(reason, path, firstRow + row, detail);
  }
  const batch: CodedBatch = {
    numRows: numRowsRead,
    eventTimeUs,
    srcAddr,
    dstAddr,
    ipVersion: versionOf,
    rttMs,
    pool: versions.pool,
    srcCode,
    dstCode,
  };
  for (const { key, values } of pieces.optional) batch[key] = values;
  return numKept === numRowsRead ? batch : compact(batch, numKept);
}

/** 1 for rows with a fault in an optional column; undefined if no row has one. */
function findFaulty(
  { optional }: RowPieces,
  neverNull: readonly OptionalColumn[],
): Uint8Array | undefined {
  let faulty: Uint8Array | undefined;
  for (const { key, values } of optional) {
    const mayBeNull = !neverNull.includes(key);
    for (let row = 0; row < values.length; row++) {
      if (!isFault(values[row], mayBeNull)) continue;
      faulty ??= new Uint8Array(values.length);
      faulty[row] = 1;
    }
  }
  return faulty;
}

/** Whether a number is not a safe integer; NaN stands for null. */
function isFault(value: number, mayBeNull: boolean): boolean {
  return value === value ? !Number.isSafeInteger(value) : !mayBeNull;
}

/** Moves the rows with an IP version to the front, in place, and leaves out the others. */
function compact(batch: CodedBatch, numKept: number): CodedBatch {
  const { ipVersion } = batch;
  const kept = new Int32Array(numKept);
  let next = 0;
  for (let row = 0; row < batch.numRows; row++) if (ipVersion[row] !== 0) kept[next++] = row;
  const pick = (values: Float64Array) => Float64Array.from(kept, (row) => values[row]);
  const short: CodedBatch = {
    pool: batch.pool,
    srcCode: Int32Array.from(kept, (row) => batch.srcCode[row]),
    dstCode: Int32Array.from(kept, (row) => batch.dstCode[row]),
    numRows: numKept,
    eventTimeUs: pick(batch.eventTimeUs),
    srcAddr: Array.from(kept, (row) => batch.srcAddr[row]),
    dstAddr: Array.from(kept, (row) => batch.dstAddr[row]),
    ipVersion: Uint8Array.from(kept, (row) => ipVersion[row]),
    rttMs: pick(batch.rttMs),
  };
  for (const { key } of OPTIONAL_COLUMNS) {
    const values = batch[key];
    if (values) short[key] = pick(values);
  }
  return short;
}

function explainReject(
  pieces: RowPieces,
  row: number,
  neverNull: readonly OptionalColumn[],
): { reason: RejectReason; detail: string } {
  const needed = [
    ["event_time", pieces.eventTimeUs],
    ["src_addr", pieces.srcAddr],
    ["dst_addr", pieces.dstAddr],
    ["rtt", pieces.rttMs],
  ] as const;
  for (const [name, { isNull }] of needed) if (isNull?.[row]) return { reason: "nullValue", detail: name };
  const timeUs = pieces.eventTimeUs.values[row];
  if (!(timeUs >= MIN_TIME_US && timeUs < END_TIME_US)) {
    return { reason: "timeOutOfRange", detail: `event_time ${timeUs / MICROSECONDS} s` };
  }
  const [srcAddr, dstAddr] = [pieces.srcAddr.values[row], pieces.dstAddr.values[row]];
  for (const address of [srcAddr, dstAddr]) {
    if (versionOfText(address) === 0) return { reason: "unparseableAddress", detail: shortened(address) };
  }
  const src = versionOfText(srcAddr);
  const dst = versionOfText(dstAddr);
  if (src !== dst) return { reason: "versionMismatch", detail: `src_addr is IPv${src}, dst_addr IPv${dst}` };
  const stated = pieces.ipVersion?.values[row] ?? NaN;
  if (!Number.isNaN(stated) && stated !== src) {
    return { reason: "versionMismatch", detail: `ip_version is ${stated}, the addresses are IPv${src}` };
  }
  const rttMs = pieces.rttMs.values[row];
  if (!isRtt(rttMs) && rttMs !== FAILED_RTT_MS) return { reason: "invalidRtt", detail: `rtt ${rttMs}` };
  const fault = pieces.optional.find(({ key, values }) => isFault(values[row], !neverNull.includes(key)));
  ensure(fault, "a row was rejected without a reason");
  const name = OPTIONAL_COLUMNS.find(({ key }) => key === fault.key)?.name;
  const value = fault.values[row];
  return Number.isNaN(value)
    ? { reason: "nullValue", detail: `${name}` }
    : { reason: "invalidInteger", detail: `${name} ${value}` };
}

/** A cache of addresses' IP versions: a file has few addresses and many rows. 0 is not an address. */
export class AddressVersions {
  readonly #perText = new PerText((length) => new Uint8Array(length), versionOfText);

  constructor(readonly pool: TextPool) {}

  /** By code, for all `codes` at least. */
  byCode(codes: Int32Array): Uint8Array {
    return this.#perText.of(this.pool, codes);
  }
}

function versionOfText(address: string): number {
  const numBytes = parseAddress(address)?.length;
  return numBytes === 4 ? 4 : numBytes === 16 ? 6 : 0;
}

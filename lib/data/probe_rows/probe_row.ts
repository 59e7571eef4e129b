/**
 * The probe row: the history of one source as one record, an Arrow IPC stream of one row whose `measurements`
 * column is itself an Arrow IPC stream.
 *
 * The nesting lets a reader determine a row's size and time range without decoding its measurements.
 * Addresses are dictionary-encoded: a probe has few destinations, so each address is parsed once. Format:
 * https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { inflateRawSync } from "node:zlib";
import { ensure, FormatError } from "../../base/errors.ts";
import { BatchTemplate, paddedBytes, splitStream } from "../../io/arrow/message.ts";
import { ArrowColumns } from "../../io/arrow/reader.ts";

/** The measurements of one source in time order, as one array per column, all of the same length. */
export interface ProbeRow {
  /** The group's id: `probeRowSrcId()` of the source's text, or the probe's id. */
  srcId: bigint;
  /** Microseconds since 1970-01-01T00:00:00Z, ascending; exact, being below 2^53. */
  eventTimeUs: Float64Array;
  /** The distinct source addresses. */
  srcAddrs: string[];
  srcIndex: Int32Array;
  /** The distinct destination addresses. */
  dstAddrs: string[];
  dstIndex: Int32Array;
  /** 4 or 6. */
  ipVersion: Int8Array;
  /** Round-trip time in milliseconds; -1 for no reply. */
  rttMs: Float32Array;
}

const TWO_32 = 2 ** 32;
/** The continuation marker and a size of zero. */
const END_OF_STREAM = Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0);
/** src_id, offsets and values of measurements, n_measurements, time_span_seconds, first, last timestamp. */
const OUTER_FIXED_BYTES = 8 + 8 + 8 + 8 + 8 + 8;

/**
 * Encodes a row as the bytes of one record. Equal rows have equal bytes.
 *
 * The bytes equal those of apache-arrow: numbers are filled into a record that it wrote. Its writer takes 0.1
 * ms and 2 MB of garbage for a row of 26 measurements, most of it for metadata.
 *
 * @returns An Arrow IPC stream.
 */
export function encodeProbeRow(row: ProbeRow): Uint8Array {
  const n = row.eventTimeUs.length;
  ensure(n > 0, "a probe row has no measurements");
  ensure(
    row.srcIndex.length === n && row.dstIndex.length === n && row.ipVersion.length === n &&
      row.rttMs.length === n,
    "columns of a probe row differ in length",
  );
  const known = templates ??= makeTemplates();
  const [src, dst] = [row.srcAddrs, row.dstAddrs].map(encodeTexts);
  const innerBytes = known.innerSchema.length + known.srcDictionary.sizeBytes + src.sizeBytes +
    known.dstDictionary.sizeBytes + dst.sizeBytes + known.innerBatch.sizeBytes +
    8 * n + 3 * paddedBytes(4 * n) + paddedBytes(n) + END_OF_STREAM.length;
  const headBytes = known.outerSchema.length + known.outerBatch.sizeBytes;
  const out = new ArrowBytes(headBytes + OUTER_FIXED_BYTES + innerBytes + END_OF_STREAM.length);
  out.bytes(known.outerSchema);
  out.batch(known.outerBatch, 1, [0, 8, 0, 8, innerBytes, 0, 4, 0, 8, 0, 8, 0, 8]);
  out.bigint(row.srcId);
  out.int32s([0, innerBytes]);
  out.bytes(known.innerSchema);
  out.dictionary(known.srcDictionary, src);
  out.dictionary(known.dstDictionary, dst);
  out.batch(known.innerBatch, n, [0, 8 * n, 0, 4 * n, 0, 4 * n, 0, n, 0, 4 * n]);
  out.times(row.eventTimeUs);
  out.int32s(row.srcIndex);
  out.int32s(row.dstIndex);
  out.bytes(row.ipVersion);
  out.float32s(row.rttMs);
  out.bytes(END_OF_STREAM);
  out.int32s([n]);
  out.float64((row.eventTimeUs[n - 1] - row.eventTimeUs[0]) / 1e6);
  out.times(row.eventTimeUs.subarray(0, 1));
  out.times(row.eventTimeUs.subarray(n - 1));
  out.bytes(END_OF_STREAM);
  return out.finish();
}

/** Texts as the buffers of an Arrow column. */
interface TextColumn {
  offsets: Int32Array;
  /** All texts, concatenated as UTF-8. */
  bytes: Uint8Array;
  /** Total size of both buffers, padded. */
  sizeBytes: number;
}

const encoder = new TextEncoder();

function encodeTexts(texts: readonly string[]): TextColumn {
  const joined = texts.join("");
  const bytes = encoder.encode(joined);
  const isAscii = bytes.length === joined.length;
  const offsets = new Int32Array(texts.length + 1);
  for (const [i, text] of texts.entries()) {
    offsets[i + 1] = offsets[i] + (isAscii ? text.length : encoder.encode(text).length);
  }
  return { offsets, bytes, sizeBytes: paddedBytes(4 * offsets.length) + paddedBytes(bytes.length) };
}

/** The bytes of a record being written. Every part begins at a multiple of 8. */
class ArrowBytes {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #int32: Int32Array;
  readonly #float32: Float32Array;
  readonly #float64: Float64Array;
  readonly #view: DataView;
  #at = 0;

  constructor(sizeBytes: number) {
    const buffer = new ArrayBuffer(sizeBytes);
    this.#bytes = new Uint8Array(buffer);
    this.#int32 = new Int32Array(buffer);
    this.#float32 = new Float32Array(buffer);
    this.#float64 = new Float64Array(buffer);
    this.#view = new DataView(buffer);
  }

  bytes(values: Uint8Array | Int8Array): void {
    this.#bytes.set(values, this.#at);
    this.#at += paddedBytes(values.length);
  }

  batch(template: BatchTemplate, length: number, bufferBytes: readonly number[]): void {
    template.write(length, bufferBytes, this.#bytes, this.#at);
    this.#at += template.sizeBytes;
  }

  dictionary(template: BatchTemplate, { offsets, bytes }: TextColumn): void {
    this.batch(template, offsets.length - 1, [0, 4 * offsets.length, bytes.length]);
    this.int32s(offsets);
    this.bytes(bytes);
  }

  int32s(values: ArrayLike<number>): void {
    this.#int32.set(values, this.#at >> 2);
    this.#at += paddedBytes(4 * values.length);
  }

  float32s(values: Float32Array): void {
    this.#float32.set(values, this.#at >> 2);
    this.#at += paddedBytes(4 * values.length);
  }

  float64(value: number): void {
    this.#float64[this.#at >> 3] = value;
    this.#at += 8;
  }

  bigint(value: bigint): void {
    this.#view.setBigInt64(this.#at, value, true);
    this.#at += 8;
  }

  /** 64-bit integers as two halves: a BigInt per element would be ten times slower. */
  times(timesUs: Float64Array): void {
    let slot = this.#at >> 2;
    for (let i = 0; i < timesUs.length; i++) {
      const high = Math.floor(timesUs[i] / TWO_32);
      this.#int32[slot++] = timesUs[i] - high * TWO_32;
      this.#int32[slot++] = high;
    }
    this.#at += 8 * timesUs.length;
  }

  finish(): Uint8Array<ArrayBuffer> {
    ensure(this.#at === this.#bytes.length, "a record's size differs from the computed one");
    return this.#bytes;
  }
}

/** The parts that are the same in all records. */
interface Templates {
  innerSchema: Uint8Array;
  srcDictionary: BatchTemplate;
  dstDictionary: BatchTemplate;
  innerBatch: BatchTemplate;
  outerSchema: Uint8Array;
  outerBatch: BatchTemplate;
}

let templates: Templates | undefined;

/**
 * A record of one measurement from 192.0.2.1 to 192.0.2.1, written by `encodeWithArrow` of
 * tests/data/probe_rows/probe_row_arrow.ts and compressed with DEFLATE.
 */
const SAMPLE = [
  "zRS7btRAcHxnH8aE3AZOYCEXLihSnUhEAVIkUl7JH1hWbCRLnHOyTSoKCgqEUlJS5gNSRlQIUfABFJSU+QSqmJn1rG9v7VwEAsRK",
  "41nvvJ91XdcfLQABdDzEm3ANXLzJYzXvNr64jOkLMEJ4inI2wme8v0TYZ9q3i7qesHzYYC/AzybC87isoiqbp2UVzxcN8S36ADAA",
  "UffLjRGeZUVH8BPLzTS5+w0ebuNnC4EkonIR51GZHhzmSQnqjDCWkYyDdBx3bQ+Uz3k0T+PyRZHO07xiBa+l7Yb3S1fWJryB0JWk",
  "HNkyTwJ8xDfgNkwkN+Va6fE1H8jHsjiIsqR5dJHXlVVqeCnv6EL9xmrlkeMO3seo05Z++E4b+FBIHzy0TnpsWWuSOydlsDw34fLj",
  "Gviyd8H43G7wD3uVX/23ehxDoWPoNeiuQRcGXThdP0dGnPCX/yl2qs/ZmjlzuTNodmwOm+brO2Lq9oc8W1+12Zpo9RwiFFUlHz5c",
  "UG9a0qjiDbiffGkdIFtER2lRZod5Q9jnfiY/TvD+SOtFlnV8zmOCkxgnSaHie4f8LnK7vB+EEf97bVYEBMgzhruy94Xk3euxFbAt",
  "6nvdlpodfR9t9MxEeMV8sR0v5HykRzihcr/07weq3yno8xXAPamZ52u1/IPl3vRaP1XtzbmbGfka/sLcCaPnrB6Z6wg7j3enD6a7",
  "0x1+k/34W/Hcauvsr9j7f+KardmD23D1Hjwz7Hl/cA+C8a/oRr7bf0UPDXrYY9f5B3ttOYfqvHqi8r5O3tLqQ5ef",
].join("");

function makeTemplates(): Templates {
  const outer = new Uint8Array(inflateRawSync(Uint8Array.fromBase64(SAMPLE)));
  const inner = ArrowColumns.decode(outer, { path: "the sample" }).binary("measurements");
  const [innerSchema, srcDictionary, dstDictionary, innerBatch] = splitStream(inner);
  const [outerSchema, outerBatch] = splitStream(outer);
  return {
    innerSchema,
    srcDictionary: new BatchTemplate(srcDictionary),
    dstDictionary: new BatchTemplate(dstDictionary),
    innerBatch: new BatchTemplate(innerBatch),
    outerSchema,
    outerBatch: new BatchTemplate(outerBatch),
  };
}

/** What is known about a row without decoding its measurements. */
interface ProbeRowHeader {
  srcId: bigint;
  numMeasurements: number;
  timeSpanS: number;
  firstTimeUs: number;
  lastTimeUs: number;
  /** The nested Arrow IPC stream, a view of the record's bytes. */
  measurements: Uint8Array;
}

/**
 * Decodes a record. Columns may also be as other Arrow libraries write them: any index width, plain strings
 * instead of dictionaries, timestamps of any unit, and additional columns (which are ignored).
 *
 * @returns The row; its arrays are views of `bytes` if the alignment allows it.
 * @throws {FormatError} If the bytes are not a probe row.
 */
export function decodeProbeRow(bytes: Uint8Array, where: { path: string; place?: string }): ProbeRow {
  const header = decodeProbeRowHeader(bytes, where);
  const inner = ArrowColumns.decode(header.measurements, where);
  if (inner.numRows !== header.numMeasurements) {
    throw new FormatError(
      `its row has ${inner.numRows} measurements, its n_measurements is ${header.numMeasurements}; write it again`,
      where,
    );
  }
  const src = inner.strings("src_addr");
  const dst = inner.strings("dst_addr");
  return {
    srcId: header.srcId,
    eventTimeUs: inner.timesUs("event_time"),
    srcAddrs: src.values,
    srcIndex: src.index,
    dstAddrs: dst.values,
    dstIndex: dst.index,
    ipVersion: inner.int8("ip_version"),
    rttMs: inner.float32("rtt"),
  };
}

/**
 * Decodes a row without its measurements.
 *
 * @throws {FormatError} If the bytes are not a probe row.
 */
export function decodeProbeRowHeader(
  bytes: Uint8Array,
  where: { path: string; place?: string },
): ProbeRowHeader {
  const outer = ArrowColumns.decode(bytes, where);
  if (outer.numRows !== 1) {
    throw new FormatError(`its Arrow stream has ${outer.numRows} rows, expected 1; write it again`, where);
  }
  return {
    srcId: outer.bigint("src_id"),
    numMeasurements: outer.number("n_measurements"),
    timeSpanS: outer.number("time_span_seconds"),
    firstTimeUs: outer.timesUs("first_timestamp")[0],
    lastTimeUs: outer.timesUs("last_timestamp")[0],
    measurements: outer.binary("measurements"),
  };
}

/** The group id of a source: the first 15 hex digits of the MD5 of its address text. */
export function probeRowSrcId(srcAddr: string): bigint {
  return BigInt("0x" + createHash("md5").update(srcAddr).digest("hex").slice(0, 15));
}

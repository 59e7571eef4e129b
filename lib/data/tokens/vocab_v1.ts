/**
 * All of vocabulary v1: grammar, RTT encodings, writer and reader. Each measurement is self-contained and has its
 * id, size and error count, for trainers that take one measurement per sequence.
 *
 * @module
 */
import * as v1 from "./grammar_v1.ts";
import { TokenCursor, TokenError } from "./token_cursor.ts";
import { ensure } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import type { Field } from "./grammar_v2.ts";
export * from "./grammar_v1.ts";
export { TokenError } from "./token_cursor.ts";

// The four encodings of an RTT in vocabulary v1, 8 bytes, big-endian.
//
// | name      | the 8 bytes                                                | no reply    | error                 |
// | --------- | ---------------------------------------------------------- | ----------- | --------------------- |
// | `float64` | IEEE 754 bits of the milliseconds                          | -1.0        | none                  |
// | `fixed`   | whole microseconds, rounded, u64                           | all bits 1  | 0.5 µs                |
// | `log`     | u16: one of 65,535 buckets, log-spaced from 1 µs to 1000 s | code 65,535 | 0.016 % within these  |
// | `clipped` | as `fixed`, at most the given clip                         | all bits 1  | 0.5 µs up to the clip |
//
// All have the same width, so a measurement's length does not depend on the encoding. An encoder writes one form of
// each value, and a decoder accepts no other.

export const RTT_ENCODING_NAMES: readonly RttEncodingName[] = ["float64", "fixed", "log", "clipped"];
/** One of the encodings. */
export type RttEncodingName = "float64" | "fixed" | "log" | "clipped";

const RTT_BYTES = 8;

/** Encodes RTTs as 8 bytes and decodes them. */
export interface RttEncoding {
  readonly name: RttEncodingName;
  /** The clip in microseconds, for `clipped`. */
  readonly clipUs?: number;
  /** The largest RTT that can be encoded, milliseconds. */
  readonly maxRttMs: number;
  /**
   * Writes an RTT.
   *
   * @param rttMs Milliseconds, 0..maxRttMs, or null for no reply.
   * @param out 8 bytes.
   * @throws {RangeError} If the RTT is negative, not finite or too large.
   */
  encode(rttMs: number | null, out: DataView): void;
  /**
   * Decodes the bytes of {@link encode}.
   *
   * @param bytes 8 bytes.
   * @returns Milliseconds, null for no reply, or undefined if no encoder writes these bytes.
   */
  decode(bytes: DataView): number | null | undefined;
}

const US_PER_MS = 1000;
const TWO_32 = 2 ** 32;
const ALL_ONES = 0xffffffff;
/** Integers are exact up to here: 285 years in microseconds. */
const MAX_US = Number.MAX_SAFE_INTEGER;

/** Lower end of the first bucket of `log`: 1 µs, the resolution of RIPE Atlas; smaller values count as in it. */
export const LOG_LOW_MS = 0.001;
/** Upper end of the last bucket of `log`: 1000 s, three times the largest of 100 M RTTs; larger values count as in it. */
export const LOG_HIGH_MS = 1e6;
/** Number of buckets of `log`. */
const LOG_NUM_BUCKETS = 65_535;
/** The code of `log` for no reply. */
export const LOG_FAILED = 65_535;
const LOG_STEP = Math.log(LOG_HIGH_MS / LOG_LOW_MS) / LOG_NUM_BUCKETS;
/** The largest relative error of `log` for RTTs from 1 µs to 1000 s: half a bucket, 0.0158 %. */
export const LOG_MAX_RELATIVE_ERROR: number = Math.expm1(LOG_STEP / 2);

/** The RTT as the bits of a double: exact. */
export const FLOAT64_RTT: RttEncoding = {
  name: "float64",
  maxRttMs: Number.MAX_VALUE,
  encode(rttMs, out) {
    if (rttMs !== null) requireRtt(rttMs, Number.MAX_VALUE);
    out.setFloat64(0, rttMs === null ? -1 : rttMs + 0); // + 0 turns -0 into 0
  },
  decode(bytes) {
    const rttMs = bytes.getFloat64(0);
    if (rttMs === -1) return null;
    return rttMs >= 0 && rttMs < Infinity && !Object.is(rttMs, -0) ? rttMs : undefined;
  },
};

/** The RTT in whole microseconds, with an error of at most 0.5 µs. */
export const FIXED_RTT: RttEncoding = {
  name: "fixed",
  maxRttMs: MAX_US / US_PER_MS,
  encode(rttMs, out) {
    if (rttMs !== null) requireRtt(rttMs, FIXED_RTT.maxRttMs);
    writeUs(rttMs === null ? null : Math.min(Math.round(rttMs * US_PER_MS), MAX_US), out);
  },
  decode(bytes) {
    return readUs(bytes, MAX_US);
  },
};

/** The RTT as one of 65,535 log-spaced buckets, read as the geometric middle of the bucket. */
export const LOG_RTT: RttEncoding = {
  name: "log",
  maxRttMs: Number.MAX_VALUE,
  encode(rttMs, out) {
    out.setUint32(0, 0);
    out.setUint32(4, rttMs === null ? LOG_FAILED : logBucket(rttMs));
  },
  decode(bytes) {
    const code = bytes.getUint32(4);
    if (bytes.getUint32(0) !== 0 || code > LOG_FAILED) return undefined;
    return code === LOG_FAILED ? null : LOG_LOW_MS * Math.exp((code + 0.5) * LOG_STEP);
  },
};

/**
 * The RTT in whole microseconds, larger ones as the clip.
 *
 * @param clipUs The clip, a positive integer, such as a quantile of the data.
 * @throws {RangeError} If the clip is not such an integer.
 */
export function clippedRtt(clipUs: number): RttEncoding {
  if (!Number.isSafeInteger(clipUs) || clipUs < 1) {
    throw new RangeError(`Cannot clip RTTs at ${clipUs} µs: expected an integer in 1..2^53-1`);
  }
  return {
    name: "clipped",
    clipUs,
    maxRttMs: Number.MAX_VALUE,
    encode(rttMs, out) {
      if (rttMs !== null) requireRtt(rttMs, Number.MAX_VALUE);
      writeUs(rttMs === null ? null : Math.min(Math.round(rttMs * US_PER_MS), clipUs), out);
    },
    decode(bytes) {
      return readUs(bytes, clipUs);
    },
  };
}

/** The choice of an encoding in configurations; plain JSON. */
export interface RttEncodingChoice {
  name: RttEncodingName;
  /** The clip of `clipped`, milliseconds; values below 1 µs count as 1 µs. */
  clipMs: number;
}

export function chosenRttEncoding({ name, clipMs }: RttEncodingChoice): RttEncoding {
  if (name === "clipped") return clippedRtt(Math.max(1, Math.round(clipMs * US_PER_MS)));
  return { float64: FLOAT64_RTT, fixed: FIXED_RTT, log: LOG_RTT }[name];
}

function requireRtt(rttMs: number, maxRttMs: number): void {
  if (rttMs >= 0 && rttMs <= maxRttMs) return;
  throw new RangeError(`Cannot encode an RTT of ${rttMs} ms: expected a number in 0..${maxRttMs}`);
}

function logBucket(rttMs: number): number {
  requireRtt(rttMs, Number.MAX_VALUE);
  const bucket = Math.floor(Math.log(rttMs / LOG_LOW_MS) / LOG_STEP);
  return Math.max(0, Math.min(bucket, LOG_NUM_BUCKETS - 1));
}

function writeUs(us: number | null, out: DataView): void {
  out.setUint32(0, us === null ? ALL_ONES : Math.floor(us / TWO_32));
  out.setUint32(4, us === null ? ALL_ONES : us % TWO_32);
}

function readUs(bytes: DataView, maxUs: number): number | null | undefined {
  const high = bytes.getUint32(0);
  const low = bytes.getUint32(4);
  if (high === ALL_ONES && low === ALL_ONES) return null;
  const us = high * TWO_32 + low;
  return us <= maxUs ? us / US_PER_MS : undefined;
}

// Reads vocabulary v1 back into measurements.
//
// The reader accepts exactly the writer's output with the same RTT encoding; anything else is an error with its
// position. Roles and lengths: grammar_v1.ts.

const BLOCK_OF_ROLE: Readonly<Record<number, v1.Block>> = {
  [v1.SRC_IP_START]: "source",
  [v1.DEST_IP_START]: "destination",
  [v1.RTT_START]: "rtt",
  [v1.SIZE_START]: "size",
  [v1.ERROR_COUNT_START]: "errorCount",
  [v1.TIMESTAMP_START]: "time",
  [v1.MSM_ID_START]: "msmId",
};

/** A measurement with the order of its blocks and its position in the stream. */
export interface DecodedWholeMeasurement extends v1.WholeMeasurement {
  order: readonly v1.Block[];
  /** Index of its MeasurementStart. */
  position: number;
}

/**
 * Reads consecutive measurements.
 *
 * @param tokens From a MeasurementStart to the end of a measurement; may be empty.
 * @returns The measurements; the error of an RTT is at most that of its encoding.
 * @throws {TokenError} If the tokens are not a writer's output, with the position.
 */
export function decodeWholeMeasurements(
  tokens: Uint16Array,
  rttEncoding: RttEncoding,
): DecodedWholeMeasurement[] {
  const reader = new WholeMeasurementReader(tokens, rttEncoding);
  const measurements: DecodedWholeMeasurement[] = [];
  while (reader.at < tokens.length) measurements.push(reader.readMeasurement());
  return measurements;
}

class WholeMeasurementReader extends TokenCursor {
  readonly #number = new DataView(new ArrayBuffer(RTT_BYTES));

  constructor(tokens: Uint16Array, readonly rttEncoding: RttEncoding) {
    super(tokens, v1);
  }

  readMeasurement(): DecodedWholeMeasurement {
    const position = this.at;
    this.readStart();
    const order: v1.Block[] = [];
    const nothing = new Uint8Array(0);
    const measurement = {
      source: nothing,
      destination: nothing,
      rttMs: null,
      sizeBytes: 0,
      packetErrorCount: 0,
      timeS: 0,
      msmId: 0,
    };
    while (order.length < v1.BLOCKS.length) {
      const block = BLOCK_OF_ROLE[this.tokens[this.at]];
      if (block === undefined) throw this.unexpected(`a block (${missing(order)})`);
      if (order.includes(block)) throw this.unexpected(`no second ${block}`);
      order.push(block);
      this.at++;
      this.#readBlock(block, measurement);
    }
    return { ...measurement, order, position };
  }

  #readBlock(block: v1.Block, measurement: v1.WholeMeasurement): void {
    switch (block) {
      case "source":
        measurement.source = this.#readAddress();
        break;
      case "destination":
        measurement.destination = this.#readAddress();
        break;
      case "rtt":
        measurement.rttMs = this.#readRtt();
        break;
      case "size":
        measurement.sizeBytes = this.#readNumber(2).getUint16(0);
        break;
      case "errorCount":
        measurement.packetErrorCount = this.#readNumber(1).getUint8(0);
        break;
      case "time":
        measurement.timeS = this.#readInt64("time");
        break;
      case "msmId":
        measurement.msmId = this.#readInt64("measurement id");
    }
  }

  #readAddress(): Uint8Array {
    const version = this.tokens[this.at];
    if (version !== v1.IPV4_START && version !== v1.IPV6_START) {
      throw this.unexpected(`${v1.tokenName(v1.IPV4_START)} or ${v1.tokenName(v1.IPV6_START)}`);
    }
    this.at++;
    return this.readBytes(version === v1.IPV4_START ? 4 : 16);
  }

  #readRtt(): number | null {
    const position = this.at;
    const rttMs = this.rttEncoding.decode(this.#readNumber(RTT_BYTES));
    if (rttMs !== undefined) return rttMs;
    const bytes = Array.from(this.tokens.subarray(position, this.at), (token) => token - v1.BYTE_BASE);
    throw new TokenError(
      position,
      `found the bytes ${bytes.join(" ")}, expected an RTT of the encoding ${this.rttEncoding.name}`,
    );
  }

  #readInt64(name: string): number {
    const position = this.at;
    const number = this.#readNumber(8);
    const value = number.getInt32(0) * TWO_32 + number.getUint32(4);
    if (Number.isSafeInteger(value)) return value;
    throw new TokenError(position, `found a ${name} of ${value}, expected one of at most 53 bits`);
  }

  /** The next bytes, in a view that the next call overwrites. */
  #readNumber(numBytes: number): DataView {
    for (let i = 0; i < numBytes; i++) this.#number.setUint8(i, this.readByte());
    return this.#number;
  }
}

function missing(order: readonly v1.Block[]): string {
  return v1.BLOCKS.filter((block) => !order.includes(block)).join(", ");
}

// Writes measurements in vocabulary v1. Roles, blocks and lengths: grammar_v1.ts.

/**
 * The order in which a measurement's blocks are written: a uniformly random one that depends only on the
 * measurement, so any part of the data can be made again separately.
 *
 * @param msmId Measurement id, an integer of at most 53 bits.
 * @param eventTimeUs When, whole microseconds since 1970.
 */
export function blockOrder(msmId: number, eventTimeUs: number): v1.Block[] {
  const timeHigh = Math.floor(eventTimeUs / TWO_32);
  const random = new RandomStream(
    Math.abs(msmId),
    "tokens/v1/order",
    timeHigh >>> 0,
    eventTimeUs - timeHigh * TWO_32,
    msmId < 0 ? 1 : 0,
  );
  const order = [...v1.BLOCKS];
  random.shuffle(order);
  return order;
}

/** Writes measurements one after another into an array. */
export class WholeMeasurementWriter {
  /** Index of the next token in the array. */
  at = 0;
  readonly #number = new DataView(new ArrayBuffer(RTT_BYTES));

  /**
   * Starts at the beginning of the array.
   *
   * @param out Takes the tokens; nothing is written beyond its end.
   */
  constructor(readonly out: Uint16Array, readonly rttEncoding: RttEncoding) {}

  /**
   * Writes a measurement of probe rows, which has no size, error count and id, and perhaps no time. RTTs beyond the
   * encoding's range are written as its largest one.
   *
   * @param measurement The measurement; its RTT is rounded to f32, as in probe rows.
   * @param order Its fields, as in vocabulary v2.
   * @returns Number of tokens written.
   * @throws {RangeError} See {@link write}.
   */
  writeFields(measurement: v1.FieldMeasurement, order: readonly Field[]): number {
    const { source, destination, timeS } = measurement;
    const rttMs = measurement.rttMs === null
      ? null
      : Math.min(Math.fround(measurement.rttMs), this.rttEncoding.maxRttMs);
    const unknown = { sizeBytes: 0, packetErrorCount: 0, msmId: 0 };
    const blocks = order.map((field) => field === "result" ? "rtt" : field);
    return this.write(
      { source, destination, rttMs, timeS: timeS ?? 0, ...unknown },
      timeS === null ? blocks.filter((block) => block !== "time") : blocks,
      v1.fieldsLength(measurement),
    );
  }

  /**
   * Writes a measurement.
   *
   * @param order Its blocks, each once, such as {@link blockOrder} gives.
   * @param length Number of tokens of these blocks; by default that of all seven.
   * @returns Number of tokens written.
   * @throws {RangeError} If the array is full or a value has no tokens; nothing is written then.
   */
  write(
    measurement: v1.WholeMeasurement,
    order: readonly v1.Block[],
    length: number = v1.measurementLength(measurement),
  ): number {
    const start = this.at;
    if (start + length > this.out.length) {
      throw new RangeError(
        `Cannot write a measurement of ${length} tokens: found space for ${this.out.length - start}`,
      );
    }
    try {
      this.out[this.at++] = v1.MEASUREMENT_START;
      for (const block of order) this.#writeBlock(block, measurement);
    } catch (error) {
      this.at = start;
      throw error;
    }
    // The message is built only when needed: building it takes longer than writing a measurement.
    if (this.at - start !== length) {
      ensure(false, `the order ${order} gave ${this.at - start} of ${length} tokens`);
    }
    return length;
  }

  #writeBlock(block: v1.Block, measurement: v1.WholeMeasurement): void {
    switch (block) {
      case "source":
        return this.#writeAddress(v1.SRC_IP_START, measurement.source);
      case "destination":
        return this.#writeAddress(v1.DEST_IP_START, measurement.destination);
      case "rtt":
        this.rttEncoding.encode(measurement.rttMs, this.#number);
        return this.#writeNumber(v1.RTT_START, RTT_BYTES);
      case "size":
        requireInteger("packet size", measurement.sizeBytes, 0, v1.MAX_SIZE_BYTES);
        this.#number.setUint16(0, measurement.sizeBytes);
        return this.#writeNumber(v1.SIZE_START, 2);
      case "errorCount":
        requireInteger("error count", measurement.packetErrorCount, 0, v1.MAX_ERROR_COUNT);
        this.#number.setUint8(0, measurement.packetErrorCount);
        return this.#writeNumber(v1.ERROR_COUNT_START, 1);
      case "time":
        return this.#writeInt64(v1.TIMESTAMP_START, "time", measurement.timeS);
      case "msmId":
        return this.#writeInt64(v1.MSM_ID_START, "measurement id", measurement.msmId);
    }
  }

  #writeAddress(role: number, bytes: Uint8Array): void {
    if (bytes.length !== 4 && bytes.length !== 16) {
      throw new RangeError(`Cannot write an address: found ${bytes.length} bytes, expected 4 or 16`);
    }
    this.out[this.at++] = role;
    this.out[this.at++] = bytes.length === 4 ? v1.IPV4_START : v1.IPV6_START;
    for (let i = 0; i < bytes.length; i++) this.out[this.at++] = v1.BYTE_BASE + bytes[i];
  }

  #writeInt64(role: number, name: string, value: number): void {
    requireInteger(name, value, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    const high = Math.floor(value / TWO_32);
    this.#number.setInt32(0, high);
    this.#number.setUint32(4, value - high * TWO_32);
    this.#writeNumber(role, 8);
  }

  /** Writes a role and the first bytes of the number. */
  #writeNumber(role: number, numBytes: number): void {
    this.out[this.at++] = role;
    for (let i = 0; i < numBytes; i++) this.out[this.at++] = v1.BYTE_BASE + this.#number.getUint8(i);
  }
}

function requireInteger(name: string, value: number, low: number, high: number): void {
  if (Number.isInteger(value) && value >= low && value <= high) return;
  throw new RangeError(`Cannot write the ${name} ${value}: expected an integer in ${low}..${high}`);
}

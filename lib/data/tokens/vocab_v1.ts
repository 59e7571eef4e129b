/**
 * Vocabulary v1, its grammar, RTT encodings, writer and reader: measurements as tokens, 10 roles and 256
 * bytes. Each measurement is self-contained and includes its id, size and error count, for trainers that take
 * one measurement per sequence.
 *
 *     measurement := MeasurementStart, then seven blocks in any order:
 *     source      := SrcIpStart address       destination := DestIpStart address
 *     address     := Ipv4Start 4 bytes | Ipv6Start 16 bytes
 *     rtt         := RttStart 8 bytes         (see below)
 *     size        := SizeStart 2 bytes        (u16)
 *     errorCount  := ErrorCountStart 1 byte   (u8)
 *     time        := TimestampStart 8 bytes   (i64, Unix seconds)
 *     msmId       := MsmIdStart 8 bytes       (i64)
 *
 * Numbers are big-endian. A measurement has 45 tokens with IPv4 addresses and 69 with IPv6 ones, whatever the
 * encoding of its RTT. Probe rows have no size, error count and id: in training and in queries a measurement
 * has the other four blocks, or three without a time, 31 to 55 tokens or 22 to 46.
 *
 * @module
 */
import { ensure } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import { nameOfToken, TokenCursor, TokenError } from "./token_cursor.ts";
import type { Field } from "./vocab_v2.ts";

export { TokenError };

export const MEASUREMENT_START = 0;
export const SRC_IP_START = 1;
export const DEST_IP_START = 2;
/** Begins the 4 bytes of an IPv4 address. */
export const IPV4_START = 3;
/** Begins the 16 bytes of an IPv6 address. */
export const IPV6_START = 4;
export const RTT_START = 5;
export const SIZE_START = 6;
export const ERROR_COUNT_START = 7;
export const TIMESTAMP_START = 8;
export const MSM_ID_START = 9;
/** The token of byte b is BYTE_BASE + b. */
export const BYTE_BASE = 10;
export const VOCAB_SIZE = 266;
/** The largest packet size that can be encoded. */
export const MAX_SIZE_BYTES = 0xffff;
/** The largest number of lost packets that can be encoded. */
export const MAX_ERROR_COUNT = 0xff;

/** Names of the role tokens 0..9. */
export const ROLE_NAMES: readonly string[] = [
  "MeasurementStart",
  "SrcIpStart",
  "DestIpStart",
  "Ipv4Start",
  "Ipv6Start",
  "RttStart",
  "SizeStart",
  "ErrorCountStart",
  "TimestampStart",
  "MsmIdStart",
];

export type Block = "source" | "destination" | "rtt" | "size" | "errorCount" | "time" | "msmId";

/** The seven blocks. Each occurs exactly once per measurement. */
export const BLOCKS: readonly Block[] = [
  "source",
  "destination",
  "rtt",
  "size",
  "errorCount",
  "time",
  "msmId",
];

const ROLE_OF: Readonly<Record<Block, number>> = {
  source: SRC_IP_START,
  destination: DEST_IP_START,
  rtt: RTT_START,
  size: SIZE_START,
  errorCount: ERROR_COUNT_START,
  time: TIMESTAMP_START,
  msmId: MSM_ID_START,
};

const INT_64 = { numBytes: 8, low: Number.MIN_SAFE_INTEGER, high: Number.MAX_SAFE_INTEGER };

/** The blocks that contain an integer: key, name in errors, number of bytes, and range. */
const INTEGERS = {
  size: { key: "sizeBytes", name: "packet size", numBytes: 2, low: 0, high: MAX_SIZE_BYTES },
  errorCount: { key: "packetErrorCount", name: "error count", numBytes: 1, low: 0, high: MAX_ERROR_COUNT },
  time: { key: "timeS", name: "time", ...INT_64 },
  msmId: { key: "msmId", name: "measurement id", ...INT_64 },
} as const;

export interface WholeMeasurement {
  /** 4 or 16 bytes. */
  source: Uint8Array;
  /** 4 or 16 bytes. */
  destination: Uint8Array;
  /** Milliseconds; null for no reply. */
  rttMs: number | null;
  /** Packet size, 0..65535. */
  sizeBytes: number;
  /** Lost packets, 0..255. */
  packetErrorCount: number;
  /** Whole seconds since 1970. */
  timeS: number;
  /** An integer of at most 53 bits. */
  msmId: number;
}

/** Names a token by its role or, for example, as `byte 17`. */
export function tokenName(token: number): string {
  return nameOfToken(ROLE_NAMES, token);
}

/** MeasurementStart; five roles with numbers of 8, 2, 1, 8 and 8 bytes; two roles with two IP versions. */
const TOKENS_BESIDE_ADDRESSES = 1 + 5 + 27 + 4;

/** Number of tokens of a measurement: 45 for IPv4, 69 for IPv6. */
function measurementLength({ source, destination }: WholeMeasurement): number {
  return TOKENS_BESIDE_ADDRESSES + source.length + destination.length;
}

/** The part of a measurement that probe rows contain. */
type FieldMeasurement = Pick<WholeMeasurement, "source" | "destination" | "rttMs"> & {
  /** Whole seconds since 1970; null for a measurement without a time. */
  timeS: number | null;
};

/** Number of tokens of a measurement from probe rows: 31 for IPv4, 55 for IPv6; 9 fewer without a time. */
export function fieldsLength({ source, destination, timeS }: FieldMeasurement): number {
  return 1 + 4 + 9 + (timeS === null ? 0 : 9) + source.length + destination.length;
}

export const RTT_ENCODING_NAMES: readonly RttEncodingName[] = ["float64", "fixed", "log", "clipped"];
/** How 8 bytes represent an RTT, see {@link RttEncoding}. */
export type RttEncodingName = "float64" | "fixed" | "log" | "clipped";

/**
 * Encodes RTTs as 8 bytes, big-endian, and decodes them. An encoder writes each value in a single form, and a
 * decoder accepts no other.
 *
 * | name      | the 8 bytes                                                | no reply    | error                 |
 * | --------- | ---------------------------------------------------------- | ----------- | --------------------- |
 * | `float64` | IEEE 754 bits of the milliseconds                          | -1.0        | none                  |
 * | `fixed`   | whole microseconds, rounded, u64                           | all bits 1  | 0.5 µs                |
 * | `log`     | u16: one of 65,535 buckets, log-spaced from 1 µs to 1000 s | code 65,535 | 0.016 % within these  |
 * | `clipped` | as `fixed`, at most the given clip                         | all bits 1  | 0.5 µs up to the clip |
 */
export interface RttEncoding {
  readonly name: RttEncodingName;
  /** For `clipped`. */
  readonly clipUs?: number;
  readonly maxRttMs: number;
  /**
   * Writes an RTT.
   *
   * @param rttMs Milliseconds, 0..maxRttMs; null for no reply.
   * @throws {RangeError} If the RTT is negative, not finite or too large.
   */
  encode(rttMs: number | null, out: DataView): void;
  /**
   * Decodes the bytes of {@link encode}.
   *
   * @returns Milliseconds; null for no reply; undefined if no encoder writes these bytes.
   */
  decode(bytes: DataView): number | null | undefined;
}

const US_PER_MS = 1000;
const TWO_32 = 2 ** 32;
const ALL_ONES = 0xffffffff;
/** Integers are exact up to here: 285 years in microseconds. */
const MAX_US = Number.MAX_SAFE_INTEGER;

/** Lower end of the first bucket of `log`: 1 µs, the resolution of RIPE Atlas. Smaller values are clamped. */
const LOG_LOW_MS = 0.001;
/**
 * Upper end of the last bucket of `log`: 1000 s, three times the largest of 100 M RTTs. Larger values are
 * clamped.
 */
const LOG_HIGH_MS = 1e6;
const LOG_NUM_BUCKETS = 65_535;
/** The code for no reply in `log`. */
const LOG_FAILED = LOG_NUM_BUCKETS;
const LOG_STEP = Math.log(LOG_HIGH_MS / LOG_LOW_MS) / LOG_NUM_BUCKETS;

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

/** The RTT in whole microseconds, off by at most 0.5 µs. */
export const FIXED_RTT: RttEncoding = {
  name: "fixed",
  maxRttMs: MAX_US / US_PER_MS,
  ...inMicroseconds(MAX_US / US_PER_MS, MAX_US),
};

/** The RTT as one of 65,535 log-spaced buckets, decoded to the geometric middle of its bucket. */
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
 * The RTT in whole microseconds, clipped.
 *
 * @param clipUs A positive integer, such as a quantile of the data.
 */
export function clippedRtt(clipUs: number): RttEncoding {
  if (!Number.isSafeInteger(clipUs) || clipUs < 1) {
    throw new RangeError(`Cannot clip RTTs at ${clipUs} µs: expected an integer in 1..2^53-1`);
  }
  const maxRttMs = Number.MAX_VALUE;
  return { name: "clipped", clipUs, maxRttMs, ...inMicroseconds(maxRttMs, clipUs) };
}

/** Writes RTTs of up to `maxRttMs` as u64, at most `maxUs`. */
function inMicroseconds(maxRttMs: number, maxUs: number): Pick<RttEncoding, "encode" | "decode"> {
  return {
    encode(rttMs, out) {
      if (rttMs !== null) requireRtt(rttMs, maxRttMs);
      const us = rttMs === null ? null : Math.min(Math.round(rttMs * US_PER_MS), maxUs);
      out.setUint32(0, us === null ? ALL_ONES : Math.floor(us / TWO_32));
      out.setUint32(4, us === null ? ALL_ONES : us % TWO_32);
    },
    decode(bytes) {
      const [high, low] = [bytes.getUint32(0), bytes.getUint32(4)];
      if (high === ALL_ONES && low === ALL_ONES) return null;
      const us = high * TWO_32 + low;
      return us <= maxUs ? us / US_PER_MS : undefined;
    },
  };
}

export interface RttEncodingChoice {
  name: RttEncodingName;
  /** The clip of `clipped`; values below 1 µs count as 1 µs. */
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

const BLOCK_OF_ROLE = new Map(BLOCKS.map((block) => [ROLE_OF[block], block]));

/** A measurement with the order of its blocks and its position in the stream. */
interface DecodedWholeMeasurement extends WholeMeasurement {
  order: readonly Block[];
  /** Index of its MeasurementStart in the stream. */
  position: number;
}

/**
 * Reads consecutive measurements: exactly the output of the writer with the same RTT encoding.
 *
 * @param tokens From a MeasurementStart to the end of a measurement; may be empty.
 * @returns The measurements, with RTTs as precise as the encoding.
 * @throws {TokenError} If the tokens are anything else, with the position.
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
  readonly #number = new DataView(new ArrayBuffer(8));

  constructor(tokens: Uint16Array, readonly rttEncoding: RttEncoding) {
    super(tokens, ROLE_NAMES);
  }

  readMeasurement(): DecodedWholeMeasurement {
    const position = this.at;
    this.readStart();
    const order: Block[] = [];
    const nothing = new Uint8Array(0);
    const measurement: WholeMeasurement = {
      source: nothing,
      destination: nothing,
      rttMs: null,
      sizeBytes: 0,
      packetErrorCount: 0,
      timeS: 0,
      msmId: 0,
    };
    while (order.length < BLOCKS.length) {
      const block = BLOCK_OF_ROLE.get(this.tokens[this.at]);
      if (block === undefined) {
        throw this.unexpected(`a block (${BLOCKS.filter((each) => !order.includes(each)).join(", ")})`);
      }
      if (order.includes(block)) throw this.unexpected(`no second ${block}`);
      order.push(block);
      this.at++;
      if (block === "source" || block === "destination") measurement[block] = this.#readAddress();
      else if (block === "rtt") measurement.rttMs = this.#readRtt();
      else measurement[INTEGERS[block].key] = this.#readInteger(INTEGERS[block]);
    }
    return { ...measurement, order, position };
  }

  #readAddress(): Uint8Array {
    const version = this.tokens[this.at];
    if (version !== IPV4_START && version !== IPV6_START) {
      throw this.unexpected(`${tokenName(IPV4_START)} or ${tokenName(IPV6_START)}`);
    }
    this.at++;
    return this.readBytes(version === IPV4_START ? 4 : 16);
  }

  #readRtt(): number | null {
    const position = this.at;
    const rttMs = this.rttEncoding.decode(this.#readNumber(8));
    if (rttMs !== undefined) return rttMs;
    const bytes = Array.from(this.tokens.subarray(position, this.at), (token) => token - BYTE_BASE);
    throw new TokenError(
      position,
      `found the bytes ${bytes.join(" ")}, expected an RTT of the encoding ${this.rttEncoding.name}`,
    );
  }

  #readInteger({ name, numBytes }: { name: string; numBytes: number }): number {
    const position = this.at;
    const number = this.#readNumber(numBytes);
    const value = number.getInt32(0) * TWO_32 + number.getUint32(4);
    if (Number.isSafeInteger(value)) return value;
    throw new TokenError(position, `found a ${name} of ${value}, expected one of at most 53 bits`);
  }

  /** Returns the next bytes as the last of 8, in a view that the next call overwrites. */
  #readNumber(numBytes: number): DataView {
    this.#number.setFloat64(0, 0);
    for (let i = 8 - numBytes; i < 8; i++) this.#number.setUint8(i, this.readByte());
    return this.#number;
  }
}

/**
 * The order in which a measurement's blocks are written. It is uniformly random but depends only on the
 * measurement, so any part of the data can be regenerated separately.
 *
 * @param msmId Measurement id, an integer of at most 53 bits.
 * @param eventTimeUs Whole microseconds since 1970.
 */
export function blockOrder(msmId: number, eventTimeUs: number): Block[] {
  const timeHigh = Math.floor(eventTimeUs / TWO_32);
  const random = new RandomStream(
    Math.abs(msmId),
    "tokens/v1/order",
    timeHigh >>> 0,
    eventTimeUs - timeHigh * TWO_32,
    msmId < 0 ? 1 : 0,
  );
  const order = [...BLOCKS];
  random.shuffle(order);
  return order;
}

export class WholeMeasurementWriter {
  at = 0;
  readonly #number = new DataView(new ArrayBuffer(8));

  /**
   * Starts at the beginning of the array.
   *
   * @param out Receives the tokens; nothing is written beyond its end.
   */
  constructor(readonly out: Uint16Array, readonly rttEncoding: RttEncoding) {}

  /**
   * Writes a measurement from probe rows, which has no size, error count and id, and may have no time. RTTs
   * beyond the encoding's range are written as its largest RTT.
   *
   * @param measurement Its RTT is rounded to f32, as in probe rows.
   */
  writeFields(measurement: FieldMeasurement, order: readonly Field[]): number {
    const { source, destination, timeS } = measurement;
    const rttMs = measurement.rttMs === null
      ? null
      : Math.min(Math.fround(measurement.rttMs), this.rttEncoding.maxRttMs);
    const unknown = { sizeBytes: 0, packetErrorCount: 0, msmId: 0 };
    const blocks = order.map((field) => field === "result" ? "rtt" : field);
    return this.write(
      { source, destination, rttMs, timeS: timeS ?? 0, ...unknown },
      timeS === null ? blocks.filter((block) => block !== "time") : blocks,
      fieldsLength(measurement),
    );
  }

  /**
   * Writes a measurement.
   *
   * @param order Each block once, for example from {@link blockOrder}.
   * @param length Number of tokens of these blocks; by default of all seven.
   * @throws {RangeError} If the array is full or a value cannot be encoded. Nothing is written then.
   */
  write(
    measurement: WholeMeasurement,
    order: readonly Block[],
    length: number = measurementLength(measurement),
  ): number {
    const start = this.at;
    if (start + length > this.out.length) {
      throw new RangeError(
        `Cannot write a measurement of ${length} tokens: found space for ${this.out.length - start}`,
      );
    }
    try {
      this.out[this.at++] = MEASUREMENT_START;
      for (const block of order) this.#writeBlock(block, measurement);
    } catch (error) {
      this.at = start;
      throw error;
    }
    // The message is only built when needed, because that takes longer than writing a measurement.
    if (this.at - start !== length) {
      ensure(false, `the order ${order} gave ${this.at - start} of ${length} tokens`);
    }
    return length;
  }

  #writeBlock(block: Block, measurement: WholeMeasurement): void {
    this.out[this.at++] = ROLE_OF[block];
    if (block === "source" || block === "destination") return this.#writeAddress(measurement[block]);
    if (block === "rtt") {
      this.rttEncoding.encode(measurement.rttMs, this.#number);
      return this.#writeNumber(8);
    }
    const { key, name, numBytes, low, high } = INTEGERS[block];
    const value = measurement[key];
    if (!(Number.isInteger(value) && value >= low && value <= high)) {
      throw new RangeError(`Cannot write the ${name} ${value}: expected an integer in ${low}..${high}`);
    }
    const upper = Math.floor(value / TWO_32);
    this.#number.setInt32(0, upper);
    this.#number.setUint32(4, value - upper * TWO_32);
    this.#writeNumber(numBytes);
  }

  #writeAddress(bytes: Uint8Array): void {
    if (bytes.length !== 4 && bytes.length !== 16) {
      throw new RangeError(`Cannot write an address: found ${bytes.length} bytes, expected 4 or 16`);
    }
    this.out[this.at++] = bytes.length === 4 ? IPV4_START : IPV6_START;
    for (let i = 0; i < bytes.length; i++) this.out[this.at++] = BYTE_BASE + bytes[i];
  }

  /** Writes the last bytes of the number. */
  #writeNumber(numBytes: number): void {
    for (let i = 8 - numBytes; i < 8; i++) this.out[this.at++] = BYTE_BASE + this.#number.getUint8(i);
  }
}

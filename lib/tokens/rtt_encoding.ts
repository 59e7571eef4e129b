/**
 * The four encodings of an RTT in vocabulary v1, 8 bytes, big-endian.
 *
 * | name      | the 8 bytes                                                | no reply    | error                 |
 * | --------- | ---------------------------------------------------------- | ----------- | --------------------- |
 * | `float64` | IEEE 754 bits of the milliseconds                          | -1.0        | none                  |
 * | `fixed`   | whole microseconds, rounded, u64                           | all bits 1  | 0.5 µs                |
 * | `log`     | u16: one of 65,535 buckets, log-spaced from 1 µs to 1000 s | code 65,535 | 0.016 % within these  |
 * | `clipped` | as `fixed`, at most the given clip                         | all bits 1  | 0.5 µs up to the clip |
 *
 * All have the same width, so a measurement's length does not depend on the encoding. An encoder writes one form of
 * each value, and a decoder accepts no other.
 *
 * @module
 */

/** Names of the encodings. */
export const RTT_ENCODING_NAMES: readonly RttEncodingName[] = ["float64", "fixed", "log", "clipped"];
/** One of the encodings. */
export type RttEncodingName = "float64" | "fixed" | "log" | "clipped";

/** Bytes of an RTT. */
export const RTT_BYTES = 8;

/** Encodes RTTs as 8 bytes and decodes them. */
export interface RttEncoding {
  /** Its name. */
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
  /** The name of the encoding. */
  name: RttEncodingName;
  /** The clip of `clipped`, milliseconds; values below 1 µs count as 1 µs. */
  clipMs: number;
}

/** The encoding of a choice. */
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

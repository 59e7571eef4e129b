/**
 * The encodings of an RTT as ways to write the block `RttStart bytes` of a measurement, and one scale for all.
 *
 * A model of one encoding gives probabilities to milliseconds as doubles, a model of another to buckets of 0.03 %:
 * their losses cannot be compared. The common scale is that of the RTT codes of vocabulary v2, 0.05 to 0.1 % wide: for
 * each of them, what codes of an encoding it is made of. A code that stands for RTTs of several buckets is shared among
 * them as if its mass were spread evenly over those RTTs: evenly in RTT for `fixed` and `clipped`, where a code stands
 * for the microsecond around it; evenly in log RTT for `log`, and for the clip of `clipped`, which stands for
 * everything from there to 1000 s. `float64` needs no sharing: an RTT code holds whole doubles.
 *
 * @module
 */
import { ensure } from "../../errors.ts";
import {
  CANONICAL_RTT_CODES,
  decodeRttCode,
  encodeRttCode,
  isCanonicalRttCode,
  rttCodeBounds,
} from "../../tokens/rtt_code.ts";
import {
  clippedRtt,
  FIXED_RTT,
  FLOAT64_RTT,
  LOG_FAILED,
  LOG_HIGH_MS,
  LOG_LOW_MS,
  LOG_NUM_BUCKETS,
  LOG_RTT,
  RTT_BYTES,
  type RttEncoding,
  type RttEncodingName,
} from "../../tokens/rtt_encoding.ts";

/** The encodings that are compared: those of vocabulary v1, and v2's RTT code. */
export type RttSchemeName = RttEncodingName | "v2";

/** The last RTT code of the common scale; it holds 1000 s, and longer RTTs count as 1000 s. */
const LAST_CODE = encodeRttCode(LOG_HIGH_MS);
/** The RTT codes of the common scale, ascending. */
export const COMMON_CODES: Uint16Array = CANONICAL_RTT_CODES.filter((code) => code <= LAST_CODE);

const US_PER_MS = 1000;
const LOG_STEP = Math.log(LOG_HIGH_MS / LOG_LOW_MS) / LOG_NUM_BUCKETS;
const TOP_US = rttCodeBounds(LAST_CODE).highMs * US_PER_MS;

/** Codes of an encoding one after another, the outer ones perhaps by a share only. */
export interface CodeRange {
  /** The least and the greatest code, big-endian numbers of the encoding's bytes. */
  readonly first: bigint;
  readonly last: bigint;
  /** Which share of the first code's mass belongs to the range, and of the last; the same if they are one code. */
  readonly firstShare: number;
  readonly lastShare: number;
}

/** A way to write RTTs as bytes. */
export interface RttScheme {
  readonly name: RttSchemeName;
  /** Bytes after `RttStart`. */
  readonly numBytes: number;
  /** What stands for no reply; null where that is the token `Failed` in place of the block. */
  readonly failedCode: bigint | null;
  /** The code of an RTT in milliseconds, 0 or more; above 1000 s that of 1000 s. */
  encode(rttMs: number): bigint;
  /** The RTT that a code stands for, milliseconds. */
  decodeMs(code: bigint): number;
  /** Whether a code from `first` to `last`, which differ in their last bytes only, stands for an RTT. */
  hasRtt(first: bigint, last: bigint): boolean;
  /** The codes that an RTT code, one of {@link COMMON_CODES}, is made of. */
  rangeOf(rttCode: number): CodeRange;
}

/** The RTT code of the common scale that holds an RTT in milliseconds. */
export function commonCode(rttMs: number): number {
  return Math.min(encodeRttCode(rttMs), LAST_CODE);
}

/**
 * All encodings that are compared, those of v1 first.
 *
 * @param clipUs Where `clipped` clips, whole microseconds below 1000 s.
 */
export function rttSchemes(clipUs: number): RttScheme[] {
  const scheme = (encoding: RttEncoding, maxCode: bigint, rangeOf: RttScheme["rangeOf"]) =>
    schemeOf(encoding, { maxCode, rangeOf });
  return [
    scheme(FLOAT64_RTT, bitsOf(FLOAT64_RTT, Number.MAX_VALUE), doublesOf),
    scheme(FIXED_RTT, BigInt(Number.MAX_SAFE_INTEGER), (code) => microsecondsOf(code, Infinity)),
    scheme(LOG_RTT, BigInt(LOG_FAILED - 1), logBucketsOf),
    scheme(clippedRtt(clipUs), BigInt(clipUs), (code) => microsecondsOf(code, clipUs)),
    V2_SCHEME,
  ];
}

const V2_SCHEME: RttScheme = {
  name: "v2",
  numBytes: 2,
  failedCode: null,
  encode: (rttMs) => BigInt(commonCode(rttMs)),
  decodeMs: (code) => decodeRttCode(Number(code)),
  hasRtt(first, last) {
    for (let code = Number(first); code <= last; code++) {
      if (isCanonicalRttCode(code)) return true;
    }
    return false;
  },
  rangeOf: (rttCode) => ({ first: BigInt(rttCode), last: BigInt(rttCode), firstShare: 1, lastShare: 1 }),
};

function schemeOf(
  encoding: RttEncoding,
  { maxCode, rangeOf }: { maxCode: bigint; rangeOf: RttScheme["rangeOf"] },
): RttScheme {
  return {
    name: encoding.name,
    numBytes: RTT_BYTES,
    failedCode: bitsOf(encoding, null),
    encode: (rttMs) => bitsOf(encoding, Math.min(rttMs, LOG_HIGH_MS)),
    decodeMs(code) {
      const bytes = new DataView(new ArrayBuffer(RTT_BYTES));
      bytes.setBigUint64(0, code);
      const rttMs = encoding.decode(bytes);
      ensure(typeof rttMs === "number", `code ${code} of ${encoding.name} is no RTT`);
      return rttMs;
    },
    hasRtt: (first) => first <= maxCode,
    rangeOf,
  };
}

function bitsOf(encoding: RttEncoding, rttMs: number | null): bigint {
  const bytes = new DataView(new ArrayBuffer(RTT_BYTES));
  encoding.encode(rttMs, bytes);
  return bytes.getBigUint64(0);
}

/** The doubles from the least that has the RTT code to the one before the next code's: ascending, as their bits are. */
function doublesOf(rttCode: number): CodeRange {
  const { lowMs, highMs } = rttCodeBounds(rttCode);
  const [first, next] = [bitsOf(FLOAT64_RTT, lowMs), bitsOf(FLOAT64_RTT, highMs)];
  return { first, last: next - 1n, firstShare: 1, lastShare: 1 };
}

/** Code k stands for k - 0.5 µs to k + 0.5 µs, 0 for up to 0.5 µs, and the clip for all from 0.5 µs below it on. */
function microsecondsOf(rttCode: number, clipUs: number): CodeRange {
  const { lowMs, highMs } = rttCodeBounds(rttCode);
  // Bounds of RTT codes are whole microseconds.
  const [lowUs, highUs] = [Math.round(lowMs * US_PER_MS), Math.round(highMs * US_PER_MS)];
  const shareOf = (us: number) => {
    const startUs = Math.max(0, us - 0.5);
    if (us < clipUs) return overlap([lowUs, highUs], [startUs, us + 0.5]);
    const logs = [lowUs, highUs, startUs, TOP_US].map((edgeUs) => Math.log(Math.max(edgeUs, 0.5)));
    return overlap([logs[0], logs[1]], [logs[2], logs[3]]);
  };
  const [first, last] = [Math.min(lowUs, clipUs), Math.min(highUs, clipUs)];
  return { first: BigInt(first), last: BigInt(last), firstShare: shareOf(first), lastShare: shareOf(last) };
}

/** Bucket k stands for k to k + 1 steps of log RTT, the first also for less and the last also for more. */
function logBucketsOf(rttCode: number): CodeRange {
  const { lowMs, highMs } = rttCodeBounds(rttCode);
  const stepsOf = (rttMs: number) => {
    const steps = Math.log(Math.max(rttMs, LOG_LOW_MS) / LOG_LOW_MS) / LOG_STEP;
    return Math.min(steps, LOG_NUM_BUCKETS);
  };
  const [low, high] = [stepsOf(lowMs), stepsOf(highMs)];
  const [first, last] = [Math.floor(low), Math.ceil(high) - 1];
  const shareOf = (bucket: number) => overlap([low, high], [bucket, bucket + 1]);
  return { first: BigInt(first), last: BigInt(last), firstShare: shareOf(first), lastShare: shareOf(last) };
}

/** Which share of an interval lies in another. */
function overlap([low, high]: [number, number], [start, end]: [number, number]): number {
  return Math.max(0, Math.min(high, end) - Math.max(low, start)) / (end - start);
}

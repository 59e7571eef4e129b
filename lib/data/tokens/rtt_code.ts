/**
 * RTTs as two bytes: a small floating-point number of microseconds with 5 bits of exponent e and 11 bits of
 * mantissa m.
 *
 * A Transformer predicts one of 256 bytes twice, so an RTT must fit in two bytes. A logarithmic grid bounds
 * the relative error by 0.049 % from 2.048 ms on. Below that (e = 0) buckets are 1 µs wide.
 *
 * code = e << 11 | m, which is byte1 << 8 | byte2 in the vocabulary and increases with the RTT. Canonical
 * codes are e = 0 with m in 1..2047 and e > 0 with m in 1024..2047; the encoder writes no others.
 *
 * @module
 */

const MANTISSA_BITS = 11;
const MAX_MANTISSA = 2047;
const MIN_NORMAL_MANTISSA = 1024;
const MAX_EXPONENT = 31;
const US_PER_MS = 1000;

/** The end of the range of codes in milliseconds, 2^42 µs (51 days). Longer RTTs have the last code. */
export const END_RTT_MS: number = (MAX_MANTISSA + 1) * 2 ** MAX_EXPONENT / US_PER_MS;

/**
 * Encodes an RTT.
 *
 * @param rttMs Milliseconds, 0 or more. RTTs below 1 µs have the code of 1 µs, RTTs from 2^42 µs (51 days)
 *   the last code.
 * @returns A canonical code, 1..65535.
 * @throws {RangeError} If the RTT is negative or not finite.
 */
export function encodeRttCode(rttMs: number): number {
  if (!(rttMs >= 0 && rttMs < Infinity)) {
    throw new RangeError(`Cannot encode an RTT of ${rttMs} ms: expected a finite number of 0 or more`);
  }
  let us = Math.max(1, rttMs * US_PER_MS);
  let exponent = 0;
  while (us >= MAX_MANTISSA + 1 && exponent < MAX_EXPONENT) {
    us /= 2;
    exponent++;
  }
  return exponent << MANTISSA_BITS | Math.min(Math.floor(us), MAX_MANTISSA);
}

/**
 * Decodes an RTT code to the middle of its bucket, or for e = 0 to its lower end, m µs.
 *
 * @param code A canonical code.
 * @returns Milliseconds, which have the same code.
 * @throws {RangeError} If the code is not canonical.
 */
export function decodeRttCode(code: number): number {
  const { exponent, mantissa } = splitCode(code);
  if (exponent > 0) return (mantissa + 0.5) * 2 ** exponent / US_PER_MS;
  return lowestMs(mantissa);
}

/**
 * The range of RTTs that have a code.
 *
 * @param code A canonical code.
 * @returns Milliseconds; `lowMs` is inclusive, `highMs` exclusive. Code 1 starts at 0, the last code ends at
 *   infinity.
 * @throws {RangeError} If the code is not canonical.
 */
export function rttCodeBounds(code: number): { lowMs: number; highMs: number } {
  const { exponent, mantissa } = splitCode(code);
  const isLast = exponent === MAX_EXPONENT && mantissa === MAX_MANTISSA;
  return {
    lowMs: code === 1 ? 0 : lowestMs(mantissa * 2 ** exponent),
    highMs: isLast ? Infinity : lowestMs((mantissa + 1) * 2 ** exponent),
  };
}

/** Whether the encoder writes this code. */
export function isCanonicalRttCode(code: number): boolean {
  if (code >>> 0 !== code || code > 0xffff) return false;
  const mantissa = code & MAX_MANTISSA;
  return mantissa >= (code >> MANTISSA_BITS > 0 ? MIN_NORMAL_MANTISSA : 1);
}

/** All 33,791 canonical codes, ascending in code and in RTT. */
export const CANONICAL_RTT_CODES: Uint16Array = Uint16Array.from(
  Array.from({ length: 0x10000 }, (_, code) => code).filter(isCanonicalRttCode),
);

/**
 * The smallest RTT in milliseconds that the encoder converts to at least `us` microseconds. 1.001 * 1000 is
 * below 1001 in floating point; adding one unit in the last place corrects this.
 */
function lowestMs(us: number): number {
  const rttMs = us / US_PER_MS;
  return rttMs * US_PER_MS < us ? rttMs * (1 + Number.EPSILON) : rttMs;
}

function splitCode(code: number): { exponent: number; mantissa: number } {
  if (!isCanonicalRttCode(code)) {
    throw new RangeError(`Cannot decode RTT code ${code}: expected a canonical code`);
  }
  return { exponent: code >> MANTISSA_BITS, mantissa: code & MAX_MANTISSA };
}

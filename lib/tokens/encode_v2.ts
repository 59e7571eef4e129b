/**
 * Writes measurements in vocabulary v2. Roles, fields and lengths: grammar_v2.ts.
 *
 * @module
 */
import { ensure } from "../errors.ts";
import * as v2 from "./grammar_v2.ts";
import { isCanonicalRttCode } from "./rtt_code.ts";

/** Writes the measurements of one context into an array. */
export class TokenWriter {
  /** Index of the next token in the array. */
  at: number;
  /** The last written time, as a reader decodes it, seconds; null at the start of a context. */
  previousTimeS: number | null = null;
  readonly #out: Uint16Array;

  /**
   * Begins a context.
   *
   * @param out Takes the tokens; nothing is written beyond its end.
   * @param at Index of the first one.
   */
  constructor(out: Uint16Array, at = 0) {
    this.#out = out;
    this.at = at;
  }

  /**
   * Writes a measurement. A time before the last one is written as a gap of 0 s, so it is read as the last one.
   *
   * @param measurement The measurement.
   * @param order Its blocks, each once; `time` is skipped if the measurement has no time.
   * @returns Number of tokens written.
   * @throws {RangeError} If the array is full or a value has no tokens.
   */
  write(measurement: v2.TokenMeasurement, order: readonly v2.Field[]): number {
    const start = this.at;
    const length = v2.measurementLength(measurement, this.previousTimeS);
    if (start + length > this.#out.length) {
      throw new RangeError(
        `Cannot write a measurement of ${length} tokens: found space for ${this.#out.length - start}`,
      );
    }
    this.#out[this.at++] = v2.MEASUREMENT_START;
    for (const field of order) {
      if (field === "source") this.#writeAddress(v2.SRC_IPV4, measurement.source);
      else if (field === "destination") this.#writeAddress(v2.DST_IPV4, measurement.destination);
      else if (field === "result") this.#writeResult(measurement.rttCode);
      else if (measurement.timeS !== null) this.#writeTime(measurement.timeS);
    }
    // The message is built only when needed: building it takes longer than writing a measurement.
    if (this.at - start !== length) {
      ensure(false, `the order ${order} gave ${this.at - start} of ${length} tokens`);
    }
    return length;
  }

  #writeAddress(ipv4Role: number, bytes: Uint8Array): void {
    if (bytes.length !== 4 && bytes.length !== 16) {
      throw new RangeError(`Cannot write an address: found ${bytes.length} bytes, expected 4 or 16`);
    }
    this.#out[this.at++] = bytes.length === 4 ? ipv4Role : ipv4Role + 1;
    for (let i = 0; i < bytes.length; i++) this.#out[this.at++] = v2.BYTE_BASE + bytes[i];
  }

  #writeResult(rttCode: number | null): void {
    if (rttCode === null) {
      this.#out[this.at++] = v2.FAILED;
      return;
    }
    if (!isCanonicalRttCode(rttCode)) {
      throw new RangeError(`Cannot write RTT code ${rttCode}: expected a canonical code`);
    }
    this.#out[this.at++] = v2.RTT_START;
    this.#writeNumber(rttCode, 2);
  }

  #writeTime(timeS: number): void {
    if (!Number.isSafeInteger(timeS) || timeS < 0) {
      throw new RangeError(`Cannot write the time ${timeS}: expected whole seconds in 0..2^53-1`);
    }
    if (this.previousTimeS === null) {
      this.#out[this.at++] = v2.TIMESTAMP_ABS;
      this.#writeNumber(timeS, 8);
      this.previousTimeS = timeS;
      return;
    }
    const gapS = Math.max(0, timeS - this.previousTimeS);
    if (gapS > 0xffffffff) {
      throw new RangeError(`Cannot write a gap of ${gapS} s: expected at most 2^32-1 s`);
    }
    this.#out[this.at++] = gapS <= 255 ? v2.TIMESTAMP_DELTA1 : v2.TIMESTAMP_DELTA4;
    this.#writeNumber(gapS, gapS <= 255 ? 1 : 4);
    this.previousTimeS += gapS;
  }

  /** Writes a number of up to 53 bits as bytes, the most significant first. */
  #writeNumber(value: number, numBytes: number): void {
    let rest = value;
    for (let i = this.at + numBytes - 1; i >= this.at; i--) {
      const quotient = Math.floor(rest / 256);
      this.#out[i] = v2.BYTE_BASE + rest - quotient * 256;
      rest = quotient;
    }
    this.at += numBytes;
  }
}

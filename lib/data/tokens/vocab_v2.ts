/**
 * All of vocabulary v2: grammar, writer and reader. The default vocabulary of every stage.
 *
 * @module
 */
import * as v2 from "./grammar_v2.ts";
import { isCanonicalRttCode } from "./rtt_code.ts";
import { TokenCursor, TokenError } from "./token_cursor.ts";
import { ensure } from "../../base/errors.ts";
export * from "./grammar_v2.ts";
export { TokenError } from "./token_cursor.ts";

// Reads vocabulary v2 back into measurements.
//
// The reader accepts exactly the writer's output: writing the measurements again gives the same tokens. So an RTT code
// that is not canonical, a second absolute time, or a 4-byte gap that fits one byte is an error with its
// position, like any token that the grammar does not allow. Roles and lengths: grammar_v2.ts.

/** A measurement with the order of its blocks and its position in the stream. */
export interface DecodedMeasurement extends v2.TokenMeasurement {
  /** The blocks in their order, `time` only if there was one. */
  order: readonly v2.Field[];
  /** Index of its MeasurementStart. */
  position: number;
}

/**
 * Reads the tokens of one context.
 *
 * @param tokens The whole context, from a MeasurementStart to the end of a measurement; may be empty.
 * @returns Its measurements.
 * @throws {TokenError} If the tokens are not a writer's output, with the position.
 */
export function decodeTokens(tokens: Uint16Array): DecodedMeasurement[] {
  const reader = new TokenReader(tokens);
  const measurements: DecodedMeasurement[] = [];
  while (reader.at < tokens.length) measurements.push(reader.readMeasurement());
  return measurements;
}

class TokenReader extends TokenCursor {
  #previousTimeS: number | null = null;

  constructor(tokens: Uint16Array) {
    super(tokens, v2);
  }

  readMeasurement(): DecodedMeasurement {
    const position = this.at;
    this.readStart();
    const order: v2.Field[] = [];
    let source: Uint8Array | undefined;
    let destination: Uint8Array | undefined;
    let result: { rttCode: number | null } | undefined;
    let timeS: number | null = null;
    while (this.at < this.tokens.length && this.tokens[this.at] !== v2.MEASUREMENT_START) {
      const field = fieldOf(this.tokens[this.at]);
      if (field === undefined) throw this.unexpected("a block");
      if (order.includes(field)) throw this.unexpected(`no second ${field}`);
      order.push(field);
      if (field === "source") source = this.#readAddress();
      else if (field === "destination") destination = this.#readAddress();
      else if (field === "result") result = { rttCode: this.#readResult() };
      else timeS = this.#readTime();
    }
    if (!source) throw this.unexpected("a source");
    if (!destination) throw this.unexpected("a destination");
    if (!result) throw this.unexpected("a result");
    return { source, destination, rttCode: result.rttCode, timeS, order, position };
  }

  #readAddress(): Uint8Array {
    const role = this.tokens[this.at++];
    return this.readBytes(role === v2.SRC_IPV4 || role === v2.DST_IPV4 ? 4 : 16);
  }

  #readResult(): number | null {
    if (this.tokens[this.at++] === v2.FAILED) return null;
    const position = this.at;
    const code = this.#readNumber(2);
    if (!isCanonicalRttCode(code)) {
      throw new TokenError(position, `found RTT code ${code}, expected a canonical code`);
    }
    return code;
  }

  #readTime(): number {
    const position = this.at;
    const role = this.tokens[this.at++];
    if ((role === v2.TIMESTAMP_ABS) !== (this.#previousTimeS === null)) {
      const wanted = role === v2.TIMESTAMP_ABS ? "a gap after the first time" : "an absolute first time";
      throw new TokenError(position, `found ${v2.tokenName(role)}, expected ${wanted}`);
    }
    const numBytes = role === v2.TIMESTAMP_ABS ? 8 : role === v2.TIMESTAMP_DELTA1 ? 1 : 4;
    const value = this.#readNumber(numBytes);
    if (role === v2.TIMESTAMP_DELTA4 && value <= 255) {
      throw new TokenError(position, `found a gap of ${value} s in 4 bytes, expected 1 byte`);
    }
    const timeS = (this.#previousTimeS ?? 0) + value;
    if (!Number.isSafeInteger(timeS)) {
      throw new TokenError(position, `found a time of ${timeS} s, expected at most 2^53-1 s`);
    }
    this.#previousTimeS = timeS;
    return timeS;
  }

  #readNumber(numBytes: number): number {
    let value = 0;
    for (let i = 0; i < numBytes; i++) value = value * 256 + this.readByte();
    return value;
  }
}

function fieldOf(token: number): v2.Field | undefined {
  if (token === v2.SRC_IPV4 || token === v2.SRC_IPV6) return "source";
  if (token === v2.DST_IPV4 || token === v2.DST_IPV6) return "destination";
  if (token === v2.RTT_START || token === v2.FAILED) return "result";
  if (token >= v2.TIMESTAMP_ABS && token <= v2.TIMESTAMP_DELTA4) return "time";
  return undefined;
}

// Writes measurements in vocabulary v2. Roles, fields and lengths: grammar_v2.ts.

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

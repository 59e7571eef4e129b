/**
 * Vocabulary v2, its grammar, writer and reader: measurements as tokens, 11 roles and 256 bytes. It is the
 * default vocabulary of every stage.
 *
 *     measurement := MeasurementStart, then in any order: source, destination, result, and perhaps a time
 *     source      := SrcIpv4 4 bytes | SrcIpv6 16 bytes
 *     destination := DstIpv4 4 bytes | DstIpv6 16 bytes
 *     result      := RttStart 2 bytes (the RTT code) | Failed
 *     time        := TimestampAbs 8 bytes (Unix seconds) for the first time of a context
 *                  | TimestampDelta1 1 byte | TimestampDelta4 4 bytes: seconds since the time before it
 *
 * Numbers are big-endian. Tokens are interpreted per context: the first time is absolute, later ones are gaps
 * from the previous timed measurement.
 *
 * @module
 */
import { ensure } from "../../base/errors.ts";
import { isCanonicalRttCode } from "./rtt_code.ts";
import { nameOfToken, TokenCursor, TokenError } from "./token_cursor.ts";

export { TokenError };

export const MEASUREMENT_START = 0;
/** Begins an IPv4 source, 4 bytes. */
export const SRC_IPV4 = 1;
/** Begins an IPv6 source, 16 bytes. */
export const SRC_IPV6 = 2;
/** Begins an IPv4 destination, 4 bytes. */
export const DST_IPV4 = 3;
/** Begins an IPv6 destination, 16 bytes. */
export const DST_IPV6 = 4;
/** Begins the first time of a context, 8 bytes: Unix seconds, u64. */
export const TIMESTAMP_ABS = 5;
/** Begins a gap of 0..255 s, 1 byte. */
export const TIMESTAMP_DELTA1 = 6;
/** Begins a gap of 256..2^32 - 1 s, 4 bytes. */
export const TIMESTAMP_DELTA4 = 7;
/** Begins an RTT code, 2 bytes. */
export const RTT_START = 8;
/** Reserved; never written. */
export const THROUGHPUT_START = 9;
/** The result of a measurement without a reply. */
export const FAILED = 10;
/** The token of byte b is BYTE_BASE + b. */
export const BYTE_BASE = 11;
export const VOCAB_SIZE = 267;

/** Names of the role tokens 0..10. */
export const ROLE_NAMES: readonly string[] = [
  "MeasurementStart",
  "SrcIpv4",
  "SrcIpv6",
  "DstIpv4",
  "DstIpv6",
  "TimestampAbs",
  "TimestampDelta1",
  "TimestampDelta4",
  "RttStart",
  "ThroughputStart",
  "Failed",
];

export type Field = "source" | "destination" | "result" | "time";

/** The 24 orders of a measurement's blocks. Without a time, the other blocks keep their order. */
export const FIELD_ORDERS: readonly (readonly Field[])[] = permutations([
  "source",
  "destination",
  "result",
  "time",
]);

/** The order in which queries and their context are written; one of {@link FIELD_ORDERS}. */
export const QUERY_ORDER: readonly Field[] = ["source", "destination", "time", "result"];

/** A measurement, as far as this vocabulary contains it. */
export interface TokenMeasurement {
  /** 4 or 16 bytes. */
  source: Uint8Array;
  /** 4 or 16 bytes. */
  destination: Uint8Array;
  /** Canonical RTT code; null for no reply. */
  rttCode: number | null;
  /** Whole seconds since 1970, 0..2^53 - 1; null for a measurement without a time. */
  timeS: number | null;
}

/** Names a token by its role or, for example, as `byte 17`. */
export function tokenName(token: number): string {
  return nameOfToken(ROLE_NAMES, token);
}

/**
 * Number of tokens of a measurement.
 *
 * @param previousTimeS The last time before it in its context; null if there is none.
 */
export function measurementLength(measurement: TokenMeasurement, previousTimeS: number | null): number {
  const { source, destination, rttCode, timeS } = measurement;
  return untimedLength(source.length, destination.length, rttCode === null) +
    timeLength(timeS, previousTimeS);
}

/**
 * The lengths of a context's prefixes, in tokens.
 *
 * @returns `lengths[k]` is the length of the first k measurements, for k from 0 to their number.
 */
export function prefixLengths(measurements: readonly TokenMeasurement[]): Uint32Array {
  const lengths = new Uint32Array(measurements.length + 1);
  let previousTimeS: number | null = null;
  for (let i = 0; i < measurements.length; i++) {
    lengths[i + 1] = lengths[i] + measurementLength(measurements[i], previousTimeS);
    previousTimeS = measurements[i].timeS ?? previousTimeS;
  }
  return lengths;
}

export function untimedLength(
  numSourceBytes: number,
  numDestinationBytes: number,
  isFailed: boolean,
): number {
  return 3 + numSourceBytes + numDestinationBytes + (isFailed ? 1 : 3);
}

/**
 * Number of tokens of a time block: 0, 2, 5 or 9.
 *
 * @param timeS Null for no block.
 * @param previousTimeS The last time before it in its context; null if there is none.
 */
export function timeLength(timeS: number | null, previousTimeS: number | null): number {
  if (timeS === null) return 0;
  if (previousTimeS === null) return 9;
  return timeS - previousTimeS <= 255 ? 2 : 5;
}

function permutations(fields: readonly Field[]): Field[][] {
  if (fields.length <= 1) return [[...fields]];
  return fields.flatMap((first) =>
    permutations(fields.filter((field) => field !== first)).map((rest) => [first, ...rest])
  );
}

/** A measurement with the order of its blocks and its position in the stream. */
export interface DecodedMeasurement extends TokenMeasurement {
  /** The blocks in order, with `time` only if there is one. */
  order: readonly Field[];
  /** Index of its MeasurementStart in the stream. */
  position: number;
}

/**
 * Reads the tokens of one context: exactly the writer's output, so that writing the measurements again yields
 * the same tokens. An RTT code that is not canonical, a second absolute time, or a 4-byte gap that fits in
 * one byte is an error.
 *
 * @param tokens The whole context, from a MeasurementStart to the end of a measurement; may be empty.
 * @throws {TokenError} If the tokens are anything else, with the position.
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
    super(tokens, ROLE_NAMES);
  }

  readMeasurement(): DecodedMeasurement {
    const position = this.at;
    this.readStart();
    const order: Field[] = [];
    let source: Uint8Array | undefined;
    let destination: Uint8Array | undefined;
    let result: { rttCode: number | null } | undefined;
    let timeS: number | null = null;
    while (this.at < this.tokens.length && this.tokens[this.at] !== MEASUREMENT_START) {
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
    return this.readBytes(role === SRC_IPV4 || role === DST_IPV4 ? 4 : 16);
  }

  #readResult(): number | null {
    if (this.tokens[this.at++] === FAILED) return null;
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
    if ((role === TIMESTAMP_ABS) !== (this.#previousTimeS === null)) {
      const wanted = role === TIMESTAMP_ABS ? "a gap after the first time" : "an absolute first time";
      throw new TokenError(position, `found ${tokenName(role)}, expected ${wanted}`);
    }
    const numBytes = role === TIMESTAMP_ABS ? 8 : role === TIMESTAMP_DELTA1 ? 1 : 4;
    const value = this.#readNumber(numBytes);
    if (role === TIMESTAMP_DELTA4 && value <= 255) {
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

function fieldOf(token: number): Field | undefined {
  if (token === SRC_IPV4 || token === SRC_IPV6) return "source";
  if (token === DST_IPV4 || token === DST_IPV6) return "destination";
  if (token === RTT_START || token === FAILED) return "result";
  if (token >= TIMESTAMP_ABS && token <= TIMESTAMP_DELTA4) return "time";
  return undefined;
}

/** Writes the measurements of one context to an array. */
export class TokenWriter {
  at: number;
  /** The last written time as a reader decodes it; null at the start of a context. */
  previousTimeS: number | null = null;
  readonly #out: Uint16Array;

  /** Begins a context. @param out Receives the tokens; nothing is written beyond its end. */
  constructor(out: Uint16Array, at = 0) {
    this.#out = out;
    this.at = at;
  }

  /**
   * Writes a measurement. A time before the previous one is written as a gap of 0 s, and thus read as the
   * previous time.
   *
   * @param order Each block once; `time` is skipped if the measurement has no time.
   * @throws {RangeError} If the array is full or a value cannot be encoded.
   */
  write(measurement: TokenMeasurement, order: readonly Field[]): number {
    const start = this.at;
    const length = measurementLength(measurement, this.previousTimeS);
    if (start + length > this.#out.length) {
      throw new RangeError(
        `Cannot write a measurement of ${length} tokens: found space for ${this.#out.length - start}`,
      );
    }
    this.#out[this.at++] = MEASUREMENT_START;
    for (const field of order) {
      if (field === "source") this.#writeAddress(SRC_IPV4, measurement.source);
      else if (field === "destination") this.#writeAddress(DST_IPV4, measurement.destination);
      else if (field === "result") this.#writeResult(measurement.rttCode);
      else if (measurement.timeS !== null) this.#writeTime(measurement.timeS);
    }
    // The message is only built when needed, because that takes longer than writing a measurement.
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
    for (let i = 0; i < bytes.length; i++) this.#out[this.at++] = BYTE_BASE + bytes[i];
  }

  #writeResult(rttCode: number | null): void {
    if (rttCode === null) {
      this.#out[this.at++] = FAILED;
      return;
    }
    if (!isCanonicalRttCode(rttCode)) {
      throw new RangeError(`Cannot write RTT code ${rttCode}: expected a canonical code`);
    }
    this.#out[this.at++] = RTT_START;
    this.#writeNumber(rttCode, 2);
  }

  #writeTime(timeS: number): void {
    if (!Number.isSafeInteger(timeS) || timeS < 0) {
      throw new RangeError(`Cannot write the time ${timeS}: expected whole seconds in 0..2^53-1`);
    }
    if (this.previousTimeS === null) {
      this.#out[this.at++] = TIMESTAMP_ABS;
      this.#writeNumber(timeS, 8);
      this.previousTimeS = timeS;
      return;
    }
    const gapS = Math.max(0, timeS - this.previousTimeS);
    if (gapS > 0xffffffff) {
      throw new RangeError(`Cannot write a gap of ${gapS} s: expected at most 2^32-1 s`);
    }
    this.#out[this.at++] = gapS <= 255 ? TIMESTAMP_DELTA1 : TIMESTAMP_DELTA4;
    this.#writeNumber(gapS, gapS <= 255 ? 1 : 4);
    this.previousTimeS += gapS;
  }

  /** Writes a number of up to 53 bits as bytes, most significant first. */
  #writeNumber(value: number, numBytes: number): void {
    let rest = value;
    for (let i = this.at + numBytes - 1; i >= this.at; i--) {
      const quotient = Math.floor(rest / 256);
      this.#out[i] = BYTE_BASE + rest - quotient * 256;
      rest = quotient;
    }
    this.at += numBytes;
  }
}

/**
 * Reads vocabulary v2 back into measurements.
 *
 * The reader accepts exactly the writer's output: writing the measurements again gives the same tokens. So an RTT code
 * that is not canonical, a second absolute time, or a 4-byte gap that fits one byte is an error with its
 * position, like any token that the grammar does not allow. Roles and lengths: grammar_v2.ts.
 *
 * @module
 */
import * as v2 from "./grammar_v2.ts";
import { isCanonicalRttCode } from "./rtt_code.ts";
import { TokenCursor, TokenError } from "./token_cursor.ts";

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

/**
 * Reads vocabulary v2 back into measurements.
 *
 * The reader takes exactly what the writer makes: writing what was read gives the same tokens. So an RTT code
 * that is not canonical, a second absolute time, or a 4-byte gap that fits one byte is an error with its
 * position, as is any token that the grammar does not allow. Roles and lengths: grammar_v2.ts.
 *
 * @module
 */
import { isCanonicalRttCode } from "./rtt_code.ts";
import { TokenCursor } from "./token_cursor.ts";
import { TokenError } from "./token_error.ts";
import {
  BYTE_BASE,
  DST_IPV4,
  DST_IPV6,
  FAILED,
  type Field,
  MEASUREMENT_START,
  RTT_START,
  SRC_IPV4,
  SRC_IPV6,
  TIMESTAMP_ABS,
  TIMESTAMP_DELTA1,
  TIMESTAMP_DELTA4,
  type TokenMeasurement,
  tokenName,
  VOCAB_SIZE,
} from "./grammar_v2.ts";

/** A measurement with the order of its blocks and its place in the stream. */
export interface DecodedMeasurement extends TokenMeasurement {
  /** The blocks as they stood, `time` only if there was one. */
  order: readonly Field[];
  /** Index of its MeasurementStart. */
  position: number;
}

/**
 * Reads the tokens of one context.
 *
 * @param tokens The whole context, from a MeasurementStart to the end of a measurement; may be empty.
 * @returns Its measurements.
 * @throws {TokenError} If the tokens are not what a writer makes, with the position.
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
    super(tokens, { byteBase: BYTE_BASE, vocabSize: VOCAB_SIZE, tokenName });
  }

  readMeasurement(): DecodedMeasurement {
    const position = this.at;
    this.#expectStart();
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

  #expectStart(): void {
    if (this.tokens[this.at] !== MEASUREMENT_START) throw this.unexpected(tokenName(MEASUREMENT_START));
    this.at++;
  }

  #readAddress(): Uint8Array {
    const role = this.tokens[this.at++];
    const bytes = new Uint8Array(role === SRC_IPV4 || role === DST_IPV4 ? 4 : 16);
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.readByte();
    return bytes;
  }

  #readResult(): number | null {
    if (this.tokens[this.at++] === FAILED) return null;
    const position = this.at;
    const code = this.#readNumber(2);
    if (!isCanonicalRttCode(code)) {
      throw new TokenError(position, `found RTT code ${code}, a canonical code was wanted`);
    }
    return code;
  }

  #readTime(): number {
    const position = this.at;
    const role = this.tokens[this.at++];
    if ((role === TIMESTAMP_ABS) !== (this.#previousTimeS === null)) {
      const wanted = role === TIMESTAMP_ABS ? "a gap after the first time" : "an absolute first time";
      throw new TokenError(position, `found ${tokenName(role)}, ${wanted} was wanted`);
    }
    const numBytes = role === TIMESTAMP_ABS ? 8 : role === TIMESTAMP_DELTA1 ? 1 : 4;
    const value = this.#readNumber(numBytes);
    if (role === TIMESTAMP_DELTA4 && value <= 255) {
      throw new TokenError(position, `found a gap of ${value} s in 4 bytes, 1 byte was wanted`);
    }
    const timeS = (this.#previousTimeS ?? 0) + value;
    if (!Number.isSafeInteger(timeS)) {
      throw new TokenError(position, `found a time of ${timeS} s, at most 2^53-1 s were wanted`);
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

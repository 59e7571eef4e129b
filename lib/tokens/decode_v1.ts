/**
 * Reads vocabulary v1 back into measurements.
 *
 * The reader takes exactly what the writer makes with the same RTT encoding; anything else is an error with its
 * position. Roles and lengths: grammar_v1.ts.
 *
 * @module
 */
import { TokenCursor } from "./token_cursor.ts";
import { TokenError } from "./token_error.ts";
import {
  type Block,
  BLOCKS,
  BYTE_BASE,
  DEST_IP_START,
  ERROR_COUNT_START,
  IPV4_START,
  IPV6_START,
  MEASUREMENT_START,
  MSM_ID_START,
  RTT_START,
  SIZE_START,
  SRC_IP_START,
  TIMESTAMP_START,
  tokenName,
  VOCAB_SIZE,
  type WholeMeasurement,
} from "./grammar_v1.ts";
import { RTT_BYTES, type RttEncoding } from "./rtt_encoding.ts";

const TWO_32 = 2 ** 32;
const BLOCK_OF_ROLE: Readonly<Record<number, Block>> = {
  [SRC_IP_START]: "source",
  [DEST_IP_START]: "destination",
  [RTT_START]: "rtt",
  [SIZE_START]: "size",
  [ERROR_COUNT_START]: "errorCount",
  [TIMESTAMP_START]: "time",
  [MSM_ID_START]: "msmId",
};

/** A measurement with the order of its blocks and its place in the stream. */
export interface DecodedWholeMeasurement extends WholeMeasurement {
  /** The blocks as they stood. */
  order: readonly Block[];
  /** Index of its MeasurementStart. */
  position: number;
}

/**
 * Reads measurements that stand one after another.
 *
 * @param tokens From a MeasurementStart to the end of a measurement; may be empty.
 * @param rttEncoding How RTTs were written.
 * @returns The measurements; an RTT is off by no more than its encoding says.
 * @throws {TokenError} If the tokens are not what a writer makes, with the position.
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
    super(tokens, { byteBase: BYTE_BASE, vocabSize: VOCAB_SIZE, tokenName });
  }

  readMeasurement(): DecodedWholeMeasurement {
    const position = this.at;
    if (this.tokens[this.at] !== MEASUREMENT_START) throw this.unexpected(tokenName(MEASUREMENT_START));
    this.at++;
    const order: Block[] = [];
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
    while (order.length < BLOCKS.length) {
      const block = BLOCK_OF_ROLE[this.tokens[this.at]];
      if (block === undefined) throw this.unexpected(`a block (${missing(order)})`);
      if (order.includes(block)) throw this.unexpected(`no second ${block}`);
      order.push(block);
      this.at++;
      this.#readBlock(block, measurement);
    }
    return { ...measurement, order, position };
  }

  #readBlock(block: Block, measurement: WholeMeasurement): void {
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
    if (version !== IPV4_START && version !== IPV6_START) {
      throw this.unexpected(`${tokenName(IPV4_START)} or ${tokenName(IPV6_START)}`);
    }
    this.at++;
    const bytes = new Uint8Array(version === IPV4_START ? 4 : 16);
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.readByte();
    return bytes;
  }

  #readRtt(): number | null {
    const position = this.at;
    const rttMs = this.rttEncoding.decode(this.#readNumber(RTT_BYTES));
    if (rttMs !== undefined) return rttMs;
    const bytes = Array.from(this.tokens.subarray(position, this.at), (token) => token - BYTE_BASE);
    throw new TokenError(
      position,
      `found the bytes ${bytes.join(" ")}, an RTT of the encoding ${this.rttEncoding.name} was wanted`,
    );
  }

  #readInt64(name: string): number {
    const position = this.at;
    const number = this.#readNumber(8);
    const value = number.getInt32(0) * TWO_32 + number.getUint32(4);
    if (Number.isSafeInteger(value)) return value;
    throw new TokenError(position, `found a ${name} of ${value}, one of at most 53 bits was wanted`);
  }

  /** The next bytes, at the start of a view that the next call overwrites. */
  #readNumber(numBytes: number): DataView {
    for (let i = 0; i < numBytes; i++) this.#number.setUint8(i, this.readByte());
    return this.#number;
  }
}

function missing(order: readonly Block[]): string {
  return BLOCKS.filter((block) => !order.includes(block)).join(", ");
}

/**
 * Reads vocabulary v1 back into measurements.
 *
 * The reader accepts exactly the writer's output with the same RTT encoding; anything else is an error with its
 * position. Roles and lengths: grammar_v1.ts.
 *
 * @module
 */
import * as v1 from "./grammar_v1.ts";
import { RTT_BYTES, type RttEncoding } from "./rtt_encoding.ts";
import { TokenCursor, TokenError } from "./token_cursor.ts";

const TWO_32 = 2 ** 32;
const BLOCK_OF_ROLE: Readonly<Record<number, v1.Block>> = {
  [v1.SRC_IP_START]: "source",
  [v1.DEST_IP_START]: "destination",
  [v1.RTT_START]: "rtt",
  [v1.SIZE_START]: "size",
  [v1.ERROR_COUNT_START]: "errorCount",
  [v1.TIMESTAMP_START]: "time",
  [v1.MSM_ID_START]: "msmId",
};

/** A measurement with the order of its blocks and its position in the stream. */
export interface DecodedWholeMeasurement extends v1.WholeMeasurement {
  /** The blocks in their order. */
  order: readonly v1.Block[];
  /** Index of its MeasurementStart. */
  position: number;
}

/**
 * Reads consecutive measurements.
 *
 * @param tokens From a MeasurementStart to the end of a measurement; may be empty.
 * @param rttEncoding The encoding of the RTTs.
 * @returns The measurements; the error of an RTT is at most that of its encoding.
 * @throws {TokenError} If the tokens are not a writer's output, with the position.
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
    super(tokens, v1);
  }

  readMeasurement(): DecodedWholeMeasurement {
    const position = this.at;
    this.readStart();
    const order: v1.Block[] = [];
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
    while (order.length < v1.BLOCKS.length) {
      const block = BLOCK_OF_ROLE[this.tokens[this.at]];
      if (block === undefined) throw this.unexpected(`a block (${missing(order)})`);
      if (order.includes(block)) throw this.unexpected(`no second ${block}`);
      order.push(block);
      this.at++;
      this.#readBlock(block, measurement);
    }
    return { ...measurement, order, position };
  }

  #readBlock(block: v1.Block, measurement: v1.WholeMeasurement): void {
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
    if (version !== v1.IPV4_START && version !== v1.IPV6_START) {
      throw this.unexpected(`${v1.tokenName(v1.IPV4_START)} or ${v1.tokenName(v1.IPV6_START)}`);
    }
    this.at++;
    return this.readBytes(version === v1.IPV4_START ? 4 : 16);
  }

  #readRtt(): number | null {
    const position = this.at;
    const rttMs = this.rttEncoding.decode(this.#readNumber(RTT_BYTES));
    if (rttMs !== undefined) return rttMs;
    const bytes = Array.from(this.tokens.subarray(position, this.at), (token) => token - v1.BYTE_BASE);
    throw new TokenError(
      position,
      `found the bytes ${bytes.join(" ")}, expected an RTT of the encoding ${this.rttEncoding.name}`,
    );
  }

  #readInt64(name: string): number {
    const position = this.at;
    const number = this.#readNumber(8);
    const value = number.getInt32(0) * TWO_32 + number.getUint32(4);
    if (Number.isSafeInteger(value)) return value;
    throw new TokenError(position, `found a ${name} of ${value}, expected one of at most 53 bits`);
  }

  /** The next bytes, in a view that the next call overwrites. */
  #readNumber(numBytes: number): DataView {
    for (let i = 0; i < numBytes; i++) this.#number.setUint8(i, this.readByte());
    return this.#number;
  }
}

function missing(order: readonly v1.Block[]): string {
  return v1.BLOCKS.filter((block) => !order.includes(block)).join(", ");
}

/**
 * Writes measurements in vocabulary v1. Roles, blocks and lengths: grammar_v1.ts.
 *
 * @module
 */
import { ensure } from "../errors.ts";
import { RandomStream } from "../random/philox.ts";
import * as v1 from "./grammar_v1.ts";
import type { Field } from "./grammar_v2.ts";
import { RTT_BYTES, type RttEncoding } from "./rtt_encoding.ts";

const TWO_32 = 2 ** 32;

/**
 * The order in which a measurement's blocks are written: a uniformly random one that depends only on the
 * measurement, so any part of the data can be made again separately.
 *
 * @param msmId Measurement id, an integer of at most 53 bits.
 * @param eventTimeUs When, whole microseconds since 1970.
 */
export function blockOrder(msmId: number, eventTimeUs: number): v1.Block[] {
  const timeHigh = Math.floor(eventTimeUs / TWO_32);
  const random = new RandomStream(
    Math.abs(msmId),
    "tokens/v1/order",
    timeHigh >>> 0,
    eventTimeUs - timeHigh * TWO_32,
    msmId < 0 ? 1 : 0,
  );
  const order = [...v1.BLOCKS];
  random.shuffle(order);
  return order;
}

/** Writes measurements one after another into an array. */
export class WholeMeasurementWriter {
  /** Index of the next token in the array. */
  at = 0;
  readonly #number = new DataView(new ArrayBuffer(RTT_BYTES));

  /**
   * Starts at the beginning of the array.
   *
   * @param out Takes the tokens; nothing is written beyond its end.
   * @param rttEncoding The encoding of RTTs.
   */
  constructor(readonly out: Uint16Array, readonly rttEncoding: RttEncoding) {}

  /**
   * Writes a measurement of probe rows, which has no size, error count and id, and perhaps no time. RTTs beyond the
   * encoding's range are written as its largest one.
   *
   * @param measurement The measurement; its RTT is rounded to f32, as in probe rows.
   * @param order Its fields, as in vocabulary v2.
   * @returns Number of tokens written.
   * @throws {RangeError} See {@link write}.
   */
  writeFields(measurement: v1.FieldMeasurement, order: readonly Field[]): number {
    const { source, destination, timeS } = measurement;
    const rttMs = measurement.rttMs === null
      ? null
      : Math.min(Math.fround(measurement.rttMs), this.rttEncoding.maxRttMs);
    const unknown = { sizeBytes: 0, packetErrorCount: 0, msmId: 0 };
    const blocks = order.map((field) => field === "result" ? "rtt" : field);
    return this.write(
      { source, destination, rttMs, timeS: timeS ?? 0, ...unknown },
      timeS === null ? blocks.filter((block) => block !== "time") : blocks,
      v1.fieldsLength(measurement),
    );
  }

  /**
   * Writes a measurement.
   *
   * @param measurement The measurement.
   * @param order Its blocks, each once, such as {@link blockOrder} gives.
   * @param length Number of tokens of these blocks; by default that of all seven.
   * @returns Number of tokens written.
   * @throws {RangeError} If the array is full or a value has no tokens; nothing is written then.
   */
  write(
    measurement: v1.WholeMeasurement,
    order: readonly v1.Block[],
    length: number = v1.measurementLength(measurement),
  ): number {
    const start = this.at;
    if (start + length > this.out.length) {
      throw new RangeError(
        `Cannot write a measurement of ${length} tokens: found space for ${this.out.length - start}`,
      );
    }
    try {
      this.out[this.at++] = v1.MEASUREMENT_START;
      for (const block of order) this.#writeBlock(block, measurement);
    } catch (error) {
      this.at = start;
      throw error;
    }
    // The message is built only when needed: building it takes longer than writing a measurement.
    if (this.at - start !== length) {
      ensure(false, `the order ${order} gave ${this.at - start} of ${length} tokens`);
    }
    return length;
  }

  #writeBlock(block: v1.Block, measurement: v1.WholeMeasurement): void {
    switch (block) {
      case "source":
        return this.#writeAddress(v1.SRC_IP_START, measurement.source);
      case "destination":
        return this.#writeAddress(v1.DEST_IP_START, measurement.destination);
      case "rtt":
        this.rttEncoding.encode(measurement.rttMs, this.#number);
        return this.#writeNumber(v1.RTT_START, RTT_BYTES);
      case "size":
        requireInteger("packet size", measurement.sizeBytes, 0, v1.MAX_SIZE_BYTES);
        this.#number.setUint16(0, measurement.sizeBytes);
        return this.#writeNumber(v1.SIZE_START, 2);
      case "errorCount":
        requireInteger("error count", measurement.packetErrorCount, 0, v1.MAX_ERROR_COUNT);
        this.#number.setUint8(0, measurement.packetErrorCount);
        return this.#writeNumber(v1.ERROR_COUNT_START, 1);
      case "time":
        return this.#writeInt64(v1.TIMESTAMP_START, "time", measurement.timeS);
      case "msmId":
        return this.#writeInt64(v1.MSM_ID_START, "measurement id", measurement.msmId);
    }
  }

  #writeAddress(role: number, bytes: Uint8Array): void {
    if (bytes.length !== 4 && bytes.length !== 16) {
      throw new RangeError(`Cannot write an address: found ${bytes.length} bytes, expected 4 or 16`);
    }
    this.out[this.at++] = role;
    this.out[this.at++] = bytes.length === 4 ? v1.IPV4_START : v1.IPV6_START;
    for (let i = 0; i < bytes.length; i++) this.out[this.at++] = v1.BYTE_BASE + bytes[i];
  }

  #writeInt64(role: number, name: string, value: number): void {
    requireInteger(name, value, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    const high = Math.floor(value / TWO_32);
    this.#number.setInt32(0, high);
    this.#number.setUint32(4, value - high * TWO_32);
    this.#writeNumber(role, 8);
  }

  /** Writes a role and the first bytes of the number. */
  #writeNumber(role: number, numBytes: number): void {
    this.out[this.at++] = role;
    for (let i = 0; i < numBytes; i++) this.out[this.at++] = v1.BYTE_BASE + this.#number.getUint8(i);
  }
}

function requireInteger(name: string, value: number, low: number, high: number): void {
  if (Number.isInteger(value) && value >= low && value <= high) return;
  throw new RangeError(`Cannot write the ${name} ${value}: expected an integer in ${low}..${high}`);
}

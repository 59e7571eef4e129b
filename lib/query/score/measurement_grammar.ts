/**
 * Which tokens may come next in a measurement of vocabulary v2. In addition to the grammar of vocab_v2.ts,
 * both addresses are of one version, RTT codes are canonical, times are in a period, and gaps use as few bytes
 * as possible.
 *
 * @module
 */
import { ensure } from "../../base/errors.ts";
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
} from "../../data/tokens/vocab_v2.ts";
import { byteTokens } from "../draws.ts";
import { FIRST_BYTES, secondBytesOf } from "../rtt/rtt_bytes.ts";

const ANY_BYTE = byteTokens({ first: 0, last: 255 });
/** The longest gap of one byte, and the longest one. */
const [MAX_GAP1_S, MAX_GAP4_S] = [2 ** 8 - 1, 2 ** 32 - 1];
const FIRST_RTT_BYTES = FIRST_BYTES.map((byte) => BYTE_BASE + byte);
const SECOND_RTT_BYTES = new Map(
  FIRST_BYTES.map((byte) => [byte, secondBytesOf(byte).map((second) => BYTE_BASE + second)]),
);

/** Tokens that open a block, with the number of bytes that follow. */
const BLOCKS: readonly { field: Field; token: number; numBytes: number }[] = [
  { field: "source", token: SRC_IPV4, numBytes: 4 },
  { field: "source", token: SRC_IPV6, numBytes: 16 },
  { field: "destination", token: DST_IPV4, numBytes: 4 },
  { field: "destination", token: DST_IPV6, numBytes: 16 },
  { field: "result", token: RTT_START, numBytes: 2 },
  { field: "result", token: FAILED, numBytes: 0 },
  { field: "time", token: TIMESTAMP_ABS, numBytes: 8 },
  { field: "time", token: TIMESTAMP_DELTA1, numBytes: 1 },
  { field: "time", token: TIMESTAMP_DELTA4, numBytes: 4 },
];

/** A partially written measurement. */
export class MeasurementGrammar {
  readonly #missing = new Set<Field>(["source", "destination", "result", "time"]);
  /** Number of bytes of an address; 0 while both IP versions are possible. */
  #addressBytes = 0;
  #role = MEASUREMENT_START;
  #bytes: number[] = [];
  #numBytesLeft = 0;
  #isEnded = false;

  /**
   * Begins after MeasurementStart.
   *
   * @param hasEarlierTime Whether a measurement in the context has a time.
   * @param period The first and the last time; with an earlier time, the shortest and the longest gap, of which
   *   those of one byte are always possible; seconds.
   */
  constructor(
    readonly hasEarlierTime: boolean,
    readonly period: readonly [first: number, last: number] = [
      0,
      hasEarlierTime ? MAX_GAP4_S : Number.MAX_SAFE_INTEGER,
    ],
  ) {}

  /** Whether no token can follow. */
  get isComplete(): boolean {
    return this.#isEnded || (this.#missing.size === 0 && this.#numBytesLeft === 0);
  }

  /** Tokens that may come next, including MeasurementStart if the measurement may end here. */
  allowed(): readonly number[] {
    if (this.isComplete) return [];
    return this.#numBytesLeft > 0 ? this.#allowedBytes() : this.#allowedRoles();
  }

  /** Appends a token of {@link allowed}; MeasurementStart ends the measurement. */
  push(token: number): void {
    if (this.#numBytesLeft > 0) {
      this.#numBytesLeft--;
      this.#bytes.push(token - BYTE_BASE);
      return;
    }
    if (token === MEASUREMENT_START) {
      this.#isEnded = true;
      return;
    }
    const block = BLOCKS.find((each) => each.token === token);
    ensure(block && this.#missing.delete(block.field), `token ${token}`);
    this.#role = token;
    this.#bytes = [];
    this.#numBytesLeft = block.numBytes;
    if (block.field === "source" || block.field === "destination") this.#addressBytes = block.numBytes;
  }

  #allowedRoles(): number[] {
    const allowed = BLOCKS.filter(({ field, token, numBytes }) => {
      if (!this.#missing.has(field)) return false;
      if (token === TIMESTAMP_DELTA4) return this.hasEarlierTime && this.period[1] > MAX_GAP1_S;
      if (field === "time") return this.hasEarlierTime === (token !== TIMESTAMP_ABS);
      return field === "result" || this.#addressBytes === 0 || this.#addressBytes === numBytes;
    });
    const roles = allowed.map(({ token }) => token);
    const mayEnd = this.#missing.size === 1 && this.#missing.has("time");
    return mayEnd ? [...roles, MEASUREMENT_START] : roles;
  }

  #allowedBytes(): readonly number[] {
    const bytes = this.#bytes;
    if (this.#role === RTT_START) {
      return bytes.length === 0 ? FIRST_RTT_BYTES : SECOND_RTT_BYTES.get(bytes[0]) ?? [];
    }
    if (this.#role !== TIMESTAMP_ABS && this.#role !== TIMESTAMP_DELTA4) return ANY_BYTE;
    const [first, last] = this.#role === TIMESTAMP_ABS
      ? this.period
      : [Math.max(this.period[0], MAX_GAP1_S + 1), Math.min(this.period[1], MAX_GAP4_S)];
    const numBytes = bytes.length + this.#numBytesLeft;
    const byteAt = (end: number, i: number) => Math.floor(end / 256 ** (numBytes - 1 - i)) % 256;
    // The next byte of an end, if all bytes so far are those of the end.
    const nextOf = (end: number) =>
      bytes.every((byte, i) => byte === byteAt(end, i)) ? byteAt(end, bytes.length) : undefined;
    const [low, high] = [nextOf(first) ?? 0, nextOf(last) ?? 255];
    return low + 255 === high ? ANY_BYTE : byteTokens({ first: low, last: high });
  }
}

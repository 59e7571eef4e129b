/**
 * Which tokens may come next in a measurement of vocabulary v2. In addition to the grammar of vocab_v2.ts,
 * both addresses are of one version, RTT codes are canonical, times are at most 2^53 - 1 s, and gaps use as
 * few bytes as possible.
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
/** Upper bytes of times up to 2^53 - 1. */
const FIRST_TIME_BYTES = [byteTokens({ first: 0, last: 0 }), byteTokens({ first: 0, last: 31 })];
const NOT_ZERO = byteTokens({ first: 1, last: 255 });
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

  /** Begins after MeasurementStart. @param hasEarlierTime Whether a measurement in the context has a time. */
  constructor(readonly hasEarlierTime: boolean) {}

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
    if (this.#role === TIMESTAMP_ABS) return FIRST_TIME_BYTES[bytes.length] ?? ANY_BYTE;
    // Gaps of up to 255 s have one byte.
    const needsMore = this.#role === TIMESTAMP_DELTA4 && bytes.length === 2 && bytes[0] + bytes[1] === 0;
    return needsMore ? NOT_ZERO : ANY_BYTE;
  }
}

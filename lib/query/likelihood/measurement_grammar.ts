/**
 * Which tokens may come next inside a measurement of vocabulary v2: what a writer of measurements could write.
 *
 * As the grammar of grammar_v2.ts, and both addresses of one version, canonical RTT codes only, times up to
 * 2^53 - 1 s, gaps in as few bytes as they fit.
 *
 * @module
 */
import { ensure } from "../../errors.ts";
import { FIELD_GRAMMARS } from "../../tokens/field_grammar.ts";
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
} from "../../tokens/vocab_v2.ts";
import { FIRST_BYTES, secondBytesOf } from "../rtt/rtt_bytes.ts";

const ANY_BYTE = bytesBetween(0, 255);
/** The upper bytes of the times up to 2^53 - 1. */
const FIRST_TIME_BYTES = [bytesBetween(0, 0), bytesBetween(0, 31)];
const NOT_ZERO = bytesBetween(1, 255);
const FIRST_RTT_BYTES = FIRST_BYTES.map((byte) => BYTE_BASE + byte);
const SECOND_RTT_BYTES = new Map(
  FIRST_BYTES.map((byte) => [byte, secondBytesOf(byte).map((second) => BYTE_BASE + second)]),
);

const NUM_BYTES: ReadonlyMap<number, number> = new Map([
  [SRC_IPV4, 4],
  [SRC_IPV6, 16],
  [DST_IPV4, 4],
  [DST_IPV6, 16],
  [TIMESTAMP_ABS, 8],
  [TIMESTAMP_DELTA1, 1],
  [TIMESTAMP_DELTA4, 4],
  [RTT_START, 2],
  [FAILED, 0],
]);

/** A measurement as far as it is written. */
export class MeasurementGrammar {
  readonly #missing = new Set<Field>(["source", "destination", "result", "time"]);
  readonly #hasEarlierTime: boolean;
  /** Bytes of an address, 0 while both versions are possible. */
  #addressBytes = 0;
  #role = MEASUREMENT_START;
  #bytes: number[] = [];
  #numBytesLeft = 0;
  #isEnded = false;

  /** Begins after MeasurementStart. @param hasEarlierTime Whether a measurement of its context has a time. */
  constructor(hasEarlierTime: boolean) {
    this.#hasEarlierTime = hasEarlierTime;
  }

  /** Whether nothing can follow: all four blocks are there, or it was ended without a time. */
  get isComplete(): boolean {
    return this.#isEnded || (this.#missing.size === 0 && this.#numBytesLeft === 0);
  }

  /** The tokens that may come next; MeasurementStart where the measurement may end, none when it is complete. */
  allowed(): readonly number[] {
    if (this.isComplete) return [];
    return this.#numBytesLeft > 0 ? this.#allowedBytes() : this.#allowedRoles();
  }

  /** Appends a token. @param token One of {@link allowed}; MeasurementStart ends it. */
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
    const field = FIELD_GRAMMARS.v2.fieldOf(token);
    const numBytes = NUM_BYTES.get(token);
    ensure(numBytes !== undefined && this.#missing.delete(field), `token ${token}`);
    this.#role = token;
    this.#bytes = [];
    this.#numBytesLeft = numBytes;
    if (field === "source" || field === "destination") this.#addressBytes = numBytes;
  }

  #allowedRoles(): number[] {
    const roles: number[] = [];
    const hasV4 = this.#addressBytes !== 16;
    const hasV6 = this.#addressBytes !== 4;
    if (this.#missing.has("source")) roles.push(...(hasV4 ? [SRC_IPV4] : []), ...(hasV6 ? [SRC_IPV6] : []));
    if (this.#missing.has("destination")) {
      roles.push(...(hasV4 ? [DST_IPV4] : []), ...(hasV6 ? [DST_IPV6] : []));
    }
    if (this.#missing.has("result")) roles.push(RTT_START, FAILED);
    if (this.#missing.has("time")) {
      roles.push(...(this.#hasEarlierTime ? [TIMESTAMP_DELTA1, TIMESTAMP_DELTA4] : [TIMESTAMP_ABS]));
      if (this.#missing.size === 1) roles.push(MEASUREMENT_START);
    }
    return roles;
  }

  #allowedBytes(): readonly number[] {
    const bytes = this.#bytes;
    if (this.#role === RTT_START) {
      return bytes.length === 0 ? FIRST_RTT_BYTES : SECOND_RTT_BYTES.get(bytes[0]) ?? [];
    }
    if (this.#role === TIMESTAMP_ABS) return FIRST_TIME_BYTES[bytes.length] ?? ANY_BYTE;
    // A gap of up to 255 s has one byte.
    const needsMore = this.#role === TIMESTAMP_DELTA4 && bytes.length === 2 && bytes[0] + bytes[1] === 0;
    return needsMore ? NOT_ZERO : ANY_BYTE;
  }
}

function bytesBetween(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => BYTE_BASE + first + i);
}

/**
 * What a sequence contains so far: the RTTs of its pairs, and the time of the present measurement.
 *
 * @module
 */
import { NUM_RECALLED } from "../tokens/rtt_recall.ts";
import {
  BYTE_BASE,
  RTT_START,
  TIMESTAMP_ABS,
  TIMESTAMP_DELTA1,
  TIMESTAMP_DELTA4,
} from "../tokens/vocab_v2.ts";
import type { TimedRtt } from "./pair_history.ts";

/** Bytes of the number after a role token. */
const NUM_BYTES: Record<number, number> = {
  [TIMESTAMP_ABS]: 8,
  [TIMESTAMP_DELTA1]: 1,
  [TIMESTAMP_DELTA4]: 4,
  [RTT_START]: 2,
};

/** Reads the numbers of a sequence of vocabulary v2. */
export class SequenceMemory {
  /** The time of the present measurement, Unix seconds; null as long as it has none. */
  timeS: number | null = null;
  #previousTimeS = 0;
  #rttCode = 0;
  #role = 0;
  #value = 0;
  #numMissing = 0;
  /** By pair. Shared with clones, and copied before a change. */
  #rtts = new Map<number, readonly TimedRtt[]>();
  #isShared = false;

  /** A copy that continues from here. */
  clone(): SequenceMemory {
    const copy = new SequenceMemory();
    copy.timeS = this.timeS;
    copy.#previousTimeS = this.#previousTimeS;
    copy.#rttCode = this.#rttCode;
    copy.#role = this.#role;
    copy.#value = this.#value;
    copy.#numMissing = this.#numMissing;
    copy.#rtts = this.#rtts;
    copy.#isShared = this.#isShared = true;
    return copy;
  }

  /** Reads a token. */
  read(token: number): void {
    if (token < BYTE_BASE) {
      this.#role = token;
      this.#value = 0;
      this.#numMissing = NUM_BYTES[token] ?? 0;
    } else if (this.#numMissing > 0) {
      this.#value = this.#value * 256 + token - BYTE_BASE;
      if (--this.#numMissing === 0) this.#take(this.#value);
    }
  }

  /** Ends a measurement. @param pair The first hash of its pair; undefined if an address is missing. */
  end(pair: number | undefined): void {
    if (pair !== undefined && this.#rttCode > 0) {
      if (this.#isShared) this.#rtts = new Map(this.#rtts);
      this.#isShared = false;
      const rtt = { rttCode: this.#rttCode, timeS: this.timeS };
      this.#rtts.set(pair, [...this.rttsOf(pair), rtt].slice(-NUM_RECALLED));
    }
    this.timeS = null;
    this.#rttCode = 0;
  }

  /** The newest RTTs of a pair in earlier measurements, oldest first. */
  rttsOf(pair: number): readonly TimedRtt[] {
    return this.#rtts.get(pair) ?? [];
  }

  #take(value: number): void {
    if (this.#role === RTT_START) this.#rttCode = value;
    else this.timeS = this.#previousTimeS = value + (this.#role === TIMESTAMP_ABS ? 0 : this.#previousTimeS);
  }
}

/**
 * The newest RTTs of pairs: those stored in a model, and those in the sequence being read.
 *
 * @module
 */
import { ensure } from "../base/errors.ts";
import { NUM_HISTORY_RTTS, type RttHistory, rttHistoryOf } from "../data/tokens/rtt_history.ts";
import {
  BYTE_BASE,
  RTT_START,
  TIMESTAMP_ABS,
  TIMESTAMP_DELTA1,
  TIMESTAMP_DELTA4,
} from "../data/tokens/vocab_v2.ts";

/** Values per pair in a checkpoint: its RTT codes, oldest first, and the time of the newest. */
export const HISTORY_LENGTH = NUM_HISTORY_RTTS + 1;

export interface TimedRtt {
  readonly rttCode: number;
  /** Unix seconds; null if unknown. */
  readonly timeS: number | null;
}

/** Computes history features. @param rtts Oldest first. @param timeS The time of the predicted RTT. */
export function timedHistory(rtts: readonly TimedRtt[], timeS: number | null): RttHistory | undefined {
  const newest = rtts.slice(-NUM_HISTORY_RTTS).reverse();
  return rttHistoryOf(
    newest.map(({ rttCode }) => rttCode),
    newest.length,
    gapS(timeS, newest[0]?.timeS ?? null),
  );
}

/** Distance between two times. A later measurement counts like an equally distant earlier one. */
function gapS(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : Math.abs(a - b);
}

export class PairHistory {
  /** (pairs, NUM_HISTORY_RTTS), newest first, 0 for none. */
  readonly #codes: Uint16Array;
  /** (pairs): Unix time of the newest in seconds, 0 for none. */
  readonly #timesS: Float64Array;

  constructor(numPairs: number) {
    this.#codes = new Uint16Array(numPairs * NUM_HISTORY_RTTS);
    this.#timesS = new Float64Array(numPairs);
  }

  /** Adds the newest RTT of a pair; a full history drops its oldest. */
  add(pair: number, { rttCode, timeS }: TimedRtt): void {
    const first = pair * NUM_HISTORY_RTTS;
    this.#codes.copyWithin(first + 1, first, first + NUM_HISTORY_RTTS - 1);
    this.#codes[first] = rttCode;
    this.#timesS[pair] = timeS ?? 0;
  }

  /**
   * Computes the history features of a pair.
   *
   * @param options `timeS`: the time of the predicted RTT; `newer`: further RTTs, oldest first. Those not
   *   later than the history are ignored.
   * @returns Undefined if no RTT is known.
   */
  rttHistory(
    pair: number,
    { timeS = null, newer = [] }: { timeS?: number | null; newer?: readonly TimedRtt[] } = {},
  ): RttHistory | undefined {
    const known = this.#codes.subarray(pair * NUM_HISTORY_RTTS, (pair + 1) * NUM_HISTORY_RTTS);
    const knownTimeS = this.#timesS[pair];
    const added = newer.filter((rtt) => rtt.timeS === null || rtt.timeS > knownTimeS);
    const codes = [...added.map(({ rttCode }) => rttCode).reverse(), ...known.filter((code) => code > 0)];
    const newestS = added.at(-1)?.timeS ?? (knownTimeS > 0 ? knownTimeS : null);
    return rttHistoryOf(codes, codes.length, gapS(timeS, newestS));
  }

  /** The history as stored in checkpoints, (pairs, {@link HISTORY_LENGTH}), 0 for none. */
  save(): Uint32Array {
    const numPairs = this.#timesS.length;
    const saved = new Uint32Array(numPairs * HISTORY_LENGTH);
    for (let pair = 0; pair < numPairs; pair++) {
      const codes = this.#codes.slice(pair * NUM_HISTORY_RTTS, (pair + 1) * NUM_HISTORY_RTTS).reverse();
      saved.set([...codes, this.#timesS[pair]], pair * HISTORY_LENGTH);
    }
    return saved;
  }

  load(saved: Uint32Array): void {
    const numPairs = this.#timesS.length;
    ensure(saved.length === numPairs * HISTORY_LENGTH, `${saved.length} numbers for ${numPairs} pairs`);
    for (let pair = 0; pair < numPairs; pair++) {
      const first = pair * HISTORY_LENGTH;
      // A copy for each pair would take 40 ms, a twelfth of the time in which `query rtt` answers.
      for (let i = 1; i <= NUM_HISTORY_RTTS; i++) {
        this.#codes[(pair + 1) * NUM_HISTORY_RTTS - i] = saved[first + i - 1];
      }
      this.#timesS[pair] = saved[first + NUM_HISTORY_RTTS];
    }
  }
}

const NUM_BYTES: Record<number, number> = {
  [TIMESTAMP_ABS]: 8,
  [TIMESTAMP_DELTA1]: 1,
  [TIMESTAMP_DELTA4]: 4,
  [RTT_START]: 2,
};

/** Reads the numbers of a sequence of vocabulary v2. */
export class SequenceMemory {
  /** Unix time of the current measurement in seconds; null if there is none yet. */
  timeS: number | null = null;
  #previousTimeS = 0;
  #rttCode = 0;
  #role = 0;
  #value = 0;
  #numMissing = 0;
  /** Keyed by pair. Shared with clones; copied before a change. */
  #rtts = new Map<number, readonly TimedRtt[]>();
  #isShared = false;

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
      this.#rtts.set(pair, [...this.rttsOf(pair), rtt].slice(-NUM_HISTORY_RTTS));
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

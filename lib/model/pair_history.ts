/**
 * The newest RTTs of each pair that a model knows.
 *
 * @module
 */
import { ensure } from "../errors.ts";
import { NUM_RECALLED, recallRtts, type RttRecall } from "../tokens/rtt_recall.ts";

/** Numbers of a pair in a checkpoint: its RTT codes, the oldest first, and the newest one's time in two parts. */
export const HISTORY_LENGTH = NUM_RECALLED + 2;
/** Times are written as two numbers below it, which float32 holds exactly. */
const TIME_PART = 2 ** 20;

/** An RTT of a pair. */
export interface TimedRtt {
  readonly rttCode: number;
  /** Unix seconds; null if that is not known. */
  readonly timeS: number | null;
}

/** What is recalled of RTTs where nothing else is known. @param rtts Oldest first. @param timeS When one is asked for. */
export function recallTimed(rtts: readonly TimedRtt[], timeS: number | null): RttRecall | undefined {
  const newest = rtts.slice(-NUM_RECALLED).reverse();
  return recallRtts(
    newest.map(({ rttCode }) => rttCode),
    newest.length,
    gapS(timeS, newest[0]?.timeS ?? null),
  );
}

/** How far apart two times are: of what was measured later is recalled as of what was measured as long before. */
function gapS(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : Math.abs(a - b);
}

/** The newest RTT codes of every pair. */
export class PairHistory {
  /** (pairs, NUM_RECALLED), the newest first, 0 where there is none. */
  readonly #codes: Uint16Array;
  /** Of the newest one, Unix seconds; 0 where there is none. */
  readonly #timesS: Float64Array;

  constructor(numPairs: number) {
    this.#codes = new Uint16Array(numPairs * NUM_RECALLED);
    this.#timesS = new Float64Array(numPairs);
  }

  /** Adds the newest RTT of a pair; the oldest of a full history goes. */
  add(pair: number, { rttCode, timeS }: TimedRtt): void {
    const first = pair * NUM_RECALLED;
    this.#codes.copyWithin(first + 1, first, first + NUM_RECALLED - 1);
    this.#codes[first] = rttCode;
    this.#timesS[pair] = timeS ?? 0;
  }

  /**
   * What is recalled of a pair.
   *
   * @param options `timeS`: when an RTT is asked for; `newer`: RTTs that were measured after those of the history, oldest
   *   first; of those that are not, the times say so.
   * @returns Undefined if no RTT is known.
   */
  recall(
    pair: number,
    { timeS = null, newer = [] }: { timeS?: number | null; newer?: readonly TimedRtt[] } = {},
  ): RttRecall | undefined {
    const known = this.#codes.subarray(pair * NUM_RECALLED, (pair + 1) * NUM_RECALLED);
    const knownTimeS = this.#timesS[pair];
    const added = newer.filter((rtt) => rtt.timeS === null || rtt.timeS > knownTimeS);
    const codes = [...added.map(({ rttCode }) => rttCode).reverse(), ...known.filter((code) => code > 0)];
    const newestS = added.at(-1)?.timeS ?? (knownTimeS > 0 ? knownTimeS : null);
    return recallRtts(codes, codes.length, gapS(timeS, newestS));
  }

  /** The history as a checkpoint has it, (pairs, {@link HISTORY_LENGTH}), 0 for none. */
  save(): Float32Array {
    const numPairs = this.#timesS.length;
    const saved = new Float32Array(numPairs * HISTORY_LENGTH);
    for (let pair = 0; pair < numPairs; pair++) {
      const codes = this.#codes.slice(pair * NUM_RECALLED, (pair + 1) * NUM_RECALLED).reverse();
      const timeS = this.#timesS[pair];
      saved.set([...codes, Math.floor(timeS / TIME_PART), timeS % TIME_PART], pair * HISTORY_LENGTH);
    }
    return saved;
  }

  /** Takes what {@link save} wrote. */
  load(saved: Float32Array): void {
    const numPairs = this.#timesS.length;
    ensure(saved.length === numPairs * HISTORY_LENGTH, `${saved.length} numbers of pairs`);
    for (let pair = 0; pair < numPairs; pair++) {
      const first = pair * HISTORY_LENGTH;
      const codes = saved.slice(first, first + NUM_RECALLED).reverse();
      this.#codes.set(codes, pair * NUM_RECALLED);
      this.#timesS[pair] = saved[first + NUM_RECALLED] * TIME_PART + saved[first + NUM_RECALLED + 1];
    }
  }
}

/**
 * The order of a pair's measurements in time, which no single wrong clock moves.
 *
 * A measurement far after the newest one of its pair is held until {@link AGREEING} of them follow each other: then there
 * was a gap. One that goes back to before them says that their clocks were wrong. A gap may still turn out to be wrong: as
 * many measurements inside it take the pair back to before it. Measurements that are read again cannot do that, since they
 * lie outside of it. The first measurements of a pair follow a gap without a beginning.
 *
 * @module
 */
import type { TimedMeasurement } from "../files/arriving.ts";

/** A measurement is far after another if it is later by more than this, s … */
const FAR_S = 3600;
/** … and by more than this many usual gaps of its pair: a probe that pings every 4 minutes may miss a night. */
const FAR_GAPS = 100;
/** The share of a pair's gaps that are no longer than the usual one: pings may come in bursts. */
const USUAL_SHARE = 0.9;
/** The number of measurements in order that move a pair's clock, so that two wrong ones do not. */
const AGREEING = 3;
/** A gap with more measurements after it is real, as soon as there is another one. */
const SETTLED = 100;

/** Counts measurements that are left out. */
export interface ClockTally {
  /** Counts measurements that came after a later one of their pair. */
  late(count: number): void;
  /**
   * Counts measurements with wrong clocks. @param timeS Of the first one. @param options Whether they had been
   * added.
   */
  wrongClock(count: number, timeS: number, options: { wereUsed: boolean }): void;
}

/** The clock of a pair. Memory is bounded: it holds fewer than twice {@link AGREEING} measurements. */
export class PairClock {
  /** In order of time, far after the newest one of the pair. */
  #ahead: TimedMeasurement[] = [];
  /** In order of time, in the gap. */
  #behind: TimedMeasurement[] = [];
  /** The last gap that is not settled, Unix seconds, and the number of measurements added after it. */
  #gap = { fromS: -Infinity, toS: Infinity, numSince: 0 };

  /** The time of the first measurement, Unix seconds; a few before a gap do not count. */
  startS = -Infinity;

  get numHeld(): number {
    return this.#ahead.length + this.#behind.length;
  }

  /**
   * Takes the next measurement.
   *
   * @param recent The measurements that were added last, oldest first.
   * @returns `added`: to add now, in order of time; `isBack`: whether they are before `recent`, whose times are
   *   wrong.
   */
  take(
    measurement: TimedMeasurement,
    recent: readonly TimedMeasurement[],
    tally: ClockTally,
  ): { added: readonly TimedMeasurement[]; isBack: boolean } {
    const { timeS } = measurement;
    const newestS = recent.at(-1)?.timeS;
    if (newestS === undefined) this.#gap.toS = this.startS = timeS;
    else if (timeS < newestS) return this.#takeBehind(measurement, tally);
    else if (isFarAfter(timeS, newestS, recent)) return this.#takeAhead(measurement, recent, tally);
    this.#dropAhead(0, tally);
    return this.#added([measurement]);
  }

  /** The measurements that are held at the end of the input: nothing contradicts those ahead. */
  finish(tally: ClockTally): readonly TimedMeasurement[] {
    this.#dropBehind(tally);
    return this.#added(this.#ahead.splice(0)).added;
  }

  #takeBehind(measurement: TimedMeasurement, tally: ClockTally) {
    const { timeS } = measurement;
    const { fromS, toS, numSince } = this.#gap;
    // Before the first measurement of a pair any time is possible, such as that of a backlog.
    const isFirstGap = fromS === -Infinity;
    const isLikely = !isFirstGap || numSince <= AGREEING || numSince <= SETTLED && toS - timeS > FAR_S;
    const isInGap = timeS > fromS && timeS < toS && isLikely;
    if (!isInGap || timeS < (this.#behind.at(-1)?.timeS ?? -Infinity)) {
      tally.late(1);
      return NONE;
    }
    this.#behind.push(measurement);
    if (this.#behind.length < AGREEING) return NONE;
    tally.wrongClock(numSince, toS, { wereUsed: true });
    this.#dropAhead(0, tally);
    this.#gap = { fromS: timeS, toS: timeS, numSince: 0 };
    this.startS = Math.min(this.startS, this.#behind[0].timeS);
    return { ...this.#added(this.#behind.splice(0)), isBack: true };
  }

  #takeAhead(measurement: TimedMeasurement, recent: readonly TimedMeasurement[], tally: ClockTally) {
    const { timeS } = measurement;
    const firstFar = this.#ahead.findIndex((held) => isFarAfter(held.timeS, timeS, recent));
    if (firstFar >= 0) this.#dropAhead(firstFar, tally);
    if (timeS < (this.#ahead.at(-1)?.timeS ?? -Infinity)) {
      tally.late(1);
      return NONE;
    }
    this.#ahead.push(measurement);
    if (this.#ahead.length < AGREEING) return NONE;
    const { fromS, toS, numSince } = this.#gap;
    if (fromS === -Infinity && numSince <= AGREEING) this.startS = this.#ahead[0].timeS;
    if (numSince > SETTLED || fromS === -Infinity || fromS === toS) {
      this.#dropBehind(tally);
      this.#gap = { fromS: recent.at(-1)?.timeS ?? -Infinity, toS: this.#ahead[0].timeS, numSince: 0 };
    }
    return this.#added(this.#ahead.splice(0));
  }

  #added(added: readonly TimedMeasurement[]) {
    this.#gap.numSince += added.length;
    return { added, isBack: false };
  }

  #dropAhead(first: number, tally: ClockTally): void {
    const dropped = this.#ahead.splice(first);
    if (dropped.length > 0) tally.wrongClock(dropped.length, dropped[0].timeS, { wereUsed: false });
  }

  #dropBehind(tally: ClockTally): void {
    tally.late(this.#behind.splice(0).length);
  }
}

const NONE = { added: [], isBack: false } as const;

function isFarAfter(timeS: number, beforeS: number, recent: readonly TimedMeasurement[]): boolean {
  if (!(timeS - beforeS > FAR_S)) return false;
  const gapsS = recent.slice(1).map((each, i) => each.timeS - recent[i].timeS).sort((a, b) => a - b);
  const usualS = gapsS[Math.floor(USUAL_SHARE * (gapsS.length - 1))] ?? 0;
  return timeS - beforeS > FAR_GAPS * usualS;
}

/**
 * Puts a pair's measurements in time order, robust against single wrong clocks.
 *
 * A measurement far after the newest one of its pair is held until {@link AGREEING} of them are in order,
 * which confirms a gap. A measurement that goes back to before the held ones shows that their clocks were
 * wrong. A gap may still turn out to be wrong: the same number of measurements inside it set the pair back to
 * before the gap. Measurements that are read again cannot do that, since they are outside the gap. The first
 * measurements of a pair follow a gap without a beginning.
 *
 * @module
 */
import type { TimedMeasurement } from "../files/arriving.ts";

/** A measurement is far after another if it is more than this later, s … */
const FAR_S = 3600;
/** … and more than this many usual gaps of its pair: a probe that pings every 4 minutes may miss a night. */
const FAR_GAPS = 100;
/** The quantile of a pair's gaps that is its usual gap; pings may come in bursts. */
const USUAL_SHARE = 0.9;
/** Number of measurements in order that move a pair's clock, so that two wrong ones do not. */
const AGREEING = 3;
/** A gap followed by more measurements than this is final once there is another gap. */
const SETTLED = 100;

/** Counts the measurements that are left out. */
export interface ClockTally {
  /** Counts measurements that arrived after a later one of their pair. */
  late(count: number): void;
  /**
   * Counts measurements with wrong clocks. @param timeS The time of the first. @param options Whether they
   * had been used.
   */
  wrongClock(count: number, timeS: number, options: { wereUsed: boolean }): void;
}

/** The clock of a pair. It holds fewer than twice {@link AGREEING} measurements. */
export class PairClock {
  /** Measurements far after the pair's newest one, in time order. */
  #ahead: TimedMeasurement[] = [];
  /** Measurements inside the gap, in time order. */
  #behind: TimedMeasurement[] = [];
  /** The last gap that is not final, Unix seconds, and the number of measurements added after it. */
  #gap = { fromS: -Infinity, toS: Infinity, numSince: 0 };

  /** Time of the first measurement, Unix seconds, not counting a few before a gap. */
  startS = -Infinity;

  get numHeld(): number {
    return this.#ahead.length + this.#behind.length;
  }

  /**
   * Takes the next measurement.
   *
   * @param recent The last measurements added, oldest first.
   * @returns `added`: measurements to add now, in time order; `isBack`: whether they precede `recent`, whose
   *   times are wrong.
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

  /** The measurements still held at the end of the input; nothing contradicts those ahead. */
  finish(tally: ClockTally): readonly TimedMeasurement[] {
    this.#dropBehind(tally);
    return this.#added(this.#ahead.splice(0)).added;
  }

  #takeBehind(measurement: TimedMeasurement, tally: ClockTally) {
    const { timeS } = measurement;
    const { fromS, toS, numSince } = this.#gap;
    // Any time is possible before a pair's first measurement, for example that of a backlog.
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

/**
 * Lists the outages of a pair over a whole period: its series of lost rounds, except those that its loss rate
 * explains. The loss rate is the one over the whole period; `outage_detector.ts` decides at once.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";

/** A series of lost rounds. Times are Unix seconds. */
export interface LossSeries {
  /** The time of its first round. */
  readonly fromS: number;
  /** The time of the first reply after it; undefined if there was none. */
  readonly toS: number | undefined;
  /** Until then, or until its last round. */
  readonly seconds: number;
  readonly rounds: number;
}

/** An outage has at least this many rounds. */
const MIN_ROUNDS = 3;
/** An outage is longer than a series whose probability, by the other losses of the pair, is this. */
const MAX_CHANCE = 1e-6;
/** How many series are kept for the list; all are counted. */
const MAX_KEPT = 1000;

export class OutageList {
  #numRounds = 0;
  #numLost = 0;
  /** The lost rounds in a row at the end. */
  #last: { fromS: number; lastS: number; rounds: number } | undefined;
  /** All series of at least {@link MIN_ROUNDS} that are over, by their rounds. */
  readonly #byRounds = new Map<number, { count: number; seconds: number; longestS: number }>();
  #kept: LossSeries[] = [];

  /** Adds a round, in order of time. */
  add(isLost: boolean, timeS: number): void {
    this.#numRounds++;
    if (!isLost) return this.#end(timeS);
    this.#numLost++;
    this.#last ??= { fromS: timeS, lastS: timeS, rounds: 0 };
    this.#last.rounds++;
    this.#last.lastS = timeS;
  }

  /** Ends the last series without a reply: there are no more rounds. */
  finish(): void {
    this.#end(undefined);
  }

  /** The outages so far, oldest first: all are counted, at most the first 1,000 listed. */
  outages(): { count: number; seconds: number; longestS: number; listed: readonly LossSeries[] } {
    const least = this.#leastRounds();
    const sum = { count: 0, seconds: 0, longestS: 0 };
    for (const [rounds, { count, seconds, longestS }] of this.#byRounds) {
      if (rounds < least) continue;
      sum.count += count;
      sum.seconds += seconds;
      sum.longestS = Math.max(sum.longestS, longestS);
    }
    return { ...sum, listed: this.#kept.filter(({ rounds }) => rounds >= least) };
  }

  #end(toS: number | undefined): void {
    const series = this.#last;
    this.#last = undefined;
    if (!series || series.rounds < MIN_ROUNDS) return;
    const { fromS, lastS, rounds } = series;
    const seconds = Math.round(1000 * ((toS ?? lastS) - fromS)) / 1000;
    const same = getOrMake(this.#byRounds, rounds, () => ({ count: 0, seconds: 0, longestS: 0 }));
    same.count++;
    same.seconds += seconds;
    same.longestS = Math.max(same.longestS, seconds);
    if (this.#kept.length >= MAX_KEPT) {
      const least = this.#leastRounds();
      this.#kept = this.#kept.filter((each) => each.rounds >= least);
    }
    if (this.#kept.length < MAX_KEPT) this.#kept.push({ fromS, toS, seconds, rounds });
  }

  /** The rounds that an outage needs, so that it is unlikely at the loss rate outside of outages. */
  #leastRounds(): number {
    const lengths = [...this.#byRounds].sort(([a], [b]) => b - a);
    const longest = lengths[0]?.[0] ?? 0;
    for (let least = MIN_ROUNDS; least <= longest; least++) {
      const inOutages = lengths.reduce(
        (sum, [rounds, { count }]) => sum + (rounds >= least ? rounds * count : 0),
        0,
      );
      const numOthers = this.#numRounds - inOutages;
      const lossRate = numOthers === 0 ? 0 : (this.#numLost - inOutages) / numOthers;
      if (lossRate ** least <= MAX_CHANCE) return least;
    }
    return Infinity;
  }
}

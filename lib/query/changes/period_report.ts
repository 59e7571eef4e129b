/**
 * A report of a period: for each pair and group of pairs its availability, outages, RTTs by day and by hour of
 * the day, jitter, and worst hours. Memory is bounded for each pair and day. Times are in UTC.
 *
 * @module
 */
import { addToCount, getOrMake } from "../../base/collections.ts";
import { UserError } from "../../base/errors.ts";
import { isoTime } from "../../base/text.ts";
import { type AddressNames, NO_NAMES } from "../../data/addresses/address_names.ts";
import type { TimedMeasurement } from "../files/arriving.ts";
import type { AlarmLine } from "./alarm_lines.ts";
import { type LossSeries, OutageList } from "./outage_list.ts";
import { rttMsOf, type WatchedPair } from "./pair_watch.ts";
import { RttTally } from "./rtt_tally.ts";

const HOUR_S = 3600;
const DAY_S = 86_400;
const HOURS_PER_DAY = 24;
/** The longest period; each day of a pair takes memory. */
export const MAX_DAYS = 400;
/** Pairs and hours with so few rounds rank as less bad than their losses. */
const FEW_ROUNDS = 10;
/** How many of the worst hours are listed. */
const NUM_WORST = 5;

/** Options of a report. */
export interface PeriodOptions {
  /** The period in Unix seconds, the end excluded (default: all measurements). */
  readonly fromS?: number | undefined;
  readonly toS?: number | undefined;
  /** Compares the rounds before this time with those from it on, Unix seconds (none). */
  readonly compareAtS?: number | undefined;
  /** Maximum number of pairs; rounds of further ones are left out and counted. */
  readonly maxPairs: number;
  readonly names?: AddressNames;
}

/** Counts of rounds and RTTs. A round is one measurement. RTTs are null without replies. */
export interface RoundsSummary {
  rounds: number;
  lost: number;
  /** Share of the rounds with a reply; null without rounds. */
  availability: number | null;
  median_ms: number | null;
  "q0.95_ms": number | null;
  "q0.99_ms": number | null;
  /** Mean distance between the RTTs of successive replies of a pair, ms. */
  jitter_ms: number | null;
}

/** @internal An hour of the period. Groups have no median. */
interface HourSummary {
  /** Its beginning. */
  time: string;
  rounds: number;
  lost: number;
  median_ms: number | null;
}

/** Three or more losses in a row, more if the pair's other losses explain them. */
export interface Outage {
  /** The time of the first lost round. */
  from: string;
  /** The time of the first reply after it; null if there was none. */
  to: string | null;
  /** Until the first reply, or the pair's last round. */
  seconds: number;
  /** Lost rounds. */
  rounds: number;
}

/** A report of a pair or a group of pairs. */
export interface PairsSummary extends RoundsSummary {
  /** Share of the hours of the period with a round. */
  measured: number;
  days: ({ day: string } & RoundsSummary)[];
  /** By hour of the day. */
  hours: ({ hour: number } & RoundsSummary)[];
  worst_hours: { by_loss: HourSummary[]; by_median: HourSummary[] };
  before?: RoundsSummary;
  after?: RoundsSummary;
}

export interface PairSummary extends PairsSummary {
  src: string;
  src_name?: string;
  dst: string;
  dst_name?: string;
  /** At most 1,000 are listed; the counts include all. */
  outages: { count: number; seconds: number; longest_s: number; listed: Outage[] };
  /** The parts of the period without rounds, in whole hours. */
  not_measured: { from: string; to: string }[];
}

export interface GroupSummary extends PairsSummary {
  /** For example `all`, `src 192.0.2.1`, `dst AS3320` or `src DE`. */
  group: string;
  name?: string;
  pairs: number;
  /** All outages of its pairs. */
  outages: { count: number; seconds: number; longest_s: number };
}

/** An alarm of `watch` in the period. */
export interface ReportedAlarm extends Pick<AlarmLine, "alarm" | "cause" | "src" | "dst" | "text"> {
  from: string;
  /** Null if it has not ended. */
  to: string | null;
}

export interface PeriodReport {
  /** The requested period, or else the times of the first and last round. */
  from: string;
  to: string;
  compare_at?: string;
  /** Measurements of the whole input that are not in the report, by reason. */
  left_out: Record<string, number>;
  /** Lowest availability first, pairs with few rounds later. */
  pairs: PairSummary[];
  /** All pairs, then groups of two or more that share a source, a destination, or its AS or country. */
  groups: GroupSummary[];
  alarms: ReportedAlarm[];
}

/** The report as JSON, in parts: that of many pairs is too long for one text. */
export function* reportJson({ pairs, groups, alarms, ...head }: PeriodReport): Generator<string> {
  yield `${JSON.stringify(head).slice(0, -1)},"pairs":[`;
  for (const [i, pair] of pairs.entries()) yield `${i > 0 ? "," : ""}\n${JSON.stringify(pair)}`;
  yield `\n],"groups":${JSON.stringify(groups)},"alarms":${JSON.stringify(alarms)}}\n`;
}

/** Collects a report from measurements, which must be in order of time for each pair. */
export class PeriodTally {
  readonly #options: PeriodOptions;
  readonly #pairs = new Map<string, PairRounds>();
  readonly #alarms = new Map<number, ReportedAlarm>();
  readonly #span = { firstS: Infinity, lastS: -Infinity };
  #numOfFurther = 0;

  constructor(options: PeriodOptions) {
    this.#options = options;
  }

  get numPairs(): number {
    return this.#pairs.size;
  }

  /** Adds a round of a pair. @throws {UserError} If the period is too long. */
  add(pair: Pick<WatchedPair, "src" | "dst" | "ends">, measurement: TimedMeasurement): void {
    const { fromS = -Infinity, toS = Infinity, compareAtS, maxPairs } = this.#options;
    const { timeS } = measurement;
    if (timeS < fromS || timeS >= toS) return;
    const key = `${pair.src} ${pair.dst}`;
    let rounds = this.#pairs.get(key);
    if (!rounds) {
      if (this.#pairs.size >= maxPairs) {
        this.#numOfFurther++;
        return;
      }
      this.#pairs.set(key, rounds = new PairRounds(pair, compareAtS));
    }
    this.#span.firstS = Math.min(this.#span.firstS, timeS);
    this.#span.lastS = Math.max(this.#span.lastS, timeS);
    if (this.#span.lastS - this.#span.firstS > MAX_DAYS * DAY_S) {
      throw new UserError(
        `Cannot report from ${isoTime(this.#span.firstS)} to ${
          isoTime(this.#span.lastS)
        }: expected at most ` +
          `${MAX_DAYS} days; choose some of them with --period`,
      );
    }
    rounds.add(measurement);
  }

  /** Adds a line of `watch`. */
  addAlarm({ event, alarm, cause, src, dst, since, time, text }: AlarmLine): void {
    const known = this.#alarms.get(alarm);
    if (event === "begin") this.#alarms.set(alarm, { alarm, cause, src, dst, text, from: since, to: null });
    else if (known) {
      // An alarm that changes after its end is open again.
      known.to = event === "end" ? time : null;
      if (event === "change") known.text = text;
    }
  }

  /**
   * The report of all rounds so far.
   *
   * @param leftOut Counts of other measurements that are not in it, by reason.
   * @throws {UserError} If there are no rounds.
   */
  report(leftOut: Readonly<Record<string, number>> = {}): PeriodReport {
    const { fromS: firstS = this.#span.firstS, toS } = this.#options;
    // The end is excluded.
    const lastS = toS === undefined ? this.#span.lastS : toS - 1;
    if (this.#pairs.size === 0) {
      throw new UserError("Cannot report: found no measurements in the period; correct --period");
    }
    const { compareAtS, names = NO_NAMES } = this.#options;
    const span = { firstS, lastS, isCompared: compareAtS !== undefined };
    const numIn = new Map<string, number>();
    const pairs = [...this.#pairs.values()];
    const groupsOf = ({ pair }: PairRounds) => [{ text: "all" }, ...pair.ends];
    for (const pair of pairs) {
      pair.finish();
      for (const { text } of groupsOf(pair)) addToCount(numIn, text, 1);
    }
    const groups = new Map<string, Rounds>();
    for (const pair of pairs) {
      for (const { text } of groupsOf(pair)) {
        if ((numIn.get(text) ?? 0) > 1) getOrMake(groups, text, () => new Rounds()).merge(pair.rounds);
      }
    }
    const alarms = [...this.#alarms.values()].filter(({ from, to }) =>
      from <= isoTime(lastS) && (to === null || to >= isoTime(firstS))
    );
    return {
      from: isoTime(firstS),
      to: isoTime(toS ?? lastS),
      ...(compareAtS !== undefined && { compare_at: isoTime(compareAtS) }),
      left_out: { ...leftOut, of_further_pairs: this.#numOfFurther },
      pairs: pairs.map((pair) => pair.summary(span, names)).sort((a, b) =>
        lossRate(b) - lossRate(a) || (b.median_ms ?? 0) - (a.median_ms ?? 0)
      ),
      groups: Array.from(groups, ([group, rounds]) => {
        const name = names.of(group.replace(/^(src|dst) /, ""));
        return {
          group,
          ...(name !== undefined && { name }),
          pairs: numIn.get(group) ?? 0,
          ...rounds.summary(span),
          outages: rounds.outages,
        };
      }).sort((a, b) => b.pairs - a.pairs || (a.group < b.group ? -1 : 1)),
      alarms,
    };
  }
}

/** The period of a report, by its first and last second. */
interface Span {
  readonly firstS: number;
  readonly lastS: number;
  /** Whether rounds before and after a time are compared. */
  readonly isCompared: boolean;
}

/** The rounds of a pair or a group, hour by hour. */
class Rounds {
  readonly #all = new RttTally();
  readonly #days = new Map<number, RttTally>();
  readonly #hoursOfDay = new Map<number, RttTally>();
  /** By hours since 1970. */
  readonly hours = new Map<number, Omit<HourSummary, "time">>();
  readonly before = new RttTally();
  readonly after = new RttTally();
  readonly outages = { count: 0, seconds: 0, longest_s: 0 };

  /** Adds the rounds of an hour. @param hour Hours since 1970. */
  addHour(hour: number, rounds: RttTally): void {
    this.#all.merge(rounds);
    mergeInto(this.#days, Math.floor(hour / HOURS_PER_DAY), rounds);
    mergeInto(this.#hoursOfDay, hour % HOURS_PER_DAY, rounds);
    // An hour can come twice if the pair's clock was set back.
    const counts = this.#countHour(hour, { rounds: rounds.numRounds, lost: rounds.numLost });
    counts.median_ms = msOf(rounds.quantileMs(0.5));
  }

  #countHour(hour: number, { rounds, lost }: { rounds: number; lost: number }): Omit<HourSummary, "time"> {
    const counts = getOrMake(this.hours, hour, () => ({ rounds: 0, lost: 0, median_ms: null }));
    counts.rounds += rounds;
    counts.lost += lost;
    return counts;
  }

  addOutages({ count, seconds, longestS }: { count: number; seconds: number; longestS: number }): void {
    this.outages.count += count;
    this.outages.seconds += seconds;
    this.outages.longest_s = Math.max(this.outages.longest_s, longestS);
  }

  merge(other: Rounds): void {
    this.#all.merge(other.#all);
    this.before.merge(other.before);
    this.after.merge(other.after);
    for (const [day, tally] of other.#days) mergeInto(this.#days, day, tally);
    for (const [hour, tally] of other.#hoursOfDay) mergeInto(this.#hoursOfDay, hour, tally);
    for (const [hour, counts] of other.hours) this.#countHour(hour, counts);
    this.addOutages({ ...other.outages, longestS: other.outages.longest_s });
  }

  summary({ firstS, lastS, isCompared }: Span): PairsSummary {
    const [firstDay, lastDay] = [firstS, lastS].map((timeS) => Math.floor(timeS / DAY_S));
    const [firstHour, lastHour] = [firstS, lastS].map((timeS) => Math.floor(timeS / HOUR_S));
    const hours = Array.from(this.hours, ([hour, counts]) => ({ time: isoTime(HOUR_S * hour), ...counts }));
    return {
      ...summaryOf(this.#all),
      measured: this.hours.size / (lastHour - firstHour + 1),
      days: Array.from({ length: lastDay - firstDay + 1 }, (_, i) => ({
        day: isoTime(DAY_S * (firstDay + i)).slice(0, 10),
        ...summaryOf(this.#days.get(firstDay + i)),
      })),
      hours: Array.from({ length: HOURS_PER_DAY }, (_, hour) => ({
        hour,
        ...summaryOf(this.#hoursOfDay.get(hour)),
      })),
      worst_hours: {
        by_loss: hours.filter(({ lost }) => lost > 0).sort((a, b) => lossRate(b) - lossRate(a))
          .slice(0, NUM_WORST),
        by_median: hours.filter(({ median_ms }) => median_ms !== null)
          .sort((a, b) => Number(b.median_ms) - Number(a.median_ms)).slice(0, NUM_WORST),
      },
      ...(isCompared && { before: summaryOf(this.before), after: summaryOf(this.after) }),
    };
  }
}

/** The rounds of a pair as they come. */
class PairRounds {
  readonly rounds = new Rounds();
  readonly #outages = new OutageList();
  /** Known at the end. */
  #listed: readonly LossSeries[] = [];
  /** The rounds of the current hour since 1970. */
  #current = { hour: -Infinity, tally: new RttTally() };
  #lastRttMs = NaN;

  constructor(
    readonly pair: Pick<WatchedPair, "src" | "dst" | "ends">,
    readonly compareAtS: number | undefined,
  ) {}

  add(measurement: TimedMeasurement): void {
    const { timeS, rttCode } = measurement;
    const rttMs = measurement.rttMs ?? rttMsOf(measurement);
    const differenceMs = Math.abs(rttMs - this.#lastRttMs);
    const hour = Math.floor(timeS / HOUR_S);
    if (hour !== this.#current.hour) this.#endHour(hour);
    this.#current.tally.add(rttCode, differenceMs);
    if (this.compareAtS !== undefined) {
      (timeS < this.compareAtS ? this.rounds.before : this.rounds.after).add(rttCode, differenceMs);
    }
    this.#outages.add(rttCode === null, timeS);
    if (rttCode !== null) this.#lastRttMs = rttMs;
  }

  finish(): void {
    this.#endHour(Infinity);
    this.#outages.finish();
    const { listed, ...all } = this.#outages.outages();
    this.#listed = listed;
    this.rounds.addOutages(all);
  }

  summary(span: Span, names: AddressNames): PairSummary {
    const { src, dst } = this.pair;
    const { src_name, dst_name } = names.namedEnds({ src, dst });
    return {
      src,
      ...(src_name !== undefined && { src_name }),
      dst,
      ...(dst_name !== undefined && { dst_name }),
      ...this.rounds.summary(span),
      outages: {
        ...this.rounds.outages,
        listed: this.#listed.map(({ fromS, toS, ...each }) => ({
          from: isoTime(fromS),
          to: toS === undefined ? null : isoTime(toS),
          ...each,
        })),
      },
      not_measured: gapsOf(this.rounds.hours, span),
    };
  }

  #endHour(next: number): void {
    const { hour, tally } = this.#current;
    if (tally.numRounds > 0) this.rounds.addHour(hour, tally);
    this.#current = { hour: next, tally: new RttTally() };
  }
}

/** The parts of a period without rounds. @param hours The hours since 1970 that have rounds. */
function gapsOf(hours: ReadonlyMap<number, unknown>, { firstS, lastS }: Span): PairSummary["not_measured"] {
  const [first, last] = [firstS, lastS].map((timeS) => Math.floor(timeS / HOUR_S));
  const measured = [first - 1, ...hours.keys(), last + 1].sort((a, b) => a - b);
  return measured.slice(1).flatMap((hour, i) => {
    const from = measured[i] + 1;
    return hour > from ? [{ from: isoTime(HOUR_S * from), to: isoTime(HOUR_S * hour) }] : [];
  });
}

function mergeInto(tallies: Map<number, RttTally>, key: number, added: RttTally): void {
  getOrMake(tallies, key, () => new RttTally()).merge(added);
}

/** @param tally Undefined without rounds. */
function summaryOf(tally = new RttTally()): RoundsSummary {
  const { numRounds: rounds, numLost: lost, availability, jitterMs } = tally;
  const [median_ms, q95, q99] = [0.5, 0.95, 0.99].map((q) => msOf(tally.quantileMs(q)));
  const jitter_ms = msOf(jitterMs);
  return { rounds, lost, availability, median_ms, "q0.95_ms": q95, "q0.99_ms": q99, jitter_ms };
}

/** The order of pairs and hours: a single loss of a few rounds is not the worst. */
function lossRate({ rounds, lost }: { rounds: number; lost: number }): number {
  return lost / (rounds + FEW_ROUNDS);
}

/** Rounds to five digits. */
function msOf(ms: number | null): number | null {
  return ms === null ? null : Number(ms.toPrecision(5));
}

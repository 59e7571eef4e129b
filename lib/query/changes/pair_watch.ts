/**
 * Alarms from measurements of many pairs of addresses, as they come: an alarm begins when the RTT of a pair leaves its
 * usual level, and ends when it returns or has lasted so long that the new level is the usual one.
 *
 * Alarms that begin at about the same time and share a source, a destination, an AS or a country are one group: probably
 * one cause. Memory is bounded: of too many pairs the one that was seen least recently is dropped.
 *
 * @module
 */
import { formatCount, formatTime } from "../../base/text.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import { decodeRttCode } from "../../data/tokens/rtt_code.ts";
import type { Place } from "../../data/addresses/place_table.ts";
import type { TimedMeasurement } from "../files/arriving.ts";
import {
  type Change,
  ChangeDetector,
  type ChangeOptions,
  DEFAULT_CHANGE_OPTIONS,
  type Level,
} from "./change_detector.ts";
import { type ClockTally, PairClock } from "./pair_clock.ts";

/** How pairs are watched. */
export interface WatchOptions {
  /** How changes are found. */
  readonly changes: ChangeOptions;
  /** The number of pairs that are remembered. */
  readonly maxPairs: number;
  /** The evidence of a change that begins an alarm, nats. */
  readonly minEvidence: number;
  /** How long an alarm may last until the new level is the usual one, s. */
  readonly newUsualAfterS: number;
  /** How far apart alarms of one group may begin, s. */
  readonly groupWithinS: number;
  /** Where an address is; groups share no AS and no country without it. */
  readonly placeOf?: ((address: Uint8Array) => WatchedPlace | undefined) | undefined;
  /** The time now, Unix seconds (the machine's). */
  readonly nowS?: (() => number) | undefined;
  /** Gets a line for the first measurements that are left out because of their time. */
  readonly log?: ((line: string) => void) | undefined;
}

/** The defaults of `watch`, but for the number of pairs. */
export const DEFAULT_WATCH_OPTIONS: Omit<WatchOptions, "maxPairs"> = {
  changes: DEFAULT_CHANGE_OPTIONS,
  minEvidence: 0,
  newUsualAfterS: 86_400,
  groupWithinS: 900,
};

/** The part of a place that alarms may share; 0 and an empty text are as good as absent. */
export type WatchedPlace = Pick<Place, "asNumber" | "countryCode">;

/** How far clocks of probes may be ahead of now, s. */
const AHEAD_S = 600;
/** The number of lines about wrong times. */
const MAX_TOLD_TIMES = 5;
/** An alarm ends when the RTT is within this share of the shift from its usual level. */
const BACK_SHARE = 0.5;
/** An alarm for losses ends when their share is within this of the usual one. */
const LOSS_BACK = 0.25;

/** Alarms that probably have one cause. */
export interface AlarmGroup {
  /** The number of the first alarm. */
  readonly id: number;
  /** The property of all its alarms: `src 192.0.2.1`, `dst AS3320` or `src DE`; undefined while there is only one. */
  shared: string | undefined;
  /** The alarms that have not ended. */
  numOpen: number;
  /** All that they share, the most specific first; of a single alarm all that it has. */
  ends: readonly SharedEnd[];
  /** When the first and the last of them began, Unix seconds. */
  readonly begun: [firstS: number, lastS: number];
}

/** An alarm of a pair. */
export interface Alarm {
  /** From 1, by the order in which they were told. */
  readonly id: number;
  /** The source's address. */
  readonly src: string;
  /** The destination's address. */
  readonly dst: string;
  /** When it began, Unix seconds. */
  sinceS: number;
  /** The pair's level before. */
  readonly usual: Level;
  /** Its level since the newest change. */
  now: Level;
  /** The alarms that probably have the same cause. */
  readonly group: AlarmGroup;
}

/** Why an alarm ended: its pair is as usual again, has a new usual level, or was dropped. */
export type EndReason = "usual" | "new usual" | "dropped";

/** The beginning, a change or the end of an alarm. */
export interface AlarmEvent {
  /** Which of these it is. */
  readonly kind: "begin" | "change" | "end";
  /** The alarm as it is now. */
  readonly alarm: Alarm;
  /** When, Unix seconds: the change, not when it was found. */
  readonly timeS: number;
  /** Of an end. */
  readonly reason?: EndReason;
  /** Of a beginning and of a change, nats. */
  readonly evidence?: number;
  /** Of a beginning: the pair's measurements before it, oldest first. */
  readonly history?: readonly TimedMeasurement[];
}

/** A property that alarms may share: an end's address, its AS or its country. */
export interface SharedEnd {
  /** Such as `src 192.0.2.1`, `dst AS3320` or `src DE`. */
  readonly text: string;
  /** 0 of an address, 1 of an AS, 2 of a country. */
  readonly breadth: number;
}

/** A pair that is watched. */
export interface WatchedPair {
  /** The source's address. */
  readonly src: string;
  /** The destination's address. */
  readonly dst: string;
  /** Where the source is. */
  readonly srcPlace: WatchedPlace;
  /** The newest measurements, oldest first; the last one is the detector's newest row. */
  readonly recent: readonly TimedMeasurement[];
  /** The alarm that has not ended. */
  readonly alarm: Alarm | undefined;
}

/** The state of a pair. */
interface Pair extends WatchedPair {
  /** From 1, by the order in which they were first seen. */
  readonly number: number;
  readonly ends: readonly SharedEnd[];
  readonly detector: ChangeDetector;
  readonly clock: PairClock;
  readonly recent: TimedMeasurement[];
  alarm: Alarm | undefined;
}

/** Watches pairs. */
export class PairWatch {
  readonly #options: WatchOptions;
  readonly #maxDelay: number;
  readonly #numKept: number;
  /** By addresses, least recently seen first. */
  readonly #pairs = new Map<string, Pair>();
  /** The groups with alarms that have not ended, by all that these share. */
  readonly #groups = new Map<string, Set<AlarmGroup>>();
  readonly #open = new Map<Alarm, Pair>();
  readonly #span = { firstS: Infinity, lastS: -Infinity };
  #numSeen = 0;
  #numToldTimes = 0;
  /** The number of alarms that have begun. */
  numAlarms = 0;
  /** The number of measurements that came. */
  numMeasurements = 0;
  /** The number of measurements that were not left out. */
  numUsed = 0;
  /** The number of measurements that were decided: `maxDelay` more came of their pair, or the input ended. */
  numDecided = 0;
  /** The number of measurements that came after a later one of their pair, and were left out. */
  numLate = 0;
  /** The number of measurements that were left out because they are after now. */
  numInFuture = 0;
  /** The number of measurements that were left out because others of their pair contradict their times. */
  numWrongClock = 0;
  /** The number of pairs that were dropped. */
  numDropped = 0;

  /** Watches no pair yet. */
  constructor(options: WatchOptions) {
    this.#options = options;
    // As many as the detector compares on both sides of a change.
    this.#maxDelay = Math.max(options.changes.delay, options.changes.maxDelay);
    this.#numKept = 2 * (this.#maxDelay + 1);
  }

  /** The number of pairs that are remembered. */
  get numPairs(): number {
    return this.#pairs.size;
  }

  /** The number of measurements that are not decided, among them those of pairs that were dropped. */
  get numUndecided(): number {
    const held = this.#pairs.values().reduce((sum, { clock }) => sum + clock.numHeld, 0);
    return this.numUsed - this.numDecided + held;
  }

  /** The time between the first and the last measurement that was used, s. */
  get spanS(): number {
    for (const pair of this.#pairs.values()) this.#widenSpan(pair);
    return Math.max(0, this.#span.lastS - this.#span.firstS);
  }

  /** The number of alarms that have not ended. */
  get numOpen(): number {
    return this.#open.size;
  }

  /** All pairs, least recently seen first. */
  pairs(): Iterable<WatchedPair> {
    return this.#pairs.values();
  }

  /** Those with an open alarm, the largest shifts first, then those that were first seen first. @param most In all. */
  foremostPairs(most: number): WatchedPair[] {
    const sizeOf = ({ usual, now }: Alarm) => Math.abs(now.medianMs - usual.medianMs) || 0;
    const alarmed = [...this.#open].sort(([a], [b]) => sizeOf(b) - sizeOf(a)).map(([, pair]) => pair);
    if (alarmed.length >= most) return alarmed.slice(0, most);
    const others = [...this.#pairs.values()].filter(({ alarm }) => !alarm).sort((a, b) =>
      a.number - b.number
    );
    return [...alarmed, ...others].slice(0, most);
  }

  /**
   * Adds a measurement with a time. One that is a little after now counts as one of now, so that it cannot make the next
   * ones late; one that is farther ahead is left out.
   *
   * @returns Its events, oldest first.
   */
  add(measurement: TimedMeasurement): AlarmEvent[] {
    this.numMeasurements++;
    const { source, destination } = measurement;
    const [src, dst] = [source, destination].map(formatAddress);
    const nowS = this.#options.nowS?.() ?? Date.now() / 1000;
    if (measurement.timeS > nowS + AHEAD_S) {
      this.numInFuture++;
      this.#tellTime(
        `${src} ${dst}: found the time ${formatTime(measurement.timeS)}, expected none after now`,
      );
      return [];
    }
    const events: AlarmEvent[] = [];
    const key = `${src} ${dst}`;
    const pair = this.#pairs.get(key) ?? this.#newPair(measurement, events);
    // The most recently seen pair is the last one.
    this.#pairs.delete(key);
    this.#pairs.set(key, pair);
    const timeS = Math.min(measurement.timeS, nowS);
    const { added, isBack } = pair.clock.take({ ...measurement, timeS }, pair.recent, this.#tallyOf(pair));
    if (isBack) setBack(pair, added[0].timeS);
    for (const each of added) events.push(...this.#use(pair, each));
    return events;
  }

  /**
   * Decides what is left, at the end of the input. No measurement may be added afterwards.
   *
   * @returns The events of all pairs, oldest first.
   */
  finish(): AlarmEvent[] {
    const events: AlarmEvent[] = [];
    const found: { pair: Pair; change: Change; timeS: number }[] = [];
    for (const pair of this.#pairs.values()) {
      for (const each of pair.clock.finish(this.#tallyOf(pair))) events.push(...this.#use(pair, each));
      for (const change of pair.detector.finish()) {
        found.push({ pair, change, timeS: pair.recent[placeOf(pair, change)].timeS });
      }
      this.numDecided += Math.min(this.#maxDelay, pair.detector.numRows);
    }
    // In this order alarms find their groups, as they do while measurements come.
    found.sort((a, b) => a.timeS - b.timeS);
    for (const { pair, change } of found) {
      events.push(...this.#eventsOf(pair, change, pair.recent.at(-1)?.timeS ?? NaN));
    }
    return events;
  }

  #use(pair: Pair, measurement: TimedMeasurement): AlarmEvent[] {
    this.numUsed++;
    // All measurements of a pair share its addresses.
    const { source, destination } = pair.recent.at(-1) ?? measurement;
    pair.recent.push({ ...measurement, source, destination });
    if (pair.recent.length > this.#numKept) pair.recent.shift();
    const change = pair.detector.add(rttMsOf(measurement));
    if (pair.detector.numRows > this.#maxDelay) this.numDecided++;
    return this.#eventsOf(pair, change, measurement.timeS);
  }

  #tallyOf({ src, dst }: Pair): ClockTally {
    return {
      late: (count) => this.numLate += count,
      wrongClock: (count, timeS, { wereUsed }) => {
        this.numWrongClock += count;
        if (wereUsed) {
          this.numUsed -= count;
          this.numDecided -= count;
        }
        this.#tellTime(
          `${src} ${dst}: found ${formatCount(count)} from ${
            formatTime(timeS)
          } on, far after those that followed: ` +
            "a wrong clock, or lines out of order",
        );
      },
    };
  }

  #tellTime(line: string): void {
    if (++this.#numToldTimes > MAX_TOLD_TIMES) return;
    this.#options.log?.(`${line}; left out`);
  }

  #widenSpan({ clock, recent }: Pair): void {
    this.#span.firstS = Math.min(this.#span.firstS, clock.startS);
    this.#span.lastS = Math.max(this.#span.lastS, recent.at(-1)?.timeS ?? -Infinity);
  }

  #newPair({ source, destination }: TimedMeasurement, events: AlarmEvent[]): Pair {
    if (this.#pairs.size >= this.#options.maxPairs) {
      const [[oldestKey, oldest]] = this.#pairs;
      this.#pairs.delete(oldestKey);
      this.#widenSpan(oldest);
      this.numDropped++;
      if (oldest.alarm) events.push(this.#end(oldest, oldest.recent.at(-1)?.timeS ?? NaN, "dropped"));
    }
    const { changes, placeOf } = this.#options;
    const [src, dst] = [source, destination].map(formatAddress);
    const [srcPlace, dstPlace] = [source, destination].map((address) => placeOf?.(address) ?? {});
    return {
      number: ++this.#numSeen,
      src,
      dst,
      srcPlace,
      ends: endsOf([["src", src, srcPlace], ["dst", dst, dstPlace]]),
      detector: new ChangeDetector(changes),
      clock: new PairClock(),
      recent: [],
      alarm: undefined,
    };
  }

  #eventsOf(pair: Pair, change: Change | undefined, nowS: number): AlarmEvent[] {
    const events: AlarmEvent[] = [];
    if (pair.alarm && nowS - pair.alarm.sinceS > this.#options.newUsualAfterS) {
      events.push(this.#end(pair, nowS, "new usual"));
    }
    if (!change) return events;
    const place = placeOf(pair, change);
    const { timeS } = pair.recent[place];
    const { alarm } = pair;
    if (alarm && isUsual(change.after, alarm)) {
      events.push(this.#end(pair, timeS, "usual"));
    } else if (alarm) {
      alarm.now = change.after;
      events.push({ kind: "change", alarm, timeS, evidence: change.evidence });
    } else if (change.evidence >= this.#options.minEvidence) {
      const begun = this.#begin(pair, change, timeS);
      const { evidence } = change;
      events.push({ kind: "begin", alarm: begun, timeS, evidence, history: pair.recent.slice(0, place) });
    }
    return events;
  }

  #begin(pair: Pair, { before, after }: Change, sinceS: number): Alarm {
    const { src, dst } = pair;
    const id = ++this.numAlarms;
    const group = this.#groupOf(pair, sinceS) ?? this.#newGroup(id, pair, sinceS);
    const alarm: Alarm = { id, src, dst, sinceS, usual: before, now: after, group };
    group.numOpen++;
    pair.alarm = alarm;
    this.#open.set(alarm, pair);
    return alarm;
  }

  #newGroup(id: number, { ends }: Pair, sinceS: number): AlarmGroup {
    const group: AlarmGroup = { id, shared: undefined, numOpen: 0, ends, begun: [sinceS, sinceS] };
    for (const { text } of ends) this.#groups.set(text, (this.#groups.get(text) ?? new Set()).add(group));
    return group;
  }

  /** The group with which an alarm shares the most specific, of these the largest. It then shares only that. */
  #groupOf({ ends }: Pair, sinceS: number): AlarmGroup | undefined {
    let found: { group: AlarmGroup; breadth: number } | undefined;
    for (const { text, breadth } of ends) {
      if (found && found.breadth < breadth) break;
      for (const group of this.#groups.get(text) ?? []) {
        const [firstS, lastS] = group.begun;
        const { groupWithinS } = this.#options;
        if (sinceS < firstS - groupWithinS || sinceS > lastS + groupWithinS) continue;
        if (group.numOpen > (found?.group.numOpen ?? 0)) found = { group, breadth };
      }
    }
    const group = found?.group;
    if (!group) return undefined;
    const own = new Set(ends.map(({ text }) => text));
    for (const { text } of group.ends) if (!own.has(text)) this.#leave(group, text);
    group.ends = group.ends.filter(({ text }) => own.has(text));
    group.shared = group.ends[0].text;
    group.begun[0] = Math.min(group.begun[0], sinceS);
    group.begun[1] = Math.max(group.begun[1], sinceS);
    return group;
  }

  #leave(group: AlarmGroup, end: string): void {
    const sharing = this.#groups.get(end);
    sharing?.delete(group);
    if (sharing?.size === 0) this.#groups.delete(end);
  }

  #end(pair: Pair, timeS: number, reason: EndReason): AlarmEvent {
    const alarm = pair.alarm as Alarm;
    const { group } = alarm;
    pair.alarm = undefined;
    this.#open.delete(alarm);
    if (--group.numOpen === 0) { for (const { text } of group.ends) this.#leave(group, text); }
    return { kind: "end", alarm, timeS, reason };
  }
}

/** The index of a change's row in the pair's recent measurements. */
function placeOf({ detector, recent }: Pair, { row }: Change): number {
  return row - detector.numRows + recent.length;
}

/** Takes a pair back to before its newest measurements, whose times were wrong. @param timeS Where it goes on. */
function setBack({ recent, alarm }: Pair, timeS: number): void {
  recent.forEach((each, i) => recent[i] = { ...each, timeS: Math.min(each.timeS, timeS) });
  if (alarm) alarm.sinceS = Math.min(alarm.sinceS, timeS);
}

/** The RTT of a measurement, ms; NaN for a loss. */
export function rttMsOf({ rttCode }: Pick<TimedMeasurement, "rttCode">): number {
  return rttCode === null ? NaN : decodeRttCode(rttCode);
}

/** The properties that alarms of a pair may share, the most specific first. */
function endsOf(
  sides: readonly (readonly [side: string, address: string, place: WatchedPlace])[],
): SharedEnd[] {
  return [
    ...sides.map(([side, address]) => ({ text: `${side} ${address}`, breadth: 0 })),
    ...sides.flatMap(([side, , { asNumber }]) =>
      asNumber ? [{ text: `${side} AS${asNumber}`, breadth: 1 }] : []
    ),
    ...sides.flatMap(([side, , { countryCode }]) =>
      countryCode ? [{ text: `${side} ${countryCode}`, breadth: 2 }] : []
    ),
  ];
}

/** Whether a level is that before an alarm. */
function isUsual(level: Level, { usual, now }: Alarm): boolean {
  if (Math.abs(level.lossRate - usual.lossRate) > LOSS_BACK) return false;
  // NaN where all is lost: then only losses count.
  const shiftMs = Math.abs(now.medianMs - usual.medianMs);
  return !(Math.abs(level.medianMs - usual.medianMs) > BACK_SHARE * shiftMs);
}

/**
 * The evidence that changes must have so that at most a number of them in a time are found.
 *
 * @param evidences Of the changes that were found in measurements that are taken to be normal, nats.
 * @param spanDays How long these took.
 * @param perDay How many are allowed.
 */
export function evidenceThreshold(evidences: readonly number[], spanDays: number, perDay: number): number {
  const descending = evidences.toSorted((a, b) => b - a);
  const numAllowed = Math.floor(perDay * spanDays);
  // Just above the first one that is too many.
  return numAllowed >= descending.length ? 0 : descending[numAllowed] + 1e-9;
}

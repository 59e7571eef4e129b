/**
 * Alarms from measurements of many pairs of addresses, as they come: an alarm begins when a pair stops replying
 * or its RTT leaves its usual level, and ends when it returns or a new level has lasted so long that it is the
 * usual one.
 *
 * Losses of an outage are not rows of the change detector, so the usual level after an outage is that before
 * it. Memory is bounded: if there are too many pairs, the least recently seen one is dropped.
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
  levelOf,
} from "./change_detector.ts";
import {
  type Alarm,
  type AlarmCause,
  type AlarmChoice,
  type AlarmEvent,
  Alarms,
  type Calibration,
  type Departure,
  type EndReason,
  type Finding,
  type SharedEnd,
  shiftOf,
} from "./alarms.ts";
import { OutageDetector, REPLIES_BACK } from "./outage_detector.ts";
import { type ClockTally, PairClock } from "./pair_clock.ts";

/** How pairs are watched. */
export interface WatchOptions extends AlarmChoice {
  /** How changes are found. */
  readonly changes: ChangeOptions;
  /** The number of pairs that are remembered. */
  readonly maxPairs: number;
  /** What the evidence of alarms is compared with (the input until then). */
  readonly calibration?: Calibration | undefined;
  /** Whether alarms wait for the end of the input, which they are then chosen from; pairs may come in any order. */
  readonly isWhole?: boolean | undefined;
  /** Whether an alarm was told before, so that it is told whatever its evidence. */
  readonly wasTold?: ((finding: Finding) => boolean) | undefined;
  /** How long an alarm may last until the new level is the usual one, s. */
  readonly newUsualAfterS: number;
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
  alarmsPerDay: 5,
  newUsualAfterS: 86_400,
  groupWithinS: 900,
};

/** The part of a place that alarms may share. */
export type WatchedPlace = Pick<Place, "asNumber" | "countryCode">;

/** How far clocks of probes may be ahead of now, s. */
const AHEAD_S = 600;
/** The number of lines about wrong times. */
const MAX_TOLD_TIMES = 5;
/** An alarm ends when the RTT is within this share of the shift from its usual level. */
const BACK_SHARE = 0.5;
/** More losses in a row without a usual share of them are not rows of the detector: there is nothing to compare. */
const MAX_LOSSES = 50;
/** An alarm for losses ends when their share is within this of the usual one. */
const LOSS_BACK = 0.25;

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
  /** The open alarm; an outage before a shift. */
  readonly alarm: Alarm | undefined;
}

interface Pair extends WatchedPair {
  /** In the order in which pairs were first seen. */
  readonly number: number;
  readonly ends: readonly SharedEnd[];
  readonly clock: PairClock;
  readonly recent: TimedMeasurement[];
  readonly detector: ChangeDetector;
  /** The detector's newest rows, oldest first. */
  readonly rows: TimedMeasurement[];
  readonly outages: OutageDetector;
  /** The losses since the detector's last row. */
  readonly losses: TimedMeasurement[];
  /** The beginning of the open outage. */
  outage: Finding | undefined;
  shift: Departure | undefined;
  /** The last shift whose level became the usual one. */
  former: Departure | undefined;
}

/** Watches pairs. */
export class PairWatch {
  readonly #options: WatchOptions;
  readonly #maxDelay: number;
  readonly #numKept: number;
  /** By addresses, least recently seen first. */
  readonly #pairs = new Map<string, Pair>();
  readonly #alarms: Alarms;
  /** Findings that wait for the end of the input. */
  readonly #findings: Finding[] = [];
  readonly #span = { firstS: Infinity, lastS: -Infinity };
  #numSeen = 0;
  #numToldTimes = 0;
  /** The number of measurements that came. */
  numMeasurements = 0;
  /** The number of measurements that were not left out. */
  numUsed = 0;
  /** Decided measurements: `maxDelay` more came of their pair, or the input ended. */
  numDecided = 0;
  /** Measurements that were left out since they came after a later one of their pair. */
  numLate = 0;
  /** Measurements that were left out since they are after now. */
  numInFuture = 0;
  /** Measurements that were left out since others of their pair contradict their times. */
  numWrongClock = 0;
  /** The number of pairs that were dropped. */
  numDropped = 0;

  /** Watches no pair yet. */
  constructor(options: WatchOptions) {
    this.#options = options;
    this.#alarms = new Alarms(options, () => this.spanS);
    if (options.calibration) this.#alarms.calibrate(options.calibration);
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

  /** The alarms that were told. */
  get alarms(): Pick<Alarms, "numAlarms" | "numGroups" | "numOpen" | "numDepartures" | "needed"> {
    return this.#alarms;
  }

  /** All pairs, least recently seen first. */
  pairs(): Iterable<WatchedPair> {
    return this.#pairs.values();
  }

  /** Those with an open alarm, the largest shifts first, then those that were first seen first. @param most In all. */
  foremostPairs(most: number): WatchedPair[] {
    const sizeOf = ({ alarm }: WatchedPair) => alarm ? shiftOf(alarm) : -1;
    const pairs = [...this.#pairs.values()];
    return pairs.sort((a, b) => sizeOf(b) - sizeOf(a) || a.number - b.number).slice(0, most);
  }

  /**
   * Adds a measurement. One that is a little after now counts as now, so that it cannot make the next ones
   * late; one that is farther ahead is left out.
   *
   * @returns The events to report now, oldest first.
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
    const findings: Finding[] = [];
    const key = `${src} ${dst}`;
    const pair = this.#pairs.get(key) ?? this.#newPair(measurement, findings);
    // The most recently seen pair is the last one.
    this.#pairs.delete(key);
    this.#pairs.set(key, pair);
    const timeS = Math.min(measurement.timeS, nowS);
    const { added, isBack } = pair.clock.take({ ...measurement, timeS }, pair.recent, this.#tallyOf(pair));
    if (isBack) setBack(pair, added[0].timeS);
    for (const each of added) findings.push(...this.#use(pair, each));
    if (!this.#options.isWhole) return [...this.#choose(findings)];
    this.#findings.push(...findings);
    return [];
  }

  /**
   * Decides what is left, at the end of the input.
   *
   * @returns The remaining events of all pairs, oldest first. Each alarm is as it was then until the next event
   *   is asked for.
   */
  finish(): Iterable<AlarmEvent> {
    const findings = this.#findings;
    for (const pair of this.#pairs.values()) {
      for (const each of pair.clock.finish(this.#tallyOf(pair))) findings.push(...this.#use(pair, each));
      for (const change of pair.detector.finish()) findings.push(...this.#findingsOf(pair, change));
      this.numDecided += Math.min(this.#maxDelay, pair.detector.numRows) + pair.losses.length;
    }
    if (this.#options.isWhole && !this.#options.calibration) this.#alarms.calibrate();
    // In this order alarms find their groups, as they do while measurements come.
    return this.#choose(findings.sort((a, b) => a.timeS - b.timeS));
  }

  /** The departures so far, to compare another input with. */
  get departures(): readonly Departure[] {
    return this.#alarms.departures;
  }

  *#choose(findings: readonly Finding[]): Generator<AlarmEvent> {
    for (const finding of findings) {
      const event = this.#alarms.take(finding, this.#options.wasTold?.(finding));
      if (event) yield event;
    }
  }

  #use(pair: Pair, measurement: TimedMeasurement): Finding[] {
    this.numUsed++;
    // All measurements of a pair share its addresses.
    const { source, destination } = pair.recent.at(-1) ?? measurement;
    const own = { ...measurement, source, destination };
    pair.recent.push(own);
    if (pair.recent.length > this.#numKept) pair.recent.shift();
    return own.rttCode === null ? this.#useLoss(pair, own) : this.#useReply(pair, own);
  }

  #useLoss(pair: Pair, measurement: TimedMeasurement): Finding[] {
    const { outages, losses } = pair;
    losses.push(measurement);
    const isFound = outages.add(true) !== undefined;
    if (isFound) this.#beginOutage(pair, losses[0].timeS);
    if (!outages.isOut && outages.numLost <= MAX_LOSSES) return [];
    this.numDecided += losses.splice(0).length;
    const { outage } = pair;
    if (!outage) return [];
    outage.evidence = outage.departure.evidence = outages.evidence;
    // What waits for the end of the input has the evidence that it grows to.
    return outage.departure.alarm || this.#options.isWhole && !isFound ? [] : [outage];
  }

  #useReply(pair: Pair, measurement: TimedMeasurement): Finding[] {
    const findings: Finding[] = [];
    if (pair.outages.add(false) && pair.outage) {
      const timeS = pair.recent[pair.recent.length - REPLIES_BACK].timeS;
      findings.push(endOf(pair.outage.departure, timeS, "usual"));
      pair.outage = undefined;
    }
    for (const row of [...pair.losses.splice(0), measurement]) {
      pair.rows.push(row);
      if (pair.rows.length > this.#numKept) pair.rows.shift();
      const change = pair.detector.add(rttMsOf(row));
      if (pair.detector.numRows > this.#maxDelay) this.numDecided++;
      findings.push(...this.#findingsOf(pair, change));
    }
    return findings;
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

  #newPair({ source, destination }: TimedMeasurement, findings: Finding[]): Pair {
    if (this.#pairs.size >= this.#options.maxPairs) {
      const [[oldestKey, oldest]] = this.#pairs;
      this.#pairs.delete(oldestKey);
      this.#widenSpan(oldest);
      this.numDropped++;
      const timeS = oldest.recent.at(-1)?.timeS ?? NaN;
      for (const departure of [oldest.outage?.departure, oldest.shift]) {
        if (departure) findings.push(endOf(departure, timeS, "dropped"));
      }
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
      clock: new PairClock(),
      recent: [],
      detector: new ChangeDetector(changes),
      rows: [],
      outages: new OutageDetector(changes.penalty),
      losses: [],
      outage: undefined,
      shift: undefined,
      former: undefined,
      get alarm() {
        return this.outage?.departure.alarm ?? this.shift?.alarm;
      },
    };
  }

  #findingsOf(pair: Pair, change: Change | undefined): Finding[] {
    const findings: Finding[] = [];
    const nowS = pair.rows.at(-1)?.timeS ?? NaN;
    if (pair.shift && nowS - pair.shift.sinceS > this.#options.newUsualAfterS) {
      findings.push(endOf(pair.shift, nowS, "new usual"));
      pair.former = pair.shift;
      pair.shift = undefined;
    }
    if (!change) return findings;
    const { after: now, evidence } = change;
    const place = placeOf(pair, change);
    const { timeS } = pair.rows[place];
    const history = pair.rows.slice(0, place);
    const { shift } = pair;
    if (shift && isUsual(now, shift)) {
      findings.push(endOf(shift, timeS, "usual"));
      pair.shift = undefined;
    } else if (shift) {
      shift.now = now;
      shift.evidence = Math.max(shift.evidence, evidence);
      findings.push({ kind: "change", departure: shift, now, timeS, evidence, history });
    } else if (change.row > this.#options.changes.delay && !isRecovery(change, pair.former)) {
      const departure = this.#depart(pair, "shift", { timeS, usual: change.before, now, evidence });
      pair.shift = departure;
      findings.push({ kind: "begin", departure, now, timeS, evidence, history });
    }
    return findings;
  }

  #beginOutage(pair: Pair, timeS: number): void {
    const { outages, rows, recent } = pair;
    const { evidence } = outages;
    const now = { medianMs: NaN, spreadMs: NaN, lossRate: 1 };
    const departure = this.#depart(pair, "outage", {
      timeS,
      usual: levelOf(rows.map(rttMsOf)),
      now,
      evidence,
    });
    const history = recent.slice(0, Math.max(0, recent.length - outages.numLost));
    pair.outage = { kind: "begin", departure, now, timeS, evidence, history };
  }

  #depart(
    { src, dst, ends }: Pair,
    cause: AlarmCause,
    { timeS, usual, now, evidence }: { timeS: number; usual: Level; now: Level; evidence: number },
  ): Departure {
    const departure = { cause, src, dst, ends, sinceS: timeS, usual, now, evidence, alarm: undefined };
    this.#alarms.add(departure);
    return departure;
  }
}

function endOf(departure: Departure, timeS: number, reason: EndReason): Finding {
  return { kind: "end", departure, now: departure.now, timeS, reason };
}

function placeOf({ detector, rows }: Pair, { row }: Change): number {
  return row - detector.numRows + rows.length;
}

/** Moves a pair back to before its newest measurements, whose times were wrong. @param timeS Where it goes on. */
function setBack({ recent, rows, losses, outage, shift }: Pair, timeS: number): void {
  for (const kept of [recent, rows, losses]) {
    kept.forEach((each, i) => kept[i] = { ...each, timeS: Math.min(each.timeS, timeS) });
  }
  for (const departure of [outage?.departure, shift]) {
    for (const each of [departure, departure?.alarm]) if (each) each.sinceS = Math.min(each.sinceS, timeS);
  }
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

/** Whether a level is the one before a shift. */
function isUsual(level: Level, { usual, now }: Departure): boolean {
  if (Math.abs(level.lossRate - usual.lossRate) > LOSS_BACK) return false;
  // NaN where all is lost: then only losses count.
  const shiftMs = Math.abs(now.medianMs - usual.medianMs);
  return !(Math.abs(level.medianMs - usual.medianMs) > BACK_SHARE * shiftMs);
}

/** Whether a change leads to fewer losses, or back to the level before the shift that became the usual one. */
function isRecovery({ before, after }: Change, former: Departure | undefined): boolean {
  if (before.lossRate - after.lossRate > LOSS_BACK) return true;
  const isWorse = after.medianMs > before.medianMs || after.lossRate > before.lossRate;
  return former !== undefined && !isWorse && isUsual(after, former);
}

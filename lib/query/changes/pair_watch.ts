/**
 * Raises alarms from a stream of measurements of many address pairs. An alarm begins when a pair stops
 * replying or its RTT leaves its usual level. It ends when the pair returns to that level, or when a new
 * level has lasted long enough to become the usual one.
 *
 * The change detector does not see the losses of an outage, so the usual level after an outage is the one
 * before it. Memory is bounded: if there are too many pairs, the least recently seen one is dropped.
 *
 * @module
 */
import { addToCount } from "../../base/collections.ts";
import { formatCount, isoTime } from "../../base/text.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import { decodeRttCode } from "../../data/tokens/rtt_code.ts";
import type { Place } from "../../data/addresses/place_table.ts";
import type { TimedMeasurement } from "../files/arriving.ts";
import {
  type Change,
  ChangeDetector,
  type ChangeOptions,
  DEFAULT_CHANGE_OPTIONS,
  isShift,
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
import { type Limit, LimitDetector, limitsOf } from "./limits.ts";
import { parseTimedMeasurement, type QuestionMeasurement } from "../rtt/rtt_question.ts";
import { Course } from "./course.ts";
import { LossRateDetector, type LossRise } from "./loss_rate.ts";
import { OutageDetector, REPLIES_BACK } from "./outage_detector.ts";
import { type ClockTally, PairClock } from "./pair_clock.ts";
import { type TimedRtt, UsualHours } from "./usual_hours.ts";

/** Options for watching pairs. */
export interface WatchOptions extends AlarmChoice {
  /** Options of the change detector. */
  readonly changes: ChangeOptions;
  /** Maximum number of pairs to remember. */
  readonly maxPairs: number;
  /** What the evidence of alarms is compared with (default: the input so far). */
  readonly calibration?: Calibration | undefined;
  /** Whether an alarm was reported before, so that it is reported again regardless of its evidence. */
  readonly wasTold?: ((finding: Finding) => boolean) | undefined;
  /** How long a new level must last to become the usual one, which ends its alarm, s. */
  readonly newUsualAfterS: number;
  /** Fixed limits, whose alarms need no evidence (none). */
  readonly limits?: readonly Limit[] | undefined;
  /** Locates an address; without it, groups share no AS or country. */
  readonly placeOf?: ((address: Uint8Array) => WatchedPlace | undefined) | undefined;
  /** Current time, Unix seconds (default: the machine's clock). */
  readonly nowS?: (() => number) | undefined;
  /** Receives each measurement that is not left out, in order of time for its pair. */
  readonly onUsed?: ((pair: WatchedPair, measurement: TimedMeasurement) => void) | undefined;
  /** Receives a line for each of the first measurements left out because of their time. */
  readonly log?: ((line: string) => void) | undefined;
}

/** The defaults of `watch`. */
const DEFAULT_WATCH_OPTIONS: WatchOptions = {
  changes: DEFAULT_CHANGE_OPTIONS,
  maxPairs: 20_000,
  alarmsPerDay: 5,
  newUsualAfterS: 86_400,
  groupWithinS: 900,
};

/** @internal The properties of a place that alarms may share. */
type WatchedPlace = Pick<Place, "asNumber" | "countryCode">;

/** How far probe clocks may be ahead of now, s. */
const AHEAD_S = 600;
/** Maximum number of lines about wrong times. */
const MAX_TOLD_TIMES = 5;
/** An alarm ends when the RTT is within this share of the shift from its usual level. */
const BACK_SHARE = 0.5;
/** A departure continues the last one of its pair if the pair was back for less than this many times its length. */
const QUIET_FACTOR = 4;
/** Longer runs of losses without a usual loss rate skip the detector: there is nothing to compare. */
const MAX_LOSSES = 50;

/** @internal A watched pair. */
export interface WatchedPair {
  readonly src: string;
  readonly dst: string;
  readonly srcPlace: WatchedPlace;
  /** What its alarms may share with those of other pairs, most specific first. */
  readonly ends: readonly SharedEnd[];
  /** The newest measurements, oldest first. The last one is the detector's newest row. */
  readonly recent: readonly TimedMeasurement[];
  /** The open alarm. If there are several, the outage takes precedence, then the shift. */
  readonly alarm: Alarm | undefined;
}

interface Pair extends WatchedPair {
  /** Counts pairs in the order in which they were first seen. */
  readonly number: number;
  readonly clock: PairClock;
  readonly recent: TimedMeasurement[];
  readonly detector: ChangeDetector;
  /** The detector's newest rows, oldest first. */
  readonly rows: TimedMeasurement[];
  readonly outages: OutageDetector;
  /** Losses since the detector's last row. */
  readonly losses: TimedMeasurement[];
  /** Beginning of the open outage. */
  outage: Finding | undefined;
  shift: Departure | undefined;
  readonly limits: readonly { detector: LimitDetector; passed: Departure | undefined }[];
  readonly hours: UsualHours;
  readonly lossRates: LossRateDetector;
  /** Beginning of the open rise of the loss rate. */
  rise: Finding | undefined;
  /** The last shift whose level became the usual one. */
  former: Departure | undefined;
  /** The last departures that ended, of losses and of RTTs, and when, Unix seconds. */
  readonly last: Record<"losses" | "rtts", { departure: Departure; endS: number } | undefined>;
}

/** Watches many pairs. */
export class PairWatch {
  readonly #options: WatchOptions;
  readonly #maxDelay: number;
  readonly #numKept: number;
  /** By addresses, least recently seen first. */
  readonly #pairs = new Map<string, Pair>();
  /** Number of pairs by the properties that alarms may share. */
  readonly #sharing = new Map<string, number>();
  readonly #alarms: Alarms;
  /** Findings held until the end of the input. */
  readonly #findings: Finding[] = [];
  readonly #span = { firstS: Infinity, lastS: -Infinity };
  #numSeen = 0;
  #numToldTimes = 0;
  /** All measurements received. */
  numMeasurements = 0;
  /** Measurements that were not left out. */
  numUsed = 0;
  /** Decided measurements: `maxDelay` more of their pair followed, or the input ended. */
  numDecided = 0;
  /** Measurements left out because they arrived after a later one of their pair. */
  numLate = 0;
  /** Measurements left out because their time is in the future. */
  numInFuture = 0;
  /** Measurements left out because others of their pair contradict their times. */
  numWrongClock = 0;
  /** Pairs dropped because there were more than `maxPairs`. */
  numDropped = 0;

  /** Creates a watch without pairs. @param given Defaults to the defaults of the command `watch`. */
  constructor(given: Partial<WatchOptions> = {}) {
    const options = { ...DEFAULT_WATCH_OPTIONS, ...given };
    this.#options = options;
    this.#alarms = new Alarms(options, {
      spanS: () => this.spanS,
      numSharing: (end) => this.#sharing.get(end) ?? 0,
    });
    if (options.calibration) this.#alarms.calibrate(options.calibration);
    // The number of rows that the detector compares on either side of a change.
    this.#maxDelay = Math.max(options.changes.delay, options.changes.maxDelay);
    this.#numKept = 2 * (this.#maxDelay + 1);
  }

  /** Pairs currently remembered. */
  get numPairs(): number {
    return this.#pairs.size;
  }

  /** Undecided measurements, including those of dropped pairs. */
  get numUndecided(): number {
    const held = this.#pairs.values().reduce((sum, { clock }) => sum + clock.numHeld, 0);
    return this.numUsed - this.numDecided + held;
  }

  /** Time between the first and the last used measurement, s. */
  get spanS(): number {
    for (const pair of this.#pairs.values()) this.#widenSpan(pair);
    return Math.max(0, this.#span.lastS - this.#span.firstS);
  }

  /** The reported alarms. */
  get alarms(): Pick<Alarms, "numAlarms" | "numGroups" | "numOpen" | "numDepartures" | "needed"> {
    return this.#alarms;
  }

  /** Remembered pairs that have never replied; these have no alarms. */
  get neverReplied(): WatchedPair[] {
    return this.#pairs.values().filter(({ outages }) => !outages.hasReplied).toArray();
  }

  /** All pairs, least recently seen first. */
  pairs(): Iterable<WatchedPair> {
    return this.#pairs.values();
  }

  /** Pairs with an open alarm, largest shift first, then the others in the order first seen. */
  foremostPairs(most: number): WatchedPair[] {
    const sizeOf = ({ alarm }: WatchedPair) => alarm ? shiftOf(alarm) : -1;
    const pairs = [...this.#pairs.values()];
    return pairs.sort((a, b) => sizeOf(b) - sizeOf(a) || a.number - b.number).slice(0, most);
  }

  /**
   * Adds a measurement, parsed or as text with a time. A time slightly in the future is replaced by now, so
   * that it does not make the next ones late; a measurement further ahead is left out.
   *
   * @returns The events to report now, oldest first.
   * @throws {UserError} If the text is invalid.
   */
  add(given: TimedMeasurement | QuestionMeasurement): AlarmEvent[] {
    const measurement = "source" in given ? given : parseTimedMeasurement(given);
    this.numMeasurements++;
    const { source, destination } = measurement;
    const [src, dst] = [source, destination].map(formatAddress);
    const nowS = this.#options.nowS?.() ?? Date.now() / 1000;
    if (measurement.timeS > nowS + AHEAD_S) {
      this.numInFuture++;
      const time = isoTime(measurement.timeS);
      this.#tellTime(`${src} ${dst}: the time ${time} (UTC unless it has a zone) is in the future`);
      return [];
    }
    const findings: Finding[] = [];
    const key = `${src} ${dst}`;
    const pair = this.#pairs.get(key) ?? this.#newPair(measurement, findings);
    // Moves the pair to the end: the most recently seen pair is the last one.
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
   * Decides the remaining measurements at the end of the input.
   *
   * @returns The remaining events of all pairs, oldest first. The state of each event's alarm is only valid
   *   until the next event is requested.
   */
  finish(): Iterable<AlarmEvent> {
    const findings = this.#findings;
    for (const pair of this.#pairs.values()) {
      for (const each of pair.clock.finish(this.#tallyOf(pair))) findings.push(...this.#use(pair, each));
      for (const change of pair.detector.finish()) findings.push(...this.#findingsOf(pair, change));
      this.numDecided += Math.min(this.#maxDelay, pair.detector.numRows) + pair.losses.length;
    }
    if (this.#options.isWhole && !this.#options.calibration) this.#alarms.calibrate();
    // Alarms join groups in time order, as they do while measurements come in.
    return this.#finish(findings.sort((a, b) => a.timeS - b.timeS));
  }

  *#finish(findings: readonly Finding[]): Generator<AlarmEvent> {
    yield* this.#choose(findings);
    for (const { shift } of this.#pairs.values()) {
      if (shift?.alarm) Object.assign(shift.alarm, { now: levelSince(shift), peakMs: shift.course?.peakMs });
    }
  }

  /** Departures so far, for comparison with another input. */
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
    // Lets all measurements of a pair share its address arrays.
    const { source, destination } = pair.recent.at(-1) ?? measurement;
    const own = { ...measurement, source, destination };
    pair.recent.push(own);
    if (pair.recent.length > this.#numKept) pair.recent.shift();
    this.#options.onUsed?.(pair, own);
    const findings = own.rttCode === null ? this.#useLoss(pair, own) : this.#useReply(pair, own);
    findings.push(...this.#useRate(pair, own));
    if (pair.limits.length > 0) findings.push(...this.#useLimits(pair, own));
    return findings;
  }

  #useRate(pair: Pair, { rttCode, timeS }: TimedMeasurement): Finding[] {
    const { lossRates, outages } = pair;
    if (!outages.hasReplied || outages.isOut && !lossRates.rise) return [];
    const backS = lossRates.add(rttCode === null, timeS);
    const { rise } = lossRates;
    if (rise && timeS - rise.sinceS > this.#options.newUsualAfterS) lossRates.accept();
    if (pair.rise && !lossRates.rise) {
      const { departure } = pair.rise;
      pair.rise = undefined;
      return [
        backS === undefined ? endOf(departure, timeS, "new usual") : returned(pair, departure, backS),
      ];
    }
    if (!rise) return [];
    const isFound = !pair.rise;
    pair.rise ??= this.#beginRise(pair, rise);
    const { departure } = pair.rise;
    departure.now = pair.rise.now = { ...departure.now, lossRate: rise.rate };
    departure.numTimes = rise.numBursts;
    pair.rise.evidence = departure.evidence = rise.evidence;
    // A finding that waits for the end of the input will have its final evidence by then.
    return departure.alarm || this.#options.isWhole && !isFound ? [] : [pair.rise];
  }

  #beginRise(pair: Pair, { sinceS: timeS, usualRate, rate, evidence }: LossRise): Finding {
    const level = levelOf(pair.rows.map(rttMsOf));
    const [usual, now] = [usualRate, rate].map((lossRate) => ({ ...level, lossRate }));
    const history = pair.recent.filter((each) => each.timeS < timeS);
    const departure = this.#depart(pair, "loss", { timeS, usual, now, evidence });
    return { kind: "begin", departure, now, timeS, evidence, history };
  }

  #useLimits(pair: Pair, measurement: TimedMeasurement): Finding[] {
    const { src, dst, ends, recent } = pair;
    const { timeS } = measurement;
    return pair.limits.flatMap((each) => {
      const { detector, passed } = each;
      const { text, quantity, withinS } = detector.limit;
      const found = detector.add(timeS, rttMsOf(measurement));
      if (!found) return [];
      const level = levelOf(recent.filter((other) => other.timeS > timeS - withinS).map(rttMsOf));
      const now = quantity === "loss" ? { ...level, lossRate: detector.share } : level;
      each.passed = undefined;
      if (found.kind === "end") {
        if (passed) passed.now = now;
        return passed ? [endOf(passed, found.timeS, "usual")] : [];
      }
      const usual = { medianMs: NaN, spreadMs: NaN, lossRate: NaN };
      const common = { cause: "limit" as const, src, dst, ends, limit: text, sinceS: timeS, usual, now };
      const departure: Departure = { ...common, evidence: 0, numTimes: 1, alarm: undefined };
      each.passed = departure;
      return [{ kind: "begin" as const, departure, now, timeS, history: recent.slice(0, -1) }];
    });
  }

  #useLoss(pair: Pair, measurement: TimedMeasurement): Finding[] {
    const { outages, losses } = pair;
    losses.push(measurement);
    const isFound = outages.add(true, pair.lossRates.rates) !== undefined;
    if (isFound) this.#beginOutage(pair, losses[0].timeS);
    if (!outages.isOut && outages.numLost <= MAX_LOSSES) return [];
    this.numDecided += losses.splice(0).length;
    const { outage } = pair;
    if (!outage) return [];
    outage.evidence = outage.departure.evidence = outages.evidence;
    // A finding that waits for the end of the input will have its final evidence by then.
    return outage.departure.alarm || this.#options.isWhole && !isFound ? [] : [outage];
  }

  #useReply(pair: Pair, measurement: TimedMeasurement): Finding[] {
    const findings: Finding[] = [];
    pair.hours.add(measurement);
    if (pair.outages.add(false) && pair.outage) {
      const timeS = pair.recent[pair.recent.length - REPLIES_BACK].timeS;
      findings.push(returned(pair, pair.outage.departure, timeS));
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
          `${src} ${dst}: measurements (${formatCount(count)}) from ${
            isoTime(timeS)
          } on are much later than those that followed: ` +
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
      this.#countSharing(oldest, -1);
      this.numDropped++;
      const timeS = oldest.recent.at(-1)?.timeS ?? NaN;
      const passed = oldest.limits.map((limit) => limit.passed);
      const { outage, shift, rise } = oldest;
      for (const departure of [outage?.departure, shift, rise?.departure, ...passed]) {
        if (departure) findings.push(endOf(departure, timeS, "dropped"));
      }
    }
    const { changes, placeOf, limits = [] } = this.#options;
    const [src, dst] = [source, destination].map(formatAddress);
    const [srcPlace, dstPlace] = [source, destination].map((address) => placeOf?.(address) ?? {});
    const ends = endsOf([["src", src, srcPlace], ["dst", dst, dstPlace]]);
    this.#countSharing({ ends }, 1);
    return {
      number: ++this.#numSeen,
      src,
      dst,
      srcPlace,
      ends,
      clock: new PairClock(),
      recent: [],
      detector: new ChangeDetector(changes),
      rows: [],
      outages: new OutageDetector(changes.penalty),
      losses: [],
      outage: undefined,
      shift: undefined,
      limits: limitsOf(limits, src, dst).map((limit) => ({
        detector: new LimitDetector(limit),
        passed: undefined,
      })),
      hours: new UsualHours(),
      lossRates: new LossRateDetector(changes.penalty),
      rise: undefined,
      former: undefined,
      last: { losses: undefined, rtts: undefined },
      get alarm() {
        const limit = this.limits.find(({ passed }) => passed?.alarm)?.passed;
        return this.outage?.departure.alarm ?? this.shift?.alarm ?? this.rise?.departure.alarm ??
          limit?.alarm;
      },
    };
  }

  #countSharing({ ends }: Pick<Pair, "ends">, change: number): void {
    for (const { text } of ends) addToCount(this.#sharing, text, change);
  }

  #findingsOf(pair: Pair, change: Change | undefined): Finding[] {
    const findings: Finding[] = [];
    const nowS = pair.rows.at(-1)?.timeS ?? NaN;
    this.#follow(pair, change?.row ?? pair.detector.numRows - this.#maxDelay);
    if (pair.shift && nowS - pair.shift.sinceS > this.#options.newUsualAfterS) {
      findings.push(endOf(pair.shift, nowS, "new usual"));
      pair.former = pair.shift;
      pair.shift = undefined;
    }
    if (!change || !isShift(change, this.#options.changes)) return findings;
    const { after: now } = change;
    const place = placeOf(pair, change);
    const { timeS } = pair.rows[place];
    const history = pair.rows.slice(0, place);
    const { shift } = pair;
    const evidence = this.#evidenceOf(pair, change, place);
    if (shift && isUsual(now, shift)) {
      findings.push(returned(pair, shift, timeS));
      pair.shift = undefined;
    } else if (shift) {
      shift.now = now;
      shift.evidence = Math.max(shift.evidence, evidence);
      findings.push({ kind: "change", departure: shift, now, timeS, evidence, history });
    } else if (change.row > this.#options.changes.delay && !isRecovery(change, pair.former) && evidence > 0) {
      const departure = this.#depart(pair, "shift", { timeS, usual: change.before, now, evidence });
      pair.shift = departure;
      departure.course = new Course(
        change.row,
        departure.usual.medianMs,
        this.#options.changes.delay + 1,
      );
      findings.push({ kind: "begin", departure, now, timeS, evidence, history });
    }
    return findings;
  }

  /** Adds the rows before `end` to the course of the open shift. */
  #follow({ rows, detector, shift }: Pair, end: number): void {
    const { course } = shift ?? {};
    while (course && course.row < end) {
      course.add(rttMsOf(rows[course.row - detector.numRows + rows.length]));
    }
  }

  /** The evidence of a change, also against what is usual at the hour. */
  #evidenceOf({ rows, hours, shift }: Pair, { evidence, after }: Change, place: number): number {
    const since = rows.slice(place);
    if (!shift && hours.isOfLastDay(after, since[0].timeS)) return 0;
    const { changes: { penalty, delay } } = this.#options;
    const ofHours = hours.evidence(repliesOf(since));
    return Math.min(evidence, (ofHours - penalty) * Math.min(1, (delay + 1) / since.length));
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
    { src, dst, ends, last, rise }: Pair,
    cause: AlarmCause,
    { timeS, usual, now, evidence }: { timeS: number; usual: Level; now: Level; evidence: number },
  ): Departure {
    const previous = last[cause === "shift" ? "rtts" : "losses"];
    // An outage during a rise of the loss rate does not continue the last one.
    const isSame = cause === "shift"
      ? previous && isHigher(previous.departure) === isHigher({ usual, now })
      : cause === "loss" || !rise;
    const root = previous && isSame && timeS - previous.endS < this.#quietS(previous)
      ? previous.departure.root ?? previous.departure
      : undefined;
    const departure = {
      ...{ cause, src, dst, ends, sinceS: timeS, usual, now, evidence },
      ...{ root, numTimes: 1, alarm: undefined },
    };
    this.#alarms.add(departure);
    return departure;
  }

  /** How long a pair must be as usual before a departure is a new one, s. */
  #quietS({ departure: { sinceS }, endS }: NonNullable<Pair["last"]["rtts"]>): number {
    return Math.max(this.#options.groupWithinS, QUIET_FACTOR * (endS - sinceS));
  }
}

/** Ends a departure whose pair is back to usual. */
function returned(pair: Pair, departure: Departure, endS: number): Finding {
  pair.last[departure.cause === "shift" ? "rtts" : "losses"] = { departure, endS };
  return endOf(departure, endS, "usual");
}

function isHigher({ usual, now }: Pick<Departure, "usual" | "now">): boolean {
  return now.medianMs > usual.medianMs;
}

function endOf(departure: Departure, timeS: number, reason: EndReason): Finding {
  return { kind: "end", departure, now: levelSince(departure), timeS, reason };
}

/** The level of a departure since its beginning. */
function levelSince({ course, now }: Departure): Level {
  return { ...now, ...course?.level, lossRate: now.lossRate };
}

function placeOf({ detector, rows }: Pair, { row }: Change): number {
  return row - detector.numRows + rows.length;
}

/** Sets a pair back to `timeS`, before its newest measurements, whose times were wrong. */
function setBack({ recent, rows, losses, outage, shift, rise }: Pair, timeS: number): void {
  for (const kept of [recent, rows, losses]) {
    kept.forEach((each, i) => kept[i] = { ...each, timeS: Math.min(each.timeS, timeS) });
  }
  for (const departure of [outage?.departure, shift, rise?.departure]) {
    for (const each of [departure, departure?.alarm]) if (each) each.sinceS = Math.min(each.sinceS, timeS);
  }
}

/** RTT of a measurement, ms; NaN for a loss. */
export function rttMsOf({ rttCode }: Pick<TimedMeasurement, "rttCode">): number {
  return rttCode === null ? NaN : decodeRttCode(rttCode);
}

function repliesOf(measurements: readonly TimedMeasurement[]): TimedRtt[] {
  return measurements.filter(({ rttCode }) => rttCode !== null).map((each) => ({
    timeS: each.timeS,
    rttMs: rttMsOf(each),
  }));
}

/** Properties that alarms of a pair may share, most specific first. */
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

/** Whether a level is back to the one before a shift. */
function isUsual(level: Level, { usual, now }: Departure): boolean {
  const shiftMs = Math.abs(now.medianMs - usual.medianMs);
  return Math.abs(level.medianMs - usual.medianMs) <= BACK_SHARE * shiftMs;
}

/** Whether a change returns to the level before the shift that became the usual one. */
function isRecovery({ before, after }: Change, former: Departure | undefined): boolean {
  return former !== undefined && after.medianMs < before.medianMs && isUsual(after, former);
}

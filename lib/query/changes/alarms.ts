/**
 * Decides which findings become alarms, and groups alarms that belong together.
 *
 * Alarms that begin at about the same time and share a source, a destination, an AS or a country form a
 * group, which probably has a single cause. The required evidence is set so that the number of groups per day
 * stays within the limit.
 *
 * @module
 */
import { partitionPoint } from "../../base/collections.ts";
import type { TimedMeasurement } from "../files/arriving.ts";
import type { Level } from "./change_detector.ts";
import type { Course } from "./course.ts";

/** A pair stops replying, loses more than usual, its RTTs leave their usual level, or a fixed limit is passed. */
export type AlarmCause = "outage" | "loss" | "shift" | "limit";

/** A property that alarms may share: an endpoint's address, AS or country. */
export interface SharedEnd {
  /** For example `src 192.0.2.1`, `dst AS3320` or `src DE`. */
  readonly text: string;
  /** 0 for an address, 1 for an AS, 2 for a country. */
  readonly breadth: number;
}

/** @internal A departure of a pair from its usual level. It may become an alarm. */
export interface Departure {
  readonly cause: AlarmCause;
  readonly src: string;
  readonly dst: string;
  /** The properties that it may share with others, most specific first. */
  readonly ends: readonly SharedEnd[];
  /** The limit that is passed, for people. */
  readonly limit?: string | undefined;
  /** When it began, Unix seconds. */
  sinceS: number;
  /** The pair's level before the departure. */
  readonly usual: Level;
  /** The pair's level since the newest change; of losses, and at the end, since the beginning. */
  now: Level;
  /** The highest evidence so far, nats. */
  evidence: number;
  /** How often it happened: the bursts of losses, otherwise 1. */
  numTimes: number;
  /** The RTTs since a shift began. */
  course?: Course | undefined;
  /** The departure that it continues: one of the same pair that ended shortly before. */
  readonly root?: Departure | undefined;
  /** While it is open, the alarm that reports it, if any. */
  alarm: Alarm | undefined;
  /** The alarm that reported it or one that it continues, if any. */
  told?: Alarm | undefined;
}

/** @internal Alarms that began together and probably have a single cause. */
export interface AlarmGroup {
  /** The number of the first alarm. */
  readonly id: number;
  /** The cause that its alarms share. */
  readonly cause: AlarmCause;
  /** What all its alarms share: `src 192.0.2.1`, `dst AS3320` or `src DE`; undefined for a single alarm. */
  shared: string | undefined;
  /** The number of watched pairs that share it. */
  numSharing: number;
  numAlarms: number;
  numOpen: number;
  /** All properties that its alarms share, most specific first. */
  ends: readonly SharedEnd[];
  /** When its first and last alarms began, Unix seconds. */
  readonly begun: [firstS: number, lastS: number];
}

/** An alarm of a pair. */
export interface Alarm
  extends Pick<Departure, "cause" | "src" | "dst" | "limit" | "sinceS" | "usual" | "now" | "numTimes"> {
  /** Counts from 1, in the order of reporting. */
  readonly id: number;
  /** The group that it belongs to. */
  readonly group: AlarmGroup;
  /** Open departures that it reports: one that continues another may begin before the other's end. */
  numParts: number;
  /** The median of successive RTTs farthest from the usual one, ms; known at the end. */
  peakMs?: number | undefined;
}

/** @internal Why an alarm ended: its pair is back to usual, has a new usual level, or was dropped. */
export type EndReason = "usual" | "new usual" | "dropped";

/** The beginning, change or end of an alarm. */
export interface AlarmEvent {
  /** What happened to the alarm. */
  readonly kind: "begin" | "change" | "end";
  /** The alarm in its current state. */
  readonly alarm: Alarm;
  /** When the change happened (not when it was found), Unix seconds. */
  readonly timeS: number;
  /** Present at an end. */
  readonly reason?: EndReason;
  /** Present at a beginning or change, nats. */
  readonly evidence?: number;
  /** Present at a beginning or change: how often per day evidence this strong is found. */
  readonly perDay?: number;
  /** Present at a beginning or change: the pair's earlier measurements, oldest first. */
  readonly history?: readonly TimedMeasurement[];
}

/** @internal The beginning, change or end of a departure, which may become an event of an alarm. */
export interface Finding extends Omit<AlarmEvent, "alarm" | "evidence" | "perDay"> {
  readonly departure: Departure;
  /** The pair's level since then. */
  now: Level;
  /** Present at a beginning or change, nats; grows during an outage. */
  evidence?: number;
}

const DAY_S = 86_400;
/** On endless input, findings are compared with those of this period, s. */
const COMPARED_S = 7 * DAY_S;
/** On endless input, how long the needed evidence is kept before it is recomputed, s. */
const KEPT_S = 3600;

/** How much later than another one of its group an alarm may be reported, s. */
const LATE_S = 7 * DAY_S;

/** The evidence that a departure needs to become an alarm, nats. A limit needs none. */
type NeededEvidence = Record<Exclude<AlarmCause, "limit">, number>;

/** Weaker departures are never alarms. The level of RTTs without a pattern changes by chance more often. */
const LEAST_EVIDENCE: NeededEvidence = { outage: 0.1, loss: 1, shift: 1 };

/** @internal All departures of a period, the basis for choosing alarms. */
export interface Calibration {
  /** Including weak ones. */
  readonly departures: readonly Departure[];
  /** Length of the period. */
  readonly days: number;
}

/** @internal Options for choosing alarms. */
export interface AlarmChoice {
  /** Maximum number of groups reported per day, over all pairs. */
  readonly alarmsPerDay: number;
  /** How far apart the alarms of a group may begin, s. */
  readonly groupWithinS: number;
  /** Whether alarms are chosen at the end of the input only. */
  readonly isWhole?: boolean | undefined;
}

/** Size of an alarm's shift, ms; Infinity for an outage. */
export function shiftOf({ cause, usual, now }: Alarm): number {
  return cause === "outage" ? Infinity : Math.abs(now.medianMs - usual.medianMs) || 0;
}

/** @internal Chooses alarms from a stream of findings. */
export class Alarms {
  readonly #choice: AlarmChoice;
  readonly #spanS: () => number;
  readonly #numSharing: (end: string) => number;
  readonly #groups: AlarmGroups;
  /** What new departures are compared with (default: those of the input). */
  #calibration: Calibration | undefined;
  #recent: Departure[] = [];
  /** When the groups of the compared period began, Unix seconds. */
  #begunS: number[] = [];
  #newestS = -Infinity;
  #neededSinceS = -Infinity;
  #days = 1;
  /** The evidence that an alarm currently needs. */
  needed: NeededEvidence = LEAST_EVIDENCE;
  /** Alarms that have begun. */
  numAlarms = 0;
  /** Groups of alarms so far. */
  numGroups = 0;
  /** Alarms that have not ended. */
  numOpen = 0;
  /** Departures so far. */
  numDepartures = 0;

  /**
   * Starts without departures.
   *
   * @param input `spanS`: returns the time that the input spans so far, s; `numSharing`: the number of pairs that
   *   have a property.
   */
  constructor(choice: AlarmChoice, input: { spanS: () => number; numSharing: (end: string) => number }) {
    this.#choice = choice;
    this.#spanS = input.spanS;
    this.#numSharing = input.numSharing;
    this.#groups = new AlarmGroups(choice.groupWithinS);
  }

  /** Compares findings with another input or, by default, with all departures added so far. */
  calibrate(
    calibration: Calibration = { departures: this.#recent, days: Math.max(DAY_S, this.#spanS()) / DAY_S },
  ): void {
    this.#calibration = calibration;
    this.needed = neededEvidence(calibration, this.#choice);
  }

  /** Departures that findings are compared with by default. */
  get departures(): readonly Departure[] {
    return this.#recent;
  }

  add(departure: Departure): void {
    if (departure.root) {
      departure.root.evidence = Math.max(departure.root.evidence, departure.evidence);
      return;
    }
    this.numDepartures++;
    if (this.#calibration) return;
    this.#recent.push(departure);
    this.#newestS = Math.max(this.#newestS, departure.sinceS);
  }

  /**
   * Takes a finding. The beginning of an outage may be passed again with more evidence.
   *
   * @param mustTell Whether to report it regardless of its evidence.
   * @returns The event to report, if any.
   */
  take(finding: Finding, mustTell = false): AlarmEvent | undefined {
    const { kind, departure, now, ...found } = finding;
    const { timeS, evidence = 0 } = found;
    const { alarm, numTimes } = departure;
    if (alarm) alarm.numTimes = Math.max(alarm.numTimes, numTimes);
    if (kind === "begin" && alarm) return undefined;
    if (kind === "end") {
      if (!alarm) return undefined;
      departure.alarm = undefined;
      if (--alarm.numParts > 0) return undefined;
      Object.assign(alarm, { now, peakMs: departure.course?.peakMs });
      this.numOpen--;
      alarm.group.numOpen--;
      return { ...found, kind, alarm };
    }
    const perDay = () => this.#perDay(departure.cause, evidence);
    if (alarm) {
      alarm.now = now;
      return { ...found, kind, alarm, perDay: perDay() };
    }
    const { told } = departure.root ?? departure;
    if (told) {
      departure.alarm = told;
      // A rise of the loss rate contains the outages since it began.
      if (told.numParts++ > 0 && departure.cause !== "loss") return undefined;
      Object.assign(told, { now, numTimes: Math.max(told.numTimes + 1, numTimes) });
      if (told.numParts === 1) {
        this.numOpen++;
        told.group.numOpen++;
      }
      return { ...found, kind: "change", alarm: told, perDay: perDay() };
    }
    if (!mustTell && !this.#isEnough(departure.cause, evidence)) return undefined;
    // On endless input the limit may be reached when something worse happens.
    const isStrongest = () => !this.#choice.isWhole && this.#numAtLeast(departure.cause, evidence) <= 1;
    if (!mustTell && this.#isTooMany({ ...departure, sinceS: timeS }) && !isStrongest()) return undefined;
    departure.sinceS = timeS;
    return { ...found, kind: "begin", alarm: this.#begin(departure, now), perDay: perDay() };
  }

  #begin(departure: Departure, now: Level): Alarm {
    const { cause, src, dst, limit, sinceS, usual, numTimes } = departure;
    const id = ++this.numAlarms;
    const group = this.#groups.join(departure, id);
    if (group.shared !== undefined) group.numSharing = this.#numSharing(group.shared);
    if (group.id === id) {
      this.numGroups++;
      if (cause !== "limit") this.#begunS.push(sinceS);
    }
    this.numOpen++;
    departure.alarm = { id, cause, src, dst, limit, sinceS, usual, now, numTimes, numParts: 1, group };
    return (departure.root ?? departure).told = departure.alarm;
  }

  /** Whether an alarm would be a group of its own beyond the limit. */
  #isTooMany(departure: Departure): boolean {
    if (departure.cause === "limit" || this.#groups.find(departure)) return false;
    const comparedS = this.#choice.isWhole ? Infinity : COMPARED_S;
    this.#begunS = this.#begunS.filter((sinceS) => sinceS >= departure.sinceS - comparedS);
    const days = Math.min(comparedS, Math.max(DAY_S, this.#spanS())) / DAY_S;
    return this.#begunS.length >= numAllowedIn(days, this.#choice.alarmsPerDay);
  }

  #isEnough(cause: AlarmCause, evidence: number): boolean {
    if (cause === "limit") return true;
    const isStale = this.#newestS > this.#neededSinceS + KEPT_S;
    if (!this.#calibration && (isStale || evidence >= this.needed[cause])) this.#recalibrate();
    return evidence >= this.needed[cause];
  }

  #recalibrate(): void {
    this.#recent = this.#recent.filter(({ sinceS }) => sinceS >= this.#newestS - COMPARED_S);
    this.#days = Math.min(COMPARED_S, Math.max(DAY_S, this.#spanS())) / DAY_S;
    this.#neededSinceS = this.#newestS;
    this.needed = neededEvidence({ departures: this.#recent, days: this.#days }, this.#choice);
  }

  #perDay(cause: AlarmCause, evidence: number): number {
    return this.#numAtLeast(cause, evidence) / (this.#calibration?.days ?? this.#days);
  }

  /** Number of departures with at least this evidence among those that it is compared with. */
  #numAtLeast(cause: AlarmCause, evidence: number): number {
    const { departures } = this.#calibration ?? { departures: this.#recent };
    return departures.filter((each) => each.cause === cause && each.evidence >= evidence).length;
  }
}

/**
 * The evidence that admits at most the allowed number of groups: up to half of them outages, up to half of the
 * rest rises of the loss rate, then shifts.
 */
export function neededEvidence(
  { departures, days }: Calibration,
  { alarmsPerDay, groupWithinS }: AlarmChoice,
): NeededEvidence {
  const needed = { ...LEAST_EVIDENCE };
  let numAllowed = numAllowedIn(days, alarmsPerDay);
  for (const cause of ["outage", "loss", "shift"] as const) {
    const own = departures.filter((departure) => departure.cause === cause);
    const most = cause === "shift" ? numAllowed : Math.max(1, Math.floor(numAllowed / 2));
    needed[cause] = Math.max(needed[cause], evidenceFor(own, most, groupWithinS));
    numAllowed -= numGroupsIn(own.filter(({ evidence }) => evidence >= needed[cause]), groupWithinS);
  }
  return needed;
}

/** The number of groups that may be reported in a period. */
function numAllowedIn(days: number, alarmsPerDay: number): number {
  return Math.max(1, Math.floor(alarmsPerDay * days));
}

/** The lowest evidence at which departures of one cause stay within a number of groups; 0 if all do. */
function evidenceFor(departures: readonly Departure[], numAllowed: number, groupWithinS: number): number {
  const descending = departures.toSorted((a, b) => b.evidence - a.evidence);
  const excess = partitionPoint(
    descending.length,
    (i) => numGroupsIn(descending.slice(0, i + 1), groupWithinS) > numAllowed,
  );
  // Just above the evidence of the first departure in excess.
  return excess === descending.length ? 0 : descending[excess].evidence + 1e-9;
}

/** Number of groups of departures. */
function numGroupsIn(departures: readonly Departure[], groupWithinS: number): number {
  const groups = new AlarmGroups(groupWithinS);
  const inOrder = departures.toSorted((a, b) => a.sinceS - b.sinceS);
  return inOrder.filter((departure, id) => groups.join(departure, id).id === id).length;
}

/** Groups that further alarms may join. */
class AlarmGroups {
  /** By the properties that their alarms share. */
  readonly #groups = new Map<string, Set<AlarmGroup>>();
  /** In the order in which they were made. */
  readonly #all: AlarmGroup[] = [];

  constructor(readonly withinS: number) {}

  /** Adds a new alarm to a group, which may be a new one. */
  join(departure: Departure, id: number): AlarmGroup {
    const { ends, sinceS } = departure;
    const group = this.find(departure) ?? this.#newGroup(departure, id);
    group.numOpen++;
    if (group.numAlarms++ === 0) return group;
    const own = new Set(ends.map(({ text }) => text));
    for (const { text } of group.ends) if (!own.has(text)) this.#forget(group, text);
    group.ends = group.ends.filter(({ text }) => own.has(text));
    group.shared = group.ends[0].text;
    group.begun[0] = Math.min(group.begun[0], sinceS);
    group.begun[1] = Math.max(group.begun[1], sinceS);
    return group;
  }

  /** The group that shares the most specific property with an alarm, the largest if there are several. */
  find({ cause, ends, sinceS }: Departure): AlarmGroup | undefined {
    let found: { group: AlarmGroup; breadth: number } | undefined;
    for (const { text, breadth } of ends) {
      if (found && found.breadth < breadth) break;
      for (const group of this.#groups.get(text) ?? []) {
        const [firstS, lastS] = group.begun;
        const isNear = sinceS >= firstS - this.withinS && sinceS <= lastS + this.withinS;
        if (group.cause !== cause || !isNear) continue;
        if (group.numAlarms > (found?.group.numAlarms ?? 0)) found = { group, breadth };
      }
    }
    return found?.group;
  }

  #newGroup({ cause, ends, sinceS }: Departure, id: number): AlarmGroup {
    // Alarms are reported late, so they do not come in order.
    const earliestS = sinceS - this.withinS - LATE_S;
    const numPast = this.#all.findIndex(({ begun: [, lastS] }) => lastS >= earliestS);
    for (const group of this.#all.splice(0, numPast < 0 ? Infinity : numPast)) {
      for (const { text } of group.ends) this.#forget(group, text);
    }
    const begun: AlarmGroup["begun"] = [sinceS, sinceS];
    const group = { id, cause, shared: undefined, numSharing: 1, numAlarms: 0, numOpen: 0, ends, begun };
    this.#all.push(group);
    for (const { text } of ends) this.#groups.set(text, (this.#groups.get(text) ?? new Set()).add(group));
    return group;
  }

  #forget(group: AlarmGroup, end: string): void {
    const sharing = this.#groups.get(end);
    sharing?.delete(group);
    if (sharing?.size === 0) this.#groups.delete(end);
  }
}

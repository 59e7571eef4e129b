/**
 * Which findings of all pairs are alarms, and which alarms belong together.
 *
 * Alarms that begin at about the same time and share a source, a destination, an AS or a country are one group:
 * probably one cause. The evidence that a finding needs is what limits groups to a number a day.
 *
 * @module
 */
import type { TimedMeasurement } from "../files/arriving.ts";
import type { Level } from "./change_detector.ts";

/** A pair stops replying, or its RTTs or its share of losses leave their usual level. */
export type AlarmCause = "outage" | "shift";

/** A property that alarms may share: an end's address, its AS or its country. */
export interface SharedEnd {
  /** Such as `src 192.0.2.1`, `dst AS3320` or `src DE`. */
  readonly text: string;
  /** 0 of an address, 1 of an AS, 2 of a country. */
  readonly breadth: number;
}

/** A departure of a pair from its usual level, which may become an alarm. */
export interface Departure {
  /** What happened. */
  readonly cause: AlarmCause;
  /** The source's address. */
  readonly src: string;
  /** The destination's address. */
  readonly dst: string;
  /** What it may share with others, the most specific first. */
  readonly ends: readonly SharedEnd[];
  /** When it began, Unix seconds. */
  sinceS: number;
  /** The pair's level before. */
  readonly usual: Level;
  /** Its level since the newest change. */
  now: Level;
  /** The most evidence so far, nats. */
  evidence: number;
  /** The alarm that was told of it. */
  alarm: Alarm | undefined;
}

/** Alarms that probably have one cause. */
export interface AlarmGroup {
  /** The number of the first alarm. */
  readonly id: number;
  /** The cause of all its alarms. */
  readonly cause: AlarmCause;
  /** The property of all its alarms: `src 192.0.2.1`, `dst AS3320` or `src DE`; undefined while there is only one. */
  shared: string | undefined;
  /** The number of its alarms. */
  numAlarms: number;
  /** The alarms that have not ended. */
  numOpen: number;
  /** What they share, the most specific first. */
  ends: readonly SharedEnd[];
  /** When the first and the last of them began, Unix seconds. */
  readonly begun: [firstS: number, lastS: number];
}

/** An alarm of a pair. */
export interface Alarm extends Pick<Departure, "cause" | "src" | "dst" | "sinceS" | "usual" | "now"> {
  /** From 1, by the order in which they were told. */
  readonly id: number;
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
  /** When it changed, Unix seconds, not when that was found. */
  readonly timeS: number;
  /** Present in an end. */
  readonly reason?: EndReason;
  /** Present in a beginning and a change, nats. */
  readonly evidence?: number;
  /** Present in a beginning and a change: how often a day this much evidence is found. */
  readonly perDay?: number;
  /** Present in a beginning and a change: the pair's measurements before it, oldest first. */
  readonly history?: readonly TimedMeasurement[];
}

/** The beginning, a change or the end of a departure, which may become one of an alarm. */
export interface Finding extends Omit<AlarmEvent, "alarm" | "evidence" | "perDay"> {
  /** What begins, changes or ends. */
  readonly departure: Departure;
  /** The pair's level since then. */
  readonly now: Level;
  /** Present in a beginning and a change, nats; the evidence of an outage grows. */
  evidence?: number;
}

const DAY_S = 86_400;
/** Findings are compared with those of this time, if the input has no end, s. */
const COMPARED_S = 7 * DAY_S;
/** How long the needed evidence is kept, if the input has no end, s. */
const KEPT_S = 3600;

/** The evidence that departures must have to be alarms, nats. */
export type NeededEvidence = Record<AlarmCause, number>;

/** What was found in a period. */
export interface Calibration {
  /** All departures, weak ones too. */
  readonly departures: readonly Departure[];
  /** How long that took. */
  readonly days: number;
}

/** How alarms are chosen. */
export interface AlarmChoice {
  /** The number of groups that may be told, of all pairs together. */
  readonly alarmsPerDay: number;
  /** How far apart alarms of one group may begin, s. */
  readonly groupWithinS: number;
}

/** The size of an alarm's shift, ms; Infinity for an outage. */
export function shiftOf({ cause, usual, now }: Alarm): number {
  return cause === "outage" ? Infinity : Math.abs(now.medianMs - usual.medianMs) || 0;
}

/** Chooses the alarms among findings that come one after the other. */
export class Alarms {
  readonly #choice: AlarmChoice;
  readonly #spanS: () => number;
  readonly #groups: AlarmGroups;
  /** What later departures are compared with (those of the input itself). */
  #calibration: Calibration | undefined;
  #recent: Departure[] = [];
  #newestS = -Infinity;
  #neededSinceS = -Infinity;
  #days = 1;
  /** The evidence that alarms need now. */
  needed: NeededEvidence = { outage: 0, shift: 0 };
  /** The number of alarms that have begun. */
  numAlarms = 0;
  /** The number of groups of alarms. */
  numGroups = 0;
  /** The number of alarms that have not ended. */
  numOpen = 0;
  /** The number of departures. */
  numDepartures = 0;

  /** Chooses from no departures yet. @param spanS The time that the input spans until now. */
  constructor(choice: AlarmChoice, spanS: () => number) {
    this.#choice = choice;
    this.#spanS = spanS;
    this.#groups = new AlarmGroups(choice.groupWithinS);
  }

  /** Compares findings with those of another input or, by default, with all that were added. */
  calibrate(
    calibration: Calibration = { departures: this.#recent, days: Math.max(DAY_S, this.#spanS()) / DAY_S },
  ): void {
    this.#calibration = calibration;
    this.needed = neededEvidence(calibration, this.#choice);
  }

  /** The departures that findings are compared with by default. */
  get departures(): readonly Departure[] {
    return this.#recent;
  }

  /** Adds a departure to compare with. */
  add(departure: Departure): void {
    this.numDepartures++;
    if (this.#calibration) return;
    this.#recent.push(departure);
    this.#newestS = Math.max(this.#newestS, departure.sinceS);
  }

  /**
   * Takes a finding. The beginning of an outage may be taken again with more evidence.
   *
   * @param mustTell Whether to report it whatever its evidence.
   * @returns The event to report.
   */
  take(finding: Finding, mustTell = false): AlarmEvent | undefined {
    const { kind, departure, now, ...found } = finding;
    const { timeS, evidence = 0 } = found;
    const { alarm } = departure;
    if (kind === "begin" && alarm) return undefined;
    if (kind === "end") {
      if (!alarm) return undefined;
      departure.alarm = undefined;
      this.numOpen--;
      this.#groups.leave(alarm.group);
      return { ...found, kind, alarm };
    }
    const perDay = () => this.#perDay(departure.cause, evidence);
    if (alarm) {
      alarm.now = now;
      return { ...found, kind, alarm, perDay: perDay() };
    }
    if (!mustTell && !this.#isEnough(departure.cause, evidence)) return undefined;
    departure.sinceS = timeS;
    return { ...found, kind: "begin", alarm: this.#begin(departure, now), perDay: perDay() };
  }

  #begin(departure: Departure, now: Level): Alarm {
    const { cause, src, dst, sinceS, usual } = departure;
    const id = ++this.numAlarms;
    const group = this.#groups.join(departure, id);
    if (group.id === id) this.numGroups++;
    this.numOpen++;
    return departure.alarm = { id, cause, src, dst, sinceS, usual, now, group };
  }

  #isEnough(cause: AlarmCause, evidence: number): boolean {
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
    const { departures, days } = this.#calibration ?? { departures: this.#recent, days: this.#days };
    return departures.filter((each) => each.cause === cause && each.evidence >= evidence).length / days;
  }
}

/**
 * The evidence that leaves a number of groups a day: outages first, up to half of them, then shifts. 0 if all
 * may be told.
 */
export function neededEvidence(
  { departures, days }: Calibration,
  { alarmsPerDay, groupWithinS }: AlarmChoice,
): NeededEvidence {
  const numAllowed = Math.max(1, Math.floor(alarmsPerDay * days));
  const [outages, shifts] = (["outage", "shift"] as const).map((cause) =>
    departures.filter((departure) => departure.cause === cause)
  );
  const outage = evidenceFor(outages, Math.max(1, Math.floor(numAllowed / 2)), groupWithinS);
  const numOutages = numGroupsIn(outages.filter(({ evidence }) => evidence >= outage), groupWithinS);
  return { outage, shift: evidenceFor(shifts, numAllowed - numOutages, groupWithinS) };
}

/** The evidence of the weakest departures of one cause that make at most a number of groups; 0 if all do. */
function evidenceFor(departures: readonly Departure[], numAllowed: number, groupWithinS: number): number {
  const descending = departures.toSorted((a, b) => b.evidence - a.evidence);
  let [low, high] = [0, descending.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (numGroupsIn(descending.slice(0, middle), groupWithinS) <= numAllowed) low = middle;
    else high = middle - 1;
  }
  // Just above the first one that is too many.
  return low === descending.length ? 0 : descending[low].evidence + 1e-9;
}

/** The number of groups of departures, none of which ends while another one may join it. */
function numGroupsIn(departures: readonly Departure[], groupWithinS: number): number {
  const groups = new AlarmGroups(groupWithinS);
  const joined: { sinceS: number; group: AlarmGroup }[] = [];
  let numGroups = 0;
  let numLeft = 0;
  for (const departure of departures.toSorted((a, b) => a.sinceS - b.sinceS)) {
    const { sinceS } = departure;
    while (numLeft < joined.length && joined[numLeft].sinceS < sinceS - groupWithinS) {
      groups.leave(joined[numLeft++].group);
    }
    const group = groups.join(departure, joined.length);
    if (group.id === joined.length) numGroups++;
    joined.push({ sinceS, group });
  }
  return numGroups;
}

/** The groups with alarms that have not ended. */
class AlarmGroups {
  /** By what their alarms share. */
  readonly #groups = new Map<string, Set<AlarmGroup>>();

  constructor(readonly withinS: number) {}

  /** The group of an alarm that begins, perhaps a new one. */
  join(departure: Departure, id: number): AlarmGroup {
    const group = this.#groupOf(departure) ?? this.#newGroup(departure, id);
    group.numOpen++;
    group.numAlarms++;
    return group;
  }

  leave(group: AlarmGroup): void {
    if (--group.numOpen === 0) { for (const { text } of group.ends) this.#forget(group, text); }
  }

  #newGroup({ cause, ends, sinceS }: Departure, id: number): AlarmGroup {
    const begun: AlarmGroup["begun"] = [sinceS, sinceS];
    const group = { id, cause, shared: undefined, numAlarms: 0, numOpen: 0, ends, begun };
    for (const { text } of ends) this.#groups.set(text, (this.#groups.get(text) ?? new Set()).add(group));
    return group;
  }

  /**
   * The group with which an alarm shares the most specific property; the largest if there are several. It then
   * has only the shared properties.
   */
  #groupOf({ cause, ends, sinceS }: Departure): AlarmGroup | undefined {
    let found: { group: AlarmGroup; breadth: number } | undefined;
    for (const { text, breadth } of ends) {
      if (found && found.breadth < breadth) break;
      for (const group of this.#groups.get(text) ?? []) {
        const [firstS, lastS] = group.begun;
        const isNear = sinceS >= firstS - this.withinS && sinceS <= lastS + this.withinS;
        if (group.cause !== cause || !isNear) continue;
        if (group.numOpen > (found?.group.numOpen ?? 0)) found = { group, breadth };
      }
    }
    const group = found?.group;
    if (!group) return undefined;
    const own = new Set(ends.map(({ text }) => text));
    for (const { text } of group.ends) if (!own.has(text)) this.#forget(group, text);
    group.ends = group.ends.filter(({ text }) => own.has(text));
    group.shared = group.ends[0].text;
    group.begun[0] = Math.min(group.begun[0], sinceS);
    group.begun[1] = Math.max(group.begun[1], sinceS);
    return group;
  }

  #forget(group: AlarmGroup, end: string): void {
    const sharing = this.#groups.get(end);
    sharing?.delete(group);
    if (sharing?.size === 0) this.#groups.delete(end);
  }
}

/**
 * Alarms from measurements of many pairs of addresses, as they come: an alarm begins when the RTT of a pair leaves its
 * usual level, and ends when it returns or has lasted so long that the new level is the usual one.
 *
 * Alarms that begin at about the same time and share a source or a destination are one group: probably one cause.
 * Memory is bounded: of too many pairs the one that was seen least recently is dropped.
 *
 * @module
 */
import { formatAddress } from "../../data/addresses/ip.ts";
import { decodeRttCode } from "../../data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { type Change, ChangeDetector, type ChangeOptions, type Level } from "./change_detector.ts";

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
}

/** An alarm ends when the RTT is within this share of the shift from its usual level. */
const BACK_SHARE = 0.5;
/** An alarm for losses ends when their share is within this of the usual one. */
const LOSS_BACK = 0.25;

/** Alarms that probably have one cause. */
export interface AlarmGroup {
  /** The number of the first alarm. */
  readonly id: number;
  /** What the alarms share, such as `src 192.0.2.1`; undefined while there is only one. */
  shared: string | undefined;
  /** The alarms that have not ended. */
  numOpen: number;
}

/** An alarm of a pair. */
export interface Alarm {
  /** From 1, by the order in which they were told. */
  readonly id: number;
  readonly src: string;
  readonly dst: string;
  /** When it began, Unix seconds. */
  readonly sinceS: number;
  /** What the pair was like before. */
  readonly usual: Level;
  /** What it is like since the newest change. */
  now: Level;
  readonly group: AlarmGroup;
}

/** Why an alarm ended: its pair is as usual again, has a new usual level, or was dropped. */
export type EndReason = "usual" | "new usual" | "dropped";

/** What happened to an alarm. */
export interface AlarmEvent {
  readonly kind: "begin" | "change" | "end";
  readonly alarm: Alarm;
  /** When, Unix seconds: the change, not when it was found. */
  readonly timeS: number;
  /** Of an end. */
  readonly reason?: EndReason;
  /** Of a beginning and of a change, nats. */
  readonly evidence?: number;
  /** Of a beginning: the pair's measurements before it, oldest first. */
  readonly history?: readonly TokenMeasurement[];
}

/** What is known of a pair. */
interface Pair {
  readonly src: string;
  readonly dst: string;
  readonly detector: ChangeDetector;
  /** The newest, oldest first; the last one is the detector's newest row. */
  readonly recent: TokenMeasurement[];
  alarm: Alarm | undefined;
}

/** Watches pairs. */
export class PairWatch {
  readonly #options: WatchOptions;
  readonly #numKept: number;
  /** By addresses, least recently seen first. */
  readonly #pairs = new Map<string, Pair>();
  /** The alarms that have not ended, by `src ADDRESS` and `dst ADDRESS`. */
  readonly #open = new Map<string, Set<Alarm>>();
  #numAlarms = 0;
  /** The number of measurements that were added. */
  numMeasurements = 0;
  /** The number of measurements that were decided: `delay` more came of their pair. */
  numDecided = 0;
  /** The number of measurements that came after a later one of their pair, and were left out. */
  numLate = 0;
  /** The number of pairs that were dropped. */
  numDropped = 0;

  constructor(options: WatchOptions) {
    this.#options = options;
    // As many as the detector compares on both sides of a change.
    this.#numKept = 2 * (options.changes.delay + 1);
  }

  /** The number of pairs that are remembered. */
  get numPairs(): number {
    return this.#pairs.size;
  }

  /** The number of alarms that have begun. */
  get numAlarms(): number {
    return this.#numAlarms;
  }

  /** The alarms that have not ended, the largest shifts first. */
  openAlarms(): Alarm[] {
    const sizeOf = ({ usual, now }: Alarm) => Math.abs(now.medianMs - usual.medianMs) || 0;
    return [...new Set(this.#open.values().flatMap((alarms) => alarms))].sort((a, b) =>
      sizeOf(b) - sizeOf(a)
    );
  }

  /**
   * Adds a measurement with a time.
   *
   * @returns What it tells, oldest first.
   */
  add(measurement: TokenMeasurement & { readonly timeS: number }): AlarmEvent[] {
    this.numMeasurements++;
    const { source, destination, timeS } = measurement;
    const key = `${formatAddress(source)} ${formatAddress(destination)}`;
    const dropped: AlarmEvent[] = [];
    const pair = this.#pairs.get(key) ?? this.#newPair(key, dropped);
    const newestS = pair.recent.at(-1)?.timeS ?? -Infinity;
    // The most recently seen pair is the last one.
    this.#pairs.delete(key);
    this.#pairs.set(key, pair);
    if (timeS <= newestS) {
      this.numLate++;
      return dropped;
    }
    // All measurements of a pair share its addresses.
    const { source: src, destination: dst } = pair.recent.at(-1) ?? measurement;
    pair.recent.push({ source: src, destination: dst, rttCode: measurement.rttCode, timeS });
    if (pair.recent.length > this.#numKept) pair.recent.shift();
    const change = pair.detector.add(rttMsOf(measurement));
    if (pair.detector.numRows > this.#options.changes.delay) this.numDecided++;
    return [...dropped, ...this.#eventsOf(pair, change, timeS)];
  }

  #newPair(key: string, events: AlarmEvent[]): Pair {
    if (this.#pairs.size >= this.#options.maxPairs) {
      const [[oldestKey, oldest]] = this.#pairs;
      this.#pairs.delete(oldestKey);
      this.numDropped++;
      if (oldest.alarm) events.push(this.#end(oldest, oldest.recent.at(-1)?.timeS ?? NaN, "dropped"));
    }
    const [src, dst] = key.split(" ");
    return { src, dst, detector: new ChangeDetector(this.#options.changes), recent: [], alarm: undefined };
  }

  #eventsOf(pair: Pair, change: Change | undefined, nowS: number): AlarmEvent[] {
    const events: AlarmEvent[] = [];
    if (pair.alarm && nowS - pair.alarm.sinceS > this.#options.newUsualAfterS) {
      events.push(this.#end(pair, nowS, "new usual"));
    }
    if (!change) return events;
    const place = change.row - pair.detector.numRows + pair.recent.length;
    const timeS = pair.recent[place].timeS ?? NaN;
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
    const id = ++this.#numAlarms;
    const group = this.#groupOf({ src, dst, sinceS }) ?? { id, shared: undefined, numOpen: 0 };
    const alarm: Alarm = { id, src, dst, sinceS, usual: before, now: after, group };
    group.numOpen++;
    pair.alarm = alarm;
    for (const end of endsOf(alarm)) {
      const sharing = this.#open.get(end) ?? new Set();
      this.#open.set(end, sharing.add(alarm));
    }
    return alarm;
  }

  /** The largest group that an alarm fits in. */
  #groupOf(alarm: Pick<Alarm, "src" | "dst" | "sinceS">): AlarmGroup | undefined {
    let found: { group: AlarmGroup; end: string } | undefined;
    for (const end of endsOf(alarm)) {
      for (const { group, sinceS } of this.#open.get(end) ?? []) {
        const isNear = Math.abs(sinceS - alarm.sinceS) <= this.#options.groupWithinS;
        const fits = group.shared === undefined || group.shared === end;
        if (isNear && fits && group.numOpen > (found?.group.numOpen ?? 0)) found = { group, end };
      }
    }
    if (found) found.group.shared = found.end;
    return found?.group;
  }

  #end(pair: Pair, timeS: number, reason: EndReason): AlarmEvent {
    const alarm = pair.alarm as Alarm;
    pair.alarm = undefined;
    alarm.group.numOpen--;
    for (const end of endsOf(alarm)) {
      const sharing = this.#open.get(end);
      sharing?.delete(alarm);
      if (sharing?.size === 0) this.#open.delete(end);
    }
    return { kind: "end", alarm, timeS, reason };
  }
}

function rttMsOf({ rttCode }: TokenMeasurement): number {
  return rttCode === null ? NaN : decodeRttCode(rttCode);
}

const endsOf = ({ src, dst }: Pick<Alarm, "src" | "dst">) => [`src ${src}`, `dst ${dst}`];

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

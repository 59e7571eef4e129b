/**
 * Texts with a line for each packet, as ping and fping write them: leading times of lines, and runs of numbered
 * packets, in which a missing number is a loss.
 *
 * @module
 */
import { shortened } from "../../base/errors.ts";
import { FAILED_RTT_MS } from "./batch.ts";
import {
  intervalTimeUs,
  pingRow,
  type ReadingOptions,
  type Rejection,
  type Skipped,
  type TakeFinding,
  type TextReader,
  wrongTime,
} from "./format.ts";
import { constantWords } from "./reading.ts";
import { MAX_TIME_CHARACTERS, timeAtStart, type WrittenTime, writtenTimeUs } from "./time_text.ts";

/** How many of the first lines are searched for one that identifies the format. */
const MAX_HEAD_LINES = 100;
/** Longer lines are rejected. */
const MAX_LINE_CHARACTERS = 1 << 16;
/** What separates a leading time from the rest of its line. */
const AFTER_TIME = /^[\])]?(?: ?[-:,;|]?\s+|[,;|]|$)/;
/** A packet that is this far behind means that the counter was reset. */
const MAX_GAP = 1000;
/** How many losses lines may imply that have a row each, at first and for every line: it bounds the work. */
const MAX_IMPLIED = 1 << 16;
const IMPLIED_PER_LINE = 16;
/** A reply that is at most this many packets late replaces its `no answer yet`. */
const MAX_LATE = 10;
/** Sequence numbers of ICMP have 16 bits. */
const NUM_SEQUENCES = 1 << 16;
/** Maximum number of runs in progress at a time, each to a different destination. */
const MAX_RUNS = 1 << 16;

/** Whether one of the first lines of a text, without a leading time, meets a condition. */
export function hasLine(head: string, isKnown: (text: string) => boolean): boolean {
  return head.split("\n").slice(0, MAX_HEAD_LINES).some((line) => isKnown(splitTime(line.trim()).text));
}

/** `[1750766400.123456]` of `ping -D` and `fping -D`, or a date and time that a logger puts before a line. */
function splitTime(line: string, isSecond = false): { written?: WrittenTime; text: string } {
  const at = line.startsWith("[") || line.startsWith("(") ? 1 : 0;
  const written = timeAtStart(line.slice(at, at + MAX_TIME_CHARACTERS));
  const { unix, hour = unix } = written?.parts ?? {};
  const rest = written ? line.slice(at + written.text.length) : "";
  const [between] = AFTER_TIME.exec(rest) ?? [];
  if (!written || hour === undefined || between === undefined) return { text: line };
  const text = rest.slice(between.length);
  // If a logger adds its local time to that of `ping -D`, the Unix time is the clear one.
  const second = unix === undefined && !isSecond ? splitTime(text, true) : undefined;
  return second?.written?.parts.unix ? second : { written, text };
}

/** Where and when a packet was reported. */
export interface Place {
  /** From 1. */
  readonly line: number;
  /** Microseconds since 1970; NaN if the line has no time. */
  timeUs: number;
  /** The time if neither this line nor another one about the packet has one. */
  readonly nearUs?: number | undefined;
}

/** The RTT in ms or {@link FAILED_RTT_MS}, or why there is none. */
type Outcome = number | Rejection | Skipped;

/** A packet, or several that were lost. */
interface Echo extends Place {
  readonly run: Run;
  /** Number of packets before it. */
  readonly n: number;
  outcome: Outcome;
  readonly numPackets: number;
}

/** A run of ping, or several successive runs to one destination. */
export class Run {
  /** Packets that may still change, by sequence number (unwrapped beyond 16 bits). */
  readonly bySequence = new Map<number, Echo>();
  lastSequence: number | undefined;
  /** The last packet with a time, and the time between packets. */
  timed = { sequence: 0, timeUs: NaN };
  stepUs = 1e6;
  numEchoes = 0;
  numReplies = 0;

  constructor(
    readonly source: string | undefined,
    public destination: string | undefined,
    /** Number of packets before the next one, counted from the beginning of the text. */
    public numTaken: number,
  ) {}
}

export abstract class PacketReader implements TextReader {
  abstract readonly format: string;
  /** The run of the lines that follow. */
  protected run = new Run(undefined, undefined, 0);
  /** Runs by destination. */
  protected readonly runs = new Map<string, Run>();
  /** Packets that may still change, oldest first. */
  readonly #pending: Echo[] = [];
  #numImplied = 0;
  /** When the first packet was sent, Unix seconds, for lines without a time. */
  #startS: number | undefined;
  /** Whether the line before had a time: among such lines, a time alone is an empty line. */
  #isTimed = false;
  /** The zone that the text stated last, which holds for its times without one. */
  #zone: string | undefined;
  #isSaid = false;
  /** The beginning of a line whose end has not arrived. */
  #rest = "";
  #line = 0;

  constructor(readonly options: ReadingOptions, readonly take: TakeFinding, readonly path: string) {
    this.#startS = options.startS;
  }

  /**
   * Reads a line.
   *
   * @param text Without its time and surrounding blanks; not empty unless the line is a time.
   * @param fault Why its time cannot be read, if `--start` does not replace it.
   */
  abstract read(text: string, place: Place, fault: Rejection | undefined): void;

  push(text: string | undefined): void {
    (text ?? "").split("\n").forEach((piece, i) => {
      if (i > 0) this.#endLine();
      if (this.#rest.length <= MAX_LINE_CHARACTERS) this.#rest += piece;
    });
    if (text !== undefined) return;
    if (this.#rest !== "") this.#endLine();
    this.#settle(0);
    this.end();
  }

  #endLine(): void {
    const line = ++this.#line;
    const whole = this.#rest;
    this.#rest = "";
    if (whole.length > MAX_LINE_CHARACTERS) return this.reject(whole, line);
    const { zone, startS } = this.options;
    const { written, text } = splitTime(whole.trim());
    this.#zone = written?.parts.zone ?? this.#zone;
    const parsed = written ? writtenTimeUs(written, "seconds", zone, this.#zone) : { timeUs: NaN };
    const timeUs = "timeUs" in parsed ? parsed.timeUs : NaN;
    if (text !== "") this.#isTimed = written !== undefined;
    else if (!written) return;
    else if (!this.#isTimed && ("timeUs" in parsed || startS === undefined)) {
      // A time alone on a line, as `date` prints it, begins the next run. Its start may be unknown.
      this.runs.clear();
      this.endRun(0);
      this.#startS = timeUs / 1e6;
    }
    if ("timeUs" in parsed) return this.read(text, { line, timeUs }, undefined);
    const advice = startS === undefined ? "or give --start TIME and --interval SECONDS" : undefined;
    const fault = { advice, ...wrongTime(`time ${written?.text}`, parsed.fault) };
    if (text === "") this.take(fault, line);
    else this.read(text, { line, timeUs }, startS === undefined ? fault : undefined);
  }

  /** Ends the text. */
  protected end(): void {}

  /** Attributes the following lines to a run. */
  protected setRun(run: Run): void {
    this.run = run;
    if (this.runs.size > MAX_RUNS) this.runs.clear();
    if (run.destination !== undefined) this.runs.set(run.destination, run);
  }

  protected endRun(numTaken = this.run.numTaken): void {
    this.#settle(0);
    this.setRun(new Run(this.run.source, this.run.destination, numTaken));
  }

  /**
   * Adds a packet to the run, and the losses before it that its number shows.
   *
   * @param given Its number; the next one by default.
   * @param isCopy Whether it may be a second reply to a packet.
   */
  protected echo(place: Place, outcome: Outcome, given?: number, isCopy = false): void {
    const { lastSequence: last, bySequence } = this.run;
    const sent = given ?? (last ?? -1) + 1;
    const sequence = sent + NUM_SEQUENCES * Math.round(((last ?? sent) - sent) / NUM_SEQUENCES);
    const known = bySequence.get(sequence);
    const isBehind = last !== undefined &&
      (last - sequence > MAX_GAP || sequence - last > MAX_GAP && sent <= MAX_GAP);
    if (isBehind || known && isReply(known.outcome) && !isCopy) {
      // The program was restarted.
      this.endRun();
      this.#add(place, outcome, sent);
    } else if (!known) {
      const { timed } = this.run;
      const stepUs = (place.timeUs - timed.timeUs) / (sequence - timed.sequence);
      if (stepUs > 0) this.run.stepUs = stepUs;
      this.addLosses(place, sequence - 1 - (last ?? sequence - 1));
      this.#add(place, outcome, sequence);
    } else if (isReply(outcome) && !isReply(known.outcome)) {
      // A late reply replaces its loss; a copy counts once.
      known.outcome = outcome;
      known.run.numReplies++;
    } else if (Number.isNaN(known.timeUs)) known.timeUs = place.timeUs;
  }

  /** Adds losses after the last packet: a row for each, or one for all if lines imply very many. */
  protected addLosses({ line, timeUs }: Place, numLost: number): void {
    const { lastSequence: last = -1, timed, stepUs } = this.run;
    const isMany = this.#numImplied + numLost > MAX_IMPLIED + IMPLIED_PER_LINE * line;
    const numEach = isMany ? numLost : 1;
    for (let i = numEach; i <= numLost; i += numEach) {
      const lostUs = Math.round(timed.timeUs + (last + i - numEach + 1 - timed.sequence) * stepUs);
      this.#numImplied++;
      this.#add({ line, timeUs: Number.isNaN(lostUs) ? timeUs : lostUs }, FAILED_RTT_MS, last + i, numEach);
    }
  }

  /** Adds the losses that statistics count and no line reported. */
  protected addMissing(place: Place, numSent: number, numReceived: number): void {
    const { numEchoes, numReplies } = this.run;
    const numLost = numSent - numReceived - (numEchoes - numReplies);
    this.addLosses(place, Math.min(numSent - numEchoes, numLost));
  }

  /** @param numPackets Of a loss. */
  #add(place: Place, outcome: Outcome, sequence: number, numPackets = 1): void {
    const { run } = this;
    const echo = { ...place, run, n: run.numTaken, outcome, numPackets };
    this.#pending.push(echo);
    run.numTaken += numPackets;
    run.numEchoes += numPackets;
    if (isReply(outcome)) run.numReplies++;
    if (numPackets === 1) run.bySequence.set(sequence, echo);
    run.bySequence.delete(sequence - MAX_GAP - 1);
    if (sequence > (run.lastSequence ?? -1)) {
      run.lastSequence = sequence;
      if (!Number.isNaN(place.timeUs)) run.timed = { sequence, timeUs: place.timeUs };
    }
    this.#settle(MAX_LATE);
  }

  /** Reports the oldest packets. @param numKept How many may stay, from the first one without a reply on. */
  #settle(numKept: number): void {
    for (let echo; (echo = this.#pending[0]); this.#pending.shift()) {
      const { line, run, n, outcome, numPackets } = echo;
      if (this.#pending.length <= numKept && !isReply(outcome)) return;
      if (typeof outcome !== "number") this.take(outcome, line);
      else this.takeRow(echo, run, n, [outcome], isReply(outcome) ? 0 : numPackets);
    }
  }

  /** Takes a row of packets. @param n Number of packets before it, for its time if its line has none. */
  protected takeRow(place: Place, run: Run, n: number, rttsMs: number[], numLost?: number): void {
    if (!this.#isSaid) this.#say();
    const { source: src, destination: dst } = run;
    const order = { startS: this.#startS, intervalS: this.options.intervalS };
    const { timeUs: givenUs, nearUs = intervalTimeUs(order, n) } = place;
    const timeUs = Number.isNaN(givenUs) ? nearUs : givenUs;
    this.take(pingRow({ src, dst, timeUs, rttsMs, numLost }, this.options), place.line);
  }

  #say(): void {
    this.#isSaid = true;
    const { src, dst, startS, zone, onReading } = this.options;
    const zoneWords = zone === undefined ? "UTC unless stated; --zone" : `${zone} (--zone)`;
    onReading?.({
      format: this.format,
      time: `the start of each line (numbers: Unix seconds; other times: ${zoneWords}), else ` +
        (startS === undefined ? "none" : "--start and --interval"),
      source: `the heading, else ${constantWords("src", src) ?? "none"}`,
      destination: `each line or the heading, else ${constantWords("dst", dst) ?? "none"}`,
      rtt: "the time in each reply (ms, unless stated)",
      noReply: "an error, a timeout, a gap in the sequence numbers, or a loss in the statistics",
      notUsed: [],
    });
  }

  protected reject(text: string, line: number): void {
    this.take({ reason: "unknownLine", found: `unknown line: ${shortened(text)}` }, line);
  }
}

function isReply(outcome: Outcome): boolean {
  return outcome !== FAILED_RTT_MS && !(typeof outcome === "object" && "skipped" in outcome);
}

/**
 * The output of `ping`: Linux (iputils), macOS and the BSDs, busybox, Windows in most languages; also of several runs, and
 * with a time before each line, as `ping -D` and loggers write it.
 *
 * All write a line for each reply with the address and then `time=12.3 ms`. They differ in how a loss shows: as a line, as
 * a gap of the sequence numbers, or only in the statistics at the end.
 *
 * @module
 */
import { shortened } from "../../base/errors.ts";
import { parseAddress } from "../addresses/ip.ts";
import { FAILED_RTT_MS } from "./batch.ts";
import {
  decimal,
  type Format,
  leadingTime,
  LineReader,
  pingRow,
  type ReadingOptions,
  type TakeFinding,
  wrongRtt,
} from "./format.ts";

/** The time of day of macOS' `--apple-time` or a logger, whose date is not known. */
const TIME_OF_DAY = /^\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s+/;
/** `time=12.3 ms`, `time<1ms`, `Zeit=12ms`, `temps=12,3 ms`. */
const RTT = /(?:^|\s)\p{L}+\s*([=<])\s*(\d+(?:[.,]\d+)?)\s*ms(?!\p{L})/gu;
const SEQUENCE = /\b(?:icmp_)?seq[= ](\d+)/;
const HEADING = /^(?:PING6?\b|Pinging )/;
/** `4 packets transmitted, …`; `Sent = 4, Received = 3, Lost = 1`. */
const NUM_SENT = /^(\d+) packets transmitted|(?<!\p{L})\p{L}+ = (\d+), \p{L}+ = \d+, \p{L}+ = \d+/u;
/** Letters that are not ASCII may be of a code page of Windows. */
const LOSS =
  /^(?:request timeout|request timed out|no answer yet|zeit.{1,2}berschreitung|d.{1,2}lai d|tiempo de espera)|unreachable|nicht erreichbar|time to live exceeded|ttl expired|packet filtered/i;
/** The host could not send: this says nothing about the path. */
const LOCAL_ERROR =
  /^ping6?: (?:send(?:to|msg)|local error)|transmit failed|general failure|allgemeiner fehler|^ping6?: .*(?:not permitted|no buffer space)/i;
/** Lines that say nothing of a ping: headings, statistics (their second line begins with a bracket), what a shell shows. */
const OTHER = /^(?:\^C|---|\(\d+ ?%|rtt |round-trip |From .* Redirect |[$#>%]|[A-Z]:\\|PS |ping6?: )|:$/;
/** More losses than that at once are a counter that was reset. */
const MAX_GAP = 1000;
/** A reply may come so many packets late: `no answer yet` is then no loss. */
const MAX_LATE = 10;

/** See the module. */
export const ping: Format = {
  name: "ping",
  title: "output of ping",
  text: {
    isHead: (head) =>
      head.split("\n").slice(0, 100).some((line) => {
        const text = leadingTime(line.trim()).text.replace(TIME_OF_DAY, "");
        return HEADING.test(text) || text.search(RTT) >= 0 || LOSS.test(text);
      }),
    open(options, take) {
      const reader = new OutputReader(options, take);
      return new LineReader((text, line) => reader.read(text.trim(), line), take, () => reader.end());
    },
  },
};

/** A ping that was sent. */
interface PingEcho {
  /** The line that says it, from 1; of a loss that no line says, the line that shows it. */
  line: number;
  destination: string;
  rttMs: number;
  /** Microseconds since 1970; NaN where the output has no time. */
  timeUs: number;
}

type EchoPosition = Pick<PingEcho, "line" | "timeUs">;

/** Reads line by line. */
class OutputReader {
  readonly #options: ReadingOptions;
  readonly #take: TakeFinding;
  #source: string | undefined;
  /** The destination of the run that the lines belong to. */
  #destination: string | undefined;
  /** The pings that may still change, oldest first, and those of the run by their sequence number. */
  readonly #pending: PingEcho[] = [];
  #bySequence = new Map<number, PingEcho>();
  #lastSequence: number | undefined;
  #lastTimeUs = NaN;
  #numEchoes = 0;
  /** Packets since the last one that could not be sent. */
  #numUnsent = 0;
  #numTaken = 0;
  /** When the first of those was sent that {@link #numTaken} counts, microseconds since 1970. */
  #startUs: number;

  constructor(options: ReadingOptions, take: TakeFinding) {
    this.#options = options;
    this.#take = take;
    this.#startUs = 1e6 * (options.startS ?? NaN);
  }

  read(whole: string, line: number): void {
    const { timeUs, text: timeless } = leadingTime(whole);
    const text = timeless.replace(TIME_OF_DAY, "");
    const place = { line, timeUs };
    const rtts = [...text.matchAll(RTT)];
    if (text === "" && !Number.isNaN(timeUs)) return this.#beginAt(timeUs);
    if (text === "" || rtts.length > 1) return; // Least, mean and greatest.
    if (HEADING.test(text)) this.#begin(text);
    else if (rtts.length === 1) {
      const [[, sign, digits]] = rtts;
      // Windows counts whole milliseconds; of less than 1 the middle is the best guess.
      this.#echo(text, place, decimal(digits) / (sign === "<" ? 2 : 1));
    } else if (NUM_SENT.test(text)) this.#endOfRun(text, place);
    else if (LOCAL_ERROR.test(text)) {
      this.#numUnsent++;
      this.#numEchoes++;
      this.#flush();
      this.#numTaken++;
      this.#take({ skipped: "local error" }, line);
    } else if (LOSS.test(text)) this.#echo(text, place, FAILED_RTT_MS);
    else if (OTHER.test(text)) this.#maybeBegin(text);
    else {
      const detail = `no line of ping that is known: ${shortened(whole)}`;
      this.#take({ reason: "unknownLine", detail }, line);
    }
  }

  end(): void {
    this.#flush();
  }

  /** A time alone in a line, as of `date`, is when the next run begins. */
  #beginAt(timeUs: number): void {
    this.#endRun();
    this.#startUs = timeUs;
    this.#numTaken = 0;
  }

  #begin(text: string): void {
    this.#endRun();
    const [to, from] = text.split(" from ");
    const addresses = addressesIn(to);
    this.#destination = addresses.at(-1) ?? /^(?:PING6?|Pinging)\s+([^\s(]+)/.exec(to)?.[1];
    this.#source = from === undefined ? this.#source : addressesIn(from)[0];
    if (text.includes(" --> ")) this.#source = addresses[0];
  }

  /** Takes a line with a colon at the end for a heading in another language if it names another address. */
  #maybeBegin(text: string): void {
    const address = text.endsWith(":") ? addressesIn(text).at(-1) : undefined;
    if (address !== undefined && address !== this.#destination) this.#begin(text);
  }

  #echo(text: string, place: EchoPosition, rttMs: number): void {
    const isLoss = rttMs === FAILED_RTT_MS;
    const destination = this.#destination ?? (isLoss ? undefined : addressesIn(text).at(-1)) ??
      this.#options.dst;
    if (destination === undefined) {
      const detail = "no address in it, and none in a line before it";
      this.#take({ reason: "nullValue", detail: `dst; ${detail}; give it with --dst ADDRESS` }, place.line);
      return;
    }
    this.#destination = destination;
    const match = SEQUENCE.exec(text);
    const sequence = match ? Number(match[1]) : undefined;
    if (isLoss && this.#numUnsent > 0) {
      // macOS and the BSDs also say that what was not sent had no reply.
      this.#numUnsent--;
      if (sequence !== undefined) this.#lastSequence = sequence;
      return;
    }
    const known = sequence === undefined ? undefined : this.#bySequence.get(sequence);
    // A late reply takes the place of its loss; what comes twice (DUP!) counts once.
    if (known) known.rttMs = known.rttMs === FAILED_RTT_MS ? rttMs : known.rttMs;
    else {
      this.#fillGap(sequence, place);
      this.#add({ ...place, destination, rttMs }, sequence);
    }
    this.#lastTimeUs = place.timeUs;
  }

  /** Adds the losses between the last sequence number and this one. */
  #fillGap(sequence: number | undefined, place: EchoPosition): void {
    const last = this.#lastSequence;
    const numUnsent = this.#numUnsent;
    this.#numUnsent = 0;
    if (sequence === undefined || last === undefined || sequence - last > MAX_GAP) return;
    const stepUs = (place.timeUs - this.#lastTimeUs) / (sequence - last);
    for (let missing = last + 1 + numUnsent; missing < sequence; missing++) {
      const timeUs = Math.round(this.#lastTimeUs + stepUs * (missing - last));
      this.#addLoss({ line: place.line, timeUs }, missing);
    }
  }

  /** Statistics: what was sent and did not show was lost. Where lines have a time, its own time is not known. */
  #endOfRun(text: string, place: EchoPosition): void {
    const [, unix, windows] = NUM_SENT.exec(text) ?? [];
    const numMissing = Number(unix ?? windows) - this.#numEchoes;
    for (let i = 0; i < numMissing && numMissing <= MAX_GAP; i++) {
      this.#addLoss({ ...place, timeUs: Number.isNaN(place.timeUs) ? this.#lastTimeUs : place.timeUs });
    }
    this.#endRun();
  }

  #endRun(): void {
    this.#flush();
    this.#bySequence = new Map();
    this.#lastSequence = undefined;
    this.#lastTimeUs = NaN;
    this.#numEchoes = this.#numUnsent = 0;
  }

  #addLoss(place: EchoPosition, sequence?: number): void {
    const destination = this.#destination;
    if (destination !== undefined) this.#add({ ...place, destination, rttMs: FAILED_RTT_MS }, sequence);
  }

  #add(echo: PingEcho, sequence?: number): void {
    this.#pending.push(echo);
    this.#numEchoes++;
    if (sequence !== undefined) {
      this.#bySequence.set(sequence, echo);
      this.#bySequence.delete(sequence - 2 * MAX_GAP);
      this.#lastSequence = Math.max(sequence, this.#lastSequence ?? sequence);
    }
    while (this.#pending.length > MAX_LATE || this.#pending[0]?.rttMs > 0) this.#report();
  }

  #flush(): void {
    while (this.#pending.length > 0) this.#report();
  }

  /** Reports the oldest ping that may still change. */
  #report(): void {
    const { line, destination, rttMs, timeUs } = this.#pending.shift() as PingEcho;
    if (rttMs === 0) return this.#take(wrongRtt(0, "rtt 0"), line);
    const found = { src: this.#source, dst: destination, timeUs: this.#timeOf(timeUs), rttsMs: [rttMs] };
    this.#take(pingRow(found, this.#options), line);
  }

  /** The time of the next ping: its own, else as many intervals after the start as pings were before it. */
  #timeOf(timeUs: number): number {
    const { intervalS = 1 } = this.#options;
    const numBefore = this.#numTaken++;
    return Number.isNaN(timeUs) ? Math.round(this.#startUs + 1e6 * intervalS * numBefore) : timeUs;
  }
}

/** The addresses in a line, without the marks around them. */
function addressesIn(text: string): string[] {
  const words = text.match(/[0-9a-f.:]+/gi) ?? [];
  // A colon ends the address of a reply; `::` may be the end of an address itself.
  return words.map((word) => word.replace(/(?<!:):$|\.$/, "")).filter((word) => parseAddress(word));
}

/**
 * The output of `ping`: Linux (iputils), macOS and the BSDs, busybox, and Windows in most languages. Lines of
 * several runs may be interleaved, and may begin with a time, as `ping -D` and loggers write it.
 *
 * All variants write a line for each reply, with the address and then `time=12.3 ms`. They report losses
 * differently: as a line, as a gap in the sequence numbers, or only in the statistics at the end.
 *
 * @module
 */
import { shortened } from "../../base/errors.ts";
import { formatAddress, parseAddress } from "../addresses/ip.ts";
import { FAILED_RTT_MS } from "./batch.ts";
import {
  type Format,
  hasLine,
  LineReader,
  LineTimes,
  missingEnd,
  NoMeasurementsError,
  pingRow,
  readRtt,
  type Rejection,
} from "./format.ts";

/** The time of day from macOS's `--apple-time` or a logger. Its date is unknown. */
const TIME_OF_DAY = /^\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s+/;
/** The host and process that syslog writes before a line. */
const LOGGER = /^\S+ ping6?\[\d+\]: /;
/**
 * `time=12.3 ms`, `time<1ms`, `Zeit=12ms`, `temps=12,3 ms`, `tiempo<1m`, `time=980.5µs` of Go, but not
 * `1 ms  <1 ms` of traceroute.
 */
const RTT = /(?:^|\s)(?!ms\s)\p{L}+\s*([=<])\s*(\d+(?:[.,]\d+)?)\s*(ms|мс|(?<=<1)m|[uµμ]s|s)(?!\p{L})/gu;
/** `rtt min/avg/max/mdev = 12.1/12.5/13.0/0.3 ms`. */
const MEAN_RTT = /min\/avg\/max(?:\/[\w-]+)? = [\d.,]+\/([\d.,]+)\//;
/** First lines of other tools, which measure or print something else, and what to call them. */
export const OTHER_TOOLS: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:HPING \S+ \(.*\): (?!icmp)|TCPing|Probing \S+\/tcp|seq \d+: tcp |ARPING |Starting Nping|PING [^\s:]+:\d+ \()/m,
    "it looks like the output of hping3, nping, tcping, httping or arping, which do not measure ICMP echo",
  ],
  [/^PING (?:OK|WARNING|CRITICAL|UNKNOWN) -/, "it looks like the output of check_ping of Nagios"],
  [
    /^> [^,\n]+, .*\n(?!$)/,
    "it looks like the text of globalping, whose sources are places (get its results with --json)",
  ],
  [
    /^\s*RIPE Atlas Report for|^\d+ bytes from probe #/m,
    "it looks like the output of ripe-atlas report (get the results with --renderer raw)",
  ],
  [/^Sending \d+, \d+-byte ICMP| *SEQ HOST /m, "it looks like the output of ping of a router"],
];
const SEQUENCE = /\b(?:icmp_)?seq[= ](\d+)/;
/** `64 bytes from`, in any language. */
const REPLY = /^\d+ \p{L}+,? \p{L}/u;
const HEADING = /^(?:H?PING6?\b|Pinging )/;
/** `4 packets transmitted, 3 received, …`; `Sent = 4, Received = 3, Lost = 1`. */
const STATISTICS =
  /^(\d+) \p{L}+ \p{L}+, (\d+) (?:.*%|\p{L}+$|packets received)|(?<![\p{L}\ufffd])[\p{L}\ufffd]+ = (\d+), [\p{L}\ufffd]+ = (\d+), [\p{L}\ufffd]+ = \d+/u;
/** In English and German, whose letters may be in a Windows code page. Other words are unknown lines. */
const LOSS =
  /^(?:request timeout|request timed out|no answer yet|zeit.{1,2}berschreitung)|unreachable|nicht erreichbar|time to live exceeded|ttl expired|packet filtered|icmp_seq=\d+ timeout/i;
/** `From 192.0.2.1 icmp_seq=2 Time to live exceeded`, `no answer yet for icmp_seq=3`, in any language. */
const ICMP_ERROR = /^\p{L}[^=]* icmp_seq=\d+\b(?! ttl=)/u;
/** An ICMP error of macOS and the BSDs, which has no sequence number. */
const BSD_ERROR = /^\d+ bytes from \S+(?: \(\S+\))?: (?!Redirect)[A-Z]/i;
/** Reported if the host could not send a packet, which says nothing about the path. */
const LOCAL_ERROR =
  /^ping6?: (?:send(?:to|msg)|local error|.*not permitted|.*no buffer space)|transmit failed|^general failure|^allgemeiner fehler/i;
/** Reported if the host did not begin: no route, or no address for the name. */
const NOT_BEGUN = /^(?:ping6?: |connect: network)|could not find host|konnte host \S+ nicht/i;
/**
 * Lines that are not pings: headings, statistics (whose second line begins with a bracket), dots of `-f`,
 * routes of `-R`, packets in ICMP errors of the BSDs, shell prompts.
 */
const OTHER =
  /^(?:\^C|control-C|---|\(\d+ ?%|rtt(?: |\[ms\])|round-trip |pipe \d|\d+\/\d+ packets|From .* Redirect |[^=]*[$#>%] ?ping |[$#>%]|[A-Z]:\\|PS |(?:ping6?: )?warning: |ping6?: sock4|ai->|[.!E\b ]+$|(?:RR|TS): |-?\d+$|(?:\S+ \()?\d+\.\d+\.\d+\.\d+\)?$|Vr HL TOS|4 {2}5 )|:$/i;
/** A place, or a host with its tool or a bar, that measured what follows: `> Berlin, DE`, `web1: `, `web1 | `. */
const OTHER_SOURCE =
  /^> ([^,]+, .*)|^([\w.-]*[a-z][\w.-]*)(?: ping6?(?:\[\d+\])?)?(?:: | +\| )(?=\d+ \p{L}+ \p{L}+ )/iu;
/** Longer lines are not of ping. */
const MAX_PING_CHARACTERS = 1000;
/** A packet that is this far behind means that the counter was reset. */
const MAX_GAP = 1000;
/** How many losses lines may imply beyond {@link MAX_GAP} each, at first and for every line: it bounds the work. */
const MAX_IMPLIED = 1 << 16;
const IMPLIED_PER_LINE = 16;
/** A reply that is at most this many packets late replaces its `no answer yet`. */
const MAX_LATE = 10;
/** Sequence numbers have 16 bits. */
const NUM_SEQUENCES = 1 << 16;
/** Maximum number of runs in progress at a time, each to a different destination. */
const MAX_RUNS = 100;
/** A duplicate reply, or a reply from another address of the destination. */
const OTHER_REPLY = /\(DUP!\)|\(DIFFERENT ADDRESS!\)/;

export const ping: Format = {
  name: "ping",
  title: "output of ping",
  text: {
    isHead: (head) =>
      !OTHER_TOOLS.some(([pattern]) => pattern.test(head.slice(0, 512))) &&
      hasLine(head, (whole) => {
        const text = whole.replace(LOGGER, "").replace(TIME_OF_DAY, "");
        return [HEADING, LOSS, LOCAL_ERROR, NOT_BEGUN, STATISTICS].some((each) => each.test(text)) ||
          text.search(RTT) >= 0;
      }),
    open: (options, take, path) => new PingReader(options, take, path),
  },
};

const NO_RTT: Rejection = { reason: "nullValue", found: "a reply without an RTT" };

interface PingEcho {
  /** The line that reports the packet or implies its loss, from 1. */
  line: number;
  run: Run;
  rtt: number | Rejection;
  /** Microseconds since 1970; NaN if the output has no time. */
  timeUs: number;
}

/** A run of ping, or several successive runs to one destination. */
interface Run {
  source: string | undefined;
  destination: string | undefined;
  /** Whether the destination's own address has replied. */
  hasOwnReply: boolean;
  /** Pings that may still change, by sequence number (unwrapped beyond 16 bits). */
  bySequence: Map<number, PingEcho>;
  lastSequence: number | undefined;
  lastTimeUs: number;
  /** Between packets. */
  stepUs: number;
  numEchoes: number;
  numReplies: number;
  /** Packets since the last numbered one that lines without a number reported: not sent, or ICMP errors. */
  numUnnumbered: number;
  /** Number of packets before the next one to report, counted from the beginning of the text. */
  numTaken: number;
}

type EchoPosition = Pick<PingEcho, "line" | "timeUs">;

class PingReader extends LineReader {
  readonly #times = new LineTimes("ping", this.options);
  /** The source that lines name before their replies. */
  #named: string | undefined;
  #numSpare = MAX_IMPLIED;
  #run: Run = newRun(undefined, undefined, 0);
  /** Runs by destination address; the last one was read most recently. */
  readonly #runs = new Map<string, Run>();
  /** Pings that may still change, oldest first. */
  readonly #pending: PingEcho[] = [];
  /** When the first packet of {@link Run.numTaken} was sent, microseconds since 1970. */
  #startUs = 1e6 * (this.options.startS ?? NaN);
  /** A time alone on a line, until a line shows that a run begins. */
  #beginUs: number | undefined;
  /** Statistics of a run without lines for its packets (`ping -q`), until the line with its mean RTT. */
  #quiet: { place: EchoPosition; numSent: number; numLost: number } | undefined;

  read(whole: string, line: number): void {
    this.#numSpare = Math.min(this.#numSpare + IMPLIED_PER_LINE, MAX_IMPLIED);
    if (whole.length > MAX_PING_CHARACTERS) return this.reject(`unknown line: ${shortened(whole)}`, line);
    const { timeUs, text: timeless, fault } = this.#times.read(whole);
    const clockless = timeless.replace(TIME_OF_DAY, "");
    this.#checkSource(clockless, line);
    const text = clockless.replace(LOGGER, "").replace(TIME_OF_DAY, "");
    const place = { line, timeUs };
    const rtts = [...text.matchAll(RTT)];
    const wrongTime = this.options.startS === undefined || timeless === "" ? fault : undefined;
    // The next run does not have the time of the one before.
    if (wrongTime && timeless === "" && this.options.startS === undefined) this.#beginUs = NaN;
    // A reply is rejected below, so that its sequence number does not count as a loss.
    if (wrongTime && rtts.length !== 1) return this.take(wrongTime, line);
    if (text === "") {
      if (!Number.isNaN(timeUs)) this.#beginUs = timeUs;
      return;
    }
    // Among lines with times, a time alone on a line is an empty line.
    if (!Number.isNaN(timeUs)) this.#beginUs = undefined;
    const mean = rtts.length > 1 ? rtts.at(-1)?.[2] : MEAN_RTT.exec(text)?.[1];
    if (mean !== undefined) return this.#endQuiet(mean);
    if (LOCAL_ERROR.test(text)) {
      this.#run.numUnnumbered++;
      this.#run.numEchoes++;
      this.#flush();
      this.#run.numTaken++;
      this.take({ skipped: "local error" }, line);
    } else if (HEADING.test(text)) this.#begin(text);
    else if (rtts.length === 1) {
      const [[, sign, digits, unit]] = rtts;
      const number = sign === "<" ? `<${digits}` : digits;
      const rtt = wrongTime ?? readRtt(/^[uµμ]?s$/.test(unit) ? number + unit : number, 1, this.options);
      this.#findRun(text);
      this.#echo(text, place, rtt);
    } else if (STATISTICS.test(text)) this.#endOfRun(text, place);
    else if (OTHER.test(text)) this.#maybeBegin(text);
    else if (NOT_BEGUN.test(text)) this.take({ skipped: "local error" }, line);
    else if (REPLY.test(text) && SEQUENCE.test(text) && !LOSS.test(text)) {
      // `(truncated)`, or too short for a time.
      this.#findRun(text);
      this.#echo(text, place, NO_RTT);
    } else if (BSD_ERROR.test(text)) {
      this.#echo(text, place, FAILED_RTT_MS);
      this.#run.numUnnumbered++;
    } else if ([LOSS, ICMP_ERROR].some((each) => each.test(text))) {
      if (text.startsWith("echo reply from ")) this.#findRun(text); // oping
      this.#echo(text, place, FAILED_RTT_MS);
    } else this.reject(`unknown line: ${shortened(whole)}`, line);
  }

  /** @throws {NoMeasurementsError} If lines name other sources, which one source would mix. */
  #checkSource(text: string, line: number): void {
    const [, place, host] = OTHER_SOURCE.exec(text) ?? [];
    const source = place ?? host;
    this.#named ??= host;
    if (source === undefined || source === this.#named) return;
    const found = `line ${line} names ${place === undefined ? "another" : "a"} source, ${shortened(source)}`;
    const advice = place === undefined
      ? "separate the sources"
      : "get the results as JSON, as globalping does with --json";
    throw new NoMeasurementsError({ found, expected: "a text of one source", advice }, { path: this.path });
  }

  override end(): void {
    this.#flush();
    this.#endQuiet();
  }

  /** A time alone on a line, as `date` prints it, is the beginning of the next run. */
  #beginAtTime(): void {
    if (this.#beginUs === undefined) return;
    this.#endQuiet();
    this.#endRun();
    this.#startUs = this.#beginUs;
    this.#beginUs = undefined;
    this.#run.numTaken = 0;
    this.#runs.clear();
    this.#setRun(this.#run);
  }

  #begin(text: string): void {
    this.#beginAtTime();
    this.#endQuiet();
    this.#flush();
    // `PING name (destination) from source eth0:`, in any language.
    const [, inside = "", rest = ""] = /[([]([^()[\]]*)[)\]](.*)/.exec(text) ?? [];
    const addresses = addressesIn(text);
    let [destination] = addressesIn(inside);
    let source: string | undefined = addressesIn(destination === undefined ? "" : rest)[0];
    if (text.includes(" --> ")) [source, destination] = addresses;
    else if (destination === undefined) {
      destination = addresses[0] ?? /^(?:PING6?|Pinging)\s+([^\s(]+)/.exec(text)?.[1];
      source = addresses[1];
    }
    source ??= this.#run.source;
    this.#setRun(newRun(source, destination, this.#run.numTaken));
  }

  /** Attributes the following lines to a run. */
  #setRun(run: Run): void {
    this.#run = run;
    if (run.destination === undefined) return;
    this.#runs.delete(run.destination);
    this.#runs.set(run.destination, run);
    const [[oldest]] = this.#runs;
    if (this.#runs.size > MAX_RUNS) this.#runs.delete(oldest);
  }

  /** If lines of several runs are interleaved, switches to the run whose destination replied. */
  #findRun(text: string): void {
    const { destination, hasOwnReply, source, numTaken } = this.#run;
    const address = addressesIn(text).at(-1);
    if (address === undefined || OTHER_REPLY.test(text)) return;
    const known = address === destination ? this.#run : this.#runs.get(address);
    // A destination that never replies from its own address replies from others.
    if (!known && !hasOwnReply && destination !== undefined) return;
    const run = known ?? newRun(source, address, numTaken + this.#pending.length);
    run.hasOwnReply = true;
    this.#setRun(run);
  }

  /** Switches to the run that a line of statistics names, or a heading in another language. */
  #maybeBegin(text: string): void {
    const address = /^---|:$/.test(text) ? addressesIn(text)[0] : undefined;
    const known = this.#runs.get(address ?? "");
    if (known) this.#setRun(known);
    else if (address !== undefined && text.endsWith(":") && address !== this.#run.destination) {
      this.#begin(text);
    }
  }

  #echo(text: string, place: EchoPosition, rtt: PingEcho["rtt"]): void {
    this.#beginAtTime();
    if (!this.#hasDestination(place)) return;
    const [, digits] = SEQUENCE.exec(text) ?? [];
    const sent = digits === undefined ? undefined : Number(digits);
    if (rtt === FAILED_RTT_MS && sent !== undefined && isAnswered(this.#run, sent)) {
      // Lines of losses do not name the destination, so it is the one that has not answered this packet.
      const others = [...this.#runs.values()].filter((run) =>
        !isAnswered(run, sent) && (run.lastSequence !== undefined || !run.hasOwnReply)
      );
      if (others.length === 1) this.#setRun(others[0]);
    }
    const last = this.#run.lastSequence;
    const sequence = sent === undefined ? undefined : sequenceIn(this.#run, sent);
    const { numUnnumbered } = this.#run;
    if (
      rtt === FAILED_RTT_MS && sequence !== undefined && numUnnumbered > 0 &&
      sequence - (last ?? sequence) <= numUnnumbered
    ) {
      // macOS and the BSDs also report no reply for packets that were not sent.
      this.#run.numUnnumbered--;
      this.#run.lastSequence = sequence;
      return;
    }
    const known = sequence === undefined ? undefined : this.#run.bySequence.get(sequence);
    const isKnown = known !== undefined && known.rtt !== FAILED_RTT_MS;
    const isBehind = sequence !== undefined && last !== undefined &&
      (last - sequence > MAX_GAP || sequence - last > MAX_GAP && Number(sent) <= MAX_GAP);
    if (isBehind || isKnown && !OTHER_REPLY.test(text)) {
      // ping was restarted.
      this.#endRun();
      this.#add({ ...place, run: this.#run, rtt }, sent);
    } else if (known) {
      // A late reply replaces its loss; a duplicate (DUP!) counts once.
      if (!isKnown && rtt !== FAILED_RTT_MS) {
        known.rtt = rtt;
        known.run.numReplies++;
      }
    } else {
      this.#fillGap(sequence, place);
      this.#add({ ...place, run: this.#run, rtt }, sequence);
    }
    this.#run.lastTimeUs = place.timeUs;
  }

  /** Rejects a packet whose destination is unknown. */
  #hasDestination({ line }: EchoPosition): boolean {
    this.#run.destination ??= this.options.dst?.[0];
    if (this.#run.destination !== undefined) return true;
    this.take(missingEnd("dst", "dst; no address in this line or in one before it"), line);
    return false;
  }

  /** Adds the losses between the last sequence number and this one. */
  #fillGap(sequence: number | undefined, place: EchoPosition): void {
    const { lastSequence: last, lastTimeUs, numUnnumbered } = this.#run;
    this.#run.numUnnumbered = 0;
    if (sequence === undefined || last === undefined) return;
    const stepUs = (place.timeUs - lastTimeUs) / (sequence - last);
    if (stepUs > 0) this.#run.stepUs = stepUs;
    const timeOf = (missing: number) => Math.round(lastTimeUs + stepUs * (missing - last));
    const first = last + 1 + numUnnumbered;
    const numRows = this.#numRowsOf({ line: place.line, timeUs: timeOf(first) }, sequence - first);
    for (let i = first; i < first + numRows; i++) this.#addLoss({ line: place.line, timeUs: timeOf(i) }, i);
  }

  /** Adds losses at an unknown time, which the statistics count and no line reported. */
  #endOfRun(text: string, place: EchoPosition): void {
    const numbers = STATISTICS.exec(text)?.slice(1).filter((digits) => digits !== undefined).map(Number);
    const [numSent, numReceived] = numbers as number[];
    // Before the statistics of a run with packets, it is the time of an empty line.
    if (this.#run.numEchoes === 0) this.#beginAtTime();
    this.#beginUs = undefined;
    const { numEchoes, numReplies, lastTimeUs, stepUs } = this.#run;
    const numLost = Math.max(0, numSent - numReceived);
    this.#endQuiet();
    if (numEchoes === 0 && numReceived > 0) this.#quiet = { place, numSent, numLost };
    const numMissing = Math.min(numSent - numEchoes, numLost - (numEchoes - numReplies));
    // The missing packets were sent after the last one.
    const step = place.timeUs > lastTimeUs ? (place.timeUs - lastTimeUs) / numMissing : stepUs;
    const timeOf = (i: number) => Number.isNaN(lastTimeUs) ? place.timeUs : Math.round(lastTimeUs + i * step);
    const numRows = this.#quiet ? 0 : this.#numRowsOf({ ...place, timeUs: timeOf(1) }, numMissing);
    for (let i = 1; i <= numRows; i++) this.#addLoss({ ...place, timeUs: timeOf(i) });
    this.#endRun();
  }

  /** Reports a run with known statistics only. @param mean Its mean RTT, if the text contains it. */
  #endQuiet(mean?: string): void {
    if (!this.#quiet) return;
    const { place, numSent, numLost } = this.#quiet;
    this.#quiet = undefined;
    const rttMs = mean === undefined ? NO_RTT : readRtt(mean, 1, this.options);
    if (typeof rttMs !== "number") this.take(rttMs, place.line);
    else this.#takeRun(place, [rttMs], numLost);
    this.#run.numTaken += numSent - 1;
  }

  /** Reports one row of several packets. */
  #takeRun({ line, timeUs }: EchoPosition, rttsMs: number[], numLost?: number, run = this.#run): void {
    const { source: src, destination: dst } = run;
    const found = { src, dst, timeUs: this.#timeOf(run, timeUs), rttsMs, numLost };
    this.#times.say(
      "an error, a timeout, a gap in the numbers or a loss in the statistics",
      src && "the one in the heading",
    );
    this.take(pingRow(found, this.options), line);
  }

  /** The number of losses that have a row each: all of them, or 0 if there are so many that they share one. */
  #numRowsOf(place: EchoPosition, numLost: number): number {
    if (numLost <= Math.max(MAX_GAP, this.#numSpare)) {
      if (numLost > MAX_GAP) this.#numSpare -= numLost;
      return numLost;
    }
    this.#flush();
    this.#takeRun(place, [FAILED_RTT_MS], numLost);
    this.#run.numTaken += numLost - 1;
    return 0;
  }

  #endRun(): void {
    this.#flush();
    const { source, destination, hasOwnReply, numTaken } = this.#run;
    this.#setRun({ ...newRun(source, destination, numTaken), hasOwnReply });
  }

  #addLoss(place: EchoPosition, sequence?: number): void {
    if (!this.#hasDestination(place)) return;
    this.#add({ ...place, run: this.#run, rtt: FAILED_RTT_MS }, sequence);
  }

  #add(echo: PingEcho, sequence?: number): void {
    this.#pending.push(echo);
    const { run } = echo;
    run.numEchoes++;
    if (echo.rtt !== FAILED_RTT_MS) run.numReplies++;
    if (sequence !== undefined) {
      run.bySequence.set(sequence, echo);
      run.bySequence.delete(sequence - 2 * MAX_GAP);
      run.lastSequence = Math.max(sequence, run.lastSequence ?? sequence);
    }
    while (this.#pending.length > MAX_LATE || this.#pending[0] && this.#pending[0].rtt !== FAILED_RTT_MS) {
      this.#report();
    }
  }

  #flush(): void {
    while (this.#pending.length > 0) this.#report();
  }

  #report(): void {
    const { line, run, rtt, timeUs } = this.#pending.shift() as PingEcho;
    if (typeof rtt !== "number") return this.take(rtt, line);
    this.#takeRun({ line, timeUs }, [rtt], undefined, run);
  }

  /** The ping's own time, or as many intervals after the start as there were pings before it. */
  #timeOf(run: Run, timeUs: number): number {
    const { intervalS = 1 } = this.options;
    const numBefore = run.numTaken++;
    return Number.isNaN(timeUs) ? Math.round(this.#startUs + 1e6 * intervalS * numBefore) : timeUs;
  }
}

/** Unwraps a sequence number beyond 16 bits. */
function sequenceIn({ lastSequence: last }: Run, sent: number): number {
  return last === undefined ? sent : sent + NUM_SEQUENCES * Math.round((last - sent) / NUM_SEQUENCES);
}

function isAnswered(run: Run, sent: number): boolean {
  return (run.bySequence.get(sequenceIn(run, sent))?.rtt ?? FAILED_RTT_MS) !== FAILED_RTT_MS;
}

function newRun(source: string | undefined, destination: string | undefined, numTaken: number): Run {
  return {
    source,
    destination,
    hasOwnReply: false,
    bySequence: new Map(),
    lastSequence: undefined,
    lastTimeUs: NaN,
    stepUs: 1e6,
    numEchoes: 0,
    numReplies: 0,
    numUnnumbered: 0,
    numTaken,
  };
}

/** The addresses in a line, in the form of RFC 5952, without adjacent punctuation. */
function addressesIn(text: string): string[] {
  const words = text.match(/[0-9a-f.:]+/gi) ?? [];
  return words.flatMap((word) => {
    // A colon follows the address of a reply, but an address may itself end in `::`.
    const bytes = parseAddress(word.replace(/(?<!:):$|\.$/, ""));
    return bytes ? [formatAddress(bytes)] : [];
  });
}

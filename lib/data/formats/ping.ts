/**
 * The output of `ping`: Linux (iputils), macOS and the BSDs, busybox, and Windows in most languages. Lines of
 * several runs may be interleaved, and may begin with a time, as `ping -D` and loggers write it.
 *
 * All variants write a line for each reply, with the address and then `time=12.3 ms`. They differ in how they
 * show a loss: as a line, as a gap in the sequence numbers, or only in the statistics at the end.
 *
 * @module
 */
import { shortened } from "../../base/errors.ts";
import { formatAddress, parseAddress } from "../addresses/ip.ts";
import { FAILED_RTT_MS } from "./batch.ts";
import { type Format, hasLine, leadingTime, LineReader, pingRow, readRtt, type Rejection } from "./format.ts";

/** The time of day of macOS's `--apple-time` or of a logger, whose date is unknown. */
const TIME_OF_DAY = /^\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s+/;
/** `time=12.3 ms`, `time<1ms`, `Zeit=12ms`, `temps=12,3 ms`, `tiempo<1m`, but not `1 ms  <1 ms` of traceroute. */
const RTT = /(?:^|\s)(?!ms\s)\p{L}+\s*([=<])\s*(\d+(?:[.,]\d+)?)\s*(?:ms|мс|(?<=<1)m)(?!\p{L})/gu;
/** First lines of other tools, which measure or print something else, and what they look like. */
export const OTHER_TOOLS: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:HPING \S+ \(.*\): (?!icmp)|TCPing|Probing \S+\/tcp|seq \d+: tcp |ARPING |Starting Nping|PING [^\s:]+:\d+ \()/m,
    "it looks like the output of hping3, nping, tcping, httping or arping, which do not measure ICMP echo",
  ],
  [/\bPING (?:OK|WARNING|CRITICAL|UNKNOWN) -/, "it looks like the output of check_ping of Nagios"],
  [/^Sending \d+, \d+-byte ICMP| *SEQ HOST /m, "it looks like the output of ping of a router"],
];
const SEQUENCE = /\b(?:icmp_)?seq[= ](\d+)/;
const HEADING = /^(?:PING6?\b|Pinging )/;
/** `4 packets transmitted, …`; `Sent = 4, Received = 3, Lost = 1`. */
const NUM_SENT = /^(\d+) packets transmitted|(?<!\p{L})\p{L}+ = (\d+), \p{L}+ = \d+, \p{L}+ = \d+/u;
/** Non-ASCII letters may be in a Windows code page. */
const LOSS =
  /^(?:request timeout|request timed out|no answer yet|zeit.{1,2}berschreitung|d.{1,2}lai d|tiempo de espera)|unreachable|nicht erreichbar|time to live exceeded|ttl expired|packet filtered/i;
/** The host could not send, which says nothing about the path. */
const LOCAL_ERROR =
  /^ping6?: (?:send(?:to|msg)|local error)|transmit failed|general failure|allgemeiner fehler|^ping6?: .*(?:not permitted|no buffer space)/i;
/** Lines without a ping: headings, statistics (whose second line begins with a bracket), shell prompts. */
const OTHER = /^(?:\^C|---|\(\d+ ?%|rtt |round-trip |From .* Redirect |[$#>%]|[A-Z]:\\|PS |ping6?: )|:$/;
/** A larger gap means that the counter was reset. */
const MAX_GAP = 1000;
/** A reply at most this many packets late replaces its `no answer yet`. */
const MAX_LATE = 10;
/** Sequence numbers have 16 bits. */
const NUM_SEQUENCES = 1 << 16;
/** How many runs, each to a different destination, may be in progress at a time. */
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
        const text = whole.replace(TIME_OF_DAY, "");
        return HEADING.test(text) || text.search(RTT) >= 0 || LOSS.test(text);
      }),
    open: (options, take) => new PingReader(options, take),
  },
};

interface PingEcho {
  /** The line that reports the packet or implies its loss, from 1. */
  line: number;
  run: Run;
  rtt: number | Rejection;
  /** Microseconds since 1970; NaN if the output has no time. */
  timeUs: number;
}

/** A run of ping, or several successive runs to a destination. */
interface Run {
  source: string | undefined;
  destination: string | undefined;
  /** Whether the destination's own address has replied. */
  hasOwnReply: boolean;
  /** Pings that may still change, by sequence number (unwrapped beyond 16 bits). */
  bySequence: Map<number, PingEcho>;
  lastSequence: number | undefined;
  lastTimeUs: number;
  numEchoes: number;
  /** Packets since the last one that could not be sent. */
  numUnsent: number;
  /** Packets before the next one to report, counted from the beginning of the text. */
  numTaken: number;
}

type EchoPosition = Pick<PingEcho, "line" | "timeUs">;

class PingReader extends LineReader {
  #run: Run = newRun(undefined, undefined, 0);
  /** Runs by destination address; the most recently read one is last. */
  readonly #runs = new Map<string, Run>();
  /** Pings that may still change, oldest first. */
  readonly #pending: PingEcho[] = [];
  /** When the first packet of {@link Run.numTaken} was sent, microseconds since 1970. */
  #startUs = 1e6 * (this.options.startS ?? NaN);

  read(whole: string, line: number): void {
    const { timeUs, text: timeless, fault } = leadingTime(whole);
    if (fault !== undefined && (this.options.startS === undefined || timeless === "")) {
      return this.take({ reason: "invalidTime", detail: fault }, line);
    }
    const text = timeless.replace(TIME_OF_DAY, "");
    const place = { line, timeUs };
    const rtts = [...text.matchAll(RTT)];
    if (text === "" && !Number.isNaN(timeUs)) return this.#beginAt(timeUs);
    if (text === "" || rtts.length > 1) return; // minimum, mean and maximum
    if (HEADING.test(text)) this.#begin(text);
    else if (rtts.length === 1) {
      const [[, sign, digits]] = rtts;
      const rtt = readRtt(sign === "<" ? `<${digits}` : digits, 1, this.options);
      this.#findRun(text);
      this.#echo(text, place, rtt);
    } else if (NUM_SENT.test(text)) this.#endOfRun(text, place);
    else if (LOCAL_ERROR.test(text)) {
      this.#run.numUnsent++;
      this.#run.numEchoes++;
      this.#flush();
      this.#run.numTaken++;
      this.take({ skipped: "local error" }, line);
    } else if (LOSS.test(text)) this.#echo(text, place, FAILED_RTT_MS);
    else if (OTHER.test(text)) this.#maybeBegin(text);
    else {
      const detail = `unknown line: ${shortened(whole)}`;
      this.take({ reason: "unknownLine", detail }, line);
    }
  }

  override end(): void {
    this.#flush();
  }

  /** A time alone on a line, as `date` prints it, is the beginning of the next run. */
  #beginAt(timeUs: number): void {
    this.#endRun();
    this.#startUs = timeUs;
    this.#run.numTaken = 0;
    this.#runs.clear();
    this.#setRun(this.#run);
  }

  #begin(text: string): void {
    this.#flush();
    const [to, from] = text.split(" from ");
    const addresses = addressesIn(to);
    const destination = addresses.at(-1) ?? /^(?:PING6?|Pinging)\s+([^\s(]+)/.exec(to)?.[1];
    let source = from === undefined ? this.#run.source : addressesIn(from)[0];
    if (text.includes(" --> ")) source = addresses[0];
    this.#setRun(newRun(source, destination, this.#run.numTaken));
  }

  /** Attributes the lines that follow to this run. */
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
    // A destination that never replies from its own address has others.
    if (!known && !hasOwnReply && destination !== undefined) return;
    const run = known ?? newRun(source, address, numTaken + this.#pending.length);
    run.hasOwnReply = true;
    this.#setRun(run);
  }

  /** Switches to the run named by a line of statistics, or by a heading in another language. */
  #maybeBegin(text: string): void {
    const address = /^---|:$/.test(text) ? addressesIn(text).at(-1) : undefined;
    const known = this.#runs.get(address ?? "");
    if (known) this.#setRun(known);
    else if (address !== undefined && text.endsWith(":") && address !== this.#run.destination) {
      this.#begin(text);
    }
  }

  #echo(text: string, place: EchoPosition, rtt: number | Rejection): void {
    const destination = this.#run.destination ?? this.options.dst;
    if (destination === undefined) {
      const detail = "no address in this line or in one before it";
      this.take({ reason: "nullValue", detail: `dst; ${detail}; give it with --dst ADDRESS` }, place.line);
      return;
    }
    this.#run.destination = destination;
    const [, digits] = SEQUENCE.exec(text) ?? [];
    const sent = digits === undefined ? undefined : Number(digits);
    let sequence = sent;
    const last = this.#run.lastSequence;
    if (sequence !== undefined && last !== undefined) {
      sequence += NUM_SEQUENCES * Math.round((last - sequence) / NUM_SEQUENCES);
    }
    if (rtt === FAILED_RTT_MS && this.#run.numUnsent > 0) {
      // macOS and the BSDs also report no reply for packets that were not sent.
      this.#run.numUnsent--;
      if (sequence !== undefined) this.#run.lastSequence = sequence;
      return;
    }
    const known = sequence === undefined ? undefined : this.#run.bySequence.get(sequence);
    const isAnswered = known !== undefined && known.rtt !== FAILED_RTT_MS;
    const isBehind = sequence !== undefined && last !== undefined && last - sequence > MAX_GAP;
    if (isBehind || isAnswered && !OTHER_REPLY.test(text)) {
      // ping was restarted.
      this.#endRun();
      this.#add({ ...place, run: this.#run, rtt }, sent);
    } else if (known) {
      // A late reply replaces its loss; a duplicate (DUP!) counts once.
      if (!isAnswered) known.rtt = rtt;
    } else {
      this.#fillGap(sequence, place);
      this.#add({ ...place, run: this.#run, rtt }, sequence);
    }
    this.#run.lastTimeUs = place.timeUs;
  }

  /** Adds the losses between the last sequence number and this one. */
  #fillGap(sequence: number | undefined, place: EchoPosition): void {
    const { lastSequence: last, lastTimeUs, numUnsent } = this.#run;
    this.#run.numUnsent = 0;
    if (sequence === undefined || last === undefined || sequence - last > MAX_GAP) return;
    const stepUs = (place.timeUs - lastTimeUs) / (sequence - last);
    for (let missing = last + 1 + numUnsent; missing < sequence; missing++) {
      const timeUs = Math.round(lastTimeUs + stepUs * (missing - last));
      this.#addLoss({ line: place.line, timeUs }, missing);
    }
  }

  /** Packets that the statistics count and no line reported were lost, at an unknown time. */
  #endOfRun(text: string, place: EchoPosition): void {
    const [, unix, windows] = NUM_SENT.exec(text) ?? [];
    const numMissing = Number(unix ?? windows) - this.#run.numEchoes;
    for (let i = 0; i < numMissing && numMissing <= MAX_GAP; i++) {
      this.#addLoss({ ...place, timeUs: Number.isNaN(place.timeUs) ? this.#run.lastTimeUs : place.timeUs });
    }
    this.#endRun();
  }

  #endRun(): void {
    this.#flush();
    const { source, destination, hasOwnReply, numTaken } = this.#run;
    this.#setRun({ ...newRun(source, destination, numTaken), hasOwnReply });
  }

  #addLoss(place: EchoPosition, sequence?: number): void {
    if (this.#run.destination === undefined) return;
    this.#add({ ...place, run: this.#run, rtt: FAILED_RTT_MS }, sequence);
  }

  #add(echo: PingEcho, sequence?: number): void {
    this.#pending.push(echo);
    const { run } = echo;
    run.numEchoes++;
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
    const found = { src: run.source, dst: run.destination, timeUs: this.#timeOf(run, timeUs), rttsMs: [rtt] };
    this.take(pingRow(found, this.options), line);
  }

  /** The ping's own time, or as many intervals after the start as there were pings before it. */
  #timeOf(run: Run, timeUs: number): number {
    const { intervalS = 1 } = this.options;
    const numBefore = run.numTaken++;
    return Number.isNaN(timeUs) ? Math.round(this.#startUs + 1e6 * intervalS * numBefore) : timeUs;
  }
}

function newRun(source: string | undefined, destination: string | undefined, numTaken: number): Run {
  return {
    source,
    destination,
    hasOwnReply: false,
    bySequence: new Map(),
    lastSequence: undefined,
    lastTimeUs: NaN,
    numEchoes: 0,
    numUnsent: 0,
    numTaken,
  };
}

/** The addresses in a line, in the form of RFC 5952, without adjacent punctuation. */
function addressesIn(text: string): string[] {
  const words = text.match(/[0-9a-f.:]+/gi) ?? [];
  return words.flatMap((word) => {
    // The address of a reply is followed by a colon, but an address may itself end in `::`.
    const bytes = parseAddress(word.replace(/(?<!:):$|\.$/, ""));
    return bytes ? [formatAddress(bytes)] : [];
  });
}

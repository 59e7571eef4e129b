/**
 * The output of `ping`: Linux (iputils), macOS and the BSDs, busybox, and Windows in most languages. Lines of
 * several runs may be interleaved. All variants write a line for each reply, with the address and then
 * `time=12.3 ms`. Losses are a line, a gap in the numbers, or only in the statistics at the end.
 *
 * @module
 */
import { shortened } from "../../base/errors.ts";
import { formatAddress, parseAddress } from "../addresses/ip.ts";
import { FAILED_RTT_MS } from "./batch.ts";
import { type Format, NoMeasurementsError, readRtt, type Rejection } from "./format.ts";
import { hasLine, PacketReader, type Place, Run } from "./packets.ts";

/** The time of day from macOS's `--apple-time` or a logger. Its date is unknown. */
const TIME_OF_DAY = /^\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s+/;
/** The host and process that syslog writes before a line. */
const LOGGER = /^\S+ ping6?\[\d+\]: /;
/**
 * `time=12.3 ms`, `time<1ms`, `Zeit=12ms`, `temps=12,3 ms`, `tiempo<1m`, `time=980.5µs` of Go, but not
 * `1 ms  <1 ms` of traceroute.
 */
const RTT =
  /(?:^|[\s、，])(?!ms\s)\p{L}+\s*(?:=|(?=<))\s*(<?\s*\d+(?:[.,]\d+)?)\s*(ms|мс|(?<=<1)m|[uµμ]s|s)(?!\p{L})/gu;
/** `rtt min/avg/max/mdev = 12.1/12.5/13.0/0.3 ms`. */
const MEAN_RTT = /min\/avg\/max(?:\/[\w-]+)? = [\d.,]+\/([\d.,]+)\//;
/** First lines of other tools, which measure or print something else, and what to call them. */
export const OTHER_TOOLS: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:HPING |TCPing|Probing \S+\/tcp|seq \d+: tcp |ARPING |Starting Nping|PING [^\s:]+:\d+ \(|PING .* \d+ bytes of )/m,
    "it looks like the output of hping3, nping, oping, tcping, httping or arping, which are not read",
  ],
  [/^PING (?:OK|WARNING|CRITICAL|UNKNOWN) -/, "it looks like the output of check_ping of Nagios"],
  [
    /^\s*RIPE Atlas Report for|^\d+ bytes from probe #/m,
    "it looks like the output of ripe-atlas report (get the results with --renderer raw)",
  ],
  [/^Sending \d+, \d+-byte ICMP| *SEQ HOST /m, "it looks like the output of ping of a router"],
];
const SEQUENCE = /\b(?:icmp_)?seq[= ](\d+)/;
/** `64 bytes from`, in any language. */
const REPLY = /^\d+ \p{L}+,? \p{L}/u;
const HEADING = /^(?:PING6?\b|Pinging |Ping \S+ \()/;
/** `4 packets transmitted, 3 received, …`; `Sent = 4, Received = 3, Lost = 1`, in Asian languages with their commas. */
const STATISTICS =
  /^(\d+) \p{L}+ \p{L}+, (\d+) (?:.*%|\p{L}+$|packets received)|(?<![\p{L}\ufffd])[\p{L}\ufffd]+ = (\d+)(?:, |[、，])[\p{L}\ufffd]+ = (\d+)(?:, |[、，])[\p{L}\ufffd]+ = \d+/u;
/**
 * In English and German, whose letters may be in a Windows code page; other words are unknown lines. ICMP errors
 * of Linux, `From 192.0.2.1 icmp_seq=2 …`, are in any language; those of macOS and the BSDs have no number.
 */
const LOSS =
  /^(?:request timeout|request timed out|zeit.{1,2}berschreitung)|unreachable|nicht erreichbar|time to live exceeded|ttl expired|packet filtered|^\p{L}[^=]* icmp_seq=\d+\b(?! ttl=)|^\d+ bytes from \S+(?: \(\S+\))?: (?!redirect|(?:icmp_)?seq)\p{L}/iu;
/** Reported if the host could not begin or send a packet, which says nothing about the path. */
const LOCAL_ERROR =
  /^ping6?: (?!warning|sock4)|^connect: network|transmit failed|^general failure|could not find host|^allgemeiner fehler|konnte host \S+ nicht/i;
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
        return [HEADING, LOSS, LOCAL_ERROR, STATISTICS].some((each) => each.test(text)) ||
          text.search(RTT) >= 0;
      }),
    open: (options, take, path) => new PingReader(options, take, path),
  },
};

const NO_RTT: Rejection = { reason: "nullValue", found: "a reply without an RTT" };

class PingReader extends PacketReader {
  readonly format = "ping";
  /** The source that lines name before their replies. */
  #named: string | undefined;
  /** A time alone on a line, until another line follows. */
  #bare: Place | undefined;
  /** Whether lines other than replies are there, so that no loss was filtered out. */
  #isWhole = false;
  /** Whether runs take turns, so that a loss may be of any of them. */
  #isMixed = false;
  /** Statistics of a run without lines for its packets (`ping -q`), until the line with its mean RTT. */
  #quiet: { place: Place; numSent: number; numLost: number } | undefined;

  read(timeless: string, place: Place, fault: Rejection | undefined): void {
    const { line } = place;
    if (timeless.length > MAX_PING_CHARACTERS) return this.reject(timeless, line);
    const clockless = timeless.replace(TIME_OF_DAY, "");
    this.#checkSource(clockless, line);
    const text = clockless.replace(LOGGER, "").replace(TIME_OF_DAY, "");
    const rtts = [...text.matchAll(RTT)];
    // A reply is rejected below, so that its sequence number does not count as a loss.
    if (fault && rtts.length !== 1) return this.take(fault, line);
    const bare = this.#bare;
    this.#bare = text === "" ? place : undefined;
    if (text === "") {
      const found = "a time without a ping";
      const advice = "keep all lines of ping, not only its replies";
      if (bare && !this.#isWhole) this.take({ reason: "incompleteResult", found, advice }, bare.line);
      return;
    }
    this.#isWhole ||= HEADING.test(text) || STATISTICS.test(text);
    const mean = rtts.length > 1 ? rtts.at(-1)?.[1] : MEAN_RTT.exec(text)?.[1];
    if (mean !== undefined) this.#endQuiet(mean);
    else if (LOCAL_ERROR.test(text)) {
      // Linux counts from 1, others from 0.
      if (text.includes("sendmsg")) this.run.lastSequence ??= 0;
      this.echo(place, { skipped: "local error" });
    } else if (HEADING.test(text)) this.#begin(text);
    else if (rtts.length === 1) {
      const [[, digits, unit]] = rtts;
      const rtt = digits + (/^[uµμ]?s$/.test(unit) ? unit : "ms");
      this.#reply(text, place, fault ?? readRtt(rtt, 1, this.options));
    } else if (STATISTICS.test(text)) this.#endOfRun(text, place);
    else if (OTHER.test(text)) this.#maybeBegin(text);
    else if (LOSS.test(text)) {
      if (!this.#isMixed) return this.echo(place, FAILED_RTT_MS, sequenceIn(text));
      const found = "a loss whose destination is ambiguous";
      const advice = "write the output of each ping to its own file";
      this.take({ reason: "nullValue", found, expected: "output of one ping", advice }, line);
    } else if (REPLY.test(text) && SEQUENCE.test(text)) {
      // `(truncated)`, or too short for a time.
      this.#reply(text, place, NO_RTT);
    } else this.reject(text, line);
  }

  protected override end(): void {
    this.#endQuiet();
  }

  /** @throws {NoMeasurementsError} If lines name other sources, which one source would mix. */
  #checkSource(text: string, line: number): void {
    const [, place, host] = OTHER_SOURCE.exec(text) ?? [];
    this.#named ??= host;
    const source = place ?? host;
    if (source === undefined || source === this.#named) return;
    throw new NoMeasurementsError({
      found: `line ${line} names the source ${shortened(source)}`,
      expected: "output from one source",
      advice: "separate the sources, or get the results as JSON (globalping --json)",
    }, { path: this.path });
  }

  /** Reads `PING name (destination) from source eth0:`, in any language. */
  #begin(text: string): void {
    this.#endQuiet();
    const [first, second] = new Set(addressesIn(text));
    const [, name] = /^(?:PING6?|Pinging)\s+([^\s(]+)/.exec(text) ?? [];
    const [source, destination] = text.includes(" --> ") ? [first, second] : [second, first ?? name];
    this.setRun(new Run(source ?? this.run.source, destination, this.run.numTaken));
  }

  /** Switches to the run that a line of statistics names, or begins one at a heading in another language. */
  #maybeBegin(text: string): void {
    const address = /^---|:$/.test(text) ? addressesIn(text)[0] : undefined;
    const known = this.runs.get(address ?? "");
    if (known) this.run = known;
    else if (address !== undefined && text.endsWith(":")) this.#begin(text);
  }

  /** Adds a reply to the run of the address that it names. */
  #reply(text: string, place: Place, rtt: number | Rejection): void {
    const isCopy = OTHER_REPLY.test(text);
    const { source, destination, numTaken } = this.run;
    const address = isCopy ? undefined : addressesIn(text).at(-1);
    if (address !== undefined && address !== destination) {
      const known = this.runs.get(address);
      this.#isMixed ||= known !== undefined;
      // Losses before the first reply of a text without a heading have its address.
      this.run.destination ??= address;
      this.setRun(known ?? (destination === undefined ? this.run : new Run(source, address, numTaken)));
    }
    this.echo(place, rtt, sequenceIn(text), isCopy);
  }

  #endOfRun(text: string, place: Place): void {
    this.#endQuiet();
    const { numEchoes } = this.run;
    const [, ...numbers] = STATISTICS.exec(text) ?? [];
    const [numSent, numReceived] = numbers.filter((digits) => digits !== undefined).map(Number);
    const numLost = Math.max(0, numSent - numReceived);
    if (numEchoes === 0 && numReceived > 0) this.#quiet = { place, numSent, numLost };
    else this.addMissing(place, numSent, numReceived);
    this.endRun();
  }

  /** Reports a run with known statistics only. @param mean Its mean RTT, if the text contains it. */
  #endQuiet(mean?: string): void {
    if (!this.#quiet) return;
    const { place, numSent, numLost } = this.#quiet;
    this.#quiet = undefined;
    const rttMs = mean === undefined ? NO_RTT : readRtt(mean, 1, this.options);
    if (typeof rttMs !== "number") this.take(rttMs, place.line);
    else this.takeRow(place, this.run, this.run.numTaken, [rttMs], numLost);
    this.run.numTaken += numSent;
  }
}

function sequenceIn(text: string): number | undefined {
  const [, digits] = SEQUENCE.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** The addresses in a line, in the form of RFC 5952, without adjacent punctuation. */
function addressesIn(text: string): string[] {
  const words = text.match(/[0-9a-f.:]+/gi) ?? [];
  return words.filter((word) => /[.:]/.test(word)).flatMap((word) => {
    // A colon follows the address of a reply, but an address may itself end in `::`.
    const bytes = parseAddress(word.replace(/(?<!:):$|\.$/, ""));
    return bytes ? [formatAddress(bytes)] : [];
  });
}

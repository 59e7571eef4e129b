/**
 * The output of `fping`: a line for each packet (`-l`, `-c`, `-C`), summaries (`-q`, `-Q`), `is alive` and
 * `is unreachable`, and the JSON lines of `-J` (fping 5.3 and later). `-D` begins each line with the time when
 * it was written, which for a loss is when fping stopped waiting.
 *
 * JSON: https://github.com/schweikert/fping/blob/develop/doc/fping-json.md
 *
 * @module
 */
import { parseJson } from "../../base/collections.ts";
import { shortened } from "../../base/errors.ts";
import { FAILED_RTT_MS } from "./batch.ts";
import { type Format, objectOf, readRtt, readTime, type Rejection } from "./format.ts";
import { hasLine, PacketReader, type Place, Run } from "./packets.ts";

/** An address or a name; `-n -A` shows both, as in `localhost (127.0.0.1)`. */
const TARGET = String.raw`(?:\S+ \()?(\S+?)\)?`;
/** `192.0.2.1 : [0], 64 bytes, 27.0 ms (27.0 avg, 0% loss)`, `192.0.2.1 : [1], timed out (27.0 avg, 50% loss)` */
const PACKET = new RegExp(String.raw`^${TARGET}\s+: \[(\d+)\], (?:timed out|\d+ bytes, (\S+) ms)(?: \(|$)`);
/** `-C`: `192.0.2.1 : 27.0 - 27.1`. */
const VALUES = new RegExp(String.raw`^${TARGET}\s+:((?: (?:-|\d+(?:\.\d+)?(?:e\+\d+)?))+)$`);
/** `-c`: `192.0.2.1 : xmt/rcv/%loss = 5/5/0%, min/avg/max = 26.9/27.0/27.1`. */
const SUMMARY = new RegExp(
  String
    .raw`^${TARGET}\s+: xmt/rcv/%(?:loss|return) = (\d+)/(\d+)/\d+%(?:.*, min/avg/max = [^/]+/([^/]+)/\S+)?`,
);
/** `192.0.2.1 is alive (27.0 ms)`; the time is present only with `-e`. */
const ALIVE = new RegExp(
  String.raw`^${TARGET} is (alive|unreachable)(?: \([^)]*\))*?(?: \(([^)\s]+) ms\))?(?: \[<- \S+\])?$`,
);
/** The time of day before the summaries of `-Q`. Its date is unknown. */
const TIME_OF_DAY = /^\[\d\d:\d\d:\d\d\]$/;
/** Reported if the host could not send, or could not resolve the name. */
const LOCAL_ERROR =
  /^fping6?: |error while sending ping|sendto|can't create|network is unreachable|not permitted|permission denied|name or service not known|name resolution|no address associated|address not found$/i;
/** In most modes another line reports the loss as well. */
const ICMP_ERROR = new RegExp(
  String.raw`^ICMP (?!Redirect|Source Quench).* for ICMP Echo sent to ${TARGET}$`,
);
/** Duplicates, statistics of all targets, and ICMP errors that are no losses. */
const OTHER =
  /^ICMP (?:Redirect|Source Quench)| : duplicate for \[|^\^C|^[^=]*[$#>%] ?fping |^\d+(?:\.\d+)? (?:targets|alive|unreachable|unknown addresses|timeouts|ICMP |other ICMP |ms \(|sec \()/;
const JSON_LINE = /^\{\s*"(?:resp|timeout|summary|vSum|intSum)"\s*:\s*\{/;

export const fping: Format = {
  name: "fping",
  title: "the output of fping",
  text: {
    isHead: (head) =>
      hasLine(head, (text) => {
        // `x : 5` alone may be anything.
        const isValues = /^\S*[.:]/.test(text) && VALUES.test(text);
        return isValues ||
          [PACKET, SUMMARY, ALIVE, ICMP_ERROR, JSON_LINE].some((pattern) => pattern.test(text));
      }),
    isJsonHead: (head) => JSON_LINE.test(head),
    open: (options, take, path) => new FpingReader(options, take, path),
  },
};

class FpingReader extends PacketReader {
  readonly format = "fping";
  /** Whether a time precedes the summaries of an interval. */
  #hasIntervals = false;
  /** Targets whose last summary is of an interval: one without such a time is the total. */
  readonly #intervals = new Set<string>();
  /** The time of the newest packet: `-D` writes none before ICMP errors. */
  #nearUs: number | undefined;

  read(text: string, place: Place, fault: Rejection | undefined): void {
    const { line } = place;
    if (fault) return this.take(fault, line);
    let found: RegExpExecArray | null;
    if (text === "" || TIME_OF_DAY.test(text)) {
      this.#hasIntervals = true;
      this.#intervals.clear();
    } else if (OTHER.test(text)) return;
    // Without a number, it is of the next packet, which another line may report as well.
    else if ((found = ICMP_ERROR.exec(text))) {
      this.#packet({ nearUs: this.#nearUs, ...place }, found[1], null);
    } else if (text.startsWith("{")) this.#readJson(text, line);
    else if (LOCAL_ERROR.test(text)) this.take({ skipped: "local error" }, line);
    else if ((found = VALUES.exec(text))) this.#values(place, found[1], found[2].trim().split(" "));
    else if ((found = PACKET.exec(text))) this.#packet(place, found[1], found[3] ?? null, Number(found[2]));
    else if ((found = SUMMARY.exec(text))) {
      const [, name, numSent, numReceived, meanRtt] = found;
      this.#summary(place, name, [numSent, numReceived], meanRtt);
    } else if ((found = ALIVE.exec(text))) {
      const [, name, state, rtt] = found;
      const advice = "run fping with -e, which prints the RTT";
      if (state === "unreachable" || rtt) this.#values(place, name, [rtt ?? null]);
      else this.take({ reason: "nullValue", found: "alive without an RTT", advice }, line);
    } else this.reject(text, line);
  }

  #readJson(text: string, line: number): void {
    const object = parseJson(text);
    if (object === undefined) return this.take({ reason: "invalidJson", found: "it is not JSON" }, line);
    const [[type, value] = ["{}", {}]] = Object.entries(objectOf(object));
    const fields = objectOf(value);
    const { host, seq, timestamp, time, values, xmt, rcv, rtt = null, rttAvg } = fields;
    const timeUs = readTime(time ?? timestamp, "seconds", "timestamp", this.options);
    if (typeof timeUs !== "number") return this.take(timeUs, line);
    const [place, name] = [{ line, timeUs }, String(host ?? "")];
    if (type === "resp" || type === "timeout") this.#packet(place, name, rtt, Number(seq));
    else if (type === "vSum" && Array.isArray(values)) this.#values(place, name, values);
    else if (type === "summary" || type === "intSum") {
      this.#hasIntervals ||= type === "intSum";
      if (type === "intSum") this.#intervals.delete(name);
      this.#summary(place, name, [xmt, rcv], rttAvg);
    } else this.take({ skipped: `fping ${shortened(type)}` }, line);
  }

  #select(name: string): Run {
    const known = this.runs.get(name);
    if (known) this.run = known;
    else this.setRun(new Run(undefined, name, 0));
    return this.run;
  }

  #packet(place: Place, name: string, rtt: unknown, sequence?: number): void {
    this.#select(name);
    if (sequence !== undefined) this.#nearUs = Number.isNaN(place.timeUs) ? undefined : place.timeUs;
    this.echo(place, readRtt(rtt, 1, this.options), sequence);
  }

  /** Handles the packets of a run: one row if the line has a time, otherwise packets an interval apart. */
  #values(place: Place, name: string, values: readonly unknown[]): void {
    const run = this.#select(name);
    const rtts = values.map((rtt) => readRtt(rtt, 1, this.options));
    const numLost = rtts.filter((rtt) => rtt === FAILED_RTT_MS).length;
    if (run.numReplies > 0) this.addMissing(place, rtts.length, rtts.length - numLost);
    else {
      // ICMP errors of the same run are losses already.
      let numKnown = run.numEchoes;
      const others = rtts.filter((rtt) => rtt !== FAILED_RTT_MS || numKnown-- <= 0);
      if (Number.isNaN(place.timeUs)) others.forEach((rtt) => this.echo(place, rtt));
      else if (others.length > 0) this.#row(place, others);
    }
    this.endRun();
  }

  #summary(place: Place, name: string, counts: unknown[], meanRtt: unknown): void {
    if (this.#intervals.delete(name)) return;
    if (this.#hasIntervals) this.#intervals.add(name);
    const { numReplies, numEchoes } = this.#select(name);
    const [numSent, numReceived] = counts.map(Number);
    if (numSent === 0) this.take({ skipped: "nothing sent" }, place.line);
    else if (numReplies > 0) this.addMissing(place, numSent, numReceived);
    else {
      const numLost = Math.max(0, numSent - numReceived - numEchoes);
      const rtt = readRtt(numReceived === 0 ? null : meanRtt, 1, this.options);
      if (numReceived > 0 || numLost !== 0) this.#row(place, [rtt], numLost);
    }
    this.endRun();
  }

  #row(place: Place, rtts: readonly (number | Rejection)[], numLost?: number): void {
    const fault = rtts.find((rtt) => typeof rtt !== "number");
    const rttsMs = rtts.filter((rtt) => typeof rtt === "number");
    if (fault) this.take(fault, place.line);
    else this.takeRow(place, this.run, this.run.numTaken++, rttsMs, numLost);
  }
}

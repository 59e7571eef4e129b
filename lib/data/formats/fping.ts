/**
 * The output of `fping`: a line for each packet (`-l`, `-c`, `-C`), summaries (`-q`, `-Q`), `is alive` and
 * `is unreachable`, and the JSON lines of `-J` (fping 5.3 and later).
 *
 * A summary of packets that earlier lines reported is ignored. `-D` begins each line with the time when it
 * was written, which for a loss is when fping stopped waiting. Without `-D`, packet n of a destination was
 * sent n intervals after `startS`.
 *
 * JSON: https://github.com/schweikert/fping/blob/develop/doc/fping-json.md
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { shortened } from "../../base/errors.ts";
import { FAILED_RTT_MS } from "./batch.ts";
import {
  type Format,
  hasLine,
  type JsonObject,
  LineReader,
  objectOf,
  type Place,
  readRtt,
  readTime,
  type Rejection,
} from "./format.ts";

/** An address or a name; `-n -A` shows both, as in `localhost (127.0.0.1)`. */
const TARGET = String.raw`^(\S+(?: \(\S+\))?)`;
/**
 * `192.0.2.1 : [0], 64 bytes, 27.0 ms (27.0 avg, 0% loss)`; `192.0.2.1 : [1], timed out (27.0 avg, 50%
 * loss)`.
 */
const PACKET = new RegExp(String.raw`${TARGET}\s+: \[(\d+)\], (?:timed out|\d+ bytes, (\S+) ms)(?: \(|$)`);
/** `-C`: `192.0.2.1 : 27.0 - 27.1`. */
const VALUES = new RegExp(String.raw`${TARGET}\s+:((?: (?:-|\d+(?:\.\d+)?(?:e\+\d+)?))+)$`);
/** `-c`: `192.0.2.1 : xmt/rcv/%loss = 5/5/0%, min/avg/max = 26.9/27.0/27.1`. */
const SUMMARY = new RegExp(
  String
    .raw`${TARGET}\s+: xmt/rcv/%(?:loss|return) = (\d+)/(\d+)/\d+%(?:.*, min/avg/max = [^/]+/([^/]+)/\S+)?`,
);
/** `192.0.2.1 is alive (27.0 ms)`; the time is present only with `-e`. */
const ALIVE = new RegExp(
  String.raw`${TARGET} is (alive|unreachable)(?: \([^)]*\))*?(?: \(([^)\s]+) ms\))?(?: \[<- \S+\])?$`,
);
/** The time of day before the summaries of `-Q`. Its date is unknown. */
const TIME_OF_DAY = /^\[\d\d:\d\d:\d\d\]$/;
/** Reported if the host could not send, or could not resolve the name. */
const LOCAL_ERROR =
  /^fping6?: |error while sending ping|sendto|can't create|network is unreachable|not permitted|permission denied|name or service not known|name resolution|no address associated|address not found$/i;
/** In most modes another line reports the loss as well. */
const ICMP_ERROR = /^ICMP (?!Redirect|Source Quench).* for ICMP Echo sent to (\S+(?: \(\S+\))?)$/;
/** By default fping tries a target four times, and its errors are one loss. */
const MAX_ERRORS = 4;
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

class Target {
  /** Number of packets of earlier runs; `nextRound` includes this run. */
  firstRound = 0;
  nextRound = 0;
  /** What reported the packets that the next summary counts. */
  reportedBy: "lines" | "interval" | undefined;
  /** ICMP errors of packets that no line has reported yet, and the number of those reported as losses. */
  errors: Place[] = [];
  numErrors = 0;
}

class FpingReader extends LineReader {
  readonly format = "fping";
  readonly noReply = "timed out, unreachable or -";
  /** Whether lines report packets without a reply. Otherwise only ICMP errors do. */
  #hasTimeouts = false;
  /** Whether a time is in the line before the summaries of an interval. */
  #hasIntervals = false;
  readonly #targets = new Map<string, Target>();

  read(text: string, place: Place, fault: Rejection | undefined): void {
    const { line, timeUs } = place;
    if (fault) return this.take(fault, line);
    let found: RegExpExecArray | null;
    if (TIME_OF_DAY.test(text) || text === "" && !Number.isNaN(timeUs)) this.#begin(timeUs);
    else if (text === "" || OTHER.test(text)) return;
    else if ((found = ICMP_ERROR.exec(text))) this.#error(place, found[1]);
    else if (text.startsWith("{")) this.#readJson(text, line);
    else if (LOCAL_ERROR.test(text)) this.take({ skipped: "local error" }, line);
    else if ((found = VALUES.exec(text))) this.#values(place, found[1], found[2].trim().split(" "));
    else if ((found = PACKET.exec(text))) this.#packet(place, found[1], Number(found[2]), found[3] || null);
    else if ((found = SUMMARY.exec(text))) {
      const [, name, numSent, numReceived, meanRtt] = found;
      const isInterval = this.#hasIntervals && this.#of(name).reportedBy !== "interval";
      this.#summary(place, name, isInterval, [numSent, numReceived], meanRtt);
    } else if ((found = ALIVE.exec(text))) {
      const [, name, state, rtt] = found;
      const advice = "run fping with -e, which shows it";
      // The only packet of a run, which stops at the first reply.
      if (state === "unreachable" || rtt) this.#values(place, name, [rtt ?? null]);
      else this.take({ reason: "nullValue", found: "alive without an RTT", advice }, line);
    } else this.reject(text, line);
  }

  override end(): void {
    for (const [name, { errors }] of this.#hasTimeouts ? [] : this.#targets) {
      while (errors.length > 0) this.#endError(name);
    }
  }

  /** An ICMP error is a loss, unless another line reports the packet. */
  #error(place: Place, name: string): void {
    if (this.#hasTimeouts) return;
    if (this.#of(name).errors.push(place) > MAX_ERRORS) this.#endError(name);
  }

  #endError(name: string): void {
    const target = this.#of(name);
    target.numErrors++;
    const place = target.errors.shift();
    if (place) this.#report(place, name, target.nextRound++, [null]);
  }

  /** A time alone on a line is the beginning of the next run, as `date` prints it, or the end of an interval. */
  #begin(timeUs: number): void {
    this.#hasIntervals = true;
    const hasTime = !Number.isNaN(timeUs);
    if (hasTime) this.startS = timeUs / 1e6;
    for (const target of this.#targets.values()) {
      if (hasTime) target.firstRound = target.nextRound = 0;
      if (target.reportedBy === "interval") target.reportedBy = undefined;
    }
  }

  #readJson(text: string, line: number): void {
    let object: JsonObject;
    try {
      object = JSON.parse(text);
    } catch {
      return this.take({ reason: "invalidJson", found: "it is not JSON" }, line);
    }
    const [[type, value] = ["{}", {}]] = Object.entries(object);
    const fields = objectOf(value);
    const { host, seq, timestamp, time, values, xmt, rcv } = fields;
    const timeUs = readTime(time ?? timestamp, "seconds", "timestamp", this.options);
    if (typeof timeUs !== "number") return this.take(timeUs, line);
    const [place, name] = [{ line, timeUs }, String(host ?? "")];
    if (type === "resp" || type === "timeout") {
      this.#packet(place, name, Number(seq), type === "resp" ? fields.rtt : null);
    } else if (type === "vSum" && Array.isArray(values)) this.#values(place, name, values);
    else if (type === "summary" || type === "intSum") {
      this.#summary(place, name, type === "intSum", [xmt, rcv], fields.rttAvg);
    } else this.take({ skipped: `fping ${shortened(type)}` }, line);
  }

  #of(name: string): Target {
    return getOrMake(this.#targets, name, () => new Target());
  }

  #packet(place: Place, name: string, sequence: number, rtt: unknown): void {
    const target = this.#of(name);
    target.reportedBy = "lines";
    this.#hasTimeouts ||= rtt === null;
    target.nextRound = Math.max(target.nextRound, target.firstRound + sequence + 1);
    this.#report(place, name, target.firstRound + sequence, [rtt]);
  }

  /** Handles the packets of a run: one result if the line has a time, otherwise packets an interval apart. */
  #values(place: Place, name: string, values: readonly unknown[]): void {
    const target = this.#of(name);
    if (this.#endRun(target, false)) return;
    let numReported = this.#endErrors(target);
    const rtts = values.filter((rtt) => rtt !== null && rtt !== "-" || numReported-- <= 0);
    if (Number.isNaN(place.timeUs)) {
      for (const rtt of rtts) this.#report(place, name, target.nextRound++, [rtt]);
    } else if (rtts.length > 0) this.#report(place, name, 0, rtts);
    target.firstRound = target.nextRound;
  }

  #summary(place: Place, name: string, isInterval: boolean, counts: unknown[], meanRtt: unknown): void {
    const [numSent, numReceived] = counts.map(Number);
    const target = this.#of(name);
    if (this.#endRun(target, isInterval)) return;
    if (numSent === 0) return this.take({ skipped: "nothing sent" }, place.line);
    const numReported = this.#endErrors(target);
    const numLost = Math.max(0, numSent - numReceived - numReported);
    if (numReceived === 0 && numReported > 0 && numLost === 0) return;
    this.#report(place, name, target.nextRound++, [numReceived === 0 ? null : meanRtt], numLost);
    target.firstRound = target.nextRound;
  }

  /** Ends the ICMP errors of a run that another line reports. @returns How many of them are rows already. */
  #endErrors(target: Target): number {
    const { numErrors } = target;
    [target.errors, target.numErrors] = [[], 0];
    return numErrors;
  }

  /** Ends the run that a summary counts. @returns Whether its packets have already been reported. */
  #endRun(target: Target, isInterval: boolean): boolean {
    const { reportedBy } = target;
    target.firstRound = target.nextRound;
    target.reportedBy = isInterval ? "interval" : undefined;
    return reportedBy === "lines" || reportedBy === "interval" && !isInterval;
  }

  #report(place: Place, name: string, n: number, rtts: readonly unknown[], numLost?: number): void {
    const rttsMs: number[] = [];
    for (const rtt of rtts) {
      const rttMs = rtt === null || rtt === "-" ? FAILED_RTT_MS : readRtt(rtt, 1, this.options);
      if (typeof rttMs !== "number") return this.take(rttMs, place.line);
      rttsMs.push(rttMs);
    }
    const [, dst = name] = / \((\S+)\)$/.exec(name) ?? [];
    this.takeRow(place, n, { dst, rttsMs, numLost });
  }
}

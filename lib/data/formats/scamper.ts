/**
 * Pings of scamper as JSON, one object per line, as written by `sc_warts2json` and `scamper -O json`.
 *
 * A packet has a reply if the destination itself sent an echo reply; ICMP errors of other hosts do not count.
 * Fields: `scamper_ping_json.c` of scamper.
 *
 * @module
 */
import { FAILED_RTT_MS } from "./batch.ts";
import {
  type Finding,
  type Format,
  type JsonObject,
  objectOf,
  pingRow,
  type ReadingOptions,
  readRtt,
  readTime,
} from "./format.ts";
import type { Reading } from "./reading.ts";

const OTHER_TYPES: readonly unknown[] = "cycle-start cycle-stop cycle-def trace tracelb dealias".split(" ");
/** ICMP and ICMPv6 echo reply, and timestamp reply. */
const REPLY_TYPES: readonly unknown[] = [0, 129, 14];
/** A short object may claim 65,535 packets, each of which is a row with `--rtt each`. */
const MAX_SENT = 4096;

const READING: Reading = {
  format: "scamper",
  time: "start (Unix seconds, UTC)",
  source: "src",
  destination: "dst",
  rtt: "responses[].rtt (ms), combined by --rtt",
  noReply: "no echo reply of dst in responses",
  notUsed: ["statistics"],
};

export const scamper: Format = {
  name: "scamper",
  title: "pings of scamper (JSON of sc_warts2json)",
  json: {
    isResult: ({ type, version, list_name: list, ping_sent: numSent, start }) =>
      type === "ping"
        ? numSent !== undefined && typeof start === "object"
        : OTHER_TYPES.includes(type) && (typeof version === "string" || list !== undefined),
    reading: () => READING,
    findings: findingsOf,
  },
};

function* findingsOf(ping: JsonObject, options: ReadingOptions): Generator<Finding> {
  const { type, method = "icmp-echo", ping_sent: numSent, responses } = ping;
  if (type !== "ping") return yield { skipped: `scamper ${type}` };
  // A reply to UDP or TCP shows when a port answered, not when the host did.
  if (!String(method).startsWith("icmp-")) return yield { skipped: `scamper ping by ${method}` };
  if (numSent === 0) return yield { skipped: "nothing sent" };
  if (!Number.isSafeInteger(numSent) || Number(numSent) < 0 || Number(numSent) > MAX_SENT) {
    const expected = `a number of packets up to ${MAX_SENT}`;
    return yield { reason: "invalidInteger", found: `ping_sent ${numSent}`, expected };
  }
  const { sec, usec = 0 } = objectOf(ping.start);
  const timeUs = readTime(Number(sec) + Number(usec) / 1e6, "seconds", "start");
  if (typeof timeUs !== "number") return yield timeUs;
  const rttsMs = new Array<number>(Number(numSent)).fill(FAILED_RTT_MS);
  for (const each of Array.isArray(responses) ? responses : []) {
    const { seq, from, icmp_type: icmpType, rtt } = objectOf(each);
    // The first reply counts; others are duplicates.
    const isFirst = rttsMs[Number(seq)] === FAILED_RTT_MS;
    if (!isFirst || from !== ping.dst || !REPLY_TYPES.includes(icmpType)) continue;
    const rttMs = readRtt(rtt, 1, options);
    if (typeof rttMs !== "number") return yield rttMs;
    rttsMs[Number(seq)] = rttMs;
  }
  const [src, dst] = [ping.src, ping.dst].map((end) => typeof end === "string" ? end : undefined);
  const sizeBytes = typeof ping.probe_size === "number" ? ping.probe_size : NaN;
  yield pingRow({ src, dst, timeUs, rttsMs, sizeBytes }, options);
}

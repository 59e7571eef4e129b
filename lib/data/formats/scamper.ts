/**
 * Pings of scamper as JSON, one object per line, as written by `sc_warts2json` and `scamper -O json`.
 *
 * A packet has a reply if the destination itself sent an echo reply; ICMP errors of other hosts do not count.
 * `responses` lists the replies. Newer versions also list the packets without a reply, which `ping_sent`
 * already implies.
 *
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

const OTHER_TYPES: ReadonlySet<unknown> = new Set([
  ...["cycle-start", "cycle-stop", "cycle-def"],
  ...["trace", "tracelb", "dealias", "neighbourdisc", "tbit", "sting", "sniff", "host", "http", "udpprobe"],
]);
/** ICMP and ICMPv6 echo reply, and timestamp reply. */
const REPLY_TYPES: ReadonlySet<unknown> = new Set([0, 129, 14]);

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
        : OTHER_TYPES.has(type) && (typeof version === "string" || list !== undefined),
    reading: () => READING,
    findings: findingsOf,
  },
};

function* findingsOf(ping: JsonObject, options: ReadingOptions): Generator<Finding> {
  const { type, method = "icmp-echo", ping_sent: numSent, src, dst } = ping;
  if (type !== "ping") return yield { skipped: `scamper ${type}` };
  // A reply to UDP or TCP shows when a port answered, not when the host did.
  if (!String(method).startsWith("icmp-")) return yield { skipped: `scamper ping by ${method}` };
  if (numSent === 0) return yield { skipped: "nothing sent" };
  if (!Number.isSafeInteger(numSent) || Number(numSent) < 0 || Number(numSent) > MAX_SENT) {
    return yield {
      reason: "invalidInteger",
      found: `ping_sent ${numSent}, more than ${MAX_SENT} or not a number of packets`,
    };
  }
  const startUs = timeOf(ping.start);
  if (typeof startUs !== "number") return yield startUs;
  const rttsMs = new Array<number>(Number(numSent)).fill(FAILED_RTT_MS);
  const waitUs = (Number(ping.wait ?? 1) + Number(ping.wait_us ?? 0) / 1e6) * 1e6;
  const timesUs = rttsMs.map((_, i) => startUs + i * waitUs);
  for (const each of Array.isArray(ping.responses) ? ping.responses : []) {
    const { seq, from, icmp_type: icmpType, rtt, tx } = objectOf(each);
    // The first reply counts; others are duplicates.
    if (from !== dst || !REPLY_TYPES.has(icmpType) || rttsMs[Number(seq)] !== FAILED_RTT_MS) continue;
    const rttMs = readRtt(rtt, 1, options);
    if (typeof rttMs !== "number") return yield rttMs;
    rttsMs[Number(seq)] = rttMs;
    const sentUs = tx === undefined ? NaN : timeOf(tx);
    if (typeof sentUs === "number" && !Number.isNaN(sentUs)) timesUs[Number(seq)] = sentUs;
  }
  const ends = {
    src: typeof src === "string" ? src : undefined,
    dst: typeof dst === "string" ? dst : undefined,
    sizeBytes: typeof ping.probe_size === "number" ? ping.probe_size : NaN,
  };
  if (options.rtt !== "each") return yield pingRow({ ...ends, timeUs: startUs, rttsMs }, options);
  for (const [i, rttMs] of rttsMs.entries()) {
    yield pingRow({ ...ends, timeUs: timesUs[i], rttsMs: [rttMs] }, options);
  }
}

/** Reads `{sec, usec}`. */
function timeOf(value: unknown): ReturnType<typeof readTime> {
  const { sec, usec = 0 } = objectOf(value);
  return readTime(Number(sec) + Number(usec) / 1e6, "seconds", "start");
}

/**
 * Ping results of RIPE Atlas, from its API, its stream and its daily dumps.
 *
 * Fields: https://atlas.ripe.net/docs/apis/result-format/ . All firmware since 2011 is supported, including
 * results with numbers as text, with `addr` for `dst_addr`, or without the list of replies, `af` or `from`.
 *
 * @module
 */
import { type Address, readAddress } from "../addresses/address_book.ts";
import { FAILED_RTT_MS } from "./batch.ts";
import { shortened } from "../../base/errors.ts";
import type { Reading } from "./reading.ts";
import {
  type Format,
  type JsonObject,
  numLostOf,
  type PingRow,
  type ReadingOptions,
  readRtt,
  readTime,
  type Rejection,
  type Skipped,
  summarise,
} from "./format.ts";

/** Longer names of types are truncated. */
const MAX_TYPE_LENGTH = 80;
/** A probe whose clock was last synchronised longer ago than this does not know the time. */
const MAX_UNSYNCED_S = 86_400;
/** Seconds from a measurement until it is stored. A probe without a network keeps its results for weeks. */
const STORED_AFTER_S = { least: -3600, most: 30 * 86_400 };

const READING: Reading = {
  format: "atlas",
  time: "timestamp (Unix seconds, UTC)",
  source: "from, or src_addr if from is not public (--source)",
  destination: "dst_addr, or addr",
  rtt: "result[].rtt (ms), combined by --rtt",
  noReply: "rcvd 0, or no rtt in result",
  notUsed: [],
};

export const atlas: Format = {
  name: "atlas",
  title: "ping results of RIPE Atlas (JSON)",
  json: {
    hasKeys: true,
    isResult: (object) => resultType(object) !== undefined,
    reading: () => READING,
    findings(object, options) {
      if (object.type === "ping") return [convertPing(object, options)];
      return [{ skipped: shortened(String(object.type), MAX_TYPE_LENGTH) }];
    },
  },
};

/** Whether a field is missing, or null as some programs write missing ones. */
function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** Whether an entry of a list describes a packet. */
function isReply(entry: unknown): entry is JsonObject {
  return typeof entry === "object" && entry !== null &&
    ("rtt" in entry || "x" in entry || "error" in entry || "dup" in entry);
}

function toAddress(value: unknown): Address | undefined {
  return typeof value === "string" && value !== "" ? readAddress(value) : undefined;
}

/** NaN for anything except a number or a number as text. */
function toNumber(value: unknown): number {
  if (typeof value === "number") return value;
  return typeof value === "string" && value.trim() !== "" ? Number(value) : NaN;
}

/** NaN for anything except a non-negative integer. */
function toId(value: number): number {
  return Number.isSafeInteger(value) && value >= 0 ? value : NaN;
}

/** The `type` of a result; undefined if the object is not a result. */
export function resultType(object: JsonObject): string | undefined {
  const has = (...names: string[]) => names.some((name) => name in object);
  // Programs' own objects also have a type and a timestamp.
  const isResult = has("prb_id", "msm_id") || (has("timestamp") && has("dst_addr", "addr", "result"));
  return isResult && typeof object.type === "string" ? object.type : undefined;
}

/** @param result An object for which {@link resultType} is `ping`. */
export function convertPing(result: JsonObject, options: ReadingOptions): PingRow | Rejection | Skipped {
  if (!isAbsent(result.dnserr)) return { skipped: "dnserr" };
  if (toNumber(result.sent) === 0) return { skipped: "nothing sent" };
  const eventTimeUs = readTime(result.timestamp, "seconds", "timestamp");
  if (typeof eventTimeUs === "number" && isWrongClock(result, eventTimeUs / 1e6)) {
    return { skipped: "clock not synchronised" };
  }
  const replies = readReplies(result, options);
  if ("skipped" in replies) return replies;
  if (typeof eventTimeUs !== "number") return eventTimeUs;
  if (Number.isNaN(eventTimeUs)) return { reason: "nullValue", found: "timestamp" };
  const ends = chooseEnds(result, options.source);
  if ("reason" in ends) return ends;
  if ("reason" in replies) return replies;
  const [msmId, prbId] = [toNumber(result.msm_id), toNumber(result.prb_id)];
  for (const [name, id] of [["msm_id", msmId], ["prb_id", prbId]] as const) {
    if (!Number.isNaN(id) && Number.isNaN(toId(id))) {
      return { reason: "invalidInteger", found: `${name} ${id}` };
    }
  }
  const row: PingRow = {
    msmId,
    prbId,
    eventTimeUs,
    srcAddr: ends.src.canonical,
    dstAddr: ends.dst.canonical,
    ipVersion: ends.ipVersion,
    rttsMs: replies.rttsMs,
    numLost: replies.numLost,
    sizeBytes: toId(toNumber(result.size)),
  };
  if (typeof result.dst_name === "string" && result.dst_name !== "") row.dstName = result.dst_name;
  return row;
}

/** The server's clock decides where it is known, since a probe may not report its synchronisation. */
function isWrongClock(result: JsonObject, timestampS: number): boolean {
  const unsyncedS = toNumber(result.lts);
  const storedAfterS = toNumber(result.stored_timestamp) - timestampS;
  return Number.isNaN(storedAfterS)
    ? unsyncedS < 0 || unsyncedS > MAX_UNSYNCED_S
    : storedAfterS < STORED_AFTER_S.least || storedAfterS > STORED_AFTER_S.most;
}

function chooseEnds(
  result: JsonObject,
  choice: ReadingOptions["source"],
): { src: Address; dst: Address; ipVersion: 4 | 6 } | Rejection {
  const dst = toAddress(result.dst_addr) ?? toAddress(result.addr);
  if (!dst) return { reason: "nullValue", found: "dst_addr" };
  if (!dst.bytes) return { reason: "unparseableAddress", found: `dst_addr ${shortened(dst.text)}` };
  const ipVersion = dst.bytes.length === 4 ? 4 : 6;
  const af = toNumber(result.af);
  if (!Number.isNaN(af) && af !== ipVersion) {
    return { reason: "versionMismatch", found: `af is ${af}, dst_addr ${dst.text}` };
  }
  const [from, srcAddr] = [toAddress(result.from), toAddress(result.src_addr)];
  const both = from?.isPublic ? [from, srcAddr] : [srcAddr, from];
  const given = choice === "from" ? [from] : choice === "src_addr" ? [srcAddr] : both;
  const src = given.find((address) => address?.bytes?.length === dst.bytes?.length);
  if (src) return { src, dst, ipVersion };
  const names = [`from ${shortened(from?.text ?? "none")}`, `src_addr ${shortened(srcAddr?.text ?? "none")}`];
  const found = `${names.join(", ")}, dst_addr ${dst.text}`;
  if (given.every((address) => !address)) return { reason: "nullValue", found };
  const isMismatch = given.some((address) => address?.bytes);
  return { reason: isMismatch ? "versionMismatch" : "unparseableAddress", found };
}

/** The RTTs of a result's rows. The list of replies decides; the counts do if there is none. */
function readReplies(
  result: JsonObject,
  options: ReadingOptions,
): { rttsMs: number[]; numLost: number[] } | Rejection | Skipped {
  const [rcvd, sent] = [toNumber(result.rcvd), toNumber(result.sent)];
  const inTimeMs: number[] = [];
  let [numEntries, numErrors] = [0, 0];
  for (const entry of Array.isArray(result.result) ? result.result : []) {
    if (!isReply(entry)) continue;
    numEntries++;
    const { dup, late, rtt, error } = entry;
    if (Number(dup) > 0 || Number(late) > 0) continue;
    if (isAbsent(rtt) && !isAbsent(error)) numErrors++;
    const rttMs = readRtt(rtt, 1, options);
    if (typeof rttMs !== "number") return rttMs;
    inTimeMs.push(rttMs);
  }
  if (numErrors > 0 && numErrors === inTimeMs.length) return { skipped: "error of the probe" };
  if (numEntries === 0 && Number.isNaN(rcvd)) {
    return { reason: "incompleteResult", found: "replies and rcvd are missing" };
  }
  const choice = options.rtt;
  if (choice === "each" && inTimeMs.length > 0) {
    return { rttsMs: inTimeMs, numLost: numLostOf(inTimeMs, choice) };
  }
  const replies = inTimeMs.filter((rttMs) => rttMs !== FAILED_RTT_MS);
  const numReceived = numEntries > 0 ? replies.length : rcvd;
  const numSent = Number.isNaN(sent) && numEntries > 0 ? inTimeMs.length : sent;
  const numLost = [toId(Math.max(0, numSent - numReceived))];
  if (numReceived === 0) return { rttsMs: [FAILED_RTT_MS], numLost };
  if (replies.length > 0) return { rttsMs: [summarise(replies, choice)], numLost };
  // The oldest firmware reports this instead of a list of replies.
  const stated = choice === "min" ? result.min : result.avg;
  if (isAbsent(stated)) {
    return { reason: "incompleteResult", found: `rcvd is ${rcvd} and the RTT is missing` };
  }
  const rttMs = readRtt(stated, 1, options);
  if (typeof rttMs !== "number") return rttMs;
  return { rttsMs: [rttMs], numLost: rttMs === FAILED_RTT_MS ? [toId(numSent)] : numLost };
}

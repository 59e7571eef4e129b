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
import { type Reading, ReadingCache } from "./reading.ts";
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

export const atlas: Format = {
  name: "atlas",
  title: "ping results of RIPE Atlas (JSON)",
  json: {
    hasKeys: true,
    isResult: (object) => resultType(object) !== undefined,
    reading,
    findings(object, options) {
      const type = object.type === "ping" ? "ping" : resultType(object);
      if (type === "unknown" && object.result === undefined) {
        const found = `found ${shortened(Object.keys(object).join(", "), 120)}`;
        const advice = "name the fields with --columns, such as rtt=a.b for field b of field a";
        return [{ reason: "incompleteResult", found, expected: "result or rcvd", advice }];
      }
      if (type !== "ping") return [{ skipped: shortened(type ?? "unknown", MAX_TYPE_LENGTH) }];
      return [convertPing(object, options)];
    },
  },
};

const readings = new ReadingCache();

function reading({ type, dst_addr: dst }: JsonObject, { source, rtt }: ReadingOptions): Reading {
  const from = source === "from" || source === "src_addr"
    ? source
    : "from, or src_addr if from is not public";
  return readings.get([type, dst === undefined, source, rtt], () => ({
    format: "atlas",
    time: "timestamp (Unix seconds, UTC)",
    source: from,
    destination: dst === undefined ? "addr" : "dst_addr",
    rtt: `${rtt} of result[].rtt (ms)`,
    noReply: "rcvd 0, or no rtt in result",
    notUsed: [],
  }));
}

interface Replies {
  /** Includes duplicates and late replies. */
  numEntries: number;
  /** RTTs of the entries that are neither duplicates nor late. */
  rttsMs: number[];
  /** Why the first impossible RTT among these is rejected; undefined if there is none. */
  wrongRtt: Rejection | undefined;
  /** Whether any RTT stands for no reply, which the counts may not reflect. */
  hasNoReplyRtt: boolean;
  /** Number of entries that report an error of the probe, such as no network. */
  numErrors: number;
}

function readReplies(list: unknown, options: ReadingOptions): Replies {
  const rttsMs: number[] = [];
  let numEntries = 0;
  let numErrors = 0;
  let wrongRtt: Rejection | undefined;
  let hasNoReplyRtt = false;
  for (const entry of Array.isArray(list) ? list : []) {
    if (!isReply(entry)) continue;
    numEntries++;
    const { dup, late, rtt } = entry;
    if (Number(dup) > 0 || Number(late) > 0) continue;
    if (isAbsent(rtt) && !isAbsent(entry.error)) numErrors++;
    const rttMs = readRtt(rtt, 1, options);
    if (typeof rttMs !== "number") wrongRtt ??= rttMs;
    else {
      rttsMs.push(rttMs);
      hasNoReplyRtt ||= rttMs === FAILED_RTT_MS && rtt !== undefined;
    }
  }
  return { numEntries, rttsMs, wrongRtt, hasNoReplyRtt, numErrors };
}

/** Whether a field is missing, or null as some programs write missing ones. */
function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** Whether an entry of a list describes a packet (and not a hop, for example). */
function isReply(entry: unknown): entry is JsonObject {
  if (typeof entry !== "object" || entry === null) return false;
  return "rtt" in entry || ("x" in entry || "error" in entry || "dup" in entry) && !("hop" in entry);
}

function toAddress(value: unknown): Address | undefined {
  return isText(value) ? readAddress(value) : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** NaN for anything except a number or a number as text. */
function toNumber(value: unknown): number {
  if (typeof value === "number") return value;
  return isText(value) && value.trim() !== "" ? Number(value) : NaN;
}

/** The `type` of a result; `ping` if it only has the fields of one; undefined if it is not a result. */
export function resultType(object: JsonObject): string | undefined {
  const { type, result } = object;
  const hasIds = "prb_id" in object || "msm_id" in object;
  const isResult = hasIds || "timestamp" in object;
  const hasTarget = "dst_addr" in object || "addr" in object;
  // Programs' own objects also have a type and a timestamp.
  if (typeof type === "string") {
    return hasIds || isResult && (hasTarget || "result" in object) ? type : undefined;
  }
  // A measurement with named fields may also have a time and a target, but a result lists its RTTs.
  if (!isResult || !hasTarget || "rtt" in object) return undefined;
  const isPing = Array.isArray(result)
    ? result.every(isReply) && (result.length > 0 || "rcvd" in object)
    : result === undefined && "rcvd" in object;
  return isPing ? "ping" : "unknown";
}

/** @param result An object for which {@link resultType} is `ping`. */
export function convertPing(result: JsonObject, options: ReadingOptions): PingRow | Rejection | Skipped {
  if (!isAbsent(result.dnserr)) return { skipped: "dnserr" };
  const eventTimeUs = readTime(result.timestamp, "seconds", "timestamp");
  const timestampS = typeof eventTimeUs === "number" ? eventTimeUs / 1e6 : NaN;
  const list = readReplies(result.result, options);
  const skipped = unmeasured(result, list, timestampS);
  if (skipped) return { skipped };
  if (typeof eventTimeUs !== "number") {
    const isNumber = !Number.isNaN(toNumber(result.timestamp));
    return isNumber ? { ...eventTimeUs, reason: "timeOutOfRange" } : eventTimeUs;
  }
  if (Number.isNaN(eventTimeUs)) return { reason: "nullValue", found: "timestamp" };
  const addresses = chooseAddresses(result, toNumber(result.af), options.source);
  if ("reason" in addresses) return addresses;
  const replies = summariseReplies(result, list, options);
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
    srcAddr: addresses.src.canonical,
    dstAddr: addresses.dst.canonical,
    ipVersion: addresses.ipVersion,
    rttsMs: replies.rttsMs,
    numLost: replies.numLost,
    sizeBytes: toId(toNumber(result.size)),
  };
  if (isText(result.dst_name)) row.dstName = result.dst_name;
  return row;
}

/** Why a result says nothing about a path; undefined if it does. */
function unmeasured(result: JsonObject, { rttsMs, numErrors }: Replies, timestampS: number) {
  if (toNumber(result.sent) === 0) return "nothing sent";
  if (numErrors > 0 && numErrors === rttsMs.length) return "error of the probe";
  // The server's clock decides where it is known, since a probe may not report its synchronisation.
  const unsyncedS = toNumber(result.lts);
  const storedAfterS = toNumber(result.stored_timestamp) - timestampS;
  const isWrong = Number.isNaN(storedAfterS)
    ? unsyncedS < 0 || unsyncedS > MAX_UNSYNCED_S
    : storedAfterS < STORED_AFTER_S.least || storedAfterS > STORED_AFTER_S.most;
  return isWrong ? "clock not synchronised" : undefined;
}

function chooseAddresses(
  result: JsonObject,
  af: number,
  choice: ReadingOptions["source"],
): { src: Address; dst: Address; ipVersion: 4 | 6 } | Rejection {
  const dstAddr = toAddress(result.dst_addr) ?? toAddress(result.addr);
  if (!dstAddr?.bytes) return missingAddress("dst_addr", dstAddr);
  const numBytes = dstAddr.bytes.length;
  const ofVersion = (address: Address | undefined) =>
    address?.bytes?.length === numBytes ? address : undefined;
  const first = toAddress(choice === "src_addr" ? result.src_addr : result.from);
  const isChosen = choice === "from" || choice === "src_addr" || ofVersion(first)?.isPublic;
  const second = isChosen ? undefined : toAddress(result.src_addr);
  const src = ofVersion(second) ?? ofVersion(first);
  if (!src && (first?.bytes || second?.bytes)) {
    const [from, srcAddr] = [toAddress(result.from), toAddress(result.src_addr)];
    return {
      reason: "versionMismatch",
      found: `from ${textOf(from)}, src_addr ${textOf(srcAddr)}, dst_addr ${dstAddr.text}`,
    };
  }
  if (!src) return missingAddress(choice === "src_addr" ? "src_addr" : "from", first ?? second);
  const ipVersion = numBytes === 4 ? 4 : 6;
  if (!Number.isNaN(af) && af !== ipVersion) {
    return { reason: "versionMismatch", found: `af is ${af}, dst_addr ${dstAddr.text}` };
  }
  return { src, dst: dstAddr, ipVersion };
}

function missingAddress(name: string, found: Address | undefined): Rejection {
  if (!found) return { reason: "nullValue", found: name };
  return { reason: "unparseableAddress", found: `${name} ${textOf(found)}` };
}

function textOf(address: Address | undefined): string {
  return shortened(address?.text ?? "none");
}

function summariseReplies(
  result: JsonObject,
  { rttsMs: inTimeMs, numEntries, wrongRtt, hasNoReplyRtt }: Replies,
  options: ReadingOptions,
): { rttsMs: number[]; numLost: number[] } | Rejection {
  const [rcvd, sent] = [toNumber(result.rcvd), toNumber(result.sent)];
  const choice = options.rtt;
  if (wrongRtt) return wrongRtt;
  if (numEntries === 0 && Number.isNaN(rcvd)) {
    return { reason: "incompleteResult", found: "replies and rcvd are missing" };
  }
  if (choice === "each" && inTimeMs.length > 0) {
    return { rttsMs: inTimeMs, numLost: numLostOf(inTimeMs, choice) };
  }
  const replies = inTimeMs.filter((rttMs) => rttMs !== FAILED_RTT_MS);
  const numReceived = Number.isNaN(rcvd) || hasNoReplyRtt ? replies.length : rcvd;
  const numSent = Number.isNaN(sent) && numEntries > 0 ? inTimeMs.length : sent;
  const numLost = [toId(Math.max(0, numSent - numReceived))];
  if (numReceived === 0) return { rttsMs: [FAILED_RTT_MS], numLost };
  if (replies.length > 0) return { rttsMs: [summarise(replies, choice)], numLost };
  // The oldest firmware reports this instead of a list of replies.
  const statedMs = toNumber(choice === "min" ? result.min : result.avg);
  if (Number.isNaN(statedMs)) {
    return { reason: "incompleteResult", found: `rcvd is ${rcvd} and the RTT is missing` };
  }
  const rttMs = readRtt(statedMs, 1, options);
  if (typeof rttMs !== "number") return rttMs;
  return { rttsMs: [rttMs], numLost: rttMs === FAILED_RTT_MS ? [toId(numSent)] : numLost };
}

/** NaN for anything except a non-negative integer. */
function toId(value: number): number {
  return Number.isSafeInteger(value) && value >= 0 ? value : NaN;
}

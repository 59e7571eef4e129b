/**
 * One RIPE Atlas ping result turned into a measurement (design 02-formats, 2.2).
 *
 * Fields: https://atlas.ripe.net/docs/apis/result-format/ . Firmware from 2011 on is read: numbers as text, `addr`
 * for `dst_addr`, no list of replies, no `af`, no `from`.
 *
 * @module
 */
import { formatAddress, parseAddress } from "../tokens/ip.ts";
import { isPublicAddress } from "./address_scope.ts";
import { FAILED_RTT_MS } from "./batch.ts";
import { END_TIME_US, MIN_TIME_US } from "./parquet_reader.ts";
import type { RejectReason } from "./rejects.ts";

/** Which address stands for the source: `auto` is `from` where that is public, else `src_addr`. */
export type SourceChoice = "auto" | "from" | "src_addr";
/** Every {@link SourceChoice}. */
export const SOURCE_CHOICES: readonly SourceChoice[] = ["auto", "from", "src_addr"];

/** What becomes the RTT of a result's replies; `each` makes a row of every packet. */
export type RttChoice = "mean" | "min" | "median" | "each";
/** Every {@link RttChoice}. */
export const RTT_CHOICES: readonly RttChoice[] = ["mean", "min", "median", "each"];

/** A JSON object that may be a result. */
export type AtlasObject = Record<string, unknown>;

/** A ping result as one row, or several of the same probe and time (`each`). */
export interface PingRow {
  /** Measurement id, or NaN. */
  msmId: number;
  /** Probe id, or NaN. */
  prbId: number;
  eventTimeUs: number;
  srcAddr: string;
  dstAddr: string;
  ipVersion: 4 | 6;
  /** RTT of each row, or {@link FAILED_RTT_MS}. */
  rttsMs: number[];
  /** Packet size, or NaN. */
  sizeBytes: number;
  /** Lost packets of each row, or NaN. */
  numLost: number[];
}

/** Why a result gives no row. */
export interface Rejection {
  reason: RejectReason;
  detail: string;
}

/**
 * What kind of result an object is.
 *
 * @returns Its `type` (or `ping` where it has none but a ping's fields), or undefined if it is no result.
 */
export function resultType(object: AtlasObject): string | undefined {
  const { type, result } = object;
  const isResult = "prb_id" in object || "msm_id" in object || "timestamp" in object;
  if (typeof type === "string") return isResult ? type : undefined;
  const hasTarget = "dst_addr" in object || "addr" in object;
  if (!isResult || !hasTarget) return undefined;
  const isPing = Array.isArray(result)
    ? result.every(isReply) && (result.length > 0 || "rcvd" in object)
    : result === undefined && "rcvd" in object;
  return isPing ? "ping" : "unknown";
}

/**
 * Converts a ping result.
 *
 * @param result An object for which {@link resultType} is `ping`.
 * @param options Which source address and which RTT to take.
 */
export function convertPing(
  result: AtlasObject,
  options: { source: SourceChoice; rtt: RttChoice },
): PingRow | Rejection {
  const timestampS = toNumber(result.timestamp);
  if (Number.isNaN(timestampS)) return { reason: "nullValue", detail: "timestamp" };
  const eventTimeUs = Math.round(timestampS * 1e6);
  if (!(eventTimeUs >= MIN_TIME_US && eventTimeUs < END_TIME_US)) {
    return { reason: "timeOutOfRange", detail: `timestamp ${timestampS}` };
  }
  const addresses = chooseAddresses(result, options.source);
  if ("reason" in addresses) return addresses;
  const replies = readReplies(result, options.rtt);
  if ("reason" in replies) return replies;
  return {
    msmId: toId(result.msm_id),
    prbId: toId(result.prb_id),
    eventTimeUs,
    ...addresses,
    ...replies,
    sizeBytes: toId(result.size),
  };
}

function isReply(entry: unknown): boolean {
  if (typeof entry !== "object" || entry === null || "hop" in entry) return false;
  return "rtt" in entry || "x" in entry || "error" in entry || "dup" in entry;
}

function chooseAddresses(
  { from, src_addr: local, dst_addr, addr, af }: AtlasObject,
  choice: SourceChoice,
): { srcAddr: string; dstAddr: string; ipVersion: 4 | 6 } | Rejection {
  const target = isText(dst_addr) ? dst_addr : addr;
  const dst = parseText(target);
  if (!dst) return missingAddress("dst_addr", target);
  const candidates = (choice === "from" ? [from] : choice === "src_addr" ? [local] : [from, local]).filter(
    isText,
  );
  const parsed = candidates.map(parseText).filter((bytes) => bytes !== undefined);
  const sameVersion = parsed.filter((bytes) => bytes.length === dst.length);
  const src = sameVersion.find(isPublicAddress) ?? sameVersion.at(-1);
  if (!src && parsed.length > 0) {
    return { reason: "versionMismatch", detail: `from ${from}, src_addr ${local}, dst_addr ${target}` };
  }
  if (!src) return missingAddress(choice === "src_addr" ? "src_addr" : "from", candidates[0]);
  const ipVersion = dst.length === 4 ? 4 : 6;
  const stated = toNumber(af);
  if (!Number.isNaN(stated) && stated !== ipVersion) {
    return { reason: "versionMismatch", detail: `af is ${stated}, dst_addr ${target}` };
  }
  return { srcAddr: formatAddress(src), dstAddr: formatAddress(dst), ipVersion };
}

function missingAddress(name: string, found: unknown): Rejection {
  if (!isText(found)) return { reason: "nullValue", detail: name };
  return { reason: "unparseableAddress", detail: `${name} ${found.slice(0, 60)}` };
}

/** The RTTs and losses of the rows that the result makes. */
function readReplies(
  result: AtlasObject,
  choice: RttChoice,
): { rttsMs: number[]; numLost: number[] } | Rejection {
  const entries = Array.isArray(result.result) ? result.result.filter(isReply) as AtlasObject[] : [];
  const inTime = entries.filter(({ dup, late }) => dup === undefined && late === undefined);
  const replies = inTime.filter(({ rtt }) => rtt !== undefined).map(({ rtt }) => toNumber(rtt));
  const wrong = replies.find((rttMs) => !(rttMs >= 0 && rttMs < Infinity));
  if (wrong !== undefined) return { reason: "invalidRtt", detail: `rtt ${wrong}` };
  if (entries.length === 0 && (result.rcvd ?? null) === null) {
    return { reason: "incompleteResult", detail: "neither replies nor rcvd are there" };
  }
  const numReceived = toNumber(result.rcvd ?? replies.length);
  if (choice === "each" && inTime.length > 0) {
    const rttsMs = inTime.map(({ rtt }) => rtt === undefined ? FAILED_RTT_MS : toNumber(rtt));
    return { rttsMs, numLost: rttsMs.map((rttMs) => rttMs === FAILED_RTT_MS ? 1 : 0) };
  }
  const numSent = toNumber(result.sent ?? (entries.length > 0 ? inTime.length : NaN));
  const numLost = [Math.max(0, numSent - numReceived)];
  if (numReceived === 0) return { rttsMs: [FAILED_RTT_MS], numLost };
  const rttMs = replies.length > 0 ? summarise(replies, choice) : statedRttMs(result, choice);
  if (rttMs >= 0 && rttMs < Infinity) return { rttsMs: [rttMs], numLost };
  return { reason: "incompleteResult", detail: `rcvd is ${result.rcvd} and there is no RTT` };
}

function summarise(rttsMs: number[], choice: RttChoice): number {
  if (choice === "min") return Math.min(...rttsMs);
  if (choice === "median") {
    const sorted = rttsMs.toSorted((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
  return rttsMs.reduce((sum, rttMs) => sum + rttMs, 0) / rttsMs.length;
}

/** What the oldest firmware says in place of the list of replies: only min, avg and max. */
function statedRttMs({ min, avg }: AtlasObject, choice: RttChoice): number {
  return toNumber(choice === "min" ? min : avg);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function parseText(value: unknown): Uint8Array | undefined {
  return isText(value) ? parseAddress(value) : undefined;
}

/** A number, or a number as text; NaN for anything else. */
function toNumber(value: unknown): number {
  if (typeof value === "number") return value;
  return isText(value) && value.trim() !== "" ? Number(value) : NaN;
}

/** A non-negative integer; NaN for anything else. */
function toId(value: unknown): number {
  const id = toNumber(value);
  return Number.isSafeInteger(id) && id >= 0 ? id : NaN;
}

/**
 * The fields of a RIPE Atlas ping result that make up a measurement.
 *
 * @module
 */
import { type Address, readAddress } from "../addresses/address_book.ts";
import { isRtt } from "../measurement/batch.ts";

/** A JSON object that may be a result. */
export type AtlasObject = Record<string, unknown>;

/** The fields of a ping result. NaN stands for a missing or invalid number. */
export interface PingFields {
  timestampS: number;
  msmId: number;
  prbId: number;
  af: number;
  sizeBytes: number;
  sent: number;
  rcvd: number;
  /** The oldest firmware gives this instead of the list of replies. */
  minMs: number;
  avgMs: number;
  /** The addresses; undefined if missing or empty. */
  from: Address | undefined;
  srcAddr: Address | undefined;
  dstAddr: Address | undefined;
  /** Number of entries in the list of replies, including duplicates and late ones. */
  numEntries: number;
  /** RTTs of the entries that are neither duplicates nor late; NaN for no reply. */
  rttsMs: number[];
  /** The first of these RTTs that is impossible, if any. */
  wrongRttMs: number | undefined;
}

/** Reads the fields of a parsed result. */
export function fieldsOfObject(result: AtlasObject): PingFields {
  const entries = Array.isArray(result.result) ? result.result.filter(isReply) as AtlasObject[] : [];
  const inTime = entries.filter(({ dup, late }) => dup === undefined && late === undefined);
  const rttsMs = inTime.map(({ rtt }) => toNumber(rtt));
  return {
    timestampS: toNumber(result.timestamp),
    msmId: toNumber(result.msm_id),
    prbId: toNumber(result.prb_id),
    af: toNumber(result.af),
    sizeBytes: toNumber(result.size),
    sent: toNumber(result.sent),
    rcvd: toNumber(result.rcvd),
    minMs: toNumber(result.min),
    avgMs: toNumber(result.avg),
    from: toAddress(result.from),
    srcAddr: toAddress(result.src_addr),
    dstAddr: toAddress(result.dst_addr) ?? toAddress(result.addr),
    numEntries: entries.length,
    rttsMs,
    wrongRttMs: rttsMs.find((rttMs, i) => inTime[i].rtt !== undefined && !isRtt(rttMs)),
  };
}

/** Whether an entry of a list describes a packet (and not, for example, a hop). */
export function isReply(entry: unknown): boolean {
  if (typeof entry !== "object" || entry === null || "hop" in entry) return false;
  return "rtt" in entry || "x" in entry || "error" in entry || "dup" in entry;
}

function toAddress(value: unknown): Address | undefined {
  return isText(value) ? readAddress(value) : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** A number, or a number as text; NaN for anything else. */
function toNumber(value: unknown): number {
  if (typeof value === "number") return value;
  return isText(value) && value.trim() !== "" ? Number(value) : NaN;
}

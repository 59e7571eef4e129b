/**
 * What a format of measurements is, and what all formats share: the options of reading, the words for no reply, units of
 * RTTs, addresses by name.
 *
 * A format is one module of this folder that exports a {@link Format}, listed in `registry.ts`. It finds results in JSON
 * objects, in text, or in both.
 *
 * @module
 */
import { FormatError, shortened } from "../../base/errors.ts";
import { type Address, readAddress } from "../addresses/address_book.ts";
import { END_TIME_US, FAILED_RTT_MS, isRtt, MIN_TIME_US } from "./batch.ts";
import { OTHER_DATE, parseTimeUs, type TimeUnit } from "./time_text.ts";
import type { RejectReason } from "../measurement_files/rejects.ts";

/** The choice of the source address of an Atlas result: `auto` is `from` if that is public, else `src_addr`. */
export type SourceChoice = "auto" | "from" | "src_addr";

/** The choice of one RTT from those of a result's replies; `each` makes a row of every packet instead. */
export type RttChoice = "mean" | "min" | "median" | "each";

/** The choice that makes each network and city a source, for results that have none. */
export const NETWORK_SOURCE = "network";

/** How measurements are read. Plain data: worker threads get it. */
export interface ReadingOptions {
  /** The source of an Atlas result; `network`: as `auto`, and for results without a source {@link NETWORK_SOURCE}. */
  source: SourceChoice | "network";
  /** The choice of one RTT from a result's replies. */
  rtt: RttChoice;
  /** Only this format is read; by default all are, recognised by their first bytes. */
  format?: string | undefined;
  /** Names of columns and fields by what they mean, such as `rtt_s` to `seconds`; others have their usual names. */
  columns?: ReadonlyMap<string, string> | undefined;
  /** The source address of rows that do not have one. */
  src?: string | undefined;
  /** The destination address of rows that do not have one. */
  dst?: string | undefined;
  /** Texts that stand for no reply, in addition to the usual ones. */
  noReply?: readonly string[] | undefined;
  /** Addresses by lower-case names, for hosts that a file gives by name. */
  addresses?: ReadonlyMap<string, string> | undefined;
  /** When the first packet of a text without times was sent, Unix seconds. */
  startS?: number | undefined;
  /** The time between its packets, seconds (1). */
  intervalS?: number | undefined;
}

/** The default options. */
export const USUAL_READING: ReadingOptions = { source: "auto", rtt: "mean" };

/** A result: one row, or several of the same probe and time. */
export interface PingRow {
  /** Measurement id, or NaN. */
  msmId: number;
  /** Probe id, or NaN. */
  prbId: number;
  /** Microseconds since 1970; NaN if the text has no time. */
  eventTimeUs: number;
  srcAddr: string;
  dstAddr: string;
  ipVersion: 4 | 6;
  /** RTT of each row, ms, or {@link FAILED_RTT_MS}. */
  rttsMs: number[];
  /** Packet size, bytes, or NaN. */
  sizeBytes: number;
  /** Lost packets of each row, or NaN. */
  numLost: number[];
  /** Names of its addresses, if the result gives them. */
  srcName?: string;
  dstName?: string;
}

/** The reason for which a result gives no row. */
export interface Rejection {
  reason: RejectReason;
  detail: string;
}

/** The beginning of a text shows that it is not measurements: its format or header is not known, or it has no row. */
export class NoMeasurementsError extends FormatError {
  readonly found: string;

  /** @param fault As {@link FormatError} has it. */
  constructor(fault: string, where: { path: string; place?: string }) {
    super(fault, where);
    this.found = fault.replace(/, expected .*$/s, "");
  }
}

/** A message without advice on options of the command line, for people who have none. */
export function withoutOptions(message: string): string {
  return message.replace(/[;,] (?:or )?(?:give|add|name|choose|correct)[^;]* --[a-z].*$/, "");
}

/** Why a result gives no row, for people who have no command line. */
export function messageOf({ reason, detail }: Rejection): string {
  const found = withoutOptions(detail);
  return reason === "unknownLine" || reason === "invalidCsv" ? found : `${reason}, ${found}`;
}

/** A result that says nothing about a path, by its kind, such as `traceroute` or `dnserr`. */
export interface Skipped {
  skipped: string;
}

/** What became of a result. */
export type Finding = PingRow | Rejection | Skipped;

export type JsonObject = Record<string, unknown>;

export function objectOf(value: unknown): JsonObject {
  return typeof value === "object" && value !== null ? value as JsonObject : {};
}

/** Takes a finding and the line, from 1, that it comes from. */
export type TakeFinding = (finding: Finding, line: number) => void;

/** Reads a text of one format piece by piece. */
export interface TextReader {
  /** Takes the next characters, or undefined at the end of the text. @throws {UserError} If it cannot be read on. */
  push(text: string | undefined): void;
}

/** A format of measurements. */
export interface Format {
  /** For `--format`. */
  readonly name: string;
  /** For people, such as `RIPE Atlas ping results (JSON)`. */
  readonly title: string;
  /** Its results in JSON, whatever surrounds them. */
  readonly json?: {
    /** Whether an object is one, or holds several. */
    isResult(object: JsonObject, options: ReadingOptions): boolean;
    findings(object: JsonObject, options: ReadingOptions): Iterable<Finding>;
    /** Whether a result with the same measurement, probe and time as an earlier one repeats it. */
    readonly hasKeys?: boolean;
    /** The id of an object with several results, which files may repeat as a whole. */
    idOf?(object: JsonObject): string;
  };
  readonly text?: {
    /** Whether a text that begins so is of this format. @param head Whole lines. */
    isHead(head: string, options: ReadingOptions): boolean;
    /** Whether it is of this format even if it contains lines of another one. */
    isSurely?(head: string, options: ReadingOptions): boolean;
    /** Whether a text that begins so is JSON lines that this format reads as text. */
    isJsonHead?(head: string): boolean;
    /** @param path The file, for errors. */
    open(options: ReadingOptions, take: TakeFinding, path: string): TextReader;
  };
}

/** The longest line that a {@link LineReader} reads, characters. */
const MAX_LINE_CHARACTERS = 1 << 16;
/** A format of lines is recognised by one of the first lines, at most. */
const MAX_HEAD_LINES = 100;

/** Reads a text line by line, and rejects lines that are too long. */
export abstract class LineReader implements TextReader {
  #rest = "";
  #line = 0;

  constructor(readonly options: ReadingOptions, readonly take: TakeFinding) {}

  /** Reads a line without its end and the blanks around it. @param line Its number, from 1. */
  abstract read(text: string, line: number): void;

  /** Ends the text. */
  end(): void {}

  push(text: string | undefined): void {
    const lines = (text ?? "").split("\n");
    lines[0] = this.#rest + lines[0];
    const isUnended = text === undefined && lines[0] !== "";
    this.#rest = isUnended ? "" : (lines.pop() ?? "").slice(0, MAX_LINE_CHARACTERS + 1);
    for (const line of lines) this.#endLine(line);
    if (text === undefined) this.end();
  }

  #endLine(text: string): void {
    this.#line++;
    if (text.length <= MAX_LINE_CHARACTERS) return this.read(text.trim(), this.#line);
    const detail = `a line of more than ${MAX_LINE_CHARACTERS} characters: ${shortened(text)}`;
    this.take({ reason: "unknownLine", detail }, this.#line);
  }
}

/** Whether one of the first lines of a text, without the time that it begins with, meets a condition. */
export function hasLine(head: string, isKnown: (text: string) => boolean): boolean {
  return head.split("\n").slice(0, MAX_HEAD_LINES).some((line) => isKnown(leadingTime(line.trim()).text));
}

const ISO_DATE = String
  .raw`\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:[Zz]|UTC|GMT|[+-]\d\d(?::?\d\d)?)\b)?`;
/** `[1750766400.123456]` of `ping -D` and `fping -D`, or a date and time that a logger puts before a line. */
const LEADING_TIME = new RegExp(
  String.raw`^\[?(\d{9}\.\d+|\d{10}(?:\.\d+)?|${ISO_DATE}|${OTHER_DATE})\]?(?: ?[-:,;|]?\s+|$)`,
);

/** Divides a line into the time that it begins with, microseconds since 1970 or NaN, and the rest. */
export function leadingTime(line: string): { timeUs: number; text: string } {
  const match = LEADING_TIME.exec(line);
  if (!match) return { timeUs: NaN, text: line };
  const parsed = parseTimeUs(match[1]);
  return { timeUs: "timeUs" in parsed ? parsed.timeUs : NaN, text: line.slice(match[0].length) };
}

/** Texts for no reply, in lower case: of fping, rrdtool, pandas, R, SQL and ping loggers. */
const NO_REPLY = new Set([
  ...["", "-", "*", "x", "null", "none", "nil", "nan", "-nan", "na", "n/a", "#n/a", "<na>", "\\n"],
  ...["lost", "loss", "inf", "+inf", "-inf", "infinity", "-infinity", "no reply"],
  ...["request timed out", "request timeout", "timeout", "timedout", "timed out", "time out"],
]);

/** The units of RTTs, ms. */
export const RTT_UNITS: Readonly<Record<string, number>> = {
  ...{ ns: 1e-6, us: 1e-3, "µs": 1e-3, "μs": 1e-3, ms: 1, s: 1000, sec: 1000 },
  ...{ nanoseconds: 1e-6, microseconds: 1e-3, milliseconds: 1, seconds: 1000 },
};
const RTT_WITH_UNIT = /^(.*\d)\s*(ns|us|µs|μs|ms|s|sec)$/;

/** Whether a value stands for no reply. @param text In lower case, without blanks around it. */
function isNoReply(text: string, { noReply = [] }: ReadingOptions): boolean {
  if (
    NO_REPLY.has(text.replace(/\.$/, "")) || /unreachable\.?$/.test(text) || Number(text) === FAILED_RTT_MS
  ) return true;
  return noReply.some((word) =>
    word.trim().toLowerCase() === text || (word.trim() !== "" && Number(word) === Number(text))
  );
}

/**
 * Reads an RTT as files have it.
 *
 * @param value A number, a text, or null for no reply.
 * @param unitMs The unit of a number, ms.
 * @param name The name of the field, for the reason.
 * @returns Milliseconds, or {@link FAILED_RTT_MS}.
 */
export function readRtt(
  value: unknown,
  unitMs: number,
  options: ReadingOptions,
  name = "rtt",
): number | Rejection {
  if (value === null || value === undefined) return FAILED_RTT_MS;
  const isScalar = typeof value === "string" || typeof value === "number";
  const plainMs = isScalar ? Number(value) * unitMs : NaN;
  if (isRtt(plainMs) && !options.noReply) return plainMs;
  const text = isScalar ? String(value).trim().toLowerCase() : "?";
  if (isNoReply(text, options)) return FAILED_RTT_MS;
  const [, digits = text, unit] = RTT_WITH_UNIT.exec(text) ?? [];
  // `<1 ms` of Windows counts as 0.5 ms.
  const number = digits.startsWith("<") ? decimal(digits.slice(1).trim()) / 2 : decimal(digits);
  const rttMs = number * (unit === undefined ? unitMs : RTT_UNITS[unit]);
  return isRtt(rttMs) ? rttMs : wrongRtt(rttMs, `${name} ${shortened(String(value))}`);
}

/** Why a number is not an RTT. @param detail Its name and value. */
export function wrongRtt(rttMs: number, detail: string): Rejection {
  if (rttMs !== 0) return { reason: "invalidRtt", detail };
  return { reason: "zeroRtt", detail: `${detail} is not an RTT; add --no-reply 0 if it stands for no reply` };
}

/** `1,034.5`, `1.034,5`, `1'034.5`, `1 034,5`: groups of three and another mark for the decimals. */
const GROUPED = /^([+-]?\d{1,3})((?:([.,'’\s])\d{3})(?:\3\d{3})*)(?!\3)([.,])(\d+)$/;

/** A number as people and programs write it, with a point or a comma; NaN for anything else. */
export function decimal(text: string): number {
  const number = Number(text);
  if (!Number.isNaN(number) && (number !== 0 || text.trim() !== "")) return number;
  if (/^[+-]?\d+,\d+$/.test(text)) return Number(text.replace(",", "."));
  const [, first, groups, , , decimals] = GROUPED.exec(text) ?? [];
  return first === undefined ? NaN : Number(`${first}${groups.replace(/\D/g, "")}.${decimals}`);
}

/** Reads a time. @returns Microseconds since 1970; NaN for null and nothing. */
export function readTime(value: unknown, unit: TimeUnit, name = "time"): number | Rejection {
  if (value === null || value === undefined || value === "") return NaN;
  if (
    unit === "seconds" &&
    (typeof value === "number" || typeof value === "string" && value >= "1" && value < ":")
  ) {
    const timeUs = Math.round(Number(value) * 1e6);
    if (timeUs >= MIN_TIME_US && timeUs < END_TIME_US) return timeUs;
  }
  const isScalar = typeof value === "string" || typeof value === "number";
  const text = isScalar ? String(value).trim() : JSON.stringify(value);
  const parsed = parseTimeUs(text, unit);
  return "timeUs" in parsed
    ? parsed.timeUs
    : { reason: "invalidTime", detail: `${name} ${shortened(text)}: ${parsed.fault}` };
}

/** When packet n of a text without times was sent, from 0: microseconds since 1970, or NaN. */
export function intervalTimeUs({ startS = NaN, intervalS = 1 }: ReadingOptions, n: number): number {
  return Math.round((startS + intervalS * n) * 1e6);
}

/** A packet or result, its ends and RTTs as a file says them. */
export interface FoundPing {
  /** An address or a name; undefined if the file does not say it. */
  src?: string | undefined;
  dst: string | undefined;
  /** Microseconds since 1970, or NaN. */
  timeUs: number;
  /** RTTs of the packets, {@link FAILED_RTT_MS} for no reply; at least one. */
  rttsMs: number[];
  msmId?: number;
  prbId?: number;
  sizeBytes?: number;
  /** Lost packets of a result that does not list all packets; those of `rttsMs` without reply if absent. */
  numLost?: number | undefined;
}

/** The row of a ping: names become addresses, and several RTTs one, unless each is wanted. */
export function pingRow(ping: FoundPing, options: ReadingOptions): PingRow | Rejection {
  const { addresses } = options;
  const src = addressOf(ping.src || options.src || "", addresses);
  const dst = addressOf(ping.dst || options.dst || "", addresses);
  if (!src.bytes) return wrongEnd("src", src);
  if (!dst.bytes) return wrongEnd("dst", dst);
  if (src.bytes.length !== dst.bytes.length) {
    return { reason: "versionMismatch", detail: `${src.text} and ${dst.text}` };
  }
  const { timeUs, msmId = NaN, prbId = NaN, sizeBytes = NaN } = ping;
  return {
    msmId,
    prbId,
    eventTimeUs: timeUs,
    srcAddr: src.canonical,
    dstAddr: dst.canonical,
    ipVersion: src.bytes.length === 4 ? 4 : 6,
    rttsMs: chosenRtts(ping.rttsMs, options.rtt),
    sizeBytes,
    numLost: ping.numLost === undefined ? numLostOf(ping.rttsMs, options.rtt) : [ping.numLost],
  };
}

/** The RTTs of a result's rows. */
function chosenRtts(rttsMs: number[], choice: RttChoice): number[] {
  if (choice === "each" || rttsMs.length === 1) return rttsMs;
  const replies = rttsMs.filter((rttMs) => rttMs !== FAILED_RTT_MS);
  return [replies.length > 0 ? summarise(replies, choice) : FAILED_RTT_MS];
}

/** The lost packets of a result's rows. */
export function numLostOf(rttsMs: readonly number[], choice: RttChoice): number[] {
  const isLost = (rttMs: number) => rttMs === FAILED_RTT_MS ? 1 : 0;
  return choice === "each" ? rttsMs.map(isLost) : [rttsMs.reduce((sum, rttMs) => sum + isLost(rttMs), 0)];
}

/** One RTT for several replies, ms. */
export function summarise(rttsMs: readonly number[], choice: RttChoice): number {
  if (choice === "min") return rttsMs.reduce((least, rttMs) => Math.min(least, rttMs));
  if (choice === "median") {
    const sorted = rttsMs.toSorted((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
  let sumMs = 0;
  for (const rttMs of rttsMs) sumMs += rttMs;
  return sumMs / rttsMs.length;
}

/** Whether a text is an address, or a name whose address is known. */
export function isHost(text: string, { addresses }: ReadingOptions): boolean {
  return addressOf(text, addresses).bytes !== undefined;
}

/** The address that a text is or names. */
function addressOf(text: string, addresses: ReadingOptions["addresses"]): Address {
  const address = readAddress(text);
  if (address.bytes) return address;
  const found = addresses?.get(text.toLowerCase());
  if (found !== undefined) return readAddress(found);
  const host = hostOf(text);
  return host === text ? address : addressOf(host, addresses);
}

function wrongEnd(name: "src" | "dst", { text }: Address): Rejection {
  if (text === "") return { reason: "nullValue", detail: `${name}; give it with --${name} ADDRESS` };
  const advice = "give the addresses of names with --names FILES";
  return { reason: "unparseableAddress", detail: `${name} ${shortened(text)}; ${advice}` };
}

/** The host of a text that may have a scheme, a port or a path, such as `https://192.0.2.1:443/x`. */
export function hostOf(text: string): string {
  const host = text.replace(/^[a-z]+:\/\//i, "").replace(/[/?#].*$/, "");
  const [, bracketed] = /^\[([^\]]*)\](?::\d+)?$/.exec(host) ?? [];
  return bracketed ?? (/^[^:]*:\d+$/.test(host) ? host.replace(/:\d+$/, "") : host);
}

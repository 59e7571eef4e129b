/**
 * The interface of measurement formats, and what all formats share: reading options, words for no reply,
 * units of RTTs, addresses by name.
 *
 * A format is a module in this folder that exports a {@link Format} and is listed in `registry.ts`. It finds
 * results in JSON objects, in text, or in both.
 *
 * @module
 */
import { type Fault, faultText, FormatError, shortened } from "../../base/errors.ts";
import { type Address, readAddress } from "../addresses/address_book.ts";
import { END_TIME_US, FAILED_RTT_MS, isRtt, MIN_TIME_US } from "./batch.ts";
import { parseTimeUs, type TimeFault, type TimeUnit } from "./time_text.ts";
import type { RejectReason } from "../measurement_files/rejects.ts";
import type { Reading } from "./reading.ts";

/** @internal The source address of an Atlas result. `auto` is `from` if that is public, else `src_addr`. */
export type SourceChoice = "auto" | "from" | "src_addr";

/** @internal How to get one RTT from a result's replies; `each` makes a row from every packet instead. */
export type RttChoice = "mean" | "min" | "median" | "each";

/** Makes each network and city a source, for results without a source. */
export const NETWORK_SOURCE = "network";

/** How to read measurements. Plain data, because it is sent to worker threads. */
export interface ReadingOptions {
  /** The source of an Atlas result. `network` is like `auto` there, but see {@link NETWORK_SOURCE}. */
  source: SourceChoice | "network";
  /** Which RTT to take if there are several replies. */
  rtt: RttChoice;
  /** The only format to read; by default any format, recognised by the first bytes. */
  format?: string | undefined;
  /** Names of columns and fields by key, such as `rtt_s` to `seconds`. Others have their usual names. */
  columns?: ReadonlyMap<string, string> | undefined;
  /** The source addresses of rows without one, at most one for each IP version. */
  src?: readonly string[] | undefined;
  /** The destination addresses of rows without one, at most one for each IP version. */
  dst?: readonly string[] | undefined;
  /** Texts that mean no reply, in addition to the usual ones. */
  noReply?: readonly string[] | undefined;
  /** Addresses by lower-case name, for hosts that a file names. */
  addresses?: ReadonlyMap<string, string> | undefined;
  /** Unix seconds at which the first packet was sent, if the text contains no times. */
  startS?: number | undefined;
  /** Seconds between such packets; 1 by default. */
  intervalS?: number | undefined;
  /** The zone of times without one: an IANA name or an offset such as `+01:00`; UTC by default. */
  zone?: string | undefined;
  /** Called with how the text is read before its first row, and again with the same object or another one. */
  onReading?: ((reading: Reading) => void) | undefined;
}

export const USUAL_READING: ReadingOptions = { source: "auto", rtt: "mean" };

/** A result: one row, or several with the same probe and time. */
export interface PingRow {
  /** Measurement id, or NaN. */
  msmId: number;
  /** Probe id, or NaN. */
  prbId: number;
  /** Microseconds since 1970; NaN if the text contains no time. */
  eventTimeUs: number;
  srcAddr: string;
  dstAddr: string;
  ipVersion: 4 | 6;
  /** RTT of each row in ms, or {@link FAILED_RTT_MS}. */
  rttsMs: number[];
  /** Packet size, or NaN. */
  sizeBytes: number;
  /** Lost packets of each row, or NaN. */
  numLost: number[];
  /** Names of the addresses, if the result contains them. */
  srcName?: string;
  dstName?: string;
}

/** Why a result has no row. */
export interface Rejection extends Fault {
  readonly reason: RejectReason;
  readonly found: string;
  /** The endpoint that is missing. */
  readonly end?: "src" | "dst";
  /** The unit that the time appears to have. */
  readonly unit?: TimeUnit | undefined;
}

/** Thrown for a text that cannot be measurements: its format or header is unknown, or it has no rows. */
export class NoMeasurementsError extends FormatError {}

/** Why a result has no row, without the advice, which refers to command-line options. */
export function messageOf({ reason, ...fault }: Rejection): string {
  const text = faultText({ ...fault, advice: undefined });
  return reason === "unknownLine" || reason === "invalidCsv" ? text : `${reason}, ${text}`;
}

/** A result that says nothing about a path; `skipped` is its kind, such as `traceroute` or `dnserr`. */
export interface Skipped {
  skipped: string;
}

export type Finding = PingRow | Rejection | Skipped;

export type JsonObject = Record<string, unknown>;

export function objectOf(value: unknown): JsonObject {
  return typeof value === "object" && value !== null ? value as JsonObject : {};
}

/** The result in JSON that a finding is from. */
export interface JsonResult {
  /** Whether results with the same measurement, probe and time are duplicates. */
  readonly hasKeys: boolean;
  /** The id of an object with several results, which files may repeat as a whole. */
  readonly id: string | undefined;
}

/** @param line Line of the finding, from 1. @param from Undefined for findings in text. */
export type TakeFinding = (finding: Finding, line: number, from?: JsonResult) => void;

export interface TextReader {
  /** Takes the next characters; undefined ends the text. @throws {UserError} If reading cannot continue. */
  push(text: string | undefined): void;
}

export interface Format {
  /** As in `--format`. */
  readonly name: string;
  /** A title for users, such as `RIPE Atlas ping results (JSON)`. */
  readonly title: string;
  /** How to find results in JSON, whatever surrounds them. */
  readonly json?: {
    /** Whether an object is a result or contains several. */
    isResult(object: JsonObject, options: ReadingOptions): boolean;
    findings(object: JsonObject, options: ReadingOptions): Iterable<Finding>;
    /** How results like this one are read; the same object for the same fields; undefined if unknown. */
    reading?(object: JsonObject, options: ReadingOptions): Reading | undefined;
    /** Whether results with the same measurement, probe and time are duplicates. */
    readonly hasKeys?: boolean;
    /**
     * Ends the results of a file, if how they are read depends on those before.
     *
     * @throws {FormatError} If they contradict each other.
     */
    end?(options: ReadingOptions, path: string, take: (finding: Finding) => void): void;
    /** The id of an object with several results, which files may repeat as a whole. */
    idOf?(object: JsonObject): string;
  };
  readonly text?: {
    /** Whether a text that begins with `head` has this format. @param head Whole lines. */
    isHead(head: string, options: ReadingOptions): boolean;
    /** Whether the text has this format even if it contains lines of another one. */
    isSurely?(head: string, options: ReadingOptions): boolean;
    /** Whether the text is JSON lines that this format reads as text. */
    isJsonHead?(head: string): boolean;
    /** Calls `options.onReading` before the first row. @param path The file, for errors. */
    open(options: ReadingOptions, take: TakeFinding, path: string): TextReader;
  };
}

/** Texts for no reply, in lower case, as in fping, rrdtool, pandas, R, SQL, spreadsheets and ping loggers. */
const NO_REPLY = new Set([
  ...["", "-", "--", "---", "*", "x", "null", "(null)", "none", "nil", "unknown", "lost", "loss", "\\n"],
  ...["nan", "-nan", "nat", "na", "n/a", "n.a", "#n/a", "#nv", "<na>"],
  ...["inf", "+inf", "-inf", "infinity", "-infinity"],
]);
/** The same as sentences, such as `Request timed out.` or `TTL expired in transit`. */
export const NO_REPLY_SENTENCE =
  /unreachable|time.?d?.?out|expired|exceeded|no.?(?:reply|response|answer)|zeit.berschreitung|nicht erreichbar/;

/** Units of RTTs in ms. The µ of Windows-1252 is not UTF-8. */
export const RTT_UNITS: Readonly<Record<string, number>> = {
  "\ufffds": 1e-3,
  ...{ ns: 1e-6, us: 1e-3, "µs": 1e-3, "μs": 1e-3, usec: 1e-3, ms: 1, msec: 1, s: 1000, sec: 1000 },
  ...{ nanoseconds: 1e-6, microseconds: 1e-3, milliseconds: 1, seconds: 1000 },
};
/** Also `PT0.0123S` of ISO 8601. */
const RTT_WITH_UNIT = new RegExp(`^(?:pt)?(.*[\\dn-])\\s*(${Object.keys(RTT_UNITS).join("|")})$`);

/** @param text In lower case, without blanks around it. */
function isNoReply(text: string, { noReply = [] }: ReadingOptions): boolean {
  if (NO_REPLY.has(text.replace(/\.$/, "")) || NO_REPLY_SENTENCE.test(text)) return true;
  if (decimal(text) === FAILED_RTT_MS) return true;
  return noReply.some((word) => word.trim().toLowerCase() === text || decimal(word) === decimal(text));
}

/**
 * Reads an RTT as it is in a file.
 *
 * @param value A number, a text, or null for no reply.
 * @param unitMs The unit of a plain number, ms.
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
  const plain = typeof value === "number" ? value : typeof value === "string" ? decimal(value) : NaN;
  if (isRtt(plain * unitMs) && !options.noReply) return plain * unitMs;
  const shown = typeof value === "object" ? JSON.stringify(value) : String(value);
  const text = typeof value === "object" ? "?" : shown.trim().toLowerCase();
  const parts = text.length > MAX_NUMBER_CHARACTERS ? undefined : RTT_WITH_UNIT.exec(text);
  const [, digits, unit] = parts ?? [text, text];
  if (isNoReply(text, options) || isNoReply(digits, options)) return FAILED_RTT_MS;
  // `<1 ms` of Windows counts as 0.5 ms.
  const number = digits.startsWith("<") ? decimal(digits.slice(1).trim()) / 2 : decimal(digits);
  const rttMs = number * (unit === undefined ? unitMs : RTT_UNITS[unit]);
  return isRtt(rttMs) ? rttMs : wrongRtt(rttMs, name, shown.trim());
}

/** Explains why a number is not an RTT. @param rttMs NaN for a text. @param value As in the file. */
export function wrongRtt(rttMs: number, name: string, value: string): Rejection {
  const found = `${name} ${shortened(value)}`;
  const advice = (word: string) => `add --no-reply ${word} if it means no reply`;
  if (rttMs === 0) return { reason: "zeroRtt", found: `${found} is not an RTT`, advice: advice("0") };
  return { reason: "invalidRtt", found, ...(/^[\p{L}_-]+$/u.test(value) ? { advice: advice(value) } : {}) };
}

const DECIMAL = /^\s*[+-]?(?:\d+(?:\.\d*|,\d+)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;
/** `1,034.5`, `1.034,5`, `1'034.5`, `1 034,5`: groups of three digits and a different decimal mark. */
const GROUPED = /^([+-]?\d{1,3})((?:([.,'’\s])\d{3})(?:\3\d{3})*)(?!\3)[.,](\d+)$/;
const MAX_NUMBER_CHARACTERS = 64;

/** Parses a number with a decimal point or comma; NaN for anything else, such as `0x1F` and `1e400`. */
export function decimal(text: string): number {
  if (text.length > MAX_NUMBER_CHARACTERS) return NaN;
  const plain = DECIMAL.test(text) ? text.replace(",", ".") : GROUPED.exec(text);
  const number = Number(
    Array.isArray(plain) ? `${plain[1]}${plain[2].replace(/\D/g, "")}.${plain[4]}` : plain ?? NaN,
  );
  return Number.isFinite(number) ? number : NaN;
}

/** @returns Microseconds since 1970; NaN for null, undefined and an empty text. */
export function readTime(
  value: unknown,
  unit: TimeUnit,
  name = "time",
  options?: ReadingOptions,
): number | Rejection {
  if (value === null || value === undefined || value === "") return NaN;
  // Most times are digits. parseTimeUs() reads numbers with an exponent.
  const isPlain = typeof value === "number" ||
    typeof value === "string" && value[1] >= "0" && value[1] <= "9";
  const timeUs = isPlain && unit === "seconds" ? Math.round(Number(value) * 1e6) : NaN;
  if (timeUs >= MIN_TIME_US && timeUs < END_TIME_US) return timeUs;
  const text = typeof value === "object" ? JSON.stringify(value) : String(value).trim();
  const parsed = parseTimeUs(text, unit, options?.zone);
  return "timeUs" in parsed ? parsed.timeUs : wrongTime(`${name} ${shortened(text)}`, parsed.fault);
}

/** @param shown The field's name and value. */
export function wrongTime(shown: string, { found, needsZone, ...fault }: TimeFault): Rejection {
  const what = found === undefined ? shown : `${shown}: ${found}`;
  const advice = needsZone ? { advice: "give it with --zone NAME, such as --zone Asia/Kolkata" } : {};
  return { reason: "invalidTime", found: what, ...fault, ...advice };
}

/** What to do if a text contains no times; undefined if it was done. */
export function giveTime({ startS }: ReadingOptions): string | undefined {
  const advice =
    "give --start TIME and --interval SECONDS, or the column of a table with --columns time=NAME";
  return startS === undefined ? advice : undefined;
}

/** Time of packet n (from 0) in a text without times: microseconds since 1970, or NaN. */
export function intervalTimeUs(
  { startS = NaN, intervalS = 1 }: Pick<ReadingOptions, "startS" | "intervalS">,
  n: number,
): number {
  return Math.round((startS + intervalS * n) * 1e6);
}

/** A packet or result, with endpoints and RTTs as in the file. */
interface FoundPing extends Partial<Pick<PingRow, "msmId" | "prbId" | "sizeBytes">> {
  /** An address or a name; undefined if the file does not contain it. */
  src?: string | undefined;
  dst: string | undefined;
  /** Microseconds since 1970, or NaN. */
  timeUs: number;
  /** RTTs of the packets, {@link FAILED_RTT_MS} for no reply; at least one. */
  rttsMs: number[];
  /** Lost packets, if the result does not list every packet; by default the `rttsMs` without a reply. */
  numLost?: number | undefined;
}

/** Converts a ping: names to addresses, and several RTTs to one unless the options ask for each. */
export function pingRow(ping: FoundPing, options: ReadingOptions): PingRow | Rejection {
  const { addresses } = options;
  let src = addressOf(ping.src || options.src?.[0] || "", addresses);
  const dst = addressOf(ping.dst || constantEnd(options.dst, src) || "", addresses);
  if (!ping.src) src = addressOf(constantEnd(options.src, dst) ?? "", addresses);
  if (!src.bytes) return wrongEnd("src", src);
  if (!dst.bytes) return wrongEnd("dst", dst);
  if (src.bytes.length !== dst.bytes.length) {
    const end = ping.dst ? ping.src ? undefined : "src" : "dst";
    const advice = end && `give --${end} one address of each IP version, separated by a comma`;
    return { reason: "versionMismatch", found: `${src.text} and ${dst.text}`, advice };
  }
  const { timeUs, msmId = NaN, prbId = NaN, sizeBytes = NaN } = ping;
  const isEach = options.rtt === "each" || ping.rttsMs.length === 1;
  return {
    msmId,
    prbId,
    eventTimeUs: timeUs,
    srcAddr: src.canonical,
    dstAddr: dst.canonical,
    ipVersion: src.bytes.length === 4 ? 4 : 6,
    rttsMs: isEach ? ping.rttsMs : [summarise(ping.rttsMs, options.rtt)],
    sizeBytes,
    numLost: ping.numLost === undefined ? numLostOf(ping.rttsMs, options.rtt) : [ping.numLost],
  };
}

/** The constant address of the other end's IP version, or else the first. */
function constantEnd(given: readonly string[] | undefined, other: Address): string | undefined {
  return given?.find((text) => text.includes(":") === other.canonical.includes(":")) ?? given?.[0];
}

export function numLostOf(rttsMs: readonly number[], choice: RttChoice): number[] {
  const isLost = (rttMs: number) => rttMs === FAILED_RTT_MS ? 1 : 0;
  return choice === "each" ? rttsMs.map(isLost) : [rttsMs.reduce((sum, rttMs) => sum + isLost(rttMs), 0)];
}

/** Combines the RTTs of several packets. @returns ms, or {@link FAILED_RTT_MS} if none has a reply. */
export function summarise(rttsMs: readonly number[], choice: RttChoice): number {
  const replies = rttsMs.filter((rttMs) => rttMs !== FAILED_RTT_MS);
  const { length } = replies;
  if (length === 0) return FAILED_RTT_MS;
  if (choice !== "min" && choice !== "median") {
    return replies.reduce((sumMs, rttMs) => sumMs + rttMs) / length;
  }
  replies.sort((a, b) => a - b);
  return choice === "min" ? replies[0] : (replies[length >> 1] + replies[length - 1 >> 1]) / 2;
}

/** Longer texts are not hosts. It bounds the work for each text. */
const MAX_HOST_CHARACTERS = 512;
/** What may surround an address: a name, a scheme and port, a zone. */
const MAX_WRAPPINGS = 4;
/** `web.example (192.0.2.1)`, `192.0.2.1 [web.example]` */
const HOST_AND_HOST = /^([^\s()[\]]+)\s*[([]([^\s()[\]]*[.:][^\s()[\]]*)[)\]]$/;
/** `https://192.0.2.1:443/x`, `[2001:db8::1]:443` */
const URL_OR_PORT = /^(?:[a-z]+:\/\/)?(?:\[([^\]]*)\]|([^/?#:]+))(?::\d+)?(?:[/?#].*)?$/i;

/** Whether a text is an address or a name with a known address. */
export function isHost(text: string, { addresses }: ReadingOptions): boolean {
  return addressOf(text, addresses).bytes !== undefined;
}

/** The address of a host in its canonical form; the text itself if there is none. */
export function addressIn(text: string, addresses: ReadingOptions["addresses"]): string {
  return addressOf(text, addresses).canonical || text;
}

/** The address of a host as written in files, or of its name. */
function addressOf(text: string, addresses: ReadingOptions["addresses"]): Address {
  let host = text;
  for (let i = 0; i < MAX_WRAPPINGS; i++) {
    const address = readAddress(addresses?.get(host.toLowerCase()) ?? host);
    if (address.bytes) return address;
    host = hostOf(host);
  }
  return readAddress(text);
}

function wrongEnd(end: "src" | "dst", { text }: Address): Rejection {
  if (text === "") return { reason: "nullValue", found: end, end, advice: `give it with --${end} ADDRESS` };
  const advice = "add the address of this name with --names FILES";
  return { reason: "unparseableAddress", found: `${end} ${shortened(text)}`, advice };
}

/**
 * Extracts the host from a text that may contain a scheme, a port, a path, a zone or an address beside its
 * name, such as `https://192.0.2.1:443/x`, `fe80::1%eth0`, `web.example (192.0.2.1)`.
 */
export function hostOf(text: string): string {
  if (text.length > MAX_HOST_CHARACTERS) return text;
  // A prefix has more than one address, unless it is as long as the address.
  const [, address, length] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  if (address) return length === (address.includes(":") ? "128" : "32") ? address : text;
  const [first, second] = (HOST_AND_HOST.exec(text) ?? []).slice(1).map(readAddress);
  // If both are addresses, the text is ambiguous.
  if (first && !first.bytes !== !second.bytes) return first.bytes ? first.text : second.text;
  const [, bracketed, host] = URL_OR_PORT.exec(text) ?? [];
  return bracketed ?? host ?? text.replace(/^([^%:]*:[^%]*)%\w[\w.-]*$/, "$1");
}

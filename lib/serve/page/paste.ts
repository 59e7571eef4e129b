/**
 * Pings as people paste them: the output of `ping`, results of RIPE Atlas, CSV, JSON lines.
 *
 * @module
 */
import { parseAddress } from "../../data/addresses/ip.ts";
import type { ApiMeasurement } from "../api/schemas.ts";
import { convertPing, resultType } from "../../data/measurement/atlas_result.ts";
import { type CsvSeparator, readCsv } from "../../data/measurement/csv.ts";
import { JsonObjectScanner, objectsOf } from "../../data/measurement/json_stream.ts";
import { UserError } from "../../base/errors.ts";
import { parseTimeUs } from "../../data/measurement/time_text.ts";

// The output of `ping`: Linux (iputils), macOS and the BSDs, busybox, Windows in most languages.
//
// All write a line for each reply with the address and then `time=12.3 ms`. They differ in how a loss shows: as a
// line, as a gap of the sequence numbers, or only in the statistics at the end.

/** A ping that was sent. */
interface PingEcho {
  /** The line that says it, from 1; of a loss that no line says, the line that shows it. */
  line: number;
  destination: string;
  /** Null: no reply. */
  rttMs: number | null;
  /** Unix seconds, of `ping -D`; null where the output has none. */
  timeS: number | null;
}

/** Parsed output of `ping`. */
interface PingOutput {
  echoes: PingEcho[];
  /** Of `ping -I` and `ping6` of macOS, which print it. */
  source: string | undefined;
  faults: { line: number; message: string }[];
}

/** `[1750766400.123456]` of `ping -D`. */
const TIME = /^\[(\d+(?:\.\d+)?)\]\s*/;
/** `time=12.3 ms`, `time<1ms`, `Zeit=12ms`, `temps=12,3 ms`. */
const RTT = /(?:^|\s)\p{L}+\s*([=<])\s*(\d+(?:[.,]\d+)?)\s*ms(?!\p{L})/gu;
const SEQUENCE = /\b(?:icmp_)?seq[= ](\d+)/;
const HEADING = /^(?:PING6?\b|Pinging )/;
/** `4 packets transmitted, …`; `Sent = 4, Received = 3, Lost = 1`. */
const NUM_SENT = /^(\d+) packets transmitted|\p{L}+ = (\d+), \p{L}+ = \d+, \p{L}+ = \d+/u;
const LOSS =
  /^(?:request timeout|request timed out|no answer yet|zeitüberschreitung|délai d|tiempo de espera)|unreachable|nicht erreichbar|time to live exceeded|ttl expired|packet filtered/i;
/** Lines that say nothing of a ping: headings, statistics, what a shell shows. */
const OTHER = /^(?:\^C|---|rtt |round-trip |[$#>%]|[A-Z]:\\|PS )|:$/;
/** More losses than that at once are a counter that was reset. */
const MAX_GAP = 1000;

/** Whether a text looks like the output of `ping`. */
function isPingOutput(text: string): boolean {
  return text.split("\n").some((line) =>
    HEADING.test(line.trim()) || line.search(RTT) >= 0 || LOSS.test(line.trim())
  );
}

/** Reads the output of one or several runs of `ping`; a line that says nothing known is a fault. */
function parsePingOutput(text: string): PingOutput {
  const reader = new OutputReader();
  text.split("\n").forEach((line, i) => reader.read(line.trim(), i + 1));
  const { echoes, source, faults } = reader;
  return { echoes, source, faults };
}

type EchoPosition = Pick<PingEcho, "line" | "timeS">;

/** Reads line by line. */
class OutputReader {
  readonly echoes: PingEcho[] = [];
  readonly faults: { line: number; message: string }[] = [];
  source: string | undefined;
  /** Of the run that the lines belong to. */
  #destination: string | undefined;
  /** The pings of the run by their sequence number. */
  #bySequence = new Map<number, PingEcho>();
  #lastSequence: number | undefined;
  #numEchoes = 0;

  read(whole: string, line: number): void {
    const timeS = TIME.exec(whole)?.[1];
    const text = whole.replace(TIME, "");
    const place = { line, timeS: timeS === undefined ? null : Number(timeS) };
    const rtts = [...text.matchAll(RTT)];
    if (text === "" || rtts.length > 1) return; // Least, mean and greatest.
    if (HEADING.test(text)) this.#begin(text);
    else if (rtts.length === 1) {
      const [[, sign, digits]] = rtts;
      // Windows counts whole milliseconds; of less than 1 the middle is the best guess.
      this.#echo(text, place, Number(digits.replace(",", ".")) / (sign === "<" ? 2 : 1));
    } else if (NUM_SENT.test(text)) this.#end(text, place);
    else if (LOSS.test(text)) this.#echo(text, place, null);
    else if (OTHER.test(text)) this.#maybeBegin(text);
    else this.faults.push({ line, message: "no line of ping that is known" });
  }

  #begin(text: string): void {
    this.#endRun();
    const [to, from] = text.split(" from ");
    const addresses = addressesIn(to);
    this.#destination = addresses.at(-1);
    this.source ??= from === undefined ? undefined : addressesIn(from)[0];
    if (text.includes(" --> ")) this.source ??= addresses[0];
  }

  /** Takes a line for a heading in another language if it names another address than the lines before. */
  #maybeBegin(text: string): void {
    const address = addressesIn(text).at(-1);
    if (address !== undefined && address !== this.#destination) this.#begin(text);
  }

  #echo(text: string, place: EchoPosition, rttMs: number | null): void {
    const destination = this.#destination ?? (rttMs === null ? undefined : addressesIn(text).at(-1));
    if (destination === undefined) {
      this.faults.push({ line: place.line, message: "no address in it, and none in a line before it" });
      return;
    }
    this.#destination = destination;
    const match = SEQUENCE.exec(text);
    const sequence = match ? Number(match[1]) : undefined;
    const known = sequence === undefined ? undefined : this.#bySequence.get(sequence);
    // A late reply takes the place of its loss; what comes twice (DUP!) counts once.
    if (known) known.rttMs ??= rttMs;
    else {
      this.#fillGap(sequence, place);
      this.#add({ ...place, destination, rttMs }, sequence);
    }
  }

  /** Adds the losses between the last sequence number and this one. */
  #fillGap(sequence: number | undefined, place: EchoPosition): void {
    const last = this.#lastSequence;
    if (sequence === undefined || last === undefined || sequence - last > MAX_GAP) return;
    for (let missing = last + 1; missing < sequence; missing++) this.#addLoss(place, missing);
  }

  /** Statistics: what was sent and did not show was lost. */
  #end(text: string, place: EchoPosition): void {
    const [, unix, windows] = NUM_SENT.exec(text) ?? [];
    const numMissing = Number(unix ?? windows) - this.#numEchoes;
    for (let i = 0; i < numMissing && numMissing <= MAX_GAP; i++) this.#addLoss(place);
    this.#endRun();
  }

  #endRun(): void {
    this.#bySequence = new Map();
    this.#lastSequence = undefined;
    this.#numEchoes = 0;
  }

  #addLoss(place: EchoPosition, sequence?: number): void {
    const destination = this.#destination;
    if (destination !== undefined) this.#add({ ...place, destination, rttMs: null }, sequence);
  }

  #add(echo: PingEcho, sequence?: number): void {
    this.echoes.push(echo);
    this.#numEchoes++;
    if (sequence === undefined) return;
    this.#bySequence.set(sequence, echo);
    this.#lastSequence = Math.max(sequence, this.#lastSequence ?? sequence);
  }
}

/** The addresses in a line, without the marks around them. */
function addressesIn(text: string): string[] {
  const words = text.match(/[0-9a-f.:]*[.:][0-9a-f.:]+/gi) ?? [];
  // A colon ends the address of a reply; `::` may be the end of an address itself.
  return words.map((word) => word.replace(/(?<!:):$|\.$/, "")).filter((word) => parseAddress(word));
}

/** A measurement and the line, from 1, that says it. */
export type PastedPing = ApiMeasurement & { timestamp: number | null; line: number };

/** The pings of a pasted text, its format and its faults. */
export interface Pasted {
  /** For people. */
  format: "Output of ping" | "JSON" | "CSV";
  /** In order of time; those without a time first, as they stand. */
  pings: PastedPing[];
  /** The lines that cannot be used, and why. */
  faults: { line: number; message: string }[];
}

/** Values for pings whose text does not have them. */
interface PasteOptions {
  /** The source of pings that do not say theirs; empty if it is not known. */
  source: string;
  /** When the last of them was sent, Unix seconds; null if it is not known. */
  endTimeS: number | null;
}

/** The names of columns and fields, as in measurement files, in RIPE Atlas and in `query rtt --queries`. */
const NAMES = {
  src: ["src_addr", "src", "from", "source"],
  dst: ["dst_addr", "dst", "to", "destination"],
  time: ["timestamp", "time", "event_time"],
  rtt: ["rtt", "rtt_ms"],
};
/** How a file writes that there was no reply; measurement files have -1. */
const NO_REPLY = ["", "-1", "null", "*", "nan"];

/** Reads a pasted text; what it is shows from how it begins. */
export function parsePaste(text: string, options: PasteOptions): Pasted {
  const start = text.trimStart();
  const pasted = start.startsWith("{") || /^\[\s*[{[\]]/.test(start)
    ? parseJson(text, options)
    : isPingOutput(text)
    ? parseOutput(text, options)
    : parseCsv(text, options);
  pasted.pings.sort((a, b) => (a.timestamp ?? 0) - (b.timestamp ?? 0));
  pasted.faults.sort((a, b) => a.line - b.line);
  return pasted;
}

function parseOutput(text: string, options: PasteOptions): Pasted {
  const { echoes, source, faults } = parsePingOutput(text);
  const src = options.source || source || "";
  const { endTimeS } = options;
  const pings = echoes.map(({ line, destination, rttMs, timeS }, i): PastedPing => {
    // `ping` sends one each second unless told otherwise.
    const guessS = endTimeS === null ? null : endTimeS - (echoes.length - 1 - i);
    return { src_addr: src, dst_addr: destination, timestamp: timeS ?? guessS, rtt: rttMs, line };
  });
  return { format: "Output of ping", pings, faults };
}

function parseCsv(text: string, { source }: PasteOptions): Pasted {
  const pasted: Pasted = { format: "CSV", pings: [], faults: [] };
  const [separator] = /[,;\t]/.exec(text) ?? [","];
  const [header, ...records] = readCsv(text, separator as CsvSeparator);
  const names = header && header.fault === undefined ? header.fields.map((name) => name.toLowerCase()) : [];
  const missing = [NAMES.src, NAMES.dst, NAMES.rtt].filter((known) =>
    !known.some((name) => names.includes(name))
  );
  const isFromOne = source !== "" && missing.length === 1 && missing[0] === NAMES.src;
  if (missing.length > 0 && !isFromOne) {
    const message = "no output of ping, no JSON, and as the header of CSV it has no column " +
      `${missing.map(([name]) => name).join(", ")}; expected src_addr, dst_addr, rtt and perhaps timestamp`;
    pasted.faults.push({ line: header?.line ?? 1, message });
    return pasted;
  }
  for (const record of records) {
    take(pasted, record.line, () => {
      if (record.fault !== undefined) throw new UserError(record.fault);
      const { fields } = record;
      const values = Object.fromEntries(names.map((name, column) => [name, fields[column]]));
      return pingOfRecord(values, isFromOne ? source : "");
    });
  }
  return pasted;
}

function parseJson(text: string, { source }: PasteOptions): Pasted {
  const pasted: Pasted = { format: "JSON", pings: [], faults: [] };
  const bytes = new TextEncoder().encode(text);
  const lineAt = lineCounter(bytes);
  const scanner = new JsonObjectScanner("the pasted text");
  try {
    for (const { offsetBytes, value } of objectsOf(scanner.push(bytes))) {
      take(pasted, lineAt(offsetBytes), () => {
        if (!value) throw new UserError("no JSON that can be read");
        return pingOfObject(value, source);
      });
    }
    scanner.end();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    pasted.faults.push({ line: lineAt(bytes.length), message: error.message });
  }
  return pasted;
}

/** Counts lines up to offsets that grow. */
function lineCounter(bytes: Uint8Array): (offsetBytes: number) => number {
  const NEWLINE = 0x0a;
  let line = 1;
  let at = 0;
  return (offsetBytes) => {
    for (; at < offsetBytes; at++) if (bytes[at] === NEWLINE) line++;
    return line;
  };
}

function pingOfObject(value: Record<string, unknown>, source: string): Omit<PastedPing, "line"> | undefined {
  const type = resultType(value);
  // A line of our own names may have a timestamp, too, and no list of replies.
  if (type === undefined || "rtt" in value) return pingOfRecord(value, source);
  if (type !== "ping") throw new UserError(`a result of type ${type}, expected a ping`);
  const row = convertPing(value, { source: "auto", rtt: "mean" });
  if ("reason" in row) throw new UserError(`a ping result without use: ${row.reason}, ${row.detail}`);
  const [rttMs] = row.rttsMs;
  return {
    src_addr: row.srcAddr,
    dst_addr: row.dstAddr,
    timestamp: row.eventTimeUs / 1e6,
    rtt: rttMs < 0 ? null : rttMs,
  };
}

/** @param source The source of records that say none. */
function pingOfRecord(record: Record<string, unknown>, source: string): Omit<PastedPing, "line"> {
  const textOf = (names: readonly string[]) => {
    const value = names.map((name) => record[name]).find((found) => found !== undefined && found !== null);
    return value === undefined ? "" : String(value).trim();
  };
  const [src, dst] = [textOf(NAMES.src) || source, textOf(NAMES.dst)];
  for (const [name, text] of [["source", src], ["destination", dst]]) {
    if (!parseAddress(text)) throw new UserError(`found ${text || "no"} ${name}, expected an address`);
  }
  const time = textOf(NAMES.time);
  const timeUs = time === "" ? { timeUs: null } : parseTimeUs(time);
  if ("fault" in timeUs) throw new UserError(`found the time ${time}: ${timeUs.fault}`);
  const rttText = textOf(NAMES.rtt).replace(/ ?ms$/, "");
  const rtt = NO_REPLY.includes(rttText.toLowerCase()) ? null : Number(rttText);
  if (rtt !== null && !(rtt >= 0)) throw new UserError(`found the RTT ${rttText}, expected milliseconds`);
  const timestamp = timeUs.timeUs === null ? null : timeUs.timeUs / 1e6;
  return { src_addr: src, dst_addr: dst, timestamp, rtt };
}

/** Adds what a line says, or why it cannot be used. */
function take(pasted: Pasted, line: number, read: () => Omit<PastedPing, "line"> | undefined): void {
  try {
    const ping = read();
    if (ping) pasted.pings.push({ ...ping, line });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    pasted.faults.push({ line, message: error.message });
  }
}

/**
 * Pings as people paste them: the output of `ping`, results of RIPE Atlas, CSV, JSON lines.
 *
 * @module
 */
import { parseAddress } from "../addresses/ip.ts";
import type { ApiMeasurement } from "../api/schemas.ts";
import { convertPing, resultType } from "../atlas/atlas_result.ts";
import { JsonObjectScanner } from "../atlas/json_stream.ts";
import { UserError } from "../errors.ts";
import { parseTimeUs } from "../measurement/time_text.ts";
import { isPingOutput, parsePingOutput } from "./ping_output.ts";

/** A measurement and the line, from 1, that says it. */
export type PastedPing = ApiMeasurement & { timestamp: number | null; line: number };

/** What a pasted text holds. */
export interface Pasted {
  /** For people. */
  format: "Output of ping" | "JSON" | "CSV";
  /** In order of time; those without a time first, as they stand. */
  pings: PastedPing[];
  /** The lines that cannot be used, and why. */
  faults: { line: number; message: string }[];
}

/** What a text of `ping` does not say. */
export interface PasteOptions {
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
  const rows = text.split("\n").map((line) =>
    line.split(/[,;\t]/).map((field) => field.trim().replace(/^"(.*)"$/, "$1"))
  );
  const isRow = (fields: readonly string[]) => fields.length > 1 || fields[0] !== "";
  const header = Math.max(0, rows.findIndex(isRow));
  const names = rows[header].map((name) => name.toLowerCase());
  const missing = [NAMES.src, NAMES.dst, NAMES.rtt].filter((known) =>
    !known.some((name) => names.includes(name))
  );
  const isFromOne = source !== "" && missing.length === 1 && missing[0] === NAMES.src;
  if (missing.length > 0 && !isFromOne) {
    const message = `no output of ping, no JSON, and as the header of CSV it has no column ${
      missing.map(([name]) => name).join(", ")
    }; src_addr, dst_addr, rtt and perhaps timestamp are wanted`;
    pasted.faults.push({ line: header + 1, message });
    return pasted;
  }
  rows.forEach((fields, i) => {
    if (i <= header || !isRow(fields)) return;
    const record = Object.fromEntries(names.map((name, column) => [name, fields[column]]));
    take(pasted, i + 1, () => pingOfRecord(record, isFromOne ? source : ""));
  });
  return pasted;
}

function parseJson(text: string, { source }: PasteOptions): Pasted {
  const pasted: Pasted = { format: "JSON", pings: [], faults: [] };
  const bytes = new TextEncoder().encode(text);
  const lineAt = lineCounter(bytes);
  const scanner = new JsonObjectScanner("the pasted text");
  try {
    for (const { offsetBytes, value } of scanner.push(bytes)) {
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

function pingOfObject(
  value: Record<string, unknown>,
  source: string,
): Omit<PastedPing, "line"> | undefined {
  const type = resultType(value);
  // A line of our own names may have a timestamp, too, and no list of replies.
  if (type === undefined || "rtt" in value) return pingOfRecord(value, source);
  if (type !== "ping") throw new UserError(`a result of type ${type}, a ping was wanted`);
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
    if (!parseAddress(text)) throw new UserError(`found ${text || "no"} ${name}, an address was wanted`);
  }
  const time = textOf(NAMES.time);
  const timeUs = time === "" ? { timeUs: null } : parseTimeUs(time);
  if ("fault" in timeUs) throw new UserError(`found the time ${time}: ${timeUs.fault}`);
  const rttText = textOf(NAMES.rtt).replace(/ ?ms$/, "");
  const rtt = NO_REPLY.includes(rttText.toLowerCase()) ? null : Number(rttText);
  if (rtt !== null && !(rtt >= 0)) throw new UserError(`found the RTT ${rttText}, milliseconds were wanted`);
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

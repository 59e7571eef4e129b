/**
 * A file of queries for RTT distributions: JSON lines or CSV, read line by line.
 *
 * JSON lines are objects with `src`, `dst` and perhaps `time`; CSV has a header with those names in any order. A
 * line that is no query is told apart, so that the rest can be answered.
 *
 * @module
 */
import { explainFileError, FormatError, UserError } from "../errors.ts";
import { parseAddress } from "../tokens/ip.ts";

const FIELDS = ["src", "dst", "time"] as const;

/** Date, perhaps time, perhaps zone. */
const ISO_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/;

/** A line with a query. */
export interface FileQuery {
  /** Its line, from 1. */
  readonly line: number;
  /** The source address as it stands there. */
  readonly src: string;
  /** The destination address as it stands there. */
  readonly dst: string;
  /** The source, 4 or 16 bytes. */
  readonly source: Uint8Array;
  /** The destination, 4 or 16 bytes. */
  readonly destination: Uint8Array;
  /** Unix seconds, or null for any time. */
  readonly timeS: number | null;
}

/** A line that cannot be answered. */
export interface BadLine {
  /** Its line, from 1. */
  readonly line: number;
  /** Why, for people. */
  readonly error: string;
}

/**
 * Reads queries; empty lines are passed over.
 *
 * @param path JSON lines if the first line that is not empty starts with `{`, else CSV.
 * @throws {UserError} If the file cannot be read, or its header names other columns.
 */
export async function* readQueries(path: string): AsyncGenerator<FileQuery | BadLine> {
  let columns: string[] | undefined;
  let isFirst = true;
  let line = 0;
  for await (const text of readLines(path)) {
    line++;
    if (text.trim() === "") continue;
    if (isFirst && !text.trimStart().startsWith("{")) columns = headerOf(text, path);
    else yield queryOf(line, () => columns ? csvValues(text, columns) : jsonValues(text));
    isFirst = false;
  }
}

/**
 * Reads a point in time.
 *
 * @param text An ISO 8601 date, perhaps with a time, in UTC unless it names a zone; or Unix seconds.
 * @returns Unix seconds, or undefined if it is neither or before 1970.
 */
export function parseTimeS(text: string): number | undefined {
  const seconds = /^\d+$/.test(text) ? Number(text) : isoSeconds(text);
  return Number.isSafeInteger(seconds) && seconds >= 0 ? seconds : undefined;
}

/** NaN if it is none; `Date` alone would take "-1" for a date and local time where no zone is given. */
function isoSeconds(text: string): number {
  const match = ISO_TIME.exec(text);
  if (!match) return NaN;
  const [, date, time = "00:00", zone = "Z"] = match;
  return Math.floor(Date.parse(`${date}T${time}${zone}`) / 1000);
}

type Values = Partial<Record<string, unknown>>;

function queryOf(line: number, read: () => Values): FileQuery | BadLine {
  try {
    const values = read();
    const unknown = Object.keys(values).find((name) => !(FIELDS as readonly string[]).includes(name));
    if (unknown !== undefined) throw new UserError(`found ${unknown}, only src, dst and time were wanted`);
    const [src, source] = addressOf("src", values.src);
    const [dst, destination] = addressOf("dst", values.dst);
    return { line, src, dst, source, destination, timeS: timeOf(values.time) };
  } catch (error) {
    if (error instanceof UserError) return { line, error: error.message };
    throw error;
  }
}

function addressOf(name: string, value: unknown): [string, Uint8Array] {
  const bytes = typeof value === "string" ? parseAddress(value) : undefined;
  if (typeof value === "string" && bytes) return [value, bytes];
  const found = value === undefined || value === "" ? `no ${name}` : `${name} ${JSON.stringify(value)}`;
  throw new UserError(`found ${found}, an IPv4 or IPv6 address was wanted`);
}

function timeOf(value: unknown): number | null {
  if (value === undefined || value === null || value === "") return null;
  const timeS = typeof value === "string" || typeof value === "number"
    ? parseTimeS(String(value))
    : undefined;
  if (timeS !== undefined) return timeS;
  throw new UserError(
    `found time ${JSON.stringify(value)}, a time since 1970 as ISO 8601 or Unix seconds was wanted`,
  );
}

function jsonValues(text: string): Values {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Values;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new UserError("found no JSON object, one with src, dst and perhaps time was wanted");
}

function csvValues(text: string, columns: readonly string[]): Values {
  const cells = cellsOf(text);
  if (cells.length !== columns.length) {
    throw new UserError(`found ${cells.length} values, ${columns.length} were wanted as in the header`);
  }
  return Object.fromEntries(columns.map((name, i) => [name, cells[i]]));
}

function headerOf(text: string, path: string): string[] {
  const columns = cellsOf(text);
  const isKnown = columns.every((name) => (FIELDS as readonly string[]).includes(name));
  const isWhole = columns.includes("src") && columns.includes("dst");
  if (isKnown && isWhole && new Set(columns).size === columns.length) return columns;
  throw new FormatError(
    `found ${JSON.stringify(text.slice(0, 80))}, JSON lines or a CSV header src,dst[,time] was wanted`,
    { path, place: "line 1" },
  );
}

/** Neither addresses nor times hold commas or quotes, so quotes around a whole cell are all there can be. */
function cellsOf(text: string): string[] {
  return text.split(",").map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));
}

async function* readLines(path: string): AsyncGenerator<string> {
  try {
    using file = await Deno.open(path);
    const decoder = new TextDecoder();
    const bytes = new Uint8Array(65_536);
    let rest = "";
    for (let length = await file.read(bytes); length !== null; length = await file.read(bytes)) {
      const lines = (rest + decoder.decode(bytes.subarray(0, length), { stream: true })).split(/\r?\n/);
      rest = lines.pop() ?? "";
      yield* lines;
    }
    rest += decoder.decode();
    if (rest !== "") yield rest;
  } catch (error) {
    throw explainFileError(error, `read ${path}`);
  }
}

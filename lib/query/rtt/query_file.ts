/**
 * A file of queries for RTT distributions: JSON lines or CSV, read line by line. CSV has a header with `src`, `dst` and
 * perhaps `time`, in any order. JSON lines are objects, see `RttQuestion`, such as
 *
 *     {"src": "10.2.0.0/16", "dst": "198.51.100.7", "time": "2025-11-01T12:00Z", "context": [
 *       {"src": …, "dst": …, "time": …, "rtt": 12.5}]}
 *
 * with `rtt` in ms, null for no reply. A line without a query gives a `BadLine`, so that the rest can be answered.
 *
 * @module
 */
import { FormatError, shortened, UserError } from "../../base/errors.ts";
import { readCsv } from "../../data/measurement/csv.ts";
import { type ParsedQuestion, parseQuestion } from "./rtt_question.ts";
import { jsonObjectOf, type TextLine } from "../text_lines.ts";

const COLUMNS = ["src", "dst", "time"];
const WANTED = "expected one with src, dst and perhaps time and context";

/** A line with a query. */
export interface FileQuery extends ParsedQuestion {
  /** Its line, from 1. */
  readonly line: number;
  /** The source as it stands there. */
  readonly src: string;
  /** The destination as it stands there. */
  readonly dst: string;
}

/** A line that cannot be answered. */
export interface BadLine {
  /** Its line, from 1. */
  readonly line: number;
  /** Why, for people. */
  readonly error: string;
}

/**
 * Reads queries; empty lines are skipped.
 *
 * @param lines JSON lines if the first one that is not empty starts with `{`, else CSV.
 * @param path The name of their file, for errors.
 * @throws {UserError} If the header names other columns.
 */
export async function* readQueries(
  lines: AsyncIterable<TextLine>,
  path: string,
): AsyncGenerator<FileQuery | BadLine> {
  let columns: string[] | undefined;
  let isFirst = true;
  let line = 0;
  for await (const { text, fault } of lines) {
    line++;
    if (text.trim() === "" && fault === undefined) continue;
    if (isFirst && !text.trimStart().startsWith("{")) columns = headerOf(text, path);
    else if (fault !== undefined) yield { line, error: fault };
    else yield queryOf(line, () => columns ? csvValues(text, columns) : jsonObjectOf(text, WANTED));
    isFirst = false;
  }
}

type Values = Partial<Record<string, unknown>>;

function queryOf(line: number, read: () => Values): FileQuery | BadLine {
  try {
    const values = read();
    const question = parseQuestion(values);
    return { line, src: String(values.src), dst: String(values.dst), ...question };
  } catch (error) {
    if (error instanceof UserError) return { line, error: error.message };
    throw error;
  }
}

function csvValues(text: string, columns: readonly string[]): Values {
  const cells = cellsOf(text);
  if (cells.length !== columns.length) {
    const found = cells.length > columns.length ? `more than ${columns.length}` : cells.length;
    throw new UserError(`found ${found} values, expected ${columns.length} as in the header`);
  }
  return Object.fromEntries(columns.map((name, i) => [name, cells[i]]));
}

function headerOf(text: string, path: string): string[] {
  const columns = cellsOf(text);
  const isKnown = columns.every((name) => COLUMNS.includes(name));
  const isWhole = columns.includes("src") && columns.includes("dst");
  if (isKnown && isWhole && new Set(columns).size === columns.length) return columns;
  throw new FormatError(
    `found ${JSON.stringify(shortened(text))}, expected JSON lines or a CSV header src,dst[,time]`,
    { path, place: "line 1" },
  );
}

function cellsOf(line: string): string[] {
  const [record] = readCsv(line);
  if (record?.fault !== undefined) throw new UserError(`found ${record.fault}`);
  return record?.fields ?? [""];
}

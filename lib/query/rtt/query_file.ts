/**
 * Reads files of queries for RTT distributions, as JSON lines or CSV. CSV has a header with `src`, `dst` and
 * optionally `time` and `probe`, in any order, separated by commas, semicolons or tabs. JSON lines are objects, see
 * `RttQuestion`, such as
 *
 *     {"src": "10.2.0.0/16", "dst": "198.51.100.7", "time": "2025-11-01T12:00Z", "context": [
 *       {"src": …, "dst": …, "time": …, "rtt": 12.5}]}
 *
 * @module
 */
import { FormatError, shown, UserError } from "../../base/errors.ts";
import { csvText } from "../../base/text.ts";
import { faultOfPrefix } from "../../data/addresses/ip_prefix.ts";
import { type AddressNames, NO_NAMES } from "../../data/addresses/address_names.ts";
import type { PlaceIndex } from "../../data/addresses/place_index.ts";
import { type CsvSeparator, readCsv } from "../../io/text/csv.ts";
import { type ParsedQuestion, parseQuestion, withAddresses } from "./rtt_question.ts";
import { jsonObjectOf, type TextLine } from "../text_lines.ts";

const COLUMNS: readonly string[] = ["dst", "src", "time", "probe"];
const WANTED = "one with src, dst and optionally time, probe and context";

export interface FileQuery extends ParsedQuestion {
  /** Line number, from 1. */
  readonly line: number;
  /** The source as given. */
  readonly src: string;
  /** The destination as given. */
  readonly dst: string;
}

/** A line that cannot be answered. */
export interface BadLine {
  /** Line number, from 1. */
  readonly line: number;
  readonly error: string;
}

/** What a model knows by name. */
interface KnownEnds {
  readonly places?: PlaceIndex | undefined;
  readonly names?: AddressNames;
}

/** The source and time shared by all queries of a file of destinations. */
export interface SharedEnds {
  /** An address or a prefix. */
  readonly src: string;
  /** Written as in a question. */
  readonly time: string | undefined;
}

/**
 * Reads queries. Skips empty lines, lines that begin with `#`, and what follows ` #` after a destination.
 *
 * @param lines JSON lines if the first non-empty line starts with `{`, otherwise CSV.
 * @param shared If given, lines only need a `dst` and must not have a different source or time. A file
 *   without a header has one destination per line.
 * @param known Places and names that lines may contain. With places the first line may be a destination that
 *   contains commas.
 * @throws {UserError} If the header names other columns.
 */
export async function* readQueries(
  lines: AsyncIterable<TextLine>,
  path: string,
  shared?: SharedEnds,
  known: KnownEnds = {},
): AsyncGenerator<FileQuery | BadLine> {
  const isList = shared !== undefined;
  const hasPlaces = known.places !== undefined || (known.names?.size ?? 0) > 0;
  for await (const { line, read } of readValues(lines, path, { isList, hasPlaces })) {
    yield queryOf(line, read, known, shared);
  }
}

/**
 * Reads the values of lines; see {@link readQueries}.
 *
 * @param options `isList`: whether a line needs only a `dst`; `hasPlaces`: whether a line without a header
 *   may be the name of a place or an address; `columns`: those of CSV, the endpoint of a list first.
 */
export async function* readValues(
  lines: AsyncIterable<TextLine>,
  path: string,
  { isList = true, hasPlaces = true, columns: known = COLUMNS }: {
    isList?: boolean;
    hasPlaces?: boolean;
    columns?: readonly string[] | undefined;
  } = {},
): AsyncGenerator<{ line: number; read: () => Values }> {
  let columns: string[] | undefined;
  let separator: CsvSeparator = ",";
  let isFirst = true;
  let line = 0;
  for await (const { text, fault } of lines) {
    line++;
    if (/^\s*(#|$)/.test(text) && fault === undefined) continue;
    const isTable = isFirst && !text.trimStart().startsWith("{");
    isFirst = false;
    const isName = () =>
      faultOfPrefix(withoutComment(text)) === undefined ||
      (hasPlaces && !cellsOf(text, separatorOf(text)).every((name) => known.includes(name)));
    const isHeader = isTable && !(isList && isName());
    if (isTable) columns = isHeader ? headerOf(text, path, isList, known) : [];
    if (isHeader) separator = separatorOf(text);
    if (isHeader) continue;
    const read = (columns: readonly string[] | undefined, separator: CsvSeparator) => () => {
      if (fault !== undefined) throw new UserError(fault);
      return columns?.length === 0
        ? { [known[0]]: withoutComment(text) }
        : valuesOf(text, columns, separator);
    };
    yield { line, read: read(columns, separator) };
  }
}

function withoutComment(text: string): string {
  return text.replace(/\s#.*/, "").trim();
}

type Values = Partial<Record<string, unknown>>;

/** @param columns Columns of CSV. */
function valuesOf(text: string, columns: readonly string[] | undefined, separator: CsvSeparator): Values {
  return columns ? csvValues(cellsOf(text, separator), columns) : jsonObjectOf(text, WANTED);
}

/** Reads one query. @param read Returns the values of its line; may throw a UserError. */
export function queryOf(
  line: number,
  read: () => Values,
  { places, names = NO_NAMES }: KnownEnds,
  shared?: SharedEnds,
): FileQuery | BadLine {
  try {
    const given = read();
    const values = withAddresses(shared ? withShared(given, shared) : given, names);
    const question = parseQuestion(values, places);
    return { line, src: String(values.src), dst: String(values.dst), ...question };
  } catch (error) {
    if (error instanceof UserError) return { line, error: error.message };
    throw error;
  }
}

/** @throws {UserError} If a line has a different source or time, or a probe. */
function withShared(values: Values, shared: SharedEnds): Values {
  const ofAll: Values = { ...shared };
  for (const name of ["src", "time", "probe"]) {
    const value = values[name] ?? "";
    if (value === "" || value === ofAll[name]) continue;
    const expected = `${ofAll[name] ?? "none"} as on all lines`;
    throw new UserError({ path: [name], value: shown(value), expected });
  }
  return { ...values, ...shared };
}

function csvValues(cells: readonly string[], columns: readonly string[]): Values {
  if (cells.length !== columns.length) {
    const found = cells.length > columns.length ? `more than ${columns.length}` : cells.length;
    throw new UserError({ value: `${found} values`, expected: `${columns.length} as in the header` });
  }
  return Object.fromEntries(columns.map((name, i) => [name, cells[i]]));
}

function headerOf(text: string, path: string, isList: boolean, known: readonly string[]): string[] {
  const columns = cellsOf(text, separatorOf(text));
  const isKnown = columns.every((name) => known.includes(name));
  const [end] = known;
  const isWhole = (isList || columns.includes("src")) && columns.includes(end);
  if (isKnown && isWhole && new Set(columns).size === columns.length) return columns;
  const expected = isList
    ? `one address or prefix per line, JSON lines or a CSV header ${end}`
    : "JSON lines or a CSV header src,dst[,time,probe]";
  throw new FormatError({ value: shown(text), expected }, { path, place: "line 1" });
}

/** The separator of a header; column names contain none of them. */
function separatorOf(header: string): CsvSeparator {
  return header.includes(";") ? ";" : header.includes("\t") ? "\t" : ",";
}

function cellsOf(line: string, separator: CsvSeparator): string[] {
  const [record] = readCsv(line, separator);
  if (record?.fault !== undefined) throw new UserError({ value: record.fault });
  return (record?.fields ?? [""]).map(csvText);
}

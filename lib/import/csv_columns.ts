/**
 * Maps the columns of a CSV file to the fields of a measurement, by the user's option or by the names in the header.
 *
 * @module
 */
import { FormatError, shortened, UsageError } from "../errors.ts";
import { OPTIONAL_COLUMNS, type OptionalColumn } from "../measurement/parquet_writer.ts";
import type { TimeUnit } from "../measurement/time_text.ts";

/** The units of numbers in the columns of times. */
const TIME_UNITS: Record<string, TimeUnit> = {
  time: "seconds",
  time_ms: "milliseconds",
  time_us: "microseconds",
};
const TIME_KEYS = Object.keys(TIME_UNITS);
const OPTIONAL_KEYS = OPTIONAL_COLUMNS.map(({ name }) => name);
/** Keys with their names in measurements Parquet, if these differ. */
const OTHER_NAMES: Record<string, string> = { src: "src_addr", dst: "dst_addr", time: "event_time" };
const KEYS = ["src", "dst", ...TIME_KEYS, "rtt", ...OPTIONAL_KEYS];

/** The names of columns by key: `src`, `dst`, one of the times, `rtt`, perhaps optional columns of measurements. */
export type CsvColumns = ReadonlyMap<string, string>;

/** The indexes of a measurement's fields in a record, from 0. */
export interface CsvLayout {
  /** The names of all columns. */
  names: readonly string[];
  src: number;
  dst: number;
  time: number;
  timeUnit: TimeUnit;
  rtt: number;
  optional: readonly { key: OptionalColumn; name: string; field: number }[];
}

/** The extra columns that measurements get. */
export function optionalColumnsOf(columns: CsvColumns): OptionalColumn[] {
  return OPTIONAL_COLUMNS.filter(({ name }) => columns.has(name)).map(({ key }) => key);
}

/**
 * Parses `src=from,dst=to,time=when,rtt=ms`.
 *
 * @throws {UsageError} If a key is unknown, missing or given twice.
 */
export function parseColumns(text: string): CsvColumns {
  const columns = new Map<string, string>();
  for (const part of text.split(",")) {
    const [key, ...name] = part.split("=");
    if (!KEYS.includes(key)) throw wrongColumns(text, `found the key ${shortened(key) || "''"}`);
    if (columns.has(key)) throw wrongColumns(text, `found ${key} twice`);
    columns.set(key, name.join("="));
    if (columns.get(key) === "") throw wrongColumns(text, `found no name for ${key}`);
  }
  const fault = faultOf(columns);
  if (fault) throw wrongColumns(text, fault);
  return columns;
}

function wrongColumns(text: string, fault: string): UsageError {
  return new UsageError(
    `Cannot use --columns ${shortened(text)}: ${fault}, expected KEY=NAME of src, dst, rtt, one of ` +
      `${TIME_KEYS.join(" ")} and perhaps ${OPTIONAL_KEYS.join(" ")}; separate them by commas`,
  );
}

function faultOf(columns: CsvColumns): string | undefined {
  const missing = ["src", "dst", "rtt"].find((key) => !columns.has(key));
  if (missing) return `found no ${missing}`;
  const numTimes = TIME_KEYS.filter((key) => columns.has(key)).length;
  return numTimes === 1 ? undefined : `found ${numTimes} times`;
}

/**
 * The columns of a header whose names are the keys, or their names in measurements Parquet.
 *
 * @throws {FormatError} If some are missing.
 */
export function columnsNamedIn(names: readonly string[], path: string): CsvColumns {
  const columns = new Map<string, string>();
  for (const key of KEYS) {
    const name = [key, OTHER_NAMES[key]].find((candidate) => names.includes(candidate));
    if (name !== undefined) columns.set(key, name);
  }
  const fault = faultOf(columns);
  if (!fault) return columns;
  throw wrongHeader(
    names,
    "expected src, dst, time and rtt; name them, such as --columns src=FROM,dst=TO,time=WHEN,rtt=MS",
    path,
  );
}

/**
 * Finds columns in a header.
 *
 * @param names The header.
 * @param path The file, for errors.
 * @throws {FormatError} If one is missing or not unique.
 */
export function locateColumns(columns: CsvColumns, names: readonly string[], path: string): CsvLayout {
  const fieldOf = (key: string): number => {
    const name = columns.get(key) ?? "";
    const field = names.indexOf(name);
    if (field >= 0 && names.lastIndexOf(name) === field) return field;
    const wanted = `expected one ${shortened(name)} for ${key}`;
    throw wrongHeader(names, `${wanted}; correct --columns or the header`, path);
  };
  const timeKey = TIME_KEYS.find((key) => columns.has(key)) ?? "time";
  const optional = OPTIONAL_COLUMNS.filter(({ name }) => columns.has(name));
  return {
    names,
    src: fieldOf("src"),
    dst: fieldOf("dst"),
    time: fieldOf(timeKey),
    timeUnit: TIME_UNITS[timeKey],
    rtt: fieldOf("rtt"),
    optional: optional.map(({ key, name }) => ({ key, name, field: fieldOf(name) })),
  };
}

function wrongHeader(names: readonly string[], rest: string, path: string): FormatError {
  return new FormatError(`found the columns ${shortened(names.join(", "), 200)}, ${rest}`, {
    path,
    place: "its header",
  });
}

/**
 * Measurements with named fields: tables as text (CSV and its relatives) and JSON objects such as `{"src": …,
 * "dst": …, "time": …, "rtt": ms or null}`, the form of this program's own JSON lines.
 *
 * The fields of a table are separated by commas, semicolons, tabs, bars or blanks. A table has a header,
 * possibly below comments, unless its columns are selected by number. In a wide table each RTT column is a
 * destination. A table in JSON may consist of columns, `{"src": [...], "dst": [...], ...}`, or of names and
 * rows, as pandas writes them.
 *
 * @module
 */
import { type Fault, shortened, UsageError } from "../../base/errors.ts";
import { type CsvRecord, CsvScanner, type CsvSeparator, readCsv } from "./csv.ts";
import type { TimeUnit } from "./time_text.ts";
import {
  addressIn,
  decimal,
  type Finding,
  type Format,
  intervalTimeUs,
  isHost,
  type JsonObject,
  NO_REPLY_SENTENCE,
  NoMeasurementsError,
  objectOf,
  pingRow,
  type ReadingOptions,
  readRtt,
  readTime,
  type Rejection,
  RTT_UNITS,
  type TakeFinding,
  type TextReader,
} from "./format.ts";

/** Units of numbers in time columns, by the keys of `--columns`. */
const TIME_UNITS: Record<string, TimeUnit> = {
  time: "seconds",
  time_ms: "milliseconds",
  time_us: "microseconds",
  time_ns: "nanoseconds",
};
/** Units of numbers in RTT columns, ms. */
const RTT_UNITS_MS: Record<string, number> = { rtt: 1, rtt_s: 1000, rtt_us: 1e-3, rtt_ns: 1e-6 };
/** Columns of integers, by their names in Parquet files of measurements. */
const INTEGER_KEYS: readonly string[] = ["msm_id", "prb_id", "size", "packet_error_count"];

const TIME_KEYS = Object.keys(TIME_UNITS);
const RTT_KEYS = Object.keys(RTT_UNITS_MS);
const KEYS = ["src", "dst", "date", ...TIME_KEYS, ...RTT_KEYS, ...INTEGER_KEYS];

/** Lower-case names of fields that do not need `--columns`. The first one that a record has is used. */
const USUAL_NAMES: Record<string, readonly string[]> = {
  src: ["src", "src_addr", "source", "from", "src_ip", "source_ip", "source_address"],
  dst: ["dst", "dst_addr", "destination", "to", "target", "dst_ip", "destination_ip", "destination_address"],
  time: [
    ...["time_utc", "time", "event_time", "timestamp", "@timestamp", "_time", "datetime", "date_time", "ts"],
    "date",
  ],
  date: ["date", "day"],
  hour: ["hour", "hr"],
  zone: ["tz", "timezone", "time_zone", "utc_offset"],
  rtt: ["rtt", "rtt_ms", "rtt_avg"],
  status: ["status", "statuscode", "success", "alive", "reachable"],
  sent: ["sent", "packets_sent", "packets_transmitted"],
  metric: ["_field", "metric"],
  hop: ["hop", "hop_number", "hop_num", "hop_no", "hop_index", "hop_ip", "hop_addr", "hop_address"],
  hopHost: ["hop_ip", "hop_addr", "hop_address", "ip", "addr", "address", "hop"],
};
/**
 * Statuses that mean no reply, whatever the RTT beside them: `TimedOut` and `TtlExpired` of PowerShell (as
 * numbers 11010 and 11013), `alive` of node-ping.
 */
const LOST_STATUS = /^(?:lost|loss|down|offline|dead|fail(?:ed|ure)?|false|110(?:0[2-5]|1[03]))$/;
/** Statuses that say nothing about the path. */
const NO_STATUS =
  /noresources|badoption|hardwareerror|general.?failure|dns|(?:not|un).{0,9}resol|resolution|unknown host|^11050$/i;
/** Metrics of a ping other than its mean RTT, in long tables such as those of InfluxDB and Telegraf. */
const OTHER_METRIC =
  /(?:^|[_. ])(?:loss|lost|packet|error|recv|received|std|mdev|jitter|percent|quantile|(?:counts?|code|ttl|hops?|size|sent|dev(?:iation)?|min(?:imum)?|max(?:imum)?)(?![a-z]))/;

/** The header is one of the first records; those above it are comments. */
const MAX_COMMENT_RECORDS = 20;
const SEPARATORS: readonly CsvSeparator[] = [";", "\t", ",", "|"];
/** A header with blanks between its names, some in quotes. Other such lines are sentences or rows. */
const BLANK_HEADER = /^(?: *(?:"[^"]*"|[A-Za-z_]\w*)(?= |$)){2,} *\r?$/;
/** How much of a text is searched for a header before other formats are tried. */
const MAX_HEADER_CHARACTERS = 1 << 13;
/** Numbers whose comma or point may separate decimals or thousands. */
const UNCLEAR_COMMA = /^\d{1,3},\d{3}$/;
const UNCLEAR_POINT = /^\d{1,3}\.\d{3}$/;
const DECIMAL_COMMA = /^\d+,\d+$/;
/** Records that are not rows: comments, separators, rules of database shells and Markdown, row counts. */
const NO_ROW = /^#|^sep=.$|^:?[-+]{3,}:?$|^\(\d+ rows?\)$/;
/** The beginning of most column names, but of few times. */
const HEADER_CELL = /^["\p{L}_]/u;
const DAY = /^\d{4}-\d\d-\d\d$/;
/** The zone may be in a separate column. */
const CLOCK_WITHOUT_ZONE = /:\d\d(?:[.,]\d+)?$(?<![+-]\d\d:\d\d)/;
/** UTC as written by pytz, PostgreSQL, JavaScript and others, and as an offset. */
const UTC = /^(?:(?:etc\/)?(?:utc|gmt)|(?:utc|gmt)?[+-]?00?(?::?00|\.0)?)$/i;
/** A time of day in a separate column, next to the date. */
const TIME_OF_DAY = /^\d{1,2}:\d\d/;

/** A unit at the end of a name in lower case: `latency_s`, `latency (µs)`, `duration seconds`. */
const UNIT_IN_NAME = new RegExp(`^(?!\\d)(?:.*[^a-zµμ\ufffd])?(${Object.keys(RTT_UNITS).join("|")})[)\\]]?$`);

/** Names of columns by key, such as `src`, `time_ms` or `rtt_s`. */
export type Columns = ReadonlyMap<string, string>;

/**
 * Parses `src=from,dst=to,time=when,rtt=ms`. Names may contain commas.
 *
 * @throws {UsageError} If a key is unknown or repeated.
 */
export function parseColumns(text: string): Columns {
  const columns = new Map<string, string>();
  const wrong = (fault: string) =>
    new UsageError(
      `Cannot use --columns ${shortened(text)}: ${fault}, expected KEY=NAME for src, dst, one of ` +
        `${TIME_KEYS.join(" ")} (and date, if times lack it), one of ` +
        `${RTT_KEYS.join(" ")} and optionally ${INTEGER_KEYS.join(" ")}; separate them with commas`,
    );
  for (const part of text.split(new RegExp(`,(?=(?:${KEYS.join("|")}|[^,=]*)=)`))) {
    const [key, ...name] = part.split("=");
    if (!KEYS.includes(key)) throw wrong(`unknown key ${shortened(key) || "''"}`);
    if (columns.has(key)) throw wrong(`found ${key} twice`);
    columns.set(key, name.join("=").replace(/^"(.*)"$/, "$1"));
    if (columns.get(key) === "") throw wrong(`missing name for ${key}`);
  }
  for (const keys of [TIME_KEYS, RTT_KEYS]) {
    const given = keys.filter((key) => columns.has(key));
    if (given.length > 1) throw wrong(`found ${given.join(" and ")}`);
  }
  return columns;
}

/** Index of each field of a measurement in a record, from 0. */
interface Layout {
  readonly names: readonly string[];
  /** -1 if the options contain the source. */
  readonly src: number;
  readonly dst: number;
  /** -1 if records have no time. */
  readonly time: number;
  /** The date for a time of day in `time`; -1 if `time` contains the date. */
  readonly date: number;
  /** The hour, if `time` is only a date, and the zone, if `time` has none; -1 if absent. */
  readonly hour: number;
  readonly zone: number;
  readonly timeUnit: TimeUnit;
  /** The RTT fields; in a wide table, each with its destination. */
  readonly rtts: readonly { readonly field: number; readonly dst?: string }[];
  readonly rttUnitMs: number;
  /** Whether there was a reply, how many packets were sent, and what the value is; -1 if unknown. */
  readonly status: number;
  readonly sent: number;
  readonly metric: number;
  /** A hop of a route, and the host that replied there; -1 if rows are pings. */
  readonly hop: number;
  readonly hopHost: number;
  /** `at` is the index in {@link INTEGER_KEYS}. */
  readonly integers: readonly { readonly at: number; readonly field: number }[];
}

/** Whether fields of this name are read without `--columns`. */
export function isUsualName(name: string): boolean {
  const usual = usualName(name);
  return KEYS.includes(usual) || Object.values(USUAL_NAMES).some((names) => names.includes(usual));
}

/** The layout of records, or what is wrong with their names. */
export function layoutOf(names: readonly string[], options: ReadingOptions): Layout | { fault: Fault } {
  const { columns = new Map<string, string>() } = options;
  const lower = names.map(usualName);
  let fault: Fault | undefined;
  const find = (key: string): number => {
    let asked = columns.get(key);
    if (asked === undefined) {
      const usual = USUAL_NAMES[key] ?? [key];
      const field = usual.map((name) => lower.indexOf(name)).find((field) => field >= 0) ?? -1;
      if (names.indexOf(names[field], field + 1) < 0) return field;
      asked = names[field];
    }
    const isNamed = names.includes(asked);
    const fields = names.flatMap((name, field) =>
      (isNamed ? name === asked : name.toLowerCase() === asked.toLowerCase()) ? [field] : []
    );
    if (fields.length === 1) return fields[0];
    // If no column has this name, a number selects a column, from 1.
    const number = fields.length === 0 && /^\d+$/.test(asked) ? Number(asked) : 0;
    if (number >= 1 && number <= names.length) return number - 1;
    fault ??= {
      expected: `exactly one called ${shortened(asked)} for ${key}`,
      advice: "correct --columns (a number chooses a column, from 1) or the header",
    };
    return -1;
  };
  const findOne = (keys: readonly string[]): { key: string; field: number } => {
    const given = keys.filter((key) => columns.has(key));
    const found = (given.length > 0 ? given : keys).map((key) => ({ key, field: find(key) }));
    return found.find(({ field }) => field >= 0) ?? { key: keys[0], field: -1 };
  };
  const [src, dst] = [find("src"), find("dst")];
  const time = findOne(TIME_KEYS);
  const date = find("date");
  const rtt = findOne(RTT_KEYS);
  const wide = rtt.field >= 0 || time.field < 0
    ? []
    : names.flatMap((name, field) => isHost(name, options) ? [{ field, dst: name }] : []);
  const rtts = rtt.field >= 0 ? [{ field: rtt.field }] : wide;
  const integers = INTEGER_KEYS.map((key, at) => ({ at, field: find(key) })).filter(({ field }) =>
    field >= 0
  );
  const missing = [
    ...(src < 0 && !options.src ? ["src"] : []),
    ...(dst < 0 && !options.dst && wide.length === 0 ? ["dst"] : []),
    ...(rtts.length === 0 ? ["rtt"] : []),
  ];
  if (!fault && missing.length > 0 && names.some((name) => decimal(name) >= 0)) {
    fault = {
      found: "which look like values",
      expected: "column names",
      advice: "if there is no header, refer to columns by number, such as --columns src=1,dst=2,time=3,rtt=4",
    };
  } else if (!fault && missing.length > 0) {
    const example = missing.map((key) => `${key}=${key.toUpperCase()}`).join(",");
    const constant = missing.find((key) => key !== "rtt");
    fault = {
      expected: missing.join(", "),
      advice: `name them, such as --columns ${example}` +
        (constant ? `, or set one for all rows with --${constant} ADDRESS` : ""),
    };
  }
  if (fault !== undefined) return { fault };
  const timeUnit = TIME_UNITS[time.key];
  const rttUnitMs = rtt.key === "rtt" ? unitMsIn(names[rtt.field] ?? "") : RTT_UNITS_MS[rtt.key];
  return {
    names,
    src,
    dst,
    time: time.field,
    date: date === time.field ? -1 : date,
    hour: find("hour"),
    zone: find("zone"),
    timeUnit,
    rtts,
    rttUnitMs,
    status: find("status"),
    sent: find("sent"),
    metric: find("metric"),
    hop: find("hop"),
    hopHost: find("hopHost"),
    integers,
  };
}

/** Lists the column names that a fault is about. */
export function columnsFault(names: readonly string[], fault: Fault = {}): Fault {
  return faultBeside(`found the columns ${shortened(names.join(", "), 200)}`, fault);
}

function faultBeside(text: string, fault: Fault): Fault & { found: string } {
  return { ...fault, found: fault.found === undefined ? text : `${text}, ${fault.found}` };
}

/** The unit in the name of an RTT column, also as in `latencyUs`; ms if there is none. */
function unitMsIn(name: string): number {
  return RTT_UNITS[UNIT_IN_NAME.exec(wordsOf(name))?.[1] ?? "ms"];
}

/** `latency us` for `latencyUs`. */
function wordsOf(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}

/** Texts for an unknown number. */
const ABSENT = /^(?:|-|nan|na|n\/a|<na>|null|none|nil)$/i;

/**
 * @param fields Texts, or values of JSON.
 * @param unclear Texts that may be either of two numbers: {@link UNCLEAR_COMMA}, {@link UNCLEAR_POINT}.
 * @param row Number of rows before it in a table, which determines the time if there is no time column.
 */
function takeFindings(
  fields: readonly unknown[],
  layout: Layout,
  options: ReadingOptions,
  take: (finding: Finding) => void,
  unclear?: RegExp,
  row = NaN,
): void {
  const { names, timeUnit, rttUnitMs } = layout;
  const timeUs = layout.time < 0
    ? intervalTimeUs(options, row)
    : readTime(timeOf(fields, layout), timeUnit, names[layout.time]);
  if (typeof timeUs !== "number") return take({ ...timeUs, advice: adviceOnUnit(timeUs.unit) });
  const status = layout.status < 0 ? "" : textOf(fields[layout.status]) ?? "";
  const skipped = skippedKind(fields, layout, status);
  if (skipped !== undefined) return take({ skipped });
  const isLost = status !== "" && isLostStatus(status.toLowerCase());
  const integers = [NaN, NaN, NaN, NaN];
  for (const { at, field } of layout.integers) {
    const value = fields[field];
    if (value === null || value === undefined) continue;
    const number = typeof value === "number" ? value : decimal(String(value));
    if (!Number.isSafeInteger(number) || number < 0) {
      if (ABSENT.test(String(value))) continue;
      return take({ reason: "invalidInteger", found: `${INTEGER_KEYS[at]} ${shortened(String(value))}` });
    }
    integers[at] = number;
  }
  const [msmId, prbId, sizeBytes, numLost] = integers;
  const src = textOf(fields[layout.src]);
  for (const { field, dst = textOf(fields[layout.dst]) } of layout.rtts) {
    // In tables of traceroute and mtr, the RTT of a router is not that of the destination.
    if (layout.hop >= 0 && !isSameHost(textOf(fields[layout.hopHost]), dst ?? options.dst?.[0], options)) {
      take({ skipped: "hop of a route" });
      continue;
    }
    const value = isLost ? null : fields[field];
    const isUnclear = typeof value === "string" && unclear?.test(value);
    const rttMs = isUnclear
      ? unclearRtt(`${names[field]} ${value}`, unclear)
      : readRtt(value, rttUnitMs, options, names[field]);
    if (typeof rttMs !== "number") take(rttMs);
    else take(pingRow({ src, dst, timeUs, rttsMs: [rttMs], msmId, prbId, sizeBytes, numLost }, options));
  }
}

function isSameHost(a = "", b = "", { addresses }: ReadingOptions): boolean {
  return addressIn(a, addresses) === addressIn(b, addresses);
}

/** How to state the unit that times appear to have. */
export function adviceOnUnit(unit: TimeUnit | undefined): string | undefined {
  const key = TIME_KEYS.find((each) => TIME_UNITS[each] === unit);
  return key && `name the column with --columns ${key}=NAME`;
}

function unclearRtt(shown: string, unclear: RegExp | undefined): Rejection {
  const [mark, other] = unclear === UNCLEAR_COMMA ? ["comma", "point"] : ["point", "comma"];
  const found = `${shown}: its ${mark} may separate decimals or thousands`;
  return { reason: "invalidRtt", found, expected: `a ${other}` };
}

function isLostStatus(status: string): boolean {
  return NO_REPLY_SENTENCE.test(status) || LOST_STATUS.test(status);
}

/** The kind of a row that says nothing about a path. @param status Empty if there is none. */
function skippedKind(
  fields: readonly unknown[],
  { sent, metric }: Layout,
  status: string,
): string | undefined {
  const name = metric < 0 ? "" : textOf(fields[metric]) ?? "";
  if (name !== "" && OTHER_METRIC.test(wordsOf(name))) return `metric ${shortened(name)}`;
  if (sent >= 0 && textOf(fields[sent]) === "0") return "nothing sent";
  return status !== "" && NO_STATUS.test(status) ? `status ${shortened(status)}` : undefined;
}

function timeOf(fields: readonly unknown[], { time, date, hour, zone }: Layout): unknown {
  const value = fields[time];
  if (typeof value !== "string" || date < 0 && hour < 0 && zone < 0) return value;
  const given = (field: number) => field < 0 ? "" : textOf(fields[field]) ?? "";
  let text = value.trim();
  if (date >= 0 && TIME_OF_DAY.test(text)) text = `${given(date)} ${text}`;
  if (DAY.test(text) && given(hour)) text += ` ${given(hour).padStart(2, "0")}:00`;
  return given(zone) && CLOCK_WITHOUT_ZONE.test(text)
    ? `${text} ${UTC.test(given(zone)) ? "UTC" : given(zone)}`
    : text;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value.trim();
  if (typeof value !== "object") return value === undefined ? undefined : String(value);
  // `{"source": {"ip": …}}` of Elastic's Common Schema.
  const { ip } = objectOf(value);
  return value === null ? undefined : typeof ip === "string" ? ip : JSON.stringify(value);
}

/** The layout of the last JSON object, since the lines of a file have the same fields. */
let last: { keys: string; options: ReadingOptions; layout: ReturnType<typeof layoutOf> } | undefined;

function layoutOfObject(object: JsonObject, options: ReadingOptions): ReturnType<typeof layoutOf> {
  const { columns, data } = object;
  const names = Array.isArray(columns) && Array.isArray(data) ? columns.map(String) : Object.keys(object);
  const keys = names.join("\n");
  if (last?.keys !== keys || last.options !== options) {
    last = { keys, options, layout: layoutOf(names, options) };
  }
  return last.layout;
}

/** The rows in an object: itself, the lists beside the column names, or columns with one entry per row. */
function rowsOf(object: JsonObject, { names, time }: Layout): unknown[][] {
  const values = Object.values(object);
  if (names.length > 0 && Array.isArray(object.columns) && Array.isArray(object.data)) {
    return object.data.map((row) => Array.isArray(row) ? row : [row]);
  }
  if (time < 0 || !values.every((value) => typeof value === "object" && value !== null)) return [values];
  const columns = values as JsonObject[];
  return Object.keys(columns[time]).map((row) => columns.map((column) => column[row]));
}

export const table: Format = {
  name: "csv",
  title: "CSV, and JSON lines with src, dst, time, rtt",
  json: {
    isResult(object, options) {
      const layout = layoutOfObject(object, options);
      if (!("fault" in layout)) return true;
      // An object with an RTT and an endpoint is meant as a measurement; the error names what is missing.
      const names = Object.keys(object).map((name) => name.toLowerCase());
      const has = (key: string) => USUAL_NAMES[key].some((name) => names.includes(name));
      return has("rtt") && (has("dst") || has("src")) || (has("src") && has("dst") && has("time"));
    },
    findings(object, options) {
      const layout = layoutOfObject(object, options);
      if ("fault" in layout) {
        const names = shortened(Object.keys(object).join(", "), 120);
        return [{ reason: "nullValue", ...faultBeside(`found ${names}`, layout.fault) }];
      }
      const findings: Finding[] = [];
      const { length } = layout.names;
      for (const row of rowsOf(object, layout)) {
        const isWhole = row.length === length && !row.includes(undefined);
        if (isWhole) takeFindings(row, layout, options, (finding) => findings.push(finding), UNCLEAR_COMMA);
        else {findings.push({
            reason: "invalidJson",
            found: `a row without a value for each of ${length} columns`,
          });}
      }
      return findings;
    },
  },
  text: {
    isHead: (head) => /^(?:sep=|#TYPE )|[,;\t|]/.test(head),
    isSurely: (head, options) => options.columns !== undefined || hasHeader(head, options),
    open: (options, take, path) => new TableReader(options, take, path),
  },
};

/** `rtt_ms` for `RTT (ms)`. */
function usualName(name: string): string {
  return name.toLowerCase().replace(
    /\s*[([]([nuµμ\ufffdm]?s|utc)[)\]]$/,
    (_, unit) => `_${unit.replace(/[µμ\ufffd]/, "u")}`,
  );
}

function hasHeader(head: string, options: ReadingOptions): boolean {
  const records = readCsv(head.slice(0, MAX_HEADER_CHARACTERS), separatorOf(head, options));
  return records.slice(0, MAX_COMMENT_RECORDS).some((record) =>
    record.fault === undefined && !isNoRow(record) && !("fault" in layoutOf(record.fields, options))
  );
}

class TableReader implements TextReader {
  #scanner: CsvScanner | undefined;
  #separator: CsvSeparator = ",";
  #head = "";
  #unclear: RegExp | undefined;
  /** Records read before the header was found. */
  #first: CsvRecord[] = [];
  #layout: Layout | undefined;
  #hasHeader = true;
  #numRows = 0;
  #line = 0;
  readonly #takeHere = (finding: Finding) => this.take(finding, this.#line);

  constructor(readonly options: ReadingOptions, readonly take: TakeFinding, readonly path: string) {}

  push(text: string | undefined): void {
    if (!this.#scanner) {
      // The format was recognised by the first text.
      this.#head = (text ?? "").slice(0, MAX_HEADER_CHARACTERS);
      this.#separator = separatorOf(text ?? "", this.options);
      this.#scanner = new CsvScanner(this.#separator);
    }
    this.#scan(text);
    if (text !== undefined) return;
    if (!this.#layout) this.#begin(true);
    if (this.#numRows === 0) {
      throw new NoMeasurementsError(
        { found: "it has no rows below its header", expected: "at least one", advice: "check the file" },
        this,
      );
    }
  }

  #scan(text: string | undefined): void {
    this.#scanner?.push(text, (record) => {
      if (isNoRow(record)) return;
      if (this.#separator === " " && record.fault === undefined) this.#dropBlanks(record);
      if (this.#layout) this.#takeRow(record);
      else {
        this.#first.push(record);
        this.#begin(this.#first.length > MAX_COMMENT_RECORDS);
      }
    });
  }

  /** Treats adjacent blanks as one separator and drops row names, which have no column in the header. */
  #dropBlanks(record: { fields: string[] }): void {
    record.fields = record.fields.filter((field) => field !== "");
    if (record.fields.length === (this.#layout?.names.length ?? NaN) + 1) record.fields.shift();
  }

  /** Checks whether the newest record is the header. @param isLast Whether it must be. */
  #begin(isLast: boolean): void {
    const record = this.#first.at(-1);
    let fault: Fault | undefined;
    if (record && record.fault === undefined) {
      const layout = layoutOf(record.fields, this.options);
      if (!("fault" in layout)) {
        this.#layout = layout;
        this.#unclear = this.#unclearIn(layout);
        // If columns are selected by number, a first record with readable fields or a number is a row.
        this.#hasHeader = !isByNumber(this.options) ||
          (HEADER_CELL.test(headerCell(record.fields, layout)) &&
            !isRow(record.fields, layout, this.options));
        if (!this.#hasHeader) this.#takeRow(record);
        this.#first = [];
        return;
      }
      fault = layout.fault;
    }
    if (!isLast) return;
    throw this.#headerError(fault);
  }

  /** Matches numbers that are ambiguous, depending on whether the first rows have decimal commas. */
  #unclearIn({ rtts }: Layout): RegExp | undefined {
    const isDecimals = this.#separator === ";";
    const hasDecimalComma = readCsv(this.#head, this.#separator).some(({ fields }) =>
      rtts.some(({ field }) => {
        const text = fields?.[field] ?? "";
        return DECIMAL_COMMA.test(text) && (isDecimals || !UNCLEAR_COMMA.test(text));
      })
    );
    return hasDecimalComma ? UNCLEAR_POINT : isDecimals ? undefined : UNCLEAR_COMMA;
  }

  #headerError(lastFault: Fault | undefined): NoMeasurementsError {
    const error = (fault: Fault) => new NoMeasurementsError(fault, { path: this.path, place: "its header" });
    const [header] = this.#first;
    const advice = "check the file";
    if (!header) return error({ found: "it is empty", expected: "a header with column names", advice });
    if (header.fault !== undefined) {
      return error({ found: `found ${header.fault}`, expected: "column names", advice });
    }
    const layout = layoutOf(header.fields, this.options);
    return error(columnsFault(header.fields, "fault" in layout ? layout.fault : lastFault));
  }

  #takeRow(record: CsvRecord): void {
    this.#numRows++;
    const { names, rtts } = this.#layout as Layout;
    const { field } = rtts[0];
    const invalid = (found: string): Rejection => ({ reason: "invalidCsv", found });
    if (record.fault !== undefined) return this.take(invalid(record.fault), record.line);
    const { fields } = record;
    // The header repeats if files were concatenated.
    if (this.#hasHeader && fields[field] === names[field] && names.every((name, i) => fields[i] === name)) {
      this.#numRows--;
      return;
    }
    if (this.#isHeader(fields)) return;
    const isWhole = fields.length === names.length || hasEmptyEnd(fields, names.length) ||
      hasEmptyEnd(names, fields.length);
    if (!isWhole) {
      return this.take(invalid(`${fields.length} fields, ${names.length} in the header`), record.line);
    }
    this.#line = record.line;
    takeFindings(
      fields,
      this.#layout as Layout,
      this.options,
      this.#takeHere,
      this.#unclear,
      this.#numRows - 1,
    );
  }

  /** Takes the layout of a further header, which precedes other columns in concatenated files. */
  #isHeader(fields: readonly string[]): boolean {
    const cell = headerCell(fields, this.#layout as Layout);
    const isDigits = cell >= "0" && cell < ":"; // as most
    if (isDigits || !this.#hasHeader || isByNumber(this.options) || !HEADER_CELL.test(cell)) return false;
    const layout = layoutOf(fields, this.options);
    if ("fault" in layout) return false;
    this.#layout = layout;
    this.#unclear = this.#separator === ";" ? undefined : UNCLEAR_COMMA;
    this.#numRows--;
    return true;
  }
}

/** The field that best shows whether a record is a header: the time, otherwise the RTT. */
function headerCell(fields: readonly string[], { time, rtts }: Layout): string {
  return (time < 0 ? "" : fields[time]) || (fields[rtts[0].field] ?? "");
}

function isByNumber({ columns }: ReadingOptions): boolean {
  return columns !== undefined && [...columns.values()].every((name) => /^\d+$/.test(name));
}

/** Whether a record, or its header, has more fields than the other and the additional ones are empty. */
function hasEmptyEnd(fields: readonly string[], numOthers: number): boolean {
  return fields.length > numOthers && fields.slice(numOthers).every((field) => field === "");
}

/** Lines of Markdown tables begin with a bar; most rows of other tables begin with a digit. */
function isNoRow({ fields }: CsvRecord): boolean {
  const first = fields?.[0] || fields?.[1];
  return first !== undefined && !(first >= "0" && first < ":") && NO_ROW.test(first);
}

function isRow(fields: readonly string[], layout: Layout, options: ReadingOptions): boolean {
  let isRow = true;
  takeFindings(fields, layout, options, (finding) => isRow &&= "srcAddr" in finding);
  return isRow;
}

/** The separator of a table: the declared one, or the most frequent one in the first line with any. */
function separatorOf(head: string, options: ReadingOptions): CsvSeparator {
  const [, said] = /^\ufeff?"?sep=(.)"?\s*$/m.exec(head.slice(0, 200)) ?? [];
  const known = SEPARATORS.find((separator) => separator === said);
  if (known) return known;
  const lines = head.split("\n").filter((each) => !/^#|^\s*$/.test(each));
  const line = lines.find((each) => /[,;\t|]/.test(each)) ?? "";
  const bare = line.replace(/"(?:[^"]|"")*"/g, "");
  const counts = SEPARATORS.map((separator) => bare.split(separator).length);
  const most = Math.max(...counts);
  if (most > 1) return SEPARATORS[counts.indexOf(most)];
  return isByNumber(options) || BLANK_HEADER.test(lines[0] ?? "") ? " " : ",";
}

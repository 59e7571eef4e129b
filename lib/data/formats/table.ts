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
import { type Fault, FormatError, shortened, UsageError } from "../../base/errors.ts";
import { FAILED_RTT_MS } from "./batch.ts";
import { type CsvRecord, CsvScanner, type CsvSeparator, readCsv } from "./csv.ts";
import { lossIn, type LossScale, type Signal, signalOf } from "./losses.ts";
import { MomentCheck } from "./moments.ts";
import { constantWords, type Reading } from "./reading.ts";
import { isZone, type TimeUnit } from "./time_text.ts";
import {
  addressIn,
  decimal,
  type Finding,
  type Format,
  intervalTimeUs,
  isHost,
  type JsonObject,
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
export const RTT_UNITS_MS: Readonly<Record<string, number>> = {
  rtt: 1,
  rtt_s: 1000,
  rtt_us: 1e-3,
  rtt_ns: 1e-6,
};
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
  metric: ["_field", "metric"],
  hop: ["hop", "hop_number", "hop_num", "hop_no", "hop_index", "hop_ip", "hop_addr", "hop_address"],
  hopHost: ["hop_ip", "hop_addr", "hop_address", "ip", "addr", "address", "hop"],
};
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
/** A number whose comma may separate decimals or thousands. */
const UNCLEAR_COMMA = /^\d{1,3}(?:,\d{3})+$/;
/** Records that are not rows: comments, separators, rules of database shells and Markdown, row counts. */
const NO_ROW = /^#|^sep=.$|^:?[-+]{3,}:?$|^\(\d+ rows?\)$/;
/** The beginning of most column names, but of few times. */
const HEADER_CELL = /^["\p{L}_]/u;
const DAY = /^\d{4}-\d\d-\d\d$/;
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
  /** Fields that may tell a loss. */
  readonly signals: readonly Signal[];
  /** What the value is, in long tables; -1 if absent. */
  readonly metric: number;
  /** A hop of a route, and the host that replied there; -1 if rows are pings. */
  readonly hop: number;
  readonly hopHost: number;
  /** `at` is the index in {@link INTEGER_KEYS}. */
  readonly integers: readonly { readonly at: number; readonly field: number }[];
  /** Fields that may tell rows of one moment apart. */
  readonly others: readonly number[];
  readonly reading: Reading;
}

/** What is known of the records before: one per text, or per options for JSON, whose files have no end here. */
class TableState {
  readonly moments: MomentCheck = new MomentCheck();
  readonly scale: LossScale = { hasPercent: false, hasFraction: false };
  /** Layouts of JSON objects by their names. */
  readonly layouts: Map<string, ReturnType<typeof layoutOf>> = new Map();
  /** Number of rows so far. Without a time column, it determines the time of the next one. */
  numRows = 0;
  /** Whether a record had an RTT, so that one without it is a loss. */
  hadRtt = false;
  /** The decimal mark of the RTTs, once a number has shown it. */
  mark: string | undefined;
  /** Whether semicolons separate fields, so that a comma is a decimal one. */
  hasSemicolons = false;
  /** The series of a long table that tells a destination's losses, and the last moments that were lost. */
  readonly lossMetrics: Map<string | undefined, string> = new Map();
  readonly lost: Set<string> = new Set();
  /** The newest run of traceroute or mtr between two ends. */
  readonly routes: Map<string, Route> = new Map();
}

/** How many runs of traceroute or mtr, each between other ends, may be incomplete. */
const MAX_ROUTES = 1 << 10;
/** How many lost moments of a long table are kept, so that two of its series do not tell one loss twice. */
const MAX_LOST_MOMENTS = 1 << 14;

/** Names that are longer have no meaning here. It bounds the work for each. */
const MAX_NAME_CHARACTERS = 1 << 8;

/** Whether fields of this name are read without `--columns`. */
export function isUsualName(name: string): boolean {
  const usual = usualName(name);
  return KEYS.includes(usual) || Object.values(USUAL_NAMES).some((names) => names.includes(usual)) ||
    signalOf(usual, 0) !== undefined;
}

/**
 * The layout of records, or what is wrong with their names.
 *
 * @param how `hasHeader`: whether the names are those of a header. `mayLackRtt`: whether records without an
 *   RTT are losses.
 */
export function layoutOf(
  names: readonly string[],
  options: ReadingOptions,
  { hasHeader = true, mayLackRtt = false } = {},
): Layout | { fault: Fault } {
  const { columns = new Map<string, string>() } = options;
  const lower = names.map(usualName);
  const areNumbers = isByNumber(options);
  let fault: Fault | undefined;
  const find = (key: string): number => {
    let asked = columns.get(key);
    if (asked === undefined && !hasHeader) return -1;
    if (asked === undefined) {
      const usual = USUAL_NAMES[key] ?? [key];
      const field = usual.map((name) => lower.indexOf(name)).find((field) => field >= 0) ?? -1;
      if (names.indexOf(names[field], field + 1) < 0) return field;
      asked = names[field];
    }
    const isNamed = names.includes(asked);
    const fields = areNumbers
      ? []
      : names.flatMap((name, field) =>
        (isNamed ? name === asked : name.toLowerCase() === asked.toLowerCase()) ? [field] : []
      );
    if (fields.length === 1) return fields[0];
    // A number selects a column, from 1, unless another key has a name and a column is called so.
    const number = fields.length === 0 && /^\d+$/.test(asked) ? Number(asked) : 0;
    if (number >= 1 && number <= names.length) return number - 1;
    if (mayLackRtt && RTT_KEYS.includes(key) && fields.length === 0) return -1;
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
  const wide = rtt.field >= 0 || time.field < 0 || RTT_KEYS.some((key) => columns.has(key))
    ? []
    : names.flatMap((name, field) => isHost(name, options) ? [{ field, dst: name }] : []);
  const rtts = rtt.field >= 0 ? [{ field: rtt.field }] : wide;
  const integers = INTEGER_KEYS.map((key, at) => ({ at, field: find(key) })).filter(({ field }) =>
    field >= 0
  );
  const missing = [
    ...(src < 0 && !options.src ? ["src"] : []),
    ...(dst < 0 && !options.dst && wide.length === 0 ? ["dst"] : []),
    ...(rtts.length === 0 && !mayLackRtt ? ["rtt"] : []),
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
  const [hour, zone, metric, hop, hopHost] = ["hour", "zone", "metric", "hop", "hopHost"].map(find);
  const used = new Set([src, dst, time.field, date, rtt.field, hour, zone, metric, hop]);
  for (const { field } of [...rtts, ...integers]) used.add(field);
  const signals = hasHeader
    ? names.flatMap((name, field) => used.has(field) ? [] : signalOf(wordsOf(name), field) ?? [])
    : [];
  const isOther = (field: number) => !used.has(field) || field === metric;
  const states = signals.filter(({ kind }) => kind === "state" || kind === "word").map(({ field }) => field);
  for (const { field } of signals) used.add(field);
  const others = [...names.keys()].filter(isOther).concat(states);
  const nameOf = (field: number) => hasHeader && names[field] || `column ${field + 1}`;
  const zoneText = zone >= 0
    ? names[zone]
    : options.zone
    ? `${options.zone} (--zone)`
    : "UTC unless stated; --zone";
  const unit = ["ns", "us", "ms", "s"].find((name) => RTT_UNITS[name] === rttUnitMs);
  const times = [...new Set([date, hour, time.field])].filter((field) => field >= 0).map(nameOf).join(
    " and ",
  );
  const endOf = (field: number, end: "src" | "dst") =>
    field < 0 ? constantWords(end, options[end]) ?? "none" : nameOf(field);
  const reading: Reading = {
    format: table.name,
    time: time.field >= 0
      ? `${times} (numbers: Unix ${timeUnit}; other times: ${zoneText})`
      : options.startS === undefined
      ? "none"
      : "--start and --interval",
    source: endOf(src, "src"),
    destination: wide.length > 0 ? `the names of ${wide.length} columns` : endOf(dst, "dst"),
    rtt: rtts.map(({ field }) => `${nameOf(field)} (${unit}, unless stated)`).join(", ") || "absent",
    noReply: [
      "no number or a word such as timeout",
      ...(options.noReply ?? []).map((word) => `${word} (--no-reply)`),
      ...signals.filter(({ says }) => says !== undefined).map(({ field, says }) => `${names[field]} ${says}`),
    ].join(", or "),
    notUsed: names.flatMap((name, field) =>
      used.has(field) || names.some((path, other) => used.has(other) && path.startsWith(`${name}.`))
        ? []
        : [nameOf(field)]
    ),
  };
  return {
    names: hasHeader ? names : names.map((_, field) => nameOf(field)),
    src,
    dst,
    time: time.field,
    date: date === time.field ? -1 : date,
    hour,
    zone,
    timeUnit,
    rtts,
    rttUnitMs,
    signals,
    metric,
    hop,
    hopHost,
    integers,
    others,
    reading,
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
  return name.slice(0, MAX_NAME_CHARACTERS).replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}

/** Texts for an unknown number. */
const ABSENT = /^(?:|-|nan|na|n\/a|<na>|null|none|nil)$/i;

/** @param fields Texts, or values of JSON. */
function takeFindings(
  fields: readonly unknown[],
  layout: Layout,
  options: ReadingOptions,
  state: TableState,
  take: (finding: Finding) => void,
): void {
  const { names, timeUnit, metric } = layout;
  const row = state.numRows++;
  const timeUs = layout.time < 0
    ? intervalTimeUs(options, row)
    : readTime(timeOf(fields, layout), timeUnit, names[layout.time], zoneOf(fields, layout, options));
  if (typeof timeUs !== "number") {
    return take({ ...timeUs, advice: adviceOnUnit(timeUs.unit) ?? timeUs.advice });
  }
  const src = textOf(fields[layout.src]);
  let isLost = false;
  if (layout.signals.length > 0) {
    const hasRtt = layout.rtts.some(({ field }) => isNumber(fields[field]));
    const told = lossIn(layout.signals, fields, names, hasRtt, state.scale);
    if (typeof told === "object") return take(told);
    isLost = told;
  }
  if (metric >= 0) {
    // VictoriaMetrics writes labels.
    const name = textOf(objectOf(fields[metric]).__name__ ?? fields[metric]) ?? "";
    if (name !== "" && OTHER_METRIC.test(wordsOf(name))) {
      const lost = lossOfMetric(name, fields, layout, options, state, { src, timeUs });
      return take(lost ?? { skipped: `metric ${shortened(name)}` });
    }
  }
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
  const rtts = layout.rtts.length > 0 ? layout.rtts : NO_RTTS;
  for (const { field, dst = textOf(fields[layout.dst]) } of rtts) {
    // In tables of traceroute and mtr, the RTT of a router is not that of the destination.
    if (layout.hop >= 0) {
      const isDestination = isSameHost(textOf(fields[layout.hopHost]), dst ?? options.dst?.[0], options);
      addHop(state, { src, dst, timeUs, isDestination }, options, take);
      if (!isDestination) {
        take({ skipped: "hop of a route" });
        continue;
      }
    }
    const rttsMs = isLost || field < 0 ? LOST : rttsOf(fields[field], layout, options, state, names[field]);
    if ("reason" in rttsMs) {
      take(rttsMs);
      continue;
    }
    // Several replies of one record show its losses.
    const lost = rttsMs.length > 1 && Number.isNaN(numLost) ? undefined : numLost;
    const found = pingRow({ src, dst, timeUs, rttsMs, msmId, prbId, sizeBytes, numLost: lost }, options);
    if ("reason" in found) {
      take(found);
      continue;
    }
    const isReply = found.rttsMs[0] !== FAILED_RTT_MS;
    if (metric >= 0 && !isReply && isRepeatedLoss(state, `${src} ${dst} ${timeUs}`)) {
      take({ skipped: "another series of a lost moment" });
      continue;
    }
    if (options.rtt !== "each") {
      const fault = state.moments.add(found, fields, names, layout.others);
      if (fault) {
        take(fault);
        continue;
      }
    }
    take(found);
  }
}

/** A run of traceroute or mtr. */
interface Route {
  readonly src: string | undefined;
  readonly dst: string | undefined;
  readonly timeUs: number;
  /** Whether its destination has a row. */
  isDestination: boolean;
}

/** Adds a hop. The first one of another run between the same ends shows that the run before is complete. */
function addHop(
  { routes }: TableState,
  hop: Route,
  options: ReadingOptions,
  take: (finding: Finding) => void,
) {
  const key = `${hop.src} ${hop.dst}`;
  const route = routes.get(key);
  if (route && Object.is(route.timeUs, hop.timeUs)) {
    route.isDestination ||= hop.isDestination;
    return;
  }
  if (route) endRoute(route, options, take);
  else if (routes.size === MAX_ROUTES) {
    const [[oldest, ended]] = routes;
    endRoute(ended, options, take);
    routes.delete(oldest);
  }
  routes.set(key, hop);
}

/** A run without a row of its destination is a loss. A destination by name may have replied from another address. */
function endRoute(
  { isDestination, ...ends }: Route,
  options: ReadingOptions,
  take: (finding: Finding) => void,
): void {
  if (isDestination) return;
  const isAddress = isHost(ends.dst ?? options.dst?.[0] ?? "", { ...options, addresses: undefined });
  const found = `a route without a hop at ${shortened(ends.dst ?? "its end")}`;
  take(isAddress ? pingRow({ ...ends, rttsMs: LOST }, options) : { reason: "incompleteResult", found });
}

const LOST = [FAILED_RTT_MS];
/** A record without an RTT field. */
const NO_RTTS: readonly { readonly field: number; readonly dst?: string }[] = [{ field: -1 }];

function isNumber(value: unknown): boolean {
  return typeof value === "number" ? value > 0 : typeof value === "string" && decimal(value) > 0;
}

function isRepeatedLoss({ lost }: TableState, moment: string): boolean {
  if (lost.has(moment)) return true;
  if (lost.size === MAX_LOST_MOMENTS) {
    for (const oldest of lost) {
      lost.delete(oldest);
      break;
    }
  }
  lost.add(moment);
  return false;
}

/** The loss that a series beside that of RTTs tells. The first such series of a destination tells all of them. */
function lossOfMetric(
  name: string,
  fields: readonly unknown[],
  layout: Layout,
  options: ReadingOptions,
  state: TableState,
  { src, timeUs }: { src: string | undefined; timeUs: number },
): Finding | undefined {
  const signal = signalOf(wordsOf(name), layout.rtts[0].field);
  if (!signal || !["loss", "percent", "received"].includes(signal.kind)) return undefined;
  const told = lossIn([signal], fields, { [signal.field]: name }, false, state.scale);
  if (typeof told === "object") return told;
  const dst = textOf(fields[layout.dst]);
  const { lossMetrics } = state;
  if (!lossMetrics.has(dst) && lossMetrics.size < MAX_LOST_MOMENTS) lossMetrics.set(dst, name);
  if (!told || name !== (lossMetrics.get(dst) ?? name) || isRepeatedLoss(state, `${src} ${dst} ${timeUs}`)) {
    return undefined;
  }
  return pingRow({ src, dst, timeUs, rttsMs: LOST, numLost: NaN }, options);
}

function isDigit(character = ""): boolean {
  return character >= "0" && character <= "9";
}

/** @param value A number or text, or a list of them. */
function rttsOf(
  value: unknown,
  { rttUnitMs }: Layout,
  options: ReadingOptions,
  state: TableState,
  name: string,
): number[] | Rejection {
  const [path] = typeof value === "object" ? nestedRtts({ [name]: value }, undefined) : [];
  if (path !== undefined) {
    const advice = `name the path, such as --columns rtt=${path}`;
    return { reason: "invalidRtt", found: `${name} contains objects`, expected: "numbers", advice };
  }
  if (Array.isArray(value)) {
    if (value.length === 0) return { reason: "nullValue", found: `${name} is an empty list` };
    const rttsMs: number[] = [];
    for (const each of value) {
      const rttMs = readRtt(each, rttUnitMs, options, name);
      if (typeof rttMs !== "number") return rttMs;
      rttsMs.push(rttMs);
    }
    return rttsMs;
  }
  let number = value;
  if (typeof value === "string" && (state.mark !== "." || value.includes(","))) {
    const isUnclear = UNCLEAR_COMMA.test(value);
    const at = isUnclear ? -1 : Math.max(value.lastIndexOf("."), value.lastIndexOf(","));
    const mark = isDigit(value[at - 1]) && isDigit(value[at + 1]) ? value[at] : undefined;
    const isDecimal = state.mark === "," || (state.mark === undefined && state.hasSemicolons);
    if (isUnclear && rttUnitMs < 1 && !isDecimal) number = value.replaceAll(",", "");
    else if (isUnclear && !isDecimal) {
      const found = `${name} ${value}: its comma may separate decimals or thousands`;
      return { reason: "invalidRtt", found, expected: "a point" };
    } else if (mark && mark !== state.mark) {
      if (state.mark !== undefined) {
        const found = `${name} ${shortened(value)}: numbers before it have a decimal ${
          state.mark === "," ? "comma" : "point"
        }`;
        return { reason: "invalidRtt", found, expected: "one decimal mark" };
      }
      state.mark = mark;
    }
  }
  const rttMs = readRtt(number, rttUnitMs, options, name);
  return typeof rttMs === "number" ? [rttMs] : rttMs;
}

function isSameHost(a = "", b = "", { addresses }: ReadingOptions): boolean {
  return addressIn(a, addresses) === addressIn(b, addresses);
}

/** How to state the unit that times appear to have. */
export function adviceOnUnit(unit: TimeUnit | undefined): string | undefined {
  const key = TIME_KEYS.find((each) => TIME_UNITS[each] === unit);
  return key && `name the column with --columns ${key}=NAME`;
}

/** The options for a row's time: a zone in the row holds for it. */
function zoneOf(fields: readonly unknown[], { zone }: Layout, options: ReadingOptions): ReadingOptions {
  const given = zone < 0 ? "" : textOf(fields[zone]) ?? "";
  if (given === "") return options;
  return { ...options, zone: UTC.test(given) ? "UTC" : given };
}

function timeOf(fields: readonly unknown[], { time, date, hour, zone }: Layout): unknown {
  const value = fields[time];
  if (typeof value !== "string" || date < 0 && hour < 0 && zone < 0) return value;
  const given = (field: number) => field < 0 ? "" : textOf(fields[field]) ?? "";
  let text = value.trim();
  if (date >= 0 && TIME_OF_DAY.test(text)) text = `${given(date)} ${text}`;
  if (DAY.test(text) && given(hour)) text += ` ${given(hour).padStart(2, "0")}:00`;
  // An unknown zone is told with the time.
  const isKnown = given(zone) === "" || UTC.test(given(zone)) || isZone(given(zone));
  return isKnown ? text : `${text} ${given(zone)}`;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value.trim();
  if (typeof value !== "object") return value === undefined ? undefined : String(value);
  // `{"source": {"ip": …}}` of Elastic's Common Schema.
  const { ip } = objectOf(value);
  return value === null ? undefined : typeof ip === "string" ? ip : JSON.stringify(value);
}

/** The state of JSON by the options with which it is read. */
const states: WeakMap<ReadingOptions, TableState> = new WeakMap();
const MAX_LAYOUTS = 1 << 8;
/** Names of fields below the first level that may be RTTs. */
const RTT_NAME = /rtt|latency|response|(?:^|\.)(?:avg|mean|median|ping)$|_ms$/i;
const MAX_SEARCHED = 1 << 10;

/** A JSON object as fields: its own, and those that `--columns` selects inside it by a path. */
interface JsonRecord {
  names: readonly string[];
  values: readonly unknown[];
  /** The rows, if `names` are those of columns. */
  rows?: readonly unknown[] | undefined;
  layout: ReturnType<typeof layoutOf>;
  state: TableState;
}

/** The last record, since each is recognised before it is read. */
let last: { object: JsonObject; options: ReadingOptions; record: JsonRecord } | undefined;

function recordOf(object: JsonObject, options: ReadingOptions): JsonRecord {
  if (last?.object !== object || last.options !== options) {
    last = { object, options, record: newRecordOf(object, options) };
  }
  return last.record;
}

function newRecordOf(object: JsonObject, options: ReadingOptions): JsonRecord {
  let state = states.get(options);
  if (!state) states.set(options, state = new TableState());
  const rows = [object.data, object.values].find(Array.isArray);
  const isNamed = Array.isArray(object.columns) && rows !== undefined;
  const names = isNamed ? (object.columns as unknown[]).map(String) : Object.keys(object);
  const values = isNamed ? [] : Object.values(object);
  for (const path of options.columns?.values() ?? []) {
    const isPath = !isNamed && path.includes(".") && !names.includes(path);
    const value = isPath ? valueAt(object, path.split(".")) : undefined;
    if (value === undefined) continue;
    names.push(path);
    values.push(value);
  }
  const mayLackRtt = state.hadRtt;
  const key = names.join("\n");
  let layout = state.layouts.get(key) ?? state.layouts.get(`${key}\n${mayLackRtt}`);
  if (!layout) {
    if (state.layouts.size === MAX_LAYOUTS) state.layouts.clear();
    layout = layoutOf(names, options);
    const isWhole = !("fault" in layout);
    if (!isWhole && mayLackRtt) layout = layoutOf(names, options, { mayLackRtt });
    state.layouts.set(isWhole ? key : `${key}\n${mayLackRtt}`, layout);
  }
  return { names, values, rows: isNamed ? rows : undefined, layout, state };
}

/** The value at a path; the list of values if it leads through a list of objects. Positions count from 1. */
function valueAt(value: unknown, path: readonly string[]): unknown {
  for (const [i, part] of path.entries()) {
    if (Array.isArray(value)) {
      const isOfScalars = value.every((each) => typeof each !== "object" || each === null);
      if (isOfScalars) value = value[Number(part) - 1];
      else {
        return value.map((each) =>
          path.slice(i).reduce(
            (inner: unknown, name) => Array.isArray(inner) ? inner[Number(name) - 1] : objectOf(inner)[name],
            each,
          ) ?? null
        );
      }
    } else value = objectOf(value)[part];
  }
  return value;
}

/** The paths of numbers inside an object whose names may be those of RTTs. */
function nestedRtts(object: JsonObject, asked: string | undefined): string[] {
  const found: string[] = [];
  const pending: { value: unknown; path: string }[] = [{ value: object, path: "" }];
  for (let at = 0; at < pending.length && at < MAX_SEARCHED; at++) {
    const { value, path } = pending[at];
    for (const [name, inner] of Object.entries(objectOf(Array.isArray(value) ? value[0] : value))) {
      const whole = path === "" ? name : `${path}.${name}`;
      if (typeof inner === "object") pending.push({ value: inner, path: whole });
      else if (path !== "" && (asked === undefined ? RTT_NAME.test(whole) : name === asked)) {
        found.push(whole);
      }
    }
  }
  return found;
}

/** Whether an object inside, or the first one of a list inside, is a record itself. */
function hasRecords(object: JsonObject, options: ReadingOptions): boolean {
  return Object.values(object).some((value) => {
    const inner = objectOf(Array.isArray(value) ? value[0] : value);
    return !Array.isArray(inner) && Object.keys(inner).length > 1 &&
      !("fault" in recordOf(inner, options).layout);
  });
}

/** The rows of a record: itself, the lists beside the column names, or columns with one entry per row. */
function jsonRows({ values, rows }: JsonRecord, { time, rtts }: Layout): unknown[][] {
  if (rows) return rows.map((row) => Array.isArray(row) ? row : [row]);
  const times = values[time];
  const isColumns = typeof times === "object" && times !== null && typeof values[rtts[0]?.field] === "object";
  if (!isColumns) return [[...values]];
  const isColumn = (value: unknown) =>
    typeof value === "object" && value !== null && Array.isArray(value) === Array.isArray(times);
  return Object.keys(times).map((row) =>
    values.map((column) => isColumn(column) ? objectOf(column)[row] : column)
  );
}

export const table: Format = {
  name: "csv",
  title: "CSV, and JSON lines with src, dst, time, rtt",
  json: {
    isResult(object, options) {
      const { names, layout, state } = recordOf(object, options);
      if (!("fault" in layout) && layout.rtts.length > 0) return state.hadRtt = true;
      // An object with a time and an end is meant as a measurement; the error names what is missing.
      const lower = names.map(usualName);
      const has = (...keys: string[]) =>
        keys.some((key) => {
          const asked = options.columns?.get(key);
          return asked === undefined
            ? (USUAL_NAMES[key] ?? [key]).some((name) => lower.includes(name))
            : names.includes(asked);
        });
      const hasEnd = has("dst") || options.dst !== undefined;
      const isMeant = has(...RTT_KEYS)
        ? hasEnd || has("src")
        : hasEnd && (has(...TIME_KEYS) || ("signals" in layout && hasLoss(object, layout, options)));
      return isMeant && !hasRecords(object, options);
    },
    findings(object, options) {
      const record = recordOf(object, options);
      const { layout, state } = record;
      if ("fault" in layout) return [faultOfRecord(object, options, layout.fault)];
      const findings: Finding[] = [];
      const needed = [layout.src, layout.dst, layout.time, ...layout.rtts.map(({ field }) => field)];
      for (const row of jsonRows(record, layout)) {
        const isWhole = needed.every((field) => field < 0 || row[field] !== undefined);
        if (isWhole) takeFindings(row, layout, options, state, (finding) => findings.push(finding));
        else {
          const found = `a row without a value for each of ${layout.names.length} columns`;
          findings.push({ reason: "invalidJson", found });
        }
      }
      return findings;
    },
    reading(object, options) {
      const { layout } = recordOf(object, options);
      return "fault" in layout ? undefined : layout.reading;
    },
  },
  text: {
    isHead: (head) => /^(?:sep=|#TYPE )|[,;\t|]/.test(head),
    isSurely: (head, options) => options.columns !== undefined || hasHeader(head, options),
    open: (options, take, path) => new TableReader(options, take, path),
  },
};

function hasLoss(object: JsonObject, { signals, names }: Layout, options: ReadingOptions): boolean {
  const hasTime = options.startS !== undefined;
  const { values, state } = recordOf(object, options);
  return hasTime && lossIn(signals, values, names, false, state.scale) === true;
}

function faultOfRecord(object: JsonObject, options: ReadingOptions, fault: Fault): Rejection {
  const names = shortened(recordOf(object, options).names.join(", "), 120);
  const key = RTT_KEYS.find((each) => options.columns?.has(each)) ?? "rtt";
  const [path, ...others] = nestedRtts(object, options.columns?.get(key));
  const isRtt = fault.expected?.includes("rtt");
  const advice = isRtt && path !== undefined
    ? `name the path, such as --columns ${key}=${path}` +
      (others.length > 0 ? ` (others: ${shortened(others.join(", "), 80)})` : "")
    : fault.advice;
  return { reason: "nullValue", ...faultBeside(`found ${names}`, { ...fault, advice }) };
}

/** `rtt_ms` for `RTT (ms)`. */
function usualName(name: string): string {
  if (name.length > MAX_NAME_CHARACTERS) return name;
  return name.toLowerCase().replace(
    /\s*[([]([nuµμ\ufffdm]?s|utc)[)\]]$/,
    (_, unit) => `_${unit.replace(/[µμ\ufffd]/, "u")}`,
  );
}

function hasHeader(whole: string, options: ReadingOptions): boolean {
  const head = headOf(whole);
  const records = readCsv(head, separatorOf(head, options));
  return records.slice(0, MAX_COMMENT_RECORDS).some((record) =>
    record.fault === undefined && !isNoRow(record) && !("fault" in layoutOf(record.fields, options))
  );
}

function headOf(text: string): string {
  const from = text.search(/\S/);
  return from < 0 ? "" : text.slice(from, from + MAX_HEADER_CHARACTERS);
}

class TableReader implements TextReader {
  #scanner: CsvScanner | undefined;
  #separator: CsvSeparator = ",";
  /** Records read before the header was found. */
  #first: CsvRecord[] = [];
  #layout: Layout | undefined;
  #hasHeader = true;
  /** The layout whose reading was said last. */
  #said: Layout | undefined;
  #numRows = 0;
  #line = 0;
  readonly #state = new TableState();
  readonly #takeHere = (finding: Finding) => this.take(finding, this.#line);

  constructor(readonly options: ReadingOptions, readonly take: TakeFinding, readonly path: string) {}

  push(text: string | undefined): void {
    if (!this.#scanner) {
      // The format was recognised by the first text.
      this.#separator = separatorOf(headOf(text ?? ""), this.options);
      this.#state.hasSemicolons = this.#separator === ";";
      this.#scanner = new CsvScanner(this.#separator);
    }
    this.#scan(text);
    if (text !== undefined) return;
    for (const route of this.#state.routes.values()) endRoute(route, this.options, this.#takeHere);
    if (!this.#layout) this.#begin(true);
    if (this.#numRows === 0) {
      throw new NoMeasurementsError(
        { found: "it has no rows below its header", expected: "at least one", advice: "check the file" },
        this,
      );
    }
    const fault = this.options.rtt === "each" ? undefined : this.#state.moments.end();
    if (fault) throw new FormatError(fault, { path: this.path });
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
    // `1767225600:` of rrdtool fetch.
    record.fields[0] = record.fields[0]?.replace(/:$/, "");
    const { names } = this.#layout ?? {};
    if (names === undefined || record.fields.length !== names.length + 1) return;
    if (isByNumber(this.options)) this.#use(layoutOf(["", ...names], this.options));
    else record.fields.shift();
  }

  /** @returns What is wrong with the names. */
  #use(layout: ReturnType<typeof layoutOf>): Fault | undefined {
    if ("fault" in layout) return layout.fault;
    this.#layout = layout;
    return undefined;
  }

  /** Checks whether the newest record is the header. @param isLast Whether it must be. */
  #begin(isLast: boolean): void {
    const record = this.#first.at(-1);
    let fault: Fault | undefined;
    if (record && record.fault === undefined) {
      const { fields } = record;
      this.#hasHeader = !isByNumber(this.options) || isHeader(fields, this.options);
      fault = this.#use(layoutOf(fields, this.options, { hasHeader: this.#hasHeader }));
      if (fault === undefined) {
        this.#first = [];
        if (!this.#hasHeader) this.#takeRow(record);
        return;
      }
    }
    if (isLast) throw this.#headerError(fault);
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
    if (this.#said !== this.#layout) this.options.onReading?.((this.#layout as Layout).reading);
    this.#said = this.#layout;
    takeFindings(fields, this.#layout as Layout, this.options, this.#state, this.#takeHere);
  }

  /** Takes the layout of a further header, which precedes other columns in concatenated files. */
  #isHeader(fields: readonly string[]): boolean {
    const cell = headerCell(fields, this.#layout as Layout);
    const isDigits = cell >= "0" && cell < ":"; // as most
    if (isDigits || !this.#hasHeader || isByNumber(this.options) || !HEADER_CELL.test(cell)) return false;
    if (this.#use(layoutOf(fields, this.options))) return false;
    this.#state.mark = undefined;
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

/** Whether the first record of a table whose columns have numbers is a header: its RTT or time is none. */
function isHeader(fields: readonly string[], options: ReadingOptions): boolean {
  const layout = layoutOf(fields, options, { hasHeader: false });
  if ("fault" in layout) return true;
  const { rtts: [{ field }], rttUnitMs, time, timeUnit } = layout;
  const rttMs = readRtt(fields[field], rttUnitMs, options);
  if (typeof rttMs !== "number") {
    return Number.isNaN(decimal(fields[field])) && HEADER_CELL.test(fields[field]);
  }
  if (rttMs !== FAILED_RTT_MS || time < 0) return false;
  return typeof readTime(fields[time], timeUnit, "", options) !== "number" && HEADER_CELL.test(fields[time]);
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

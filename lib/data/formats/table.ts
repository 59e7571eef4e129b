/**
 * Measurements with named fields: tables as text (CSV and its relatives) and JSON objects such as `{"src": …,
 * "dst": …, "time": …, "rtt": ms or null}`, the form of this program's own JSON lines.
 *
 * The fields of a table are separated by commas, semicolons, tabs, bars or blanks. A table has a header,
 * possibly below comments, unless its columns are selected by number. In a wide table each RTT column is a
 * destination. A table in JSON may consist of columns, `{"src": [...], "dst": [...], ...}`, or of names and
 * rows, as pandas, InfluxDB and Netdata write them.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { type Fault, FormatError, shortened, UsageError } from "../../base/errors.ts";
import { FAILED_RTT_MS } from "./batch.ts";
import { type CsvRecord, CsvScanner, type CsvSeparator, readCsv } from "../../io/text/csv.ts";
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
  type PingRow,
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
/** Units of numbers in RTT columns, by the keys of `--columns`. */
export const KEY_UNITS: Readonly<Record<string, string>> = {
  rtt: "ms",
  rtt_s: "s",
  rtt_us: "us",
  rtt_ns: "ns",
};
/** Columns of integers, by their names in Parquet files of measurements. */
const INTEGER_KEYS: readonly string[] = ["msm_id", "prb_id", "size", "packet_error_count"];

const TIME_KEYS = Object.keys(TIME_UNITS);
const RTT_KEYS = Object.keys(KEY_UNITS);
const KEYS = ["src", "dst", "date", ...TIME_KEYS, ...RTT_KEYS, ...INTEGER_KEYS];

/** Names of fields, as {@link wordsOf} writes them, that do not need `--columns`. The first one is used. */
const USUAL_NAMES: Record<string, readonly string[]> = {
  src: ["src", "src_addr", "source", "from", "src_ip", "source_ip", "source_address"],
  dst: ["dst", "dst_addr", "destination", "to", "target", "dst_ip", "destination_ip", "destination_address"],
  time: ["time_utc", "time", "event_time", "timestamp", "datetime", "date_time", "ts", "date"],
  date: ["date", "day"],
  hour: ["hour", "hr"],
  zone: ["tz", "timezone", "time_zone", "utc_offset"],
  rtt: ["rtt", "rtt_ms", "rtt_avg"],
  metric: ["field", "metric"],
  hop: ["hop", "hop_number", "hop_num", "hop_no", "hop_index", "hop_ip", "hop_addr", "hop_address"],
  hopHost: ["hop_ip", "hop_addr", "hop_address", "ip", "addr", "address", "hop"],
};
/** Words in the names of statistics of a ping other than its usual RTT. */
const OTHER_STATISTIC =
  /(?:^|[_. ])(?:loss|lost|packet|error|recv|received|std|mdev|jitter|percent|quantile|(?:counts?|code|ttl|hops?|size|sent|dev(?:iation)?|min(?:imum)?|max(?:imum)?|best|worst)(?![a-z]))/;

/** The header is one of the first records; those above it are comments. */
export const MAX_COMMENT_RECORDS = 20;
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
/** A time of day in a separate column, next to the date. */
const TIME_OF_DAY = /^\d{1,2}:\d\d/;
/** A unit at the end of a name: `latency_s`, `duration_seconds`, or `rtt_us_avg`. */
const UNIT_IN_NAME = new RegExp(
  `(?:^|[_.])(${Object.keys(RTT_UNITS).join("|")})(?:_(?:avg|average|mean|median))?$`,
);

/**
 * Parses names of columns by key, `src=from,dst=to,time=when,rtt=ms`. Names may contain commas.
 *
 * @throws {UsageError} If a key is unknown or repeated.
 */
export function parseColumns(text: string): ReadonlyMap<string, string> {
  const columns = new Map<string, string>();
  const wrong = (fault: string) =>
    new UsageError(
      `Cannot use --columns ${shortened(text)}: ${fault}, expected KEY=NAME for src, dst, one of ` +
        `${TIME_KEYS.join(" ")} (and date, if times lack it), one of ` +
        `${RTT_KEYS.join(" ")} and optionally ${INTEGER_KEYS.join(" ")}; separate them with commas`,
    );
  for (const part of text.split(new RegExp(`,(?=(?:${KEYS.join("|")}|[^,=]*)=)`))) {
    const [key, ...words] = part.split("=");
    const name = words.join("=").replace(/^"(.*)"$/, "$1");
    const group = [TIME_KEYS, RTT_KEYS].find((keys) => keys.includes(key)) ?? [key];
    const other = group.find((each) => columns.has(each));
    if (!KEYS.includes(key)) throw wrong(`unknown key ${shortened(key) || "''"}`);
    if (other !== undefined) throw wrong(other === key ? `found ${key} twice` : `found ${other} and ${key}`);
    if (name === "") throw wrong(`missing name for ${key}`);
    columns.set(key, name);
  }
  return columns;
}

/** What a field may be, besides an RTT: the hour is that of a date; the host is that of a hop of a route. */
const ROLES = ["src", "dst", "time", "date", "hour", "zone", "metric", "hop", "hopHost"] as const;

/** What the fields of records mean. Fields are numbered from 0; -1 if absent. */
export interface Layout {
  readonly names: readonly string[];
  readonly at: Readonly<Record<(typeof ROLES)[number], number>>;
  readonly timeUnit: TimeUnit;
  /** The RTT fields; in a wide table, each with its destination. */
  readonly rtts: readonly { readonly field: number; readonly dst?: string }[];
  readonly rttUnit: string;
  /** Fields that may tell a loss. */
  readonly signals: readonly Signal[];
  /** By the keys of {@link INTEGER_KEYS}. */
  readonly integers: readonly number[];
  /** Fields that may tell rows of one moment apart. */
  readonly others: readonly number[];
  readonly reading: Reading;
  /** Why records with these names cannot be read. */
  readonly fault: Fault | undefined;
  /** Whether only the RTT is missing, so that a record may be a loss. */
  readonly lacksRtt: boolean;
}

/** Names that are longer have no meaning here. It bounds the work for each. */
const MAX_NAME_CHARACTERS = 1 << 8;

/** A name in lower case with `_` between its words: `rtt_us` for `RTT (µs)`, `latency_us` for `latencyUs`. */
function wordsOf(name: string): string {
  if (name.length > MAX_NAME_CHARACTERS) return "";
  return name.replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase().replace(/[µμ\ufffd](?=s)/g, "u")
    .replace(/[^a-z0-9%.]+/g, "_").replace(/^_|_$/g, "");
}

/** Whether a series of this name is another statistic than the usual RTT, such as a loss or the maximum. */
export function isOtherStatistic(name: string): boolean {
  return OTHER_STATISTIC.test(wordsOf(name));
}

/** The layout of records with these names. @param hasHeader Whether they are the names of a header. */
export function layoutOf(names: readonly string[], options: ReadingOptions, hasHeader = true): Layout {
  const { columns = new Map<string, string>() } = options;
  const words = names.map(wordsOf);
  const areNumbers = isByNumber(options);
  let fault: Fault | undefined;
  /** The words of names that `--columns` does not give to a part of a row. */
  const given = [...columns.values()].map((name) => name.toLowerCase());
  const free = words.map((name, field) => given.includes(names[field].toLowerCase()) ? "" : name);
  const find = (key: string): number => {
    const asked = columns.get(key);
    const among = KEYS.includes(key) ? free : words;
    const usual = hasHeader ? (USUAL_NAMES[key] ?? [key]).find((name) => among.includes(name)) : undefined;
    if (asked === undefined && usual === undefined) return -1;
    const isExact = asked !== undefined && names.includes(asked);
    const isCalled = (field: number) => {
      if (asked === undefined) return among[field] === usual;
      if (isExact) return names[field] === asked && !areNumbers;
      return names[field].toLowerCase() === asked.toLowerCase();
    };
    const fields = [...names.keys()].filter(isCalled);
    if (fields.length === 1) return fields[0];
    // A number selects a column, from 1, unless another key has a name and a column is called so.
    const number = fields.length === 0 && /^\d+$/.test(asked ?? "") ? Number(asked) : 0;
    if (number >= 1 && number <= names.length) return number - 1;
    const expected = `exactly one called ${shortened(asked ?? names[fields[0]])} for ${key}`;
    const advice = "correct --columns (a number chooses a column, from 1) or the header";
    const isAbsentRtt = RTT_KEYS.includes(key) && fields.length === 0;
    if (isAbsentRtt) absentRtt = { expected, advice };
    else fault ??= { expected, advice };
    return -1;
  };
  const findOne = (keys: readonly string[]): { key: string; field: number } => {
    const key = keys.find((each) => columns.has(each)) ?? keys.find((each) => find(each) >= 0) ?? keys[0];
    return { key, field: find(key) };
  };
  let absentRtt: Fault | undefined;
  const [time, rtt] = [TIME_KEYS, RTT_KEYS].map(findOne);
  const fieldOf = (role: (typeof ROLES)[number]): number =>
    role === "time" ? time.field : role === "hopHost" && find("hop") < 0 ? -1 : find(role);
  const at = Object.fromEntries(ROLES.map((role) => [role, fieldOf(role)])) as Layout["at"];
  const integers = INTEGER_KEYS.map(find);
  const isWide = rtt.field < 0 && time.field >= 0 && !RTT_KEYS.some((key) => columns.has(key));
  const hosts = isWide ? [...names.keys()].filter((field) => isHost(names[field], options)) : [];
  const rtts = hosts.length > 0
    ? hosts.map((field) => ({ field, dst: names[field] }))
    : [{ field: rtt.field }];
  const used = new Set([...Object.values(at), ...integers, ...rtts.map(({ field }) => field)]);
  const signals = hasHeader
    ? words.flatMap((name, field) => used.has(field) ? [] : signalOf(name, field) ?? [])
    : [];
  const isOther = (field: number) => !used.has(field) || field === at.metric;
  const states = signals.filter(({ kind }) => kind === "state" || kind === "word").map(({ field }) => field);
  for (const { field } of signals) used.add(field);
  const missing = [
    ...(at.src < 0 && !options.src ? ["src"] : []),
    ...(at.dst < 0 && !options.dst && hosts.length === 0 ? ["dst"] : []),
    ...(rtts[0].field < 0 ? ["rtt"] : []),
  ];
  const lacksRtt = !fault && missing.join() === "rtt";
  if (missing.length > 0) fault ??= lacksRtt && absentRtt || missingFault(missing, areNumbers ? [] : names);
  const layout = {
    ...{ names: hasHeader ? names : names.map((_, field) => `column ${field + 1}`), at, rtts, signals },
    timeUnit: TIME_UNITS[time.key],
    rttUnit: rtt.key === "rtt" && hasHeader ? unitIn(names[rtt.field] ?? "") : KEY_UNITS[rtt.key],
    integers,
    others: [...names.keys()].filter(isOther).concat(states),
    ...{ fault, lacksRtt },
  };
  return { ...layout, reading: readingOf(layout, used, options) };
}

/** @param names None if they may be values. */
function missingFault(missing: readonly string[], names: readonly string[]): Fault {
  if (names.some((name) => decimal(name) >= 0)) {
    const example = "--columns src=1,dst=2,time=3,rtt=4";
    const advice = `if there is no header, refer to columns by number, such as ${example}`;
    return { found: "which look like values", expected: "column names", advice };
  }
  const example = missing.map((key) => `${key}=${key.toUpperCase()}`).join(",");
  const constant = missing[0] === "rtt" ? "" : `, or set one for all rows with --${missing[0]} ADDRESS`;
  return { expected: missing.join(", "), advice: `name them, such as --columns ${example}${constant}` };
}

/** @param used The fields that have a role. */
function readingOf(
  { names, at, timeUnit, rtts, rttUnit, signals }: Omit<Layout, "reading">,
  used: ReadonlySet<number>,
  options: ReadingOptions,
): Reading {
  const nameOf = (field: number) => names[field] || `column ${field + 1}`;
  const endOf = (end: "src" | "dst") =>
    at[end] < 0 ? constantWords(end, options[end]) ?? "none" : nameOf(at[end]);
  const given = options.zone ? `${options.zone} (--zone)` : "UTC unless stated; --zone";
  const times = [...new Set([at.date, at.hour, at.time])].filter((field) => field >= 0).map(nameOf);
  const zone = at.zone < 0 ? given : names[at.zone];
  const constant = options.startS === undefined ? "none" : "--start and --interval";
  const rttNames = rtts.map(({ field }) => `${nameOf(field)} (${rttUnit}, unless stated)`);
  const told = signals.filter(({ says }) => says !== undefined);
  const paths = [...options.columns?.values() ?? []];
  const isUsed = (field: number) =>
    used.has(field) || paths.some((path) => path.startsWith(`${names[field]}.`));
  return {
    format: table.name,
    time: at.time < 0 ? constant : `${times.join(" and ")} (numbers: Unix ${timeUnit}; other times: ${zone})`,
    source: endOf("src"),
    destination: rtts[0].dst === undefined ? endOf("dst") : `the names of ${rtts.length} columns`,
    rtt: rtts[0].field < 0 ? "absent" : rttNames.join(", "),
    noReply: [
      "an empty field or a word such as timeout",
      ...(options.noReply ?? []).map((word) => `${word} (--no-reply)`),
      ...told.map(({ field, says }) => `${names[field]} ${says}`),
    ].join(", or "),
    notUsed: [...names.keys()].filter((field) => !isUsed(field)).map(nameOf),
  };
}

/** Lists the column names that a fault is about. */
export function columnsFault(names: readonly string[], fault: Fault = {}): Fault {
  const found = `found the columns ${shortened(names.join(", "), 200)}`;
  return { ...fault, found: fault.found === undefined ? found : `${found}, ${fault.found}` };
}

/** The unit at the end of the name of an RTT: `us` for `latency_microseconds`. */
export function unitIn(name: string, usual = "ms"): string {
  const unitMs = RTT_UNITS[UNIT_IN_NAME.exec(wordsOf(name))?.[1] ?? usual];
  return Object.values(KEY_UNITS).find((unit) => RTT_UNITS[unit] === unitMs) ?? usual;
}

/** The last decimal mark of a number. */
const MARK = /\d([.,])\d[^.,]*$/;
/** How many lost moments of a long table are kept, so that two of its series do not tell one loss twice. */
const MAX_LOST_MOMENTS = 1 << 14;
const LOST = [FAILED_RTT_MS];

type TakeRow = (finding: Finding) => void;

interface Ends {
  readonly src: string | undefined;
  readonly dst: string | undefined;
  readonly timeUs: number;
}

/** Reads records as rows: those of a text, or of all JSON with the same options. */
export class TableRows {
  /** The decimal mark of the RTTs, once a number has shown it. */
  mark: string | undefined;
  /** Whether a record had an RTT, so that one without it is a loss. */
  hadRtt = false;
  /** Layouts of JSON objects by their names. */
  readonly layouts = new Map<string, Layout>();
  readonly #moments = new MomentCheck();
  readonly #scale: LossScale = { hasPercent: false, hasFraction: false };
  /** Without a time column, the number of rows determines the time of the next one. */
  #numRows = 0;
  readonly #lostMoments = new Set<string>();
  /** The newest run of traceroute or mtr, and whether its destination has a row. */
  #route: Ends & { readonly key: string; isDestination: boolean } | undefined;

  /** @param hasSemicolons Whether semicolons separate fields, so that a comma is a decimal one. */
  constructor(readonly options: ReadingOptions, readonly hasSemicolons = false) {}

  /** @param fields Texts, or values of JSON. */
  read(fields: readonly unknown[], layout: Layout, take: TakeRow): void {
    const { options } = this;
    const { at } = layout;
    const row = this.#numRows++;
    const timeUs = at.time < 0 ? intervalTimeUs(options, row) : timeIn(fields, layout, options);
    if (typeof timeUs !== "number") return take(timeUs);
    const isLost = this.lossIn(fields, layout);
    if (typeof isLost === "object") return take(isLost);
    const integers = integersIn(fields, layout);
    if ("reason" in integers) return take(integers);
    const [msmId, prbId, sizeBytes, numLost] = integers;
    const src = at.src < 0 ? undefined : textOf(fields[at.src]);
    for (const { field, dst = textOf(fields[at.dst]) } of layout.rtts) {
      if (at.hop >= 0 && !this.#isDestination({ src, dst, timeUs }, textOf(fields[at.hopHost]), take)) {
        take({ skipped: "hop of a route" });
        continue;
      }
      const rttsMs = isLost ? LOST : this.#rttsOf(fields[field], layout.rttUnit, layout.names[field]);
      if ("reason" in rttsMs) take(rttsMs);
      else {
        // A list of replies shows its losses.
        const lost = Array.isArray(fields[field]) && Number.isNaN(numLost) ? undefined : numLost;
        const row = pingRow({ src, dst, timeUs, rttsMs, msmId, prbId, sizeBytes, numLost: lost }, options);
        take("reason" in row ? row : this.#checked(row, fields, layout));
      }
    }
  }

  /** The row, or why it is not one beside those before. */
  #checked(row: PingRow, fields: readonly unknown[], { at, names, others }: Layout): Finding {
    if (at.metric >= 0 && this.#isRepeatedLoss(row)) return { skipped: "another series of the same loss" };
    if (this.options.rtt === "each") return row;
    return this.#moments.add(row, fields, names, others) ?? row;
  }

  /** Ends a file. @throws {FormatError} If rows of the same time have several RTTs. */
  end(path: string, take: TakeRow): void {
    this.#endRoute(take);
    this.#route = undefined;
    this.#numRows = 0;
    const fault = this.#moments.end();
    if (fault) throw new FormatError(fault, { path });
  }

  /** Whether a record tells a loss beside its RTT or, in a long table, by its metric. */
  lossIn(
    fields: readonly unknown[],
    { at, signals, names, rtts }: Layout,
  ): ReturnType<typeof lossIn> {
    if (signals.length > 0) {
      const hasRtt = rtts.some(({ field }) => isNumber(fields[field]));
      const told = lossIn(signals, fields, names, hasRtt, this.#scale);
      if (told !== false) return told;
    }
    const name = at.metric < 0 ? "" : textOf(fields[at.metric]) ?? "";
    if (name === "" || !isOtherStatistic(name)) return false;
    const signal = signalOf(wordsOf(name), rtts[0].field);
    const isLoss = signal && ["loss", "percent", "received"].includes(signal.kind);
    const told = isLoss && lossIn([signal], fields, { [signal.field]: name }, false, this.#scale);
    return told || { skipped: `metric ${shortened(name)}` };
  }

  /**
   * Whether a hop is the destination: the RTT of a router is not that of the destination. The first hop of
   * another run shows that the run before is complete.
   */
  #isDestination(ends: Ends, hop = "", take: TakeRow): boolean {
    const { addresses, dst: [constant] = [""] } = this.options;
    const key = `${ends.src} ${ends.dst} ${ends.timeUs}`;
    if (this.#route?.key !== key) {
      this.#endRoute(take);
      this.#route = { ...ends, key, isDestination: false };
    }
    const isDestination = addressIn(hop, addresses) === addressIn(ends.dst ?? constant, addresses);
    this.#route.isDestination ||= isDestination;
    return isDestination;
  }

  /** A run without a row of its destination is a loss. A destination by name may have another address. */
  #endRoute(take: TakeRow): void {
    const { options } = this;
    if (!this.#route || this.#route.isDestination) return;
    const dst = this.#route.dst ?? options.dst?.[0] ?? "";
    const isAddress = isHost(dst, { ...options, addresses: undefined });
    if (isAddress) take(pingRow({ ...this.#route, rttsMs: LOST }, options));
    else take({ reason: "incompleteResult", found: `a route without a hop at ${shortened(dst)}` });
  }

  #isRepeatedLoss({ rttsMs, srcAddr, dstAddr, eventTimeUs }: PingRow): boolean {
    if (rttsMs[0] !== FAILED_RTT_MS) return false;
    const moment = `${srcAddr} ${dstAddr} ${eventTimeUs}`;
    if (this.#lostMoments.has(moment)) return true;
    const [oldest] = this.#lostMoments;
    if (this.#lostMoments.size === MAX_LOST_MOMENTS) this.#lostMoments.delete(oldest);
    this.#lostMoments.add(moment);
    return false;
  }

  /** @param value A number or text, or a list of them. */
  #rttsOf(value: unknown, unit: string, name: string): number[] | Rejection {
    if (typeof value === "string" || typeof value === "number") {
      const rttMs = this.#rttOf(value, RTT_UNITS[unit], name);
      return typeof rttMs === "number" ? [rttMs] : rttMs;
    }
    const rttsMs: number[] = [];
    for (const each of Array.isArray(value) ? value : [value]) {
      if (typeof each === "object" && each !== null) {
        const advice = `name a field inside it with --columns, such as ${name}.FIELD`;
        return { reason: "invalidRtt", found: `${name} contains objects`, expected: "numbers", advice };
      }
      const rttMs = this.#rttOf(each, RTT_UNITS[unit], name);
      if (typeof rttMs !== "number") return rttMs;
      rttsMs.push(rttMs);
    }
    return rttsMs.length > 0 ? rttsMs : { reason: "nullValue", found: `${name} is an empty list` };
  }

  /** A table has one decimal mark: the first number that shows it decides. */
  #rttOf(value: unknown, unitMs: number, name: string): number | Rejection {
    let number = value;
    if (typeof value === "string" && (this.mark !== "." || value.includes(","))) {
      const isUnclear = UNCLEAR_COMMA.test(value);
      const [, mark = this.mark] = isUnclear ? [] : MARK.exec(value) ?? [];
      const isThousands = isUnclear && (this.mark ?? (this.hasSemicolons ? "," : ".")) === ".";
      this.mark ??= mark;
      if (mark !== this.mark || (isThousands && unitMs >= 1)) {
        const found = `${name} ${shortened(value)}: the comma or point may separate decimals or thousands`;
        return { reason: "invalidRtt", found, expected: "numbers with one decimal mark" };
      }
      if (isThousands) number = value.replaceAll(",", "");
    }
    return readRtt(number, unitMs, this.options, name);
  }
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" ? value > 0 : typeof value === "string" && decimal(value) > 0;
}

/** The numbers of {@link INTEGER_KEYS}; NaN for those that are absent or words such as `NA`. */
function integersIn(fields: readonly unknown[], { integers }: Layout): number[] | Rejection {
  const numbers = [NaN, NaN, NaN, NaN];
  for (let at = 0; at < integers.length; at++) {
    // An index of -1 would be looked up as a name.
    const value = integers[at] < 0 ? undefined : fields[integers[at]];
    if (value === null || value === undefined) continue;
    const number = typeof value === "number" ? value : decimal(String(value));
    if (Number.isSafeInteger(number) && number >= 0) numbers[at] = number;
    else if (!Number.isNaN(number)) {
      return { reason: "invalidInteger", found: `${INTEGER_KEYS[at]} ${shortened(String(value))}` };
    }
  }
  return numbers;
}

/** How to state the unit that times appear to have. */
function adviceOnUnit(unit: TimeUnit | undefined): string | undefined {
  const key = TIME_KEYS.find((each) => TIME_UNITS[each] === unit);
  return key && `name the column with --columns ${key}=NAME`;
}

/** Microseconds since 1970 of a record, whose date, hour and zone may be in fields of their own. */
function timeIn(
  fields: readonly unknown[],
  { names, at: { time, date, hour, zone }, timeUnit }: Layout,
  options: ReadingOptions,
): number | Rejection {
  let value = fields[time];
  let reading = options;
  if (typeof value === "string" && (date >= 0 || hour >= 0 || zone >= 0)) {
    const given = (field: number) => textOf(fields[field]) ?? "";
    let text = value.trim();
    if (TIME_OF_DAY.test(text)) text = `${given(date)} ${text}`;
    if (DAY.test(text) && given(hour)) text += ` ${given(hour).padStart(2, "0")}:00`;
    const stated = given(zone).replace(/^(?:utc|gmt)(?=[+-])/i, "");
    if (stated !== "" && isZone(stated)) reading = { ...options, zone: stated };
    // Abbreviations are read, or told if they are unknown, with the time.
    else text = `${text} ${stated}`.trim();
    value = text;
  }
  const timeUs = readTime(value, timeUnit, names[time], reading);
  return typeof timeUs === "number"
    ? timeUs
    : { ...timeUs, advice: adviceOnUnit(timeUs.unit) ?? timeUs.advice };
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value.trim();
  if (typeof value !== "object") return value === undefined ? undefined : String(value);
  if (value === null) return undefined;
  // `{"source": {"ip": …}}` of Elastic's Common Schema, `{"metric": {"__name__": …}}` of VictoriaMetrics.
  const { __name__: name, ip = name } = objectOf(value);
  return typeof ip === "string" ? ip : JSON.stringify(value);
}

/** The rows of JSON by the options with which it is read. */
const rowsOfOptions: WeakMap<ReadingOptions, TableRows> = new WeakMap();
const MAX_LAYOUTS = 1 << 8;

/** A JSON object as fields: its own, and those that `--columns` selects inside it by a path. */
interface JsonRecord {
  object: JsonObject;
  rows: TableRows;
  values: readonly unknown[];
  /** The rows without the values, if there is a list of column names. */
  lists: readonly unknown[] | undefined;
  layout: Layout;
  /** Whether the layout is that of measurements. */
  isUsable: boolean;
}

/** The last record, since each is recognised before it is read. */
let last: JsonRecord | undefined;

function recordOf(object: JsonObject, options: ReadingOptions): JsonRecord {
  if (last?.object === object && last.rows.options === options) return last;
  const rows = getOrMake(rowsOfOptions, options, () => new TableRows(options));
  const head = [object.columns, object.labels].find(Array.isArray);
  const lists = [object.data, object.values].filter(Array.isArray).find(([first]) =>
    head && Array.isArray(first)
  );
  const names = head && lists ? head.map(String) : Object.keys(object);
  const values = lists ? [] : Object.values(object);
  const add = (name: string, value: unknown) => {
    if (value === undefined || names.includes(name)) return;
    names.push(name);
    values.push(value);
  };
  for (const [name, value] of lists ? Object.entries(object) : []) {
    if (value !== head && value !== lists) add(name, value);
  }
  for (const path of options.columns?.values() ?? []) {
    const parts = path.split(".");
    // What is beside a named field may tell a loss, such as `monitor.status` beside `monitor.duration.us`.
    for (let length = parts.length - 1; length > 0; length--) {
      const inner = objectOf(valueAt(object, parts.slice(0, length)));
      const told = Object.keys(inner).filter((name) => signalOf(wordsOf(name), 0) !== undefined);
      for (const name of told) add(`${parts.slice(0, length).join(".")}.${name}`, inner[name]);
    }
    if (parts.length > 1) add(path, valueAt(object, parts));
  }
  const key = names.join("\n");
  const layout = rows.layouts.get(key) ?? layoutOf(names, options);
  if (rows.layouts.size === MAX_LAYOUTS) rows.layouts.clear();
  rows.layouts.set(key, layout);
  const isUsable = !layout.fault || (layout.lacksRtt && rows.hadRtt);
  return last = { object, rows, values, lists, layout, isUsable };
}

/** Why an object is not a record. */
export function unreadable(object: JsonObject, options: ReadingOptions): Rejection {
  const { names, fault = { expected: "a time and an RTT", advice: "check the file" } } =
    recordOf(object, options).layout;
  const found = `found ${shortened(names.join(", "), 120)}`;
  return { ...fault, reason: "nullValue", found, advice: `${fault.advice}; a.b is field b inside field a` };
}

/** The value at a path; the list of values if it leads through a list of objects. Positions count from 1. */
function valueAt(value: unknown, path: readonly string[]): unknown {
  const [part, ...rest] = path;
  if (part === undefined) return value;
  if (!Array.isArray(value)) return valueAt(objectOf(value)[part], rest);
  const isOfScalars = value.every((each) => typeof each !== "object" || each === null);
  return isOfScalars
    ? valueAt(value[Number(part) - 1], rest)
    : value.map((each) => valueAt(each, path) ?? null);
}

/**
 * The rows of a record: itself, the lists beside the column names, each with the other fields of the object, or
 * columns with one entry per row.
 */
function jsonRows(
  values: readonly unknown[],
  lists: readonly unknown[] | undefined,
  { names, at, rtts }: Layout,
): readonly (readonly unknown[])[] {
  const isWhole = (row: unknown) => Array.isArray(row) && row.length === names.length - values.length;
  if (lists) return lists.map((row) => isWhole(row) ? [...row as unknown[], ...values] : []);
  const [times, rtt] = [values[at.time], values[rtts[0].field]];
  const isColumn = (value: unknown) =>
    typeof value === "object" && value !== null && Array.isArray(value) === Array.isArray(times);
  if (!isColumn(times) || typeof rtt !== "object") return [values];
  return Object.keys(objectOf(times)).map((row) =>
    values.map((column) => isColumn(column) ? objectOf(column)[row] : column)
  );
}

export const table: Format = {
  name: "csv",
  title: "CSV, and JSON lines with src, dst, time, rtt",
  json: {
    end: (options, path, take) => rowsOfOptions.get(options)?.end(path, take),
    isResult(object, options) {
      const { layout, rows, values } = recordOf(object, options);
      const { at: { src, dst, time }, rtts, fault } = layout;
      const hasRtt = rtts[0].field >= 0;
      if (hasRtt && !fault) return rows.hadRtt = true;
      // An object with a time and an end is meant as a measurement; the error names what is missing.
      const hasEnd = dst >= 0 || options.dst !== undefined;
      if (hasRtt) return hasEnd || src >= 0;
      const isTimed = time >= 0 || (options.startS !== undefined && rows.lossIn(values, layout) === true);
      return hasEnd && isTimed;
    },
    findings(object, options) {
      const { values, lists, layout, rows, isUsable } = recordOf(object, options);
      const { names, at: { src, dst, time }, rtts } = layout;
      if (!isUsable) return [unreadable(object, options)];
      const findings: Finding[] = [];
      const needed = [src, dst, time, ...rtts.map(({ field }) => field)].filter((field) => field >= 0);
      for (const row of jsonRows(values, lists, layout)) {
        if (needed.every((field) => row[field] !== undefined)) {
          rows.read(row, layout, (finding) => findings.push(finding));
        } else {
          const found = `a row without a value for each of ${names.length} columns`;
          findings.push({ reason: "invalidJson", found });
        }
      }
      return findings;
    },
    reading(object, options) {
      const { layout, isUsable } = recordOf(object, options);
      return isUsable ? layout.reading : undefined;
    },
  },
  text: {
    isHead: (head) => /^(?:sep=|#TYPE )|[,;\t|]/.test(head),
    // The second line shows whether the first one is a title.
    isSurely: (head, options) =>
      hasHeader(head, options) && (!isByNumber(options) || /\n[^\n]+\n/.test(head)),
    open: (options, take, path) => new TableReader(options, take, path),
  },
};

function hasHeader(whole: string, options: ReadingOptions): boolean {
  const head = whole.slice(0, MAX_HEADER_CHARACTERS);
  const records = readCsv(head, separatorOf(head, options)).slice(0, MAX_COMMENT_RECORDS);
  return records.some((record) =>
    record.fields && !isNoRow(record) && !layoutOf(record.fields, options).fault
  );
}

class TableReader implements TextReader {
  #scanner: CsvScanner | undefined;
  #rows: TableRows;
  /** The first record: the header, unless it is one of the comments. */
  #first: CsvRecord | undefined;
  #numComments = 0;
  #layout: Layout | undefined;
  #hasHeader = true;
  /** Whether records may lack their last fields: between blanks, a field cannot be empty. */
  #isRagged = false;
  #numRows = 0;
  #line = 0;
  readonly #takeHere = (finding: Finding) => this.take(finding, this.#line);

  constructor(readonly options: ReadingOptions, readonly take: TakeFinding, readonly path: string) {
    this.#rows = new TableRows(options);
  }

  push(text: string | undefined): void {
    if (!this.#scanner) {
      // The format was recognised by the first text.
      this.#scanner = new CsvScanner(separatorOf(text ?? "", this.options));
      this.#rows = new TableRows(this.options, this.#scanner.separator === ";");
    }
    const { separator } = this.#scanner;
    this.#scanner.push(text, (record) => {
      if (isNoRow(record)) return;
      if (separator === " " && record.fields) dropBlanks(record.fields);
      if (this.#layout) this.#takeRow(record, this.#layout);
      else this.#begin(record, separator === " ");
    });
    if (text !== undefined) return;
    if (!this.#layout) throw this.#headerError();
    if (this.#numRows === 0) {
      const fault = { found: "it has no rows below its header", expected: "at least one" };
      throw new NoMeasurementsError({ ...fault, advice: "check the file" }, this);
    }
    this.#rows.end(this.path, this.#takeHere);
  }

  /** Checks whether a record is the header. */
  #begin(record: CsvRecord, isBlank: boolean): void {
    this.#first ??= record;
    const { fields = [] } = record;
    this.#hasHeader = !isByNumber(this.options) || isHeader(fields, this.options);
    // Row names have no column in the header.
    const hasRowNames = isBlank && this.#hasHeader && isByNumber(this.options);
    const names = hasRowNames ? [...fields, ""] : [...fields];
    this.#isRagged = isBlank && !this.#hasHeader;
    while (this.#isRagged && names.length < leastFields(this.options)) names.push("");
    const layout = layoutOf(names, this.options, this.#hasHeader);
    if (record.fields && !layout.fault) {
      this.#use(layout);
      if (!this.#hasHeader) this.#takeRow(record, layout);
    } else if (++this.#numComments > MAX_COMMENT_RECORDS) throw this.#headerError();
  }

  #use(layout: Layout): void {
    this.#layout = layout;
    this.options.onReading?.(layout.reading);
  }

  #headerError(): NoMeasurementsError {
    const { fields, fault = "it is empty" } = this.#first ?? {};
    const isUnclear = { found: fault, expected: "a header with column names", advice: "check the file" };
    const found = fields ? columnsFault(fields, layoutOf(fields, this.options).fault) : isUnclear;
    return new NoMeasurementsError(found, { path: this.path, place: "its header" });
  }

  #takeRow(record: CsvRecord, layout: Layout): void {
    const { fields, fault, line } = record;
    const { names } = layout;
    if (fields && this.#isHeader(fields, layout)) return;
    this.#numRows++;
    this.#line = line;
    const hasRowName = !this.#isRagged && this.#scanner?.separator === " ";
    if (fields && hasRowName && fields.length === names.length + 1) fields.shift();
    const isWhole = fields &&
      (this.#isRagged || fields.length === names.length || hasEmptyEnd(fields, names.length) ||
        hasEmptyEnd(names, fields.length));
    if (isWhole) return this.#rows.read(fields, layout, this.#takeHere);
    const found = fault ?? `${fields?.length} fields, expected ${names.length} as in the first record`;
    this.#takeHere({ reason: "invalidCsv", found });
  }

  /** Whether a record is a header, which precedes the same or other columns in concatenated files. */
  #isHeader(fields: readonly string[], { names, at: { time }, rtts }: Layout): boolean {
    // The field that best shows whether a record is a header.
    const cell = (time < 0 ? "" : fields[time]) || (fields[rtts[0].field] ?? "");
    const isDigits = cell >= "0" && cell < ":"; // as most
    if (isDigits || !this.#hasHeader || !HEADER_CELL.test(cell)) return false;
    if (names.every((name, i) => fields[i] === name)) return true;
    const layout = isByNumber(this.options) ? undefined : layoutOf(fields, this.options);
    if (!layout || layout.fault) return false;
    this.#use(layout);
    this.#rows.mark = undefined;
    return true;
  }
}

/** Treats adjacent blanks as one separator. */
function dropBlanks(fields: string[]): void {
  fields.splice(0, fields.length, ...fields.filter((field) => field !== ""));
  // `1767225600:` of rrdtool fetch.
  if (fields.length > 0) fields[0] = fields[0].replace(/:$/, "");
}

function isByNumber({ columns }: ReadingOptions): boolean {
  return columns !== undefined && [...columns.values()].every((name) => /^\d+$/.test(name));
}

/** The number of fields that the positions in `--columns` need, at least two. */
function leastFields(options: ReadingOptions): number {
  return Math.max(2, ...isByNumber(options) ? [...options.columns?.values() ?? []].map(Number) : []);
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

/** Whether the first record of a table whose columns have numbers is a header: its time, or RTT, is a name. */
function isHeader(fields: readonly string[], options: ReadingOptions): boolean {
  const layout = layoutOf(fields, options, false);
  const { rtts: [{ field }], rttUnit, at: { time } } = layout;
  const cell = fields[time < 0 ? field : time] ?? "";
  const read = time < 0 ? readRtt(cell, RTT_UNITS[rttUnit], options) : timeIn(fields, layout, options);
  return typeof read !== "number" && HEADER_CELL.test(cell);
}

/** The separator of a table: the declared one, or the most frequent one in the first line with any. */
function separatorOf(text: string, options: ReadingOptions): CsvSeparator {
  const head = text.slice(0, MAX_HEADER_CHARACTERS);
  const [, said] = /^"?sep=(.)"?\s*$/m.exec(head.slice(0, 200)) ?? [];
  const known = SEPARATORS.find((separator) => separator === said);
  if (known) return known;
  const lines = head.split("\n").filter((each) => !/^#|^\s*$/.test(each));
  const line = lines.find((each) => each.split(/[,;\t|]/).length >= leastFields(options)) ?? "";
  const bare = line.replace(/"(?:[^"]|"")*"/g, "");
  const counts = SEPARATORS.map((separator) => bare.split(separator).length);
  const most = Math.max(...counts);
  if (most > 1) return SEPARATORS[counts.indexOf(most)];
  return isByNumber(options) || BLANK_HEADER.test(lines[0] ?? "") ? " " : ",";
}

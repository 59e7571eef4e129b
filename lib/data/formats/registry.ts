// deno-lint-ignore-file no-control-regex
/**
 * All measurement formats, how a file's first bytes identify them, and how results are found in JSON objects.
 *
 * @module
 */
import { shortened } from "../../base/errors.ts";
import { atlas } from "./atlas.ts";
import { fping } from "./fping.ts";
import {
  type Format,
  type JsonObject,
  NoMeasurementsError,
  objectOf,
  type ReadingOptions,
} from "./format.ts";
import { globalping } from "./globalping.ts";
import { OTHER_TOOLS, ping } from "./ping.ts";
import { prometheus } from "./prometheus.ts";
import { scamper } from "./scamper.ts";
import { smokeping } from "./smokeping.ts";
import { MAX_COMMENT_RECORDS, table, unreadable } from "./table.ts";

/** In the order in which they are tried. */
export const FORMATS: readonly Format[] = [
  ...[atlas, globalping, scamper, prometheus, smokeping],
  ...[fping, ping, table],
];

const WRITE_CSV = "write it with mtr --csv, and name its columns";
/** JSON of other programs, which is not searched for results. */
const OTHER_JSON:
  readonly (readonly [isIt: (object: JsonObject) => boolean, found: string, advice: string])[] = [
    [({ report }) => "mtr" in objectOf(report), "a report of mtr without a time", WRITE_CSV],
    [({ datapoints }) => Array.isArray(datapoints), "a response of Graphite", "get it with format=csv"],
  ];
const otherJson: JsonFormat = {
  name: "other",
  isResult: (object) => OTHER_JSON.some(([isIt]) => isIt(object)),
  findings: (object) =>
    OTHER_JSON.filter(([isIt]) => isIt(object)).map(([, found, advice]) => (
      { reason: "incompleteResult", found, advice }
    )),
};
const JSON_FORMATS: readonly JsonFormat[] = [
  ...FORMATS.flatMap(({ name, json }) => json ? [{ name, ...json }] : []),
  otherJson,
];
const TEXT_FORMATS = FORMATS.flatMap(({ name, text }) => text ? [{ name, ...text }] : []);

/** Number of characters that may be needed to recognise a format. */
export const MAX_HEAD_CHARACTERS = 1 << 16;

/** After this many unknown lines, the format counts as unknown. */
const MAX_UNKNOWN_LINES = 1000;
/** A text that continues is recognised by its words only with an RTT, or from this many lines on. */
const MIN_LINES = 8;
const SHOWN_RTT = /[=<,(] ?[\d.]+ ?ms\b/;
/** A text that continues is recognised only from this many characters on. */
const MIN_HEAD_CHARACTERS = 32;

/** Formats whose fields `--columns` names. */
const NAMED_BY_COLUMNS: readonly string[] = [smokeping.name, table.name];

/** The kind under which objects without a result are counted. */
export const NOT_A_RESULT = "not a result";

export type JsonFormat = NonNullable<Format["json"]> & { readonly name: string };

/** Names of fields that only a measurement has: a time or a destination. */
const MEASURED = /^(?:@?(?:event_?|start_?)?time(?:stamp)?|ts|dst|destination|target)(?:_\w+)?$/i;
/** What could be a measurement, but is not in a known form. */
const UNKNOWN: JsonFormat = {
  name: "unknown",
  isResult: (object) => Object.keys(object).some((name) => MEASURED.test(name)),
  findings: (object, options) => [unreadable(object, options)],
};

/**
 * The results in an object and their formats, in order: the object itself, or results anywhere inside it.
 * An object that could be a measurement has an unknown format if it is in a list with results, or if there are
 * no results.
 */
export function resultsIn(whole: JsonObject, options: ReadingOptions): [JsonObject, JsonFormat][] {
  const results: [JsonObject, JsonFormat][] = [];
  let unknown: JsonObject | undefined;
  let besideResults: Set<unknown> | undefined;
  const pending: unknown[] = [whole];
  while (pending.length > 0) {
    const object = objectOf(pending.pop());
    const format = formatOf(object, options);
    if (!format) {
      if (!Array.isArray(object) && UNKNOWN.isResult(object, options)) {
        if (besideResults?.has(object)) results.push([object, UNKNOWN]);
        else unknown ??= object;
      }
      const inner = Object.values(object).filter((each) => typeof each === "object" && each !== null);
      const isOfResults = Array.isArray(object) && inner.some((each) => formatOf(objectOf(each), options));
      if (isOfResults) besideResults ??= new Set();
      for (const each of inner.reverse()) {
        if (isOfResults) besideResults?.add(each);
        pending.push(each);
      }
      continue;
    }
    const reading = options.onReading && format.reading?.(object, options);
    if (reading) options.onReading?.(reading);
    results.push([object, format]);
  }
  return results.length > 0 || !unknown ? results : [[unknown, UNKNOWN]];
}

/** The format of a JSON result; undefined if the object is not a result. Named fields are those of a table. */
export function formatOf(object: JsonObject, options: ReadingOptions): JsonFormat | undefined {
  if (Array.isArray(object)) return undefined;
  const asked = options.format === undefined ? options.columns && NAMED_BY_COLUMNS : [options.format];
  for (const each of JSON_FORMATS) {
    if ((!asked || asked.includes(each.name)) && each.isResult(object, options)) return each;
  }
  return undefined;
}

/** Ends the results of a JSON file. @throws {FormatError} If they contradict each other. */
export function endResults(...[options, path, take]: Parameters<NonNullable<JsonFormat["end"]>>): void {
  for (const { end } of JSON_FORMATS) end?.(options, path, take);
}

/** Whether a text that begins with `head` is read as JSON. */
function beginsAsJson(head: string, { format }: ReadingOptions): boolean {
  const hasText = TEXT_FORMATS.some(({ name }) => name === format);
  if (format !== undefined && !hasText) return true;
  const hasJson = format === undefined || JSON_FORMATS.some(({ name }) => name === format);
  if (!hasJson || !/^\s*(?:\{\s*(?:$|["}])|\[\s*(?:$|[{[\]"]))/.test(head)) return false;
  return format !== undefined || !TEXT_FORMATS.some(({ isJsonHead }) => isJsonHead?.(head.trimStart()));
}

/**
 * Recognises a text by its first characters.
 *
 * @param head Without a byte order mark. @param isWhole Whether it is the whole text.
 * @returns Undefined if more of the text is needed.
 * @throws {NoMeasurementsError} If the format is unknown.
 */
export function recognise(
  head: string,
  isWhole: boolean,
  options: ReadingOptions,
  path: string,
): "json" | (typeof TEXT_FORMATS)[number] | undefined {
  const { format: name } = options;
  const isLast = isWhole || head.length >= MAX_HEAD_CHARACTERS;
  if (!isLast && head.length < MIN_HEAD_CHARACTERS) return undefined;
  if (beginsAsJson(head, options)) return "json";
  const lines = isLast ? head : head.slice(0, head.lastIndexOf("\n") + 1);
  const numLines = lines.split("\n").length - 1;
  const hasManyLines = numLines > (options.columns ? MAX_COMMENT_RECORDS : MAX_UNKNOWN_LINES);
  // `ping -f` writes backspaces.
  const isBinary = /[\0-\x07\x0e-\x1a\x1c-\x1f]/.test(head.slice(0, 512));
  if (name !== undefined) {
    const format = TEXT_FORMATS.find((each) => each.name === name);
    if (format && lines.trim() !== "") return format;
  } else if (!isBinary && lines.trim() !== "") {
    const sure = TEXT_FORMATS.find((each) => each.isSurely?.(lines, options));
    const format = sure ??
      TEXT_FORMATS.find((each) =>
        options.columns === undefined ? each.isHead(lines, options) : each.name === table.name
      );
    // Most texts contain a comma, so a table must not look like anything else.
    const isOther = format?.name === table.name && !sure && options.columns === undefined &&
      looksOf(head) !== undefined;
    if (isOther) throw unknownFormat(head, path, options);
    // JSON lines after something else, such as a program's greeting.
    if ((!format || format.name === table.name) && /^[{[]"/m.test(lines)) return "json";
    // First lines, or one with a comma, may be a greeting or an error; later lines decide.
    const isClear = format?.name !== table.name && (numLines >= MIN_LINES || SHOWN_RTT.test(lines));
    const isKnown = format && (sure || isLast || hasManyLines || isClear);
    if (isKnown) return format;
  }
  if (!isLast && !isBinary && !hasManyLines) return undefined;
  throw unknownFormat(head, path, options);
}

/** First bytes of files that do not contain measurements. */
const LOOKS: readonly (readonly [RegExp, string])[] = [
  [/^PK(?:\x03\x04|\x05\x06)/, "it looks like a zip archive or a spreadsheet (unpack it, or save it as CSV)"],
  [/^PAR1/, "it looks like Parquet, which is not read from a stream (name the file)"],
  [/^\s*<(?:!doctype html|html|head|body)/i, "it looks like HTML (a login or error page?)"],
  [/^\s*<\?xml|^\s*<rrd>/, "it looks like XML (of an RRD: rrdtool xport --json)"],
  [/^RRD\0/, "it looks like an RRD (rrdtool xport --json)"],
  [/^\x12\x05/, "it looks like warts of scamper (sc_warts2json)"],
  [/^\s*(?:HOST:|Start:)/i, `it looks like the output of mtr (${WRITE_CSV})`],
  [
    /^\s*(?:traceroute6? (?:to |\[)|tracing route|routenverfolgung|1 [^,;|\t]*\d ms\b)/im,
    "it looks like the output of traceroute",
  ],
  [/^Target Name: .*\n *IP: /, "it looks like a report of PingPlotter (export its samples as CSV)"],
  ...OTHER_TOOLS,
  [
    /^# (?:HELP|TYPE) \w|^# EOF$|^\w+\{[^}\n]*\} [\d.e+-]+ \d+$/m,
    "it looks like metrics of an exporter (use fetch prometheus once they are stored)",
  ],
  [
    /^\{[^}\n]*\} =>/,
    "it looks like the output of promtool (use fetch prometheus, or get JSON from the API)",
  ],
  [/^[^\n{"]{1,80} \{"\w+":/, "it looks like JSON lines with a prefix (remove what precedes each brace)"],
  [
    /^(?:> )?[\w-]+,[^\s,]+=\S* \w+=\S+(?: \d+)?$/m,
    "it looks like lines of InfluxDB or Telegraf (export CSV)",
  ],
  [/^(?:[^\0]\0){4}|^(?:\0[^\0]){4}/, "it looks like UTF-16 without a byte order mark (convert it to UTF-8)"],
  [/[\0-\x07\x0e-\x1a]/, "it looks like binary data"],
];

function looksOf(head: string): string | undefined {
  return LOOKS.find(([pattern]) => pattern.test(head.slice(0, 512)))?.[1];
}

function unknownFormat(head: string, path: string, { format }: ReadingOptions): NoMeasurementsError {
  const looks = looksOf(head);
  const names = FORMATS.map(({ name }) => name).join(", ");
  const choice = looks === undefined && format === undefined
    ? "choose one with --format NAME if it is one of these, select the columns of a table by number " +
      "(--columns time=1,dst=2,rtt=3), or "
    : "";
  return new NoMeasurementsError(
    {
      found: looks ?? `it begins with ${JSON.stringify(shortened(head.trimStart(), 40))}`,
      expected: `measurements as ${names} or parquet`,
      // Most of what it looks like says what to do.
      advice: looks?.endsWith(")") ? undefined : `${choice}convert it to CSV`,
    },
    { path },
  );
}

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
import { table } from "./table.ts";

/** In the order in which they are tried. */
export const FORMATS: readonly Format[] = [
  ...[atlas, globalping, scamper, prometheus, smokeping],
  ...[fping, ping, table],
];

/** Reports of `mtr --json` are counted under their name. Their RTTs are those of hops. */
const MTR: NonNullable<Format["json"]> = {
  isResult: ({ report }) => "mtr" in objectOf(report),
  findings: () => [{ skipped: "mtr" }],
};
const JSON_FORMATS = [
  ...FORMATS.flatMap(({ name, json }) => json ? [{ name, ...json }] : []),
  { name: "mtr", ...MTR },
];
const TEXT_FORMATS = FORMATS.flatMap(({ name, text }) => text ? [{ name, ...text }] : []);

/** Number of characters that may be needed to recognise a format. */
export const MAX_HEAD_CHARACTERS = 1 << 16;

/** After this many unknown lines, the format counts as unknown. */
const MAX_UNKNOWN_LINES = 1000;
/** A text that continues is recognised by its words only from this many lines on. */
const MIN_LINES = 8;
/** A text that continues is recognised only from this many characters on. */
export const MIN_HEAD_CHARACTERS = 32;

/** The kind under which objects without a result are counted. */
export const NOT_A_RESULT = "not a result";

export type JsonFormat = (typeof JSON_FORMATS)[number];

/** The results in an object and their formats, in order: the object itself, or results anywhere inside it. */
export function resultsIn(whole: JsonObject, options: ReadingOptions): [JsonObject, JsonFormat][] {
  const known = formatOf(whole, options);
  const say = (object: JsonObject, format: JsonFormat) => {
    const reading = options.onReading && format.reading?.(object, options);
    if (reading) options.onReading?.(reading);
  };
  if (known) {
    say(whole, known);
    return [[whole, known]];
  }
  const results: [JsonObject, JsonFormat][] = [];
  const pending: unknown[] = Object.values(whole).reverse();
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== "object" || value === null) continue;
    const object = value as JsonObject;
    const format = formatOf(object, options);
    if (format) {
      say(object, format);
      results.push([object, format]);
    } else for (const inner of Object.values(value).reverse()) pending.push(inner);
  }
  return results;
}

/** The format of a JSON result; undefined if the object is not a result. */
export function formatOf(object: JsonObject, options: ReadingOptions): JsonFormat | undefined {
  if (Array.isArray(object)) return undefined;
  const { format, columns } = options;
  // Named fields are read wherever they are, whatever else the object looks like.
  const named = columns && (format ?? table.name) === table.name
    ? JSON_FORMATS.find(({ name }) => name === table.name)
    : undefined;
  if (named?.isResult(object, options)) return named;
  for (const each of JSON_FORMATS) {
    if ((format === undefined || format === each.name) && each.isResult(object, options)) return each;
  }
  return undefined;
}

type Recognised = { kind: "json" } | { kind: "text"; format: (typeof TEXT_FORMATS)[number] };

/** Whether a text that begins with `head` is read as JSON. */
export function beginsAsJson(head: string, { format }: ReadingOptions): boolean {
  const hasText = TEXT_FORMATS.some(({ name }) => name === format);
  if (format !== undefined && !hasText) return true;
  const hasJson = format === undefined || JSON_FORMATS.some(({ name }) => name === format);
  if (!hasJson || !/^\s*(?:\{|\[\s*(?:$|[{[\]"]))/.test(head)) return false;
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
): Recognised | undefined {
  const { format: name } = options;
  const isLast = isWhole || head.length >= MAX_HEAD_CHARACTERS;
  if (!isLast && head.length < MIN_HEAD_CHARACTERS) return undefined;
  if (beginsAsJson(head, options)) return { kind: "json" };
  const lines = isLast ? head : head.slice(0, head.lastIndexOf("\n") + 1);
  const numLines = lines.split("\n").length - 1;
  const hasManyLines = numLines > MAX_UNKNOWN_LINES;
  // `ping -f` writes backspaces.
  // deno-lint-ignore no-control-regex
  const isBinary = /[\0-\x07\x0e-\x1a\x1c-\x1f]/.test(head.slice(0, 512));
  if (name !== undefined) {
    const format = TEXT_FORMATS.find((each) => each.name === name);
    if (format && lines.trim() !== "") return { kind: "text", format };
  } else if (!isBinary && lines.trim() !== "") {
    const sure = TEXT_FORMATS.find((each) => each.isSurely?.(lines, options));
    const format = sure ?? TEXT_FORMATS.find((each) => each.isHead(lines, options));
    // Most texts contain a comma, so a table must not look like anything else.
    const isOther = format?.name === table.name && !sure && options.columns === undefined &&
      looksOf(head) !== undefined;
    if (isOther) throw unknownFormat(head, path);
    // JSON lines after something else, such as a program's greeting.
    if ((!format || format.name === table.name) && /^[{[]"/m.test(lines)) return { kind: "json" };
    // First lines, or one with a comma, may be a greeting or an error; later lines decide.
    const isClear = format?.name !== table.name && numLines >= MIN_LINES;
    const isKnown = format && (sure || isLast || hasManyLines || isClear);
    if (isKnown) return { kind: "text", format };
  }
  if (!isLast && !isBinary && !hasManyLines) return undefined;
  throw unknownFormat(head, path);
}

/** First bytes of files that do not contain measurements. */
const LOOKS: readonly (readonly [RegExp, string])[] = [
  // deno-lint-ignore no-control-regex
  [/^PK(?:\x03\x04|\x05\x06)/, "it looks like a zip archive or a spreadsheet (unpack it, or save it as CSV)"],
  [/^SQLite format 3\0/, "it looks like an SQLite database (export a table as CSV)"],
  [/^PAR1/, "it looks like Parquet, which is not read from a stream (name the file)"],
  [/^ARROW1|^ORC/, "it looks like Arrow or ORC (convert it to Parquet)"],
  [/^%PDF/, "it looks like PDF"],
  [/^\s*<(?:!doctype html|html|head|body)/i, "it looks like HTML (a login or error page?)"],
  [/^\s*<\?xml|^\s*<rrd>/, "it looks like XML (of an RRD: rrdtool xport --json)"],
  [/^RRD\0/, "it looks like an RRD (rrdtool xport --json)"],
  // deno-lint-ignore no-control-regex
  [/^\x12\x05/, "it looks like warts of scamper (sc_warts2json)"],
  [/^\s*(?:mtr_version|HOST:|Start:)/i, "it looks like the output of mtr"],
  [
    /^\s*(?:traceroute6? (?:to |\[)|tracing route|routenverfolgung|1 [^,;|\t]*\d ms\b)/im,
    "it looks like the output of traceroute",
  ],
  [/^Target Name: .*\n *IP: /, "it looks like a report of PingPlotter (export its samples as CSV)"],
  ...OTHER_TOOLS,
  [
    /^# (?:HELP|TYPE) \w/m,
    "it looks like metrics of an exporter (fetch prometheus, once they are stored)",
  ],
  [/^[\w-]+,[^\s,]+=\S* \w+=\S+(?: \d+)?$/m, "it looks like lines of InfluxDB or Telegraf (export CSV)"],
  [/^\x7fELF|^MZ\x90/, "it looks like a program"],
  [/^(?:[^\0]\0){4}|^(?:\0[^\0]){4}/, "it looks like UTF-16 without a byte order mark (convert it to UTF-8)"],
  // deno-lint-ignore no-control-regex
  [/[\0-\x07\x0e-\x1a]/, "it looks like binary data"],
];

function looksOf(head: string): string | undefined {
  return LOOKS.find(([pattern]) => pattern.test(head.slice(0, 512)))?.[1];
}

function unknownFormat(head: string, path: string): NoMeasurementsError {
  const looks = looksOf(head) ?? `it begins with ${JSON.stringify(shortened(head.trimStart(), 40))}`;
  const names = FORMATS.map(({ name }) => name).join(", ");
  return new NoMeasurementsError(
    {
      found: looks,
      expected: `measurements as ${names} or parquet`,
      advice: "choose one with --format NAME if it is one of these, otherwise convert it to CSV",
    },
    { path },
  );
}

/** Parses points in time: ISO 8601 and its variants in databases, and Unix time. @module */
import type { Fault } from "../../base/errors.ts";
import { END_TIME_US, MIN_TIME_US } from "./batch.ts";

/**
 * A date, an optional time, and an optional zone whose minutes databases omit: `2026-01-01T00:00:00.123Z`,
 * `2026-01-01 00:00:00,123`, `2026-01-01 00:00:00 UTC` (BigQuery), `2026-01-01 00:00:00.123456789 +0000 UTC
 * m=+0.1` (Go), `2026/01/01 00:00:00`.
 */
const ISO_TIME =
  /^(\d{4}([-/])\d\d\2\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)(?: ?(?:[Zz]|UTC|GMT)| ?([+-]\d\d)(?::?(\d\d))?(?: [A-Z]{1,5}| [+-]\d\d(?:\d\d)?)?)?(?: m=[+-][\d.]+)?)?$/;

const ZONE = String.raw` (?<zone>UTC|GMT|[+-]\d\d:?\d\d)`;
const CLOCK = String.raw`(?<time>\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?)(?: (?<half>[AP]M))?`;
/**
 * Other dates with an unambiguous order and zone: `Thu Jan  1 00:00:00 UTC 2026` of `date`, `Thu, 01 Jan 2026
 * 00:00:00 +0000` of mail and HTTP, `01.01.2026 00:00:00`, `2026/1/1 0:00:00` and `2026-01-01 12:00:00 AM`.
 */
const OTHER_DATES: readonly string[] = [
  String.raw`(?:[A-Z][a-z]{2} )?(?<month>[A-Z][a-z]{2}) {1,2}(?<day>\d\d?) ${CLOCK}${ZONE} (?<year>\d{4})`,
  String.raw`(?:[A-Z][a-z]{2},? )?(?<day>\d\d?) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) ${CLOCK}${ZONE}`,
  String.raw`(?<day>\d\d?)\.(?<month>\d\d?)\.(?<year>\d{4}),? ${CLOCK}(?:${ZONE})?`,
  String.raw`(?<year>\d{4})[-/](?<month>\d\d?)[-/](?<day>\d\d?) ${CLOCK}(?:${ZONE})?`,
];
const OTHER_TIMES = OTHER_DATES.map((pattern) => new RegExp(`^${pattern}$`));
/** Matches any of {@link OTHER_DATES}, without named groups, so that it can be part of a larger pattern. */
export const OTHER_DATE: string = OTHER_DATES.map((each) => each.replace(/\(\?<\w+>/g, "(?:")).join("|");
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

const SLASHED_DATE = /^\d\d?\/\d\d?\/\d{4}\b/;
/**
 * Unix time. An exponent is accepted only if no digit is missing, as in `1.767225600000000000e+09` of numpy
 * and `1.7672256E9` of Java.
 */
const UNIX_TIME = /^\d+(?:[.,]\d+)?$|^\d\.(?:\d+e|\d{9,}e\+0?)9$/i;
/** A time shortened by spreadsheets or `%g`, such as `1.79577E+09`: thousands of seconds are missing. */
const CUT_NUMBER = /^\d(?:[.,]\d{1,6})?e\+/i;

/** Units of Unix time in microseconds. */
const UNITS_US = { seconds: 1e6, milliseconds: 1e3, microseconds: 1, nanoseconds: 1e-3 } as const;
export type TimeUnit = keyof typeof UNITS_US;

/** Why a text is not a time, and the unit that a number appears to have. */
export type TimeFault = Pick<Fault, "found" | "expected"> & { readonly unit?: TimeUnit };

/** The last date parsed and whether it exists, because many times share a date. */
let lastDate = "";
let isLastDate = false;

/**
 * Parses a point in time between 1990 and 2099.
 *
 * @param text An ISO 8601 date with an optional time, in UTC unless it names a zone; or Unix time.
 * @param unit The unit of Unix time.
 * @returns Microseconds since 1970, or the fault.
 */
export function parseTimeUs(
  text: string,
  unit: TimeUnit = "seconds",
): { timeUs: number } | { fault: TimeFault } {
  const isNumber = UNIX_TIME.test(text);
  const number = isNumber ? Number(text.replace(",", ".")) : NaN;
  const timeUs = isNumber ? Math.round(number * UNITS_US[unit]) : isoMicroseconds(text);
  if (isMeasured(timeUs)) return { timeUs };
  const expected = `a time as ISO 8601 or Unix ${unit}`;
  if (Number.isNaN(timeUs)) {
    const [, before, zone] = /^(.*\d) ?([A-Z]{3,5})$/.exec(text) ?? [];
    if (zone && isMeasured(isoMicroseconds(before))) {
      return {
        fault: { found: `the zone ${zone} is ambiguous`, expected: "UTC or an offset such as +01:00" },
      };
    }
    const found = ISO_TIME.test(text)
      ? "there is no such date or time"
      : SLASHED_DATE.test(text)
      ? "its day and month may be in either order"
      : CUT_NUMBER.test(text)
      ? "its last digits are missing"
      : "it is not a time";
    return { fault: { found, expected } };
  }
  const other = isNumber &&
    (Object.keys(UNITS_US) as TimeUnit[]).find((name) => isMeasured(number * UNITS_US[name]));
  if (!other && number >= 32_874 && number < 73_051) {
    return { fault: { found: "this looks like a day number of a spreadsheet", expected } };
  }
  if (!other) return { fault: { expected: "a time from 1990 to 2099" } };
  const example = Math.floor(number * UNITS_US[other] / UNITS_US[unit]);
  return {
    fault: { found: `these look like ${other}`, expected: `Unix ${unit}, such as ${example}`, unit: other },
  };
}

function isMeasured(timeUs: number): boolean {
  return timeUs >= MIN_TIME_US && timeUs < END_TIME_US;
}

/** NaN if invalid. `Date` alone would accept "-1" and 30 February, and assume local time without a zone. */
function isoMicroseconds(text: string): number {
  const match = ISO_TIME.exec(text) ?? ISO_TIME.exec(isoOf(text) ?? "");
  if (!match) return NaN;
  const [, written, , time = "00:00", zoneHours = "+00", zoneMinutes = "00"] = match;
  const date = written.replaceAll("/", "-");
  if (date !== lastDate) {
    const midnightMs = Date.parse(`${date}T00:00Z`);
    isLastDate = !Number.isNaN(midnightMs) && new Date(midnightMs).toISOString().startsWith(date);
    lastDate = date;
  }
  if (!isLastDate) return NaN;
  const [whole, decimals = ""] = time.split(/[.,]/);
  return Date.parse(`${date}T${whole}${zoneHours}:${zoneMinutes}`) * 1e3 +
    Number(decimals.slice(0, 6).padEnd(6, "0"));
}

/** Converts one of {@link OTHER_DATES} to ISO 8601. */
function isoOf(text: string): string | undefined {
  for (const pattern of OTHER_TIMES) {
    const { year, month, day, time, half, zone = "" } = pattern.exec(text)?.groups ?? {};
    if (year === undefined) continue;
    const number = /\d/.test(month) ? month : String(MONTHS.indexOf(month) + 1);
    const [hours, ...rest] = time.split(":");
    const hour = half === undefined ? Number(hours) : Number(hours) % 12 + (half === "PM" ? 12 : 0);
    const clock = [String(hour), ...rest].map((part) => part.padStart(2, "0")).join(":");
    return `${year}-${number.padStart(2, "0")}-${day.padStart(2, "0")}T${clock} ${zone}`.trimEnd();
  }
  return undefined;
}

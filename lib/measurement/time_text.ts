/** A point in time as people and programs write it: ISO 8601 or Unix time. @module */
import { END_TIME_US, MIN_TIME_US } from "./batch.ts";

/** Date, perhaps time, perhaps zone, whose minutes databases leave out. */
const ISO_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|([+-]\d\d)(?::?(\d\d))?)?)?$/;

/** Microseconds in the units of Unix time. */
const UNITS_US = { seconds: 1e6, milliseconds: 1e3, microseconds: 1, nanoseconds: 1e-3 } as const;
/** A unit of Unix time. */
export type TimeUnit = keyof typeof UNITS_US;

/** The date that was read last, and whether there is one like it: many times have the same. */
let lastDate = "";
let isLastDate = false;

/**
 * Reads a point in time of the years that measurements may have, 1990 to 2099.
 *
 * @param text An ISO 8601 date, perhaps with a time, in UTC unless it names a zone; or Unix time.
 * @param unit Of Unix time.
 * @returns Microseconds since 1970, or what is wrong with the text, for people.
 */
export function parseTimeUs(
  text: string,
  unit: TimeUnit = "seconds",
): { timeUs: number } | { fault: string } {
  const isNumber = /^\d+(?:\.\d+)?$/.test(text);
  const timeUs = isNumber ? Math.round(Number(text) * UNITS_US[unit]) : isoMicroseconds(text);
  if (isMeasured(timeUs)) return { timeUs };
  if (Number.isNaN(timeUs)) {
    const what = ISO_TIME.test(text) ? "there is no such date or time" : "it is no time";
    return { fault: `${what}, a time as ISO 8601 or Unix ${unit} was wanted` };
  }
  const other = isNumber &&
    (Object.keys(UNITS_US) as TimeUnit[]).find((name) => isMeasured(+text * UNITS_US[name]));
  if (!other) return { fault: "a time from 1990 to 2099 was wanted" };
  const example = Math.floor(+text * UNITS_US[other] / UNITS_US[unit]);
  return { fault: `these look like ${other}, Unix ${unit} were wanted, such as ${example}` };
}

function isMeasured(timeUs: number): boolean {
  return timeUs >= MIN_TIME_US && timeUs < END_TIME_US;
}

/** NaN if it is none; `Date` alone would take "-1" for a date, local time where no zone is given, and 30 February. */
function isoMicroseconds(text: string): number {
  const match = ISO_TIME.exec(text);
  if (!match) return NaN;
  const [, date, time = "00:00", zoneHours = "+00", zoneMinutes = "00"] = match;
  if (date !== lastDate) {
    const midnightMs = Date.parse(`${date}T00:00Z`);
    isLastDate = !Number.isNaN(midnightMs) && new Date(midnightMs).toISOString().startsWith(date);
    lastDate = date;
  }
  if (!isLastDate) return NaN;
  const [whole, decimals = ""] = time.split(".");
  return Date.parse(`${date}T${whole}${zoneHours}:${zoneMinutes}`) * 1e3 +
    Number(decimals.slice(0, 6).padEnd(6, "0"));
}

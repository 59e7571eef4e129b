/** A point in time as people write it: ISO 8601 or Unix seconds. @module */
import { END_TIME_US, MIN_TIME_US } from "../measurement/row_selection.ts";

const [MIN_TIME_S, END_TIME_S] = [MIN_TIME_US / 1e6, END_TIME_US / 1e6];

/** Date, perhaps time, perhaps zone. */
const ISO_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/;

const WANTED = "a time as ISO 8601 or Unix seconds was wanted";

/** What numbers are taken for that are no Unix seconds of measurements but would be in smaller units. */
const SMALLER_UNITS = [["milliseconds", 1e3], ["microseconds", 1e6], ["nanoseconds", 1e9]] as const;

/**
 * Reads a point in time of the years that measurements may have, 1990 to 2099.
 *
 * @param text An ISO 8601 date, perhaps with a time, in UTC unless it names a zone; or Unix seconds.
 * @returns Unix seconds, or what is wrong with the text, for people.
 */
export function parseTimeS(text: string): { timeS: number } | { fault: string } {
  const isNumber = /^\d+$/.test(text);
  const timeS = isNumber ? Number(text) : isoSeconds(text);
  if (isMeasured(timeS)) return { timeS };
  if (Number.isNaN(timeS)) {
    return { fault: `${ISO_TIME.test(text) ? "there is no such date or time" : "it is no time"}, ${WANTED}` };
  }
  const unit = isNumber ? SMALLER_UNITS.find(([, perSecond]) => isMeasured(timeS / perSecond)) : undefined;
  if (!unit) return { fault: "a time from 1990 to 2099 was wanted" };
  const [name, perSecond] = unit;
  return {
    fault: `these look like ${name}, Unix seconds were wanted, such as ${Math.floor(timeS / perSecond)}`,
  };
}

function isMeasured(timeS: number): boolean {
  return timeS >= MIN_TIME_S && timeS < END_TIME_S;
}

/** NaN if it is none; `Date` alone would take "-1" for a date, local time where no zone is given, and 30 February. */
function isoSeconds(text: string): number {
  const match = ISO_TIME.exec(text);
  if (!match) return NaN;
  const [, date, time = "00:00", zone = "Z"] = match;
  const midnightMs = Date.parse(`${date}T00:00Z`);
  const exists = !Number.isNaN(midnightMs) && new Date(midnightMs).toISOString().startsWith(date);
  return exists ? Math.floor(Date.parse(`${date}T${time}${zone}`) / 1000) : NaN;
}

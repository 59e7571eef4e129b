/** Parses points in time: ISO 8601 and its variants, the output of `date`, and Unix time. @module */
import type { Fault } from "../../base/errors.ts";
import { END_TIME_US, MIN_TIME_US } from "./batch.ts";

/** No time is longer. It bounds the work for each text. */
export const MAX_TIME_CHARACTERS = 64;
const CLOCK = String
  .raw`(?<hour>\d\d?):(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,](?<decimals>\d+))?)?(?!\d)(?: ?(?<half>[AP]M)\b)?`;
/** `EST`, as opposed to levels of a log (`INFO`) and the first words of ping. */
const ZONE_WORD = String.raw`(?:UTC|GMT|[A-Z]{2,3}T|MSK|WIB)\b`;
const OFFSET = String.raw`[+-]\d\d(?::?\d\d)?(?!\d)`;
/** Go writes the offset, the name and its own clock: `+0000 UTC m=+0.1`. */
const ZONE = String
  .raw`(?: ?(?<zone>[Zz](?!\w)|${OFFSET}|${ZONE_WORD})(?: (?:${ZONE_WORD}|${OFFSET}))?(?: m=[+-][\d.]+)?)?`;
/** Dates: ISO 8601 and databases, `date`, mail and HTTP, German, and slashes. */
const FORMS = [
  String.raw`(?<year>\d{4})(?<mark>[-/])(?<month>\d\d?)\k<mark>(?<day>\d\d?)(?:[Tt ]${CLOCK}${ZONE})?`,
  String
    .raw`(?:[A-Z][a-z]{2} )?(?<name>[A-Z][a-z]{2}) {1,2}(?<day>\d\d?) ${CLOCK}${ZONE}(?: (?<year>\d{4})\b)?`,
  String.raw`(?:[A-Z][a-z]{2},? )?(?<day>\d\d?) (?<name>[A-Z][a-z]{2}) (?<year>\d{4}) ${CLOCK}${ZONE}`,
  String.raw`(?<day>\d\d?)\.(?<month>\d\d?)\.(?<year>\d{4}),? ${CLOCK}${ZONE}`,
  String.raw`(?:[A-Z][a-z]{2} )?(?<slashed>\d\d?\/\d\d?\/\d{4})\b(?:,? ${CLOCK})?`,
].map((form) => new RegExp(`^(?:${form})`));
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
/** Zones whose letters have one meaning in practice. `--zone` is for the others, such as IST and CST. */
const ZONES: Readonly<Record<string, string>> = {
  ...{ Z: "+00", z: "+00", UTC: "+00", GMT: "+00", CET: "+01", CEST: "+02", EET: "+02", EEST: "+03" },
  ...{ MSK: "+03", JST: "+09", EST: "-05", EDT: "-04", PST: "-08", PDT: "-07" },
};

/**
 * Unix time. An exponent is accepted only if no digit is missing, as in `1.767225600000000000e+09` of numpy
 * and `1.7672256E9` of Java.
 */
const UNIX_TIME = /^\d+(?:[.,]\d+)?$|^\d\.(?:\d+e|\d{9,}e\+0?)9$/i;
const LEADING_UNIX_TIME = /^(?:\d{9}\.\d+|\d{10}(?:\.\d+)?)/;
/** Units of Unix time in microseconds. */
const UNITS_US = { seconds: 1e6, milliseconds: 1e3, microseconds: 1, nanoseconds: 1e-3 } as const;
export type TimeUnit = keyof typeof UNITS_US;

/** Why a text is not a time, and the unit that a number appears to have. */
export type TimeFault = Pick<Fault, "found" | "expected"> & {
  readonly unit?: TimeUnit;
  /** Whether the time can be read if its zone is given. */
  readonly needsZone?: boolean;
};
type ParsedTime = { timeUs: number } | { fault: TimeFault };

type Parts = Readonly<Record<string, string | undefined>>;

/** A time at the beginning of a text, with its parts as written, some of which may be missing. */
export interface WrittenTime {
  readonly text: string;
  readonly parts: Parts;
}

export function timeAtStart(head: string): WrittenTime | undefined {
  const [unix] = LEADING_UNIX_TIME.exec(head) ?? [];
  if (unix !== undefined) return { text: unix, parts: { unix } };
  for (const form of FORMS) {
    const found = form.exec(head);
    if (found?.groups) return { text: found[0], parts: found.groups };
  }
  return undefined;
}

/**
 * Parses a point in time between 1990 and 2099.
 *
 * @param text A date with an optional time of day, or Unix time.
 * @param unit The unit of Unix time.
 * @param zone The zone of times without one, as an IANA name or an offset; UTC by default.
 * @returns Microseconds since 1970, or the fault.
 */
export function parseTimeUs(text: string, unit: TimeUnit = "seconds", zone?: string): ParsedTime {
  const isShort = text.length <= MAX_TIME_CHARACTERS;
  if (isShort && UNIX_TIME.test(text)) return unixTime(Number(text.replace(",", ".")), unit);
  const written = isShort ? timeAtStart(text) : undefined;
  if (written?.text.length === text.length) return writtenTimeUs(written, unit, zone);
  return { fault: { found: "it is not a time", expected: `a time as ISO 8601 or Unix ${unit}` } };
}

/** The instant of a written time. @param stated The zone that it states. */
export function writtenTimeUs(
  { parts }: WrittenTime,
  unit: TimeUnit,
  zone: string | undefined,
  stated: string | undefined = parts.zone,
): ParsedTime {
  if (parts.unix) return unixTime(Number(parts.unix), unit);
  const expected = `a time as ISO 8601 or Unix ${unit}`;
  const fault = (found: string) => ({ fault: { found, expected } });
  if (parts.slashed) return fault("the order of day and month is ambiguous");
  if (!parts.year) return fault("the year is missing");
  const localMs = localMilliseconds(parts);
  if (Number.isNaN(localMs)) return fault("this date or time does not exist");
  const known = ZONES[stated ?? ""] ?? (/^[+-]/.test(stated ?? "") ? stated : undefined);
  if (known === undefined && zone === undefined && (stated !== undefined || parts.name !== undefined)) {
    const found = stated ? `the zone ${stated} is ambiguous` : "the zone is missing";
    return { fault: { found, expected: "UTC or an offset such as +01:00", needsZone: true } };
  }
  const offsetMs = offsetOf(known ?? zone ?? "+00", localMs);
  if (typeof offsetMs === "string") {
    return { fault: { found: offsetMs, expected: "UTC or an offset such as +01:00" } };
  }
  const { decimals } = parts;
  const microseconds = decimals === undefined ? 0 : Math.floor(Number(`0.${decimals}`) * 1e6 + 1e-6);
  const timeUs = (localMs - offsetMs) * 1e3 + microseconds;
  return isMeasured(timeUs) ? { timeUs } : { fault: { expected: "a time from 1990 to 2099" } };
}

function unixTime(number: number, unit: TimeUnit): ParsedTime {
  const timeUs = Math.round(number * UNITS_US[unit]);
  if (isMeasured(timeUs)) return { timeUs };
  const other = (Object.keys(UNITS_US) as TimeUnit[]).find((name) => isMeasured(number * UNITS_US[name]));
  if (other) {
    const example = Math.floor(number * UNITS_US[other] / UNITS_US[unit]);
    const found = `it looks like ${other}`;
    return { fault: { found, expected: `Unix ${unit}, such as ${example}`, unit: other } };
  }
  return { fault: { expected: "a time from 1990 to 2099" } };
}

function isMeasured(timeUs: number): boolean {
  return timeUs >= MIN_TIME_US && timeUs < END_TIME_US;
}

/** Milliseconds since 1970 on the local clock, in whole seconds; NaN if this date or time does not exist. */
function localMilliseconds(parts: Parts): number {
  const { name, half, minute = 0, second = 0 } = parts;
  const month = name === undefined ? Number(parts.month) - 1 : MONTHS.indexOf(name);
  const [day, hour] = [Number(parts.day), Number(parts.hour ?? 0)];
  const hours = half === undefined ? hour : hour % 12 + (half === "PM" ? 12 : 0);
  const localMs = Date.UTC(Number(parts.year), month, day, hours, Number(minute), Number(second));
  const date = new Date(localMs);
  const isDate = date.getUTCMonth() === month && date.getUTCDate() === day && date.getUTCHours() === hours;
  const isClock = half === undefined ? hour < 24 : hour >= 1 && hour <= 12;
  return isDate && isClock && Number(minute) < 60 && Number(second) < 60 ? localMs : NaN;
}

const QUARTER_MS = 900_000;
const MAX_OFFSETS = 1 << 12;
/** Offsets by zone and quarter of an hour of the local clock, in which they do not change. */
const zoneOffsets = new Map<string, number | string>();

/** Whether a text is an IANA name of a zone, or an offset such as `+01:00`. */
export function isZone(zone: string): boolean {
  return typeof offsetOf(zone, 0) === "number";
}

/** The offset from UTC at a local time, in ms, or why there is none. */
function offsetOf(zone: string, localMs: number): number | string {
  if (zone === "+00") return 0;
  const [, sign, hours, minutes = "0"] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  if (sign !== undefined) {
    const isReal = Number(hours) <= 14 && Number(minutes) < 60;
    const offset = Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60_000;
    return isReal ? offset : `invalid offset ${zone}`;
  }
  const key = `${zone} ${Math.floor(localMs / QUARTER_MS)}`;
  let offset = zoneOffsets.get(key);
  if (offset !== undefined) return offset;
  const local = Temporal.Instant.fromEpochMilliseconds(localMs).toZonedDateTimeISO("UTC").toPlainDateTime();
  try {
    offset = local.toZonedDateTime(zone, { disambiguation: "reject" }).offsetNanoseconds / 1e6;
  } catch {
    // When summer time begins and ends.
    offset = `this time does not exist or exists twice in the zone ${zone}`;
  }
  if (zoneOffsets.size === MAX_OFFSETS) zoneOffsets.clear();
  zoneOffsets.set(key, offset);
  return offset;
}

/** Durations as options: `90`, `90s`, `1.5h`, `1h30m`. @module */
import { UsageError } from "../errors.ts";

const SECONDS_OF_UNIT: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3600, d: 86400 };

/**
 * Reads a duration.
 *
 * @param text A number of seconds, or numbers with the units d, h, m, s.
 * @param option The option's name without dashes, for the error.
 * @returns Seconds, more than 0.
 * @throws {UsageError} If it is none.
 */
export function parseDurationS(text: string, option: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)([dhms]|$)/g)];
  const seconds = parts.reduce((sum, [, number, unit]) => sum + Number(number) * SECONDS_OF_UNIT[unit], 0);
  if (parts.map(([part]) => part).join("") !== text || !(seconds > 0)) {
    throw new UsageError(`Cannot use --${option} ${text}: a duration was wanted, such as 90s, 30m or 1h30m`);
  }
  return seconds;
}

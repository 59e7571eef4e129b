/** A point in time of a question, to the second. @module */
import { parseTimeUs } from "../measurement/time_text.ts";

/**
 * Reads a point in time of the years that measurements may have, 1990 to 2099.
 *
 * @param text An ISO 8601 date, perhaps with a time, in UTC unless it names a zone; or Unix seconds.
 * @returns Unix seconds, or what is wrong with the text, for people.
 */
export function parseTimeS(text: string): { timeS: number } | { fault: string } {
  const parsed = parseTimeUs(text);
  return "fault" in parsed ? parsed : { timeS: Math.floor(parsed.timeUs / 1e6) };
}

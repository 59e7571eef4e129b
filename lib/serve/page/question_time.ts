/** The time of a question as its field says it: empty is now, `any` is any time, else ISO 8601 in UTC. @module */
import { parseTimeUs } from "../../data/measurement/time_text.ts";

/** The text in the field of the time that means any time. */
export const ANY_TIME = "any";

/**
 * The time that a question asks for.
 *
 * @param text The text of the field.
 * @param nowMs The present, milliseconds since 1970.
 * @returns Unix seconds, null for any time, or what is wrong with the text.
 */
export function questionTimeS(text: string | undefined, nowMs: number): number | null | { fault: string } {
  if (!text) return Math.floor(nowMs / 60_000) * 60;
  if (text === ANY_TIME) return null;
  const time = parseTimeUs(text);
  return "fault" in time ? time : time.timeUs / 1e6;
}

/** A time for people, in UTC: `2025-07-01 12:30`. */
export function formatTime(timeS: number | null): string {
  return timeS === null ? "any time" : `${inputTime(timeS).replace("T", " ")} UTC`;
}

/** A time for people, to the second. */
export function formatSecond(timeS: number | null): string {
  if (timeS === null) return "any time";
  return `${new Date(timeS * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** A time as an input of type datetime-local takes it. */
export function inputTime(timeS: number): string {
  return new Date(timeS * 1000).toISOString().slice(0, 16);
}

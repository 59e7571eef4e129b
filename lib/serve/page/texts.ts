/** Formats RTTs, probabilities and times for people. @module */
import { faultText } from "../../base/errors.ts";
import { formatAge } from "../../data/addresses/measured_text.ts";
import type { ModelAnswer } from "../api/schemas.ts";
import { parseTimeUs } from "../../data/formats/time_text.ts";

/** Three digits at most, with a unit: `0.42 ms`, `15.3 ms`, `154 ms`, `2.31 s`, `1.2 h`. */
export function formatMs(rttMs: number): string {
  if (rttMs < 1000) return `${figures(rttMs)} ms`;
  const seconds = rttMs / 1000;
  if (seconds < 60) return `${figures(seconds)} s`;
  if (seconds < 3600) return `${figures(seconds / 60)} min`;
  return seconds < 86400 ? `${figures(seconds / 3600)} h` : `${figures(seconds / 86400)} d`;
}

/** A range of RTTs. A common unit is written once: `149–161 ms`. */
export function formatRange(lowMs: number, highMs: number): string {
  const [low, high] = [formatMs(lowMs), formatMs(highMs)];
  if (low === high) return low;
  const [number, unit] = low.split(" ");
  return high.endsWith(` ${unit}`) ? `${number}–${high}` : `${low} – ${high}`;
}

/** Examples: `31.7 %`, `1.38 %`, `0.002 %`, `< 0.001 %`. */
export function formatPercent(probability: number): string {
  const percent = probability * 100;
  if (percent === 0) return "0 %";
  if (percent < 0.001) return "< 0.001 %";
  if (percent < 1) return `${Number(percent.toPrecision(1))} %`;
  return percent > 99.9 && percent < 100 ? "> 99.9 %" : `${figures(percent)} %`;
}

/** Examples: `0.34`, `0.0021`, `3e-7`. */
export function formatPValue(p: number): string {
  if (p >= 0.001) return String(Number(p.toPrecision(2)));
  return p === 0 ? "0" : p.toExponential(0);
}

/** Rounds to three digits, but keeps all digits of the integer part. */
function figures(value: number): string {
  if (value >= 99.95) return Math.round(value).toString();
  if (value >= 9.995) return value.toFixed(1);
  return value >= 0.0095 ? value.toFixed(2) : String(Number(value.toPrecision(1)));
}

/** Special values of the time field; others are ISO 8601 in UTC. The default is {@link startTime}. */
export const ANY_TIME = "any";
export const NOW = "now";

/** First and last time of a model's data, Unix seconds. */
interface Period {
  readonly startS: number;
  readonly endS: number;
}

/** Undefined if unknown. */
export function periodOf(data: ModelAnswer["data"] | undefined): Period | undefined {
  if (!data?.start || !data.end) return undefined;
  const ends = [data.end, data.adaptation?.end].flatMap((end) => end ? Date.parse(end) / 1000 : []);
  return { startS: Date.parse(data.start) / 1000, endS: Math.max(...ends) };
}

/** Whether a time is later than the end of the data by more than their duration. */
function isFarAfter({ startS, endS }: Period, timeS: number): boolean {
  return timeS - endS > endS - startS;
}

/** The default time of questions: now, or any time if the data are old. */
export function startTime(period: Period | undefined, nowMs: number): typeof ANY_TIME | typeof NOW {
  return period && isFarAfter(period, nowMs / 1000) ? ANY_TIME : NOW;
}

/** A warning if the data are old at the time of a question. @param timeS See {@link questionTimeS}. */
export function timeWarning(
  period: Period | undefined,
  timeS: ReturnType<typeof questionTimeS>,
  nowMs: number,
): string | undefined {
  if (!period || typeof timeS === "object" && timeS !== null) return undefined;
  const isAny = timeS === null;
  const laterS = isAny ? nowMs / 1000 : timeS;
  if (!isFarAfter(period, laterS)) return undefined;
  const end = `The data end on ${inputTime(period.endS).slice(0, 10)}`;
  if (isAny) return `${end}: answers are for a random moment in the data's period.`;
  return `${end}, ${formatAge(laterS - period.endS)} before this time: paths may have changed.`;
}

/** Parses the time field: Unix seconds, null for any time, or the fault in the text. */
export function questionTimeS(text: string | undefined, nowMs: number): number | null | { fault: string } {
  if (!text || text === NOW) return Math.floor(nowMs / 60_000) * 60;
  if (text === ANY_TIME) return null;
  const time = parseTimeUs(text);
  return "fault" in time ? { fault: faultText(time.fault) } : time.timeUs / 1e6;
}

/** In UTC, for people: `2025-07-01 12:30 UTC`. */
export function formatTime(timeS: number | null): string {
  return timeS === null ? "any time" : `${inputTime(timeS).replace("T", " ")} UTC`;
}

export function formatSecond(timeS: number | null): string {
  if (timeS === null) return "any time";
  return `${new Date(timeS * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** The format of a datetime-local input. */
export function inputTime(timeS: number): string {
  return new Date(timeS * 1000).toISOString().slice(0, 16);
}

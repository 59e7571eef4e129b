/** Formats probabilities for people, and reads and formats the times of questions. @module */
import { faultText } from "../../base/errors.ts";
import { threeDigits } from "../../base/text.ts";
import { formatAge } from "../../data/addresses/measured_text.ts";
import type { ModelAnswer } from "../api/schemas.ts";
import { parseTimeUs } from "../../data/formats/time_text.ts";

/** Examples: `31.7 %`, `1.38 %`, `0.002 %`, `< 0.001 %`. */
export function formatPercent(probability: number): string {
  const percent = probability * 100;
  if (percent === 0) return "0 %";
  if (percent < 0.001) return "< 0.001 %";
  if (percent < 1) return `${Number(percent.toPrecision(1))} %`;
  return percent > 99.9 && percent < 100 ? "> 99.9 %" : `${threeDigits(percent)} %`;
}

/** Examples: `0.34`, `0.0021`, `3e-7`. */
export function formatPValue(p: number): string {
  if (p >= 0.001) return String(Number(p.toPrecision(2)));
  return p === 0 ? "0" : p.toExponential(0);
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

/** A time to the minute: `2026-01-31T12:00`. */
export function inputTime(timeS: number): string {
  return new Date(timeS * 1000).toISOString().slice(0, 16);
}

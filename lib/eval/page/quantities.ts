/**
 * Text and table cells for the numbers on the page of an evaluation.
 *
 * @module
 */
import { formatShare, threeDigits } from "../../base/text.ts";
import type { TableCell } from "../../base/report/page.ts";
import type { Interval } from "../metrics/bootstrap.ts";
import type { Coverage } from "../metrics/calibration.ts";
import { type ErrorMetrics, errorOf } from "../metrics/forecast_errors.ts";
import { type ComparedMetric, MEASURE_OF, type RttComparison } from "../metrics/rtt_comparison.ts";
import type { BaselineMetrics } from "../sections/rtt_section.ts";

export const NONE = "–";

export const METRIC_NAMES: Record<ComparedMetric, string> = {
  medianAbsoluteMs: "median absolute error",
  likeliestAbsoluteMs: "median absolute error of the likeliest RTT",
  meanAbsoluteMs: "mean absolute error",
  nmae: "NMAE",
  p50Relative: "median relative error",
  p90Relative: "relative error (90th percentile)",
  crpsMs: "CRPS",
};

/** The level of the intervals whose coverage is in tables of several metrics. */
const SHOWN_LEVEL = 0.9;

const SHARES: readonly ComparedMetric[] = ["nmae", "p50Relative", "p90Relative"];

export const KIND_OF = { better: "wins", worse: "loses", none: "same" } as const;

export function msText(ms: number | null): string {
  return ms === null ? NONE : `${threeDigits(ms)} ms`;
}

/** An interval in brackets, in the unit of the number before it: ` [4.30, 4.90]`; empty if there is none. */
export function intervalText(interval: Interval | null | undefined, textOf = signedMs): string {
  return interval ? ` [${textOf(interval[0])}, ${textOf(interval[1])}]` : "";
}

/** As {@link intervalText}, for shares in percent. */
export function percentIntervalText(interval: Interval | null | undefined): string {
  return intervalText(interval, (share) => (100 * share).toFixed(1).replace("-", "−"));
}

export function metricText(metric: ComparedMetric, value: number | null): string {
  return SHARES.includes(metric) ? formatShare(value) : msText(value);
}

export function metricIntervalText(metric: ComparedMetric, interval: Interval | null): string {
  return SHARES.includes(metric) ? percentIntervalText(interval) : intervalText(interval);
}

export function valueCell(text: string, interval: string): TableCell {
  return { text, note: interval.trim() };
}

/** The best baseline of a comparison, with its value and the interval of the difference. */
export function rivalText(
  { metric, bestBaseline, baseline, differenceInterval }: RttComparison,
  separator: string,
): string {
  const interval = metricIntervalText(metric, differenceInterval);
  const difference = interval === "" ? "" : `; difference${interval}`;
  return `${bestBaseline}${separator}${metricText(metric, baseline)}${difference}`;
}

/** A number of the model with its interval; below it the best baseline. The verdict sets the colour. */
export function comparedCell(
  metric: ComparedMetric,
  errors: ErrorMetrics,
  comparisons: readonly RttComparison[],
): TableCell {
  const measure = MEASURE_OF[metric];
  const text = metricText(metric, errorOf(measure, errors)) +
    metricIntervalText(metric, errors.intervals[measure]);
  const comparison = comparisons.find((each) => each.metric === metric);
  return comparison ? { text, note: rivalText(comparison, ": "), kind: KIND_OF[comparison.verdict] } : text;
}

export function insideOf(coverage: readonly Coverage[] | undefined): number | null {
  return coverage?.find(({ level }) => level === SHOWN_LEVEL)?.share ?? null;
}

/**
 * The share inside the model's 90 % intervals; below it the share inside corrected intervals, and that of the
 * baseline nearest to 90 %.
 */
export function insideCell(
  coverage: readonly Coverage[],
  { corrected, baselines = [] }: {
    corrected?: readonly Coverage[] | undefined;
    baselines?: readonly Pick<BaselineMetrics, "name" | "coverage">[];
  } = {},
): TableCell {
  const found = coverage.find(({ level }) => level === SHOWN_LEVEL);
  const nearest = baselines.flatMap(({ name, coverage }) => {
    const share = insideOf(coverage);
    return share === null ? [] : [{ name, share, distance: Math.abs(share - SHOWN_LEVEL) }];
  }).toSorted((a, b) => a.distance - b.distance).at(0);
  const notes: string[] = [];
  if (corrected) notes.push(`corrected: ${formatShare(insideOf(corrected))}`);
  if (nearest) notes.push(`${nearest.name}: ${formatShare(nearest.share)}`);
  return {
    text: `${formatShare(found?.share ?? null)}${percentIntervalText(found?.interval)}`,
    note: notes.join("; "),
  };
}

export function levelHeadings(coverage: readonly Pick<Coverage, "level">[]): string[] {
  return coverage.map(({ level }) => `${formatShare(level, 0)} interval`);
}

/** Three digits, so that small scores can be distinguished. */
export function scoreText(value: number | null): string {
  return value === null ? NONE : String(Number(value.toPrecision(3))).replace("-", "−");
}

function signedMs(ms: number): string {
  if (ms === 0) return "0";
  return `${ms < 0 ? "−" : ""}${threeDigits(Math.abs(ms))}`;
}

export function fixedText(value: number | null, digits = 2): string {
  return value === null ? NONE : value.toFixed(digits);
}

/** With commas between thousands. */
export function countText(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function capital(text: string): string {
  return text[0].toUpperCase() + text.slice(1);
}

/** An error relative to another: `+12 %`, `64×`. */
export function ratioText(ratio: number): string {
  if (ratio >= 2) return `${Number(ratio.toPrecision(2))}×`;
  const percent = 100 * (ratio - 1);
  const digits = Math.abs(percent) < 1 ? 1 : 0;
  return `${percent < 0 ? "−" : "+"}${Math.abs(percent).toFixed(digits)} %`;
}

/**
 * Shares, times and distributions as reports show them.
 *
 * @module
 */
import type { ValueHistogram } from "./value_histogram.ts";

/** A share as text: `12.3 %`. */
export function formatShare(share: number): string {
  return `${(100 * share).toFixed(share > 0 && share < 0.001 ? 3 : 1)} %`;
}

/** A time as text: ISO 8601 in UTC, without fractions where there are none. */
export function formatTime(timeUs: number): string {
  const date = new Date(timeUs / 1000);
  return Number.isNaN(date.getTime()) ? `${timeUs} µs` : date.toISOString().replace(".000Z", "Z");
}

/** A number with four figures. */
export function formatValue(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e6
    ? String(value)
    : String(Number(value.toPrecision(4)));
}

/** The quantiles that are shown and reported. */
const QUANTILES = [0.5, 0.9, 0.99] as const;

/** `min 1, p50 3, p90 9, p99 12, max 20` with a unit. */
export function formatDistribution(values: ValueHistogram, unit: string): string {
  if (values.count === 0) return "none";
  const quantiles = QUANTILES.map((q) => `p${100 * q} ${formatValue(values.quantile(q))}`);
  return [`min ${formatValue(values.min)}`, ...quantiles, `max ${formatValue(values.max)}`].join(", ") +
    (unit ? ` ${unit}` : "");
}

/** The same for a program; null where there are no values. */
export function distributionAsJson(values: ValueHistogram): Record<string, number> | null {
  if (values.count === 0) return null;
  return {
    min: values.min,
    ...Object.fromEntries(QUANTILES.map((q) => [`p${100 * q}`, values.quantile(q)])),
    max: values.max,
    mean: values.mean,
  };
}

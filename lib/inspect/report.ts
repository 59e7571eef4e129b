/**
 * What an inspection found, for a person and for a program.
 *
 * @module
 */
import type { ValueHistogram } from "./value_histogram.ts";

/** How an inspection is done. */
export interface InspectOptions {
  /** How many samples to show. */
  samples: number;
  /** T: the length of sequences for which packing is tried, tokens. */
  sequenceLength: number;
  /** Seed of the packing. */
  seed: number;
  /** What a damaged ArrayRecord chunk means: an error, or records to leave out and count. */
  onCorrupt: "error" | "skip";
  /** Aborts the inspection. */
  signal?: AbortSignal;
  /** Called often with the number of rows or records read so far. */
  onProgress?: (done: number, path: string) => void;
}

/** What was found in files of one kind. */
export interface Report {
  /** The kind of the files, such as `probe rows`. */
  kind: string;
  /** The path that was asked about. */
  path: string;
  /** Label and value, in the order to show. */
  facts: [label: string, value: string][];
  /** Lines of samples under a heading, shown after the facts. */
  sections: { heading: string; lines: string[] }[];
  /** The same for a program; `kind` and `path` are added. */
  json: Record<string, unknown>;
}

const LABEL_WIDTH = 20;

/** Draws reports as text. */
export function describeReports(reports: readonly Report[]): string {
  return reports.map(({ kind, path, facts, sections }) =>
    [
      `${kind}: ${path}`,
      ...facts.map(([label, value]) => `  ${label.padEnd(LABEL_WIDTH)}${value}`),
      ...sections.flatMap(({ heading, lines }) =>
        lines.length === 0 ? [] : ["", `  ${heading}`, ...lines.map((line) => `    ${line}`)]
      ),
    ].join("\n")
  ).join("\n\n");
}

/** Reports as one JSON object: one report's own, or a list of them. */
export function reportsAsJson(reports: readonly Report[]): Record<string, unknown> {
  const objects = reports.map(({ kind, path, json }) => ({ kind, path, ...json }));
  return objects.length === 1
    ? { stage: "inspect", ...objects[0] }
    : { stage: "inspect", kind: "several", reports: objects };
}

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

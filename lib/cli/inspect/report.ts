/**
 * The results of an inspection, as text and as JSON.
 *
 * @module
 */
import type { Histogram, ValueHistogram } from "./histogram.ts";

/** The options of an inspection. */
export interface InspectOptions {
  /** The number of samples to show. */
  samples: number;
  /** T: the length of sequences for which packing is computed, tokens. */
  sequenceLength: number;
  /** Vocabulary of the token samples of measurements; none by default. Probe rows are shown in v2. */
  vocabulary?: "v1" | "v2";
  /** Seed of the packing. */
  seed: number;
  /** Whether a damaged ArrayRecord chunk is an error, or is skipped and counted. */
  onCorrupt: "error" | "skip";
  /** Aborts the inspection. */
  signal?: AbortSignal;
  /** Called often with the number of rows or records read so far. */
  onProgress?: (done: number, path: string) => void;
}

/** Files of one kind, or one folder, and the path from the command line. */
export interface Target {
  path: string;
  files: string[];
}

/** A JSON object. */
export type Json = Record<string, unknown>;

/** A label, its value as text (undefined: not shown), and its values for JSON. */
export type Fact = readonly [label: string, value: string | undefined, json?: Json];

/** A heading, samples as text (not shown if there are none), and their values for JSON. */
export type Section = readonly [heading: string, lines: readonly string[], json?: Json];

/** The results for files of one kind. */
export interface Report {
  /** The kind of the files, such as `probe rows`. */
  kind: string;
  /** The inspected path. */
  path: string;
  /** In the order to show. */
  facts: readonly Fact[];
  /** Shown after the facts. */
  sections?: readonly Section[];
  /** The histograms of a picture; absent if there are none. */
  histograms?: readonly Histogram[];
}

const LABEL_WIDTH = 20;

/** Shows reports as text. */
export function describeReports(reports: readonly Report[]): string {
  return reports.map(({ kind, path, facts, sections = [] }) => {
    const lines = [`${kind}: ${path}`];
    for (const [label, value] of facts) {
      if (value !== undefined) lines.push(`  ${label.padEnd(LABEL_WIDTH - 1)} ${value}`);
    }
    for (const [heading, samples] of sections) {
      if (samples.length > 0) lines.push("", `  ${heading}`, ...samples.map((line) => `    ${line}`));
    }
    return lines.join("\n");
  }).join("\n\n");
}

export function reportAsJson({ kind, path, facts, sections = [] }: Report): Json {
  return Object.assign({ kind, path }, ...[...facts, ...sections].map(([, , json]) => json));
}

/** Reports as one JSON object: one report's own, or a list of them. */
export function reportsAsJson(reports: readonly Report[]): Json {
  const objects = reports.map(reportAsJson);
  return objects.length === 1
    ? { ...objects[0], stage: "inspect" }
    : { stage: "inspect", kind: "several", reports: objects };
}

/** A number of files as text. */
export function formatFiles(count: number): string {
  return `${count} file${count === 1 ? "" : "s"}`;
}

/** The values of an object with their names, as text. */
export function formatPairs(pairs: object): string {
  return Object.entries(pairs).map(([key, value]) => `${key} ${JSON.stringify(value)}`).join(", ") || "none";
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

/** The shown and reported quantiles. */
const QUANTILES = [0.5, 0.9, 0.99] as const;

/** A distribution of values as a fact. @param json Its key in JSON; the value is null if there are no values. */
export function distributionFact(label: string, values: ValueHistogram, unit: string, json: string): Fact {
  if (values.count === 0) return [label, "none", { [json]: null }];
  const { min, max, mean } = values;
  const quantiles = Object.fromEntries(QUANTILES.map((q) => [`p${100 * q}`, values.quantile(q)]));
  const parts = Object.entries({ min, ...quantiles, max }).map(([name, value]) =>
    `${name} ${formatValue(value)}`
  );
  return [label, `${parts.join(", ")} ${unit}`.trim(), { [json]: { min, ...quantiles, max, mean } }];
}

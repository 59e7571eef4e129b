/**
 * What an inspection found, for a person and for a program.
 *
 * @module
 */
import type { Histogram } from "./histogram_plot.ts";

/** How an inspection is done. */
export interface InspectOptions {
  /** How many samples to show. */
  samples: number;
  /** T: the length of sequences for which packing is tried, tokens. */
  sequenceLength: number;
  /** Vocabulary of the token samples of measurements; none by default. Probe rows are shown in v2. */
  vocabulary?: "v1" | "v2";
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
  /** What a picture of it shows; absent if there is nothing to draw. */
  histograms?: readonly Histogram[];
  /** The same for a program; `kind` and `path` are added. */
  json: Record<string, unknown>;
}

const LABEL_WIDTH = 20;

/** Draws reports as text. */
export function describeReports(reports: readonly Report[]): string {
  return reports.map(({ kind, path, facts, sections }) =>
    [
      `${kind}: ${path}`,
      ...facts.map(([label, value]) => `  ${label.padEnd(LABEL_WIDTH - 1)} ${value}`),
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

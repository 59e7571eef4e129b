/**
 * Histograms as one SVG picture.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import { type OutputFileOptions, writeOutputFile } from "../files/output_file.ts";
import { histogramChart } from "../plot/charts.ts";
import { type Chart, renderPicture } from "../plot/svg.ts";
import type { Bin, ValueHistogram } from "./value_histogram.ts";

/** A histogram to be drawn. */
export interface Histogram {
  /** What is counted, such as `RTT, ms`; stands below the axis. */
  label: string;
  /** What the height of a bar is, such as `measurements`. */
  countLabel: string;
  /** How bins are placed; times are ms since 1970, on a logarithmic axis all bounds are above 0. */
  scale: "log" | "time";
  bins: Bin[];
}

/** The histograms of one report. */
export interface HistogramGroup {
  title: string;
  histograms: readonly Histogram[];
}

/** A histogram on a logarithmic axis. */
export function logHistogram(label: string, countLabel: string, values: ValueHistogram): Histogram {
  return { label, countLabel, scale: "log", bins: values.logBins() };
}

const DAY_MS = 86_400_000;

/**
 * Writes histograms as SVG, the same bytes for the same counts.
 *
 * @param path The file to write.
 * @param groups What to draw, one group below the other.
 * @param options Who writes it, and what that reads.
 * @throws {UserError} If there is nothing to draw or the file cannot be written.
 */
export async function plotHistograms(
  path: string,
  groups: readonly HistogramGroup[],
  options: OutputFileOptions,
): Promise<void> {
  const filled = groups.map(({ title, histograms }) => ({
    title,
    histograms: histograms.filter(({ bins }) => bins.length > 0),
  })).filter(({ histograms }) => histograms.length > 0);
  if (filled.length === 0) {
    throw new UserError(
      `Cannot plot ${path}: nothing that was inspected has histograms, measurements or probe rows were wanted; ` +
        `leave out --plot`,
    );
  }
  const vconcat = filled.map(({ title, histograms }) => ({
    title,
    columns: 2,
    concat: histograms.map(chartOf),
  }));
  const resolve = { scale: { x: "independent", y: "independent" } };
  writeOutputFile(path, await renderPicture({ vconcat, resolve }), options);
}

function chartOf({ label, countLabel, scale, bins }: Histogram): Chart {
  return histogramChart({
    bins: bins.map(({ low, high, count }) => ({ low, high, value: count })),
    x: {
      title: label,
      scale: scale === "log" ? "log" : "utc",
      format: scale === "log" ? "~s" : timeFormat(bins),
    },
    y: { title: countLabel, scale: "linear", format: "~s" },
    width: 360,
    height: 180,
  });
}

/** Days where the bins span several, else the time of day too. */
function timeFormat(bins: readonly Bin[]): string {
  const spanMs = bins[bins.length - 1].high - bins[0].low;
  return spanMs > 3 * DAY_MS ? "%Y-%m-%d" : "%b %d %H:%M";
}

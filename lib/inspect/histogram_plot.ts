/**
 * Histograms as one SVG picture.
 *
 * @module
 */
import type { TopLevelSpec } from "vega-lite";
import { UserError } from "../errors.ts";
import { type OutputFileOptions, writeOutputFile } from "../files/output_file.ts";
import { renderSvg, VEGA_LITE_SCHEMA } from "../plot/svg.ts";
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

const PLOT_WIDTH = 360;
const PLOT_HEIGHT = 180;
const NUM_COLUMNS = 2;
const DAY_MS = 86_400_000;
/** Tableau's blue, Vega's own first colour. */
const BAR_COLOR = "#4c78a8";

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
  writeOutputFile(path, await renderSvg(specOf(filled)), options);
}

function specOf(groups: readonly HistogramGroup[]): TopLevelSpec {
  return {
    $schema: VEGA_LITE_SCHEMA,
    background: "white",
    padding: 12,
    vconcat: groups.map(({ title, histograms }) => ({
      title: { text: title, anchor: "start", fontSize: 14 },
      columns: NUM_COLUMNS,
      concat: histograms.map(plotOf),
    })),
    resolve: { scale: { x: "independent", y: "independent" } },
    config: { view: { stroke: "transparent" }, axis: { grid: false }, axisY: { grid: true, tickCount: 5 } },
  };
}

function plotOf({ label, countLabel, scale, bins }: Histogram) {
  const axis = scale === "log" ? { format: "~s" } : { format: timeFormat(bins), labelOverlap: true };
  const scaleType = scale === "log" ? "log" as const : "utc" as const;
  return {
    width: PLOT_WIDTH,
    height: PLOT_HEIGHT,
    data: { values: bins.map((bin) => ({ ...bin })) },
    mark: { type: "bar" as const, color: BAR_COLOR, stroke: "white", strokeWidth: 0.3 },
    encoding: {
      x: {
        field: "low",
        type: scale === "log" ? "quantitative" as const : "temporal" as const,
        scale: { type: scaleType, nice: false },
        axis: { title: label, ...axis },
      },
      x2: { field: "high" },
      y2: { datum: 0 },
      y: { field: "count", type: "quantitative" as const, axis: { title: countLabel, format: "~s" } },
    },
  };
}

/** Days where the bins span several, else the time of day too. */
function timeFormat(bins: readonly Bin[]): string {
  const spanMs = bins[bins.length - 1].high - bins[0].low;
  return spanMs > 3 * DAY_MS ? "%Y-%m-%d" : "%b %d %H:%M";
}

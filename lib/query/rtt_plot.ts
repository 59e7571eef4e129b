/**
 * The distribution of an RTT as a picture: its density on a logarithmic axis, with quantiles marked.
 *
 * @module
 */
import type { TopLevelSpec } from "vega-lite";
import { formatMs } from "../cli/histogram.ts";
import { renderSvg, VEGA_LITE_SCHEMA } from "../plot/svg.ts";
import type { RttDistribution } from "./rtt_distribution.ts";

const NUM_BARS = 160;
const PLOT_WIDTH = 560;
const PLOT_HEIGHT = 260;
/** Tableau's blue and red, Vega's own first colours. */
const DENSITY_COLOR = "#4c78a8";
const QUANTILE_COLOR = "#e45756";
/** Labels of quantiles above each other are this far apart, in pixels. */
const LABEL_HEIGHT = 12;
/** The width of a label and the space after it, in pixels. */
const LABEL_WIDTH = 66;

/** Row 0 just above the plot, the next ones above it. */
const ROW_SCALE = { domain: [0, 1], range: [-2, -2 - LABEL_HEIGHT], clamp: false, nice: false, zero: false };

/** What stands in the picture besides the density. */
export interface RttPlotOptions {
  /** Between what, such as `192.0.2.1 -> 198.51.100.7`. */
  readonly title: string;
  /** Below the title, such as how many addresses were drawn. */
  readonly subtitle?: string;
  /** Quantiles to mark, 0 to 1. */
  readonly quantiles: readonly number[];
}

/**
 * Draws a distribution from its 0.5 % to its 99.5 % quantile.
 *
 * @returns SVG; the same text for the same distribution.
 */
export async function plotRttDistribution(
  distribution: RttDistribution,
  options: RttPlotOptions,
): Promise<string> {
  return await renderSvg(specOf(distribution, options));
}

function specOf(distribution: RttDistribution, { title, subtitle, quantiles }: RttPlotOptions): TopLevelSpec {
  const bars = distribution.histogram(NUM_BARS);
  const [lowMs, highMs] = [bars[0].lowMs, bars[bars.length - 1].highMs];
  const scale = { type: "log" as const, domain: [lowMs, highMs], nice: false };
  const marks = marksOf(distribution, quantiles, [lowMs, highMs]);
  const failed = `no reply ${(distribution.pFailed * 100).toPrecision(3)} %`;
  return {
    $schema: VEGA_LITE_SCHEMA,
    background: "white",
    padding: 12,
    width: PLOT_WIDTH,
    height: PLOT_HEIGHT,
    title: {
      text: `RTT ${title} · ${failed}`,
      ...(subtitle !== undefined && { subtitle }),
      ...{ anchor: "start", fontSize: 14, offset: 10 },
    },
    layer: [
      {
        data: { values: bars.map(densityOf) },
        mark: { type: "bar", color: DENSITY_COLOR, binSpacing: 0 },
        encoding: {
          x: { field: "lowMs", type: "quantitative", scale, axis: { title: "RTT, ms", format: "~g" } },
          x2: { field: "highMs" },
          y: { field: "density", type: "quantitative", axis: { title: "probability per decade" } },
          y2: { datum: 0 },
        },
      },
      {
        data: { values: marks },
        encoding: { x: { field: "rttMs", type: "quantitative", scale } },
        layer: [
          { mark: { type: "rule", color: QUANTILE_COLOR, strokeDash: [4, 3] } },
          {
            mark: { type: "text", color: QUANTILE_COLOR, baseline: "bottom", fontSize: 10 },
            encoding: {
              y: { field: "row", type: "quantitative", scale: ROW_SCALE, axis: null },
              text: { field: "label", type: "nominal" },
            },
          },
        ],
      },
    ],
    resolve: { scale: { y: "independent" } },
    config: { view: { stroke: "transparent" }, axis: { grid: false }, axisY: { grid: true, tickCount: 5 } },
  };
}

function densityOf({ lowMs, highMs, probability }: { lowMs: number; highMs: number; probability: number }) {
  return { lowMs, highMs, density: probability / Math.log10(highMs / lowMs) };
}

/** A mark for each quantile in the picture, its label in the lowest row that has room for it. */
function marksOf(
  distribution: RttDistribution,
  quantiles: readonly number[],
  [lowMs, highMs]: readonly [number, number],
): { rttMs: number; label: string; row: number }[] {
  const lastOfRow: number[] = [];
  return quantiles.toSorted((a, b) => a - b).flatMap((q) => {
    const rttMs = distribution.quantileMs(q);
    if (rttMs < lowMs || rttMs > highMs) return [];
    const place = PLOT_WIDTH * Math.log(rttMs / lowMs) / Math.log(highMs / lowMs);
    const free = lastOfRow.findIndex((last) => place - last >= LABEL_WIDTH);
    const row = free < 0 ? lastOfRow.length : free;
    lastOfRow[row] = place;
    return [{ rttMs, row, label: `${+(q * 100).toFixed(4)} %: ${formatMs(rttMs)}` }];
  });
}

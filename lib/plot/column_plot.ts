/**
 * A histogram of shares that should be alike: columns, and lines between which chance puts them.
 *
 * @module
 */
import type { TopLevelSpec } from "vega-lite";
import { VEGA_LITE_SCHEMA } from "./svg.ts";
import { ACCENT, INK, PAGE_CONFIG, TITLE_ABOVE } from "./theme.ts";

/** What is drawn. */
export interface ColumnPlot {
  /** Share of the cases in each of as many equal parts of 0 to 1; they sum to 1. */
  shares: readonly number[];
  /** How many cases there are; gives the band in which 95 % of fair columns lie. */
  count: number;
  xTitle: string;
  yTitle: string;
  width: number;
  height: number;
}

/** 95 % of a normal distribution lie within so many standard deviations. */
const Z95 = 1.96;

/** The Vega-Lite specification of the columns. */
export function specOfColumns({ shares, count, xTitle, yTitle, width, height }: ColumnPlot): TopLevelSpec {
  const fair = 1 / shares.length;
  const half = Z95 * Math.sqrt(fair * (1 - fair) / Math.max(1, count));
  const high = 1.08 * Math.max(fair + half, ...shares);
  const x = {
    field: "low",
    type: "quantitative",
    scale: { domain: [0, 1] },
    axis: { title: xTitle, format: "~r", tickCount: 5 },
  };
  const y = {
    field: "share",
    type: "quantitative",
    scale: { domain: [0, high], nice: false },
    axis: {
      title: yTitle,
      format: ".0%",
      tickCount: 4,
      ...TITLE_ABOVE,
    },
  };
  const values = shares.map((share, i) => ({ share, low: i * fair + 0.002, high: (i + 1) * fair - 0.002 }));
  return {
    $schema: VEGA_LITE_SCHEMA,
    autosize: { type: "none" },
    padding: { left: 56, right: 16, top: 26, bottom: 44 },
    width,
    height,
    layer: [
      {
        data: { values },
        mark: { type: "bar", color: ACCENT, opacity: 0.65 },
        encoding: { x, x2: { field: "high" }, y, y2: { datum: 0 } },
      },
      ...[fair, fair - half, fair + half].map((share) => ({
        data: { values: [{ low: 0, high: 1, share: Math.max(0, share) }] },
        mark: { type: "rule", color: INK, strokeWidth: 1, ...(share === fair ? {} : { strokeDash: [2, 4] }) },
        encoding: { x, x2: { field: "high" }, y },
      })),
    ],
    config: PAGE_CONFIG,
  } as TopLevelSpec;
}

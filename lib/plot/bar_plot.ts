/**
 * Horizontal bars with their names at the left and their values at their ends.
 *
 * @module
 */
import type { TopLevelSpec } from "vega-lite";
import { textWidthPx } from "./labels.ts";
import { VEGA_LITE_SCHEMA } from "./svg.ts";
import { ACCENT, CONTRAST, FOURTH, MUTED, PAGE_CONFIG, THIRD } from "./theme.ts";

/** A bar. */
export interface PlotBar {
  label: string;
  /** At least 0. */
  value: number;
  /** What stands at its end. */
  text: string;
  /** Which colour, 0 to 3. */
  rank?: 0 | 1 | 2 | 3;
}

/** What is drawn. */
export interface BarPlot {
  bars: readonly PlotBar[];
  /** What the length is, with its unit. */
  title: string;
  /** Of the longest bar, in pixels. */
  width: number;
  /** A value that is marked across all bars, with its name. */
  reference?: { value: number; label: string };
}

const ROW_PX = 22;
const FONT_PX = 12;
const COLORS = [ACCENT, CONTRAST, THIRD, FOURTH];

/** The Vega-Lite specification of bars, in their order. */
export function specOfBars({ bars, title, width, reference }: BarPlot): TopLevelSpec {
  const longestPx = (texts: readonly string[]) =>
    Math.max(0, ...texts.map((text) => textWidthPx(text, FONT_PX)));
  const height = bars.length * ROW_PX;
  const high = Math.max(reference?.value ?? 0, ...bars.map(({ value }) => value)) || 1;
  const values = bars.map(({ rank = 0, ...bar }, i) => ({ ...bar, row: i, color: COLORS[rank] }));
  const y = {
    field: "row",
    type: "ordinal",
    axis: null,
    scale: { padding: 0.25, domain: bars.map((_, i) => i) },
  };
  const x = { field: "value", type: "quantitative", axis: null, scale: { domain: [0, high] } };
  return {
    $schema: VEGA_LITE_SCHEMA,
    autosize: { type: "none" },
    padding: {
      left: longestPx(bars.map(({ label }) => label)) + 10,
      right: longestPx(bars.map(({ text }) => text)) + 10,
      top: reference ? 40 : 24,
      bottom: 4,
    },
    width,
    height,
    data: { values },
    layer: [
      {
        mark: "bar",
        encoding: { y, x, color: { field: "color", type: "nominal", scale: null } },
      },
      {
        mark: { type: "text", align: "right", baseline: "middle", dx: -8 },
        encoding: { y, x: { value: 0 }, text: { field: "label" } },
      },
      {
        mark: { type: "text", align: "left", baseline: "middle", dx: 6, color: MUTED },
        encoding: { y, x, text: { field: "text" } },
      },
      {
        data: { values: [{}] },
        mark: { type: "text", text: title, align: "left", baseline: "bottom", color: MUTED },
        encoding: { x: { value: 0 }, y: { value: reference ? -22 : -6 } },
      },
      ...(reference ? referenceOf(reference, { high, height }) : []),
    ],
    config: PAGE_CONFIG,
  } as TopLevelSpec;
}

function referenceOf(
  { value, label }: { value: number; label: string },
  { high, height }: { high: number; height: number },
) {
  const x = { datum: value, type: "quantitative", axis: null, scale: { domain: [0, high] } };
  return [
    {
      data: { values: [{}] },
      mark: { type: "rule", color: MUTED, strokeDash: [4, 4] },
      encoding: { x, y: { value: -4 }, y2: { value: height } },
    },
    {
      data: { values: [{}] },
      mark: { type: "text", text: label, align: "center", baseline: "bottom", color: MUTED },
      encoding: { x, y: { value: -6 } },
    },
  ];
}

/**
 * Values as points along a line, a line for each group: how far the values of a group lie apart.
 *
 * @module
 */
import type { TopLevelSpec } from "vega-lite";
import { textWidthPx } from "./labels.ts";
import { VEGA_LITE_SCHEMA } from "./svg.ts";
import { ACCENT, INK, MUTED, PAGE_CONFIG, RULE } from "./theme.ts";

/** A group of values. */
export interface StripRow {
  label: string;
  values: readonly number[];
  /** What stands at the right of the row. */
  text: string;
}

/** What is drawn. */
export interface StripPlot {
  rows: readonly StripRow[];
  /** What the values are, with their unit. */
  title: string;
  /** In pixels, without labels. */
  width: number;
}

const ROW_PX = 34;
const FONT_PX = 12;

/** The Vega-Lite specification of the rows, in their order; a short line stands at each mean. */
export function specOfStrips({ rows, title, width }: StripPlot): TopLevelSpec {
  const all = rows.flatMap(({ values }) => values);
  const margin = 0.06 * (Math.max(...all) - Math.min(...all)) || 1;
  const x = {
    field: "value",
    type: "quantitative",
    scale: { domain: [Math.min(...all) - margin, Math.max(...all) + margin], nice: false, zero: false },
    axis: { title, tickCount: 6, format: "~r" },
  };
  const y = { field: "row", type: "ordinal", axis: null, scale: { domain: rows.map((_, row) => row) } };
  const longestPx = (texts: readonly string[]) =>
    Math.max(0, ...texts.map((text) => textWidthPx(text, FONT_PX)));
  const points = rows.flatMap(({ values }, row) => values.map((value) => ({ row, value })));
  const means = rows.map(({ values }, row) => ({
    row,
    value: values.reduce((sum, value) => sum + value, 0) / values.length,
  }));
  const texts = rows.map(({ label, text }, row) => ({ row, label, text }));
  return {
    $schema: VEGA_LITE_SCHEMA,
    autosize: { type: "none" },
    padding: {
      left: longestPx(rows.map(({ label }) => label)) + 14,
      right: longestPx(rows.map(({ text }) => text)) + 16,
      top: 6,
      bottom: 44,
    },
    width,
    height: rows.length * ROW_PX,
    layer: [
      {
        data: { values: texts },
        mark: { type: "rule", color: RULE },
        encoding: { y, x: { value: 0 }, x2: { value: width } },
      },
      {
        data: { values: points },
        mark: { type: "point", filled: true, color: ACCENT, size: 60, opacity: 0.55 },
        encoding: { x, y },
      },
      {
        data: { values: means },
        mark: { type: "tick", color: INK, thickness: 2, size: 20 },
        encoding: { x, y },
      },
      {
        data: { values: texts },
        mark: { type: "text", align: "right", baseline: "middle" },
        encoding: { y, x: { value: -10 }, text: { field: "label" } },
      },
      {
        data: { values: texts },
        mark: { type: "text", align: "left", baseline: "middle", color: MUTED },
        encoding: { y, x: { value: width + 12 }, text: { field: "text" } },
      },
    ],
    config: PAGE_CONFIG,
  } as TopLevelSpec;
}

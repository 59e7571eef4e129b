/**
 * Pictures as SVG, drawn by Vega-Lite (https://vega.github.io/vega-lite/docs/).
 *
 * Vega is loaded only when a picture is drawn, because nothing else needs it.
 *
 * @module
 */
import type { TopLevelSpec } from "vega-lite";
import { CONFIG, onWhite } from "./theme.ts";

/** A Vega-Lite specification, its data included, without settings of its own. */
export type Chart = Readonly<Record<string, unknown>>;

/**
 * Draws a picture for a page, whose CSS variables are its colours.
 *
 * @returns One `svg` element and a newline; the same text for the same chart.
 */
export async function renderSvg(chart: Chart): Promise<string> {
  const [vega, { compile }] = await Promise.all([import("vega"), import("vega-lite")]);
  // Without a canvas Vega overestimates the width of letters and reserves too much space.
  const { textMetrics } = vega as unknown as { textMetrics: { width: typeof widthPx } };
  textMetrics.width = widthPx;
  // Otherwise ids continue from picture to picture.
  vega.resetSVGDefIds();
  const spec = { $schema: "https://vega.github.io/schema/vega-lite/v6.json", config: CONFIG, ...chart };
  const view = new vega.View(vega.parse(compile(spec as unknown as TopLevelSpec).spec), { renderer: "none" });
  try {
    return await view.toSVG() + "\n";
  } finally {
    view.finalize();
  }
}

/** An upper estimate of a text's width in the fonts of pages. */
function widthPx({ fontSize = 11 }: { fontSize?: number }, text: unknown): number {
  return 0.64 * fontSize * String(text ?? "").trim().length;
}

/** Draws a picture for a separate file, on white. @param chart The chart. */
export async function renderPicture(chart: Chart): Promise<string> {
  return onWhite(await renderSvg({ background: "white", padding: 12, ...chart }));
}

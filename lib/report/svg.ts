/**
 * Pictures as SVG, drawn by Vega-Lite (https://vega.github.io/vega-lite/docs/).
 *
 * Vega is loaded when a picture is asked for and not before: nothing else of the program needs it.
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
 * @param chart What to draw.
 * @returns One `svg` element and a newline; the same text for the same chart.
 */
export async function renderSvg(chart: Chart): Promise<string> {
  const [vega, { compile }] = await Promise.all([import("vega"), import("vega-lite")]);
  // Without a canvas Vega takes letters for wider than they are, and leaves room for them.
  const { textMetrics } = vega as unknown as { textMetrics: { width: typeof widthPx } };
  textMetrics.width = widthPx;
  // Ids count on from picture to picture otherwise.
  vega.resetSVGDefIds();
  const spec = { $schema: "https://vega.github.io/schema/vega-lite/v6.json", config: CONFIG, ...chart };
  const view = new vega.View(vega.parse(compile(spec as unknown as TopLevelSpec).spec), { renderer: "none" });
  try {
    return await view.toSVG() + "\n";
  } finally {
    view.finalize();
  }
}

/** About how wide a text is in the fonts of pages; on the safe side. */
function widthPx({ fontSize = 11 }: { fontSize?: number }, text: unknown): number {
  return 0.64 * fontSize * String(text ?? "").trim().length;
}

/** Draws a picture for a file of its own, on white. @param chart What to draw. */
export async function renderPicture(chart: Chart): Promise<string> {
  return onWhite(await renderSvg({ background: "white", padding: 12, ...chart }));
}

/**
 * Draws charts with Vega-Lite. `charts.ts` loads this module when it draws the first one, by a URL that no
 * tool follows: nothing else needs Vega, which is most of the packages.
 *
 * @module
 */
import * as vega from "vega";
import { compile, type TopLevelSpec } from "vega-lite";

/** @returns One `svg` element; the same text for the same specification. */
export async function drawSvg(spec: unknown): Promise<string> {
  // Without a canvas, Vega overestimates the width of letters and reserves too much space.
  const { textMetrics } = vega as unknown as { textMetrics: { width: typeof widthPx } };
  textMetrics.width = widthPx;
  // Otherwise ids continue from one picture to the next.
  vega.resetSVGDefIds();
  const view = new vega.View(vega.parse(compile(spec as TopLevelSpec).spec), { renderer: "none" });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}

/** An upper estimate of a text's width in the fonts of pages. */
function widthPx({ fontSize = 11 }: { fontSize?: number }, text: unknown): number {
  return 0.64 * fontSize * String(text ?? "").trim().length;
}

/**
 * Pictures as SVG, drawn by Vega-Lite (https://vega.github.io/vega-lite/docs/).
 *
 * Vega is loaded when a picture is asked for and not before: nothing else of the program needs it.
 *
 * @module
 */
import type { TopLevelSpec } from "vega-lite";

/** Vega-Lite specifications of this version are rendered. */
export const VEGA_LITE_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json";

/**
 * Draws a picture.
 *
 * @param spec What to draw, its data included.
 * @returns One `svg` element and a newline; the same text for the same specification.
 */
export async function renderSvg(spec: TopLevelSpec): Promise<string> {
  const [vega, { compile }] = await Promise.all([import("vega"), import("vega-lite")]);
  // Ids count on from picture to picture otherwise.
  vega.resetSVGDefIds();
  const view = new vega.View(vega.parse(compile(spec).spec), { renderer: "none" });
  try {
    return await view.toSVG() + "\n";
  } finally {
    view.finalize();
  }
}

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { specOfBars } from "../../lib/plot/bar_plot.ts";
import { specOfColumns } from "../../lib/plot/column_plot.ts";
import { type LinePlot, specOfLines } from "../../lib/plot/line_plot.ts";
import { specOfReliability } from "../../lib/plot/reliability_plot.ts";
import { renderSvg } from "../../lib/plot/svg.ts";

/** The texts of a picture. */
function textsOf(svg: string): string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
}

/** Coordinates of the corners of the paths of the marks of a kind, mark by mark. */
function pathsOf(svg: string, kind: string): number[][][] {
  return [...svg.matchAll(new RegExp(`mark-${kind} [^>]*>(.*?)</g>`, "g"))].flatMap(([, group]) =>
    [...group.matchAll(/ d="([^"]*)"/g)].map(([, d]) =>
      [...d.matchAll(/[ML](-?[\d.]+),(-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)])
    )
  );
}

const LINES: LinePlot = {
  curves: [
    { label: "model", points: [{ x: 1, y: 100 }, { x: 10, y: 10 }], rank: 0 },
    { label: "other", points: [{ x: 1, y: 10 }, { x: 10, y: 10 }, { x: 0, y: 5 }, { x: 5, y: NaN }] },
    { label: "nothing", points: [] },
  ],
  x: { title: "context", scale: "log", format: "~g" },
  y: { title: "error, ms", scale: "log", format: "~g", domain: [1, 100] },
  width: 200,
  height: 100,
  labels: "end",
};

Deno.test("specOfLines() draws what can be drawn, the main curve on top, names apart at the ends", async () => {
  const svg = await renderSvg(specOfLines(LINES));
  const lines = pathsOf(svg, "line");
  assertEquals(lines.length, 2);
  assertEquals(lines.map((points) => points.length), [2, 2]);
  const [other, model] = lines;
  assertEquals(other.map(([, y]) => y), [50, 50]);
  assertEquals(model.map(([, y]) => y), [0, 50]);
  const texts = textsOf(svg);
  for (const text of ["model", "other", "error, ms", "context"]) assert(texts.includes(text), text);
  assert(!texts.includes("nothing"));
  const heights = [...svg.matchAll(/translate\(212,([\d.]+)\)/g)].map(([, y]) => Number(y));
  assertEquals(heights.length, 2);
  // Both wanted to be at 50; text of 12 px in the middle of a line stands 4 px lower.
  assertEquals(heights.map((y) => y - 4).sort(), [42.5, 57.5]);
});

Deno.test("specOfBars() draws bars in their order, as long as their values", async () => {
  const bars = [{ label: "a", value: 2, text: "2.0" }, { label: "b", value: 4, text: "4.0" }];
  const reference = { value: 3, label: "mean" };
  const svg = await renderSvg(specOfBars({ bars, title: "bits", width: 100, reference }));
  const widths = [...svg.matchAll(/d="M0,[\d.]+h([\d.]+)/g)].map(([, width]) => Number(width)).slice(-2);
  assertEquals(widths, [50, 100]);
  const texts = textsOf(svg);
  for (const text of ["a", "b", "2.0", "4.0", "bits", "mean"]) assert(texts.includes(text), text);
});

Deno.test("specOfReliability() puts what is right on the diagonal, with the error bars of few cases", async () => {
  const points = [{ promised: 0.25, observed: 0.25, count: 10 }, { promised: 0.5, observed: 0.9 }];
  const svg = await renderSvg(specOfReliability({ points, xTitle: "promised", yTitle: "came", size: 100 }));
  assertStringIncludes(svg, "translate(25,75)");
  assertMatch(svg, /translate\(50,(10|9\.9999\d*)\)/);
  // Wilson's interval of 2.5 of 10 is 0.081 to 0.558.
  const rule = svg.match(/mark-rule role-mark layer_1_marks".*?y2="(-?[\d.]+)"/);
  assert(rule && Math.abs(Math.abs(Number(rule[1])) - 47.69) < 0.01, rule?.[1]);
  const log = await renderSvg(specOfReliability({
    ...{ points: [{ promised: 0.01, observed: 0.01 }, { promised: 0, observed: 0.1 }], scale: "log" },
    ...{ xTitle: "promised", yTitle: "came", size: 100 },
  }));
  assertEquals(textsOf(log).filter((text) => text === "1%").length, 2);
});

Deno.test("specOfColumns() draws the shares and where chance puts them", async () => {
  const svg = await renderSvg(specOfColumns({
    ...{ shares: [0.5, 0.5], count: 100, xTitle: "x", yTitle: "y", width: 100, height: 100 },
  }));
  // 0.5 of 1.08 (0.5 + 1.96 sqrt(0.25 / 100)).
  const heights = [...svg.matchAll(/M[\d.]+,[\d.]+h[\d.]+v([\d.]+)/g)].map(([, height]) => Number(height));
  const expected = 100 * 0.5 / (1.08 * 0.598);
  assertEquals(heights.filter((height) => Math.abs(height - expected) < 0.01).length, 2);
});

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import {
  histogramChart,
  type LineChart,
  lineChart,
  renderPicture,
  renderSvg,
  rowChart,
  spanChart,
} from "../../../lib/base/report/charts.ts";

function textsOf(svg: string): string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
}

/** The texts between the tags of marks of a kind, one group of marks after the other. */
function marksOf(svg: string, kind: string): string[] {
  return [...svg.matchAll(new RegExp(`mark-${kind} role-mark [^>]*>(.*?)</g>`, "g"))].map(([, group]) =>
    group
  );
}

/** Coordinates of the corners of paths. */
function cornersOf(group: string): number[][] {
  return [...group.matchAll(/[ML](-?[\d.]+),(-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);
}

/** Numbers after an attribute or a word. */
function numbersAfter(word: string, text: string): number[] {
  return [...text.matchAll(new RegExp(`${word}(-?[\\d.]+)`, "g"))].map(([, value]) => Number(value));
}

const LINES: LineChart = {
  curves: [
    { label: "model", points: [{ x: 1, y: 100 }, { x: 10, y: 10 }], rank: 0 },
    { label: "other", points: [{ x: 1, y: 10 }, { x: 10, y: 10 }, { x: 0, y: 5 }, { x: 5, y: NaN }] },
    { label: "nothing", points: [] },
  ],
  x: { title: "context", scale: "log", format: "~g" },
  y: { title: "error, ms", scale: "log", format: "~g", domain: [1, 100] },
  width: 200,
  height: 100,
};

Deno.test("lineChart() draws the drawable curves, the main one on top, and names them in order", async () => {
  const svg = await renderSvg(lineChart(LINES));
  const [other, model, ...more] = marksOf(svg, "line").map(cornersOf);
  assertEquals(more, []);
  assertEquals(other, [[0, 50], [200, 50]]);
  assertEquals(model, [[0, 0], [200, 50]]);
  const texts = textsOf(svg);
  for (const text of ["error, ms", "context"]) assert(texts.includes(text), text);
  assertEquals(texts.filter((text) => ["model", "other", "nothing"].includes(text)), ["model", "other"]);
  const unnamed = textsOf(await renderSvg(lineChart({ ...LINES, hasLegend: false })));
  assert(!unnamed.includes("model"));
});

Deno.test("lineChart() leaves a gap where a value is null", async () => {
  const points = [{ x: 1, y: 1 }, { x: 2, y: 2 }, { x: 3, y: null }, { x: 4, y: 4 }, { x: 5, y: 5 }];
  const svg = await renderSvg(lineChart({ ...LINES, curves: [{ label: "a", points }] }));
  const [path] = marksOf(svg, "line");
  assertEquals([...path.matchAll(/M/g)].length, 2);
});

Deno.test("lineChart() draws points and error bars at their positions", async () => {
  const axis = { title: "share", scale: "linear", format: ".0%", domain: [0, 1] } as const;
  const points = [{ x: 0.25, y: 0.25, low: 0.1, high: 0.5 }, { x: 0.5, y: 0.9, low: 0.8, high: 1 }];
  const size = { width: 100, height: 100, hasLegend: false };
  const svg = await renderSvg(
    lineChart({ curves: [{ label: "found", points, style: "points", rank: 0 }], x: axis, y: axis, ...size }),
  );
  assertEquals(marksOf(svg, "line"), []);
  const places = [...marksOf(svg, "symbol")[0].matchAll(/translate\(([\d.]+),([\d.]+)\)/g)];
  const [first, second] = places.map(([, x, y]) => [Number(x), Number(y)]);
  assertEquals(first, [25, 75]);
  assertAlmostEquals(second[1], 10, 1e-9);
  const lengths = numbersAfter('y2="', marksOf(svg, "rule")[0]).map(Math.abs);
  assertEquals(lengths.map((length) => Math.round(length)), [40, 20]);
});

Deno.test("histogramChart() draws bars between their bounds as high as their values, and lines with names", async () => {
  const chart = histogramChart({
    bins: [{ low: 0, high: 0.5, value: 0.25 }, { low: 0.5, high: 1, value: 0.5 }],
    x: { title: "place", scale: "linear", format: "~r", domain: [0, 1] },
    y: { title: "share", scale: "linear", format: ".0%", domain: [0, 1] },
    width: 100,
    height: 100,
    lines: [{ x: 0.2, label: "first" }, { x: 0.21, label: "second" }, { y: 0.5, isDashed: true }],
  });
  const svg = await renderSvg(chart);
  const [bars] = marksOf(svg, "rect");
  assertEquals(numbersAfter("v", bars).map(Math.abs).filter((height) => height > 0), [25, 50]);
  const heights = ["first", "second"].map((name) =>
    Number(new RegExp(`translate\\([\\d.]+,(-?[\\d.]+)\\)[^>]*>${name}<`).exec(svg)?.[1])
  );
  assert(heights[1] - heights[0] >= 11, `names at ${heights}`);
  assertEquals(marksOf(svg, "rule").length, 3);
});

Deno.test("rowChart() draws bars in their order, as long as their values", async () => {
  const rows = [{ label: "b", value: 2, text: "2.0" }, { label: "a", value: 4, text: "4.0" }];
  const svg = await renderSvg(rowChart({ rows, title: "bits", width: 100 }));
  assertEquals(numbersAfter("h", marksOf(svg, "rect")[0]).filter((width) => width > 0), [50, 100]);
  const texts = textsOf(svg);
  for (const text of ["2.0", "4.0", "bits"]) assert(texts.includes(text), text);
  assertEquals(texts.filter((text) => ["a", "b"].includes(text)), ["b", "a"]);
});

Deno.test("renderPicture() draws on white, without CSS variables", async () => {
  const svg = await renderPicture(lineChart(LINES));
  assert(!svg.includes("var("));
  for (const color of ["white", "#0067a8", "#a4adb6"]) assert(svg.includes(color), color);
});

Deno.test("spanChart() draws spans in the order of their kinds, and short ones too", async () => {
  const spans = [
    { row: "b", kind: "out", from: 500_000, to: 500_001 },
    { row: "a", kind: "measured", from: 0, to: 1_000_000 },
    { row: "b", kind: "measured", from: 0, to: 1_000_000 },
  ];
  const svg = await renderSvg(spanChart({ rows: ["a", "b"], kinds: ["out", "measured"], spans, width: 100 }));
  const [bars] = marksOf(svg, "rect");
  const drawn = [...bars.matchAll(/d="(M[^"]*)"/g)].map(([, path]) => {
    const [x, y] = numbersAfter("[M,]", path);
    return { x, y, width: numbersAfter("h", path)[0] };
  });
  assertEquals(drawn.map(({ x, width }) => [x, width]), [[0, 100], [0, 100], [50, 2]]);
  assert(drawn[0].y < drawn[1].y && drawn[1].y === drawn[2].y);
  assertEquals(textsOf(svg).filter((text) => ["a", "b", "out", "measured"].includes(text)).sort(), [
    ...["a", "b", "measured", "out"],
  ]);
});

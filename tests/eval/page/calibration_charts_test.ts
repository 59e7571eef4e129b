import { assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import { pitChart, reliabilityChart } from "../../../lib/eval/page/rtt_part.ts";
import { renderSvg } from "../../../lib/base/report/svg.ts";

const TITLES = { xTitle: "promised", yTitle: "came" };

/** Where the rules of a picture of 300 px begin and how long they are, from the lower end. */
function rulesOf(svg: string): { y: number; length: number }[] {
  return [
    ...svg.matchAll(
      /<line transform="translate\([\d.]+,([\d.]+)\)" x2="0" y2="(-?[\d.]+)" stroke="var\(--accent/g,
    ),
  ]
    .map(([, y, length]) => ({ y: Number(y), length: Number(length) }));
}

Deno.test("reliabilityChart() puts what is right on the diagonal, with the error bars of few cases", async () => {
  const points = [{ promised: 0.25, observed: 0.25, count: 10 }];
  const svg = await renderSvg(reliabilityChart(points, { ...TITLES, scale: "linear" }));
  assertStringIncludes(svg, "translate(75,225)");
  const [{ y, length }] = rulesOf(svg);
  // Wilson's interval of 2.5 of 10 is 0.0810 to 0.5579.
  assertAlmostEquals(Math.max(y, y + length), 300 * (1 - 0.081), 0.1);
  assertAlmostEquals(Math.min(y, y + length), 300 * (1 - 0.5579), 0.1);
});

Deno.test("reliabilityChart() leaves out what a logarithmic axis cannot show", async () => {
  const points = [{ promised: 0.01, observed: 0.01, count: 50 }, { promised: 0, observed: 0.1, count: 50 }];
  const svg = await renderSvg(reliabilityChart(points, { ...TITLES, scale: "log" }));
  assertEquals(rulesOf(svg).length, 1);
  assertEquals([...svg.matchAll(/>1%<\/text>/g)].length, 2);
});

Deno.test("pitChart() draws the shares and where chance puts them", async () => {
  const svg = await renderSvg(pitChart([0.5, 0.5], 100));
  const lines = svg.matchAll(/translate\(330,([\d.]+)\)" x2="-330" y2="0" stroke="var\(--ink\)"/g);
  const places = [...lines].map(([, y]) => Number(y));
  // 0.5 and 1.96 sqrt(0.25 / 100) to both sides, on an axis from 0 to 0.6.
  [0.5, 0.402, 0.598].forEach((share, i) => assertAlmostEquals(places[i], 300 * (1 - share / 0.6), 0.01));
});

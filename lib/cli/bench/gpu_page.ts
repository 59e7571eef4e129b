/**
 * `bench gpu`: the page of a survey.
 *
 * @module
 */
import { lineChart, rankOf } from "../../base/report/charts.ts";
import { type Block, element, listOf, pageOf, type TableCell, tableOf } from "../../base/report/page.ts";
import { FULL_WIDTH } from "../../base/report/theme.ts";
import { describeFinding, type Finding, peakOf } from "./gpu_findings.ts";
import type { AdapterRow, ProductRow, StepEnd, SurveyRows } from "./gpu_survey.ts";

/** The page. @param notes Notes for the reader at the top. */
export async function pageOfSurvey({ adapter, findings, rows, steps, notes }: {
  adapter: AdapterRow;
  findings: readonly Finding[];
  rows: SurveyRows;
  steps: readonly StepEnd[];
  notes: readonly string[];
}): Promise<string> {
  const part = (name: ProductRow["part"]) => rows.products.filter((row) => row.part === name);
  const fill = part("fill").map(({ kind, tile, m, n, gigaflopsPerS }) => ({
    curve: `${kind}, tiles of ${tile}`,
    x: m * n / 64 ** 2,
    y: gigaflopsPerS,
  }));
  const decoding = rows.decoding.map(({ kind, rows, tokensPerS }) => ({
    curve: kind,
    x: rows,
    y: tokensPerS,
  }));
  const lines = findings.map((finding) => {
    const line = describeFinding(finding);
    return finding.advice === "stays" ? { text: line } : { text: "", mark: line, kind: "loses" as const };
  });
  const { features, limits, ...known } = adapter;
  const about = Object.entries({ ...known, features: features.join(", "), ...limits });
  return await pageOf(`Survey of ${adapter.name}`, [
    ...notes.map((note) => element("p", note)),
    "<h2>Advice</h2>",
    listOf(lines),
    "<h2>Correctness</h2>",
    tableOfRows(rows.checks),
    "<p>deno task test compares every kernel with float64.</p>",
    "<h2>Training</h2>",
    tableOfRows(rows.training),
    "<h2>Matrix products, GFLOP/s</h2>",
    chartOf(fill, { name: "fill", x: "size of the result in tiles of 64 x 64", y: "GFLOP/s" }),
    "<h3>Gradients by splits</h3>",
    tableOfRates(part("splits"), ({ splits }) => `${splits}`),
    "<h3>Layers of the presets by tiles</h3>",
    tableOfRates(part("layers"), ({ kernel, tile, dtype }) => `${kernel} ${tile} ${dtype}`),
    "<h2>Decoding</h2>",
    chartOf(decoding, { name: "decoding", x: "rows decoded together", y: "tokens/s" }),
    "<h2>Other kernels</h2>",
    tableOfRows(rows.kernels),
    "<h2>Not measured</h2>",
    tableOfRows(steps.filter(({ reason }) => reason !== undefined)),
    "<h2>Adapter</h2>",
    tableOf(["", ""], about.map(([name, value]) => [name, String(value)])),
  ]);
}

const textOf = (value: unknown) =>
  typeof value === "number" ? String(Number(value.toPrecision(3))) : String(value);

/** A table of rows with the same fields; field names end in their units. */
function tableOfRows(rows: readonly object[]): string {
  if (rows.length === 0) return "<p>None.</p>";
  return tableOf(Object.keys(rows[0]), rows.map((row) => Object.values(row).map(textOf)));
}

/** The rates of each shape, a column for each way to compute it, the best one marked. */
function tableOfRates(products: readonly ProductRow[], wayOf: (row: ProductRow) => string): string {
  const ways = [...new Set(products.map(wayOf))];
  const shapes = Map.groupBy(products, ({ kind, m, n, k }) => `${kind} ${m} x ${n} x ${k}`);
  const cellOf = (rows: readonly ProductRow[], way: string): TableCell => {
    const rate = rows.find((row) => wayOf(row) === way)?.gigaflopsPerS;
    return rate === undefined ? "" : { text: textOf(rate), kind: rate === peakOf(rows) ? "wins" : "same" };
  };
  const lines = [...shapes].map(([shape, rows]) => [shape, ...ways.map((way) => cellOf(rows, way))]);
  return tableOf(["", ...ways], lines, "numbers");
}

function chartOf(
  points: readonly { curve: string; x: number; y: number }[],
  { name, x, y }: { name: string; x: string; y: string },
): Block {
  if (points.length === 0) return element("p", "None.");
  const curves = [...Map.groupBy(points, ({ curve }) => curve)].map(([label, points], i) => ({
    label,
    points,
    rank: rankOf(i),
    style: "marked" as const,
  }));
  const axis = { scale: "log", format: "~s" } as const;
  const chart = lineChart({
    curves,
    x: { ...axis, title: x },
    y: { ...axis, title: y },
    width: FULL_WIDTH - 200,
  });
  return { name, caption: "", chart };
}

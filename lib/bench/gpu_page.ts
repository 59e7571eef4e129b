/**
 * `bench gpu`: the page of a survey.
 *
 * @module
 */
import { lineChart, rankOf } from "../report/charts.ts";
import { type Block, element, listOf, pageOf, type TableCell, tableOf } from "../report/page.ts";
import { FULL_WIDTH } from "../report/theme.ts";
import { describeFinding, type Finding, peakOf } from "./gpu_findings.ts";
import type { AdapterRow, ProductRow, StepEnd, SurveyRows } from "./gpu_survey.ts";

/** The content of a page. */
export interface Survey {
  adapter: AdapterRow;
  findings: Finding[];
  rows: SurveyRows;
  steps: StepEnd[];
  /** What the reader should know first. */
  notes: string[];
}

/** The page. */
export async function pageOfSurvey({ adapter, findings, rows, steps, notes }: Survey): Promise<string> {
  const { products, decoding } = rows;
  const part = (name: ProductRow["part"]) => products.filter((row) => row.part === name);
  const fill = [...Map.groupBy(part("fill"), ({ kind, tile }) => `${kind}, tiles of ${tile}`)];
  const decoded = [...Map.groupBy(decoding, ({ kind }) => kind)];
  const { features, limits, ...known } = adapter;
  return await pageOf(`Survey of ${adapter.name}`, [
    ...notes.map((note) => element("p", note)),
    "<h2>What to set</h2>",
    listOf(findings.map(itemOf)),
    "<h2>Whether it is right</h2>",
    tableOfRows(rows.checks),
    "<p>deno task test compares every kernel with float64.</p>",
    "<h2>Training, steps of one micro-batch</h2>",
    tableOfRows(rows.training),
    "<h2>Matrix products, GFLOP/s</h2>",
    curvesFigure(
      fill.map(([label, rows]) => ({
        label,
        points: rows.map(({ m, n, gigaflopsPerS: y }) => ({ x: m * n / 64 ** 2, y })),
      })),
      { name: "fill", x: "size of the result in tiles of 64 x 64", y: "GFLOP/s" },
    ),
    "<h3>Gradients by splits</h3>",
    ratesOf(part("splits"), ({ splits }) => `${splits}`),
    "<h3>Layers of the presets by tiles</h3>",
    ratesOf(
      part("layers"),
      ({ kernel, tile, dtype }) => `${kernel === "gemm_tiled" ? tile : kernel} ${dtype}`,
    ),
    "<h2>Decoding</h2>",
    curvesFigure(
      decoded.map(([label, rows]) => ({
        label,
        points: rows.map(({ rows: x, tokensPerS: y }) => ({ x, y })),
      })),
      { name: "decoding", x: "rows decoded together", y: "tokens/s" },
    ),
    "<h2>Other kernels</h2>",
    tableOfRows(rows.kernels),
    "<h2>Not measured</h2>",
    tableOfRows(steps.filter(({ reason }) => reason !== undefined)),
    "<h2>Adapter</h2>",
    tableOf(
      ["", ""],
      Object.entries({ ...known, features: features.join(", "), ...limits })
        .map(([name, value]) => [name, String(value)]),
    ),
  ]);
}

/** A finding; those that ask for a change are highlighted. */
function itemOf(finding: Finding): Parameters<typeof listOf>[0][number] {
  const line = describeFinding(finding);
  return finding.advice === "stays" ? { text: line } : { text: "", mark: line, kind: "loses" };
}

const textOf = (value: unknown) =>
  typeof value === "number" ? String(Number(value.toPrecision(3))) : String(value);

/** A table of rows with the same fields; field names end in their units. */
function tableOfRows(rows: readonly object[]): string {
  if (rows.length === 0) return "<p>None.</p>";
  return tableOf(Object.keys(rows[0]), rows.map((row) => Object.values(row).map(textOf)));
}

/** The rates of each shape, a column for each way to compute it. */
function ratesOf(products: readonly ProductRow[], wayOf: (row: ProductRow) => string): string {
  const ways = [...new Set(products.map(wayOf))];
  const shapes = Map.groupBy(products, ({ kind, m, n, k }) => `${kind} ${m} x ${n} x ${k}`);
  const cellOf = (rows: readonly ProductRow[], way: string): TableCell => {
    const rate = rows.find((row) => wayOf(row) === way)?.gigaflopsPerS;
    return rate === undefined ? "" : { text: textOf(rate), kind: rate === peakOf(rows) ? "wins" : "same" };
  };
  const lines = [...shapes].map(([shape, rows]) => [shape, ...ways.map((way) => cellOf(rows, way))]);
  return tableOf(["", ...ways], lines, "numbers");
}

function curvesFigure(
  curves: readonly { label: string; points: { x: number; y: number }[] }[],
  { name, x, y }: { name: string; x: string; y: string },
): Block {
  if (curves.length === 0) return element("p", "None.");
  return {
    name,
    caption: "",
    chart: lineChart({
      curves: curves.map((curve, i) => ({ ...curve, rank: rankOf(i), style: "marked" })),
      x: { title: x, scale: "log", format: "~s" },
      y: { title: y, scale: "log", format: "~s" },
      width: FULL_WIDTH - 200,
    }),
  };
}

/**
 * `bench gpu`: the page of a survey.
 *
 * @module
 */
import { formatBytes } from "../cli/progress.ts";
import { figureOf, pageOf, tableOf } from "../plot/page.ts";
import { specOfLines } from "../plot/line_plot.ts";
import { renderSvg } from "../plot/svg.ts";
import { FULL_WIDTH } from "../plot/theme.ts";
import type { CheckRow } from "./gpu_checks.ts";
import { type Finding, peakOf } from "./gpu_findings.ts";
import type { AdapterRow, ProductRow, SurveyRows, Unmeasured } from "./gpu_survey.ts";
import type { TrainingRow } from "./gpu_training.ts";

/** What a page shows. */
export interface Survey {
  adapter: AdapterRow;
  findings: Finding[];
  rows: SurveyRows;
  unmeasured: Unmeasured[];
  /** What the reader should know of the whole. */
  notes: string[];
}

const number = (value: number) => String(Number(value.toPrecision(3)));
const optional = (value: number | undefined) => value === undefined ? "" : number(value);

/** The page. */
export async function pageOfSurvey({ adapter, findings, rows, unmeasured, notes }: Survey): Promise<string> {
  const { products, kernels, training, decoding, checks } = rows;
  const peak = peakOf(products);
  const fill = products.filter(({ part }) => part === "fill");
  const fillCurves = [...Map.groupBy(fill, ({ kind, tile }) => `${kind}, tiles of ${tile}`)].map(
    ([label, rows]) => ({
      label,
      points: rows.map(({ m, n, gigaflopsPerS: y }) => ({ x: m * n / 4096, y })),
    }),
  );
  const decodeCurves = [...Map.groupBy(decoding, ({ kind }) => kind)].map(([label, rows]) => ({
    ...{ label, points: rows.map(({ rows: x, tokensPerS: y }) => ({ x, y })) },
  }));
  return pageOf(`Survey of ${adapter.name}`, [
    ...notes.map((note) => `<p>${note}</p>`),
    "<h2>What to set</h2>",
    tableOf(
      ["constant", "file", "is", "advice", "measured"],
      findings.map(({ constant, file, present, advice, why }) => [constant, file, present, advice, why]),
    ),
    "<h2>Is it right?</h2>",
    tableOf(["compared", "error", "allowed", ""], checks.map(checkCells)),
    "<p>deno test --no-prompt -A tests/gpu tests/model compares every kernel with float64.</p>",
    "<h2>Training</h2>",
    tableOf(["", ...training.map(({ dtype }) => dtype)], trainingCells(training, peak), "numbers"),
    "<h2>Matrix products</h2>",
    await curves("fill", "GFLOP/s by workgroups: results of so many tiles of 64 x 64", {
      ...{ curves: fillCurves, x: "tiles of 64 x 64", y: "GFLOP/s" },
    }),
    "<h3>Splits of gradients</h3>",
    pivot(products.filter(({ part }) => part === "splits"), ({ splits }) => `${splits}`),
    "<h3>Layers of the presets</h3>",
    pivot(
      products.filter(({ part }) => part === "layers"),
      ({ kernel, tile, dtype }) => `${kernel === "gemm_tiled" ? tile : kernel} ${dtype}`,
    ),
    "<h2>Decoding</h2>",
    await curves("decoding", "tokens/s by rows decoded together", {
      ...{ curves: decodeCurves, x: "rows", y: "tokens/s" },
    }),
    "<h2>Other kernels</h2>",
    tableOf(
      ["kernel", "subgroups", "GFLOP/s", "ns/element", "GB/s"],
      kernels.map(({ name, subgroups, gigaflopsPerS, nsPerElement, gigabytesPerSecond }) => [
        ...[name, subgroups ? "with" : "without", optional(gigaflopsPerS), optional(nsPerElement)],
        number(gigabytesPerSecond),
      ]),
    ),
    "<h2>Not measured</h2>",
    tableOf(["step", "why"], unmeasured.map(({ name, reason }) => [name, reason])),
    "<h2>Adapter</h2>",
    tableOf(["", ""], [
      ["features", adapter.features.join(", ")],
      ...Object.entries(adapter.limits).map(([name, limit]) => [name, String(limit)]),
    ]),
  ]);
}

function checkCells({ name, error, allowedError, isRight }: CheckRow) {
  const verdict = isRight
    ? { text: "right", kind: "wins" as const }
    : { text: "wrong", kind: "loses" as const };
  return [name, error.toExponential(1), allowedError.toExponential(0), verdict];
}

function trainingCells(training: readonly TrainingRow[], peak: number): string[][] {
  const line = (name: string, cellOf: (row: TrainingRow) => string) => [name, ...training.map(cellOf)];
  return [
    line("tokens/s", ({ tokensPerS }) => number(tokensPerS)),
    line("GFLOP/s", ({ gigaflopsPerS }) => number(gigaflopsPerS)),
    line(
      "share of the best product's rate",
      ({ gigaflopsPerS }) => `${number(100 * gigaflopsPerS / peak)} %`,
    ),
    line("steps of one micro-batch", ({ numSteps }) => String(numSteps)),
    line("micro-batch, s", ({ microBatchS }) => number(microBatchS)),
    line("update, s", ({ updateS }) => number(updateS)),
    line("memory, planned", ({ plannedBytes }) => formatBytes(plannedBytes)),
    line("memory, allocated", ({ allocatedBytes }) => formatBytes(allocatedBytes)),
    line("device open, s", ({ openS }) => number(openS)),
    line("kernels compiled, s", ({ compileS }) => number(compileS)),
    line("fastest kernels chosen, s", ({ tuneS }) => number(tuneS)),
    line("weights uploaded, s", ({ uploadS }) => number(uploadS)),
    line("first step, s", ({ firstStepS }) => number(firstStepS)),
  ];
}

/** GFLOP/s of each shape, a column for each way to compute it. */
function pivot(products: readonly ProductRow[], wayOf: (row: ProductRow) => string): string {
  const ways = [...new Set(products.map(wayOf))];
  const shapes = Map.groupBy(products, ({ kind, m, n, k }) => `${kind} ${m} x ${n} x ${k}`);
  const cells = [...shapes].map(([shape, rows]) => {
    const best = peakOf(rows);
    return [
      shape,
      ...ways.map((way) => {
        const rate = rows.find((row) => wayOf(row) === way)?.gigaflopsPerS;
        if (rate === undefined) return "";
        return rate === best ? { text: number(rate), kind: "wins" as const } : number(rate);
      }),
    ];
  });
  return tableOf(["GFLOP/s", ...ways], cells, "numbers");
}

async function curves(name: string, caption: string, { curves, x, y }: {
  curves: readonly { label: string; points: { x: number; y: number }[] }[];
  x: string;
  y: string;
}): Promise<string> {
  if (curves.length === 0) return "<p>Not measured.</p>";
  const svg = await renderSvg(specOfLines({
    curves: curves.map((curve, rank) => ({ ...curve, rank: rank as 0 | 1 | 2 })),
    x: { title: x, scale: "log", format: "~s" },
    y: { title: y, scale: "log", format: "~s" },
    ...{ width: FULL_WIDTH - 200, height: 280, labels: "end", hasPoints: true },
  }));
  return figureOf(svg, { name, caption });
}

/**
 * `bench gpu`: the page of a full survey, with advice on each constant that was chosen without a GPU.
 *
 * @module
 */
import { lineChart, rankOf } from "../../base/report/charts.ts";
import { type Block, element, listOf, pageOf, type TableCell, tableOf } from "../../base/report/page.ts";
import { FULL_WIDTH } from "../../base/report/theme.ts";
import type { DecodingRow, ProductRow, SubmitRow } from "./gpu_parts.ts";
import { type StepEnd, WORTH_A_CHANGE } from "./gpu_steps.ts";
import type { AdapterRow, SurveyRows } from "./gpu_survey.ts";
import { ENOUGH_TILES, SPLIT_RULE, type SplitRule, splitsOf } from "../../tensor/ops/gemm.ts";

export interface Finding {
  constant: string;
  file: string;
  present: string;
  /** `set to …`, `stays` or `not measured`. */
  advice: string;
  why: string;
}

/** Limits of lib/query, which this folder cannot import. */
interface QueryConstants {
  MAX_ROWS: number;
  MAX_CONTINUATIONS: number;
}

/** The best measured value; undefined if a necessary measurement is missing. */
type Judgement = { best: unknown; why: string } | undefined;

const SPLIT_CHOICES: Record<keyof SplitRule, readonly number[]> = {
  enoughWorkgroups: [64, 128, 256, 512, 1024, 2048, 4096],
  minSplitK: [64, 128, 256, 512, 1024, 2048],
  maxSplits: [1, 2, 4, 8, 16, 32],
};

export function findingsOf(rows: SurveyRows, adapter: AdapterRow, query: QueryConstants): Finding[] {
  const { submits: [submit], products, training, decoding } = rows;
  const timer = "the call waits";
  const fallback = "FALLBACK_LANES";
  const lanes = adapter.subgroupSize ? `subgroups of ${adapter.subgroupSize}` : fallback;
  const oneStep = decoding.filter(({ kind }) => kind === "one step");
  const manySteps = decoding.filter(({ kind }) => kind === "many steps");
  const splits = judgeSplits(products);
  const table: [constant: string, file: string, present: unknown, judged: Judgement][] = [
    ["Gpu.timeS()", "device", timer, judgeTimer(submit, timer)],
    ["ENOUGH_TILES", "ops/gemm", ENOUGH_TILES, judgeTiles(products)],
    ...Object.entries(SPLIT_RULE).map(([key, present]): typeof table[number] => {
      const judged = splits && { best: splits.best[key as keyof SplitRule], why: splits.why };
      return [`SPLIT_RULE.${key}`, "ops/gemm", present, judged];
    }),
    ["dtype", "lib/train/run_config.ts", "f32", judgeStorage(training)],
    ["lanes", "registry", lanes, judgeLanes(rows.kernels, lanes, fallback)],
    ["MAX_ROWS", EXTENT_FILE, query.MAX_ROWS, judgeRows(oneStep, query.MAX_ROWS)],
    [
      "MAX_CONTINUATIONS",
      EXTENT_FILE,
      query.MAX_CONTINUATIONS,
      judgeRows(manySteps, query.MAX_CONTINUATIONS),
    ],
  ];
  return table.map(([constant, file, present, judged]) => ({
    constant,
    file: file.endsWith(".ts") ? file : `lib/tensor/${file}.ts`,
    present: String(present),
    advice: !judged ? "not measured" : judged.best === present ? "stays" : `set to ${judged.best}`,
    why: judged?.why ?? "its steps were skipped or failed",
  }));
}

const EXTENT_FILE = "lib/query/model_decoders.ts";

export function describeFinding({ constant, file, present, advice, why }: Finding): string {
  return `${constant} (${file}, ${present}): ${advice}; ${why}`;
}

/** In GFLOP/s; 0 without products. */
export function peakOf(products: readonly ProductRow[]): number {
  return Math.max(0, ...products.map(({ gigaflopsPerS }) => gigaflopsPerS));
}

/** The first candidate whose cost is close to the minimum. @param candidates The current value first. */
function firstOfBest<T>(candidates: readonly T[], costOf: (candidate: T) => number): T {
  const costs = candidates.map(costOf);
  const limit = WORTH_A_CHANGE * Math.min(...costs);
  return candidates[costs.findIndex((cost) => cost <= limit)];
}

function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

function judgeTimer(submit: SubmitRow | undefined, present: string): Judgement {
  if (!submit) return undefined;
  const share = submit.callS / submit.settledS;
  const settled = `${submit.settledS.toFixed(2)} s until its promise settles`;
  return {
    best: share > 0.7 ? present : "await the promise; all kernel times here are wrong",
    why: `the call takes ${(100 * share).toFixed(0)} % of ${settled}`,
  };
}

/** The number of 128 x 128 tiles at which they become faster than 64 x 64 tiles. */
function judgeTiles(products: readonly ProductRow[]): Judgement {
  const rows = products.filter(({ part, kind }) => part === "fill" && kind === "NT");
  const sizes = [...Map.groupBy(rows, ({ m, n }) => m * n / 128 ** 2)].flatMap(([tiles, rows]) => {
    const [small, large] = [64, 128].map((tile) => rows.find((row) => row.tile === tile)?.gigaflopsPerS);
    return small && large ? [{ tiles, ratio: large / small }] : [];
  });
  if (sizes.length === 0) return undefined;
  // Time with the chosen tiles, relative to the best.
  const costOf = (enough: number) =>
    geometricMean(sizes.map(({ tiles, ratio }) => Math.max(1, tiles >= enough ? 1 / ratio : ratio)));
  const ratios = sizes.map(({ tiles, ratio }) => `${ratio.toFixed(2)} x at ${tiles}`);
  return {
    best: firstOfBest([ENOUGH_TILES, ...sizes.map(({ tiles }) => tiles), Infinity], costOf),
    why: `speed of tiles of 128 relative to tiles of 64, by number of tiles: ${ratios.join(", ")}`,
  };
}

/** The split rule with the fastest gradients for the presets; ties go to the fewest changes. */
function judgeSplits(products: readonly ProductRow[]): { best: SplitRule; why: string } | undefined {
  const rows = products.filter(({ part }) => part === "splits");
  const shapes = [...Map.groupBy(rows, ({ m, n, k }) => `${m} x ${n} x ${k}`).values()];
  if (shapes.length === 0) return undefined;
  const costOf = (rule: SplitRule) =>
    geometricMean(shapes.map((rows) => peakOf(rows) / rateAt(rows, splitsOf(rows[0], rule))));
  const keys = Object.keys(SPLIT_CHOICES) as (keyof SplitRule)[];
  const numChanged = (rule: SplitRule) => keys.filter((key) => rule[key] !== SPLIT_RULE[key]).length;
  const rules = keys.reduce(
    (rules, key) => rules.flatMap((rule) => SPLIT_CHOICES[key].map((value) => ({ ...rule, [key]: value }))),
    [SPLIT_RULE],
  ).sort((a, b) => numChanged(a) - numChanged(b));
  const best = firstOfBest(rules, costOf);
  const [now, then] = [SPLIT_RULE, best].map((rule) => costOf(rule).toFixed(3));
  const why = `gradients take ${now} x the time of their best splits, with the advised ones ${then} x`;
  return { best, why };
}

/** The rate at a number of splits, interpolated on a logarithmic scale. */
function rateAt(rows: readonly ProductRow[], splits: number): number {
  const above = rows.findIndex((row) => row.splits >= splits);
  const a = rows[Math.max(0, above - 1)];
  const b = rows.at(above) ?? a;
  if (a.splits >= b.splits || splits >= b.splits) return b.gigaflopsPerS;
  const share = Math.log(splits / a.splits) / Math.log(b.splits / a.splits);
  return (1 - share) * a.gigaflopsPerS + share * b.gigaflopsPerS;
}

function judgeStorage(training: SurveyRows["training"]): Judgement {
  const [f32, f16] = ["f32", "f16"].map((dtype) => training.find((row) => row.dtype === dtype)?.tokensPerS);
  if (!f32 || !f16) return undefined;
  return {
    best: f16 / f32 > WORTH_A_CHANGE ? "f16" : "f32",
    why: `training with f16 storage has ${(f16 / f32).toFixed(2)} x the tokens/s`,
  };
}

/** Subgroups, or workgroups of the fallback's size. */
function judgeLanes(kernels: SurveyRows["kernels"], present: string, fallback: string): Judgement {
  const rows = kernels.filter(({ unit, subgroups }) => unit === "ns/element" && subgroups);
  const ratios = rows.flatMap(({ name, median }) => {
    const other = kernels.find((row) => row.name === name && !row.subgroups);
    return other ? [other.median / median] : [];
  });
  if (ratios.length === 0) return undefined;
  const ratio = geometricMean(ratios);
  return {
    best: ratio >= 1 / WORTH_A_CHANGE ? present : fallback,
    why: `without subgroups row kernels take ${ratio.toFixed(2)} x the time`,
  };
}

/** The smallest number of rows that is about as fast as any. Larger limits count as the largest. */
function judgeRows(measured: readonly DecodingRow[], present: number): Judgement {
  if (measured.length === 0) return undefined;
  const rateOf = (limit: number) => measured.findLast(({ rows }) => rows <= limit)?.tokensPerS ?? 0;
  const rates = measured.map(({ rows, tokensPerS }) => `${tokensPerS.toFixed(0)} of ${rows}`);
  return {
    best: firstOfBest([present, ...measured.map(({ rows }) => rows)], (limit) => 1 / rateOf(limit)),
    why: `tokens/s by rows: ${rates.join(", ")}`,
  };
}

export async function pageOfSurvey({ adapter, findings, rows, steps, notes }: {
  adapter: AdapterRow;
  findings: readonly Finding[];
  rows: SurveyRows;
  steps: readonly Pick<StepEnd, "name" | "seconds" | "reason">[];
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

/** A table of rows with the same fields, whose names end in their units. */
function tableOfRows(rows: readonly object[]): string {
  if (rows.length === 0) return "<p>None.</p>";
  return tableOf(Object.keys(rows[0]), rows.map((row) => Object.values(row).map(textOf)));
}

/** Rates with a row per shape and a column per way to compute it, the best marked. */
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

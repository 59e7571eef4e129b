/**
 * `bench gpu`: what the measurements say about each constant that was chosen without a GPU: what to set it to, or that
 * it stays.
 *
 * @module
 */
import { RUN_S } from "../gpu/autotune.ts";
import { ENOUGH_TILES, SPLIT_RULE, type SplitRule, splitsOf } from "../gpu/ops/gemm.ts";
import type { DecodingRow } from "./gpu_decoding.ts";
import type { AdapterRow, KernelRow, ProductRow, SurveyRows } from "./gpu_survey.ts";

/** What became of a constant. */
export interface Finding {
  constant: string;
  file: string;
  /** Its value. */
  present: string;
  /** `set to …`, `stays` or `not measured`. */
  advice: string;
  /** What was measured. */
  why: string;
}

/** Constants whose owners are above this module, by their values. */
export interface QuerySettings {
  maxRows: number;
  maxContinuations: number;
}

/** By what factor something has to be better for a constant to be changed for it. */
const WORTH_A_CHANGE = 1.03;
/** Twice the work takes twice the time up to this factor, if the time of a submit is that of its work. */
const SAME_RATE = 1.25;
/** A timed run of the autotuner takes so many submits' time. */
const SUBMITS_PER_RUN = 20;

/** A line for each constant. */
export function findingsOf(rows: SurveyRows, adapter: AdapterRow, query: QuerySettings): Finding[] {
  return [
    ...submitFindings(rows),
    timestampFinding(adapter),
    tileFinding(rows.products),
    ...splitFindings(rows.products),
    storageFinding(rows),
    attentionFinding(rows),
    lanesFinding(rows.kernels, adapter),
    decodingFinding(rows.decoding, "one step", ["MAX_ROWS", query.maxRows]),
    decodingFinding(rows.decoding, "many steps", ["MAX_CONTINUATIONS", query.maxContinuations]),
  ];
}

/** A finding as a line. */
export function describeFinding({ constant, file, present, advice, why }: Finding): string {
  return `${constant} (${file}, ${present}): ${advice}; ${why}`;
}

/** The best rate of a matrix product, in GFLOP/s; 0 if none was measured. */
export function peakOf(products: readonly ProductRow[]): number {
  return products.reduce((most, { gigaflopsPerS }) => Math.max(most, gigaflopsPerS), 0);
}

/**
 * The first candidate that is about as good as the best.
 *
 * @param candidates The present one first.
 * @param costOf What each costs; lower is better.
 */
export function firstOfBest<T>(candidates: readonly T[], costOf: (candidate: T) => number): T {
  const costs = candidates.map(costOf);
  const limit = WORTH_A_CHANGE * Math.min(...costs);
  return candidates[costs.findIndex((cost) => cost <= limit)];
}

const unmeasured = (
  what: Pick<Finding, "constant" | "file" | "present">,
  why = "the step was left out or failed",
) => ({
  ...what,
  advice: "not measured",
  why,
});

const adviceOf = (best: unknown, present: unknown) => best === present ? "stays" : `set to ${best}`;
const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
const short = (value: number) => String(Number(value.toPrecision(3)));

function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

function submitFindings({ submits: [row] }: SurveyRows): Finding[] {
  const timer = {
    constant: "timeRun()",
    file: "lib/gpu/bench.ts",
    present: "the submit's call waits for the GPU",
  };
  const run = { constant: "RUN_S", file: "lib/gpu/autotune.ts", present: `${RUN_S}` };
  if (!row) return [unmeasured(timer), unmeasured(run)];
  const { submitS, onceS, twiceS } = row;
  const ratio = (twiceS - submitS) / (onceS - submitS);
  const isTimed = ratio > 2 / SAME_RATE && ratio < 2 * SAME_RATE;
  const neededS = Number((SUBMITS_PER_RUN * submitS).toPrecision(1));
  return [
    {
      ...timer,
      advice: isTimed ? "stays" : "set to wait for the promise: all times of kernels here are wrong",
      why: `twice the work took ${ratio.toFixed(2)} x the time`,
    },
    {
      ...run,
      advice: adviceOf(Math.max(RUN_S, neededS), RUN_S),
      why: `a submit takes ${short(1000 * submitS)} ms`,
    },
  ];
}

function timestampFinding({ features }: AdapterRow): Finding {
  const inside = features.filter((name) => name.endsWith("timestamp-query-inside-passes"));
  const others = features.filter((name) => name === "timestamp-query");
  return {
    constant: "Program.profile()",
    file: "lib/gpu/program.ts",
    present: "each dispatch by itself",
    advice: inside.length > 0 ? "set to timestamps around the dispatches of a pass" : "stays",
    why: `the adapter offers ${[...inside, ...others].join(", ") || "no timestamps"}${
      inside.length > 0 ? "" : ", none inside passes"
    }`,
  };
}

/** From how many tiles of 128 x 128 on these are faster than those of 64 x 64. */
function tileFinding(products: readonly ProductRow[]): Finding {
  const what = { constant: "ENOUGH_TILES", file: "lib/gpu/ops/gemm.ts", present: `${ENOUGH_TILES}` };
  const rows = products.filter(({ part, kind }) => part === "fill" && kind === "NT");
  const sizes = [...Map.groupBy(rows, ({ m, n }) => m * n / 128 ** 2)].flatMap(([tiles, rows]) => {
    const [small, large] = [64, 128].map((tile) => rows.find((row) => row.tile === tile)?.gigaflopsPerS);
    return small && large ? [{ tiles, small, large }] : [];
  });
  if (sizes.length === 0) return unmeasured(what);
  const costOf = (enough: number) =>
    geometricMean(
      sizes.map(({ tiles, small, large }) => Math.max(small, large) / (tiles >= enough ? large : small)),
    );
  const best = firstOfBest([ENOUGH_TILES, ...sizes.map(({ tiles }) => tiles), Infinity], costOf);
  const ratios = sizes.map(({ tiles, small, large }) => `${(large / small).toFixed(2)} x at ${tiles}`);
  return {
    ...what,
    advice: adviceOf(best, ENOUGH_TILES),
    why: `by tiles of 128, these are faster than tiles of 64 by ${ratios.join(", ")}`,
  };
}

/** The settings of {@link SPLIT_RULE} that make the gradients of the presets fastest, those that change least first. */
function splitFindings(products: readonly ProductRow[]): Finding[] {
  const whats = (Object.keys(SPLIT_RULE) as (keyof SplitRule)[]).map((key) => ({
    ...{ key, constant: `SPLIT_RULE.${key}`, file: "lib/gpu/ops/gemm.ts", present: `${SPLIT_RULE[key]}` },
  }));
  const shapes = [
    ...Map.groupBy(
      products.filter(({ part }) => part === "splits"),
      ({ m, n, k }) => `${m} ${n} ${k}`,
    ).values(),
  ];
  if (shapes.length === 0) return whats.map(({ key: _, ...what }) => unmeasured(what));
  const costOf = (rule: SplitRule) =>
    geometricMean(shapes.map((rows) => peakOf(rows) / rateAt(rows, splitsOf(rows[0], rule))));
  const numChanged = (rule: SplitRule) => whats.filter(({ key }) => rule[key] !== SPLIT_RULE[key]).length;
  const candidates = [64, 128, 256, 512, 1024, 2048, 4096].flatMap((enoughWorkgroups) =>
    [64, 128, 256, 512, 1024, 2048].flatMap((minSplitK) =>
      [1, 2, 4, 8, 16, 32].map((maxSplits) => ({ enoughWorkgroups, minSplitK, maxSplits }))
    )
  ).sort((a, b) => numChanged(a) - numChanged(b));
  const best = firstOfBest(candidates, costOf);
  const [before, after] = [SPLIT_RULE, best].map((rule) => costOf(rule).toFixed(3));
  const full = fillingWorkgroups(products);
  return whats.map(({ key, ...what }) => ({
    ...what,
    advice: adviceOf(best[key], SPLIT_RULE[key]),
    why:
      `gradients of the presets take ${before} x the time of the best splits as it is, ${after} x as told; ` +
      `${full ?? "no number of"} workgroups of one product fill the adapter`,
  }));
}

/** The rate at a number of splits, between those that were measured by a straight line over the logarithm. */
function rateAt(rows: readonly ProductRow[], splits: number): number {
  const sorted = rows.toSorted((a, b) => a.splits - b.splits);
  const above = sorted.findIndex((row) => row.splits >= splits);
  if (above < 0) return sorted[sorted.length - 1].gigaflopsPerS;
  const [a, b] = [sorted[Math.max(0, above - 1)], sorted[above]];
  const share = a === b ? 0 : Math.log(splits / a.splits) / Math.log(b.splits / a.splits);
  return (1 - share) * a.gigaflopsPerS + share * b.gigaflopsPerS;
}

/** The fewest workgroups that make nine tenths of the best rate, in tiles of 64. */
function fillingWorkgroups(products: readonly ProductRow[]): number | undefined {
  const rows = products.filter(({ part, kind }) => part === "fill" && kind === "TN");
  const peak = peakOf(rows);
  const full = rows.filter(({ gigaflopsPerS }) => gigaflopsPerS >= 0.9 * peak);
  return full.length === 0 ? undefined : Math.min(...full.map(({ m, n }) => m * n / 64 ** 2));
}

function storageFinding({ training, products }: SurveyRows): Finding {
  const what = { constant: "train.dtype", file: "configs/ and lib/train/schema.ts", present: "f32" };
  const [f32, f16] = ["f32", "f16"].map((dtype) => training.find((row) => row.dtype === dtype)?.tokensPerS);
  if (!f32 || !f16) return unmeasured(what);
  const best = firstOfBest(["f32", "f16"], (dtype) => 1 / (dtype === "f32" ? f32 : f16));
  const layers = products.filter(({ part }) => part === "layers");
  const peaks = (["f32", "f16"] as const).map((dtype) => peakOf(layers.filter((row) => row.dtype === dtype)));
  return {
    ...what,
    advice: adviceOf(best, "f32"),
    why: `with storage as f16 training makes ${
      (f16 / f32).toFixed(2)
    } x the tokens/s, the best product of a layer ${(peaks[1] / peaks[0]).toFixed(2)} x`,
  };
}

function attentionFinding({ kernels, products }: SurveyRows): Finding {
  const what = {
    constant: "DIMS_PER_GROUP",
    file: "lib/gpu/ops/attention.ts",
    present: "one tiling a kernel",
  };
  const rates = ["attention ", "attention backward "].map((name) =>
    Math.max(
      0,
      ...kernels.filter((row) => row.name.startsWith(name)).map(({ gigaflopsPerS = 0 }) => gigaflopsPerS),
    )
  );
  const peak = peakOf(products);
  if (rates[0] === 0 || peak === 0) return unmeasured(what);
  return {
    ...what,
    advice: "stays",
    why:
      `there is no other to choose; at best attention does ${
        percent(rates[0] / peak)
      } of the best product's ` +
      `rate, its gradient ${percent(rates[1] / peak)}`,
  };
}

/** Rows by subgroups, or by workgroups of the fallback's size. */
function lanesFinding(kernels: readonly KernelRow[], { subgroupSize }: AdapterRow): Finding {
  const what = {
    ...{ constant: "KernelRegistry.lanes", file: "lib/gpu/registry.ts" },
    present: subgroupSize === undefined ? "workgroups of FALLBACK_LANES" : `subgroups of ${subgroupSize}`,
  };
  const ratios = kernels.filter(({ subgroups }) => subgroups).flatMap(({ name, nsPerElement }) => {
    const other = kernels.find((row) => row.name === name && !row.subgroups)?.nsPerElement;
    return nsPerElement && other ? [other / nsPerElement] : [];
  });
  if (subgroupSize === undefined) return unmeasured(what, "the adapter has no subgroups of one size");
  if (ratios.length === 0) return unmeasured(what);
  const ratio = geometricMean(ratios);
  return {
    ...what,
    advice: ratio >= 1 / WORTH_A_CHANGE ? "stays" : "set to FALLBACK_LANES",
    why: `kernels of rows take ${ratio.toFixed(2)} x the time without subgroups`,
  };
}

/** The fewest rows that are about as fast as any number; more than were measured count as the most that were. */
function decodingFinding(
  decoding: readonly DecodingRow[],
  kind: DecodingRow["kind"],
  [constant, present]: [string, number],
): Finding {
  const what = { constant, file: "lib/query/decoder_extent.ts", present: `${present}` };
  const rows = decoding.filter((row) => row.kind === kind);
  if (rows.length === 0) return unmeasured(what);
  const rateOf = (limit: number) => rows.findLast((row) => row.rows <= limit)?.tokensPerS ?? 0;
  const best = firstOfBest([present, ...rows.map(({ rows }) => rows)], (limit) => 1 / rateOf(limit));
  return {
    ...what,
    advice: adviceOf(best, present),
    why: `tokens/s by rows decoded together: ${
      rows.map(({ rows, tokensPerS }) => `${rows}: ${short(tokensPerS)}`).join(", ")
    }`,
  };
}

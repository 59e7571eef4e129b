/**
 * `bench gpu`: advice for each constant that was chosen without a GPU: a new value, or that it stays.
 *
 * @module
 */
import { RUN_S } from "../gpu/autotune.ts";
import { ENOUGH_TILES, SPLIT_RULE, type SplitRule, splitsOf } from "../gpu/ops/gemm.ts";
import type { DecodingRow } from "./gpu_models.ts";
import type { AdapterRow, ProductRow, SurveyRows } from "./gpu_survey.ts";

/** The advice for a constant. */
export interface Finding {
  constant: string;
  file: string;
  /** What it is. */
  present: string;
  /** `set to …`, `stays` or `not measured`. */
  advice: string;
  /** What was measured. */
  why: string;
}

/** Constants of queries, which are above this layer. */
export interface QueryConstants {
  MAX_ROWS: number;
  MAX_CONTINUATIONS: number;
}

/** A constant is changed only if the new value is better by this factor. */
const WORTH_A_CHANGE = 1.03;
/** A timed run of the autotuner should take as long as so many submits. */
const SUBMITS_PER_RUN = 20;
/** Values to try for each part of the rule of splits. */
const SPLIT_CHOICES: Record<keyof SplitRule, readonly number[]> = {
  enoughWorkgroups: [64, 128, 256, 512, 1024, 2048, 4096],
  minSplitK: [64, 128, 256, 512, 1024, 2048],
  maxSplits: [1, 2, 4, 8, 16, 32],
};

/** The advice for all constants. */
export function findingsOf(rows: SurveyRows, adapter: AdapterRow, query: QueryConstants): Finding[] {
  return [
    timerFinding(rows),
    runFinding(rows),
    timestampFinding(adapter),
    tileFinding(rows),
    ...splitFindings(rows),
    storageFinding(rows),
    lanesFinding(rows, adapter),
    decodingFinding(rows, "one step", ["MAX_ROWS", query.MAX_ROWS]),
    decodingFinding(rows, "many steps", ["MAX_CONTINUATIONS", query.MAX_CONTINUATIONS]),
  ];
}

/** A finding as a line. */
export function describeFinding({ constant, file, present, advice, why }: Finding): string {
  return `${constant} (${file}, ${present}): ${advice}; ${why}`;
}

/** The best rate of the products, in GFLOP/s; 0 of none. */
export function peakOf(products: readonly ProductRow[]): number {
  return Math.max(0, ...products.map(({ gigaflopsPerS }) => gigaflopsPerS));
}

/** The first candidate that is about as good as the best. @param candidates The present one first; at low cost. */
function firstOfBest<T>(candidates: readonly T[], costOf: (candidate: T) => number): T {
  const costs = candidates.map(costOf);
  const limit = WORTH_A_CHANGE * Math.min(...costs);
  return candidates[costs.findIndex((cost) => cost <= limit)];
}

/** Makes a finding of the best value, if there was anything to find it by. */
function finding(
  [constant, file, present]: [string, string, unknown],
  measured: { best: unknown; why: string } | undefined | false,
): Finding {
  const advice = !measured ? "not measured" : measured.best === present ? "stays" : `set to ${measured.best}`;
  const why = measured ? measured.why : "its steps were left out or failed";
  return { constant, file, present: String(present), advice, why };
}

function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

function timerFinding({ submits: [row] }: SurveyRows): Finding {
  const present = "the call waits";
  const share = row && row.callS / row.settledS;
  return finding(
    ["Gpu.timeS()", "lib/gpu/device.ts", present],
    row && {
      best: share > 0.7 ? present : "await the promise; all times of kernels here are wrong",
      why: `the call takes ${(100 * share).toFixed(0)} % of ${
        row.settledS.toFixed(2)
      } s until its promise settles`,
    },
  );
}

function runFinding({ submits: [row] }: SurveyRows): Finding {
  return finding(
    ["RUN_S", "lib/gpu/autotune.ts", RUN_S],
    row && {
      best: Math.max(RUN_S, Number((SUBMITS_PER_RUN * row.submitS).toPrecision(1))),
      why: `a submit takes ${(1000 * row.submitS).toPrecision(2)} ms`,
    },
  );
}

function timestampFinding({ features }: AdapterRow): Finding {
  const present = "each dispatch by itself";
  const inside = features.some((name) => name.endsWith("timestamp-query-inside-passes"));
  return finding(["profile()", "lib/gpu/program.ts", present], {
    best: inside ? "timestamps around each dispatch of a pass" : present,
    why: `of timestamps the adapter offers ${
      features.filter((name) => name.includes("timestamp")).join(", ") || "none"
    }`,
  });
}

/** From how many tiles of 128 x 128 on these are faster than those of 64 x 64. */
function tileFinding({ products }: SurveyRows): Finding {
  const rows = products.filter(({ part, kind }) => part === "fill" && kind === "NT");
  const sizes = [...Map.groupBy(rows, ({ m, n }) => m * n / 128 ** 2)].flatMap(([tiles, rows]) => {
    const [small, large] = [64, 128].map((tile) => rows.find((row) => row.tile === tile)?.gigaflopsPerS);
    return small && large ? [{ tiles, ratio: large / small }] : [];
  });
  // How much slower than the best tiles the chosen ones are.
  const costOf = (enough: number) =>
    geometricMean(sizes.map(({ tiles, ratio }) => Math.max(1, tiles >= enough ? 1 / ratio : ratio)));
  const candidates = [ENOUGH_TILES, ...sizes.map(({ tiles }) => tiles), Infinity];
  return finding(
    ["ENOUGH_TILES", "lib/gpu/ops/gemm.ts", ENOUGH_TILES],
    sizes.length > 0 && {
      best: firstOfBest(candidates, costOf),
      why: `tiles of 128 beside tiles of 64, by their number: ${
        sizes.map(({ tiles, ratio }) => `${ratio.toFixed(2)} x at ${tiles}`).join(", ")
      }`,
    },
  );
}

/** The rule of splits with the fastest gradients of the presets; of equal ones the one that changes least. */
function splitFindings({ products }: SurveyRows): Finding[] {
  const shapes = [
    ...Map.groupBy(
      products.filter(({ part }) => part === "splits"),
      ({ m, n, k }) => `${m} x ${n} x ${k}`,
    ).values(),
  ];
  const costOf = (rule: SplitRule) =>
    geometricMean(shapes.map((rows) => peakOf(rows) / rateAt(rows, splitsOf(rows[0], rule))));
  const keys = Object.keys(SPLIT_CHOICES) as (keyof SplitRule)[];
  const numChanged = (rule: SplitRule) => keys.filter((key) => rule[key] !== SPLIT_RULE[key]).length;
  const rules = keys.reduce(
    (rules, key) => rules.flatMap((rule) => SPLIT_CHOICES[key].map((value) => ({ ...rule, [key]: value }))),
    [SPLIT_RULE],
  ).sort((a, b) => numChanged(a) - numChanged(b));
  const best = shapes.length > 0 ? firstOfBest(rules, costOf) : SPLIT_RULE;
  const fill = products.filter(({ part, kind }) => part === "fill" && kind === "TN");
  const full = fill.filter(({ gigaflopsPerS }) => gigaflopsPerS >= 0.9 * peakOf(fill));
  const why = `gradients take ${costOf(SPLIT_RULE).toFixed(3)} x the time of their best splits, ` +
    `by the advice ${costOf(best).toFixed(3)} x; ` +
    `${
      Math.min(...full.map(({ m, n }) => m * n / 64 ** 2))
    } workgroups of one product make 90 % of the best rate`;
  return keys.map((key) =>
    finding(
      [`SPLIT_RULE.${key}`, "lib/gpu/ops/gemm.ts", SPLIT_RULE[key]],
      shapes.length > 0 && { best: best[key], why },
    )
  );
}

/** The rate at a number of splits, interpolated linearly over its logarithm between measured numbers. */
function rateAt(rows: readonly ProductRow[], splits: number): number {
  const above = rows.findIndex((row) => row.splits >= splits);
  const [a, b] = [rows[Math.max(0, above - 1)], rows.at(above) ?? rows[0]];
  const share = a.splits < b.splits && splits < b.splits
    ? Math.log(splits / a.splits) / Math.log(b.splits / a.splits)
    : 1;
  return (1 - share) * a.gigaflopsPerS + share * b.gigaflopsPerS;
}

function storageFinding({ training }: SurveyRows): Finding {
  const [f32, f16] = ["f32", "f16"].map((dtype) => training.find((row) => row.dtype === dtype)?.tokensPerS);
  return finding(
    ["dtype", "lib/train/schema.ts", "f32"],
    !!f32 && !!f16 && {
      best: firstOfBest(["f32", "f16"], (dtype) => 1 / (dtype === "f32" ? f32 : f16)),
      why: `training with f16 storage makes ${(f16 / f32).toFixed(2)} x the tokens/s`,
    },
  );
}

/** Rows by subgroups, or by workgroups of the fallback's size. */
function lanesFinding({ kernels }: SurveyRows, { subgroupSize }: AdapterRow): Finding {
  const ratios = kernels.filter(({ unit, subgroups }) => unit === "ns/element" && subgroups).flatMap(
    (row) => {
      const other = kernels.find(({ name, subgroups }) => name === row.name && !subgroups);
      return other ? [other.median / row.median] : [];
    },
  );
  const ratio = geometricMean(ratios);
  const present = subgroupSize ? `subgroups of ${subgroupSize}` : "FALLBACK_LANES";
  return finding(
    ["lanes", "lib/gpu/registry.ts", present],
    ratios.length > 0 && {
      best: ratio >= 1 / WORTH_A_CHANGE ? present : "FALLBACK_LANES",
      why: `without subgroups kernels of rows take ${ratio.toFixed(2)} x the time`,
    },
  );
}

/** The fewest rows that are about as fast as any. A limit above all measured numbers counts as the largest of them. */
function decodingFinding(
  { decoding }: SurveyRows,
  kind: DecodingRow["kind"],
  [constant, present]: [keyof QueryConstants, number],
): Finding {
  const measured = decoding.filter((row) => row.kind === kind);
  const rateOf = (limit: number) => measured.findLast(({ rows }) => rows <= limit)?.tokensPerS ?? 0;
  const candidates = [present, ...measured.map(({ rows }) => rows)];
  return finding(
    [constant, "lib/query/decoder_extent.ts", present],
    measured.length > 0 && {
      best: firstOfBest(candidates, (limit) => 1 / rateOf(limit)),
      why: `tokens/s by rows: ${
        measured.map(({ rows, tokensPerS }) => `${tokensPerS.toFixed(0)} of ${rows}`).join(", ")
      }`,
    },
  );
}

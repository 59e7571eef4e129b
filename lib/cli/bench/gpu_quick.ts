/**
 * `bench gpu --quick`: a survey for a GPU that is available for minutes only. The most important steps come
 * first: wrong results, peers, a training step by kernel, open choices, other models.
 *
 * @module
 */
import { formatBytes, formatCount, formatTable } from "../../base/text.ts";
import type { EngineName } from "../../tensor/engine.ts";
import { ROW_LAYOUTS, type RowLayout } from "../../tensor/registry.ts";
import type { DType } from "../../tensor/tensor.ts";
import { isRight } from "./gpu_checks.ts";
import {
  CHOSEN,
  type DecodedQuery,
  type GpuPart,
  type NamedConfig,
  type PartResults,
  type ProductRow,
  wayOf,
} from "./gpu_parts.ts";
import { type GpuStep, resultsOf, type StepEnd, WORTH_A_CHANGE } from "./gpu_steps.ts";
import { describeComparisons, peersOn } from "./peers.ts";

/** A constant that was chosen without a measurement on this adapter. */
interface Choice {
  name: string;
  /** The current value first, each with the part that measures it. */
  ways: [value: string, part: GpuPart][];
}

export interface QuickPlan {
  isSoftware: boolean;
  /** The configurations of most steps and of the large model, with one micro-batch per step. */
  usual: NamedConfig;
  large: NamedConfig;
  /** The usual configuration with all of its micro-batches. */
  whole: NamedConfig;
  queries: readonly [DecodedQuery, DecodedQuery];
}

/** The choices to try. Their values may differ in the options of the device and of the registry. */
function choicesOf(parts: ReturnType<typeof partsOf>): Choice[] {
  const { training, kernels, usual, isSoftware } = parts;
  const rows = kernels("deno", "f32", "rows");
  const layout = ROW_LAYOUTS[isSoftware ? "software" : "gpu"];
  const ofRows = (name: string, key: keyof RowLayout, values: readonly number[]): Choice => ({
    name,
    ways: [
      [String(layout[key]), rows],
      ...values.map((value): [string, GpuPart] => [
        String(value),
        { ...rows, registry: { rows: { [key]: value } } },
      ]),
    ],
  });
  const unchecked = training("dawn", "f16", usual);
  const boundsChecks: Choice = {
    name: "bounds checks in kernels, f16 on Dawn",
    ways: [
      ["off", unchecked],
      ["on", { ...unchecked, gpu: { ...unchecked.gpu, toggles: [] } }],
    ],
  };
  return [
    // Mesa's compiler then unrolls loops, which takes a minute or more.
    ...(isSoftware ? [] : [boundsChecks]),
    {
      name: "dtype on Deno",
      ways: [["f32", training("deno", "f32", usual)], ["f16", training("deno", "f16", usual)]],
    },
    ofRows("rows per workgroup", "rowsPerGroup", isSoftware ? [4] : [1, 2, 8]),
    ...(isSoftware ? [] : [
      ofRows("largest number of lanes per head", "lanesPerHead", [4, 16]),
      ofRows("largest number of vec4 of a row in registers", "maxKept", [0]),
    ]),
  ];
}

function partsOf({ isSoftware, usual, queries }: QuickPlan) {
  const scale = isSoftware
    ? { trainS: 0.001, caseS: 0.001, maxRows: 256, maxS: 5, rows: [[132], [24]] }
    : { trainS: 4, caseS: 0.05, maxRows: 2 ** 14, maxS: 40, rows: [[132, 1056, 8448], [24, 384]] };
  const { trainS, caseS, maxRows, maxS } = scale;
  // Dawn reports the end of a submit some 3 ms late, and a case is timed in 7 submits.
  const secondsOn = (engine: EngineName) => engine === "dawn" ? 5 * caseS : caseS;
  return {
    usual,
    isSoftware,
    training: (engine: EngineName, dtype: DType, named: NamedConfig) => ({
      kind: "training" as const,
      gpu: { engine, dtype },
      ...named,
      seconds: trainS,
    }),
    products: (engine: EngineName, dtype: DType): GpuPart => ({
      kind: "products",
      gpu: { engine, dtype },
      group: "ways",
      scale: {
        configs: [usual],
        maxRows,
        splits: [1, 2, 4, 8, 16],
        fillTiles: [],
        fillK: 0,
        dtypes: [dtype],
      },
      seconds: secondsOn(engine),
      maxS,
    }),
    kernels: (engine: EngineName, dtype: DType, of: "attention" | "rows") => ({
      kind: "kernels" as const,
      gpu: { engine, dtype },
      ...usual,
      of,
      maxRows,
      seconds: secondsOn(engine),
    }),
    decoding: (engine: EngineName): GpuPart[] =>
      queries.map((query, i) => ({
        kind: "decoding",
        gpu: { engine, dtype: "f32" },
        ...usual,
        query,
        rows: scale.rows[i],
      })),
  };
}

const ENGINES: readonly EngineName[] = ["deno", "dawn"];
const TRAINED: readonly (readonly [EngineName, DType])[] = [["deno", "f32"], ["dawn", "f16"]];

export function quickSteps(plan: QuickPlan): GpuStep[] {
  const { isSoftware, usual, large, whole } = plan;
  const parts = partsOf(plan);
  const steps: GpuStep[] = [];
  const add = (name: string, limitS: number, part: GpuPart) => {
    // Choices share their current values.
    const isKnown = steps.some((step) => JSON.stringify(step.part) === JSON.stringify(part));
    if (!isKnown) steps.push({ name, limitS, part });
  };
  for (const engine of ENGINES) add(`adapter of ${engine}`, 20, { kind: "adapter", gpu: { engine } });
  for (const engine of ENGINES) add(`checks on ${engine}`, 90, { kind: "checks", gpu: { engine } });
  for (const [peer, dtype] of peersOn(plan)) {
    const seconds = isSoftware ? 0.1 : 6;
    add(`beside ${peer}`, 150, { kind: "peer", ...usual, peer, dtype, isSoftware, seconds });
  }
  for (const [engine, dtype] of TRAINED) {
    add(`train in ${dtype} on ${engine}`, 60, parts.training(engine, dtype, usual));
  }
  for (const [engine, dtype] of TRAINED) {
    add(`attention in ${dtype} on ${engine}`, 30, parts.kernels(engine, dtype, "attention"));
  }
  add(`train with all micro-batches in f16 on dawn`, 60, parts.training("dawn", "f16", whole));
  for (const { name, ways } of choicesOf(parts)) {
    for (const [value, part] of ways) add(`${name}: ${value}`, 60, part);
  }
  for (const [engine, dtype] of TRAINED.toReversed()) {
    add(`train ${large.config} in ${dtype} on ${engine}`, 90, parts.training(engine, dtype, large));
  }
  for (const engine of ENGINES) {
    for (const part of parts.decoding(engine)) add(`decode on ${engine}`, 60, part);
  }
  for (const [engine, dtype] of TRAINED.toReversed()) {
    add(`products in ${dtype} on ${engine}`, 60, parts.products(engine, dtype));
  }
  return steps;
}

export function describeQuick(ends: readonly StepEnd[], plan: QuickPlan): string {
  const parts = [
    describeSteps(ends),
    describeChecks(ends),
    ...describePeers(ends),
    describeTraining(ends),
    describeKernels(ends),
    describeCases(ends, "attention"),
    describeCases(ends, "rows"),
    describeChoices(ends, plan),
    describeDecoding(ends),
    ...resultsOf(ends, "products").map(({ step, result }) => `${step.name}\n${describeWays(result)}`),
  ];
  return parts.filter((text) => text !== "").join("\n\n");
}

const format = (value: number) => value.toPrecision(3);

function describeSteps(ends: readonly StepEnd[]): string {
  const adapters = new Map(
    resultsOf(ends, "adapter").map(({ step, result }) => {
      const { name, subgroupSize, matrix } = result;
      const units = matrix ? `matrices of ${matrix.side} x ${matrix.side}` : "no matrix units";
      return [step, `${name}, subgroups of ${subgroupSize ?? "no fixed size"}, ${units}`];
    }),
  );
  const lines = ends.map((end) => [
    end.name,
    end.seconds.toFixed(1),
    end.reason === undefined ? adapters.get(end) ?? "measured" : `NOT MEASURED: ${end.reason}`,
  ]);
  return formatTable([["step", "s", "result"], ...lines], { left: [0, 2] });
}

function describeChecks(ends: readonly StepEnd[]): string {
  const lines = resultsOf(ends, "checks").flatMap(({ step, result }) => {
    const wrong = result.filter((row) => !isRight(row));
    return [
      `${step.name}: ${wrong.length} of ${result.length} results are wrong`,
      ...wrong.map(({ name, error, allowedError }) =>
        `  ${name}: found an error of ${error.toExponential(1)}, expected at most ${allowedError}`
      ),
    ];
  });
  return lines.join("\n");
}

function describePeers(ends: readonly StepEnd[]): string[] {
  const comparisons = resultsOf(ends, "peer").map(({ result }) => result);
  return comparisons.length > 0 ? [describeComparisons(comparisons).join("\n")] : [];
}

function describeTraining(ends: readonly StepEnd[]): string {
  const lines = resultsOf(ends, "training").map(({ step, result: { row } }) => [
    step.name,
    formatCount(Math.round(row.tokensPerS)),
    format(1000 * row.stepS),
    format(row.gigaflopsPerS / 1000),
    formatBytes(row.plannedMemoryBytes),
    row.startS.toFixed(1),
  ]);
  const head = ["training", "tokens/s", "ms per step", "TFLOP/s", "memory", "start, s"];
  return lines.length > 0 ? formatTable([head, ...lines], { left: [0] }) : "";
}

/** Time of each kernel in a training step of the usual model, with a column per engine and dtype. */
function describeKernels(ends: readonly StepEnd[]): string {
  const runs = resultsOf(ends, "training").filter(({ step }) => step.name.startsWith("train in"));
  if (runs.length === 0) return "";
  const labels = [...new Set(runs.flatMap(({ result }) => result.profile.map(({ label }) => label)))];
  const head = [
    "kernel",
    ...runs.flatMap(({ part }) => [`${part.gpu.dtype} on ${part.gpu.engine}, ms`, "TFLOP/s"]),
  ];
  const lines = labels.map((label) => [
    label,
    ...runs.flatMap(({ result }) => {
      const row = result.profile.find((row) => row.label === label);
      if (!row) return ["", ""];
      return [(1000 * row.seconds).toFixed(2), row.flops > 0 ? format(row.flops / row.seconds / 1e12) : ""];
    }),
  ]);
  const totalOf = ({ result }: typeof runs[number]) =>
    (1000 * result.profile.reduce((sum, { seconds }) => sum + seconds, 0)).toFixed(2);
  return formatTable([head, ...lines, ["all", ...runs.flatMap((run) => [totalOf(run), ""])]], { left: [0] });
}

/** Attention or row-wise kernels, with a column per step. */
function describeCases(ends: readonly StepEnd[], of: "attention" | "rows"): string {
  const runs = resultsOf(ends, "kernels").filter(({ part }) => part.of === of);
  if (runs.length === 0) return "";
  const cases = runs[0].result.map(({ name, unit }) => [
    name,
    unit,
    ...runs.map(({ result }) => {
      const row = result.find((row) => row.name === name);
      return row ? format(row.median) : "";
    }),
  ]);
  return formatTable([["kernel", "", ...runs.map(({ step }) => step.name)], ...cases], { left: [0, 1] });
}

/** Speed of each value of a choice, and the advice. */
function describeChoices(ends: readonly StepEnd[], plan: QuickPlan): string {
  const lines = choicesOf(partsOf(plan)).map(({ name, ways }) => {
    const speeds = ways.map(([, part]) => speedOf(ends, part));
    const [present] = speeds;
    const best = Math.max(...speeds.map((speed) => speed ?? 0));
    const advice = present === undefined || speeds.some((speed) => speed === undefined)
      ? "not measured"
      : best > WORTH_A_CHANGE * present
      ? `set to ${ways[speeds.indexOf(best)][0]}`
      : "stays";
    const found = ways.map(([value], i) => {
      const speed = speeds[i];
      const ratio = speed === undefined || present === undefined ? "?" : `${(speed / present).toFixed(2)} x`;
      return `${value} ${ratio}`;
    });
    return [name, found.join(", "), advice];
  });
  return formatTable([["choice", "speed", "advice"], ...lines], { left: [0, 1, 2] });
}

/** A figure that is larger for faster parts; undefined if the part was not measured. */
function speedOf(ends: readonly StepEnd[], part: GpuPart): number | undefined {
  const key = JSON.stringify(part);
  const end = ends.find((end) => JSON.stringify(end.part) === key);
  if (end?.result === undefined) return undefined;
  if (part.kind === "training") return (end.result as PartResults["training"]).row.tokensPerS;
  const rows = end.result as PartResults["kernels"];
  return Math.exp(-rows.reduce((sum, { median }) => sum + Math.log(median), 0) / rows.length);
}

function describeDecoding(ends: readonly StepEnd[]): string {
  const lines = resultsOf(ends, "decoding").flatMap(({ step, result }) =>
    result.map(({ kind, rows, rowsPerPrompt, seconds, tokensPerS }) => [
      step.name,
      kind,
      String(rows),
      format(rows / rowsPerPrompt / seconds),
      format(tokensPerS),
    ])
  );
  const head = ["decoding", "query", "rows", "queries/s", "tokens/s"];
  return lines.length > 0 ? formatTable([head, ...lines], { left: [0, 1] }) : "";
}

/** The chosen and the best way to compute each product. */
function describeWays(rows: readonly ProductRow[]): string {
  const byShape = Map.groupBy(rows, ({ kind, m, n, k }) => `${kind} ${m} x ${n} x ${k}`);
  const lines = [...byShape].map(([shape, rows]) => {
    const best = rows.reduce((best, row) => row.gigaflopsPerS > best.gigaflopsPerS ? row : best);
    const chosen = rows.find(({ kernel }) => kernel === CHOSEN)?.gigaflopsPerS ?? NaN;
    const cells = [format(chosen / 1000), format(best.gigaflopsPerS / 1000)];
    return [shape, ...cells, (best.gigaflopsPerS / chosen).toFixed(2), wayOf(best)];
  });
  const head = ["product", "TFLOP/s", "best", "ratio", "by"];
  return formatTable([head, ...lines], { left: [0, 4] });
}

/** `deno task bench:gpu`: the steps of a survey, the most important ones first. @module */
import type { EngineName } from "../../lib/tensor/engine.ts";
import { ROW_LAYOUTS, type RowLayout } from "../../lib/tensor/registry.ts";
import type { DType } from "../../lib/tensor/tensor.ts";
import { FIRST_BYTES } from "../../lib/query/rtt/rtt_bytes.ts";
import { PROMPT_TOKENS_PER_CONTINUATION } from "../../lib/query/model_decoders.ts";
import type { DecodedQuery, GpuPart, NamedConfig, PartResults } from "./gpu_parts.ts";
import { peersOn } from "./peers.ts";

export interface GpuStep {
  name: string;
  limitS: number;
  part: GpuPart;
}

export interface StepEnd extends GpuStep {
  seconds: number;
  result?: unknown;
  /** Why nothing was measured. */
  reason?: string;
}

export function resultsOf<K extends keyof PartResults>(
  ends: readonly StepEnd[],
  kind: K,
): { step: StepEnd; part: GpuPart & { kind: K }; result: PartResults[K] }[] {
  return ends.filter(({ part, result }) => part.kind === kind && result !== undefined).map((step) => ({
    step,
    part: step.part as GpuPart & { kind: K },
    result: step.result as PartResults[K],
  }));
}

/** The number of orders in which the fields of a measurement can be written. */
const NUM_ORDERS = 24;

const QUERIES: readonly DecodedQuery[] = [
  { kind: "one step", promptTokens: 20, rowsPerPrompt: FIRST_BYTES.length, steps: 1 },
  {
    kind: "many steps",
    promptTokens: NUM_ORDERS * PROMPT_TOKENS_PER_CONTINUATION,
    rowsPerPrompt: NUM_ORDERS,
    steps: 16,
  },
];

/** A constant that was chosen without a measurement on this adapter. */
interface Choice {
  name: string;
  /** The current value first, each with the part that measures it. */
  ways: [value: string, part: GpuPart][];
}

export interface SurveyPlan {
  isSoftware: boolean;
  /** The configurations of most steps and of the large model, with one micro-batch per step. */
  usual: NamedConfig;
  large: NamedConfig;
  /** The usual configuration with all of its micro-batches. */
  whole: NamedConfig;
}

/** The choices to try. Their values may differ in the options of the device and of the registry. */
export function choicesOf(plan: SurveyPlan): Choice[] {
  const { usual, isSoftware } = plan;
  const { training, kernels } = partsOf(plan);
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

function partsOf({ isSoftware, usual }: SurveyPlan) {
  const scale = isSoftware
    ? { trainS: 0.001, caseS: 0.001, maxRows: 256, maxS: 5, rows: [[132], [24]] }
    : { trainS: 4, caseS: 0.05, maxRows: 2 ** 14, maxS: 40, rows: [[132, 1056, 8448], [24, 384]] };
  const { trainS, caseS, maxRows, maxS } = scale;
  // Dawn reports the end of a submit some 3 ms late, and a case is timed in 7 submits.
  const secondsOn = (engine: EngineName) => engine === "dawn" ? 5 * caseS : caseS;
  return {
    training: (engine: EngineName, dtype: DType, named: NamedConfig) => ({
      kind: "training" as const,
      gpu: { engine, dtype },
      ...named,
      seconds: trainS,
    }),
    products: (engine: EngineName, dtype: DType): GpuPart => ({
      kind: "products",
      gpu: { engine, dtype },
      ...usual,
      maxRows,
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
      QUERIES.map((query, i) => ({
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

export function surveySteps(plan: SurveyPlan): GpuStep[] {
  const { isSoftware, usual, large, whole } = plan;
  const parts = partsOf(plan);
  const steps: GpuStep[] = [];
  const add = (name: string, limitOnGpuS: number, part: GpuPart) => {
    const limitS = isSoftware ? 10 * limitOnGpuS : limitOnGpuS;
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
  for (const { name, ways } of choicesOf(plan)) {
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

/**
 * `bench gpu`: the steps of a full survey, whose results recommend constants (`gpu_report.ts`).
 *
 * @module
 */
import { type Gpu, type GpuInfo } from "../../tensor/device.ts";
import type { EngineChoice } from "../../tensor/engine.ts";
import type { DType } from "../../tensor/tensor.ts";
import { PRESETS } from "../../train/run_config.ts";
import type { CheckRow } from "./gpu_checks.ts";
import type {
  DecodedQuery,
  DecodingRow,
  GpuPart,
  NamedConfig,
  ProductRow,
  SubmitRow,
  TrainingRow,
} from "./gpu_parts.ts";
import { type GpuStep, resultsOf, type StepEnd } from "./gpu_steps.ts";
import type { BenchRow } from "./kernel_bench.ts";

export interface SurveyRows {
  checks: CheckRow[];
  submits: SubmitRow[];
  products: ProductRow[];
  /** Measured on a device with or without subgroups. */
  kernels: (BenchRow & { subgroups: boolean })[];
  training: TrainingRow[];
  decoding: DecodingRow[];
}

export function surveyRows(ends: readonly StepEnd[]): SurveyRows {
  const kernels = resultsOf(ends, "kernels").flatMap(({ part, result }) =>
    result.map((row) => ({ ...row, subgroups: part.gpu.subgroups ?? true }))
  );
  return {
    checks: resultsOf(ends, "checks").flatMap(({ result }) => result),
    submits: resultsOf(ends, "submits").map(({ result }) => result),
    products: resultsOf(ends, "products").flatMap(({ result }) => result),
    // Presets share some shapes.
    kernels: [...new Map(kernels.map((row) => [`${row.name} ${row.subgroups}`, row])).values()],
    training: resultsOf(ends, "training").map(({ result }) => result.row),
    decoding: resultsOf(ends, "decoding").flatMap(({ result }) => result),
  };
}

export interface AdapterRow extends GpuInfo {
  features: string[];
  limits: Record<string, number>;
}

export async function describeAdapter({ device, info }: Gpu): Promise<AdapterRow> {
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  const limits: Record<string, number> = {};
  // Getters of the prototype, which Object.entries() skips.
  for (const name in device.limits) limits[name] = Number(device.limits[name as keyof GPUSupportedLimits]);
  return { ...info, features: [...adapter?.features ?? []].sort(), limits };
}

interface SurveyScale {
  /** Seconds for which each kernel is timed. */
  caseS: number;
  /** Sizes of the products that fill the adapter: 64 x 64 tiles of the result, and the extent of k. */
  fillTiles: readonly number[];
  fillK: number;
  /** Presets whose layers are timed, and the largest number of rows. */
  presets: readonly string[];
  maxRows: number;
  /** Numbers of splits tried for gradients. */
  splits: readonly number[];
  /** Training time per storage format. */
  trainS: number;
  /** Numbers of rows decoded together, in one step or in many. */
  rowsOfOneStep: readonly number[];
  rowsOfManySteps: readonly number[];
}

export const SURVEY_SCALES: Record<"full" | "small", SurveyScale> = {
  full: {
    caseS: 0.15,
    fillTiles: [16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096],
    fillK: 2048,
    presets: [...PRESETS.keys()],
    maxRows: 2 ** 14,
    splits: [1, 2, 4, 8, 16, 32],
    trainS: 30,
    rowsOfOneStep: [132, 264, 528, 1024, 2048, 4096, 8192, 16384, 32768],
    rowsOfManySteps: [48, 96, 192, 384, 768, 1024, 2048, 4096],
  },
  small: {
    caseS: 0.001,
    fillTiles: [4, 8],
    fillK: 64,
    presets: ["demo"],
    maxRows: 256,
    splits: [1, 2],
    trainS: 0.001,
    rowsOfOneStep: [132, 264],
    rowsOfManySteps: [24, 48],
  },
};

interface SurveyPlan {
  scale: SurveyScale;
  engine: EngineChoice;
  /** The configuration of the trained and decoded model. */
  named: NamedConfig;
  queries: readonly [DecodedQuery, DecodedQuery];
}

/** The most time for a step, and for all products of a step. */
const LIMIT_S = 180;
const PRODUCTS_S = 120;

/** The steps, most important first. */
export function surveySteps({ scale, engine, named, queries }: SurveyPlan): GpuStep[] {
  const { caseS: seconds, maxRows, trainS } = scale;
  const gpu = { engine };
  const presets = scale.presets.map((config) => ({ config, set: [] }));
  const step = (name: string, part: GpuPart): GpuStep => ({ name, limitS: LIMIT_S, part });
  const products = (
    name: string,
    of: Pick<ProductRow, "part"> & { configs: NamedConfig[]; dtypes?: DType[] },
  ) =>
    step(name, {
      kind: "products",
      gpu,
      group: of.part,
      scale: { dtypes: ["f32"], ...scale, ...of },
      seconds,
      maxS: PRODUCTS_S,
    });
  /** A step per preset, so that a large one that fails does not affect the others. */
  const productsOfLayers = (part: "splits" | "layers", dtypes: DType[]) =>
    presets.map((preset) => products(`${part} of ${preset.config}`, { part, configs: [preset], dtypes }));
  return [
    step("check kernels", { kind: "checks", gpu }),
    step("time submits", { kind: "submits", gpu }),
    products("fill the adapter", { part: "fill", configs: [] }),
    ...productsOfLayers("splits", ["f32"]),
    ...(["f32", "f16"] as const).map((dtype) =>
      step(`train in ${dtype}`, { kind: "training", gpu: { engine, dtype }, ...named, seconds: trainS })
    ),
    ...[scale.rowsOfOneStep, scale.rowsOfManySteps].flatMap((counts, i) =>
      counts.map((count) =>
        step(`decode ${count} rows by ${queries[i].kind}`, {
          kind: "decoding",
          gpu,
          ...named,
          query: queries[i],
          rows: [count],
        })
      )
    ),
    ...productsOfLayers("layers", ["f32", "f16"]),
    // A device without subgroups uses other kernels.
    ...[true, false].flatMap((subgroups) =>
      presets.flatMap((preset) =>
        (["attention", "rows"] as const).map((of) =>
          step(`${of} of ${preset.config}, ${subgroups ? "with" : "without"} subgroups`, {
            kind: "kernels",
            gpu: { engine, subgroups },
            ...preset,
            of,
            maxRows,
            seconds,
          })
        )
      )
    ),
  ];
}

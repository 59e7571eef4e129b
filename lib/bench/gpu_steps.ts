/**
 * `bench gpu`: the steps of a survey, at the sizes of the presets for a GPU, and small ones for a software adapter.
 *
 * @module
 */
import { type BenchCase, measureCase } from "../gpu/bench.ts";
import { attentionCases, gemmCase, rowCases } from "../gpu/bench_cases.ts";
import type { GpuInfo } from "../gpu/device.ts";
import type { AttentionShape } from "../gpu/ops/attention.ts";
import { type GemmVariant, gemmVariants, splitsOf } from "../gpu/ops/gemm.ts";
import { paddedVocabSize } from "../model/buffers.ts";
import { initialParameters } from "../model/parameters.ts";
import { loadConfig, type RunConfig } from "../train/config.ts";
import { PRESETS } from "../train/presets.ts";
import { checkModel, checkProducts, timeSubmits } from "./gpu_checks.ts";
import { type DecodedQuery, timeDecoding } from "./gpu_decoding.ts";
import type { ProductRow, SurveyDevice, SurveyRows, SurveyStep } from "./gpu_survey.ts";
import { timeTraining } from "./gpu_training.ts";

/** How large a survey is. */
export interface SurveyScale {
  /** Seconds for which each kernel is timed. */
  caseS: number;
  /** Products whose results have so many tiles of 64 x 64, with so many steps of k. */
  fillTiles: readonly number[];
  fillK: number;
  /** Presets for whose layers products and attention are timed, with at most so many rows. */
  presets: readonly string[];
  maxRows: number;
  /** Into how many splits gradients are divided. */
  splits: readonly number[];
  trainSteps: number;
  /** Rows decoded together, for queries of one step and of many. */
  decodedRows: readonly number[];
  continuedRows: readonly number[];
  continuedSteps: number;
}

/** A size for each kind of adapter. */
export const SURVEY_SCALES: Record<"full" | "small", SurveyScale> = {
  full: {
    caseS: 0.15,
    fillTiles: [16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096],
    fillK: 2048,
    presets: [...PRESETS.keys()],
    maxRows: 2 ** 14,
    splits: [1, 2, 4, 8, 16, 32],
    trainSteps: 100,
    decodedRows: [132, 264, 512, 1024, 2048, 4096, 8192, 16384, 32768],
    continuedRows: [48, 96, 192, 384, 768, 1024, 2048, 4096],
    continuedSteps: 16,
  },
  small: {
    caseS: 0.001,
    fillTiles: [4, 8, 16],
    fillK: 64,
    presets: ["demo"],
    maxRows: 256,
    splits: [1, 2],
    trainSteps: 2,
    decodedRows: [132, 264],
    continuedRows: [48, 96],
    continuedSteps: 2,
  },
};

/** What a survey is made with. */
export interface SurveyPlan {
  scale: SurveyScale;
  /** What is trained, and whose model decodes. */
  config: RunConfig;
  /** What a decoder holds of queries of one step and of many, besides their steps. */
  queries: { oneStep: Omit<DecodedQuery, "kind" | "steps">; manySteps: Omit<DecodedQuery, "kind" | "steps"> };
  isOver: () => boolean;
  /** Told of what a step is doing. */
  onNote: (note: string) => void;
}

type Shape = Pick<ProductRow, "kind" | "m" | "n" | "k">;

/** The steps in the order of what they tell. @param rows What they add to. */
export function surveySteps(
  plan: SurveyPlan,
  { device, info, rows }: { device: SurveyDevice; info: GpuInfo; rows: SurveyRows },
): SurveyStep[] {
  const { scale } = plan;
  const configs = scale.presets.map((name) => loadConfig(name));
  const layers = layersOf(configs, scale);
  const product = (
    { kernel, tile, overrides }: GemmVariant,
    row: Pick<ProductRow, "part" | "dtype" | "splits"> & Shape,
  ): SurveyStep => {
    const { part, kind, m, n, k, dtype, splits } = row;
    const name = `${dtype} in tiles of ${tile}, ${splits} splits`;
    const how = { variant: { kernel, tile, overrides }, splits };
    const benchCase = gemmCase(kind, m, n, k, { name, how, dtype });
    return {
      name: `${part}: ${benchCase.name}`,
      async run() {
        const { median, slowest, fastest } = await measureCase(await device.registry(), benchCase, {
          seconds: scale.caseS,
        });
        rows.products.push({
          ...{ ...row, kernel, tile, gigaflopsPerS: median },
          ...{ slowestGigaflopsPerS: slowest, fastestGigaflopsPerS: fastest },
        });
      },
    };
  };
  const variants = gemmVariants(info);
  const tiled = variants.filter(({ kernel }) => kernel === "gemm_tiled");
  const weights = weightsOf(plan.config);
  return [
    ...checkSteps(device, rows),
    ...trainingSteps(plan, weights, rows),
    ...scale.fillTiles.flatMap((count) => {
      const side = sideOf(count);
      const shape = { m: 64 * side, n: 64 * count / side, k: scale.fillK };
      const row = { part: "fill", ...shape, dtype: "f32", splits: 1 } as const;
      return [
        product(tiled[0], { ...row, kind: "TN" }),
        ...tiled.map((variant) => product(variant, { ...row, kind: "NT" })),
      ];
    }),
    ...layers.filter(({ kind }) => kind === "TN").flatMap((shape) =>
      scale.splits.filter((splits) => shape.k / splits >= 64).map((splits) =>
        product(tiled[0], { part: "splits", ...shape, dtype: "f32", splits })
      )
    ),
    ...layers.flatMap((shape) =>
      (["f32", "f16"] as const).flatMap((dtype) =>
        variants.map((variant) => {
          const canSplit = shape.kind === "TN" && variant.kernel === "gemm_tiled" && !info.isSoftware;
          const splits = canSplit ? splitsOf(shape) : 1;
          return product(variant, { part: "layers", ...shape, dtype, splits });
        })
      )
    ),
    ...decodingSteps(plan, weights, rows),
    ...kernelSteps(configs, { device, info, rows, scale }),
  ];
}

function checkSteps(device: SurveyDevice, rows: SurveyRows): SurveyStep[] {
  return [
    {
      name: "products",
      run: async () => void rows.checks.push(...await checkProducts(await device.registry())),
    },
    { name: "a model", run: async () => void rows.checks.push(...await checkModel(await device.registry())) },
    { name: "submits", run: async () => void rows.submits.push(await timeSubmits(await device.registry())) },
  ].map(({ name, run }) => ({ name: `check: ${name}`, run }));
}

type Weights = () => Map<string, Float32Array>;

/** The weights of a model, drawn once. */
function weightsOf({ model }: RunConfig): Weights {
  let weights: Map<string, Float32Array> | undefined;
  return () => weights ??= initialParameters(model, 0);
}

function trainingSteps(plan: SurveyPlan, weights: Weights, rows: SurveyRows): SurveyStep[] {
  return (["f32", "f16"] as const).map((dtype) => ({
    name: `train: ${dtype}`,
    async run() {
      const { scale: { trainSteps: numSteps }, isOver, onNote, config } = plan;
      const onStep = (step: number) => onNote(`training in ${dtype}, step ${step} of ${numSteps}`);
      const stored = { ...config, train: { ...config.train, dtype } };
      rows.training.push(await timeTraining(stored, weights(), { numSteps, isOver, onStep }));
    },
  }));
}

function decodingSteps(plan: SurveyPlan, weights: Weights, rows: SurveyRows): SurveyStep[] {
  const { scale, queries, config: { model: config } } = plan;
  const kinds: [DecodedQuery, readonly number[]][] = [
    [{ kind: "one step", steps: 1, ...queries.oneStep }, scale.decodedRows],
    [{ kind: "many steps", steps: scale.continuedSteps, ...queries.manySteps }, scale.continuedRows],
  ];
  return kinds.flatMap(([query, numbers]) =>
    numbers.map((count) => ({
      name: `decode: ${count} rows, ${query.kind}`,
      async run() {
        rows.decoding.push(await timeDecoding({ config, weights: weights() }, query, count));
      },
    }))
  );
}

/** Attention and kernels of rows, with subgroups and without, since a device without has kernels of its own. */
function kernelSteps(
  configs: readonly RunConfig[],
  { device, info, rows, scale }: {
    device: SurveyDevice;
    info: GpuInfo;
    rows: SurveyRows;
    scale: SurveyScale;
  },
): SurveyStep[] {
  const cases: BenchCase[] = [...attentionsOf(configs, scale), ...widthsOf(configs).flatMap(rowCases)];
  return (info.subgroupSize === undefined ? [false] : [true, false]).flatMap((subgroups) =>
    cases.map((benchCase) => ({
      name: `kernels: ${benchCase.name}, ${subgroups ? "with" : "without"} subgroups`,
      async run() {
        const registry = await device.registry(subgroups);
        const { name, unit, median, gigabytesPerSecond } = await measureCase(registry, benchCase, {
          seconds: scale.caseS,
        });
        const speed = unit === "GFLOP/s" ? { gigaflopsPerS: median } : { nsPerElement: median };
        rows.kernels.push({ name, ...speed, gigabytesPerSecond, subgroups });
      },
    }))
  );
}

/** Rows of so many tiles that are nearest to a square, an even number: tiles of 128 x 128 divide both sides. */
function sideOf(count: number): number {
  let side = 2 * Math.floor(Math.sqrt(count) / 2);
  while (count / side % 2 !== 0) side -= 2;
  return side;
}

const widthsOf = (configs: readonly RunConfig[]) => [...new Set(configs.map(({ model }) => model.width))];

/** Tokens of a micro-batch, within the scale. */
function numRowsOf({ model, train }: RunConfig, { maxRows }: SurveyScale): number {
  return Math.min(maxRows, train.microBatchSize * model.sequenceLength);
}

/** y = x W^T, dx = dy W and dW = dy^T x of the layers, each shape once. */
function layersOf(configs: readonly RunConfig[], scale: SurveyScale): Shape[] {
  return distinct(configs.flatMap((config) => {
    const { width, mlpWidth } = config.model;
    const rows = numRowsOf(config, scale);
    return [width, mlpWidth, paddedVocabSize(config.model)].flatMap((outputs): Shape[] => [
      { kind: "NT", m: rows, n: outputs, k: width },
      { kind: "NN", m: rows, n: width, k: outputs },
      { kind: "TN", m: outputs, n: width, k: rows },
    ]);
  }));
}

function attentionsOf(configs: readonly RunConfig[], scale: SurveyScale): BenchCase[] {
  const shapes = configs.map((config): AttentionShape => {
    const { numHeads, headDim } = config.model;
    const sequenceLength = Math.min(config.model.sequenceLength, scale.maxRows);
    return { batchSize: numRowsOf(config, scale) / sequenceLength, sequenceLength, numHeads, headDim };
  });
  return distinct(shapes).flatMap(attentionCases);
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

/**
 * `bench gpu`: the steps of a survey, at the sizes of the presets for a GPU, and small ones for a software adapter.
 *
 * @module
 */
import { type BenchCase, measureCase } from "../gpu/bench.ts";
import { attentionCases, gemmCase, rowCases } from "../gpu/bench_cases.ts";
import { type GemmVariant, gemmVariants, splitsOf } from "../gpu/ops/gemm.ts";
import { paddedVocabSize } from "../model/buffers.ts";
import { initialParameters } from "../model/parameters.ts";
import { loadConfig, type RunConfig } from "../train/run_config.ts";
import { PRESETS } from "../train/presets.ts";
import { checkModel, checkProducts, timeSubmits } from "./gpu_checks.ts";
import { type DecodedQuery, timeDecoding, timeTraining } from "./gpu_models.ts";
import type { AdapterRow, ProductRow, SurveyDevice, SurveyRows, SurveyStep } from "./gpu_survey.ts";

/** The size of a survey. */
export interface SurveyScale {
  /** Seconds for which each kernel is timed. */
  caseS: number;
  /** Products to time: tiles of 64 x 64 of the result, and steps of k. */
  fillTiles: readonly number[];
  fillK: number;
  /** Configurations whose layers are timed, and the most rows. */
  presets: readonly string[];
  maxRows: number;
  /** Numbers of splits of gradients. */
  splits: readonly number[];
  trainSteps: number;
  /** Rows that are decoded together, by one step or by many. */
  rowsOfOneStep: readonly number[];
  rowsOfManySteps: readonly number[];
}

/** The sizes for each kind of adapter. */
export const SURVEY_SCALES: Record<"full" | "small", SurveyScale> = {
  full: {
    caseS: 0.15,
    fillTiles: [16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096],
    fillK: 2048,
    presets: [...PRESETS.keys()],
    maxRows: 2 ** 14,
    splits: [1, 2, 4, 8, 16, 32],
    trainSteps: 100,
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
    trainSteps: 1,
    rowsOfOneStep: [132, 264],
    rowsOfManySteps: [24, 48],
  },
};

/** The input of a survey's steps. */
export interface SurveyPlan {
  scale: SurveyScale;
  adapter: AdapterRow;
  device: SurveyDevice;
  /** The configuration that is trained, and whose model decodes. */
  config: RunConfig;
  /** What is decoded by one step and by many. */
  queries: readonly [DecodedQuery, DecodedQuery];
  /** Each training ends after so many seconds, or when the time of all is over. */
  trainS: number;
  isOver: () => boolean;
  /** Called with what a long step is doing. */
  onNote: (note: string) => void;
}

/** The steps, which add to `rows`, the most important first. */
export function surveySteps(plan: SurveyPlan, rows: SurveyRows): SurveyStep[] {
  const { scale, device } = plan;
  const configs = scale.presets.map((name) => loadConfig(name));
  const step = (name: string, run: () => Promise<unknown>): SurveyStep => ({
    name,
    run: async () => void await run(),
  });
  const products = (isWanted: (row: UntimedProduct) => boolean) =>
    productsOf(configs, plan).filter(({ row }) => isWanted(row)).map(({ row, benchCase }) =>
      step(`${row.part}: ${benchCase.name}`, async () => {
        const { median } = await measureCase(await device.registry(), benchCase, { seconds: scale.caseS });
        rows.products.push({ ...row, gigaflopsPerS: median });
      })
    );
  return [
    step("check products", async () => rows.checks.push(...await checkProducts(await device.registry()))),
    step("check a model", async () => rows.checks.push(...await checkModel(await device.registry()))),
    step("time submits", async () => rows.submits.push(await timeSubmits(await device.registry()))),
    ...products(({ part }) => part !== "layers"),
    ...modelSteps(plan, rows, step),
    ...products(({ part }) => part === "layers"),
    // A device without subgroups has other kernels.
    ...[true, false].flatMap((subgroups) =>
      kernelsOf(configs, scale).map((benchCase) =>
        step(`${benchCase.name}, ${subgroups ? "with" : "without"} subgroups`, async () => {
          const registry = await device.registry(subgroups);
          const row = await measureCase(registry, benchCase, { seconds: scale.caseS });
          rows.kernels.push({ ...row, subgroups });
        })
      )
    ),
  ];
}

/** Training and decoding. */
function modelSteps(
  { config, scale, queries, isOver, trainS, onNote }: SurveyPlan,
  rows: SurveyRows,
  step: (name: string, run: () => Promise<unknown>) => SurveyStep,
): SurveyStep[] {
  let drawn: Map<string, Float32Array> | undefined;
  const weightsOf = () => drawn ??= initialParameters(config.model, 0);
  const { trainSteps: steps } = scale;
  return [
    ...(["f32", "f16"] as const).map((dtype) =>
      step(`train in ${dtype}`, async () => {
        const onStep = (step: number) => onNote(`training in ${dtype}, step ${step} of ${steps}`);
        const endMs = performance.now() + 1000 * trainS;
        const isAtEnd = () => isOver() || performance.now() > endMs;
        const stored = { ...config, train: { ...config.train, dtype } };
        rows.training.push(await timeTraining(stored, weightsOf(), { steps, isOver: isAtEnd, onStep }));
      })
    ),
    ...[scale.rowsOfOneStep, scale.rowsOfManySteps].flatMap((numbers, i) =>
      numbers.map((count) =>
        step(`decode ${count} rows by ${queries[i].kind}`, async () => {
          const model = { config: config.model, weights: weightsOf() };
          rows.decoding.push(await timeDecoding(model, queries[i], count));
        })
      )
    ),
  ];
}

type Shape = Pick<ProductRow, "kind" | "m" | "n" | "k">;
type UntimedProduct = Omit<ProductRow, "gigaflopsPerS">;

/** The products to be timed. */
function productsOf(
  configs: readonly RunConfig[],
  { scale, adapter }: SurveyPlan,
): { row: UntimedProduct; benchCase: BenchCase }[] {
  const variants = gemmVariants(adapter);
  const tiled = variants.filter(({ kernel }) => kernel === "gemm_tiled");
  const of = (
    variant: GemmVariant,
    { kind, m, n, k }: Shape,
    { part, dtype = "f32", splits = 1 }: Pick<ProductRow, "part"> & Partial<ProductRow>,
  ) => {
    const { kernel, tile } = variant;
    const name = `${dtype} in tiles of ${tile}, ${splits} splits`;
    return {
      row: { part, kind, m, n, k, dtype, kernel, tile, splits },
      benchCase: gemmCase(kind, m, n, k, { name, how: { variant, splits }, dtype }),
    };
  };
  const layers = distinct(configs.flatMap((config) => layersOf(config, scale)));
  return [
    ...scale.fillTiles.flatMap((count) => {
      const side = sideOf(count);
      const shape = { m: 64 * side, n: 64 * count / side, k: scale.fillK };
      return [
        of(tiled[0], { ...shape, kind: "TN" }, { part: "fill" }),
        ...tiled.map((variant) => of(variant, { ...shape, kind: "NT" }, { part: "fill" })),
      ];
    }),
    ...layers.filter(({ kind }) => kind === "TN").flatMap((shape) =>
      scale.splits.filter((splits) => shape.k / splits >= 64)
        .map((splits) => of(tiled[0], shape, { part: "splits", splits }))
    ),
    ...layers.flatMap((shape) =>
      variants.flatMap((variant) => {
        const splits = shape.kind === "TN" && variant.kernel === "gemm_tiled" ? splitsOf(shape) : 1;
        return (["f32", "f16"] as const).map((dtype) =>
          of(variant, shape, { part: "layers", dtype, splits })
        );
      })
    ),
  ];
}

/** Rows of so many tiles, about a square, and even, so that tiles of 128 x 128 divide both sides. */
function sideOf(count: number): number {
  let side = 2 * Math.floor(Math.sqrt(count) / 2);
  while (count / side % 2 !== 0) side -= 2;
  return side;
}

/** Tokens of a micro-batch, within the scale. */
function numRowsOf({ model, train }: RunConfig, { maxRows }: SurveyScale): number {
  return Math.min(maxRows, train.microBatchSize * model.sequenceLength);
}

/** y = x W^T, dx = dy W and dW = dy^T x of the layers. */
function layersOf(config: RunConfig, scale: SurveyScale): Shape[] {
  const { width, mlpWidth } = config.model;
  const rows = numRowsOf(config, scale);
  return [width, mlpWidth, paddedVocabSize(config.model)].flatMap((outputs): Shape[] => [
    { kind: "NT", m: rows, n: outputs, k: width },
    { kind: "NN", m: rows, n: width, k: outputs },
    { kind: "TN", m: outputs, n: width, k: rows },
  ]);
}

/** Attention, and the kernels that work row by row. */
function kernelsOf(configs: readonly RunConfig[], scale: SurveyScale): BenchCase[] {
  const attentions = configs.map((config) => {
    const { numHeads, headDim } = config.model;
    const sequenceLength = Math.min(config.model.sequenceLength, scale.maxRows);
    return { batchSize: numRowsOf(config, scale) / sequenceLength, sequenceLength, numHeads, headDim };
  });
  const widths = configs.map(({ model }) => model.width);
  return [...distinct(attentions).flatMap(attentionCases), ...distinct(widths).flatMap(rowCases)];
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

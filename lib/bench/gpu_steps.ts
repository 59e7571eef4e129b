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
import { checkModel, checkProducts, timeDecoding, timeSubmits, timeTraining } from "./gpu_measures.ts";
import type {
  AdapterRow,
  DecodedQuery,
  ProductRow,
  SurveyDevice,
  SurveyRows,
  SurveyStep,
} from "./gpu_survey.ts";

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
  /** Seconds for which each storage is trained. */
  trainS: number;
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

/** The input of a survey's steps. */
export interface SurveyPlan {
  scale: SurveyScale;
  adapter: AdapterRow;
  device: SurveyDevice;
  /** The configuration whose model is trained and decodes. */
  config: RunConfig;
  /** The queries decoded by one step and by many. */
  queries: readonly [DecodedQuery, DecodedQuery];
}

/** The steps, which add to `rows`, the most important first. */
export function surveySteps(plan: SurveyPlan, rows: SurveyRows): SurveyStep[] {
  const { scale, device, config, queries } = plan;
  const seconds = scale.caseS;
  const configs = scale.presets.map((name) => loadConfig(name));
  const steps: SurveyStep[] = [];
  const add = (name: string, run: () => Promise<unknown>) =>
    steps.push({ name, run: async () => void await run() });
  add("check products", async () => rows.checks.push(...await checkProducts(await device.registry())));
  add("check a model", async () => rows.checks.push(...await checkModel(await device.registry())));
  add("time submits", async () => rows.submits.push(await timeSubmits(await device.registry())));
  const { splits, layers } = productsOf(configs, plan);
  const addProducts = (products: readonly TimedProduct[]) => {
    for (const { row, benchCase } of products) {
      add(`${row.part}: ${benchCase.name}`, async () => {
        const { median } = await measureCase(await device.registry(), benchCase, { seconds });
        rows.products.push({ ...row, gigaflopsPerS: median });
      });
    }
  };
  addProducts(splits);
  for (const dtype of ["f32", "f16"] as const) {
    add(`train in ${dtype}`, async () => {
      const stored = { ...config, train: { ...config.train, dtype } };
      rows.training.push(await timeTraining(stored, scale.trainS));
    });
  }
  const weights = initialParameters(config.model, 0);
  for (const [i, numbers] of [scale.rowsOfOneStep, scale.rowsOfManySteps].entries()) {
    for (const count of numbers) {
      add(`decode ${count} rows by ${queries[i].kind}`, async () => {
        const model = { config: config.model, weights };
        rows.decoding.push(await timeDecoding(model, queries[i], count));
      });
    }
  }
  addProducts(layers);
  // A device without subgroups uses other kernels.
  for (const subgroups of [true, false]) {
    for (const benchCase of kernelsOf(configs, scale)) {
      add(`${benchCase.name}, ${subgroups ? "with" : "without"} subgroups`, async () => {
        const row = await measureCase(await device.registry(subgroups), benchCase, { seconds });
        rows.kernels.push({ ...row, subgroups });
      });
    }
  }
  return steps;
}

type Shape = Pick<ProductRow, "kind" | "m" | "n" | "k">;
type TimedProduct = { row: Omit<ProductRow, "gigaflopsPerS">; benchCase: BenchCase };

/** The products to time: `splits` with those that fill the adapter, `layers` of the presets. */
function productsOf(
  configs: readonly RunConfig[],
  { scale, adapter }: SurveyPlan,
): { splits: TimedProduct[]; layers: TimedProduct[] } {
  const variants = gemmVariants(adapter);
  const tiled = variants.filter(({ kernel }) => kernel === "gemm_tiled");
  const productOf = (
    variant: GemmVariant,
    { kind, m, n, k }: Shape,
    { part, dtype = "f32", splits = 1 }: Pick<ProductRow, "part"> & Partial<ProductRow>,
  ): TimedProduct => {
    const { kernel, tile } = variant;
    const name = `${dtype} in tiles of ${tile}, ${splits} splits`;
    return {
      row: { part, kind, m, n, k, dtype, kernel, tile, splits },
      benchCase: gemmCase(kind, m, n, k, { name, how: { variant, splits }, dtype }),
    };
  };
  const splits: TimedProduct[] = [];
  const layers: TimedProduct[] = [];
  for (const count of scale.fillTiles) {
    const side = sideOf(count);
    const shape: Shape = { kind: "NT", m: 64 * side, n: 64 * count / side, k: scale.fillK };
    for (const variant of tiled) splits.push(productOf(variant, shape, { part: "fill" }));
  }
  for (const shape of distinct(configs.flatMap((config) => layersOf(config, scale)))) {
    const isGradient = shape.kind === "TN";
    for (const count of isGradient ? scale.splits : []) {
      if (shape.k / count < 64) continue;
      splits.push(productOf(tiled[0], shape, { part: "splits", splits: count }));
    }
    for (const variant of variants) {
      const count = isGradient && variant.kernel === "gemm_tiled" ? splitsOf(shape) : 1;
      for (const dtype of ["f32", "f16"] as const) {
        layers.push(productOf(variant, shape, { part: "layers", dtype, splits: count }));
      }
    }
  }
  return { splits, layers };
}

/** The rows of a result of `count` tiles: about a square, and even, so that tiles of 128 x 128 divide both sides. */
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

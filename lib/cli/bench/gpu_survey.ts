/**
 * `bench gpu`: the steps of a survey run one by one. A step that fails is reported, and the others continue.
 * Steps that remain when the time is over are also reported.
 *
 * The steps: quick checks that an adapter computes correctly, the time of submits, the start-up and speed of
 * training on made-up batches, and the speed of queries by the number of rows decoded together. Training and
 * decoding open separate devices, whose memory is freed afterwards.
 *
 * @module
 */
import {
  attentionCases,
  type BenchCase,
  BenchMemory,
  type BenchRow,
  gemmCase,
  measureCase,
  rowCases,
} from "./kernel_bench.ts";
import { checkKernels, type CheckRow } from "./gpu_checks.ts";
import { Gpu, type GpuInfo, type GpuOptions } from "../../tensor/device.ts";
import { type GemmKind, type GemmVariant, gemmVariants, splitsOf } from "../../tensor/ops/gemm.ts";
import { KernelRegistry } from "../../tensor/registry.ts";
import type { DType } from "../../tensor/tensor.ts";
import { type ProfileRow, Program } from "../../tensor/program.ts";
import { type ModelConfig, modelShapes } from "../../model/model_config.ts";
import { Decoder } from "../../model/decoder.ts";
import { claimedAddresses, denseBatch, timeSteps, timingWeights } from "../../train/step_timing.ts";
import { deriveConfig, loadConfig, PRESETS, type RunConfig } from "../../train/run_config.ts";
import { planMemory } from "../../train/memory_plan.ts";
import { medianOf } from "./throughput.ts";

/** The cost of a submit, and whether onSubmittedWorkDone() blocks until the work is done. */
export interface SubmitRow {
  /** Median seconds until the call returns, for one small product. */
  submitS: number;
  /** Seconds until the call returns and until its promise settles, for much work. */
  callS: number;
  settledS: number;
}

export interface ProductRow {
  /** Shows how many tiles fill the adapter, the best number of splits, or the layers of the presets. */
  part: "fill" | "splits" | "layers";
  kind: GemmKind;
  m: number;
  n: number;
  k: number;
  dtype: DType;
  kernel: string;
  tile: number;
  splits: number;
  /** The median over the batches. */
  gigaflopsPerS: number;
}

export interface TrainingRow {
  dtype: DType;
  steps: number;
  /** Seconds from opening the device to the end of the first step, and the median of later steps. */
  startS: number;
  stepS: number;
  tokensPerS: number;
  /** Useful operations per second. */
  gigaflopsPerS: number;
  plannedMemoryBytes: number;
}

export interface DecodedQuery {
  /** `one step`: distributions of RTTs; `many steps`: whole measurements. */
  kind: "one step" | "many steps";
  promptTokens: number;
  /** Rows that continue each prompt. */
  rowsPerPrompt: number;
  steps: number;
}

export interface DecodingRow extends DecodedQuery {
  rows: number;
  /** Median seconds of prefill and all steps, including reading the results. */
  seconds: number;
  /** Tokens of the steps only. */
  tokensPerS: number;
}

export interface SurveyRows {
  checks: CheckRow[];
  submits: SubmitRow[];
  products: ProductRow[];
  /** Measured on a device with or without subgroups. */
  kernels: (BenchRow & { subgroups: boolean })[];
  training: TrainingRow[];
  decoding: DecodingRow[];
}

export function emptyRows(): SurveyRows {
  return { checks: [], submits: [], products: [], kernels: [], training: [], decoding: [] };
}

interface SurveyStep {
  name: string;
  run(): Promise<void>;
}

export interface StepEnd {
  name: string;
  seconds: number;
  reason?: string;
}

/** The device that steps share; at most one is open. */
export class SurveyDevice implements Disposable {
  #registry: KernelRegistry | undefined;
  #subgroups = true;

  /** @throws {UserError} If there is no adapter. */
  async registry(subgroups = true): Promise<KernelRegistry> {
    if (this.#subgroups !== subgroups) this[Symbol.dispose]();
    this.#subgroups = subgroups;
    return this.#registry ??= new KernelRegistry(await Gpu.open({ subgroups }));
  }

  /** Frees the device and its memory; the next request opens another one. */
  [Symbol.dispose](): void {
    this.#registry?.gpu.close();
    this.#registry = undefined;
  }
}

/**
 * @param options `device`: closed after a failed step, which may have lost it; `isOver`: whether the time is
 *   over.
 * @throws {InterruptedError} If the signal is aborted.
 */
export async function runSurvey(steps: readonly SurveyStep[], options: {
  device: SurveyDevice;
  signal: AbortSignal;
  isOver: () => boolean;
  onStep: (index: number, name: string) => void;
}): Promise<StepEnd[]> {
  const { device, signal, isOver, onStep } = options;
  const ends: StepEnd[] = [];
  for (const [i, { name, run }] of steps.entries()) {
    signal.throwIfAborted();
    if (isOver()) {
      ends.push({ name, seconds: 0, reason: "the time was over" });
      continue;
    }
    onStep(i, name);
    const startMs = performance.now();
    const end: StepEnd = { name, seconds: 0 };
    try {
      await run();
    } catch (error) {
      // A failure of an unknown adapter or driver is also a result.
      end.reason = String(error);
      device[Symbol.dispose]();
    }
    end.seconds = (performance.now() - startMs) / 1000;
    ends.push(end);
  }
  signal.throwIfAborted();
  return ends;
}

export interface AdapterRow extends GpuInfo {
  features: string[];
  limits: Record<string, number>;
}

export async function describeAdapter({ device, info }: Gpu): Promise<AdapterRow> {
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  const limits: Record<string, number> = {};
  // Getters of the prototype, which Object.entries() does not see.
  for (const name in device.limits) limits[name] = Number(device.limits[name as keyof GPUSupportedLimits]);
  return { ...info, features: [...adapter?.features ?? []].sort(), limits };
}

// The steps, at the sizes of the presets for a GPU, and at small ones for a software adapter.

/** The least duration of the large work. */
const LONG_S = 0.1;

async function timeSubmits(registry: KernelRegistry): Promise<SubmitRow> {
  const { gpu } = registry;
  using memory = new BenchMemory(gpu);
  const programOf = (size: number, repetitions: number) => {
    const add = gemmCase("NN", size, size, size).prepare(memory);
    const program = new Program(registry, "submit");
    for (let i = 0; i < repetitions; i++) add(program);
    return program;
  };
  const small = programOf(32, 1);
  const times: number[] = [];
  while (times.length < 21) times.push(await gpu.timeS(() => small.run()));
  await registry.ready();
  let callS = 0;
  let settledS = 0;
  for (let repetitions = 1; settledS < LONG_S; repetitions *= 2) {
    const program = programOf(512, repetitions);
    const startMs = performance.now();
    callS = await gpu.timeS(() => program.run());
    settledS = (performance.now() - startMs) / 1000;
  }
  return { submitS: medianOf(times), callS, settledS };
}

/**
 * @returns The speed, and the time of one more step by kernel.
 * @throws {UserError} If the model does not fit the adapter.
 */
export async function timeTraining(
  config: RunConfig,
  seconds: number,
  gpu: GpuOptions = {},
): Promise<{ row: TrainingRow; profile: ProfileRow[] }> {
  const { startS, stepsS, profile } = await timeSteps(config, { seconds, profile: true, gpu });
  const stepS = medianOf(stepsS);
  const flops = profile.reduce((sum, row) => sum + row.flops, 0);
  const row = {
    dtype: config.train.dtype,
    steps: stepsS.length,
    startS,
    stepS,
    tokensPerS: deriveConfig(config).tokensPerStep / stepS,
    gigaflopsPerS: flops / stepS / 1e9,
    plannedMemoryBytes: planMemory(config).totalBytes,
  };
  return { row, profile };
}

/** The least number of repetitions and their total time. */
const MIN_REPETITIONS = 3;
const TIMED_S = 0.5;

/**
 * @param rows Rounded down to a multiple of the query's `rowsPerPrompt`.
 * @throws {UserError} If the decoder does not fit the adapter, or the prompt does not fit the model.
 */
export async function timeDecoding(
  model: { config: ModelConfig; weights: Map<string, Float32Array> },
  query: DecodedQuery,
  rows: number,
  gpuOptions: GpuOptions = {},
): Promise<DecodingRow> {
  const { promptTokens, rowsPerPrompt, steps } = query;
  const count = Math.floor(rows / rowsPerPrompt);
  const { tokens } = denseBatch(count, promptTokens, claimedAddresses(model.config, model.weights));
  const prompts = Array.from(
    { length: count },
    (_, i) => tokens.slice(i * promptTokens, (i + 1) * promptTokens),
  );
  const next = Uint16Array.from({ length: count * rowsPerPrompt }, (_, i) => tokens[i % tokens.length]);
  using gpu = await Gpu.open(gpuOptions);
  const decoder = await Decoder.create(new KernelRegistry(gpu), model, {
    maxPromptTokens: tokens.length,
    maxRows: rows,
    maxSteps: steps,
    memoryLimitBytes: Infinity,
  });
  const times: number[] = [];
  // The first repetition compiles and is not timed.
  while (times.length <= MIN_REPETITIONS || times.slice(1).reduce((sum, each) => sum + each) < TIMED_S) {
    const startMs = performance.now();
    // Everything is submitted before the first result is awaited, as in queries.
    const results = [decoder.prefill(prompts)];
    decoder.fork(prompts.map(() => rowsPerPrompt));
    for (let step = 0; step < steps; step++) results.push(decoder.step(next));
    await Promise.all(results);
    times.push((performance.now() - startMs) / 1000);
  }
  const seconds = medianOf(times.slice(1));
  return { ...query, rows, seconds, tokensPerS: next.length * steps / seconds };
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
  adapter: AdapterRow;
  device: SurveyDevice;
  /** The configuration of the trained and decoded model. */
  config: RunConfig;
  queries: readonly [DecodedQuery, DecodedQuery];
}

/** The steps, most important first; they add to `rows`. */
export function surveySteps(plan: SurveyPlan, rows: SurveyRows): SurveyStep[] {
  const { scale, device, config, queries } = plan;
  const seconds = scale.caseS;
  const configs = scale.presets.map((name) => loadConfig(name));
  const steps: SurveyStep[] = [];
  const add = (name: string, run: () => Promise<unknown>) =>
    steps.push({ name, run: async () => void await run() });
  for (const dtype of ["f32", "f16"] as const) {
    add(`check kernels in ${dtype}`, async () => {
      rows.checks.push(...await checkKernels(await device.registry(), dtype));
    });
  }
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
      rows.training.push((await timeTraining(stored, scale.trainS)).row);
    });
  }
  const weights = timingWeights(config.model);
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

/** The products to time: `splits` including those that fill the adapter, and the `layers` of the presets. */
function productsOf(
  configs: readonly RunConfig[],
  { scale, adapter }: SurveyPlan,
): { splits: TimedProduct[]; layers: TimedProduct[] } {
  const tiled = gemmVariants(adapter, { kind: "NN", m: 64, n: 64, k: 64 }).filter(({ kernel }) =>
    kernel === "gemm_tiled"
  );
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
    for (const variant of gemmVariants(adapter, shape)) {
      const count = isGradient && variant.kernel !== "gemm_subgroup8" ? splitsOf(shape) : 1;
      // Matrix units round f32 to f16.
      for (const dtype of variant.kernel === "gemm_matrix" ? ["f16"] as const : ["f32", "f16"] as const) {
        layers.push(productOf(variant, shape, { part: "layers", dtype, splits: count }));
      }
    }
  }
  return { splits, layers };
}

/** Rows of a nearly square result of `count` tiles; even, so that 128 x 128 tiles divide both sides. */
function sideOf(count: number): number {
  let side = 2 * Math.floor(Math.sqrt(count) / 2);
  while (count / side % 2 !== 0) side -= 2;
  return side;
}

/** Tokens of a micro-batch, limited by the scale. */
function numRowsOf({ model, train }: RunConfig, { maxRows }: Pick<SurveyScale, "maxRows">): number {
  return Math.min(maxRows, train.microBatchSize * model.sequenceLength);
}

/** y = x W^T, dx = dy W and dW = dy^T x of the layers. */
export function layersOf(config: RunConfig, scale: Pick<SurveyScale, "maxRows">): Shape[] {
  const { width, mlpWidth } = config.model;
  const rows = numRowsOf(config, scale);
  return [width, mlpWidth, modelShapes(config.model).paddedVocabSize].flatMap((outputs): Shape[] => [
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
  return [
    ...distinct(attentions).flatMap((shape) => attentionCases(shape)),
    ...distinct(widths).flatMap((width) => rowCases(width)),
  ];
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

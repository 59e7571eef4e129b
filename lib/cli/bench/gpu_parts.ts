/**
 * `bench gpu`: the parts of a survey, each of which `bench child` measures in a separate process.
 *
 * @module
 */
import type { TensorArray } from "../../base/safetensors_header.ts";
import { medianOf } from "../../base/sample_statistics.ts";
import { KernelError } from "../../base/errors.ts";
import { Decoder } from "../../model/decoder.ts";
import { type ModelConfig, modelShapes } from "../../model/model_config.ts";
import { Gpu, type GpuInfo, type GpuOptions } from "../../tensor/device.ts";
import { type GemmKind, type GemmVariant, gemmVariants, splitsOf } from "../../tensor/ops/gemm.ts";
import { type ProfileRow, Program } from "../../tensor/program.ts";
import { KernelRegistry } from "../../tensor/registry.ts";
import type { DType } from "../../tensor/tensor.ts";
import { planMemory } from "../../train/memory_plan.ts";
import { loadConfig, planRun, type RunConfig } from "../../train/run_config.ts";
import { claimedAddresses, denseBatch, timeSteps, timingWeights } from "../../train/step_timing.ts";
import { checkKernels, type CheckRow } from "./gpu_checks.ts";
import {
  attentionCases,
  BenchMemory,
  type BenchRow,
  crossEntropyCase,
  gemmCase,
  headCases,
  measureCase,
  rowCases,
} from "./kernel_bench.ts";
import { compareWith, type PeerName, type TrainingComparison } from "./peers.ts";

export interface PartOptions {
  gpu: GpuOptions;
  registry?: ConstructorParameters<typeof KernelRegistry>[1];
}

/** A configuration as given on the command line. */
export interface NamedConfig {
  config: string;
  set: readonly string[];
}

interface ProductScale {
  /** Configurations whose layers are multiplied, with at most `maxRows` rows. */
  configs: readonly NamedConfig[];
  maxRows: number;
  /** Numbers of splits tried for gradients. */
  splits: readonly number[];
  /** Products that fill the adapter: numbers of 64 x 64 tiles of the result, and the extent of k. */
  fillTiles: readonly number[];
  fillK: number;
  dtypes: readonly DType[];
}

/** What to measure. `seconds` is the time of each measurement, `maxS` of all together. */
export type GpuPart =
  | PartOptions & { kind: "adapter" }
  | PartOptions & { kind: "checks" }
  | PartOptions & { kind: "submits" }
  | NamedConfig & { kind: "peer"; peer: PeerName; dtype: DType; isSoftware: boolean; seconds: number }
  | PartOptions & NamedConfig & { kind: "training"; seconds: number }
  | PartOptions & NamedConfig & {
    kind: "kernels";
    of: "attention" | "rows";
    maxRows: number;
    seconds: number;
  }
  | PartOptions & {
    kind: "products";
    group: ProductGroup;
    scale: ProductScale;
    seconds: number;
    maxS: number;
  }
  | PartOptions & NamedConfig & { kind: "decoding"; query: DecodedQuery; rows: readonly number[] };

export interface PartResults {
  adapter: GpuInfo;
  checks: CheckRow[];
  submits: SubmitRow;
  peer: TrainingComparison;
  training: { row: TrainingRow; profile: ProfileRow[] };
  kernels: BenchRow[];
  products: ProductRow[];
  decoding: DecodingRow[];
}

/** The cost of a submit, and whether onSubmittedWorkDone() blocks until the work is done. */
export interface SubmitRow {
  /** Median seconds until the call returns, for one small product. */
  submitS: number;
  /** For a lot of work: seconds until the call returns, and until its promise settles. */
  callS: number;
  settledS: number;
}

/** What products show: how many tiles fill the adapter, the best number of splits, the layers, or all their ways. */
export type ProductGroup = "fill" | "splits" | "layers" | "ways";
/** The `kernel` of a product that is computed as the program chooses. */
export const CHOSEN = "as chosen";

export interface ProductRow {
  part: ProductGroup;
  kind: GemmKind;
  m: number;
  n: number;
  k: number;
  dtype: DType;
  /** The kernel, or {@link CHOSEN} if the program chooses kernel, tile and splits. */
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

/** @throws {UserError} If the engine, the peer or enough memory is not available. */
export async function runGpuPart(
  part: GpuPart,
  { signal }: { signal: AbortSignal },
): Promise<PartResults[GpuPart["kind"]]> {
  switch (part.kind) {
    case "peer": {
      const { peer, dtype, ...options } = part;
      return await compareWith([peer, dtype], { ...options, config: configOf(part), signal });
    }
    case "training": {
      const config = configOf(part);
      const { dtype = "f32" } = part.gpu;
      return await timeTraining({ ...config, train: { ...config.train, dtype } }, part.seconds, part.gpu);
    }
    case "decoding": {
      const { model: config } = configOf(part);
      const model = { config, weights: timingWeights(config) };
      const rows: DecodingRow[] = [];
      for (const count of part.rows) rows.push(await timeDecoding(model, part.query, count, part.gpu));
      return rows;
    }
  }
  using gpu = await Gpu.open(part.gpu);
  const registry = new KernelRegistry(gpu, part.registry);
  switch (part.kind) {
    case "adapter":
      return gpu.info;
    case "checks":
      return [...await checkKernels(registry, "f32"), ...await checkKernels(registry, "f16")];
    case "submits":
      return await timeSubmits(registry);
    case "kernels":
      return await measureKernels(registry, part);
    case "products":
      return await measureProducts(registry, part);
  }
}

function configOf({ config, set }: NamedConfig): RunConfig {
  return loadConfig(config, set);
}

/** Attention and its gradient, or the row-wise kernels, for one micro-batch. */
async function measureKernels(
  registry: KernelRegistry,
  part: GpuPart & { kind: "kernels" },
): Promise<BenchRow[]> {
  const { model, train } = configOf(part);
  const sequenceLength = Math.min(model.sequenceLength, part.maxRows);
  const batchSize = Math.max(1, Math.min(train.microBatchSize, Math.floor(part.maxRows / sequenceLength)));
  const numRows = batchSize * sequenceLength;
  const cases = part.of === "attention"
    ? attentionCases({ ...model, sequenceLength, batchSize }, part.gpu.dtype)
    : [...rowCases(model.width, numRows), ...headCases(model, numRows), crossEntropyCase(numRows)];
  const rows: BenchRow[] = [];
  for (const benchCase of cases) rows.push(await measureCase(registry, benchCase, part));
  return rows;
}

/** Measures as many products of a group as fit in `maxS`. */
async function measureProducts(
  registry: KernelRegistry,
  part: GpuPart & { kind: "products" },
): Promise<ProductRow[]> {
  const startMs = performance.now();
  const rows: ProductRow[] = [];
  for (const { how, ...row } of productsOf(registry.gpu.info, part)) {
    if (performance.now() - startMs > 1000 * part.maxS) break;
    const { kind, m, n, k, dtype, splits } = row;
    const special = { name: wayOf(row), dtype, ...(how && { how: { variant: how, splits } }) };
    try {
      const { median } = await measureCase(registry, gemmCase(kind, m, n, k, special), part);
      rows.push({ ...row, gigaflopsPerS: median });
    } catch (error) {
      // Not every kernel can split k.
      if (!(error instanceof KernelError && how && splits > 1)) throw error;
    }
  }
  return rows;
}

type Shape = Pick<ProductRow, "kind" | "m" | "n" | "k">;
/** A product to measure; `how` is undefined if the program chooses. */
type Product = Omit<ProductRow, "gigaflopsPerS"> & { how: GemmVariant | undefined };

export function wayOf({ kernel, tile, splits }: Pick<ProductRow, "kernel" | "tile" | "splits">): string {
  return kernel === CHOSEN ? CHOSEN : `${kernel} ${tile}, ${splits} splits`;
}

function* productsOf(
  info: GpuInfo,
  { group, scale }: { group: ProductGroup; scale: ProductScale },
): Generator<Product> {
  const { configs, maxRows, fillTiles, fillK, splits, dtypes } = scale;
  const variantsOf = (shape: Shape, dtype: DType) =>
    // Matrix units round f32 to f16.
    gemmVariants(info, shape).filter(({ kernel }) => dtype === "f16" || kernel !== "gemm_matrix");
  const productOf = (shape: Shape, dtype: DType, how: GemmVariant | undefined, splits = 1): Product => {
    const { kernel, tile } = how ?? { kernel: CHOSEN, tile: 0 };
    return { part: group, ...shape, dtype, kernel, tile, splits, how };
  };
  if (group === "fill") {
    for (const count of fillTiles) {
      const side = sideOf(count);
      const shape: Shape = { kind: "NT", m: 64 * side, n: 64 * count / side, k: fillK };
      for (const dtype of dtypes) {
        const tiled = variantsOf(shape, dtype).filter(({ kernel }) => kernel === "gemm_tiled");
        for (const variant of tiled) yield productOf(shape, dtype, variant);
      }
    }
    return;
  }
  const shapes = configs.flatMap((named) => layersOf(configOf(named), maxRows));
  for (const shape of new Map(shapes.map((shape) => [JSON.stringify(shape), shape])).values()) {
    const isGradient = shape.kind === "TN";
    const tried = isGradient ? splits.filter((count) => shape.k / count >= 64) : [1];
    for (const dtype of dtypes) {
      const variants = variantsOf(shape, dtype);
      if (group === "splits") {
        const tiled = variants.find(({ kernel }) => kernel === "gemm_tiled");
        for (const count of isGradient ? tried : []) yield productOf(shape, dtype, tiled, count);
      } else if (group === "layers") {
        for (const variant of variants) {
          const count = isGradient && variant.kernel !== "gemm_subgroup8" ? splitsOf(shape) : 1;
          yield productOf(shape, dtype, variant, count);
        }
      } else {
        yield productOf(shape, dtype, undefined);
        for (const variant of variants) {
          for (const count of tried) yield productOf(shape, dtype, variant, count);
        }
      }
    }
  }
}

/** Rows of a nearly square result of `count` tiles; even, so that 128 x 128 tiles divide both sides. */
function sideOf(count: number): number {
  let side = 2 * Math.floor(Math.sqrt(count) / 2);
  while (count / side % 2 !== 0) side -= 2;
  return side;
}

/** The products of the layers for one micro-batch: y = x W^T, dx = dy W and dW = dy^T x. */
function layersOf({ model, train }: RunConfig, maxRows: number): Shape[] {
  const { width, mlpWidth } = model;
  const rows = Math.min(maxRows, train.microBatchSize * model.sequenceLength);
  return [width, mlpWidth, modelShapes(model).paddedVocabSize].flatMap((outputs): Shape[] => [
    { kind: "NT", m: rows, n: outputs, k: width },
    { kind: "NN", m: rows, n: width, k: outputs },
    { kind: "TN", m: outputs, n: width, k: rows },
  ]);
}

/** The least duration of a lot of work. */
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
  return { submitS: medianOf(times) ?? NaN, callS, settledS };
}

/**
 * @returns The speed, and the time of one more step by kernel.
 * @throws {UserError} If the model does not fit the adapter.
 */
async function timeTraining(
  config: RunConfig,
  seconds: number,
  gpu: GpuOptions,
): Promise<{ row: TrainingRow; profile: ProfileRow[] }> {
  const plan = planRun(config);
  const { startS, stepsS, profile } = await timeSteps(plan, { seconds, profile: true, gpu });
  const stepS = medianOf(stepsS) ?? NaN;
  const flops = profile.reduce((sum, row) => sum + row.flops, 0);
  const row = {
    dtype: config.train.dtype,
    steps: stepsS.length,
    startS,
    stepS,
    tokensPerS: plan.tokensPerStep / stepS,
    gigaflopsPerS: flops / stepS / 1e9,
    plannedMemoryBytes: planMemory(plan).totalBytes,
  };
  return { row, profile };
}

/** The least number of repetitions, and the least total time. */
const MIN_REPETITIONS = 3;
const TIMED_S = 0.5;

/**
 * @param rows Rounded down to a multiple of the query's `rowsPerPrompt`.
 * @throws {UserError} If the decoder does not fit the adapter, or the prompt does not fit the model.
 */
async function timeDecoding(
  model: { config: ModelConfig; weights: Map<string, TensorArray> },
  query: DecodedQuery,
  rows: number,
  gpuOptions: GpuOptions,
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
  const seconds = medianOf(times.slice(1)) ?? NaN;
  return { ...query, rows, seconds, tokensPerS: next.length * steps / seconds };
}

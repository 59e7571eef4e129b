/** `deno task bench:gpu`: the parts of a survey, each measured in a separate process. @module */
import type { TensorArray } from "../../lib/base/safetensors_header.ts";
import { KernelError } from "../../lib/base/errors.ts";
import { medianOf } from "../../lib/base/sample_statistics.ts";
import { Decoder } from "../../lib/model/decoder.ts";
import { type ModelConfig, modelShapes } from "../../lib/model/model_config.ts";
import { Gpu, type GpuInfo, type GpuOptions } from "../../lib/tensor/device.ts";
import { type GemmKind, type GemmVariant, gemmVariants } from "../../lib/tensor/ops/gemm.ts";
import type { ProfileRow } from "../../lib/tensor/program.ts";
import { KernelRegistry } from "../../lib/tensor/registry.ts";
import type { DType } from "../../lib/tensor/tensor.ts";
import { planMemory } from "../../lib/train/memory_plan.ts";
import { loadConfig, planRun, type RunConfig } from "../../lib/train/run_config.ts";
import { claimedAddresses, denseBatch, timeSteps, timingWeights } from "../../lib/train/step_timing.ts";
import { checkKernels, type CheckRow } from "./gpu_checks.ts";
import {
  attentionCases,
  type BenchRow,
  crossEntropyCase,
  gemmCase,
  measureCase,
  rowCases,
} from "./kernel_cases.ts";
import { compareWith, type PeerName, type TrainingComparison } from "./peers.ts";

interface OnDevice {
  gpu: GpuOptions;
  registry?: ConstructorParameters<typeof KernelRegistry>[1];
}

/** A configuration as given on the command line. */
export interface NamedConfig {
  config: string;
  set: readonly string[];
}

/** What to measure. `seconds` is the duration of each measurement, `maxS` that of all together. */
export type GpuPart =
  | OnDevice & { kind: "adapter" }
  | OnDevice & { kind: "checks" }
  | NamedConfig & { kind: "peer"; peer: PeerName; dtype: DType; isSoftware: boolean; seconds: number }
  | OnDevice & NamedConfig & { kind: "training"; seconds: number }
  | OnDevice & NamedConfig & KernelsPart
  | OnDevice & NamedConfig & { kind: "products"; maxRows: number; seconds: number; maxS: number }
  | OnDevice & NamedConfig & { kind: "decoding"; query: DecodedQuery; rows: readonly number[] };

interface KernelsPart {
  kind: "kernels";
  of: "attention" | "rows";
  maxRows: number;
  seconds: number;
}

export interface PartResults {
  adapter: GpuInfo;
  checks: CheckRow[];
  peer: TrainingComparison;
  training: { row: TrainingRow; profile: ProfileRow[] };
  kernels: BenchRow[];
  products: ProductRow[];
  decoding: DecodingRow[];
}

/** Names the way in which the program chooses to compute a product. */
export const CHOSEN = "as chosen";

export interface ProductRow {
  kind: GemmKind;
  m: number;
  n: number;
  k: number;
  dtype: DType;
  /** {@link CHOSEN}, or the kernel with its tile and splits. */
  way: string;
  /** The median over the batches. */
  gigaflopsPerS: number;
}

interface TrainingRow {
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

interface DecodingRow extends DecodedQuery {
  rows: number;
  /** Median seconds of prefill and all steps, including reading the results. */
  seconds: number;
  /** Tokens of the steps only. */
  tokensPerS: number;
}

/** Called in a separate process. @throws {UserError} If the engine, the peer or memory is not available. */
export async function runGpuPart(part: GpuPart): Promise<PartResults[GpuPart["kind"]]> {
  if (part.kind === "peer") {
    const { signal } = new AbortController();
    return await compareWith([part.peer, part.dtype], { ...part, config: configOf(part), signal });
  }
  if (part.kind === "training") return await timeTraining(configOf(part), part.seconds, part.gpu);
  if (part.kind === "decoding") {
    const { model: config } = configOf(part);
    const model = { config, weights: timingWeights(config) };
    const rows: DecodingRow[] = [];
    for (const count of part.rows) rows.push(await timeDecoding(part.gpu, model, part.query, count));
    return rows;
  }
  using gpu = await Gpu.open(part.gpu);
  const registry = new KernelRegistry(gpu, part.registry);
  switch (part.kind) {
    case "adapter":
      return gpu.info;
    case "checks":
      return await checkKernels(registry);
    case "kernels":
      return await measureKernels(registry, configOf(part), part);
    case "products":
      return await measureProducts(registry, configOf(part), part);
  }
}

function configOf({ config, set }: NamedConfig): RunConfig {
  return loadConfig(config, set);
}

/** Attention and its gradient, or the row-wise kernels, for one micro-batch. */
async function measureKernels(
  registry: KernelRegistry,
  { model, train }: RunConfig,
  { of, maxRows, seconds, gpu }: KernelsPart & OnDevice,
): Promise<BenchRow[]> {
  const sequenceLength = Math.min(model.sequenceLength, maxRows);
  const batchSize = Math.max(1, Math.min(train.microBatchSize, Math.floor(maxRows / sequenceLength)));
  const numRows = batchSize * sequenceLength;
  const cases = of === "attention"
    ? attentionCases({ ...model, sequenceLength, batchSize }, gpu.dtype)
    : [...rowCases(model, numRows), crossEntropyCase(numRows)];
  const rows: BenchRow[] = [];
  for (const benchCase of cases) rows.push(await measureCase(registry, benchCase, seconds));
  return rows;
}

/** Numbers of splits to try for gradients, each with at least this many steps of k. */
const SPLITS = [1, 2, 4, 8, 16];
const LEAST_SPLIT = 64;

/** Measures the products of the layers for one micro-batch in all ways, as many as fit in `maxS`. */
async function measureProducts(
  registry: KernelRegistry,
  { model, train }: RunConfig,
  { gpu: { dtype = "f32" }, maxRows, seconds, maxS }: GpuPart & { kind: "products" },
): Promise<ProductRow[]> {
  const startMs = performance.now();
  const { width, mlpWidth } = model;
  const numRows = Math.min(maxRows, train.microBatchSize * model.sequenceLength);
  const rows: ProductRow[] = [];
  const measure = async (shape: Shape, way: string, how?: { variant: GemmVariant; splits: number }) => {
    if (performance.now() - startMs > 1000 * maxS) return;
    const { kind, m, n, k } = shape;
    try {
      const product = gemmCase(kind, m, n, k, way, () => how ?? {}, dtype);
      const { median } = await measureCase(registry, product, seconds);
      rows.push({ ...shape, dtype, way, gigaflopsPerS: median });
    } catch (error) {
      // Not every kernel can split k.
      if (!(error instanceof KernelError && how && how.splits > 1)) throw error;
    }
  };
  for (const outputs of [width, mlpWidth, modelShapes(model).paddedVocabSize]) {
    // y = x W^T, dx = dy W and dW = dy^T x.
    const shapes: Shape[] = [
      { kind: "NT", m: numRows, n: outputs, k: width },
      { kind: "NN", m: numRows, n: width, k: outputs },
      { kind: "TN", m: outputs, n: width, k: numRows },
    ];
    for (const shape of shapes) {
      await measure(shape, CHOSEN);
      const tried = shape.kind === "TN" ? SPLITS.filter((count) => shape.k / count >= LEAST_SPLIT) : [1];
      for (const variant of gemmVariants(registry.gpu.info, shape)) {
        // Matrix units round f32 to f16.
        if (dtype === "f32" && variant.kernel === "gemm_matrix") continue;
        for (const splits of tried) {
          await measure(shape, `${variant.kernel} ${variant.tile}, ${splits} splits`, { variant, splits });
        }
      }
    }
  }
  return rows;
}

type Shape = Pick<ProductRow, "kind" | "m" | "n" | "k">;

/** @returns The speed, and the time of one more step by kernel. */
async function timeTraining(
  config: RunConfig,
  seconds: number,
  gpu: GpuOptions,
): Promise<PartResults["training"]> {
  const { dtype = "f32" } = gpu;
  const plan = planRun({ ...config, train: { ...config.train, dtype } });
  const { startS, stepsS, profile } = await timeSteps(plan, { seconds, profile: true, gpu });
  const stepS = medianOf(stepsS) ?? NaN;
  const row = {
    dtype,
    steps: stepsS.length,
    startS,
    stepS,
    tokensPerS: plan.tokensPerStep / stepS,
    gigaflopsPerS: profile.reduce((sum, { flops }) => sum + flops, 0) / stepS / 1e9,
    plannedMemoryBytes: planMemory(plan).totalBytes,
  };
  return { row, profile };
}

/** The minimum number of repetitions, and the minimum total time. */
const MIN_REPETITIONS = 3;
const TIMED_S = 0.5;

/** @param rows Rounded down to a multiple of the query's `rowsPerPrompt`. */
async function timeDecoding(
  gpuOptions: GpuOptions,
  model: { config: ModelConfig; weights: Map<string, TensorArray> },
  query: DecodedQuery,
  rows: number,
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

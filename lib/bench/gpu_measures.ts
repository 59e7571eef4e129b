/**
 * The measures of `bench gpu`: quick checks that an adapter computes correctly (`deno test tests/gpu`
 * checks every kernel), the time of submits, the start-up and speed of training on made-up batches, and the speed of
 * queries by the number of rows decoded together.
 *
 * Training and decoding open separate devices, whose memory is freed afterwards.
 *
 * @module
 */
import { BenchMemory } from "../gpu/bench.ts";
import { gemmCase } from "../gpu/bench_cases.ts";
import { addGemm, type GemmKind, type GemmVariant, gemmVariants } from "../gpu/ops/gemm.ts";
import { Program } from "../gpu/program.ts";
import { Gpu } from "../gpu/device.ts";
import { KernelRegistry } from "../gpu/registry.ts";
import type { DType } from "../gpu/tensor.ts";
import { type ModelConfig, parseModelConfig, vocabSize } from "../model/model_config.ts";
import { Decoder } from "../model/decoder.ts";
import { readParameterLike } from "../model/parameter_tensors.ts";
import { initialParameters } from "../model/parameters.ts";
import { Transformer } from "../model/transformer.ts";
import { claimedAddresses, denseBatch, timeSteps } from "../train/step_timing.ts";
import { deriveConfig, type RunConfig } from "../train/run_config.ts";
import { planMemory } from "../train/memory_plan.ts";
import type { CheckRow, DecodedQuery, DecodingRow, SubmitRow, TrainingRow } from "./gpu_survey.ts";
import { medianOf } from "./throughput.ts";

/** Tolerances relative to the largest element: a hundred roundings of a sum, and one rounding to f16. */
const PRODUCT_ERROR: Record<DType, number> = { f32: 1e-5, f16: 1e-3 };

/** Compares matrix products of each kind, variant and storage with sums in float64. */
export async function checkProducts(registry: KernelRegistry): Promise<CheckRow[]> {
  const rows: CheckRow[] = [];
  for (const variant of gemmVariants(registry.gpu.info)) {
    for (const dtype of ["f32", "f16"] as const) {
      for (const kind of ["NN", "NT", "TN"] as const) {
        const name = `${variant.kernel} ${kind} in tiles of ${variant.tile}, ${dtype}`;
        const error = await productError(registry, { kind, variant, dtype });
        rows.push({ name, error, allowedError: PRODUCT_ERROR[dtype] });
      }
    }
  }
  return rows;
}

async function productError(
  registry: KernelRegistry,
  { kind, variant, dtype }: { kind: GemmKind; variant: GemmVariant; dtype: DType },
): Promise<number> {
  const [m, n, k] = [100, 132, 260];
  using memory = new BenchMemory(registry.gpu);
  const [a, b, c] = [m * k, k * n, m * n].map((length, i) => memory.floats("abc"[i], [length], dtype));
  const program = new Program(registry, "check");
  addGemm(program, { kind, m, n, k, a, b, c, variant });
  program.run();
  await registry.ready();
  const [aValues, bValues, found] = await registry.gpu.read(a, b, c);
  const wanted = Float64Array.from(found, (_, at) => {
    const [row, column] = [Math.floor(at / n), at % n];
    let sum = 0;
    for (let i = 0; i < k; i++) {
      sum += aValues[kind === "TN" ? i * m + row : row * k + i] *
        bValues[kind === "NT" ? column * k + i : i * n + column];
    }
    return sum;
  });
  return largestDifference(found, wanted) / largestDifference(wanted, new Float64Array(m * n));
}

/** The largest difference; Infinity if a result is not a number. */
function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const differences = Float64Array.from(a, (x, i) => Math.abs(x - b[i]));
  const largest = differences.reduce((most, x) => Math.max(most, x), 0);
  return Number.isNaN(largest) ? Infinity : largest;
}

/** The decrease of the loss along the gradient in the check of the gradient, nats. */
const LOSS_CHANGE = 0.02;

/** Checks a small model: its gradient against differences of its loss, its decoder against its forward pass. */
export async function checkModel(registry: KernelRegistry): Promise<CheckRow[]> {
  const sizes = { numLayers: 2, width: 64, numHeads: 2, headDim: 32, mlpWidth: 128, sequenceLength: 64 };
  const config = parseModelConfig({ ...sizes, vocabulary: "v2" });
  const weights = initialParameters(config, 0);
  const batch = denseBatch(1, config.sequenceLength, claimedAddresses(config, weights));
  const { tokens } = batch;
  const model = await Transformer.create(registry, config, { batchSize: 1, training: true });
  model.load(weights);
  model.zeroGradients();
  model.accumulate(batch, 1 / tokens.length);
  const gradients = await readParameterLike(registry.gpu, config, model.gradients);
  const squares = gradients.values().reduce((sum, each) => each.reduce((all, g) => all + g * g, sum), 0);
  const lossAt = async (change: number) => {
    model.load(
      new Map([...gradients].map(([name, gradient]) => [
        name,
        gradient.map((g, i) => (weights.get(name)?.[i] ?? NaN) + change / squares * g),
      ])),
    );
    return (await model.evaluateLosses(batch)).reduce((sum, loss) => sum + loss, 0) / tokens.length;
  };
  const slope = (await lossAt(LOSS_CHANGE) - await lossAt(-LOSS_CHANGE)) / (2 * LOSS_CHANGE);
  model.load(weights);
  const whole = await model.logProbabilities(batch, Uint32Array.from(tokens, (_, i) => i));
  model.destroy();
  const extent = { maxPromptTokens: tokens.length, maxRows: 1, maxSteps: 1, memoryLimitBytes: Infinity };
  const decoder = await Decoder.create(registry, { config, weights }, extent);
  const read = await decoder.prefill([tokens.subarray(0, -1)], { numLast: Infinity });
  decoder.fork([1]);
  const last = await decoder.step(tokens.subarray(-1));
  const decoded = Float32Array.from(
    { length: tokens.length * vocabSize(config) },
    (_, i) => i < read.length ? read[i] : last[i - read.length],
  );
  const error = largestDifference(decoded, whole);
  return [
    { name: "slope of a model's loss along its gradient", error: Math.abs(slope - 1), allowedError: 1e-2 },
    { name: "decoder against the forward pass, nats", error, allowedError: 1e-4 },
  ];
}

/** The smallest time of the large work. */
const LONG_S = 0.1;

/** Times submits. */
export async function timeSubmits(registry: KernelRegistry): Promise<SubmitRow> {
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
 * Trains a configuration for some seconds.
 *
 * @throws {UserError} If the model does not fit the adapter.
 */
export async function timeTraining(config: RunConfig, seconds: number): Promise<TrainingRow> {
  const { startS, stepsS, profile } = await timeSteps(config, { seconds, profile: true });
  const stepS = medianOf(stepsS);
  const flops = profile.reduce((sum, row) => sum + row.flops, 0);
  return {
    dtype: config.train.dtype,
    steps: stepsS.length,
    startS,
    stepS,
    tokensPerS: deriveConfig(config).tokensPerStep / stepS,
    gigaflopsPerS: flops / stepS / 1e9,
    plannedMemoryBytes: planMemory(config).totalBytes,
  };
}

/** The smallest number of repetitions, and the time for more. */
const MIN_REPETITIONS = 3;
const TIMED_S = 0.5;

/**
 * Decodes rows together.
 *
 * @param rows A multiple of the query's `rowsPerPrompt` is used.
 * @throws {UserError} If the decoder does not fit the adapter, or the prompt does not fit the model.
 */
export async function timeDecoding(
  model: { config: ModelConfig; weights: Map<string, Float32Array> },
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
  using gpu = await Gpu.open();
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

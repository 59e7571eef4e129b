/**
 * `bench gpu`: quick checks that an adapter computes correctly, against float64. `deno test tests/tensor`
 * checks every kernel at many sizes.
 *
 * @module
 */
import { BenchMemory } from "./kernel_bench.ts";
import { adamWHyper, addAdamW, NUM_ADAMW_HYPER } from "../../tensor/ops/adamw.ts";
import { addAttention, addAttentionBackward } from "../../tensor/ops/attention.ts";
import { addCrossEntropy } from "../../tensor/ops/cross_entropy.ts";
import { addGemm, type GemmKind, type GemmVariant, gemmVariants } from "../../tensor/ops/gemm.ts";
import { addQkNormRope, addQkNormRopeBackward } from "../../tensor/ops/qk_norm_rope.ts";
import { addRmsNorm, addRmsNormBackward } from "../../tensor/ops/rms_norm.ts";
import type { KernelRegistry } from "../../tensor/registry.ts";
import { type DType, type Tensor, tensorLength } from "../../tensor/tensor.ts";
import { Program } from "../../tensor/program.ts";
import { parseModelConfig } from "../../model/model_config.ts";
import { Decoder } from "../../model/decoder.ts";
import { initialParameters, readParameterLike } from "../../model/parameters.ts";
import { Transformer } from "../../model/transformer.ts";
import { claimedAddresses, denseBatch } from "../../train/step_timing.ts";
import { RandomStream } from "../../base/random.ts";

export interface CheckRow {
  name: string;
  error: number;
  allowedError: number;
}

export function isRight({ error, allowedError }: CheckRow): boolean {
  return error <= allowedError;
}

/** Tolerances relative to the largest element: a hundred roundings of a sum, and one or two to f16. */
const ERROR: Record<DType, number> = { f32: 1e-5, f16: 1e-3 };

export async function checkKernels(registry: KernelRegistry, dtype: DType): Promise<CheckRow[]> {
  const rows: CheckRow[] = [];
  for (const [name, check] of Object.entries({ checkProducts, checkAttention, checkRows, checkModel })) {
    try {
      rows.push(...await check(registry, dtype));
    } catch (error) {
      // A kernel that does not compile, or a loss that is not a number, must not hide other results.
      rows.push({ name: `${name}() in ${dtype}: ${error}`, error: Infinity, allowedError: 0 });
    }
  }
  // JSON would turn NaN and Infinity into null, and null is below every tolerance.
  return rows.map((row) => ({ ...row, error: Number.isFinite(row.error) ? row.error : Number.MAX_VALUE }));
}

/** Compares matrix products of each kind and variant with sums in float64. */
async function checkProducts(registry: KernelRegistry, dtype: DType): Promise<CheckRow[]> {
  const rows: CheckRow[] = [];
  // Matrix units need multiples of 8, and round f32 to f16.
  for (const variant of gemmVariants(registry.gpu.info, { kind: "NN", m: 104, n: 136, k: 264 })) {
    const isByMatrices = variant.kernel === "gemm_matrix";
    if (isByMatrices && dtype === "f32") continue;
    const size = isByMatrices ? [104, 136, 264] : [100, 132, 260];
    for (const kind of ["NN", "NT", "TN"] as const) {
      const name = `${variant.kernel} ${kind} in tiles of ${variant.tile}, ${dtype}`;
      const error = await productError(registry, size, { kind, variant, dtype });
      rows.push({ name, error, allowedError: ERROR[dtype] });
    }
  }
  if (dtype === "f32" && registry.gpu.info.matrix) {
    for (const kind of ["NN", "NT", "TN"] as const) {
      const error = await productError(registry, [104, 136, 264], { kind, dtype });
      rows.push({ name: `f32 as sums of two f16, ${kind}`, error, allowedError: ERROR.f32 });
    }
  }
  return rows;
}

/** The error of a product in a variant, or with f32 split into two f16 for matrix units. */
async function productError(
  registry: KernelRegistry,
  [m, n, k]: number[],
  { kind, variant, dtype }: { kind: GemmKind; variant?: GemmVariant; dtype: DType },
): Promise<number> {
  using memory = new BenchMemory(registry.gpu);
  const tensors = new RandomTensors(registry, memory);
  const [[a, aValues], [b, bValues]] = [m * k, k * n].map((length) => tensors.make([length], dtype));
  const c = memory.floats("c", [m * n], dtype);
  const how = variant ? { variant } : { exponents: { a: 15, b: 15 } };
  const [found] = await tensors.run((program) => addGemm(program, { kind, m, n, k, a, b, c, ...how }), c);
  const wanted = Float64Array.from(found, (_, at) => {
    const [row, column] = [Math.floor(at / n), at % n];
    let sum = 0;
    for (let i = 0; i < k; i++) {
      sum += aValues[kind === "TN" ? i * m + row : row * k + i] *
        bValues[kind === "NT" ? column * k + i : i * n + column];
    }
    return sum;
  });
  return relativeError(found, wanted);
}

/** The largest difference; Infinity if a result is not a number. */
function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const differences = Float64Array.from(a, (x, i) => Math.abs(x - b[i]));
  const largest = differences.reduce((most, x) => Math.max(most, x), 0);
  return Number.isNaN(largest) ? Infinity : largest;
}

/** How much the check of the gradient lowers the loss along it, nats. */
const LOSS_CHANGE = 0.02;

/** The decoder always computes in f32. */
const MODEL_ERROR = { f32: { slope: 1e-2, nats: 1e-4 }, f16: { slope: 2e-2, nats: 0.02 } };

/** Checks a small model: gradient against differences of the loss, decoder against forward pass. */
async function checkModel(registry: KernelRegistry, dtype: DType): Promise<CheckRow[]> {
  const sizes = { numLayers: 2, width: 64, numHeads: 2, headDim: 32, mlpWidth: 128, sequenceLength: 64 };
  const config = parseModelConfig({ ...sizes, vocabulary: "v2" });
  const weights = initialParameters(config, 0);
  const batch = denseBatch(1, config.sequenceLength, claimedAddresses(config, weights));
  const { tokens } = batch;
  const model = await Transformer.create(registry, config, { batchSize: 1, training: true, dtype });
  model.load(weights);
  model.zeroGradients();
  model.accumulate(batch, 1 / tokens.length);
  const gradients = await readParameterLike(registry.gpu, model.shapes, model.gradients);
  const [[lossScale]] = model.lossScale ? await registry.gpu.read(model.lossScale) : [[1]];
  gradients.forEach((gradient) => gradient.forEach((g, i) => gradient[i] = g / lossScale));
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
    { length: tokens.length * decoder.shapes.vocabSize },
    (_, i) => i < read.length ? read[i] : last[i - read.length],
  );
  const error = largestDifference(decoded, whole);
  return [
    {
      name: `slope of a model's loss along its gradient, ${dtype}`,
      error: Math.abs(slope - 1),
      allowedError: MODEL_ERROR[dtype].slope,
    },
    {
      name: `decoder against the forward pass in ${dtype}, nats`,
      error,
      allowedError: MODEL_ERROR[dtype].nats,
    },
  ];
}

function relativeError(found: ArrayLike<number>, wanted: ArrayLike<number>): number {
  return largestDifference(found, wanted) / largestDifference(wanted, new Float64Array(wanted.length));
}

/** Random tensors with their values as the kernels read them. */
class RandomTensors {
  readonly #random = new RandomStream(0, "bench/checks");

  constructor(readonly registry: KernelRegistry, readonly memory: BenchMemory) {}

  /** Random numbers in `range` around 0. */
  make(shape: readonly number[], dtype: DType, range = 1): [Tensor, Float32Array] {
    const tensor = this.memory.floats("random", shape, dtype);
    const values = Float32Array.from(
      { length: tensorLength(tensor) },
      () => range * (2 * this.#random.float64() - 1),
    );
    const stored = dtype === "f16" ? Float16Array.from(values) : values;
    this.registry.gpu.write(tensor, new Uint32Array(stored.buffer));
    return [tensor, Float32Array.from(stored)];
  }

  /** Runs operations. @returns The contents of `written`. */
  async run(add: (program: Program) => void, ...written: Tensor[]): Promise<Float32Array[]> {
    const program = new Program(this.registry, "check");
    add(program);
    program.run();
    await this.registry.ready();
    const results = await this.registry.gpu.read(...written);
    program.destroy();
    return results;
  }
}

/** Attention sums more values that are rounded to f16: weights of scores and their gradients. */
const ATTENTION_ERROR: Record<DType, number> = { f32: 5e-5, f16: 4e-3 };

/** Compares attention and its gradient at the head sizes of the presets, with two segments per sequence. */
async function checkAttention(registry: KernelRegistry, dtype: DType): Promise<CheckRow[]> {
  const rows: CheckRow[] = [];
  for (const headDim of [64, 128]) {
    using memory = new BenchMemory(registry.gpu);
    const tensors = new RandomTensors(registry, memory);
    const shape = { batchSize: 2, sequenceLength: 150, numHeads: 2, headDim };
    const tokens = [2, 150];
    const ofHeads = [...tokens, 2, headDim];
    const starts = Uint32Array.from({ length: 300 }, (_, i) => i % 150 < 70 ? 0 : 70);
    // Queries in this range make some weights large.
    const [q, qValues] = tensors.make(ofHeads, dtype, 4);
    const [[k, kValues], [v, vValues], [dOut, dOutValues]] = [
      tensors.make(ofHeads, dtype),
      tensors.make(ofHeads, dtype),
      tensors.make(ofHeads, dtype),
    ];
    const [out, dq, dk, dv] = ["out", "dq", "dk", "dv"].map((label) => memory.floats(label, ofHeads, dtype));
    const [logSumExp, delta] = ["logSumExp", "delta"].map((label) => memory.float32(label, [...tokens, 2]));
    const args = {
      ...shape,
      q,
      k,
      v,
      out,
      logSumExp,
      segmentStart: memory.uint32From("starts", tokens, starts),
    };
    const found = await tensors.run(
      (program) => {
        addAttention(program, args);
        addAttentionBackward(program, { ...args, dOut, dq, dk, dv, delta });
      },
      out,
      dq,
      dk,
      dv,
    );
    const wanted = attention(shape, starts, { q: qValues, k: kValues, v: vValues, dOut: dOutValues });
    ["", ", dq", ", dk", ", dv"].forEach((part, i) =>
      rows.push({
        name: `attention, heads of ${headDim}${part}, ${dtype}`,
        error: relativeError(found[i], wanted[i]),
        allowedError: ATTENTION_ERROR[dtype],
      })
    );
  }
  return rows;
}

/** Causal attention within segments, in float64. @returns out, dq, dk, dv. */
function attention(
  { sequenceLength: T, numHeads: H, headDim: D }: {
    sequenceLength: number;
    numHeads: number;
    headDim: number;
  },
  starts: Uint32Array,
  { q, k, v, dOut }: Record<"q" | "k" | "v" | "dOut", Float32Array>,
): Float64Array[] {
  const [out, dq, dk, dv] = [0, 1, 2, 3].map(() => new Float64Array(q.length));
  const dot = (a: Float32Array, at: number, b: Float32Array, other: number) => {
    let sum = 0;
    for (let d = 0; d < D; d++) sum += a[at + d] * b[other + d];
    return sum;
  };
  const addTo = (to: Float64Array, at: number, factor: number, from: Float32Array, other: number) => {
    for (let d = 0; d < D; d++) to[at + d] += factor * from[other + d];
  };
  for (let query = 0; query < starts.length * H; query++) {
    const row = Math.floor(query / H);
    const first = row - row % T + starts[row];
    const keys = Array.from({ length: row - first + 1 }, (_, i) => ((first + i) * H + query % H) * D);
    const at = query * D;
    const weights = keys.map((key) => Math.exp(dot(q, at, k, key) / Math.sqrt(D)));
    const sum = weights.reduce((sum, weight) => sum + weight);
    const dWeights = keys.map((key) => dot(dOut, at, v, key));
    const mean = dWeights.reduce((mean, dWeight, i) => mean + dWeight * weights[i] / sum, 0);
    keys.forEach((key, i) => {
      const share = weights[i] / sum;
      const dScore = share * (dWeights[i] - mean) / Math.sqrt(D);
      addTo(out, at, share, v, key);
      addTo(dv, key, share, dOut, at);
      addTo(dq, at, dScore, k, key);
      addTo(dk, key, dScore, q, at);
    });
  }
  return [out, dq, dk, dv];
}

/** Compares the row-wise kernels and AdamW. With f16, tensors have the dtypes that they have in the model. */
async function checkRows(registry: KernelRegistry, dtype: DType): Promise<CheckRow[]> {
  using memory = new BenchMemory(registry.gpu);
  const tensors = new RandomTensors(registry, memory);
  const rows: CheckRow[] = [];
  const compare = (name: string, found: ArrayLike<number>, wanted: ArrayLike<number>) =>
    rows.push({ name: `${name}, ${dtype}`, error: relativeError(found, wanted), allowedError: ERROR[dtype] });
  await checkNorms(tensors, dtype, compare);
  await checkHeads(tensors, dtype, compare);
  await checkLoss(tensors, dtype, compare);
  if (dtype === "f32") await checkAdamW(tensors, compare);
  return rows;
}

type Compare = (name: string, found: ArrayLike<number>, wanted: ArrayLike<number>) => void;

const EPSILON = 1.1920929e-7;
const NUM_ROWS = 37;

/** x / sqrt(mean(x^2)) of each row, and the gradient with respect to x from the result's gradient. */
function normalized(
  x: ArrayLike<number>,
  dy: ArrayLike<number>,
  width: number,
): { y: Float64Array; dx: Float64Array } {
  const [y, dx] = [new Float64Array(x.length), new Float64Array(x.length)];
  for (let start = 0; start < x.length; start += width) {
    let squares = 0;
    for (let i = start; i < start + width; i++) squares += x[i] ** 2;
    const scale = 1 / Math.sqrt(squares / width + EPSILON);
    let mean = 0;
    for (let i = start; i < start + width; i++) mean += dy[i] * (y[i] = x[i] * scale) / width;
    for (let i = start; i < start + width; i++) dx[i] = scale * (dy[i] - mean * y[i]);
  }
  return { y, dx };
}

async function checkNorms(tensors: RandomTensors, dtype: DType, compare: Compare): Promise<void> {
  const width = 640;
  const size = [NUM_ROWS, width];
  const [x, xValues] = tensors.make(size, "f32");
  const [dy, dyValues] = tensors.make(size, dtype);
  const [dx, before] = tensors.make(size, "f32");
  const [y, scale] = [tensors.memory.floats("y", size, dtype), tensors.memory.float32("scale", [NUM_ROWS])];
  const shape = { rows: NUM_ROWS, width };
  const [foundY, foundDx] = await tensors.run(
    (program) => {
      addRmsNorm(program, { ...shape, x, y, scale });
      addRmsNormBackward(program, { ...shape, x, scale, dy, dx, accumulate: true });
    },
    y,
    dx,
  );
  const wanted = normalized(xValues, dyValues, width);
  compare("rmsNorm", foundY, wanted.y);
  compare("rmsNorm backward", foundDx, wanted.dx.map((value, i) => value + before[i]));
}

async function checkHeads(tensors: RandomTensors, dtype: DType, compare: Compare): Promise<void> {
  const shape = { rows: NUM_ROWS, numHeads: 3, headDim: 64, sequenceLength: 20, norm: true };
  const size = [NUM_ROWS, 3, 64];
  const [x, xValues] = tensors.make(size, dtype);
  const [dy, dyValues] = tensors.make(size, dtype);
  const [y, dx] = ["y", "dx"].map((label) => tensors.memory.floats(label, size, dtype));
  const scale = tensors.memory.float32("scale", [NUM_ROWS, 3]);
  const [foundY, foundDx] = await tensors.run(
    (program) => {
      addQkNormRope(program, { ...shape, x, y, scale });
      addQkNormRopeBackward(program, { ...shape, x, scale, dy, dx });
    },
    y,
    dx,
  );
  /** Rotates each pair of dimensions by its angle times a sign. */
  const rotated = (values: ArrayLike<number>, sign: number) =>
    Float64Array.from(values, (value, i) => {
      const position = Math.floor(i / (3 * 64)) % 20;
      const isFirst = i % 64 < 32;
      const angle = sign * position * 10000 ** (-(i % 32) / 32);
      const other = values[isFirst ? i + 32 : i - 32];
      return value * Math.cos(angle) + (isFirst ? -other : other) * Math.sin(angle);
    });
  const wanted = normalized(xValues, rotated(dyValues, -1), 64);
  compare("qkNorm and RoPE", foundY, rotated(wanted.y, 1));
  compare("qkNorm and RoPE backward", foundDx, wanted.dx);
}

async function checkLoss(tensors: RandomTensors, dtype: DType, compare: Compare): Promise<void> {
  const [vocabSize, stride, softcap, rows] = [267, 272, 15, NUM_ROWS];
  const [logits, values] = tensors.make([rows, stride], "f32", 20);
  const [weight, [factor]] = tensors.make([1], "f32");
  const { memory } = tensors;
  const targets = memory.uint32("targets", [rows], vocabSize);
  const lossMask = memory.uint32("lossMask", [rows], 2);
  const [losses, dLogits] = [
    memory.float32("losses", [rows]),
    memory.floats("dLogits", [rows, stride], dtype),
  ];
  const args = { logits, targets, lossMask, losses, dLogits, weight, rows, vocabSize, stride, softcap };
  const [foundLosses, foundGradient] = await tensors.run(
    (program) => addCrossEntropy(program, args),
    losses,
    dLogits,
  );
  const wantedLosses = new Float64Array(rows);
  const gradient = new Float64Array(rows * stride);
  // Rows as BenchMemory.uint32() makes targets and masks.
  for (let row = 0; row < rows; row++) {
    if (7 * row % 2 === 0) continue;
    const z = Float64Array.from(
      values.subarray(row * stride, row * stride + vocabSize),
      (logit) => softcap * Math.tanh(logit / softcap),
    );
    const target = 7 * row % vocabSize;
    const sum = z.reduce((sum, each) => sum + Math.exp(each), 0);
    wantedLosses[row] = Math.log(sum) - z[target];
    z.forEach((each, i) => {
      const slope = factor * (1 - (each / softcap) ** 2);
      gradient[row * stride + i] = slope * (Math.exp(each) / sum - Number(i === target));
    });
  }
  compare("cross-entropy", foundLosses, wantedLosses);
  compare("cross-entropy backward", foundGradient, gradient);
}

async function checkAdamW(tensors: RandomTensors, compare: Compare): Promise<void> {
  const length = 2052;
  const [[parameter, p], [gradient, g], [expAvg, m], [expAvgSq, v]] = [
    tensors.make([length], "f32"),
    tensors.make([length], "f32"),
    tensors.make([length], "f32"),
    tensors.make([length], "f32"),
  ];
  // Averages of squares are not negative.
  v.forEach((value, i) => v[i] = Math.abs(value));
  const { gpu } = tensors.registry;
  gpu.write(expAvgSq, v as Float32Array<ArrayBuffer>);
  const at = { learningRate: 0.1, beta1: 0.8, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1, step: 9 };
  const [hyper, clip] = [[NUM_ADAMW_HYPER], [2]].map((shape) => tensors.memory.float32("numbers", shape));
  gpu.write(hyper, adamWHyper(at));
  gpu.write(clip, Float32Array.of(0.5, 1));
  const args = { parameter, gradient, expAvg, expAvgSq, hyper, clip, length };
  const [found] = await tensors.run((program) => addAdamW(program, args), parameter);
  const wanted = Float64Array.from(p, (value, i) => {
    const clipped = 0.5 * g[i];
    const average = at.beta1 * m[i] + (1 - at.beta1) * clipped;
    const squares = at.beta2 * v[i] + (1 - at.beta2) * clipped ** 2;
    const root = Math.sqrt(squares / (1 - at.beta2 ** at.step)) + at.epsilon;
    const step = average / (1 - at.beta1 ** at.step) / root;
    return value * (1 - at.learningRate * at.weightDecay) - at.learningRate * step;
  });
  compare("AdamW", found, wanted);
}

/**
 * `deno task bench:gpu`: quick checks that an adapter computes correctly, against float64. `deno test
 * tests/tensor` checks every kernel at many sizes.
 *
 * @module
 */
import { RandomStream } from "../../lib/base/random.ts";
import { Decoder } from "../../lib/model/decoder.ts";
import { parseModelConfig } from "../../lib/model/model_config.ts";
import { initialParameters, readParameterLike } from "../../lib/model/parameters.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import { adamWHyper, addAdamW, NUM_ADAMW_HYPER } from "../../lib/tensor/ops/adamw.ts";
import { addAttention, addAttentionBackward } from "../../lib/tensor/ops/attention.ts";
import { addCrossEntropy } from "../../lib/tensor/ops/cross_entropy.ts";
import { addGemm, gemmVariants } from "../../lib/tensor/ops/gemm.ts";
import { addQkNormRope, addQkNormRopeBackward } from "../../lib/tensor/ops/qk_norm_rope.ts";
import { addRmsNorm, addRmsNormBackward } from "../../lib/tensor/ops/rms_norm.ts";
import { Program } from "../../lib/tensor/program.ts";
import type { KernelRegistry } from "../../lib/tensor/registry.ts";
import { type DType, type Tensor, tensorLength } from "../../lib/tensor/tensor.ts";
import { claimedAddresses, denseBatch } from "../../lib/train/step_timing.ts";
import { attention, attentionBackward } from "../reference/attention.ts";
import { crossEntropy, crossEntropyBackward } from "../reference/cross_entropy.ts";
import { gemm } from "../reference/gemm.ts";
import { qkNormRope, qkNormRopeBackward, rmsNorm, rmsNormBackward } from "../reference/layers.ts";
import { adamW } from "../reference/updates.ts";
import { BenchMemory } from "./kernel_cases.ts";

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
/** Attention sums more values that are rounded to f16: weights of scores and their gradients. */
const ATTENTION_ERROR: Record<DType, number> = { f32: 5e-5, f16: 4e-3 };

/** Kernels in f32 and f16, whose tensors have the dtypes that they have in the model. */
export async function checkKernels(registry: KernelRegistry): Promise<CheckRow[]> {
  const rows: CheckRow[] = [];
  const parts = { checkProducts, checkAttention, checkNorms, checkHeads, checkLoss, checkAdamW, checkModel };
  for (const dtype of ["f32", "f16"] as const) {
    for (const [name, check] of Object.entries(parts)) {
      try {
        using checks = new Checks(registry, dtype, rows);
        await check(checks);
      } catch (error) {
        // A kernel that does not compile, or a loss that is not a number, must not hide other results.
        rows.push({ name: `${name}() in ${dtype}: ${error}`, error: Infinity, allowedError: 0 });
      }
    }
  }
  // JSON would turn NaN and Infinity into null, and null is below every tolerance.
  return rows.map((row) => ({ ...row, error: Number.isFinite(row.error) ? row.error : Number.MAX_VALUE }));
}

/** Random tensors with their values as the kernels read them, and the results of comparisons. */
class Checks implements Disposable {
  readonly memory: BenchMemory;
  readonly #random = new RandomStream(0, "bench/checks");

  constructor(readonly registry: KernelRegistry, readonly dtype: DType, readonly rows: CheckRow[]) {
    this.memory = new BenchMemory(registry.gpu);
  }

  /** Random numbers in `range` around 0. */
  make(shape: readonly number[], dtype = this.dtype, range = 1): [Tensor, Float64Array] {
    const tensor = this.output(shape, dtype);
    const values = Array.from(
      { length: tensorLength(tensor) },
      () => range * (2 * this.#random.float64() - 1),
    );
    const stored = new (dtype === "f16" ? Float16Array : Float32Array)(values);
    this.registry.gpu.write(tensor, new Uint32Array(stored.buffer));
    return [tensor, Float64Array.from(stored)];
  }

  output(shape: readonly number[], dtype = this.dtype): Tensor {
    return this.memory.floats("tensor", shape, dtype);
  }

  /** Runs operations, and compares tensors with what they should contain. */
  async compare(
    add: (program: Program) => void,
    wanted: [name: string, written: Tensor, values: Float64Array][],
    errors = ERROR,
  ): Promise<void> {
    const { registry, dtype } = this;
    const program = new Program(registry, "check");
    add(program);
    program.run();
    await registry.ready();
    const found = await registry.gpu.read(...wanted.map(([, written]) => written));
    program.destroy();
    wanted.forEach(([name, , values], i) => {
      const largest = largestDifference(values, new Float64Array(values.length));
      const error = largestDifference(found[i], values) / largest;
      this.rows.push({ name: `${name}, ${dtype}`, error, allowedError: errors[dtype] });
    });
  }

  [Symbol.dispose](): void {
    this.memory[Symbol.dispose]();
  }
}

/** The largest difference; Infinity if a result is not a number. */
function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const differences = Float64Array.from(a, (x, i) => Math.abs(x - b[i]));
  const largest = differences.reduce((most, x) => Math.max(most, x), 0);
  return Number.isNaN(largest) ? Infinity : largest;
}

/** Matrix products of each kind and variant, and f32 as sums of two f16 for matrix units. */
async function checkProducts(checks: Checks): Promise<void> {
  const { dtype, registry: { gpu: { info } } } = checks;
  const variants = gemmVariants(info, { kind: "NN", m: 104, n: 136, k: 264 })
    .map((variant) => ({ name: `${variant.kernel} in tiles of ${variant.tile}`, variant }));
  const split = { name: "f32 as sums of two f16", exponents: { a: 15, b: 15 } };
  for (const { name, ...how } of [...variants, ...(dtype === "f32" && info.matrix ? [split] : [])]) {
    const isByMatrices = !("variant" in how) || how.variant.kernel === "gemm_matrix";
    // Matrix units round f32 to f16, and need multiples of 8.
    if (isByMatrices && "variant" in how && dtype === "f32") continue;
    const [m, n, k] = isByMatrices ? [104, 136, 264] : [100, 132, 260];
    for (const kind of ["NN", "NT", "TN"] as const) {
      const [[a, aValues], [b, bValues]] = [m * k, k * n].map((length) => checks.make([length]));
      const c = checks.output([m * n]);
      await checks.compare(
        (program) => addGemm(program, { kind, m, n, k, a, b, c, ...how }),
        [[`${name}, ${kind}`, c, gemm({ kind, m, n, k }, aValues, bValues)]],
      );
    }
  }
}

/** Attention and its gradient at the head sizes of the presets, with two segments per sequence. */
async function checkAttention(checks: Checks): Promise<void> {
  for (const headDim of [64, 128]) {
    const segmentStart = Uint32Array.from({ length: 300 }, (_, i) => i % 150 < 70 ? 0 : 70);
    const shape = { batchSize: 2, sequenceLength: 150, numHeads: 2, headDim };
    const ofHeads = [2, 150, 2, headDim];
    // Queries in this range make some weights large.
    const made = [4, 1, 1, 1].map((range) => checks.make(ofHeads, checks.dtype, range));
    const [q, k, v, dOut] = made.map(([tensor]) => tensor);
    const [qValues, kValues, vValues, dOutValues] = made.map(([, values]) => values);
    const [out, dq, dk, dv] = made.map(() => checks.output(ofHeads));
    const [logSumExp, delta] = [0, 1].map(() => checks.output([2, 150, 2], "f32"));
    const starts = checks.memory.uint32From("starts", [2, 150], segmentStart);
    const args = { ...shape, q, k, v, out, logSumExp, segmentStart: starts };
    const inputs = { q: qValues, k: kValues, v: vValues };
    const wanted = attentionBackward({ ...shape, segmentStart }, inputs, dOutValues);
    const name = `attention, heads of ${headDim}`;
    await checks.compare(
      (program) => {
        addAttention(program, args);
        addAttentionBackward(program, { ...args, dOut, dq, dk, dv, delta });
      },
      [
        [name, out, attention({ ...shape, segmentStart }, inputs).out],
        [`${name}, dq`, dq, wanted.q],
        [`${name}, dk`, dk, wanted.k],
        [`${name}, dv`, dv, wanted.v],
      ],
      ATTENTION_ERROR,
    );
  }
}

const NUM_ROWS = 37;

async function checkNorms(checks: Checks): Promise<void> {
  const shape = { rows: NUM_ROWS, width: 640 };
  const size = [NUM_ROWS, shape.width];
  const [[x, xValues], [dy, dyValues]] = [checks.make(size, "f32"), checks.make(size)];
  const [dx, before] = checks.make(size, "f32");
  const [y, scale] = [checks.output(size), checks.output([NUM_ROWS], "f32")];
  const gradient = rmsNormBackward(xValues, dyValues, shape.width);
  await checks.compare(
    (program) => {
      addRmsNorm(program, { ...shape, x, y, scale });
      addRmsNormBackward(program, { ...shape, x, scale, dy, dx, accumulate: true });
    },
    [
      ["rmsNorm", y, rmsNorm(xValues, shape.width).y],
      ["rmsNorm backward", dx, gradient.map((value, i) => value + before[i])],
    ],
  );
}

async function checkHeads(checks: Checks): Promise<void> {
  const shape = { rows: NUM_ROWS, numHeads: 3, headDim: 64, sequenceLength: 20, norm: true };
  const size = [NUM_ROWS, 3, 64];
  const [[x, xValues], [dy, dyValues]] = [checks.make(size), checks.make(size)];
  const [y, dx, scale] = [checks.output(size), checks.output(size), checks.output([NUM_ROWS, 3], "f32")];
  await checks.compare(
    (program) => {
      addQkNormRope(program, { ...shape, x, y, scale });
      addQkNormRopeBackward(program, { ...shape, x, scale, dy, dx });
    },
    [
      ["qkNorm and RoPE", y, qkNormRope(shape, xValues).y],
      ["qkNorm and RoPE backward", dx, qkNormRopeBackward(shape, xValues, dyValues)],
    ],
  );
}

async function checkLoss(checks: Checks): Promise<void> {
  const shape = { rows: NUM_ROWS, vocabSize: 267, stride: 272, softcap: 15 };
  const { rows, vocabSize, stride } = shape;
  const [logits, values] = checks.make([rows, stride], "f32", 20);
  const [weight, [factor]] = checks.make([1], "f32");
  const targets = Uint32Array.from({ length: rows }, (_, row) => 7 * row % vocabSize);
  const lossMask = targets.map((target) => target % 2);
  const args = {
    ...shape,
    logits,
    weight,
    targets: checks.memory.uint32From("targets", [rows], targets),
    lossMask: checks.memory.uint32From("lossMask", [rows], lossMask),
    losses: checks.output([rows], "f32"),
    dLogits: checks.output([rows, stride]),
  };
  const dLosses = new Float64Array(rows).fill(factor);
  await checks.compare((program) => addCrossEntropy(program, args), [
    ["cross-entropy", args.losses, crossEntropy(shape, values, targets, lossMask)],
    [
      "cross-entropy backward",
      args.dLogits,
      crossEntropyBackward(shape, values, targets, lossMask, dLosses),
    ],
  ]);
}

/** AdamW always computes in f32. */
async function checkAdamW(checks: Checks): Promise<void> {
  if (checks.dtype !== "f32") return;
  const length = 2052;
  const [[parameter, p], [gradient, g], [expAvg, m], [expAvgSq, v]] = [0, 1, 2, 3].map(() =>
    checks.make([length])
  );
  const { gpu } = checks.registry;
  // Averages of squares are not negative.
  v.forEach((value, i) => v[i] = Math.abs(value));
  gpu.write(expAvgSq, Float32Array.from(v));
  const at = { learningRate: 0.1, beta1: 0.8, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1, step: 9 };
  const [hyper, clip] = [[NUM_ADAMW_HYPER], [2]].map((shape) => checks.output(shape));
  gpu.write(hyper, adamWHyper(at));
  gpu.write(clip, Float32Array.of(0.5, 1));
  const args = { parameter, gradient, expAvg, expAvgSq, hyper, clip, length };
  const wanted = adamW({ parameter: p, expAvg: m, expAvgSq: v }, g.map((value) => 0.5 * value), at);
  await checks.compare((program) => addAdamW(program, args), [["AdamW", parameter, wanted.parameter]]);
}

/** How much the check of the gradient lowers the loss along it, nats. */
const LOSS_CHANGE = 0.02;

/** The decoder always computes in f32. */
const MODEL_ERROR = { f32: { slope: 1e-2, nats: 1e-4 }, f16: { slope: 2e-2, nats: 0.02 } };

/** Checks a small model: gradient against differences of the loss, decoder against forward pass. */
async function checkModel({ registry, dtype, rows }: Checks): Promise<void> {
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
  rows.push(
    {
      name: `slope of a model's loss along its gradient, ${dtype}`,
      error: Math.abs(slope - 1),
      allowedError: MODEL_ERROR[dtype].slope,
    },
    {
      name: `decoder against the forward pass in ${dtype}, nats`,
      error: largestDifference(decoded, whole),
      allowedError: MODEL_ERROR[dtype].nats,
    },
  );
}

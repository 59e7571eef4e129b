/**
 * `bench gpu`: whether an adapter computes what it should, in a few seconds, and whether its time can be taken.
 * `deno test tests/gpu tests/model` checks every kernel.
 *
 * @module
 */
import { BenchMemory, timeRun } from "../gpu/bench.ts";
import { gemmCase } from "../gpu/bench_cases.ts";
import { addGemm, gemmVariants } from "../gpu/ops/gemm.ts";
import { Program } from "../gpu/program.ts";
import type { KernelRegistry } from "../gpu/registry.ts";
import type { DType } from "../gpu/tensor.ts";
import { parseModelConfig, vocabSize } from "../model/config.ts";
import { Decoder } from "../model/decoder.ts";
import { readParameterLike } from "../model/parameter_tensors.ts";
import { initialParameters } from "../model/parameters.ts";
import { Transformer } from "../model/transformer.ts";
import { claimedAddresses, denseBatch } from "../train/calibration.ts";
import { medianOf } from "./throughput.ts";

/** A comparison of what an adapter computes with what it should. */
export interface CheckRow {
  name: string;
  /** The largest difference found, without a unit, and what is allowed. */
  error: number;
  allowedError: number;
  isRight: boolean;
}

const check = (name: string, error: number, allowedError: number): CheckRow => ({
  ...{ name, error, allowedError },
  isRight: error <= allowedError,
});

/** Of the largest element: a hundred roundings of a sum in f32; one of the result where that is f16. */
const PRODUCT_ERROR: Record<DType, number> = { f32: 1e-5, f16: 1e-3 };

/** Matrix products of every kind, variant and storage beside sums in float64. */
export async function checkProducts(registry: KernelRegistry): Promise<CheckRow[]> {
  const [m, n, k] = [100, 132, 260];
  const rows: CheckRow[] = [];
  for (const variant of gemmVariants(registry.gpu.info)) {
    for (const dtype of ["f32", "f16"] as const) {
      let error = 0;
      for (const kind of ["NN", "NT", "TN"] as const) {
        using memory = new BenchMemory(registry.gpu);
        const tensors = ([["a", [m, k]], ["b", [k, n]], ["c", [m, n]]] as const).map(([label, shape]) =>
          memory.floats(label, shape, dtype)
        );
        const [a, b, c] = tensors;
        const program = new Program(registry, "check");
        addGemm(program, { kind, m, n, k, a, b, c, variant });
        program.run();
        await registry.ready();
        const [aValues, bValues, found] = await registry.gpu.read(...tensors);
        const aAt = (row: number, i: number) => aValues[kind === "TN" ? i * m + row : row * k + i];
        const bAt = (i: number, column: number) => bValues[kind === "NT" ? column * k + i : i * n + column];
        const wanted = Float64Array.from(found, (_, at) => {
          let sum = 0;
          for (let i = 0; i < k; i++) sum += aAt(Math.floor(at / n), i) * bAt(i, at % n);
          return sum;
        });
        const largest = wanted.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
        // A NaN is an error of no size, hence the comparison that it fails.
        wanted.forEach((x, i) => {
          const difference = Math.abs(found[i] - x) / largest;
          if (!(difference <= error)) error = Number.isNaN(difference) ? Infinity : difference;
        });
      }
      rows.push(
        check(`${variant.kernel} in tiles of ${variant.tile}, ${dtype}`, error, PRODUCT_ERROR[dtype]),
      );
    }
  }
  return rows;
}

/** By how much the loss falls along the gradient in the check of the gradient, nats. */
const LOSS_CHANGE = 0.02;

/** A small model: its gradient beside differences of its loss, its decoder beside its forward pass. */
export async function checkModel(registry: KernelRegistry): Promise<CheckRow[]> {
  const sizes = { numLayers: 2, width: 64, numHeads: 2, headDim: 32, mlpWidth: 128, sequenceLength: 64 };
  const config = parseModelConfig({ ...sizes, vocabulary: "v2" });
  const weights = initialParameters(config, 0);
  const numSequences = 2;
  const batch = denseBatch(numSequences, config.sequenceLength, claimedAddresses(config, weights));
  const numTokens = batch.tokens.length;
  const model = await Transformer.create(registry, config, { batchSize: numSequences, training: true });
  model.load(weights);
  model.zeroGradients();
  model.accumulate(batch, 1 / numTokens);
  const gradients = await readParameterLike(registry.gpu, config, model.gradients);
  const squares = gradients.values().reduce((sum, each) => each.reduce((all, g) => all + g * g, sum), 0);
  const lossAt = async (change: number) => {
    const moved = [...weights].map(([name, values]): [string, Float32Array] => {
      const gradient = gradients.get(name) ?? values;
      return [name, values.map((value, i) => value + change / squares * gradient[i])];
    });
    model.load(new Map(moved));
    return (await model.evaluateLosses(batch)).reduce((sum, loss) => sum + loss, 0) / numTokens;
  };
  const slope = (await lossAt(LOSS_CHANGE) - await lossAt(-LOSS_CHANGE)) / (2 * LOSS_CHANGE);
  model.load(weights);
  const length = config.sequenceLength;
  const prompts = Array.from(
    { length: numSequences },
    (_, i) => batch.tokens.slice(i * length, (i + 1) * length),
  );
  const whole = await model.logProbabilities(batch, Uint32Array.from(batch.tokens, (_, i) => i));
  const extent = {
    maxPromptTokens: numTokens,
    maxRows: numSequences,
    maxSteps: 1,
    memoryLimitBytes: Infinity,
  };
  const decoder = await Decoder.create(registry, { config, weights }, extent);
  const shorter = prompts.map((prompt) => prompt.subarray(0, -1));
  const read = await decoder.prefill(shorter, { numLast: Infinity });
  decoder.fork(prompts.map(() => 1));
  const stepped = await decoder.step(prompts.map((prompt) => prompt[length - 1]));
  model.destroy();
  const V = vocabSize(config);
  const rowsOf = (values: Float32Array, first: number, count: number) =>
    values.subarray(first * V, (first + count) * V);
  const errors = prompts.flatMap((_, i) => [
    largestDifference(rowsOf(read, i * (length - 1), length - 1), rowsOf(whole, i * length, length - 1)),
    largestDifference(rowsOf(stepped, i, 1), rowsOf(whole, (i + 1) * length - 1, 1)),
  ]);
  return [
    check("gradient of a small model beside differences of its loss, relative", Math.abs(slope - 1), 1e-2),
    check("decoder beside the forward pass, nats", Math.max(...errors), 1e-4),
  ];
}

/** Infinity where something is no number. */
function largestDifference(a: Float32Array, b: Float32Array): number {
  const largest = a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), 0);
  return Number.isNaN(largest) ? Infinity : largest;
}

/** What handing work to the adapter costs, and whether the time of a submit is that of its work. */
export interface SubmitRow {
  /** A submit of one small product, until the device is idle. */
  submitS: number;
  /** Submits of a larger product so many times, and twice as often. */
  repetitions: number;
  onceS: number;
  twiceS: number;
}

const NUM_SUBMITS = 31;
/** A submit whose time is compared with that of twice its work takes about so long. */
const COMPARED_S = 0.03;

/** Times submits. */
export async function timeSubmits(registry: KernelRegistry): Promise<SubmitRow> {
  const medianS = async (size: number, repetitions: number, count: number) => {
    using memory = new BenchMemory(registry.gpu);
    const add = gemmCase("NN", size, size, size).prepare(memory);
    const program = new Program(registry, "submit");
    for (let i = 0; i < repetitions; i++) add(program);
    await timeRun(registry.gpu, program);
    await registry.ready();
    const times: number[] = [];
    while (times.length < count) times.push(await timeRun(registry.gpu, program));
    return medianOf(times);
  };
  const submitS = await medianS(32, 1, NUM_SUBMITS);
  const estimateS = await medianS(512, 10, 3) / 10;
  const repetitions = Math.max(1, Math.ceil(COMPARED_S / estimateS));
  const onceS = await medianS(512, repetitions, 5);
  return { submitS, repetitions, onceS, twiceS: await medianS(512, 2 * repetitions, 5) };
}

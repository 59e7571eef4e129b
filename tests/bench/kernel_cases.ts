/** Cases that time each kernel alone, at the sizes of the presets. @module */
import type { Gpu } from "../../lib/tensor/device.ts";
import { adamWHyper, addAdamW, NUM_ADAMW_HYPER } from "../../lib/tensor/ops/adamw.ts";
import { addAttention, addAttentionBackward, type AttentionShape } from "../../lib/tensor/ops/attention.ts";
import { addCrossEntropy } from "../../lib/tensor/ops/cross_entropy.ts";
import {
  addEmbedding,
  addEmbeddingBackward,
  numTokenRows,
  tokenRows,
} from "../../lib/tensor/ops/embedding.ts";
import { addGemm, type GemmEpilogue, type GemmKind, type GemmVariant } from "../../lib/tensor/ops/gemm.ts";
import { addQkNormRope, addQkNormRopeBackward } from "../../lib/tensor/ops/qk_norm_rope.ts";
import { addSumOfSquares } from "../../lib/tensor/ops/reduce.ts";
import { addRmsNorm, addRmsNormBackward } from "../../lib/tensor/ops/rms_norm.ts";
import { Program } from "../../lib/tensor/program.ts";
import type { KernelRegistry } from "../../lib/tensor/registry.ts";
import { type DType, type Tensor, tensorLength } from "../../lib/tensor/tensor.ts";

export interface BenchCase {
  readonly name: string;
  /** Useful floating-point operations of a product, for GFLOP/s; undefined for cases reported in us. */
  readonly flops: number | undefined;
  /** Makes the tensors. @returns A function that adds one repetition to a program. */
  prepare(memory: BenchMemory): (program: Program) => void;
}

export interface BenchRow {
  readonly name: string;
  readonly unit: "GFLOP/s" | "us";
  /** Over batches of one submit each. */
  readonly median: number;
  readonly slowest: number;
  readonly fastest: number;
}

/** Values repeat after this many elements, because computing each would take longer than the timing. */
const PATTERN_LENGTH = 2 ** 16;

export class BenchMemory {
  readonly #tensors: Tensor[] = [];

  constructor(readonly gpu: Gpu) {}

  /** Numbers spread evenly over [-0.5, 0.5), because zeros could be faster than real data. */
  float32(label: string, shape: readonly number[]): Tensor {
    return this.floats(label, shape, "f32");
  }

  /** {@link float32} of any dtype. @param shape An even number of elements for f16. */
  floats(label: string, shape: readonly number[], dtype: DType): Tensor {
    const tensor = this.#keep(this.gpu.tensor(label, shape, dtype));
    const data = new (dtype === "f16" ? Float16Array : Float32Array)(tensorLength(tensor));
    const length = Math.min(PATTERN_LENGTH, data.length);
    for (let i = 0; i < length; i++) data[i] = (i * Math.SQRT2) % 1 - 0.5;
    for (let end = length; end < data.length; end *= 2) data.copyWithin(end, 0, end);
    this.gpu.write(tensor, new Uint32Array(data.buffer));
    return tensor;
  }

  /** The integers `(7 i) mod below`. */
  uint32(label: string, shape: readonly number[], below: number): Tensor {
    const data = new Uint32Array(shape.reduce((product, extent) => product * extent, 1));
    for (let i = 0; i < data.length; i++) data[i] = 7 * i % below;
    return this.uint32From(label, shape, data);
  }

  uint32From(label: string, shape: readonly number[], data: Uint32Array<ArrayBuffer>): Tensor {
    return this.#keep(this.gpu.tensorFrom(label, shape, data));
  }

  [Symbol.dispose](): void {
    for (const { buffer } of this.#tensors.splice(0)) buffer.destroy();
  }

  #keep(tensor: Tensor): Tensor {
    this.#tensors.push(tensor);
    return tensor;
  }
}

/** Odd, so that there is a median batch. */
const NUM_BATCHES = 7;
/** Bounds the dispatches of one submit. */
const MAX_REPETITIONS = 1000;

/** Times a case without compiling its kernels. @param seconds Approximate duration. */
export async function measureCase(
  registry: KernelRegistry,
  benchCase: BenchCase,
  seconds: number,
): Promise<BenchRow> {
  const { gpu } = registry;
  using memory = new BenchMemory(gpu);
  const add = benchCase.prepare(memory);
  const repeated = (count: number) => {
    const program = new Program(registry, benchCase.name);
    for (let i = 0; i < count; i++) add(program);
    return program;
  };
  const once = repeated(1);
  await gpu.timeS(() => once.run());
  await registry.ready();
  const onceS = Math.max(await gpu.timeS(() => once.run()), 1e-6);
  const wanted = Math.ceil(seconds / NUM_BATCHES / onceS);
  const repetitions = Math.min(MAX_REPETITIONS, Math.max(1, wanted));
  const program = repeated(repetitions);
  await gpu.timeS(() => program.run());
  const times: number[] = [];
  while (times.length < NUM_BATCHES) times.push(await gpu.timeS(() => program.run()) / repetitions);
  times.sort((a, b) => a - b);
  const { name, flops } = benchCase;
  const [fastest, median, slowest] = [0, NUM_BATCHES >> 1, NUM_BATCHES - 1].map((place) =>
    flops === undefined ? 1e6 * times[place] : flops / times[place] / 1e9
  );
  return { name, unit: flops === undefined ? "us" : "GFLOP/s", median, slowest, fastest };
}

/** Settings of `Deno.bench` for a single run at the smallest sizes, if the environment sets BENCH_SMALL. */
export const SMALL = Deno.env.has("BENCH_SMALL") ? { n: 1, warmup: 0 } : undefined;

/** Rows of a micro-batch of the demo preset: 8 sequences of 256 tokens. */
const ROWS = SMALL ? 64 : 2048;

/** Inputs and outputs of linear layers: squares, then the MLP (up, down) and head of the demo preset. */
const LAYERS = [[256, 256], [512, 512], [1024, 1024], [128, 128], [128, 512], [512, 128], [128, 272]];

/** All cases, each in the variant chosen for the adapter. */
export function kernelCases(): BenchCase[] {
  return [
    // y = x W^T, dx = dy W, dW = dy^T x.
    ...LAYERS.flatMap(([width, outputs]) => [
      gemmCase("NT", ROWS, outputs, width),
      gemmCase("NN", ROWS, width, outputs),
      gemmCase("TN", outputs, width, ROWS),
    ]),
    gemmCase("NT", ROWS, 512, 128, "relu2", (other) => (
      { epilogue: { activation: "relu2", before: other() } }
    )),
    gemmCase("NN", ROWS, 512, 128, "slope", (other) => (
      { epilogue: { activation: "relu2", slopeAt: other() } }
    )),
    gemmCase("NT", 1, 640, 640),
    gemmCase("NT", 8, 640, 2560),
    ...[[256, 4, 32], [1024, 10, 64]].flatMap(([length, numHeads, headDim]) => {
      const sequenceLength = Math.min(length, ROWS);
      return attentionCases({ batchSize: ROWS / sequenceLength, sequenceLength, numHeads, headDim });
    }),
    ...rowCases({ width: 128, numHeads: 4, headDim: 32, sequenceLength: 256 }, ROWS),
    ...rowCases({ width: 640, numHeads: 10, headDim: 64, sequenceLength: 1024 }, ROWS),
    crossEntropyCase(ROWS),
    ...elementwiseCases(ROWS * 512),
  ];
}

function caseOf<Args>(
  name: string,
  add: (program: Program, args: Args) => void,
  prepare: (memory: BenchMemory) => Args,
  flops?: number,
): BenchCase {
  return {
    name,
    flops,
    prepare(memory) {
      const args = prepare(memory);
      return (program) => add(program, args);
    },
  };
}

/** @param how Its differences from a plain f32 product, given how to make a matrix of the product's shape. */
export function gemmCase(
  kind: GemmKind,
  m: number,
  n: number,
  k: number,
  name = "",
  how?: (other: () => Tensor) => { epilogue?: GemmEpilogue; variant?: GemmVariant; splits?: number },
  dtype: DType = "f32",
): BenchCase {
  return caseOf(`gemm ${kind} ${m} x ${n} x ${k} ${name}`.trimEnd(), addGemm, (memory) => {
    const [a, b, c] = [[m, k], [k, n], [m, n]].map((shape) => memory.floats("matrix", shape, dtype));
    return { kind, m, n, k, a, b, c, ...how?.(() => memory.float32("other", [m, n])) };
  }, 2 * m * n * k);
}

/**
 * Attention and its gradient, with one segment per sequence. The operations are those of the causal half of T
 * x T: two products of 2 D operations per pair forward, five backward.
 */
export function attentionCases(shape: AttentionShape, dtype: DType = "f32"): BenchCase[] {
  const { batchSize, sequenceLength, numHeads, headDim } = shape;
  const tokens = [batchSize, sequenceLength];
  const ofHeads = [...tokens, numHeads, headDim];
  const flops = batchSize * numHeads * sequenceLength * (sequenceLength + 1) * headDim;
  const name = `${batchSize} x ${sequenceLength}, ${numHeads} heads of ${headDim}`;
  const inputs = (memory: BenchMemory) => {
    const [q, k, v, out] = ["q", "k", "v", "out"].map((label) => memory.floats(label, ofHeads, dtype));
    const logSumExp = memory.float32("logSumExp", [...tokens, numHeads]);
    return { ...shape, q, k, v, out, logSumExp, segmentStart: memory.uint32("segmentStart", tokens, 1) };
  };
  return [
    caseOf(`attention ${name}`, addAttention, inputs, 2 * flops),
    caseOf(`attention backward ${name}`, addAttentionBackward, (memory) => {
      const gradients = ["dOut", "dq", "dk", "dv"].map((label) => memory.floats(label, ofHeads, dtype));
      const [dOut, dq, dk, dv] = gradients;
      return { ...inputs(memory), dOut, dq, dk, dv, delta: memory.float32("delta", [...tokens, numHeads]) };
    }, 5 * flops),
  ];
}

const VOCAB_SIZE = 267;

/** The kernels that work on rows: norms, embedding, rotation of heads. */
export function rowCases(
  { width, ...heads }: { width: number; numHeads: number; headDim: number; sequenceLength: number },
  rows: number,
): BenchCase[] {
  const { numHeads, headDim, sequenceLength } = heads;
  const size = `${rows} x ${width}`;
  const ofHeads = `${rows} x ${numHeads} heads of ${headDim}`;
  const matrix = (memory: BenchMemory, columns = width) => memory.float32("matrix", [rows, columns]);
  const vector = (memory: BenchMemory, columns = 1) => memory.float32("vector", [rows, columns]);
  const headsOf = (memory: BenchMemory, isShifted: boolean) => {
    const previous = Uint32Array.from({ length: rows }, (_, row) => Math.max(0, row - 1));
    return {
      ...{ numHeads, headDim, sequenceLength, rows, norm: true },
      x: matrix(memory, numHeads * headDim),
      scale: vector(memory, numHeads),
      shift: isShifted ? { previous: memory.uint32From("previous", [rows], previous), rows } : undefined,
    };
  };
  return [
    caseOf(`rmsNorm ${size}`, addRmsNorm, (memory) => (
      { rows, width, x: matrix(memory), y: matrix(memory), scale: vector(memory) }
    )),
    caseOf(`rmsNorm backward ${size}`, addRmsNormBackward, (memory) => {
      const [x, dy, dx] = [matrix(memory), matrix(memory), matrix(memory)];
      return { rows, width, x, dy, dx, scale: vector(memory), accumulate: true };
    }),
    caseOf(`embedding ${size}`, addEmbedding, (memory) => {
      const tokens = memory.uint32("tokens", [rows], VOCAB_SIZE);
      return { rows, width, tokens, table: memory.float32("table", [VOCAB_SIZE, width]), x: matrix(memory) };
    }),
    caseOf(`embedding backward ${size}`, addEmbeddingBackward, (memory) => {
      const tokens = Array.from({ length: rows }, (_, row) => 7 * row % VOCAB_SIZE);
      const rowsOfTokens = tokenRows(tokens, VOCAB_SIZE);
      return {
        ...{ rows, width, vocabSize: VOCAB_SIZE },
        tokenRows: memory.uint32From("token rows", [numTokenRows(rows, VOCAB_SIZE)], rowsOfTokens),
        dTable: memory.float32("dTable", [VOCAB_SIZE, width]),
        dx: matrix(memory),
      };
    }),
    ...[false, true].flatMap((isShifted) => {
      const name = isShifted ? "shifted qkNorm and RoPE" : "qkNorm and RoPE";
      return [
        caseOf(`${name} ${ofHeads}`, addQkNormRope, (memory) => (
          { ...headsOf(memory, isShifted), y: matrix(memory, numHeads * headDim) }
        )),
        caseOf(`${name} backward ${ofHeads}`, addQkNormRopeBackward, (memory) => {
          const [dy, dx] = [0, 1].map(() => matrix(memory, numHeads * headDim));
          return { ...headsOf(memory, isShifted), dy, dx };
        }),
      ];
    }),
  ];
}

export function crossEntropyCase(rows: number): BenchCase {
  const shape = { rows, vocabSize: VOCAB_SIZE, stride: 272, softcap: 15 };
  return caseOf(`cross-entropy and gradient ${rows} x ${VOCAB_SIZE}`, addCrossEntropy, (memory) => ({
    ...shape,
    logits: memory.float32("logits", [rows, shape.stride]),
    dLogits: memory.float32("dLogits", [rows, shape.stride]),
    targets: memory.uint32("targets", [rows], VOCAB_SIZE),
    lossMask: memory.uint32("lossMask", [rows], 2),
    losses: memory.float32("losses", [rows]),
    weight: memory.float32("weight", [1]),
  }));
}

function elementwiseCases(length: number): BenchCase[] {
  return [
    caseOf(`sum of squares ${length}`, addSumOfSquares, (memory) => {
      const inputs = [memory.float32("x", [length])];
      return { inputs, out: memory.float32("out", [1]), partials: memory.float32("partials", [256]) };
    }),
    caseOf(`adamw ${length}`, addAdamW, (memory) => {
      const hyper = memory.float32("hyper", [NUM_ADAMW_HYPER]);
      const rates = { learningRate: 1e-3, beta1: 0.8, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1, step: 9 };
      memory.gpu.write(hyper, adamWHyper(rates));
      const clip = memory.float32("clip", [4]);
      memory.gpu.write(clip, Float32Array.of(1, 1, 0, 0));
      const made = ["p", "g", "m", "v"].map((label) => memory.float32(label, [length]));
      const [parameter, gradient, expAvg, expAvgSq] = made;
      memory.gpu.write(expAvgSq, new Float32Array(length).fill(0.1));
      return { parameter, gradient, expAvg, expAvgSq, hyper, clip, length };
    }),
  ];
}

/**
 * `bench kernels`: the speed of each kernel on this adapter, and its spread.
 *
 * A case is repeated in batches of one submit each. The report has the median batch, the slowest and the
 * fastest one. A software adapter shares the processor with other programs. Its speed by processor time is
 * more reliable, and fewer busy cores than the machine has indicate that other programs are running.
 *
 * @module
 */
import process from "node:process";
import type { Gpu } from "../../tensor/device.ts";
import { Program } from "../../tensor/program.ts";
import type { KernelRegistry } from "../../tensor/registry.ts";
import { type DType, type Tensor, tensorLength } from "../../tensor/tensor.ts";
import { addAttention, addAttentionBackward, type AttentionShape } from "../../tensor/ops/attention.ts";
import { adamWHyper, addAdamW, NUM_ADAMW_HYPER } from "../../tensor/ops/adamw.ts";
import { addCrossEntropy } from "../../tensor/ops/cross_entropy.ts";
import { addEmbedding, addEmbeddingBackward, numTokenRows, tokenRows } from "../../tensor/ops/embedding.ts";
import { addGemm, type GemmEpilogue, type GemmKind, type GemmVariant } from "../../tensor/ops/gemm.ts";
import { addQkNormRope, addQkNormRopeBackward } from "../../tensor/ops/qk_norm_rope.ts";
import { addSumOfSquares } from "../../tensor/ops/reduce.ts";
import { addRmsNorm, addRmsNormBackward } from "../../tensor/ops/rms_norm.ts";

export interface BenchCase {
  readonly name: string;
  /** `GFLOP/s`: work is floating-point operations; more is better. `ns/element`: work is elements. */
  readonly unit: "GFLOP/s" | "ns/element";
  readonly work: number;
  /** Makes the tensors. @returns A function that adds one repetition to a program. */
  prepare(memory: BenchMemory): (program: Program) => void;
}

export interface BenchRow {
  readonly name: string;
  readonly unit: BenchCase["unit"];
  readonly median: number;
  readonly slowest: number;
  readonly fastest: number;
  readonly repetitions: number;
  /** Memory traffic at the median time, counting the tensors of each dispatch once. */
  readonly gigabytesPerSecond: number;
  /** Processor seconds per second of timing. */
  readonly coresBusy: number;
  /** `median` by processor time, which other programs do not affect on a software adapter. */
  readonly perCore: number;
}

/** Values repeat after this many elements: computing each one would take longer than timing the kernels. */
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

/** Times a case without compiling its kernels. @param options `seconds`: approximate duration. */
export async function measureCase(
  registry: KernelRegistry,
  benchCase: BenchCase,
  options: { seconds: number },
): Promise<BenchRow> {
  using memory = new BenchMemory(registry.gpu);
  const add = benchCase.prepare(memory);
  const { once, program } = await repeatedProgram(registry, add, {
    label: benchCase.name,
    seconds: options.seconds / NUM_BATCHES,
    maxRepetitions: MAX_REPETITIONS,
  });
  const repetitionsPerBatch = program.length / once.length;
  await registry.gpu.timeS(() => program.run());
  const times: number[] = [];
  const cpuBefore = process.cpuUsage();
  for (let i = 0; i < NUM_BATCHES; i++) {
    times.push(await registry.gpu.timeS(() => program.run()) / repetitionsPerBatch);
  }
  const cpu = process.cpuUsage(cpuBefore);
  const cpuS = (cpu.user + cpu.system) / 1e6;
  times.sort((a, b) => a - b);
  const median = times[NUM_BATCHES >> 1];
  const totalS = times.reduce((sum, seconds) => sum + seconds, 0) * repetitionsPerBatch;
  return {
    name: benchCase.name,
    unit: benchCase.unit,
    median: speedOf(benchCase, median),
    slowest: speedOf(benchCase, times[NUM_BATCHES - 1]),
    fastest: speedOf(benchCase, times[0]),
    repetitions: repetitionsPerBatch * NUM_BATCHES,
    gigabytesPerSecond: once.bytes / median / 1e9,
    coresBusy: cpuS / totalS,
    perCore: speedOf(benchCase, cpuS / NUM_BATCHES / repetitionsPerBatch),
  };
}

/**
 * Makes a program that runs for about a given time, and compiles its kernels.
 *
 * @param add Adds one repetition.
 * @returns `once`: one repetition; `program`: repetitions for about `seconds`, at most `maxRepetitions`.
 */
async function repeatedProgram(
  registry: KernelRegistry,
  add: (program: Program) => void,
  { label, seconds, maxRepetitions }: { label: string; seconds: number; maxRepetitions: number },
): Promise<{ once: Program; program: Program }> {
  const repeated = (count: number) => {
    const program = new Program(registry, label);
    for (let i = 0; i < count; i++) add(program);
    return program;
  };
  const once = repeated(1);
  await registry.gpu.timeS(() => once.run());
  await registry.ready();
  const onceS = Math.max(await registry.gpu.timeS(() => once.run()), 1e-6);
  return { once, program: repeated(Math.min(maxRepetitions, Math.max(1, Math.ceil(seconds / onceS)))) };
}

function speedOf({ unit, work }: BenchCase, seconds: number): number {
  return unit === "GFLOP/s" ? work / seconds / 1e9 : seconds / work * 1e9;
}

/** Rows of a micro-batch of the demo preset: 8 sequences of 256 tokens. */
const ROWS = 2048;

/** Inputs and outputs of linear layers: squares, then the MLP (up, down) and head of the demo preset. */
const LAYERS = [[256, 256], [512, 512], [1024, 1024], [128, 128], [128, 512], [512, 128], [128, 272]];

/** All cases in the order of the table, each in the variant chosen for the adapter. */
export function kernelCases(): BenchCase[] {
  return [
    ...layerProducts().map((product) => gemmCase(...product)),
    ...activationCases(ROWS, 512, 128),
    gemmCase("NT", 1, 640, 640),
    gemmCase("NT", 8, 640, 2560),
    ...attentionCases({ batchSize: 8, sequenceLength: 256, numHeads: 4, headDim: 32 }),
    ...attentionCases({ batchSize: 2, sequenceLength: 1024, numHeads: 10, headDim: 64 }),
    ...rowCases(128),
    ...rowCases(640),
    ...headCases({ numHeads: 4, headDim: 32, sequenceLength: 256 }),
    crossEntropyCase(),
    ...elementwiseCases(ROWS * 512),
  ];
}

/** Kind, m, n, k of the three products of each linear layer: y = x W^T, dx = dy W, dW = dy^T x. */
function layerProducts(): [GemmKind, number, number, number][] {
  return LAYERS.flatMap(([width, outputs]): [GemmKind, number, number, number][] => [
    ["NT", ROWS, outputs, width],
    ["NN", ROWS, width, outputs],
    ["TN", outputs, width, ROWS],
  ]);
}

/** The products around the MLP's activation. */
function activationCases(rows: number, mlpWidth: number, width: number): BenchCase[] {
  return [
    gemmCase("NT", rows, mlpWidth, width, {
      name: "relu2",
      epilogue: (before) => ({ activation: "relu2", before }),
    }),
    gemmCase("NN", rows, mlpWidth, width, {
      name: "relu2 slope",
      epilogue: (slopeAt) => ({ activation: "relu2", slopeAt }),
    }),
  ];
}

/**
 * @param special How it differs from a plain f32 product: the variant (`how`), the dtype, or the epilogue,
 *   which gets a matrix of the product's shape.
 */
export function gemmCase(
  kind: GemmKind,
  m: number,
  n: number,
  k: number,
  special?: {
    name: string;
    how?: { variant: GemmVariant; splits: number };
    dtype?: DType;
    epilogue?: (other: Tensor) => GemmEpilogue;
  },
): BenchCase {
  return {
    name: `gemm ${kind} ${m} x ${n} x ${k}${special ? ` ${special.name}` : ""}`,
    unit: "GFLOP/s",
    work: 2 * m * n * k,
    prepare(memory) {
      const { dtype = "f32" } = special ?? {};
      const a = memory.floats("a", [m, k], dtype);
      const b = memory.floats("b", [k, n], dtype);
      const c = memory.floats("c", [m, n], dtype);
      const epilogue = special?.epilogue?.(memory.float32("other", [m, n])) ?? "store";
      return (program) => addGemm(program, { kind, m, n, k, a, b, c, epilogue, ...special?.how });
    },
  };
}

/**
 * Attention and its gradient, with one segment per sequence. The work counts the causal half of T x T: two
 * products of 2 D operations per pair forward, five backward.
 */
export function attentionCases(shape: AttentionShape, dtype: DType = "f32"): BenchCase[] {
  const { batchSize, sequenceLength, numHeads, headDim } = shape;
  const tokens = [batchSize, sequenceLength];
  const perHead = [...tokens, numHeads];
  const numPairs = batchSize * numHeads * sequenceLength * (sequenceLength + 1) / 2;
  const name = `${batchSize} x ${sequenceLength}, ${numHeads} heads of ${headDim}`;
  const inputs = (memory: BenchMemory) => {
    const [q, k, v, out] = ["q", "k", "v", "out"].map((label) =>
      memory.floats(label, [...perHead, headDim], dtype)
    );
    const segmentStart = memory.uint32("segmentStart", tokens, 1);
    return { ...shape, q, k, v, out, segmentStart, logSumExp: memory.float32("logSumExp", perHead) };
  };
  return [
    {
      name: `attention ${name}`,
      unit: "GFLOP/s",
      work: numPairs * 2 * 2 * headDim,
      prepare(memory) {
        const args = inputs(memory);
        return (program) => addAttention(program, args);
      },
    },
    {
      name: `attention backward ${name}`,
      unit: "GFLOP/s",
      work: numPairs * 5 * 2 * headDim,
      prepare(memory) {
        const [dOut, dq, dk, dv] = ["dOut", "dq", "dk", "dv"].map((label) =>
          memory.floats(label, [...perHead, headDim], dtype)
        );
        const args = { ...inputs(memory), dOut, dq, dk, dv, delta: memory.float32("delta", perHead) };
        return (program) => addAttentionBackward(program, args);
      },
    },
  ];
}

/**
 * @param add Adds the kernel to a program.
 * @param prepare Makes the kernel's arguments; `tensor` makes tensors of `length` elements.
 */
function elementCase<Args>(
  name: string,
  length: number,
  add: (program: Program, args: Args) => void,
  prepare: (tensor: (label: string) => Tensor, memory: BenchMemory) => Args,
): BenchCase {
  return {
    name,
    unit: "ns/element",
    work: length,
    prepare(memory) {
      const args = prepare((label) => memory.float32(label, [length]), memory);
      return (program) => add(program, args);
    },
  };
}

export function rowCases(width: number, rows = ROWS): BenchCase[] {
  const vocabSize = 267;
  const length = rows * width;
  const shape = { rows, width };
  const size = `${rows} x ${width}`;
  return [
    elementCase(`rmsNorm ${size}`, length, addRmsNorm, (tensor, memory) => {
      return { ...shape, x: tensor("x"), y: tensor("y"), scale: memory.float32("scale", [rows]) };
    }),
    elementCase(`rmsNorm backward ${size}`, length, addRmsNormBackward, (tensor, memory) => {
      const [x, dy, dx] = ["x", "dy", "dx"].map(tensor);
      return { ...shape, x, dy, dx, scale: memory.float32("s", [rows]), accumulate: true };
    }),
    elementCase(`embedding ${size}`, length, addEmbedding, (tensor, memory) => {
      const tokens = memory.uint32("tokens", [rows], vocabSize);
      return { ...shape, tokens, table: memory.float32("table", [vocabSize, width]), x: tensor("x") };
    }),
    elementCase(`embedding backward ${size}`, length, addEmbeddingBackward, (tensor, memory) => {
      const tokens = Array.from({ length: rows }, (_, row) => 7 * row % vocabSize);
      const rowsOfTokens = tokenRows(tokens, vocabSize);
      return {
        ...shape,
        vocabSize,
        tokenRows: memory.uint32From("token rows", [numTokenRows(rows, vocabSize)], rowsOfTokens),
        dTable: memory.float32("dTable", [vocabSize, width]),
        dx: tensor("dx"),
      };
    }),
  ];
}

export function headCases(
  heads: { numHeads: number; headDim: number; sequenceLength: number },
  rows = ROWS,
): BenchCase[] {
  const length = rows * heads.numHeads * heads.headDim;
  const shape = { ...heads, rows, norm: true };
  const size = `${rows} x ${heads.numHeads} heads of ${heads.headDim}`;
  const scale = (memory: BenchMemory) => memory.float32("scale", [rows, heads.numHeads]);
  const shift = (memory: BenchMemory) => {
    const previous = Uint32Array.from({ length: rows }, (_, row) => Math.max(0, row - 1));
    return { previous: memory.uint32From("previous", [rows], previous), rows };
  };
  return [false, true].flatMap((isShifted) => {
    const name = isShifted ? "shifted qkNorm and RoPE" : "qkNorm and RoPE";
    const shiftOf = (memory: BenchMemory) => isShifted ? shift(memory) : undefined;
    return [
      elementCase(`${name} ${size}`, length, addQkNormRope, (tensor, memory) => {
        return { ...shape, x: tensor("x"), scale: scale(memory), y: tensor("y"), shift: shiftOf(memory) };
      }),
      elementCase(`${name} backward ${size}`, length, addQkNormRopeBackward, (tensor, memory) => {
        const [x, dy, dx] = ["x", "dy", "dx"].map(tensor);
        return { ...shape, x, scale: scale(memory), dy, dx, shift: shiftOf(memory) };
      }),
    ];
  });
}

export function crossEntropyCase(rows = ROWS): BenchCase {
  const vocabSize = 267;
  const stride = 272;
  const name = `cross-entropy and gradient ${rows} x ${vocabSize}`;
  return elementCase(name, rows * stride, addCrossEntropy, (tensor, memory) => ({
    logits: tensor("logits"),
    dLogits: tensor("dLogits"),
    targets: memory.uint32("targets", [rows], vocabSize),
    lossMask: memory.uint32("lossMask", [rows], 2),
    losses: memory.float32("losses", [rows]),
    weight: memory.float32("weight", [1]),
    softcap: 15,
    rows,
    vocabSize,
    stride,
  }));
}

function elementwiseCases(length: number): BenchCase[] {
  return [
    elementCase(`sum of squares ${length}`, length, addSumOfSquares, (tensor, memory) => {
      const inputs = [tensor("x")];
      return { inputs, out: memory.float32("out", [1]), partials: memory.float32("partials", [256]) };
    }),
    elementCase(`adamw ${length}`, length, addAdamW, (tensor, memory) => {
      const hyper = memory.float32("hyper", [NUM_ADAMW_HYPER]);
      const rates = { learningRate: 1e-3, beta1: 0.8, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1, step: 9 };
      memory.gpu.write(hyper, adamWHyper(rates));
      const clip = memory.float32("clip", [4]);
      memory.gpu.write(clip, Float32Array.of(1, 1, 0, 0));
      const expAvgSq = tensor("v");
      memory.gpu.write(expAvgSq, new Float32Array(length).fill(0.1));
      const [parameter, gradient, expAvg] = ["p", "g", "m"].map(tensor);
      return { parameter, gradient, expAvg, expAvgSq, hyper, clip, length };
    }),
  ];
}

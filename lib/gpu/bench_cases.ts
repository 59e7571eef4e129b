/**
 * What `bench kernels` times: the kernels at the sizes of the demo preset and of larger models.
 *
 * @module
 */
import type { BenchCase, BenchMemory } from "./bench.ts";
import type { GpuInfo } from "./device.ts";
import { addAttention, addAttentionBackward, type AttentionShape } from "./ops/attention.ts";
import { adamWHyper, addAdamW, NUM_ADAMW_HYPER } from "./ops/adamw.ts";
import { addCrossEntropy } from "./ops/cross_entropy.ts";
import { addEmbedding, addEmbeddingBackward, numTokenRows, tokenRows } from "./ops/embedding.ts";
import {
  addGemm,
  gemmCandidates,
  type GemmEpilogue,
  type GemmKind,
  gemmSplits,
  type GemmVariant,
} from "./ops/gemm.ts";
import { addQkNormRope, addQkNormRopeBackward } from "./ops/qk_norm_rope.ts";
import { addSumOfSquares } from "./ops/reduce.ts";
import { addRmsNorm, addRmsNormBackward } from "./ops/rms_norm.ts";
import { addShiftKeys, addShiftKeysBackward } from "./ops/shift_keys.ts";
import type { Program } from "./program.ts";
import type { DType, Tensor } from "./tensor.ts";

/** Rows of a micro-batch of the demo preset: 8 sequences of 256 tokens. */
const ROWS = 2048;

/** Inputs and outputs of the linear layers: squares, then the demo preset's MLP, its way back, and its head. */
const LAYERS = [[256, 256], [512, 512], [1024, 1024], [128, 128], [128, 512], [512, 128], [128, 268]];

/** The cases of all kernels, each as it is chosen for the adapter, in the order of the table. */
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

/** The linear layers' products in the other variants that the autotuner may choose. */
export function otherVariantCases(info: GpuInfo): BenchCase[] {
  return layerProducts().flatMap(([kind, m, n, k]) =>
    gemmCandidates(info, { m, n }).slice(1).map((variant) => {
      const splits = gemmSplits(info, { kind, m, n, k });
      return gemmCase(kind, m, n, k, { name: `in tiles of ${variant.tile}`, how: { variant, splits } });
    })
  );
}

/** Kind, m, n and k of the linear layers' three products: y = x W^T, dx = dy W, dW = dy^T x. */
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
 * A product.
 *
 * @param special What differs from a plain f32 product, and the name of that: the variant (`how`), the dtype, or the
 *   epilogue, which gets a matrix of the product's shape.
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
      const [a, b] = [memory.floats("a", [m, k], dtype), memory.floats("b", [k, n], dtype)];
      const c = memory.floats("c", [m, n], dtype);
      const epilogue = special?.epilogue?.(memory.float32("other", [m, n])) ?? "store";
      return (program) => addGemm(program, { kind, m, n, k, a, b, c, epilogue, ...special?.how });
    },
  };
}

/**
 * Attention and its gradient, with one segment a sequence. The work counts the causal half of T x T: for each pair two
 * products of 2 D operations forward, five backward.
 */
export function attentionCases(shape: AttentionShape): BenchCase[] {
  const { batchSize, sequenceLength, numHeads, headDim } = shape;
  const tokens = [batchSize, sequenceLength];
  const perHead = [...tokens, numHeads];
  const numPairs = batchSize * numHeads * sequenceLength * (sequenceLength + 1) / 2;
  const name = `${batchSize} x ${sequenceLength}, ${numHeads} heads of ${headDim}`;
  const inputs = (memory: BenchMemory) => {
    const [q, k, v, out] = ["q", "k", "v", "out"].map((label) =>
      memory.float32(label, [...perHead, headDim])
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
          memory.float32(label, [...perHead, headDim])
        );
        const args = { ...inputs(memory), dOut, dq, dk, dv, delta: memory.float32("delta", perHead) };
        return (program) => addAttentionBackward(program, args);
      },
    },
  ];
}

/** A case of `length` elements. @param prepare Makes tensors of that length by `tensor`. */
function elementCase(
  name: string,
  length: number,
  prepare: (memory: BenchMemory, tensor: (label: string) => Tensor) => (
    program: Program,
  ) => void,
): BenchCase {
  return {
    name,
    unit: "ns/element",
    work: length,
    prepare: (memory) => prepare(memory, (label) => memory.float32(label, [length])),
  };
}

/** The kernels that work row by row, at a width. */
export function rowCases(width: number): BenchCase[] {
  const vocabSize = 267;
  const shape = { rows: ROWS, width };
  const named = (name: string) => `${name} ${ROWS} x ${width}`;
  return [
    elementCase(named("rmsNorm"), ROWS * width, (memory, tensor) => {
      const args = { x: tensor("x"), y: tensor("y"), scale: memory.float32("scale", [ROWS]) };
      return (program) => addRmsNorm(program, { ...args, ...shape });
    }),
    elementCase(named("rmsNorm backward"), ROWS * width, (memory, tensor) => {
      const args = { x: tensor("x"), dy: tensor("dy"), dx: tensor("dx"), scale: memory.float32("s", [ROWS]) };
      return (program) => addRmsNormBackward(program, { ...args, ...shape, accumulate: true });
    }),
    elementCase(named("embedding"), ROWS * width, (memory, tensor) => {
      const args = {
        tokens: memory.uint32("tokens", [ROWS], vocabSize),
        table: memory.float32("table", [vocabSize, width]),
        x: tensor("x"),
      };
      return (program) => addEmbedding(program, { ...args, ...shape });
    }),
    elementCase(named("embedding backward"), ROWS * width, (memory, tensor) => {
      const tokens = Array.from({ length: ROWS }, (_, row) => 7 * row % vocabSize);
      const args = {
        tokenRows: memory.uint32From(
          "token rows",
          [numTokenRows(ROWS, vocabSize)],
          tokenRows(tokens, vocabSize),
        ),
        dTable: memory.float32("dTable", [vocabSize, width]),
        dx: tensor("dx"),
      };
      return (program) => addEmbeddingBackward(program, { ...args, ...shape, vocabSize });
    }),
  ];
}

function headCases(heads: { numHeads: number; headDim: number; sequenceLength: number }): BenchCase[] {
  const width = heads.numHeads * heads.headDim;
  const shape = { ...heads, rows: ROWS, norm: true };
  const inputs = (memory: BenchMemory, tensor: (label: string) => Tensor) => ({
    ...shape,
    x: tensor("x"),
    scale: memory.float32("scale", [ROWS, heads.numHeads]),
  });
  const name = `${ROWS} x ${heads.numHeads} heads of ${heads.headDim}`;
  return [
    elementCase(`qkNorm and RoPE ${name}`, ROWS * width, (memory, tensor) => {
      const args = { ...inputs(memory, tensor), y: tensor("y") };
      return (program) => addQkNormRope(program, args);
    }),
    elementCase(`qkNorm and RoPE backward ${name}`, ROWS * width, (memory, tensor) => {
      const args = { ...inputs(memory, tensor), dy: tensor("dy"), dx: tensor("dx") };
      return (program) => addQkNormRopeBackward(program, args);
    }),
    elementCase(`key shift ${name}`, ROWS * width, (memory, tensor) => {
      const x = tensor("x");
      const args = {
        ...shape,
        x,
        earlier: x,
        previous: memory.uint32("previous", [ROWS], ROWS),
        y: tensor("y"),
      };
      return (program) => addShiftKeys(program, args);
    }),
    elementCase(`key shift backward ${name}`, ROWS * width, (memory, tensor) => {
      const args = {
        ...shape,
        dy: tensor("dy"),
        previous: memory.uint32("previous", [ROWS], ROWS),
        dx: tensor("dx"),
      };
      return (program) => addShiftKeysBackward(program, args);
    }),
  ];
}

function crossEntropyCase(): BenchCase {
  const [vocabSize, stride] = [267, 268];
  return elementCase(`cross-entropy and gradient ${ROWS} x ${vocabSize}`, ROWS * stride, (memory, tensor) => {
    const args = {
      logits: tensor("logits"),
      dLogits: tensor("dLogits"),
      targets: memory.uint32("targets", [ROWS], vocabSize),
      lossMask: memory.uint32("lossMask", [ROWS], 2),
      losses: memory.float32("losses", [ROWS]),
      weight: memory.float32("weight", [1]),
    };
    return (program) => addCrossEntropy(program, { ...args, softcap: 15, rows: ROWS, vocabSize, stride });
  });
}

function elementwiseCases(length: number): BenchCase[] {
  const named = (name: string) => `${name} ${length}`;
  return [
    elementCase(named("sum of squares"), length, (memory, tensor) => {
      const [x, out] = [tensor("x"), memory.float32("out", [1])];
      const partials = memory.float32("partials", [256]);
      return (program) => addSumOfSquares(program, { inputs: [x], out, partials });
    }),
    elementCase(named("adamw"), length, (memory, tensor) => {
      const hyper = memory.float32("hyper", [NUM_ADAMW_HYPER]);
      const rates = { learningRate: 1e-3, beta1: 0.8, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1, step: 9 };
      memory.gpu.write(hyper, adamWHyper(rates));
      const clip = memory.float32("clip", [4]);
      memory.gpu.write(clip, Float32Array.of(1, 1, 0, 0));
      const expAvgSq = tensor("v");
      memory.gpu.write(expAvgSq, new Float32Array(length).fill(0.1));
      const args = { parameter: tensor("p"), gradient: tensor("g"), expAvg: tensor("m"), expAvgSq };
      return (program) => addAdamW(program, { ...args, hyper, clip, length });
    }),
  ];
}

import {
  addAttention,
  addAttentionBackward,
  type AttentionVariant,
  attentionVariant,
} from "../../lib/tensor/ops/attention.ts";
import { Program } from "../../lib/tensor/program.ts";
import type { DType } from "../../lib/tensor/tensor.ts";
import { RandomStream } from "../../lib/base/random.ts";
import {
  attention,
  attentionBackward,
  type AttentionInputs,
  type AttentionProblem,
} from "../reference/attention.ts";
import {
  addTolerances,
  attentionTolerance,
  EXACT,
  halfDeltaTolerance,
  halfWeightsTolerance,
} from "../tolerances.ts";
import {
  assertClose,
  type KernelBench,
  largestNorm,
  largestOf,
  randomIn,
  randomNormal,
  storedIn,
} from "./support.ts";

/** A problem whose sequences are divided into segments of 1 to `maxLength` tokens. */
export function problemOf([B, T, H, D]: number[], maxLength: number): AttentionProblem {
  const random = new RandomStream(0, "segments", B, T, maxLength);
  const segmentStart = new Uint32Array(B * T);
  for (let b = 0; b < B; b++) {
    for (let t = 0, start = 0, end = 0; t < T; t++) {
      if (t === end) [start, end] = [t, t + 1 + random.below(maxLength)];
      segmentStart[b * T + t] = start;
    }
  }
  return { batchSize: B, sequenceLength: T, numHeads: H, headDim: D, segmentStart };
}

export function inputsOf(
  { batchSize, sequenceLength, numHeads, headDim }: AttentionProblem,
): AttentionInputs {
  const length = batchSize * sequenceLength * numHeads * headDim;
  return { q: randomNormal("q", length), k: randomNormal("k", length), v: randomNormal("v", length) };
}

/** The tensors of a problem; the outputs start as NaN. */
export function tensorsOf(
  bench: KernelBench,
  problem: AttentionProblem,
  inputs: AttentionInputs,
  dtype: DType = "f32",
) {
  const perToken = [problem.batchSize, problem.sequenceLength];
  const perHead = [...perToken, problem.numHeads];
  const perElement = [...perHead, problem.headDim];
  return {
    ...problem,
    q: bench.input("q", perElement, inputs.q, dtype),
    k: bench.input("k", perElement, inputs.k, dtype),
    v: bench.input("v", perElement, inputs.v, dtype),
    segmentStart: bench.inputUint32("segmentStart", perToken, problem.segmentStart),
    out: bench.output("out", perElement, undefined, dtype),
    logSumExp: bench.output("logSumExp", perHead),
  };
}

/** A bound on |q . k| / sqrt(D). */
export function maxScore({ headDim }: AttentionProblem, { q, k }: AttentionInputs): number {
  return largestNorm(q, headDim) * largestNorm(k, headDim) / Math.sqrt(headDim);
}

/**
 * Checks attention and its backward pass with f16 tensors against the float64 reference, for several
 * variants.
 *
 * @returns What each variant wrote: out, dq, dk, dv.
 */
export async function checkHalf(
  bench: KernelBench,
  shape: number[],
  maxLength: number,
  variants: readonly (AttentionVariant | undefined)[],
  registry = bench.registry,
): Promise<Float32Array[][]> {
  const problem = problemOf(shape, maxLength);
  const { headDim } = problem;
  const length = shape.reduce((product, extent) => product * extent);
  const [q, k, v, dOut] = ["q", "k", "v", "dOut"].map((label) => randomIn("f16", label, length));
  const expected = attention(problem, { q, k, v });
  const gradients = attentionBackward(problem, { q, k, v }, dOut);
  // The largest sum of the weights of a key.
  const keyWeights = largestOf(attentionBackward(problem, { q, k, v }, new Float64Array(length).fill(1)).v);
  const inner = (x: Float64Array) => largestNorm(dOut, headDim) * largestNorm(x, headDim);
  const written: Float32Array[][] = [];
  for (const variant of variants) {
    const output = (label: string) => bench.output(label, shape, undefined, "f16");
    const tensors = {
      ...tensorsOf(bench, problem, { q, k, v }, "f16"),
      variant,
      dOut: bench.input("dOut", shape, dOut, "f16"),
      dq: output("dq"),
      dk: output("dk"),
      dv: output("dv"),
      delta: bench.output("delta", shape.slice(0, 3)),
    };
    const isByMatrices = (variant ?? attentionVariant(bench.gpu.info, headDim, [tensors.q])) === "matrix";
    const program = new Program(registry, "test");
    addAttention(program, tensors);
    addAttentionBackward(program, tensors);
    program.run();
    await registry.ready();
    const [out, logSumExp, dq, dk, dv] = await bench.read(
      tensors.out,
      tensors.logSumExp,
      tensors.dq,
      tensors.dk,
      tensors.dv,
    );
    const tolerance = (magnitude: number) =>
      attentionTolerance(problem, maxScore(problem, { q, k, v }), magnitude);
    // Bounds sums of weights times values of a magnitude; on matrix units the weights are f16.
    const weighted = (weights: number, magnitude: number, sum: number) =>
      storedIn(
        "f16",
        addTolerances(
          tolerance(magnitude),
          isByMatrices ? halfWeightsTolerance(problem, weights, sum) : EXACT,
        ),
      );
    const gradient = (weights: number, largest: number) =>
      addTolerances(
        weighted(2 * weights * inner(v), inner(v) / Math.sqrt(headDim), largest / Math.sqrt(headDim)),
        halfDeltaTolerance(headDim, inner(expected.out), weights, largest),
      );
    const what = `by ${variant ?? "the default"} of [${shape}], segments to ${maxLength}`;
    assertClose(out, expected.out, weighted(1, largestOf(v), largestOf(v)), `out ${what}`);
    assertClose(logSumExp, expected.logSumExp, tolerance(1), `logSumExp ${what}`);
    assertClose(dq, gradients.q, gradient(1, largestOf(k)), `dq ${what}`);
    assertClose(dk, gradients.k, gradient(keyWeights, largestOf(q)), `dk ${what}`);
    assertClose(dv, gradients.v, weighted(keyWeights, largestOf(gradients.v), largestOf(dOut)), `dv ${what}`);
    written.push([out, dq, dk, dv]);
  }
  bench.clear();
  return written;
}

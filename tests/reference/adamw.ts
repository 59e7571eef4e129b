/** One step of AdamW in float64, as torch.optim.AdamW does it. @module */
import type { AdamWStep } from "../../lib/tensor/ops/adamw.ts";

/** The tensors that AdamW changes. */
export interface AdamWState {
  parameter: Float64Array;
  expAvg: Float64Array;
  expAvgSq: Float64Array;
}

/** The state after a step with this gradient, already clipped. */
export function adamW(state: AdamWState, gradient: Float64Array, at: AdamWStep): AdamWState {
  const { learningRate, beta1, beta2, epsilon, weightDecay, step } = at;
  const expAvg = state.expAvg.map((m, i) => beta1 * m + (1 - beta1) * gradient[i]);
  const expAvgSq = state.expAvgSq.map((v, i) => beta2 * v + (1 - beta2) * gradient[i] ** 2);
  const parameter = state.parameter.map((value, i) => {
    const denominator = Math.sqrt(expAvgSq[i] / (1 - beta2 ** step)) + epsilon;
    return value * (1 - learningRate * weightDecay) -
      learningRate * (expAvg[i] / (1 - beta1 ** step)) / denominator;
  });
  return { parameter, expAvg, expAvgSq };
}

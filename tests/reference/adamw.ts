/**
 * AdamW in float64: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2, with
 * the bias correction of Kingma and Ba, Adam, ICLR 2015.
 *
 * @module
 */

/** The numbers of one step. */
export interface AdamWStep {
  learningRate: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
  /** 1 for the first step. */
  stepNumber: number;
}

/** A parameter with its moments; all are changed in place by {@link adamWStep}. */
export interface AdamWState {
  parameter: Float64Array;
  expAvg: Float64Array;
  expAvgSq: Float64Array;
}

/** One step of one parameter. */
export function adamWStep(
  { parameter, expAvg, expAvgSq }: AdamWState,
  gradient: Float64Array,
  step: AdamWStep,
) {
  const { learningRate, beta1, beta2, epsilon, weightDecay, stepNumber } = step;
  const biasCorrection1 = 1 - beta1 ** stepNumber;
  const biasCorrection2 = 1 - beta2 ** stepNumber;
  for (let i = 0; i < parameter.length; i++) {
    expAvg[i] = beta1 * expAvg[i] + (1 - beta1) * gradient[i];
    expAvgSq[i] = beta2 * expAvgSq[i] + (1 - beta2) * gradient[i] ** 2;
    const root = Math.sqrt(expAvgSq[i] / biasCorrection2) + epsilon;
    parameter[i] -= learningRate * (weightDecay * parameter[i] + expAvg[i] / biasCorrection1 / root);
  }
}

/** Scales gradients in place so that their global norm is at most `maxNorm`; returns the norm before. */
export function clipGradients(gradients: Iterable<Float64Array>, maxNorm: number): number {
  const all = [...gradients];
  const norm = Math.sqrt(all.reduce((sum, g) => g.reduce((part, value) => part + value * value, sum), 0));
  const factor = Math.min(1, maxNorm / norm);
  for (const gradient of all) gradient.forEach((value, i) => gradient[i] = value * factor);
  return norm;
}

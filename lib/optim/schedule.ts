/**
 * How learning rate and weight decay change over a run: WSD, warm-up, stable, decay (Hu et al., MiniCPM, 2024,
 * section 4), and the scaling of learning rates with the model's width.
 *
 * @module
 */

/** The width at which the learning rates of a configuration hold (design 04-model). */
const REFERENCE_WIDTH = 768;

/** The shares of a run that are warm-up and decay. */
export interface WsdShares {
  readonly warmupShare: number;
  readonly decayShare: number;
}

/**
 * The factor on every learning rate in a step: rises linearly over the warm-up, is 1, falls linearly to 0.
 *
 * The first step of the warm-up has 1 / n, not 0, and the last step of the run has 1 / n of the decay's n
 * steps: no step is without effect.
 *
 * @param stepIndex The step, from 0.
 * @param totalSteps The number of steps of the run.
 * @returns A factor in [0, 1]; 0 from `totalSteps` on when there is a decay.
 */
export function learningRateFactor(stepIndex: number, totalSteps: number, shares: WsdShares): number {
  const warmupSteps = Math.round(totalSteps * shares.warmupShare);
  const decaySteps = Math.round(totalSteps * shares.decayShare);
  const rise = warmupSteps > 0 ? (stepIndex + 1) / warmupSteps : 1;
  const fall = decaySteps > 0 ? (totalSteps - stepIndex) / decaySteps : 1;
  return Math.max(0, Math.min(1, rise, fall));
}

/**
 * The factor on every weight decay in a step: falls linearly from 1 to 0 over the run.
 *
 * @param stepIndex The step, from 0.
 * @param totalSteps The number of steps of the run.
 */
export function weightDecayFactor(stepIndex: number, totalSteps: number): number {
  return Math.max(0, 1 - stepIndex / Math.max(1, totalSteps));
}

/** The factor on every learning rate for a model of the given width: (C / 768)^-0.5. */
export function widthFactor(width: number): number {
  return (width / REFERENCE_WIDTH) ** -0.5;
}

/**
 * The schedule of learning rate and weight decay over a run: WSD, i.e. warm-up, stable, decay (Hu et al.,
 * MiniCPM, 2024, section 4), or warm-up and half a cosine (Loshchilov and Hutter, SGDR, 2017, equation 5,
 * without restarts); and the scaling of learning rates with the model's width.
 *
 * @module
 */

/** The width for which a configuration's learning rates are given. */
const REFERENCE_WIDTH = 768;

/** Shape of the learning rate over a run. */
export interface ScheduleShape {
  /** After the warm-up: constant, then linear decay (`wsd`), or half a cosine (`cosine`). */
  readonly schedule: "wsd" | "cosine";
  /** Share of the steps over which the learning rate rises linearly. */
  readonly warmupShare: number;
  /** Share of the steps, at the end, over which `wsd` decays; `cosine` decays right after the warm-up. */
  readonly decayShare: number;
  /** Learning rate at the end of the decay, relative to the highest. */
  readonly finalRatio: number;
}

/**
 * The factor on every learning rate in a step.
 *
 * The warm-up starts at 1 / n rather than 0, and the decay would reach its end in the step after the last, so
 * every step has an effect.
 *
 * @param stepIndex From 0.
 * @returns A factor in [0, 1]; with a decay, the final ratio from `totalSteps` on.
 */
export function learningRateFactor(stepIndex: number, totalSteps: number, shape: ScheduleShape): number {
  const warmupSteps = Math.round(totalSteps * shape.warmupShare);
  const rise = warmupSteps > 0 ? (stepIndex + 1) / warmupSteps : 1;
  const isCosine = shape.schedule === "cosine";
  const decaySteps = isCosine ? totalSteps - warmupSteps : Math.round(totalSteps * shape.decayShare);
  const left = decaySteps > 0 ? Math.max(0, Math.min(1, (totalSteps - stepIndex) / decaySteps)) : 1;
  const decayed = isCosine ? (1 - Math.cos(Math.PI * left)) / 2 : left;
  return Math.min(1, rise, shape.finalRatio + (1 - shape.finalRatio) * decayed);
}

/** The factor on every weight decay: falls linearly from 1 to 0 over the run. @param stepIndex From 0. */
export function weightDecayFactor(stepIndex: number, totalSteps: number): number {
  return Math.max(0, 1 - stepIndex / Math.max(1, totalSteps));
}

/** The factor on every learning rate for a model of width C: (C / 768)^-0.5. */
export function widthFactor(width: number): number {
  return (width / REFERENCE_WIDTH) ** -0.5;
}

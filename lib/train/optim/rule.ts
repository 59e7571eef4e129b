/** The interface between update rules and the optimizer. @module */
import type { Program } from "../../tensor/program.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** A parameter with its gradient; both are on the GPU and of one shape. */
export interface TrainedParameter {
  readonly name: string;
  readonly parameter: Tensor;
  readonly gradient: Tensor;
}

/** Factors of a step on a rule's configured learning rate and weight decay. */
export interface StepFactors {
  readonly learningRate: number;
  readonly weightDecay: number;
}

/** The update rule of a group of parameters. */
export interface UpdateRule {
  /** The state between steps; names are those of checkpoints (lib/train/optim/README.md). */
  readonly state: Map<string, Tensor>;
  /**
   * Adds one step to a program, once, at the start of a run.
   *
   * @param clip (4) f32 of addClipFactor: its factor scales the gradient; if it is 0, nothing may be changed.
   */
  add(program: Program, clip: Tensor): void;
  /** Uploads the hyperparameters of a step. @param stepIndex From 0. */
  prepare(stepIndex: number, factors: StepFactors): void;
}

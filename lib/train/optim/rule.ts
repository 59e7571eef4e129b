/** The interface between update rules and the optimizer. @module */
import type { Program } from "../../tensor/program.ts";
import type { MakeTensor } from "../../model/allocation.ts";
import { byBuffer, firstElement, partOf, spanOf, type Tensor } from "../../tensor/tensor.ts";

/** A parameter with its gradient, of one shape on the GPU; gradients lie in their buffer as parameters in theirs. */
export interface TrainedParameter extends NamedParameter {
  readonly gradient: Tensor;
}

/** A parameter of a rule. */
export interface NamedParameter {
  readonly name: string;
  readonly parameter: Tensor;
}

/** Makes a tensor NAME.`suffix` for each parameter, of its shape; they share buffers as the parameters do. */
export function tensorsLike(
  members: readonly NamedParameter[],
  suffix: string,
  make: MakeTensor,
): [name: string, tensor: Tensor][] {
  return byBuffer(members, ({ parameter }) => parameter).flatMap((group) => {
    const [{ name, parameter: first }] = group;
    const whole = make(`${name}.${suffix}`, spanOf(group.map(({ parameter }) => parameter)).shape);
    return group.map(({ name, parameter }): [string, Tensor] => {
      const label = `${name}.${suffix}`;
      return [label, partOf(whole, firstElement(parameter, first), parameter.shape, label)];
    });
  });
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

/**
 * AdamW for a group of parameters, and for a table of address embeddings: Loshchilov and Hutter, Decoupled Weight Decay
 * Regularization, ICLR 2019.
 *
 * @module
 */
import { ensure, named } from "../../base/errors.ts";
import { adamWHyper, addAdamW, addAdamWRows, NUM_ADAMW_HYPER } from "../../tensor/ops/adamw.ts";
import type { Gpu } from "../../tensor/device.ts";
import type { Program } from "../../tensor/program.ts";
import type { MakeTensor } from "../../model/allocation.ts";
import { byBuffer, spanOf, type Tensor, tensorLength } from "../../tensor/tensor.ts";
import type { AdamWConfig } from "./optim_config.ts";
import {
  type NamedParameter,
  type StepFactors,
  tensorsLike,
  type TrainedParameter,
  type UpdateRule,
} from "./rule.ts";

/** Makes the hyperparameters of a step, which {@link AdamWRule.prepare} uploads, and the state. */
export function adamWTensors(
  members: readonly NamedParameter[],
  make: MakeTensor,
): { hyper: Tensor; state: Map<string, Tensor> } {
  const moments = ["exp_avg", "exp_avg_sq"].flatMap((moment) => tensorsLike(members, moment, make));
  return { hyper: make("AdamW numbers", [NUM_ADAMW_HYPER]), state: new Map(moments) };
}

/** As {@link adamWTensors}, with the updates of each row. */
export function adamWRowsTensors(
  members: readonly NamedParameter[],
  make: MakeTensor,
): ReturnType<typeof adamWTensors> {
  const { hyper, state } = adamWTensors(members, make);
  for (const { name, parameter } of members) {
    state.set(`${name}.num_updates`, make(`${name}.num_updates`, [parameter.shape[0]]));
  }
  return { hyper, state };
}

/** The rule `adamw`. */
export class AdamWRule implements UpdateRule {
  readonly state: Map<string, Tensor>;
  protected readonly hyper: Tensor;

  /** @param config Its hyperparameters. @param members The parameters it updates. */
  constructor(
    readonly gpu: Gpu,
    readonly config: AdamWConfig,
    readonly members: readonly TrainedParameter[],
    tensors: typeof adamWTensors = adamWTensors,
  ) {
    ({ hyper: this.hyper, state: this.state } = tensors(members, gpu.tensor.bind(gpu)));
  }

  add(program: Program, clip: Tensor): void {
    const { hyper } = this;
    for (const group of byBuffer(this.members, ({ parameter }) => parameter)) {
      const parts = group.map(({ name, ...rest }) => ({ ...rest, ...this.moments(name) }));
      const span = (part: keyof typeof parts[number]) => spanOf(parts.map((of) => of[part]));
      const parameter = span("parameter");
      addAdamW(program, {
        parameter,
        gradient: span("gradient"),
        expAvg: span("expAvg"),
        expAvgSq: span("expAvgSq"),
        hyper,
        clip,
        length: tensorLength(parameter),
      });
    }
  }

  prepare(stepIndex: number, factors: StepFactors): void {
    const { learningRate, beta1, beta2, epsilon, weightDecay } = this.config;
    const hyper = adamWHyper({
      learningRate: learningRate * factors.learningRate,
      beta1,
      beta2,
      epsilon,
      weightDecay: weightDecay * factors.weightDecay,
      step: stepIndex + 1,
    });
    this.gpu.write(this.hyper, hyper);
  }

  /** The moments of a parameter. */
  protected moments(name: string): { expAvg: Tensor; expAvgSq: Tensor } {
    return {
      expAvg: named(this.state, `${name}.exp_avg`),
      expAvgSq: named(this.state, `${name}.exp_avg_sq`),
    };
  }
}

/** The rule of `address_embed.weight`, whose gradient is in slots. */
export class AdamWRowsRule extends AdamWRule {
  /**
   * @param config Its hyperparameters.
   * @param members The tables, one or none.
   * @param slotRows The row of each slot of the gradient, see `addAdamWRows`.
   */
  constructor(
    gpu: Gpu,
    config: AdamWConfig,
    members: readonly TrainedParameter[],
    readonly slotRows: Tensor | undefined,
  ) {
    super(gpu, config, members, adamWRowsTensors);
  }

  override add(program: Program, clip: Tensor): void {
    for (const { name, parameter, gradient } of this.members) {
      ensure(this.slotRows, `${name} has no slots`);
      const [slots, width] = gradient.shape;
      addAdamWRows(program, {
        slotRows: this.slotRows,
        gradient,
        parameter,
        ...this.moments(name),
        numUpdates: named(this.state, `${name}.num_updates`),
        hyper: this.hyper,
        clip,
        slots,
        width,
      });
    }
  }

  /** Prepares the hyperparameters of a first step, since rows count their own steps. */
  override prepare(_stepIndex: number, factors: StepFactors): void {
    super.prepare(0, factors);
  }
}

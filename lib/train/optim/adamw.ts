/**
 * AdamW for a group of parameters, and for a table of address embeddings: Loshchilov and Hutter, Decoupled Weight Decay
 * Regularization, ICLR 2019.
 *
 * @module
 */
import { ensure, named } from "../../base/errors.ts";
import { adamWHyper, addAdamW, NUM_ADAMW_HYPER } from "../../tensor/ops/adamw.ts";
import type { Gpu } from "../../tensor/device.ts";
import type { Program } from "../../tensor/program.ts";
import { type Tensor, tensorLength } from "../../tensor/tensor.ts";
import type { AdamWConfig } from "./optim_config.ts";
import type { StepFactors, TrainedParameter, UpdateRule } from "./rule.ts";
import { addAdamWRows } from "../../tensor/ops/address_embeddings.ts";

/** The rule `adamw`. */
export class AdamWRule implements UpdateRule {
  readonly state = new Map<string, Tensor>();
  /** The hyperparameters of a step, which {@link prepare} uploads. */
  protected readonly hyper: Tensor;

  /** @param config Its hyperparameters. @param members The parameters it updates. */
  constructor(
    readonly gpu: Gpu,
    readonly config: AdamWConfig,
    readonly members: readonly TrainedParameter[],
  ) {
    this.hyper = gpu.tensor("AdamW numbers", [NUM_ADAMW_HYPER]);
    for (const { name, parameter } of members) {
      for (const moment of ["exp_avg", "exp_avg_sq"]) {
        this.state.set(`${name}.${moment}`, gpu.tensor(`${name}.${moment}`, parameter.shape));
      }
    }
  }

  add(program: Program, clip: Tensor): void {
    for (const { name, parameter, gradient } of this.members) {
      const length = tensorLength(parameter);
      addAdamW(program, { parameter, gradient, ...this.moments(name), hyper: this.hyper, clip, length });
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
    super(gpu, config, members);
    for (const { name, parameter } of members) {
      this.state.set(`${name}.num_updates`, gpu.tensor(`${name}.num_updates`, [parameter.shape[0]]));
    }
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

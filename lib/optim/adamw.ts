/**
 * AdamW for a group of parameters: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019.
 *
 * @module
 */
import { named } from "../errors.ts";
import { adamWHyper, addAdamW, NUM_ADAMW_HYPER } from "../gpu/ops/adamw.ts";
import type { Gpu } from "../gpu/device.ts";
import type { Program } from "../gpu/program.ts";
import { type Tensor, tensorLength } from "../gpu/tensor.ts";
import type { AdamWConfig } from "./optim_config.ts";
import type { StepFactors, TrainedParameter, UpdateRule } from "./rule.ts";

/** The rule `adamw`. */
export class AdamWRule implements UpdateRule {
  readonly state = new Map<string, Tensor>();
  /** The numbers of a step, which {@link prepare} uploads. */
  protected readonly hyper: Tensor;

  /** @param config Its numbers. @param members The parameters it updates. */
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

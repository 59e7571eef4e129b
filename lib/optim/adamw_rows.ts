/**
 * AdamW for a table of rows, of which a step updates only those that it touched: every row counts its own updates, so
 * that a rare one moves as far in its first steps as a frequent one did.
 *
 * @module
 */
import { ensure } from "../errors.ts";
import { addAdamWRows } from "../gpu/ops/address_rows.ts";
import { adamWHyper, NUM_ADAMW_HYPER } from "../gpu/ops/adamw.ts";
import type { Gpu } from "../gpu/device.ts";
import type { Program } from "../gpu/program.ts";
import type { Tensor } from "../gpu/tensor.ts";
import type { AdamWConfig } from "./config.ts";
import type { StepFactors, TrainedParameter, UpdateRule } from "./rule.ts";

/** The rule of `wpe.weight`, whose gradient lies in slots. */
export class AdamWRowsRule implements UpdateRule {
  readonly state = new Map<string, Tensor>();
  readonly #hyper: Tensor;

  /**
   * @param config Its numbers.
   * @param members The tables, one or none.
   * @param slotRows Which row each slot of the gradient is, see `addAdamWRows`.
   */
  constructor(
    readonly gpu: Gpu,
    readonly config: AdamWConfig,
    readonly members: readonly TrainedParameter[],
    readonly slotRows: Tensor | undefined,
  ) {
    this.#hyper = gpu.tensor("AdamW numbers of rows", [NUM_ADAMW_HYPER]);
    for (const { name, parameter } of members) {
      for (const moment of ["exp_avg", "exp_avg_sq"]) {
        this.state.set(`${name}.${moment}`, gpu.tensor(`${name}.${moment}`, parameter.shape));
      }
      this.state.set(`${name}.num_updates`, gpu.tensor(`${name}.num_updates`, [parameter.shape[0]]));
    }
  }

  add(program: Program, clip: Tensor): void {
    for (const { name, parameter, gradient } of this.members) {
      const [expAvg, expAvgSq, numUpdates] = ["exp_avg", "exp_avg_sq", "num_updates"].map((part) => {
        const tensor = this.state.get(`${name}.${part}`);
        ensure(tensor, `the optimizer has no state ${name}.${part}`);
        return tensor;
      });
      ensure(this.slotRows, `${name} has no slots`);
      const [slots, width] = gradient.shape;
      addAdamWRows(program, {
        ...{ slotRows: this.slotRows, gradient, parameter, expAvg, expAvgSq, numUpdates },
        ...{ hyper: this.#hyper, clip, slots, width },
      });
    }
  }

  prepare(_stepIndex: number, factors: StepFactors): void {
    const { learningRate, beta1, beta2, epsilon, weightDecay } = this.config;
    const hyper = adamWHyper({
      learningRate: learningRate * factors.learningRate,
      beta1,
      beta2,
      epsilon,
      weightDecay: weightDecay * factors.weightDecay,
      step: 1,
    });
    this.gpu.write(this.#hyper, hyper);
  }
}

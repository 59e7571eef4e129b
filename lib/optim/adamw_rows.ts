/**
 * AdamW for a table of learned rows. A step updates only the rows that it touched. Each row counts its own updates, so
 * that a rare row moves as far in its first updates as a frequent one.
 *
 * @module
 */
import { ensure, named } from "../errors.ts";
import { addAdamWRows } from "../gpu/ops/address_rows.ts";
import type { Gpu } from "../gpu/device.ts";
import type { Program } from "../gpu/program.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { AdamWRule } from "./adamw.ts";
import type { AdamWConfig } from "./optim_config.ts";
import type { StepFactors, TrainedParameter } from "./rule.ts";

/** The rule of `wpe.weight`, whose gradient lies in slots. */
export class AdamWRowsRule extends AdamWRule {
  /**
   * @param config Its numbers.
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

  /** Prepares the numbers of a first step, since rows count their own. */
  override prepare(_stepIndex: number, factors: StepFactors): void {
    super.prepare(0, factors);
  }
}

/** The whole optimizer step in float64: clipping, schedule, and each group's rule. @module */
import { type ModelConfig, modelShapes } from "../../lib/model/model_config.ts";
import { groupOf, type OptimConfig } from "../../lib/train/optim/optim_config.ts";
import { momentumAt } from "../../lib/train/optim/rules.ts";
import { learningRateFactor, weightDecayFactor, widthFactor } from "../../lib/train/optim/schedule.ts";
import type { AdamWStep } from "../../lib/tensor/ops/adamw.ts";
import { adamW, clipGradients, muon } from "./updates.ts";
import { adamWRows } from "./address_embeddings.ts";
import type { Weights } from "./model.ts";

export class ReferenceOptimizer {
  /** Checkpoint name (`wte.weight.exp_avg`) -> values. */
  readonly state: Weights = new Map();

  /** @param weights Initial weights; changed by every step. */
  constructor(
    readonly config: OptimConfig,
    readonly weights: Weights,
    readonly run: { model: ModelConfig; totalSteps: number },
  ) {}

  /** @param gradients Scaled in place by clipping. @param touchedRows Rows of `address_embed.weight`. */
  step(stepIndex: number, gradients: Weights, touchedRows: readonly number[] = []): void {
    clipGradients(gradients.values(), this.config.maxGradientNorm);
    const { model, totalSteps } = this.run;
    const rateFactor = widthFactor(model.width) * learningRateFactor(stepIndex, totalSteps, this.config);
    for (const [name, shape] of modelShapes(model).parameters) {
      const rule = this.config.groups[groupOf(name)];
      const parameter = this.#value(this.weights, name, shape);
      const gradient = this.#value(gradients, name, shape);
      const learningRate = rule.learningRate * rateFactor;
      const weightDecay = rule.weightDecay * weightDecayFactor(stepIndex, totalSteps);
      if (name === "address_embed.weight") {
        this.#updateRows(name, {
          shape,
          rows: touchedRows,
          gradient,
          at: { ...this.config.groups.rows, learningRate, weightDecay },
        });
      } else if (rule.kind === "adamw") {
        const [expAvg, expAvgSq] = ["exp_avg", "exp_avg_sq"].map((moment) =>
          this.#value(this.state, `${name}.${moment}`, shape)
        );
        const at = { ...rule, learningRate, weightDecay, step: stepIndex + 1 };
        const after = adamW({ parameter, expAvg, expAvgSq }, gradient, at);
        this.weights.set(name, after.parameter);
        this.state.set(`${name}.exp_avg`, after.expAvg).set(`${name}.exp_avg_sq`, after.expAvgSq);
      } else {
        const momentum = this.#value(this.state, `${name}.momentum`, shape);
        const at = { momentum: momentumAt(stepIndex, rule), learningRate, weightDecay };
        const after = muon({ parameter, momentum }, gradient, { shape, at });
        this.weights.set(name, after.parameter);
        this.state.set(`${name}.momentum`, after.momentum);
      }
    }
  }

  #updateRows(
    name: string,
    { shape, rows, gradient, at }: {
      shape: readonly number[];
      rows: readonly number[];
      gradient: Float64Array;
      at: Omit<AdamWStep, "step">;
    },
  ): void {
    const [numRows, width] = shape;
    const state = {
      parameter: this.#value(this.weights, name, shape),
      expAvg: this.#value(this.state, `${name}.exp_avg`, shape),
      expAvgSq: this.#value(this.state, `${name}.exp_avg_sq`, shape),
      numUpdates: this.#value(this.state, `${name}.num_updates`, [numRows, 1]),
    };
    const ofRows = Float64Array.from(
      rows.flatMap((row) => [...gradient.slice(row * width, (row + 1) * width)]),
    );
    const after = adamWRows(state, { rows, gradient: ofRows, at });
    this.weights.set(name, after.parameter);
    this.state.set(`${name}.exp_avg`, after.expAvg).set(`${name}.exp_avg_sq`, after.expAvgSq);
    this.state.set(`${name}.num_updates`, after.numUpdates);
  }

  #value(values: Weights, name: string, [rows, columns]: readonly number[]): Float64Array {
    return values.get(name) ?? new Float64Array(rows * columns);
  }
}

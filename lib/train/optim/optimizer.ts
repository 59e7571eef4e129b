/**
 * One optimizer step over all parameters of a model: clipping to the global gradient norm, then each group's
 * update rule with the scheduled learning rate and weight decay.
 *
 * The whole step is one program. The GPU decides whether to skip it (if the gradient is not finite), so
 * nothing is read back before the update. A skipped step changes neither parameters nor state.
 *
 * @module
 */
import { ensure, named, UserError } from "../../base/errors.ts";
import type { Gpu } from "../../tensor/device.ts";
import { addClipFactor, CLIP } from "../../tensor/ops/clip.ts";
import { addSumOfSquares } from "../../tensor/ops/reduce.ts";
import { type ProfileRow, Program } from "../../tensor/program.ts";
import type { KernelRegistry } from "../../tensor/registry.ts";
import { byBuffer, spanOf, type Tensor, tensorLength } from "../../tensor/tensor.ts";
import type { ModelShapes } from "../../model/model_config.ts";
import { addOperandCopies } from "../../model/forward.ts";
import { readParameterLike } from "../../model/parameters.ts";
import type { Transformer } from "../../model/transformer.ts";
import { ruleOf, type TrainedParameter, type UpdateRule } from "./rules.ts";
import { type GroupName, groupOf, type OptimConfig } from "./optim_config.ts";
import { learningRateFactor, weightDecayFactor, widthFactor } from "./schedule.ts";

/** The state entry of the loss scale, the only one that belongs to no parameter. */
export const LOSS_SCALE_STATE = "loss_scale";

export class Optimizer {
  /** (1) f32: global gradient norm before clipping; not finite if the step was skipped. Read-only. */
  readonly gradNorm: Tensor;
  /** (1) f32: the loss scale of the next step; undefined if gradients are f32. Read-only. */
  readonly lossScale: Tensor | undefined;
  /** State between steps: checkpoint name -> tensor. */
  readonly state = new Map<string, Tensor>();
  readonly #gpu: Gpu;
  readonly #shapes: ModelShapes;
  readonly #rules: UpdateRule[] = [];
  readonly #program: Program;
  readonly #sumOfSquares: Tensor;

  private constructor(
    registry: KernelRegistry,
    model: Transformer,
    readonly config: OptimConfig,
    /** Steps of the whole run, which the schedule spans. */
    public totalSteps: number,
  ) {
    this.#gpu = registry.gpu;
    this.#shapes = model.shapes;
    const clip = this.#gpu.tensor("clip factor", [2]);
    this.gradNorm = elementOf(clip, CLIP.norm);
    const { lossScale } = model;
    if (lossScale) this.state.set(LOSS_SCALE_STATE, lossScale);
    this.lossScale = lossScale && elementOf(lossScale, 0);
    this.#sumOfSquares = this.#gpu.tensor("sum of squared gradients", [1]);
    this.#program = new Program(registry, "optimizer");
    addSumOfSquares(this.#program, { inputs: wholeBuffers(model.gradients), out: this.#sumOfSquares });
    addClipFactor(this.#program, {
      sumOfSquares: this.#sumOfSquares,
      out: clip,
      maxNorm: config.maxGradientNorm,
      lossScale,
    });
    const members = trainedParameters(model);
    for (const group of Object.keys(config.groups) as GroupName[]) {
      const ofGroup = members.filter(({ name }) => groupOf(name) === group);
      const rule = ruleOf(group, config).create(this.#gpu, ofGroup, model.slotRows);
      rule.add(this.#program, clip, config.maxGradientNorm);
      for (const [name, tensor] of rule.state) this.state.set(name, tensor);
      this.#rules.push(rule);
    }
    addOperandCopies(this.#program, model);
  }

  /**
   * Makes an optimizer with zero state.
   *
   * @param model A model made for training.
   * @param options `totalSteps`: see {@link totalSteps}.
   */
  static create(
    registry: KernelRegistry,
    model: Transformer,
    config: OptimConfig,
    options: { totalSteps: number },
  ): Optimizer {
    ensure(model.extent.training, "a model without training has no optimizer");
    return new Optimizer(registry, model, config, options.totalSteps);
  }

  /** The schedule's factor on every learning rate, without the factor of the model's width. */
  learningRateFactor(stepIndex: number): number {
    return learningRateFactor(stepIndex, this.totalSteps, this.config);
  }

  /** The learning rate of the matrices, including schedule and width; for logs. */
  learningRate(stepIndex: number): number {
    return this.config.groups.matrices.learningRate * this.#scaledFactor(stepIndex);
  }

  /** Updates all parameters from the model's gradients; returns at once. @param stepIndex From 0. */
  step(stepIndex: number): void {
    this.#prepare(stepIndex);
    this.#program.run();
  }

  /** Like {@link step}, but waits for each dispatch and times it. */
  async profile(stepIndex: number): Promise<ProfileRow[]> {
    this.#prepare(stepIndex);
    return await this.#program.profile();
  }

  /** Checkpoint name -> shape of each state entry, without the head's padding rows. */
  get stateShapes(): Map<string, number[]> {
    const head = this.#shapes.parameters.get("lm_head.weight");
    return new Map([...this.state].map(([name, tensor]) => {
      return [name, head && name.startsWith("lm_head.weight.") ? head : [...tensor.shape]];
    }));
  }

  /** Reads the whole state, in the shapes of the checkpoint. */
  async readState(): Promise<Map<string, Float32Array>> {
    return await readParameterLike(this.#gpu, this.#shapes, this.state);
  }

  /**
   * Sets the whole state. With f32 gradients, a loss scale is ignored. If the state has none (it is from a
   * run with f32 gradients), the present loss scale is kept.
   *
   * @throws {UserError} If an entry is missing, unknown or of the wrong size.
   */
  loadState(values: Map<string, Float32Array>): void {
    for (const name of values.keys()) {
      if (name !== LOSS_SCALE_STATE && !this.state.has(name)) {
        throw wrongState(`an entry ${name}`, "no entry of that name");
      }
    }
    const shapes = this.stateShapes;
    for (const [name, tensor] of this.state) {
      const shape = shapes.get(name) ?? tensor.shape;
      const entry = values.get(name);
      if (name === LOSS_SCALE_STATE && !entry) continue;
      if (entry?.length !== tensorLength({ shape })) {
        throw wrongState(`${entry?.length ?? 0} values of ${name}`, `a shape of [${shape.join(", ")}]`);
      }
      this.#gpu.write(tensor, entry);
    }
  }

  #prepare(stepIndex: number): void {
    const factors = {
      learningRate: this.#scaledFactor(stepIndex),
      weightDecay: weightDecayFactor(stepIndex, this.totalSteps),
    };
    for (const rule of this.#rules) rule.prepare(stepIndex, factors);
  }

  #scaledFactor(stepIndex: number): number {
    return this.learningRateFactor(stepIndex) * widthFactor(this.#shapes.config.width);
  }
}

function trainedParameters(model: Transformer): TrainedParameter[] {
  return [...model.parameters].map(([name, parameter]) => {
    return { name, parameter, gradient: named(model.gradients, name) };
  });
}

/** Combines the tensors of each buffer into one. */
export function wholeBuffers(tensors: ReadonlyMap<string, Tensor>): Tensor[] {
  return byBuffer(tensors.values(), (tensor) => tensor).map(spanOf);
}

/** One element of a tensor. It is not aligned, so it can be copied but not bound. */
function elementOf(tensor: Tensor, index: number): Tensor {
  return { ...tensor, shape: [1], offsetBytes: tensor.offsetBytes + index * 4 };
}

function wrongState(found: string, wanted: string): UserError {
  return new UserError(
    `Cannot load the optimizer's state: found ${found}, expected ${wanted}; use the configuration it was saved with`,
  );
}

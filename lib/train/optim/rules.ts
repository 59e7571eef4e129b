/**
 * The update rules of parameter groups: AdamW for a group and for a table of address embeddings (Loshchilov
 * and Hutter, Decoupled Weight Decay Regularization, ICLR 2019), Muon for a group of matrices (Jordan et al.,
 * Muon: An optimizer for hidden layers in neural networks, 2024, with the semantics of torch.optim.Muon).
 *
 * @module
 */
import type { Program } from "../../tensor/program.ts";
import type { MakeTensor } from "../../model/allocation.ts";
import { byBuffer, firstElement, partOf, spanOf, type Tensor, tensorLength } from "../../tensor/tensor.ts";
import { ensure, named } from "../../base/errors.ts";
import { adamWHyper, addAdamW, addAdamWRows, NUM_ADAMW_HYPER } from "../../tensor/ops/adamw.ts";
import type { Gpu } from "../../tensor/device.ts";
import type { AdamWConfig, GroupName, MuonConfig, OptimConfig } from "./optim_config.ts";
import {
  addMuon,
  makeMuonScratch,
  muonHyper,
  type MuonScratch,
  numMuonHyper,
} from "../../tensor/ops/muon.ts";

/** A parameter and its gradient, which have the same shape and the same layout in their buffers. */
export interface TrainedParameter extends NamedParameter {
  readonly gradient: Tensor;
}

interface NamedParameter {
  readonly name: string;
  readonly parameter: Tensor;
}

/** Makes a tensor NAME.`suffix` like each parameter. They share buffers as the parameters do. */
function tensorsLike(
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

/** Factors on a rule's configured learning rate and weight decay in a step. */
interface StepFactors {
  readonly learningRate: number;
  readonly weightDecay: number;
}

export interface UpdateRule {
  /** State between steps, by its names in checkpoints (lib/train/optim/README.md). */
  readonly state: Map<string, Tensor>;
  /**
   * Adds a step to a program, once, at the start of a run.
   *
   * @param clip (2) f32 from addClipFactor: its factor scales the gradient; if it is 0, nothing may be
   *   changed.
   * @param maxNorm The largest norm of the scaled gradient.
   */
  add(program: Program, clip: Tensor, maxNorm: number): void;
  /** Uploads the hyperparameters of a step. @param stepIndex From 0. */
  prepare(stepIndex: number, factors: StepFactors): void;
}

/** Makes the state, and the hyperparameters that {@link AdamWRule.prepare} uploads. */
function adamWTensors(
  members: readonly NamedParameter[],
  make: MakeTensor,
): { hyper: Tensor; state: Map<string, Tensor> } {
  const moments = ["exp_avg", "exp_avg_sq"].flatMap((moment) => tensorsLike(members, moment, make));
  return { hyper: make("AdamW numbers", [NUM_ADAMW_HYPER]), state: new Map(moments) };
}

/** Like {@link adamWTensors}, with the number of updates of each row. */
function adamWRowsTensors(
  members: readonly NamedParameter[],
  make: MakeTensor,
): ReturnType<typeof adamWTensors> {
  const { hyper, state } = adamWTensors(members, make);
  for (const { name, parameter } of members) {
    state.set(`${name}.num_updates`, make(`${name}.num_updates`, [parameter.shape[0]]));
  }
  return { hyper, state };
}

class AdamWRule implements UpdateRule {
  readonly state: Map<string, Tensor>;
  protected readonly hyper: Tensor;

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

  protected moments(name: string): { expAvg: Tensor; expAvgSq: Tensor } {
    return {
      expAvg: named(this.state, `${name}.exp_avg`),
      expAvgSq: named(this.state, `${name}.exp_avg_sq`),
    };
  }
}

/** The rule of `address_embed.weight`, whose gradient is in slots. */
export class AdamWRowsRule extends AdamWRule {
  /** @param members The table, or nothing. @param slotRows The row of each slot; see `addAdamWRows`. */
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

  /** Prepares the hyperparameters of a first step, because rows count their own steps. */
  override prepare(_stepIndex: number, factors: StepFactors): void {
    super.prepare(0, factors);
  }
}

/** mu of a step (from 0): rises linearly from the initial momentum over the warm-up, then is constant. */
export function momentumAt(stepIndex: number, config: MuonConfig): number {
  const { momentumWarmupSteps } = config;
  const share = stepIndex < momentumWarmupSteps ? stepIndex / momentumWarmupSteps : 1;
  return (1 - share) * config.initialMomentum + share * config.momentum;
}

/** Makes the state, scratch memory, and the hyperparameters that {@link MuonRule.prepare} uploads. */
function muonTensors(
  members: readonly NamedParameter[],
  make: MakeTensor,
): { hyper: Tensor; state: Map<string, Tensor>; scratch: MuonScratch } {
  return {
    hyper: make("Muon numbers", [numMuonHyper(members.length)]),
    state: new Map(tensorsLike(members, "momentum", make)),
    scratch: makeMuonScratch(members.map(({ parameter }) => parameter), make),
  };
}

class MuonRule implements UpdateRule {
  readonly state: Map<string, Tensor>;
  readonly #hyper: Tensor;
  readonly #scratch: MuonScratch;

  constructor(
    readonly gpu: Gpu,
    readonly config: MuonConfig,
    readonly members: readonly TrainedParameter[],
  ) {
    const { hyper, state, scratch } = muonTensors(members, gpu.tensor.bind(gpu));
    this.state = state;
    this.#hyper = hyper;
    this.#scratch = scratch;
  }

  add(program: Program, clip: Tensor, maxNorm: number): void {
    const matrices = this.members.map(({ name, parameter, gradient }) => {
      return { parameter, gradient, momentum: named(this.state, `${name}.momentum`) };
    });
    addMuon(program, { matrices, hyper: this.#hyper, clip, maxNorm, scratch: this.#scratch });
  }

  prepare(stepIndex: number, factors: StepFactors): void {
    const { learningRate, weightDecay } = this.config;
    const at = {
      momentum: momentumAt(stepIndex, this.config),
      learningRate: learningRate * factors.learningRate,
      weightDecay: weightDecay * factors.weightDecay,
    };
    this.gpu.write(this.#hyper, muonHyper(at, this.members.map(({ parameter }) => parameter)));
  }
}

/** The tensors that a group's rule makes, and how to make the rule. */
interface GroupRule {
  tensors: typeof adamWTensors;
  /** @param slotRows See {@link AdamWRowsRule}; only for the group of address embeddings. */
  create(gpu: Gpu, members: readonly TrainedParameter[], slotRows?: Tensor): UpdateRule;
}

export function ruleOf(group: GroupName, { groups }: Pick<OptimConfig, "groups">): GroupRule {
  if (group === "rows") {
    return {
      tensors: adamWRowsTensors,
      create: (gpu, members, slotRows) => new AdamWRowsRule(gpu, groups.rows, members, slotRows),
    };
  }
  const config = groups[group];
  switch (config.kind) {
    case "adamw":
      return { tensors: adamWTensors, create: (gpu, members) => new AdamWRule(gpu, config, members) };
    case "muon":
      return { tensors: muonTensors, create: (gpu, members) => new MuonRule(gpu, config, members) };
  }
}

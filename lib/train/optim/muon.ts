/**
 * Muon for a group of matrices: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024,
 * with the semantics of torch.optim.Muon.
 *
 * @module
 */
import { named } from "../../base/errors.ts";
import type { MakeTensor } from "../../model/allocation.ts";
import type { Gpu } from "../../tensor/device.ts";
import {
  addMuon,
  makeMuonScratch,
  muonHyper,
  type MuonScratch,
  numMuonHyper,
} from "../../tensor/ops/muon.ts";
import type { Program } from "../../tensor/program.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { MuonConfig } from "./optim_config.ts";
import {
  type NamedParameter,
  type StepFactors,
  tensorsLike,
  type TrainedParameter,
  type UpdateRule,
} from "./rule.ts";

/** mu of a step: rises linearly from the initial momentum over the warm-up, then stays. @param stepIndex From 0. */
export function momentumAt(stepIndex: number, config: MuonConfig): number {
  const { momentumWarmupSteps } = config;
  const share = stepIndex < momentumWarmupSteps ? stepIndex / momentumWarmupSteps : 1;
  return (1 - share) * config.initialMomentum + share * config.momentum;
}

/** Makes the hyperparameters of a step, which {@link MuonRule.prepare} uploads, the state, and scratch memory. */
export function muonTensors(
  members: readonly NamedParameter[],
  make: MakeTensor,
): { hyper: Tensor; state: Map<string, Tensor>; scratch: MuonScratch } {
  return {
    hyper: make("Muon numbers", [numMuonHyper(members.length)]),
    state: new Map(tensorsLike(members, "momentum", make)),
    scratch: makeMuonScratch(members.map(({ parameter }) => parameter), make),
  };
}

export class MuonRule implements UpdateRule {
  readonly state: Map<string, Tensor>;
  readonly #hyper: Tensor;
  readonly #scratch: MuonScratch;

  /** @param config Its hyperparameters. @param members The matrices it updates. */
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

  add(program: Program, clip: Tensor): void {
    const matrices = this.members.map(({ name, parameter, gradient }) => {
      return { parameter, gradient, momentum: named(this.state, `${name}.momentum`) };
    });
    addMuon(program, { matrices, hyper: this.#hyper, clip, scratch: this.#scratch });
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

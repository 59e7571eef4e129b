/**
 * Muon for a group of matrices: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024,
 * with the semantics of torch.optim.Muon (design 04-model, "Optimizers").
 *
 * @module
 */
import type { Gpu } from "../gpu/device.ts";
import { addMuon, makeMuonScratch, muonHyper, type MuonScratch, NUM_MUON_HYPER } from "../gpu/ops/muon.ts";
import type { Program } from "../gpu/program.ts";
import type { Tensor } from "../gpu/tensor.ts";
import type { MuonConfig } from "./config.ts";
import type { StepFactors, TrainedParameter, UpdateRule } from "./rule.ts";

/** mu of a step: rises linearly from the initial momentum over the warm-up, then stays. @param stepIndex From 0. */
export function momentumAt(stepIndex: number, config: MuonConfig): number {
  const { momentumWarmupSteps } = config;
  const share = stepIndex < momentumWarmupSteps ? stepIndex / momentumWarmupSteps : 1;
  return (1 - share) * config.initialMomentum + share * config.momentum;
}

/** The rule `muon`. */
export class MuonRule implements UpdateRule {
  readonly state = new Map<string, Tensor>();
  readonly #hyper: Tensor;

  /** @param config Its numbers. @param members The matrices it updates. */
  constructor(
    readonly gpu: Gpu,
    readonly config: MuonConfig,
    readonly members: readonly TrainedParameter[],
  ) {
    this.#hyper = gpu.tensor("Muon numbers", [NUM_MUON_HYPER]);
    for (const { name, parameter } of members) {
      this.state.set(`${name}.momentum`, gpu.tensor(`${name}.momentum`, parameter.shape));
    }
  }

  add(program: Program, clip: Tensor): void {
    const scratches = new Map<string, MuonScratch>();
    for (const { name, parameter, gradient } of this.members) {
      const momentum = this.state.get(`${name}.momentum`);
      if (!momentum) throw new Error(`Internal error: the optimizer has no state of ${name}`);
      const key = parameter.shape.join();
      const scratch = scratches.get(key) ?? makeMuonScratch(program, parameter.shape);
      scratches.set(key, scratch);
      addMuon(program, { parameter, gradient, momentum, hyper: this.#hyper, clip, scratch });
    }
  }

  prepare(stepIndex: number, factors: StepFactors): void {
    const { learningRate, weightDecay } = this.config;
    const hyper = muonHyper({
      momentum: momentumAt(stepIndex, this.config),
      learningRate: learningRate * factors.learningRate,
      weightDecay: weightDecay * factors.weightDecay,
    });
    this.gpu.write(this.#hyper, hyper);
  }
}

/**
 * Muon for a group of matrices: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024,
 * with the semantics of torch.optim.Muon.
 *
 * @module
 */
import { named } from "../../base/errors.ts";
import type { Gpu } from "../../tensor/device.ts";
import {
  addMuon,
  makeMuonScratch,
  muonHyper,
  type MuonMatrix,
  NUM_MUON_HYPER,
  type StackShape,
} from "../../tensor/ops/muon.ts";
import type { Program } from "../../tensor/program.ts";
import { type Tensor, tensorSizeBytes } from "../../tensor/tensor.ts";
import type { MuonConfig } from "./optim_config.ts";
import type { StepFactors, TrainedParameter, UpdateRule } from "./rule.ts";

/** The largest size of a stack of matrices, bytes: enough work for a dispatch, and half of lavapipe's limit. */
const MAX_STACK_BYTES = 64 * 2 ** 20;

/** mu of a step: rises linearly from the initial momentum over the warm-up, then stays. @param stepIndex From 0. */
export function momentumAt(stepIndex: number, config: MuonConfig): number {
  const { momentumWarmupSteps } = config;
  const share = stepIndex < momentumWarmupSteps ? stepIndex / momentumWarmupSteps : 1;
  return (1 - share) * config.initialMomentum + share * config.momentum;
}

/** The stack in which matrices of one shape are updated. @param shapes One (rows, columns) for each matrix. */
export function stackOf(shapes: readonly (readonly number[])[], maxStackBytes = MAX_STACK_BYTES): StackShape {
  const [rows, columns] = shapes[0];
  const fitting = Math.max(1, Math.floor(maxStackBytes / tensorSizeBytes({ shape: shapes[0] })));
  return { count: Math.min(shapes.length, fitting), rows, columns };
}

/** The rule `muon`. */
export class MuonRule implements UpdateRule {
  readonly state = new Map<string, Tensor>();
  readonly #hyper: Tensor;

  /**
   * @param config Its hyperparameters.
   * @param members The matrices it updates.
   * @param maxStackBytes Matrices of one shape are stacked up to this size.
   */
  constructor(
    readonly gpu: Gpu,
    readonly config: MuonConfig,
    readonly members: readonly TrainedParameter[],
    readonly maxStackBytes: number = MAX_STACK_BYTES,
  ) {
    this.#hyper = gpu.tensor("Muon numbers", [NUM_MUON_HYPER]);
    for (const { name, parameter } of members) {
      this.state.set(`${name}.momentum`, gpu.tensor(`${name}.momentum`, parameter.shape));
    }
  }

  add(program: Program, clip: Tensor): void {
    const shapes = Map.groupBy(this.members, ({ parameter }) => parameter.shape.join());
    for (const members of shapes.values()) {
      const stack = stackOf(members.map(({ parameter }) => parameter.shape), this.maxStackBytes);
      const scratch = makeMuonScratch(program, stack);
      const { count } = stack;
      for (let first = 0; first < members.length; first += count) {
        const matrices = members.slice(first, first + count).map((member) => this.#matrixOf(member));
        addMuon(program, { matrices, hyper: this.#hyper, clip, scratch });
      }
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

  #matrixOf({ name, parameter, gradient }: TrainedParameter): MuonMatrix {
    return { parameter, gradient, momentum: named(this.state, `${name}.momentum`) };
  }
}

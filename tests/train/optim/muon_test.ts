import { MuonRule } from "../../../lib/train/optim/muon.ts";
import { Program } from "../../../lib/tensor/program.ts";
import { assertSameBits, type KernelBench, randomNormal, testOnEachDevice } from "../../tensor/support.ts";

const CONFIG = {
  kind: "muon",
  learningRate: 0.02,
  momentum: 0.95,
  initialMomentum: 0.85,
  momentumWarmupSteps: 10,
  weightDecay: 0.1,
} as const;
const SHAPE = [8, 12];
const MATRIX_BYTES = 8 * 12 * 4;

/** Five matrices after one step. */
async function step(bench: KernelBench, maxStackBytes?: number): Promise<Float32Array[]> {
  const members = Array.from({ length: 5 }, (_, i) => ({
    name: `matrix ${i}`,
    parameter: bench.output(`parameter ${i}`, SHAPE, randomNormal(`parameter ${i}`, 96)),
    gradient: bench.input(`gradient ${i}`, SHAPE, randomNormal(`gradient ${i}`, 96)),
  }));
  const rule = new MuonRule(bench.gpu, CONFIG, members, maxStackBytes);
  const program = new Program(bench.registry, "Muon");
  rule.add(program, bench.input("clip", [4], [1, 1, 0, 0]));
  rule.prepare(3, { learningRate: 1, weightDecay: 1 });
  program.run();
  return await bench.read(...members.map(({ parameter }) => parameter));
}

testOnEachDevice(
  "MuonRule makes the same step in one stack, in several, and matrix by matrix",
  async (bench) => {
    const whole = await step(bench);
    for (const numMatrices of [2, 1, 0.5]) {
      const parts = await step(bench, numMatrices * MATRIX_BYTES);
      parts.forEach((part, i) => assertSameBits(part, whole[i], `matrix ${i}, stacks of ${numMatrices}`));
    }
  },
);

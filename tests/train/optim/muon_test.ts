import { MuonRule } from "../../../lib/train/optim/rules.ts";
import { Program } from "../../../lib/tensor/program.ts";
import { partOf } from "../../../lib/tensor/tensor.ts";
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

/** Five matrices after one step, in buffers of at most so many. */
async function step(bench: KernelBench, perBuffer: number): Promise<Float32Array[]> {
  const data = ["parameter", "gradient"].map((label) => {
    return Array.from({ length: 5 }, (_, i) => randomNormal(`${label} ${i}`, 96));
  });
  // 128 elements from one matrix to the next.
  const place = (kind: "input" | "output", matrices: Float64Array[]) => {
    return Array.from({ length: Math.ceil(5 / perBuffer) }, (_, buffer) => {
      const ofBuffer = matrices.slice(buffer * perBuffer, (buffer + 1) * perBuffer);
      const values = new Float64Array(128 * ofBuffer.length);
      ofBuffer.forEach((matrix, i) => values.set(matrix, 128 * i));
      const whole = bench[kind](`${kind} ${buffer}`, [values.length], values);
      return ofBuffer.map((_, i) => partOf(whole, 128 * i, SHAPE));
    }).flat();
  };
  const [parameters, gradients] = [place("output", data[0]), place("input", data[1])];
  const members = parameters.map((parameter, i) => ({ name: `${i}`, parameter, gradient: gradients[i] }));
  const rule = new MuonRule(bench.gpu, CONFIG, members);
  const program = new Program(bench.registry, "Muon");
  rule.add(program, bench.input("clip", [4], [1, 1, 0, 0]));
  rule.prepare(3, { learningRate: 1, weightDecay: 1 });
  program.run();
  return await bench.read(...parameters);
}

testOnEachDevice(
  "MuonRule makes the same step in one buffer, in several, and matrix by matrix",
  async (bench) => {
    const whole = await step(bench, 5);
    for (const perBuffer of [2, 1]) {
      const parts = await step(bench, perBuffer);
      parts.forEach((part, i) => assertSameBits(part, whole[i], `matrix ${i}, buffers of ${perBuffer}`));
    }
  },
);

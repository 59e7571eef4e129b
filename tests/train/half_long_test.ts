/** The train stage with `train.dtype` f16, in real processes. */
import { assert, assertEquals, assertLess, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { runStageProcess, succeeded } from "../cli/process.ts";
import {
  checkpointOf,
  metricsOf,
  STEPS,
  tensorHashes,
  TrainingRuns,
  writeTrainingRows,
} from "./training_runs.ts";

const folder = Deno.makeTempDirSync();
const runs = new TrainingRuns(folder);
const HALF = { "train.dtype": "f16" };

Deno.test.beforeAll(() => writeTrainingRows(runs.data));

Deno.test.afterAll(() => Deno.removeSync(folder, { recursive: true }));

Deno.test("train in f16, killed and resumed, ends as if uninterrupted, near the f32 loss", async () => {
  const [full, half, killed] = ["f32", "f16", "killed"].map((name) => join(folder, name));
  for (const [run, settings] of [[full, {}], [half, HALF]] as const) {
    await succeeded(runs.train(run, settings));
  }
  await runs.signalAtStep(killed, 9, { signals: ["SIGKILL"], settings: HALF });
  await runs.signalAtStep(killed, 20, { signals: ["SIGTERM"], settings: HALF });
  const { stderr } = await succeeded(runs.train(killed, HALF));
  assertStringIncludes(stderr, "resuming after step");
  assertEquals(metricsOf(killed), metricsOf(half));
  assertEquals(tensorHashes(killed), tensorHashes(half));
  const [lossOfFull, lossOfHalf] = [full, half].map((run) => metricsOf(run)[STEPS - 1]["eval/loss"] ?? NaN);
  assertLess(Math.abs(lossOfHalf - lossOfFull), 0.01 * lossOfFull);
  assertEquals(metricsOf(half).map((record) => record["train/loss_scale"]), Array(STEPS).fill(2 ** 15));
  assert(!("train/loss_scale" in metricsOf(full)[0]));
});

Deno.test("train resumes in f32 from an f16 checkpoint, and vice versa", async () => {
  const [half, full, again] = ["begun", "in f32", "in f16"].map((name) => join(folder, name));
  await runs.train(half, HALF, "--steps", "3");
  const inF32 = await succeeded(runs.train(full, {}, "--steps", "5", "--resume-from", half));
  assertStringIncludes(inF32.stderr, 'train.dtype changes from "f16" to "f32"');
  await succeeded(runs.train(again, HALF, "--steps", "7", "--resume-from", full));
  assertEquals(metricsOf(again).map(({ step }) => step), [6, 7]);
  const { stdout } = await succeeded(runStageProcess([
    "inspect",
    join(checkpointOf(again, 7), "optimizer.safetensors"),
  ]));
  assertStringIncludes(stdout, "loss_scale");
});

Deno.test("train in f16 stops when a smaller loss scale does not help", async () => {
  const settings = { ...HALF, "optim.groups.matrices.learningRate": 1000, "train.maxSkippedSteps": 5 };
  const { code, stderr } = await runs.train(join(folder, "diverged"), settings);
  assertEquals(code, 1, stderr);
  assertMatch(stderr, /not finite in \d+ steps in a row/);
  assertStringIncludes(stderr, "or store in f32 (--set train.dtype=f32)");
});

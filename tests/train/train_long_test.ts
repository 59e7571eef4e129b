/** The train stage in real processes: killed, interrupted, resumed, refused. */
import {
  assert,
  assertEquals,
  assertLess,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { writeJsonAtomic } from "../../lib/io/files/atomic.ts";
import { exists } from "../../lib/io/files/inputs.ts";
import type { ProfileRow } from "../../lib/tensor/program.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { listCheckpoints } from "../../lib/train/checkpoint.ts";
import type { MetricsRecord } from "../../lib/train/metrics.ts";
import { type ProcessResult, refused, runStageProcess, succeeded } from "../cli/process.ts";
import {
  eventsOf,
  metricsOf,
  STEPS,
  tensorHashes,
  TrainingRuns,
  writeTrainingRows,
} from "./training_runs.ts";

const folder = Deno.makeTempDirSync();
const runs = new TrainingRuns(folder);

Deno.test.beforeAll(() => writeTrainingRows(runs.data));

Deno.test.afterAll(() => Deno.removeSync(folder, { recursive: true }));

const POOL = ["--pool-measurements", "200"];

/** An undisturbed run with a pool, made once. */
let undisturbed: Promise<{ run: string; result: ProcessResult }> | undefined;

function undisturbedRun(): Promise<{ run: string; result: ProcessResult }> {
  const run = join(folder, "undisturbed");
  undisturbed ??= runs.train(run, {}, "--json", ...POOL).then((result) => ({ run, result }));
  return undisturbed;
}

Deno.test("train trains, evaluates, saves and reports the results", async () => {
  const { run, result } = await undisturbedRun();
  assertEquals(result.code, 0, result.stderr);
  const json = JSON.parse(result.stdout);
  assertEquals([json.stage, json.status, json.step], ["train", "done", STEPS]);
  const metrics = metricsOf(run);
  assertEquals(metrics.map(({ step }) => step), Array.from({ length: STEPS }, (_, i) => i + 1));
  assertEquals(metrics.filter((record) => "eval/loss" in record).map(({ step }) => step), [10, 20, 30, 40]);
  assertLess(json.train_loss, Math.log(267));
  assertLess(json.eval_loss, metrics[9]["eval/loss"] ?? 0);
  assertEquals(json.eval_loss, metrics[STEPS - 1]["eval/loss"]);
  assertLess(json.padding, 0.3);
  assert(json.tokens_per_second > 0);
  assertEquals(json.checkpoint, join(run, "checkpoints", "step-00000040"));
  assertEquals(json.pool.identities, { identified: 60, shared: 0, ignored: 0 });
  assert(json.pool.num_measurements > 0 && exists(join(json.checkpoint, "pool.safetensors")));
  assertEquals(json.report, join(run, "report.html"));
  assertStringIncludes(Deno.readTextFileSync(json.report), "<td>40 of 40</td>");
  assertEquals(listCheckpoints(join(run, "checkpoints")).map(({ step }) => step), [35, 40]);
});

Deno.test("train writes the scalars of metrics.jsonl to the event file too, in float32", async () => {
  const { run } = await undisturbedRun();
  const rounded = metricsOf(run).map((record) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [name, value === null ? null : Math.fround(value)]),
    )
  );
  const [version, ...events] = eventsOf(run);
  assertEquals(version, { step: 0 });
  assertEquals(events, rounded as MetricsRecord[]);
});

Deno.test("train computes the same losses with other micro-batches of the same batch, up to rounding", async () => {
  const { run: reference } = await undisturbedRun();
  const run = join(folder, "one micro-batch");
  await succeeded(runs.train(run, { "train.microBatchSize": 4 }));
  const [expected, actual] = [metricsOf(reference), metricsOf(run)];
  for (const name of ["train/loss", "train/grad_norm", "train/padding"]) {
    for (const i of [0, 1, 2]) {
      const [a, b] = [Number(expected[i][name]), Number(actual[i][name])];
      assertLess(Math.abs(a - b), 1e-4 * Math.abs(a) + 1e-9, `${name} of step ${i + 1}`);
    }
  }
});

Deno.test("train --profile computes the same and reports where a step's time goes", async () => {
  const { run: reference } = await undisturbedRun();
  const run = join(folder, "profiled");
  const { stdout, stderr } = await succeeded(runs.train(run, {}, "--profile", "--json"));
  assertEquals(metricsOf(run), metricsOf(reference));
  assertEquals(tensorHashes(run), tensorHashes(reference));
  const [heading, ...table] = Deno.readTextFileSync(join(run, "profile.txt")).trimEnd().split("\n");
  assertMatch(heading, /^step 4 on .*:$/);
  for (const line of [heading, ...table]) assertStringIncludes(stderr, line);
  const rows: ProfileRow[] = JSON.parse(stdout).profile;
  assertEquals(table.length, rows.length + 2);
  // Two micro-batches, two layers: q, k, v are one product forward and one for the gradient; one step.
  const callsOf = (name: string) => rows.find(({ label }) => label === name)?.calls;
  assertEquals([callsOf("qkv_proj"), callsOf("qkv_proj dW"), callsOf("muon_momentum")], [4, 4, 1]);
  assert(rows.every(({ seconds, bytes }) => seconds > 0 && bytes > 0), stdout);
});

Deno.test("train with autosize does not read the data again on resume", async () => {
  const run = join(folder, "sized");
  const copy = new TrainingRuns(join(folder, "copied"));
  await writeTrainingRows(copy.data, 60); // The fingerprint has checksums of all bytes of smaller files.
  const sized = { "autosize.passes": 1 };
  await succeeded(copy.train(run, sized, "--steps", "8"));
  // A byte of the data that no checksum of the fingerprint covers: found only when the rows are read.
  const file = join(copy.data, "train", "train-00000-of-00001.arrayrecord");
  const bytes = Deno.readFileSync(file);
  bytes[bytes.length >> 2] ^= 1;
  Deno.writeFileSync(file, bytes);
  const again = await succeeded(copy.train(run, sized, "--steps", "8"));
  assertStringIncludes(again.stdout, "the run is complete");
  const other = await copy.train(run, { ...sized, "autosize.rowsPerKey": 2 }, "--steps", "8");
  assertEquals(other.code, 1);
  assertStringIncludes(other.stderr, file);
});

Deno.test("train killed between its last checkpoint and its manifest completes report and manifest when repeated", async () => {
  const { run } = await undisturbedRun();
  const path = join(run, "manifest.json");
  const whole = Deno.readTextFileSync(path);
  writeJsonAtomic(path, { ...JSON.parse(whole), counts: {}, outputs: [], complete: false });
  const report = Deno.readTextFileSync(join(run, "report.html"));
  Deno.removeSync(join(run, "report.html"));
  const before = tensorHashes(run);
  const { stdout } = await succeeded(runs.train(run, {}, ...POOL));
  assertStringIncludes(stdout, "the run is complete");
  assertEquals(tensorHashes(run), before);
  assertEquals(Deno.readTextFileSync(path), whole);
  assertEquals(Deno.readTextFileSync(join(run, "report.html")), report);
});

Deno.test("train killed at any moment and resumed ends as if uninterrupted", async () => {
  const { run: reference } = await undisturbedRun();
  const run = join(folder, "killed");
  const random = new RandomStream(0, "test/kill");
  let step = 0;
  for (let kill = 0; kill < 3; kill++) {
    step += 1 + random.below(12);
    await runs.signalAtStep(run, step, { signals: ["SIGKILL"], delayMs: random.below(40) });
  }
  await succeeded(runs.train(run));
  assertEquals(metricsOf(run), metricsOf(reference), `killed up to step ${step}`);
  assertEquals(eventsOf(run), eventsOf(reference));
  assertEquals(tensorHashes(run), tensorHashes(reference));
});

Deno.test("train --workers, killed and resumed with another number, ends as without workers", async () => {
  const { run: reference } = await undisturbedRun();
  const run = join(folder, "workers");
  await runs.signalAtStep(run, 3, { signals: ["SIGKILL"], more: ["--workers", "2"] });
  const interrupted = await runs.signalAtStep(run, 12, { signals: ["SIGTERM"], more: ["--workers", "2"] });
  assertEquals(interrupted.code, 75, interrupted.stderr);
  await succeeded(runs.train(run, {}, "--workers", "1"));
  assertEquals(metricsOf(run), metricsOf(reference));
  assertEquals(tensorHashes(run), tensorHashes(reference));
});

Deno.test("train saves on SIGINT, SIGTERM and SIGUSR2, exits with 130 or 75, and resumes bit for bit", async () => {
  const { run: reference } = await undisturbedRun();
  const run = join(folder, "interrupted");
  const interrupted = await runs.signalAtStep(run, 5, { signals: ["SIGINT"] });
  assertEquals(interrupted.code, 130, interrupted.stderr);
  assertMatch(interrupted.stderr, /^error: stopped by SIGINT; run the same command again to continue$/m);
  const savedStep = () => listCheckpoints(join(run, "checkpoints")).at(-1)?.step ?? NaN;
  const first = savedStep();
  assert(first >= 5 && first < STEPS, `saved step ${first}`);
  assertStringIncludes(Deno.readTextFileSync(join(run, "report.html")), `<td>${first} of ${STEPS}</td>`);
  for (const signal of ["SIGTERM", "SIGUSR2"] as const) {
    // A step that the run before has not made, so that the signal meets a run at work.
    const terminated = await runs.signalAtStep(run, savedStep() + 3, { signals: [signal] });
    assertEquals(terminated.code, 75, terminated.stderr);
    assertStringIncludes(terminated.stderr, `error: stopped by ${signal}; run the same command again`);
  }
  const { stderr } = await succeeded(runs.train(run));
  assertStringIncludes(stderr, "resuming after step");
  assertEquals(metricsOf(run), metricsOf(reference));
  assertEquals(tensorHashes(run), tensorHashes(reference));
});

Deno.test("train refuses a run of another configuration or seed, naming the key", async () => {
  const { run } = await undisturbedRun();
  const other = await runs.train(run, { "model.mlpWidth": 128 });
  assertEquals(other.code, 2);
  assertMatch(
    other.stderr,
    /^error: Cannot use config key model\.mlpWidth: .* 64, but this run has 128; .*--fresh\n$/,
  );
  const reseeded = await runs.train(run, {}, "--seed", "5");
  assertEquals(reseeded.code, 2);
  assertStringIncludes(reseeded.stderr, "config key seed");
});

Deno.test("train --max-time without --steps fits the steps to the time, including schedule and validation", async () => {
  const run = join(folder, "fitted");
  const args = runs.arguments(run, { "train.steps": 1_000_000 }, "--max-time", "3s", "--json");
  args.splice(args.indexOf("--steps"), 2);
  const first = await succeeded(runStageProcess(args));
  const { status, step, steps, eval_loss } = JSON.parse(first.stdout);
  assertEquals([status, step], ["done", steps]);
  assert(steps >= 10 && steps < 1_000_000, `${steps} steps`);
  const last = metricsOf(run).at(-1);
  assertEquals(last?.["eval/loss"], eval_loss);
  assertEquals(listCheckpoints(join(run, "checkpoints")).at(-1)?.config.train.steps, steps);
  const again = await succeeded(runStageProcess(args));
  assertEquals(JSON.parse(again.stdout).status, "already done");
});

Deno.test("train stops after consecutive non-finite steps and keeps the last good checkpoint", async () => {
  const run = join(folder, "diverged");
  // Weights grow a thousandfold per step: they are finite after the fifth, and the eighth has no finite loss.
  const settings = {
    "optim.groups.matrices.learningRate": 1000,
    "train.maxSkippedSteps": 5,
    "train.checkpointEverySteps": 5,
  };
  const { code, stderr } = await runs.train(run, settings);
  assertEquals(code, 1, stderr);
  assertMatch(
    stderr,
    /^error: Cannot continue training: .* not finite in \d+ steps in a row, .* checkpoint is .*$/m,
  );
  const metrics = metricsOf(run);
  assertEquals(metrics.at(-1)?.["train/loss"], null);
  const kept = listCheckpoints(join(run, "checkpoints")).at(-1);
  assert(kept && kept.step < metrics.length);
  assertEquals(kept.numSkippedInRow, 0);
});

Deno.test("train stops rather than save unusable weights", async () => {
  const run = join(folder, "overflown");
  const settings = { "optim.groups.matrices.learningRate": 1000, "train.checkpointEverySteps": 1 };
  const { code, stderr } = await runs.train(run, settings);
  assertEquals(code, 1, stderr);
  assertMatch(
    stderr,
    /^error: Cannot continue training: after step \d+ element \d+ of tensor .*q_proj.* lower the .*$/m,
  );
  const kept = listCheckpoints(join(run, "checkpoints")).map(({ step }) => step);
  assertEquals(kept, [4, 5]);
});

Deno.test("train --fresh starts over, and another seed changes the losses", async () => {
  const run = join(folder, "fresh");
  const short = { "train.checkpointEverySteps": 2 };
  const steps = ["--steps", "2"];
  await succeeded(runs.train(run, short, ...steps));
  const before = metricsOf(run);
  await succeeded(runs.train(run, short, ...steps, "--fresh", "--seed", "1"));
  assertEquals(metricsOf(run).length, 2);
  assertNotEquals(metricsOf(run)[0]["train/loss"], before[0]["train/loss"]);
});

Deno.test("train without a WebGPU adapter prints a one-line error and exits with code 1", async () => {
  // Without Vulkan drivers wgpu falls back to OpenGL, if available.
  const noDriver = { VK_DRIVER_FILES: "/nonexistent.json", VK_ICD_FILENAMES: "/nonexistent.json" };
  for (const backends of ["vulkan,gl", "vulkan"]) {
    const env = { ...noDriver, DENO_WEBGPU_BACKEND: backends };
    const { code, stderr } = await runStageProcess(runs.arguments(join(folder, "no-gpu")), { env });
    assertEquals(code, 1, stderr);
    assertMatch(stderr, /^error: Cannot use WebGPU: no adapter was found.*run sh setup\.sh.*\n$/m);
    assert(!stderr.includes("    at "), stderr);
  }
});

Deno.test("train refuses unusable data, folders and options with a one-line error", async () => {
  const occupied = join(folder, "occupied");
  Deno.mkdirSync(occupied);
  Deno.writeTextFileSync(join(occupied, "notes.txt"), "mine");
  const cases: [string[], number, string][] = [
    [runs.arguments(occupied), 1, "it contains other files"],
    [["train", "--data", join(folder, "none"), "--run", join(folder, "x")], 1, "no such file"],
    [["train", "--data", occupied, "--run", join(folder, "x")], 1, "expected probe rows"],
    [["train", "--data", runs.data], 2, "--run DIR is missing"],
    [runs.arguments(join(folder, "x"), {}, "--steps", "3", "--tokens", "5"), 2, "--steps and --tokens"],
    [runs.arguments(join(folder, "x"), { "train.stepz": 1 }), 2, "did you mean steps?"],
    [runs.arguments(join(folder, "x"), {}, "--max-time", "soon"), 2, "expected a duration"],
  ];
  for (const [args, code, message] of cases) {
    await refused(runStageProcess(args), code, message);
  }
});

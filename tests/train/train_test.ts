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
import { writeJsonAtomic } from "../../lib/files/atomic.ts";
import { exists } from "../../lib/files/inputs.ts";
import { RandomStream } from "../../lib/random/philox.ts";
import { ArrayRecordWriter } from "../../lib/records/array_record_writer.ts";
import { encodeProbeRow } from "../../lib/records/probe_row.ts";
import { listCheckpoints } from "../../lib/train/checkpoint.ts";
import { EVENT_FILE } from "../../lib/train/event_log.ts";
import { type MetricsRecord, readMetrics } from "../../lib/train/metrics.ts";
import { outputOf, type ProcessResult, runStageProcess, spawnStage } from "../cli/process.ts";
import { syntheticRows } from "../loader/synthetic_rows.ts";
import { readEventScalars } from "./event_scalars.ts";

const STEPS = 40;
const SETTINGS = {
  "model.numLayers": 2,
  "model.width": 32,
  "model.numHeads": 1,
  "model.headDim": 32,
  "model.mlpWidth": 64,
  "model.sequenceLength": 64,
  "train.batchSize": 4,
  "train.microBatchSize": 2,
  "train.evalEverySteps": 10,
  "train.evalSequences": 4,
  "train.checkpointEverySteps": 7,
  "train.keepCheckpoints": 2,
};

const folder = Deno.makeTempDirSync();
const data = join(folder, "rows");

Deno.test.beforeAll(async () => {
  for (const [split, numRows] of [["train", 60], ["val", 12]] as const) {
    const path = join(data, split, `${split}-00000-of-00001.arrayrecord`);
    const writer = await ArrayRecordWriter.create(path);
    for (const row of syntheticRows(split === "train" ? 1 : 2, numRows, 20)) {
      writer.write(encodeProbeRow(row));
    }
    writer.close();
  }
});

Deno.test.afterAll(() => Deno.removeSync(folder, { recursive: true }));

function argumentsOf(run: string, settings: Record<string, number> = {}, ...more: string[]): string[] {
  const sets = Object.entries({ ...SETTINGS, ...settings }).flatMap((
    [key, value],
  ) => ["--set", `${key}=${value}`]);
  return ["train", "--data", data, "--run", run, "--steps", String(STEPS), ...sets, ...more];
}

async function trainInProcess(run: string, settings = {}, ...more: string[]): Promise<ProcessResult> {
  return await runStageProcess(argumentsOf(run, settings, ...more));
}

/** Starts training and sends a signal once the metrics have a line of a step. */
async function signalAtStep(
  run: string,
  step: number,
  signal: Deno.Signal,
  delayMs = 0,
  ...more: string[]
): Promise<ProcessResult> {
  const metrics = join(run, "metrics.jsonl");
  const hasStep = () => exists(metrics) && readMetrics(metrics).some((record) => record.step >= step);
  const child = spawnStage(argumentsOf(run, { "train.logEverySteps": 1 }, ...more));
  const output = outputOf(child);
  const hasEnded = output.then(() => true);
  while (!hasStep()) {
    if (await Promise.race([hasEnded, new Promise((resolve) => setTimeout(() => resolve(false), 2))])) break;
  }
  await new Promise((resolve) => setTimeout(resolve, delayMs));
  try {
    child.kill(signal);
  } catch { /* it ended before the signal */ }
  return await output;
}

/** The metrics without the one scalar that is a matter of time. */
function metricsOf(run: string): MetricsRecord[] {
  return timeless(readMetrics(join(run, "metrics.jsonl")));
}

/** As {@link metricsOf}, from the event file. */
function eventsOf(run: string): MetricsRecord[] {
  return timeless(readEventScalars(join(run, "tensorboard", EVENT_FILE)));
}

function timeless(records: readonly MetricsRecord[]): MetricsRecord[] {
  return records.map(({ "train/tokens_per_second": _, ...rest }) => rest as MetricsRecord);
}

function finalFiles(run: string): Uint8Array[] {
  const name = `step-${String(STEPS).padStart(8, "0")}`;
  return ["model", "optimizer"].map((file) =>
    Deno.readFileSync(join(run, "checkpoints", name, `${file}.safetensors`))
  );
}

/** A run that nothing disturbed, made once. */
let undisturbed: Promise<{ run: string; result: ProcessResult }> | undefined;

function undisturbedRun(): Promise<{ run: string; result: ProcessResult }> {
  const run = join(folder, "undisturbed");
  undisturbed ??= trainInProcess(run, {}, "--json").then((result) => ({ run, result }));
  return undisturbed;
}

Deno.test("train trains, evaluates, saves and says so", async () => {
  const { run, result } = await undisturbedRun();
  assertEquals(result.code, 0, result.stderr);
  const json = JSON.parse(result.stdout);
  assertEquals([json.stage, json.status, json.step], ["train", "done", STEPS]);
  const metrics = metricsOf(run);
  assertEquals(metrics.map(({ step }) => step), Array.from({ length: STEPS }, (_, i) => i + 1));
  assertEquals(metrics.filter((record) => "eval/loss" in record).map(({ step }) => step), [10, 20, 30, 40]);
  assertLess(json.trainLoss, Math.log(267));
  assertLess(json.evalLoss, metrics[9]["eval/loss"] ?? 0);
  assertEquals(json.evalLoss, metrics[STEPS - 1]["eval/loss"]);
  assertLess(json.padding, 0.3);
  assert(json.tokensPerSecond > 0);
  assertEquals(json.checkpoint, join(run, "checkpoints", "step-00000040"));
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

Deno.test("train has the same losses with other micro-batches of the same batch, up to rounding", async () => {
  const { run: reference } = await undisturbedRun();
  const run = join(folder, "one micro-batch");
  const { code, stderr } = await trainInProcess(run, { "train.microBatchSize": 4 }, "--max-time", "5");
  assertEquals(code, 0, stderr);
  const [expected, actual] = [metricsOf(reference), metricsOf(run)];
  for (const name of ["train/loss", "train/grad_norm", "train/padding"]) {
    for (const i of [0, 1, 2]) {
      const [a, b] = [Number(expected[i][name]), Number(actual[i][name])];
      assertLess(Math.abs(a - b), 1e-4 * Math.abs(a) + 1e-9, `${name} of step ${i + 1}`);
    }
  }
});

Deno.test("train run again after the end says that it is done", async () => {
  const { run } = await undisturbedRun();
  const before = finalFiles(run);
  const { code, stdout } = await trainInProcess(run);
  assertEquals(code, 0);
  assertStringIncludes(stdout, "the run is complete");
  assertEquals(finalFiles(run), before);
});

Deno.test("train killed between its last checkpoint and its manifest finishes the manifest", async () => {
  const { run } = await undisturbedRun();
  const path = join(run, "manifest.json");
  const whole = Deno.readTextFileSync(path);
  writeJsonAtomic(path, { ...JSON.parse(whole), counts: {}, outputs: [], complete: false });
  const { code, stderr } = await trainInProcess(run);
  assertEquals(code, 0, stderr);
  assertEquals(Deno.readTextFileSync(path), whole);
});

Deno.test("train killed at any moment and run again ends as if it had not been", async () => {
  const { run: reference } = await undisturbedRun();
  const run = join(folder, "killed");
  const random = new RandomStream(Date.now(), "test/kill");
  let step = 0;
  let numKilled = 0;
  for (let kill = 0; kill < 3; kill++) {
    step += 1 + random.below(12);
    const { code } = await signalAtStep(run, step, "SIGKILL", random.below(40));
    if (code !== 0) numKilled++;
  }
  assert(numKilled > 0, "every run ended before it was killed");
  const { code, stderr } = await trainInProcess(run);
  assertEquals(code, 0, stderr);
  assertEquals(metricsOf(run), metricsOf(reference), `killed up to step ${step}`);
  assertEquals(eventsOf(run), eventsOf(reference));
  assertEquals(finalFiles(run), finalFiles(reference));
});

Deno.test("train --workers, killed and gone on with another number, ends as without workers", async () => {
  const { run: reference } = await undisturbedRun();
  const run = join(folder, "workers");
  await signalAtStep(run, 3, "SIGKILL", 0, "--workers", "2");
  const interrupted = await signalAtStep(run, 12, "SIGTERM", 0, "--workers", "2");
  assertEquals(interrupted.code, 75, interrupted.stderr);
  const { code, stderr } = await trainInProcess(run, {}, "--workers", "1");
  assertEquals(code, 0, stderr);
  assertEquals(metricsOf(run), metricsOf(reference));
  assertEquals(finalFiles(run), finalFiles(reference));
});

Deno.test("train saves at SIGINT and SIGTERM, exits with 130 and 75, and goes on bit by bit", async () => {
  const { run: reference } = await undisturbedRun();
  const run = join(folder, "interrupted");
  const interrupted = await signalAtStep(run, 5, "SIGINT");
  assertEquals(interrupted.code, 130, interrupted.stderr);
  assertMatch(interrupted.stderr, /^error: stopped by SIGINT; run the same command again to go on$/m);
  const [first] = listCheckpoints(join(run, "checkpoints")).slice(-1);
  assert(first.step >= 5 && first.step < STEPS, `saved step ${first.step}`);
  const terminated = await signalAtStep(run, first.step + 3, "SIGTERM");
  assertEquals(terminated.code, 75, terminated.stderr);
  const { code, stderr } = await trainInProcess(run);
  assertEquals(code, 0, stderr);
  assertStringIncludes(stderr, "resuming after step");
  assertEquals(metricsOf(run), metricsOf(reference));
  assertEquals(finalFiles(run), finalFiles(reference));
});

Deno.test("train refuses a run of another configuration or seed, naming the key", async () => {
  const { run } = await undisturbedRun();
  const other = await trainInProcess(run, { "model.mlpWidth": 128 });
  assertEquals(other.code, 2);
  assertMatch(
    other.stderr,
    /^error: Cannot use config key model\.mlpWidth: .* 64, 128 was wanted .*--fresh\n$/,
  );
  const reseeded = await trainInProcess(run, {}, "--seed", "5");
  assertEquals(reseeded.code, 2);
  assertStringIncludes(reseeded.stderr, "config key seed");
});

Deno.test("train --max-time stops early with everything saved", async () => {
  const run = join(folder, "timed");
  const { code, stdout } = await trainInProcess(run, {}, "--max-time", "0.01", "--json");
  assertEquals(code, 0);
  assertEquals(JSON.parse(stdout).status, "out of time");
  assert(exists(join(run, "checkpoints", "latest")));
});

Deno.test("train stops after steps in a row that are not finite, with the last good checkpoint kept", async () => {
  const run = join(folder, "diverged");
  const settings = {
    "optim.groups.matrices.learningRate": 1e36,
    "train.maxSkippedSteps": 5,
    "train.checkpointEverySteps": 1,
  };
  const { code, stderr } = await trainInProcess(run, settings);
  assertEquals(code, 1, stderr);
  assertMatch(
    stderr,
    /^error: Cannot go on training: .* not finite in \d+ steps in a row, .* checkpoint is .*$/m,
  );
  const metrics = metricsOf(run);
  assertEquals(metrics.at(-1)?.["train/loss"], null);
  const kept = listCheckpoints(join(run, "checkpoints")).at(-1);
  assert(kept && kept.step < metrics.length);
  assertEquals(kept.numSkippedInRow, 0);
});

Deno.test("train --fresh starts over; another seed gives other losses", async () => {
  const run = join(folder, "fresh");
  const short = { "train.checkpointEverySteps": 2 };
  const steps = ["--steps", "2"];
  const args = argumentsOf(run, short).filter((arg, i, all) => arg !== "--steps" && all[i - 1] !== "--steps");
  assertEquals((await runStageProcess([...args, ...steps])).code, 0);
  const before = metricsOf(run);
  assertEquals((await runStageProcess([...args, ...steps, "--fresh", "--seed", "1"])).code, 0);
  assertEquals(metricsOf(run).length, 2);
  assertNotEquals(metricsOf(run)[0]["train/loss"], before[0]["train/loss"]);
});

Deno.test("train without a WebGPU adapter ends with one line and exit code 1", async () => {
  // Without Vulkan drivers wgpu falls back to OpenGL, where there is one; the last name leaves only Vulkan.
  const noDriver = { VK_DRIVER_FILES: "/nonexistent.json", VK_ICD_FILENAMES: "/nonexistent.json" };
  for (const env of [noDriver, { ...noDriver, DENO_WEBGPU_BACKEND: "vulkan" }]) {
    const { code, stderr } = await runStageProcess(argumentsOf(join(folder, "no-gpu")), { env });
    assertEquals(code, 1, stderr);
    assertMatch(stderr, /^error: Cannot use WebGPU: no adapter was found.*run sh setup\.sh.*\n$/m);
    assert(!stderr.includes("    at "), stderr);
  }
});

Deno.test("train refuses data and folders that it cannot use, in one line", async () => {
  const occupied = join(folder, "occupied");
  Deno.mkdirSync(occupied);
  Deno.writeTextFileSync(join(occupied, "notes.txt"), "mine");
  const cases: [string[], number, string][] = [
    [argumentsOf(occupied), 1, "it holds other files"],
    [["train", "--data", join(folder, "none"), "--run", join(folder, "x")], 1, "no such file"],
    [["train", "--data", occupied, "--run", join(folder, "x")], 1, "probe rows was wanted"],
    [["train", "--data", data], 2, "--run DIR is missing"],
    [argumentsOf(join(folder, "x"), {}, "--tokens", "5"), 2, "--steps and --tokens"],
    [argumentsOf(join(folder, "x"), { "train.stepz": 1 }), 2, "did you mean steps?"],
    [argumentsOf(join(folder, "x"), {}, "--max-time", "soon"), 2, "a duration was wanted"],
  ];
  for (const [args, code, message] of cases) {
    const result = await runStageProcess(args);
    assertEquals(result.code, code, result.stderr);
    assertMatch(result.stderr, /^error: [^\n]*\n$/);
    assertStringIncludes(result.stderr, message);
  }
});

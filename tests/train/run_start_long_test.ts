/** Where a run starts, how long it is and how it is stopped, in real processes. */
import {
  assert,
  assertEquals,
  assertLess,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { exists } from "../../lib/io/files/inputs.ts";
import { listCheckpoints, loadCheckpoint } from "../../lib/train/checkpoint.ts";
import { copyFolder, TemporaryFolder } from "../io/files/temporary_folder.ts";
import {
  checkpointOf,
  eventsOf,
  metricsOf,
  tensorHashes,
  TrainingRuns,
  writeTrainingRows,
} from "./training_runs.ts";
import { succeeded } from "../cli/process.ts";

const folder = new TemporaryFolder();
const runs = new TrainingRuns(folder.path);
/** A run that keeps all its checkpoints, at steps 7, 14, 21, 28, 30. */
const reference = folder.at("reference");
const KEEP_ALL = { "train.keepCheckpoints": 10 };
const LENGTH = ["--steps", "30"];
const BRANCH = [...LENGTH, "--resume-from", checkpointOf(reference, 14)];

Deno.test.beforeAll(async () => {
  await writeTrainingRows(runs.data);
  await succeeded(runs.train(reference, KEEP_ALL, ...LENGTH));
});

Deno.test.afterAll(() => folder[Symbol.dispose]());

function afterStep<T extends { step: number }>(records: T[], step: number): T[] {
  return records.filter((record) => record.step > step);
}

Deno.test("train --resume-from continues another run's checkpoint in a new folder, bit for bit", async () => {
  const run = folder.at("branch");
  const { stderr } = await succeeded(runs.train(run, KEEP_ALL, ...BRANCH));
  assertStringIncludes(stderr, "resuming after step 14 of 30 from");
  assertEquals(metricsOf(run), afterStep(metricsOf(reference), 14));
  assertEquals(eventsOf(run).slice(1), afterStep(eventsOf(reference), 14));
  assertEquals(tensorHashes(run, 30), tensorHashes(reference, 30));
});

Deno.test("train --resume-from, killed and repeated, continues from its own checkpoints", async () => {
  const run = folder.at("killed branch");
  const more = [...LENGTH, "--resume-from", checkpointOf(reference, 7)];
  await runs.signalAtStep(run, 16, { signals: ["SIGKILL"], settings: KEEP_ALL, more });
  const { stderr } = await succeeded(runs.train(run, KEEP_ALL, ...more));
  assertMatch(stderr, /resuming after step (14|21|28) of 30\n/);
  assertEquals(metricsOf(run), afterStep(metricsOf(reference), 7));
  assertEquals(tensorHashes(run, 30), tensorHashes(reference, 30));
});

Deno.test("train --resume-from returns to a checkpoint of the same run, also with other learning rates", async () => {
  const run = folder.at("back");
  copyFolder(reference, run);
  const more = [...LENGTH, "--resume-from", checkpointOf(run, 14)];
  const back = await succeeded(runs.train(run, { ...KEEP_ALL, "optim.finalRatio": 0.5 }, ...more));
  assertStringIncludes(back.stderr, "optim.finalRatio changes from 0 to 0.5\n");
  assertEquals(metricsOf(run).map(({ step }) => step), Array.from({ length: 30 }, (_, i) => i + 1));
  assertEquals(metricsOf(run).slice(0, 14), metricsOf(reference).slice(0, 14));
  assertNotEquals(metricsOf(run)[29]["train/lr"], metricsOf(reference)[29]["train/lr"]);
  const repeated = await runs.train(run, { ...KEEP_ALL, "optim.finalRatio": 0.5 }, ...more);
  assertStringIncludes(repeated.stdout, "the run is complete");
});

Deno.test("train skips a damaged checkpoint with a one-line note, and ends as if it were intact", async () => {
  const run = folder.at("branch");
  const path = join(checkpointOf(run, 30), "optimizer.safetensors");
  const bytes = Deno.readFileSync(path);
  bytes[bytes.length >> 1] ^= 1;
  Deno.writeFileSync(path, bytes);
  const { stderr } = await succeeded(runs.train(run, KEEP_ALL, ...BRANCH));
  assertMatch(
    stderr,
    /^[^\n]*step-00000030\/optimizer.safetensors[^\n]*checksum[^\n]*using [^\n]*step-00000028 instead$/m,
  );
  assertEquals(metricsOf(run), afterStep(metricsOf(reference), 14));
  assertEquals(tensorHashes(run, 30), tensorHashes(reference, 30));
});

Deno.test("train --init-from starts a new run with only the weights", async () => {
  const run = folder.at("init");
  const more = [...LENGTH, "--init-from", reference];
  const { stderr } = await succeeded(runs.train(run, KEEP_ALL, ...more));
  assertStringIncludes(
    stderr,
    `starting with the weights of ${checkpointOf(reference, 30)}; everything else is new\n`,
  );
  const [first] = metricsOf(run);
  assertEquals([first.step, first["train/lr"]], [1, metricsOf(reference)[0]["train/lr"]]);
  assertLess(first["train/loss"] ?? Infinity, 0.8 * (metricsOf(reference)[0]["train/loss"] ?? 0));
  const repeated = await runs.train(run, KEEP_ALL, ...more);
  assertStringIncludes(repeated.stdout, "the run is complete");
});

Deno.test("train refuses unsuitable --resume-from and --init-from with a one-line error", async () => {
  const step14 = checkpointOf(reference, 14);
  const fresh = folder.at("never made");
  const narrow = { "model.mlpWidth": 128 };
  const cases: [string, Record<string, number>, string[], RegExp][] = [
    [fresh, {}, ["--resume-from", folder.at("nowhere")], /Cannot read a checkpoint from .*no such file/],
    [fresh, {}, ["--resume-from", step14, "--init-from", step14], /--resume-from and --init-from together/],
    [
      fresh,
      {},
      ["--resume-from", step14, "--seed", "3"],
      /config key seed: .* made with 0, but this run has 3.*--init-from/,
    ],
    [
      fresh,
      narrow,
      ["--resume-from", step14],
      /config key model\.mlpWidth: .* made with 64, but this run has 128/,
    ],
    [
      fresh,
      {},
      ["--resume-from", step14, "--steps", "14"],
      /it is after step 14, but the run has only 14 steps/,
    ],
    [folder.at("init"), {}, ["--resume-from", step14], /it has checkpoints of its own.*--fresh/],
    [reference, {}, ["--resume-from", step14, "--fresh"], /which --fresh deletes/],
    [reference, {}, ["--init-from", reference, "--fresh"], /which --fresh deletes/],
    [
      fresh,
      narrow,
      ["--init-from", reference],
      /blocks\.0\.mlp\.up_proj\.weight is \[64, 32\] there, expected \[128, 32\]/,
    ],
    [
      fresh,
      { "model.numLayers": 3 },
      ["--init-from", reference],
      /blocks\.2\.attn\.q_proj\.weight is missing there, expected \[32, 32\]/,
    ],
  ];
  for (const [run, settings, more, message] of cases) {
    const length = more.includes("--steps") ? [] : LENGTH;
    const { code, stderr } = await runs.train(run, settings, ...length, ...more);
    assertNotEquals(code, 0);
    assertMatch(stderr, new RegExp(`^error: [^\\n]*${message.source}[^\\n]*\\n$`));
  }
  assertEquals(listCheckpoints(join(reference, "checkpoints")).at(-1)?.step, 30);
});

Deno.test("train --tokens runs enough steps for that many tokens", async () => {
  const run = folder.at("tokens");
  const { stdout } = await succeeded(runs.train(run, {}, "--tokens", String(2 * 4 * 64 + 1), "--json"));
  assertEquals([JSON.parse(stdout).step, metricsOf(run).length], [3, 3]);
  assertEquals(loadCheckpoint(run).config.train.steps, 3);
});

Deno.test("train --max-time, repeated until done, matches the losses of one run", async () => {
  const run = folder.at("in turns");
  for (const maxTime of ["0.01", "0.5", "0.6"]) {
    const { stdout } = await succeeded(runs.train(run, KEEP_ALL, ...LENGTH, "--max-time", maxTime, "--json"));
    if (maxTime === "0.01") assertEquals(JSON.parse(stdout).status, "out of time");
    assert(exists(join(run, "checkpoints", "latest")));
  }
  await succeeded(runs.train(run, KEEP_ALL, ...LENGTH));
  assertEquals(metricsOf(run), metricsOf(reference));
  assertEquals(tensorHashes(run, 30), tensorHashes(reference, 30));
});

Deno.test("train ends immediately at the second signal, without saving", async () => {
  const run = folder.at("impatient");
  // Enough micro-batches that a step outlasts both signals, of two kinds, as two of one kind can merge.
  const settings = { "train.batchSize": 400, "train.checkpointEverySteps": 100 };
  const options = { signals: ["SIGTERM", "SIGINT"] as Deno.Signal[], settings, more: LENGTH };
  const { code } = await runs.signalAtStep(run, 1, options);
  assert(code === 130 || code === 75, `it ended with ${code}, after whichever signal came last`);
  assert(!exists(join(run, "checkpoints")), "it waited for the step and saved");
});

/** Runs that learn from a teacher, in real processes: killed, resumed, refused. */
import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { createHash } from "node:crypto";
import { listCheckpoints } from "../../lib/train/checkpoint.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import {
  checkpointOf,
  metricsOf,
  STEPS,
  tensorHashes,
  TrainingRuns,
  writeTrainingRows,
} from "./training_runs.ts";
import { succeeded } from "../cli/process.ts";
import type { Settings } from "./small_run.ts";

const folder = new TemporaryFolder();
const runs = new TrainingRuns(folder.path);
const teacher = folder.at("teacher");
const student = folder.at("student");
/** Another width and longer sequences than the students'. */
const OF_TEACHER: Settings = { "model.width": 48, "model.numLayers": 1, "model.sequenceLength": 96 };

Deno.test.beforeAll(async () => {
  await writeTrainingRows(runs.data);
  await succeeded(runs.train(teacher, OF_TEACHER));
});

Deno.test.afterAll(() => folder[Symbol.dispose]());

Deno.test("train --teacher learns from the teacher, and reports and records it", async () => {
  const { stderr } = await succeeded(runs.train(student, {}, "--teacher", teacher));
  assertMatch(stderr, /^also learning RTTs from .*teacher.checkpoints.step-00000040$/m);
  assertMatch(stderr, /^memory: .*, teacher \d+\.\d+ GiB$/m);
  const alone = folder.at("alone");
  await succeeded(runs.train(alone));
  assertEquals(
    metricsOf(student)[0]["train/loss"],
    metricsOf(alone)[0]["train/loss"],
    "the loss is that of the data",
  );
  assertNotEquals(metricsOf(student)[1]["train/loss"], metricsOf(alone)[1]["train/loss"]);
  const weights = Deno.readFileSync(join(checkpointOf(teacher, STEPS), "model.safetensors"));
  const sha256 = createHash("sha256").update(weights).digest("hex");
  assertEquals(listCheckpoints(join(student, "checkpoints")).map((state) => state.teacher), [sha256, sha256]);
  const manifest = JSON.parse(Deno.readTextFileSync(join(student, "manifest.json")));
  assertEquals(manifest.options.teacher, sha256);
  assert(
    manifest.inputs.some(({ path }: { path: string }) => path.startsWith(teacher)),
    "the teacher is an input",
  );
});

Deno.test("train --teacher, killed and resumed, ends as if uninterrupted", async () => {
  const run = folder.at("killed");
  const more = ["--teacher", teacher];
  await runs.signalAtStep(run, 9, { signals: ["SIGKILL"], more });
  const interrupted = await runs.signalAtStep(run, 20, { signals: ["SIGTERM"], more });
  assertEquals(interrupted.code, 75, interrupted.stderr);
  // A copy of the teacher counts as the same teacher.
  const { stderr } = await succeeded(
    runs.train(run, {}, "--teacher", checkpointOf(teacher, STEPS), "--profile"),
  );
  assertStringIncludes(stderr, "teacher's qkv_proj");
  assertEquals(metricsOf(run), metricsOf(student));
  assertEquals(tensorHashes(run), tensorHashes(student));
});

Deno.test("train refuses to resume with another teacher or none, except with --resume-from", async () => {
  const refused = async (...more: string[]) => {
    const { code, stderr } = await runs.train(student, {}, ...more);
    assertEquals(code, 2, stderr);
    assertMatch(
      stderr,
      /^error: Cannot use config key teacher: .* was made with .*, but this run has .*; .*\n$/m,
    );
    return stderr;
  };
  assertStringIncludes(await refused(), "but this run has none");
  await refused("--teacher", checkpointOf(teacher, 35));
  const run = folder.at("without from here");
  const { stderr } = await succeeded(runs.train(run, {}, "--resume-from", checkpointOf(student, 35)));
  assertMatch(stderr, /^teacher changes from [0-9a-f]{64} to none$/m);
});

Deno.test("train refuses an unsuitable teacher with a one-line error", async () => {
  const old = folder.at("v1");
  const V1 = ["--config", "v1-100m"];
  await succeeded(runs.train(old, {}, ...V1, "--steps", "1"));
  const of = ["--teacher", teacher];
  const cases: [Settings, string[], number, RegExp][] = [
    [
      { "model.sequenceLength": 128 },
      of,
      1,
      /^error: Cannot learn from the teacher .*: it reads sequences of 96 tokens, expected at least the student's 128; set model.sequenceLength to 96 or less/,
    ],
    [{}, ["--teacher", old], 1, /: its vocabulary is v1, expected v2; choose another --teacher$/],
    [
      {},
      [...V1, ...of],
      2,
      /config key model.vocabulary: found v1, expected v2 to learn from a teacher; leave/,
    ],
    [
      {},
      ["--teacher", folder.at("nowhere")],
      1,
      /^error: Cannot read a checkpoint from .*nowhere: no such file/,
    ],
    [{ "train.teacherWeight": 1.5 }, of, 2, /train.teacherWeight/],
  ];
  for (const [settings, more, code, message] of cases) {
    const result = await runs.train(folder.at("refused"), settings, ...more);
    const lines = result.stderr.split("\n").filter((line) => line.startsWith("error: "));
    assertEquals([result.code, lines.length], [code, 1], result.stderr);
    assertMatch(lines[0], message);
  }
  const within = await runs.train(teacher, OF_TEACHER, "--teacher", teacher, "--fresh");
  assertMatch(within.stderr, /^error: Cannot start over from .*, which --fresh deletes; .*\n$/);
});

/** `status` as users run it, on what real stages left, and during work. @module */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { LOCK, OutputLock } from "../../lib/io/files/output_lock.ts";
import { describeStatus, statusOf } from "../../lib/cli/inspect/status.ts";
import { readLastMetrics, readMetrics } from "../../lib/train/metrics.ts";
import { isSameState, stateOf, TemporaryFolder } from "../io/files/temporary_folder.ts";
import { sampleBatch, writeRowGroups } from "../data/probe_rows/sample_parquet.ts";
import { checkpointOf, STEPS, TrainingRuns, writeTrainingRows } from "../train/training_runs.ts";
import { statusStage } from "../../tasks/status.ts";
import { runStageProcess, succeeded } from "./process.ts";
import { commandOf, loadStage } from "./stage_in_process.ts";

/** Runs the stage, which must leave everything unchanged. */
async function status(root: string, ...paths: string[]): Promise<{ code: number; text: string; json: Json }> {
  const before = stateOf(root);
  const { text, json, exitCode = 0 } = await statusStage.run(paths);
  assert(isSameState(stateOf(root), before), "status changed something");
  const { reports: [first], ...rest } = json as { reports: Json[]; exit_code: number };
  assertEquals(rest.exit_code, exitCode);
  return { code: exitCode, text, json: first };
}

type Json = Record<string, unknown>;

/** Moves the signs of work into the past. */
function age(minutes: number, ...paths: string[]): void {
  const time = new Date(Date.now() - minutes * 60_000);
  for (const path of paths) Deno.utimeSync(path, time, time);
}

async function run(...args: string[]): Promise<void> {
  const { command, rest } = commandOf(args);
  await (await loadStage(command)).run([...rest, "--quiet"]);
}

Deno.test("status lists missing and stopped tasks until all are done", async () => {
  using folder = new TemporaryFolder();
  writeRowGroups(folder.at("in.parquet"), sampleBatch({ numRows: 2000 }), 100);
  const shards = folder.at("out/shards");
  const shard = ["shard", "--input", folder.at("in.parquet"), "--output", shards, "--train-shards", "2"];
  for (const index of [1, 2, 4]) await run(...shard, "--task", `${index}/6`);
  const partly = await status(folder.path, shards);
  assertEquals(partly.code, 3, partly.text);
  assertMatch(partly.text, /^ {2}tasks +3 of 6 tasks done$/m);
  assertMatch(partly.text, /^ {2}missing +3,5-6$/m);
  const { state, done, missing } = partly.json;
  assertEquals([state, done, missing], ["stopped", "1-2,4", "3,5-6"]);

  // A task that was killed: its lock file exists, and nothing grows.
  const work = join(shards, ".work-00005-of-00006");
  Deno.mkdirSync(work);
  const manifest = JSON.parse(Deno.readTextFileSync(join(shards, "manifest-00004-of-00006.json")));
  const begun = { ...manifest, outputs: [], complete: false };
  Deno.writeTextFileSync(join(work, "manifest.json"), JSON.stringify(begun));
  Deno.writeTextFileSync(join(work, LOCK), "shard, process 71, since 2025-11-01T12:00:00.000Z\n");
  const working = await status(folder.path, shards);
  assertEquals([working.code, working.json.state], [3, "working"]);
  assertEquals([working.json.working, working.json.missing], ["5", "3,6"]);
  age(2, join(work, "manifest.json"), join(work, LOCK));
  const killed = await status(folder.path, shards);
  assertEquals([killed.code, killed.json.state], [3, "stopped"]);
  assertEquals([killed.json.stopped, killed.json.missing], ["5", "3,5-6"]);
  assertStringIncludes(killed.text, "task 5: no sign of life for 2 min 0");
  assertStringIncludes(killed.text, "shard, process 71, since");

  for (const index of [3, 5, 6]) await run(...shard, "--task", `${index}/6`);
  const whole = await status(folder.path, folder.at("out"));
  assertEquals(whole.code, 0, whole.text);
  assertEquals([whole.json.path, whole.json.state, whole.json.missing], [shards, "done", ""]);
  const { train, val, test } = whole.json.rows as Record<string, number>;
  assertEquals(train + val + test, 2000);

  const shown = join(shards, "train/shard-00001-part-00004-of-00006.parquet");
  Deno.truncateSync(shown, 100);
  const changed = await status(folder.path, shards);
  assertEquals([changed.code, changed.json.state, changed.json.missing], [1, "broken", "4"]);
  assertMatch(
    changed.text,
    /task 4: train\/shard-00001-part-00004-of-00006.parquet has 100 bytes, expected \d+/,
  );
});

Deno.test("status reports complete, unfinished, missing and damaged outputs", async () => {
  using folder = new TemporaryFolder();
  const file = folder.at("data/synth.parquet");
  await run("synth", "--rows", "500", "--output", file);
  const rows = folder.at("data/rows");
  await run("probe-rows", "--input", file, "--output", rows, "--shards", "2");
  const all = await status(folder.path, folder.at("data"));
  assertEquals(all.code, 0, all.text);
  assertMatch(
    all.text,
    /^probe-rows: .*\/rows\n {2}state +done\n[^]*^synth: .*\/synth\.parquet\n {2}state +done$/m,
  );
  Deno.symlinkSync(file, folder.at("link.parquet"));
  for (
    const path of [file, `${file}.manifest.json`, folder.at("link.parquet"), join(rows, "manifest.json")]
  ) {
    assertEquals((await status(folder.path, path)).json.state, "done", path);
  }

  Deno.removeSync(folder.at("data/synth.truth.json"));
  const lost = await status(folder.path, file);
  assertEquals(lost.code, 1);
  assertStringIncludes(lost.text, "broken: synth.truth.json is missing");

  Deno.mkdirSync(folder.at("data/.next.parquet.work"));
  const manifest = JSON.parse(Deno.readTextFileSync(`${file}.manifest.json`));
  const begun = { ...manifest, outputs: [], complete: false };
  Deno.writeTextFileSync(folder.at("data/.next.parquet.work/manifest.json"), JSON.stringify(begun));
  const unfinished = await status(folder.path, folder.at("data/next.parquet"));
  assertEquals([unfinished.code, unfinished.json.state], [3, "stopped"]);
  assertStringIncludes(unfinished.text, "no process works on it; run the same command again");

  Deno.writeTextFileSync(join(rows, "manifest.json"), '{"stage": "probe-rows", "ver');
  const damaged = await status(folder.path, rows);
  assertEquals(damaged.code, 1);
  assertMatch(damaged.text, /state +broken: Cannot read .*rows\/manifest\.json: it is not a manifest/);
});

Deno.test("status reports killed, finished and damaged training runs", async () => {
  using folder = new TemporaryFolder();
  await writeTrainingRows(folder.at("rows"));
  const runs = new TrainingRuns(folder.path);
  const path = folder.at("runs/first");
  await runs.signalAtStep(path, 9, { signals: ["SIGKILL"] });
  const metrics = join(path, "metrics.jsonl");
  const at = readMetrics(metrics).at(-1)?.step ?? 0;
  assert(at >= 9 && at < STEPS, `killed after step ${at}`);
  const fresh = await status(folder.path, path);
  assertEquals([fresh.code, fresh.json.state], [3, "working"]);
  assertMatch(fresh.text, /working: metrics\.jsonl grew [\d.]+ s ago \(train, process \d+, since .*\)$/m);

  const state = join(checkpointOf(path, 7), "state.json");
  age(3, metrics, state, join(path, ".work", LOCK));
  const killed = await status(folder.path, folder.at("runs"));
  assertEquals([killed.code, killed.json.state], [3, "stopped"], killed.text);
  assertMatch(killed.text, /stopped: no sign of life for 3 min \d\d s: train, process \d+, since/);
  assertMatch(killed.text, new RegExp(`^ {2}steps +${at} of ${STEPS} steps \\(`, "m"));
  assertMatch(killed.text, /^ {2}last checkpoint +step 7, 3 min \d\d s ago$/m);
  assertMatch(killed.text, /^ {2}speed +[\d.]+( k)? tokens\/s$/m);
  assertMatch(killed.text, /^ {2}time left +\d.* s at that speed$/m);
  assertMatch(killed.text, /^ {2}training loss +[\d.]+ bits per token$/m);

  const text = Deno.readTextFileSync(state);
  Deno.writeTextFileSync(state, text.slice(0, 200));
  const damaged = await status(folder.path, path);
  assertEquals([damaged.code, damaged.json.state], [1, "broken"]);
  assertMatch(damaged.text, /state +broken: Cannot read .*state\.json: it is not a checkpoint state/);
  Deno.writeTextFileSync(state, text);

  await succeeded(runs.train(path, { "train.logEverySteps": 1 }));
  const done = await status(folder.path, path);
  assertEquals([done.code, done.json.state, done.json.steps], [0, "done", STEPS]);
  assert(typeof done.json.eval_loss === "number");
  assertEquals(done.json.seconds_left, null);
  Deno.removeSync(join(checkpointOf(path, STEPS), "optimizer.safetensors"));
  const lost = await status(folder.path, path);
  assertEquals(lost.code, 1);
  assertMatch(lost.text, /broken: .*optimizer\.safetensors is missing/);
});

Deno.test("status distinguishes a run stopped by a signal from a working one, and reports an unknown version", async () => {
  using folder = new TemporaryFolder();
  await writeTrainingRows(folder.at("rows"));
  const runs = new TrainingRuns(folder.path);
  const path = folder.at("run");
  assertEquals((await runs.signalAtStep(path, 3, { signals: ["SIGTERM"] })).code, 75);
  const stopped = await status(folder.path, path);
  assertEquals([stopped.code, stopped.json.state], [3, "stopped"]);
  assertStringIncludes(
    stopped.text,
    "stopped: no process works on it; run the same command again to continue",
  );
  {
    using _lock = OutputLock.acquire(join(path, ".work"), { output: path, stage: "train" });
    const working = await status(folder.path, path);
    assertEquals([working.code, working.json.state], [3, "working"]);
    assertMatch(working.text, /working: its process was alive [\d.]+ s ago \(train, process \d+, since/);
  }
  const manifestPath = join(path, "manifest.json");
  const manifest = JSON.parse(Deno.readTextFileSync(manifestPath));
  manifest.options.config.model.depth = 3;
  Deno.writeTextFileSync(manifestPath, JSON.stringify(manifest));
  const other = await status(folder.path, path);
  assertEquals([other.code, other.json.state, other.json.kind], [1, "broken", "run"]);
  assertMatch(other.text, /broken: .*model\.depth.*; use the version of the program that wrote it$/m);
});

Deno.test("status finds the outputs of demo, and distinguishes a working demo from a killed one", async () => {
  using folder = new TemporaryFolder();
  const demo = folder.at("runs/demo");
  await run("synth", "--rows", "500", "--output", folder.at("in.parquet"));
  await run("shard", "--input", folder.at("in.parquet"), "--output", join(demo, "shards"));
  const states = () => statusOf([folder.at("runs")]).map(({ path, state }) => [path, state]);
  assertEquals(states(), [[join(demo, "shards"), "done"]]);
  const work = join(demo, ".work");
  const intervals = takeIntervals();
  {
    using _lock = OutputLock.acquire(work, { output: demo, stage: "demo" });
    intervals.restore();
    age(10, join(work, LOCK));
    for (const call of intervals.calls) call();
    assertEquals(states(), [[demo, "working"], [join(demo, "shards"), "done"]]);
    const text = describeStatus(statusOf([demo]));
    assertMatch(text, /working: its process was alive [\d.]+ s ago \(demo, process \d+, since /);
  }
  // The lock file of a killed process stays.
  Deno.mkdirSync(work);
  Deno.writeTextFileSync(join(work, LOCK), "demo, process 71, since 2025-06-15T12:00:00.000Z\n");
  age(10, join(work, LOCK));
  assertEquals(states()[0], [demo, "stopped"]);
});

/** Captures interval callbacks until `restore` is called. */
function takeIntervals(): { calls: (() => void)[]; restore: () => void } {
  const { setInterval } = globalThis;
  const calls: (() => void)[] = [];
  Object.assign(globalThis, {
    setInterval: (call: () => void, everyMs: number) => {
      calls.push(call);
      return setInterval(call, everyMs);
    },
  });
  return { calls, restore: () => void Object.assign(globalThis, { setInterval }) };
}

Deno.test("status rejects a path that is not a stage's output with a one-line error", async () => {
  using folder = new TemporaryFolder();
  Deno.mkdirSync(folder.at("site"));
  Deno.writeTextFileSync(folder.at("site/manifest.json"), '{"name": "a web page"}');
  Deno.writeTextFileSync(folder.at("a.parquet"), "text");
  for (const name of ["site", "a.parquet", "nothing", "."]) {
    const { code, stdout, stderr } = await runStageProcess(["status", folder.at(name)]);
    assertMatch(stderr, /^error: Cannot show the status of [^\n]+; check the path\n$/);
    assertEquals([code, stdout], [1, ""]);
  }
});

Deno.test("status prints one line per output, the worst first, and counts the rest", async () => {
  using folder = new TemporaryFolder();
  const file = folder.at("000.parquet");
  await run("synth", "--rows", "100", "--output", file);
  const manifest = Deno.readTextFileSync(`${file}.manifest.json`);
  const truth = Deno.readTextFileSync(folder.at("000.truth.json"));
  for (let i = 1; i < 50; i++) {
    const name = String(i).padStart(3, "0");
    Deno.copyFileSync(file, folder.at(`${name}.parquet`));
    Deno.writeTextFileSync(folder.at(`${name}.truth.json`), truth);
    Deno.writeTextFileSync(
      folder.at(`${name}.parquet.manifest.json`),
      manifest.replaceAll("000.", `${name}.`),
    );
  }
  Deno.removeSync(folder.at("033.parquet"));
  const lines = describeStatus(statusOf([folder.path])).split("\n");
  assertEquals(lines.length, 42);
  assertMatch(lines[1], /033\.parquet +synth +broken +2 files$/);
  assertEquals(lines[41], "and 10 more (all with --json)");
});

Deno.test("readLastMetrics() reads only the end of a long metrics file", () => {
  using folder = new TemporaryFolder();
  const path = folder.at("metrics.jsonl");
  const lines = Array.from({ length: 5000 }, (_, i) => `{"step":${i + 1},"train/loss":${1 / (i + 1)}}\n`);
  Deno.writeTextFileSync(path, `no record\n${lines.join("")}{"step":50`);
  const records = readLastMetrics(path);
  assertEquals(records.at(-1), { step: 5000, "train/loss": 1 / 5000 });
  assert(records.length > 1000 && records.length < 5000, `${records.length} records`);
  assertEquals<unknown>(records, lines.slice(-records.length).map((line) => JSON.parse(line)));
});

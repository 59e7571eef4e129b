/** Files that commands must never delete or replace, whatever the flags. All cases share one folder. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runStageProcess, succeed, succeeded } from "../cli/process.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { ping } from "../data/formats/ping_result.ts";
import { folderHashes } from "../data/probe_rows/stage_fixtures.ts";
import { sampleBatch, writeParquet } from "../data/probe_rows/sample_parquet.ts";
import { TrainingRuns, writeTrainingRows } from "../train/training_runs.ts";
import { fromFileUrl } from "@std/path";

const folder = new TemporaryFolder();
const at = (name: string) => folder.at(name);
const runs = new TrainingRuns(folder.path);
const input = ["--input", at("in.parquet")];
const SHARDS = ["--split-by", "row", "--train-shards", "2", "--val-shards", "1", "--test-shards", "1"];

Deno.test.beforeAll(async () => {
  writeParquet(at("in.parquet"), sampleBatch({ numRows: 400 }));
  Deno.writeTextFileSync(at("results.json"), JSON.stringify([ping()]));
  Deno.writeTextFileSync(at("queries.csv"), "src,dst\n192.0.2.1,192.0.2.2\n");
  Deno.mkdirSync(at("raw"));
  Deno.writeTextFileSync(at("raw/results.json"), JSON.stringify([ping()]));
  await writeTrainingRows(at("rows"));
  await succeed("shard", ...input, "--output", at("shards"), ...SHARDS);
  await succeed("pretokenize", "--input", at("rows"), "--output", at("tokens"));
  await succeeded(runs.train(at("run"), {}, "--steps", "8"));
  for (const place of ["shards", "shards/train", "run", "tokens"]) {
    Deno.writeTextFileSync(at(`${place}/notes.txt`), "mine");
  }
  Deno.writeTextFileSync(at("run/thesis.001.tmp"), "mine");
});
Deno.test.afterAll(() => folder[Symbol.dispose]());

/** Runs a command that must end with one line and leave every file as it was. */
async function refused(args: string[], code: number, message: string): Promise<void> {
  const before = folderHashes(folder.path);
  const ended = await runStageProcess(args);
  const what = args.join(" ");
  assertMatch(ended.stderr, /(^|\n)error: [^\n]+\n$/, what);
  assertStringIncludes(ended.stderr, message, what);
  assertEquals(ended.code, code, `${what}: ${ended.stderr}`);
  assertEquals(folderHashes(folder.path), before, what);
}

Deno.test("no stage replaces or deletes its own input, with or without --overwrite", async () => {
  const checkpoint = ["--checkpoint", at("run")];
  const evaluation = ["eval", ...checkpoint, "--data", at("rows"), "--history", "all"];
  const query = ["query", "rtt", ...checkpoint, "--queries", at("queries.csv")];
  const question = ["--src", "192.0.2.1", "--dst", "192.0.2.2"];
  const commands = [
    [...evaluation, "--output", at("run")],
    [...evaluation, "--output", at("rows")],
    ["shard", "--input", at("shards/train"), "--output", at("shards")],
    ["shard", "--input", at("shards"), "--output", at("shards/new")],
    ["probe-rows", "--input", at("shards"), "--output", at("shards")],
    ["pretokenize", "--input", at("rows"), "--output", at("rows")],
    ["pretokenize", "--input", at("rows"), "--output", at("rows/train/tokens")],
    ["demo", "--input", at("raw/results.json"), "--output", at("raw")],
    ["import", "--input", at("results.json"), "--output", at("results.json")],
    ["import", "--input", at("raw"), "--output", at("raw/out.parquet")],
    ["score", ...checkpoint, ...input, "--output", at("in.parquet")],
  ];
  for (const command of commands) {
    for (const overwrite of [[], ["--overwrite"]]) {
      await refused([...command, ...overwrite], 2, "Cannot write to");
    }
  }
  await refused([...query, "--output", at("queries.csv")], 2, "it is also an input");
  await refused(
    ["query", "rtt", ...checkpoint, ...question, "--plot", at("run/checkpoints/step-00000008/state.json")],
    2,
    "is inside the input",
  );
});

Deno.test("--overwrite replaces only the output of the same stage", async () => {
  const toRun = ["--output", at("run"), "--overwrite"];
  await refused(["shard", ...input, ...toRun], 1, "train wrote to it");
  await refused(["probe-rows", ...input, "--output", at("shards"), "--overwrite"], 1, "shard wrote to it");
  await refused(
    ["synth", "--output", at("in.parquet"), "--overwrite"],
    1,
    "no manifest says which stage wrote it",
  );
  await refused(["demo", "--output", at("raw"), "--overwrite"], 1, "it contains other files");
  // An error leaves the file to be replaced as it was.
  writeParquet(at("bad.parquet"), sampleBatch({ numRows: 100, numBad: 50 }));
  const bad = ["shard", "--input", at("bad.parquet"), "--output", at("shards"), "--overwrite"];
  const before = folderHashes(at("shards"));
  assertEquals((await runStageProcess(bad)).code, 1);
  const { ".work/next/rejects.jsonl": _, ".work/manifest.json": _work, ...after } = folderHashes(
    at("shards"),
  );
  assertEquals(after, before);
  // The existing result is still the result of its own command.
  await succeed("shard", ...input, "--output", at("shards"), ...SHARDS);
  await succeed("shard", ...input, "--output", at("shards"), ...SHARDS, "--seed", "1", "--overwrite");
  const replaced = folderHashes(at("shards"));
  assertEquals(Object.keys(replaced), Object.keys(before));
  for (const name of ["notes.txt", "train/notes.txt"]) assertEquals(replaced[name], before[name]);
  assert(replaced["manifest.json"] !== before["manifest.json"]);
});

Deno.test("train --fresh keeps the old run until the new one can start, and never deletes a user's files", async () => {
  const fresh = (settings: Record<string, number>, ...more: string[]) =>
    runs.arguments(at("run"), settings, "--steps", "8", "--fresh", ...more);
  const elsewhere = new TrainingRuns(at("nowhere"));
  await refused(elsewhere.arguments(at("run"), {}, "--fresh"), 1, "no such file");
  await refused(fresh({}, "--init-from", at("no-run")), 1, "no such file");
  await refused(
    fresh({ "model.width": 1 << 14, "model.headDim": 128, "model.numHeads": 128 }),
    2,
    "config key model",
  );
  const before = folderHashes(at("run"));
  await succeed(...fresh({}, "--seed", "7"));
  const after = folderHashes(at("run"));
  assertEquals(Object.keys(after), Object.keys(before));
  assertEquals(after["thesis.001.tmp"], before["thesis.001.tmp"]);
  assert(after["manifest.json"] !== before["manifest.json"]);
});

Deno.test("another project imports the library as README.md describes", async () => {
  const root = fromFileUrl(new URL("../../", import.meta.url));
  const readme = Deno.readTextFileSync(`${root}/README.md`);
  const section = /^## As a library$([^]*?)^## /m.exec(readme)?.[1] ?? "";
  const config = /```json\n([^]*?)```/.exec(section)?.[1] ?? "";
  using folder = new TemporaryFolder();
  Deno.writeTextFileSync(folder.at("deno.json"), config.replace("../ping-llm", root));
  const program = `import { loadModel, PairWatch } from "@ping-llm/ping-llm";
    console.log(typeof loadModel, new PairWatch().numPairs);`;
  Deno.writeTextFileSync(folder.at("program.ts"), program);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--check", "--no-prompt", "--allow-read", "program.ts"],
    cwd: folder.path,
    env: { NO_COLOR: "1" },
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  assertEquals(new TextDecoder().decode(stdout), "function 0\n");
});

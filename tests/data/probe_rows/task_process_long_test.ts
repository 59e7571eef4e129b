/**
 * `--task I/N` as a cluster runs it: processes at the same time in one folder, kill -9 of some of them.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { exists } from "../../../lib/io/files/inputs.ts";
import { refused, runStageProcess, spawnStage, succeeded } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { folderHashes } from "./folder_hashes.ts";
import { sampleBatch, writeRowGroups } from "./sample_parquet.ts";

async function run(args: readonly string[]): Promise<void> {
  await succeeded(runStageProcess([...args, "--json"]));
}

/** Runs all tasks at the same time and kills one of them at each moment. */
async function runTasks(
  args: readonly string[],
  { count, killed, moments }: { count: number; killed: number; moments: readonly (() => boolean)[] },
): Promise<void> {
  const others = Array.from({ length: count }, (_, i) => i + 1).filter((index) => index !== killed)
    .map((index) => run([...args, "--task", `${index}/${count}`]));
  for (const [i, isReached] of moments.entries()) {
    const child = spawnStage([...args, "--task", `${killed}/${count}`]);
    let isOver = false;
    const status = child.status.then(() => isOver = true);
    while (!isOver && !isReached()) await new Promise((resolve) => setTimeout(resolve, 0));
    assert(!isOver, `the task ended before moment ${i}`);
    child.kill("SIGKILL");
    await status;
    await Promise.all([child.stdout.cancel(), child.stderr.cancel()]);
  }
  await Promise.all([...others, run([...args, "--task", `${killed}/${count}`])]);
}

Deno.test("shard and probe-rows in tasks at the same time, one killed again and again, make the files of one run", async () => {
  using folder = new TemporaryFolder();
  writeRowGroups(folder.at("in.parquet"), sampleBatch({ numRows: 30_000, numProbes: 300, numBad: 50 }), 1000);
  const shard = ["shard", "--input", folder.at("in.parquet"), "--train-shards", "16", "--val-shards", "2"];
  const rows = ["probe-rows", "--shards", "16", "--max-row-size-mb", "0.02"];
  await run([...shard, "--output", folder.at("shards-1")]);
  await run([...rows, "--input", folder.at("shards-1"), "--output", folder.at("rows-1")]);

  const shards = folder.at("shards");
  await runTasks([...shard, "--output", shards], {
    count: 3,
    killed: 2,
    moments: [
      () => exists(`${shards}/.work-00002-of-00003/manifest.json`),
      () => exists(`${shards}/.work-00002-of-00003/spill/index.json`),
      () => exists(`${shards}/.work-00002-of-00003/next/train/shard-00002-part-00002-of-00003.parquet`),
      () => exists(`${shards}/.work-00002-of-00003/next/val/shard-00001-part-00002-of-00003.parquet`),
    ],
  });
  const names = Object.keys(folderHashes(shards));
  assertEquals(names.filter((name) => name.endsWith(".parquet")).length, 3 * (16 + 2 + 25));
  // All bad rows are in the first row group.
  assertEquals(names.filter((name) => !name.endsWith(".parquet")), [
    ...[1, 2, 3].map((index) => `manifest-0000${index}-of-00003.json`),
    "rejects-00001-of-00003.jsonl",
  ]);

  const output = folder.at("rows");
  await runTasks([...rows, "--input", shards, "--output", output], {
    count: 2,
    killed: 1,
    moments: [
      () => exists(`${output}/.work-00001-of-00002/spill/rows-0.bin`),
      () => exists(`${output}/.work-00001-of-00002/next/train/train-00001-of-00016.arrayrecord`),
      () => exists(`${output}/.work-00001-of-00002/next/train/train-00008-of-00016.arrayrecord`),
    ],
  });
  const { "manifest-00001-of-00002.json": _one, "manifest-00002-of-00002.json": _two, ...records } =
    folderHashes(
      output,
    );
  const { "manifest.json": _whole, ...wanted } = folderHashes(folder.at("rows-1"));
  assertEquals(records, wanted);
  assertEquals(Object.keys(records).length, 20);

  Deno.removeSync(`${shards}/manifest-00003-of-00003.json`);
  const args = [...rows, "--input", shards, "--output", folder.at("other")];
  await refused(runStageProcess(args), 1, "task 3/3 of shard is missing; run `shard --task 3/3`");
});

Deno.test("shard and probe-rows refuse a wrong --task with one line and exit code 2", async () => {
  using folder = new TemporaryFolder();
  writeRowGroups(folder.at("in.parquet"), sampleBatch({ numRows: 100 }), 50);
  const paths = ["--input", folder.at("in.parquet"), "--output", folder.at("out")];
  const cases = [["shard", "0/4"], ["shard", "5/4"], ["probe-rows", "a/b"], ["probe-rows", "2"]];
  await Promise.all(cases.map(async ([stage, task]) => {
    const message = `Cannot use --task ${task}: expected I/N`;
    await refused(runStageProcess([stage, ...paths, "--task", task]), 2, message);
  }));
  const { code, stderr } = await runStageProcess(["shard", ...paths, "--task", "1/2", "--overwrite"]);
  assertMatch(stderr, /^error: Cannot use --overwrite with --task 1\/2: [^\n]+\n$/);
  assertEquals(code, 2);
  assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["in.parquet"]);
});

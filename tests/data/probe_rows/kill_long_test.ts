/**
 * `--task I/N` as a cluster runs it: simultaneous processes in one folder, some of them killed with kill -9.
 * tests/cli/kill_points_long_test.ts covers kills of a single run.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { killWhenThere, refused, runStageProcess, succeeded } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { folderHashes } from "./stage_fixtures.ts";
import { sampleBatch, writeRowGroups } from "./sample_parquet.ts";

async function run(args: readonly string[]): Promise<void> {
  await succeeded(runStageProcess([...args, "--json"]));
}

/** Runs all tasks at the same time, and kills one of them as soon as each of the given files exists. */
async function runTasks(
  args: readonly string[],
  { count, killed, files }: { count: number; killed: number; files: readonly string[] },
): Promise<void> {
  const others = Array.from({ length: count }, (_, i) => i + 1).filter((index) => index !== killed)
    .map((index) => run([...args, "--task", `${index}/${count}`]));
  for (const file of files) await killWhenThere([...args, "--task", `${killed}/${count}`], file);
  await Promise.all([...others, run([...args, "--task", `${killed}/${count}`])]);
}

Deno.test("concurrent tasks of shard and probe-rows, one killed repeatedly, write the files of one run", async () => {
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
    files: [
      "manifest.json",
      "spill/index.json",
      "next/train/shard-00002-part-00002-of-00003.parquet",
      "next/val/shard-00001-part-00002-of-00003.parquet",
    ].map((name) => `${shards}/.work-00002-of-00003/${name}`),
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
    files: ["spill/rows-0.bin", "next/train/train-00003-of-00016.arrayrecord"]
      .map((name) => `${output}/.work-00001-of-00002/${name}`),
  });
  const { "manifest-00001-of-00002.json": _one, "manifest-00002-of-00002.json": _two, ...records } =
    folderHashes(output);
  const { "manifest.json": _whole, ...wanted } = folderHashes(folder.at("rows-1"));
  assertEquals(records, wanted);
  assertEquals(Object.keys(records).length, 20);

  Deno.removeSync(`${shards}/manifest-00003-of-00003.json`);
  const args = [...rows, "--input", shards, "--output", folder.at("other")];
  await refused(runStageProcess(args), 1, "task 3/3 of shard is missing; run `shard --task 3/3`");
});

/**
 * kill -9 of real processes at many moments: the rerun ends with the bytes of an undisturbed run, nothing
 * half-written carries a final name, finished shards are not written again.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { exists } from "../../../lib/io/files/inputs.ts";
import { refused, runStageProcess, succeeded } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { folderHashes, killAt, unfinishedHashes } from "./stage_fixtures.ts";
import { sampleBatch, writeParquet, writeRowGroups } from "./sample_parquet.ts";

function finalOf(hashes: Record<string, string>): Record<string, string> {
  const isFinal = (name: string) => /^(train|val|test)\//.test(name) && !name.endsWith(".tmp");
  return Object.fromEntries(Object.entries(hashes).filter(([name]) => isFinal(name)));
}

/** The outputs of a run that is not done. */
const nextOf = (folder: string) => join(folder, ".work", "next");

function countFinal(folder: string): number {
  let count = 0;
  for (const split of ["train", "val", "test"]) {
    const path = join(nextOf(folder), split);
    if (!exists(path)) continue;
    for (const { name } of Deno.readDirSync(path)) if (!name.endsWith(".tmp")) count++;
  }
  return count;
}

/** The inode of each output that the manifest says is finished. */
function recordedInodes(folder: string): Map<string, number | null> {
  const path = join(folder, ".work", "manifest.json");
  if (!exists(path)) return new Map();
  const { outputs } = JSON.parse(Deno.readTextFileSync(path));
  const inodeOf = (name: string) => Deno.statSync(join(nextOf(folder), name)).ino;
  return new Map(outputs.map((output: { path: string }) => [output.path, inodeOf(output.path)]));
}

async function assertSurvives(name: "shard" | "probe-rows", args: string[], numFiles: number): Promise<void> {
  using folder = new TemporaryFolder();
  const input = folder.at("in.parquet");
  // Bad rows, so that rejects.jsonl has to survive too.
  writeParquet(input, sampleBatch({ numRows: 30_000, numBad: 50 }));
  const whole = folder.at("whole");
  const allArgs = ["--input", input, ...args];
  await succeeded(runStageProcess([name, ...allArgs, "--output", whole]));
  const wanted = folderHashes(whole);
  assertEquals(Object.keys(finalOf(wanted)).length, numFiles);

  const output = folder.at("killed");
  const startMs = performance.now();
  const moments = {
    "after 100 ms": () => performance.now() - startMs > 100,
    "manifest begun": () => exists(join(output, ".work", "manifest.json")),
    "spill file begun": () => exists(join(output, ".work", "spill", "rows-0.bin")),
    "spill file whole": () => exists(join(output, ".work", "spill", "index.json")),
    "first shard": () => countFinal(output) >= 1,
    "half of the shards": () => countFinal(output) >= numFiles / 2,
    "all but two shards": () => countFinal(output) >= numFiles - 2,
  };
  const inodes = new Map<string, number | null>();
  const reached: string[] = [];
  for (const [description, isReached] of Object.entries(moments)) {
    if (await killAt([name, ...allArgs, "--output", output], isReached)) reached.push(description);
    if (!exists(output)) continue;
    assertEquals(
      finalOf(folderHashes(output)),
      {},
      `there is a part of the result after a kill at: ${description}`,
    );
    for (const [file, hash] of Object.entries(finalOf(unfinishedHashes(output)))) {
      assertEquals(hash, wanted[file], `${file} is half-written after a kill at: ${description}`);
    }
    for (const [file, inode] of recordedInodes(output)) {
      assertEquals(inodes.get(file) ?? inode, inode, `${file} was written again`);
      inodes.set(file, inode);
    }
  }
  assert(reached.length >= 6, `the process was killed only at: ${reached.join(", ")}`);
  assert(inodes.size > 0, "no kill found a finished shard");
  await succeeded(runStageProcess([name, ...allArgs, "--output", output, "--json"]));
  assertEquals(folderHashes(output), wanted);
  for (const [file, inode] of inodes) assertEquals(Deno.statSync(join(output, file)).ino, inode);
}

Deno.test("shard ends with the same files when it was killed on the way", async () => {
  await assertSurvives("shard", ["--train-shards", "30", "--val-shards", "4", "--test-shards", "4"], 38);
});

Deno.test("probe-rows ends with the same files when it was killed on the way", async () => {
  await assertSurvives("probe-rows", ["--shards", "24", "--max-row-size-mb", "0.02"], 30);
});

// `--task I/N` as a cluster runs it: processes at the same time in one folder, kill -9 of some of them.

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
    const isKilled = await killAt([...args, "--task", `${killed}/${count}`], isReached);
    assert(isKilled, `the task ended before moment ${i}`);
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

/**
 * A task of `probe-rows` only looks at the parts of shards that it reads.
 *
 * @module
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { splitModeOf } from "../../../lib/eval/eval_rows.ts";
import { refused, runStageProcess, succeed } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { folderHashes } from "./stage_fixtures.ts";
import { sampleBatch, writeRowGroups } from "./sample_parquet.ts";

/** The first of three tasks makes 3 of the 8 files of train, and thus needs the first 6 of its 16 shards. */
const [NEEDED, OTHER] = ["train/shard-00005-part-00002-of-00004", "train/shard-00006-part-00002-of-00004"];
const FEW = ["--train-shards", "16", "--val-shards", "2", "--test-shards", "2"];

/** Measurements divided by pair into shards, by four tasks. */
async function makeShards(folder: TemporaryFolder): Promise<string> {
  writeRowGroups(folder.at("in.parquet"), sampleBatch({ numRows: 8000, numProbes: 300 }), 500);
  const args = ["shard", "--input", folder.at("in.parquet"), "--output", folder.at("shards"), ...FEW];
  for (let i = 1; i <= 4; i++) await succeed(...args, "--split-by", "pair", "--task", `${i}/4`);
  return folder.at("shards");
}

function rowsTask(folder: TemporaryFolder, output: string, task: string, numShards = 8): string[] {
  const paths = ["--input", folder.at("shards"), "--output", folder.at(output)];
  return ["probe-rows", ...paths, "--shards", String(numShards), "--task", task];
}

async function assertRefused(args: string[], message: RegExp): Promise<void> {
  assertMatch(await refused(runStageProcess(args), 1), message);
}

/** The hashes of the first three ArrayRecord files of train. */
function firstRecords(folder: TemporaryFolder, output: string): unknown[] {
  const hashes = folderHashes(folder.at(output));
  return [0, 1, 2].map((i) => hashes[`train/train-0000${i}-of-00008.arrayrecord`]);
}

Deno.test("a task of probe-rows needs no parts of shards that it does not read, but a single run needs all", async () => {
  using folder = new TemporaryFolder();
  const shards = await makeShards(folder);
  await succeed(...rowsTask(folder, "whole", "1/1"));
  const other = `${shards}/${OTHER}.parquet`;
  const breaks: [name: string, breaking: () => void, message: RegExp][] = [
    [
      "link",
      () => Deno.symlinkSync("nowhere", other),
      /shard-00006.* is a link to nowhere, which does not exist/,
    ],
    ["nothing", () => {}, /shard-00006-part-00002-of-00004.parquet is missing, expected all files that/],
  ];
  for (const [name, breaking, message] of breaks) {
    Deno.removeSync(other, { recursive: true });
    breaking();
    await succeed(...rowsTask(folder, name, "1/3"));
    assertEquals(firstRecords(folder, name), firstRecords(folder, "whole"));
    await assertRefused(rowsTask(folder, "again", "1/1"), message);
    await assertRefused(rowsTask(folder, "again", "2/3"), message);
  }
  const manifest = JSON.parse(Deno.readTextFileSync(folder.at("link/manifest-00001-of-00003.json")));
  const pathsOf = (files: { path: string }[]) => files.map(({ path }) => path.slice(shards.length + 1));
  assertEquals(pathsOf(manifest.inputManifests), [1, 2, 3, 4].map((i) => `manifest-0000${i}-of-00004.json`));
  const parts = [0, 1, 2, 3, 4, 5].flatMap((shard) => [1, 2, 3, 4].map((part) => [shard, part]));
  assertEquals(
    pathsOf(manifest.inputs),
    parts.map(([shard, part]) => `train/shard-0000${shard}-part-0000${part}-of-00004.parquet`),
  );
});

Deno.test("a task of probe-rows refuses missing or damaged parts of the shards that it reads", async () => {
  using folder = new TemporaryFolder();
  const shards = await makeShards(folder);
  const args = rowsTask(folder, "rows", "1/3");
  const needed = `${shards}/${NEEDED}.parquet`;
  const bytes = Deno.readFileSync(needed);
  Deno.removeSync(needed);
  const missing =
    /Cannot read [^ ]*shards: train\/shard-00005-part-00002-of-00004.parquet is missing, expected all files that manifest-00002-of-00004.json lists; copy it again/;
  await assertRefused(args, missing);
  Deno.writeFileSync(needed, bytes.map((byte, i) => i === 100 ? byte ^ 1 : byte));
  await assertRefused(args, /shard-00005-part-00002.* has a different SHA-256/);
  Deno.writeFileSync(needed, bytes);
  const stale = needed.replace("of-00004", "of-00005");
  Deno.writeFileSync(stale, bytes);
  await assertRefused(
    args,
    /no manifest lists .*shard-00005-part-00002-of-00005.parquet, expected only files of shard/,
  );
  Deno.removeSync(stale);
  const manifest = `${shards}/manifest-00004-of-00004.json`;
  Deno.renameSync(manifest, folder.at("kept.json"));
  await assertRefused(args, /task 4\/4 of shard is missing; run `shard --task 4\/4`/);
  Deno.renameSync(folder.at("kept.json"), manifest);

  await succeed(...args);
  Deno.utimeSync(`${shards}/${OTHER}.parquet`, 1, 1);
  assertEquals(JSON.parse((await succeed(...args, "--json")).stdout).was_complete, true);
  const other = /Cannot write to .*: probe-rows with other inputs or options wrote to it, expected the same/;
  Deno.utimeSync(needed, 1, 1);
  await assertRefused(args, other);
  // A file instead of a part that another task reads changes the manifests.
  Deno.utimeSync(manifest, 1, 1);
  await assertRefused(rowsTask(folder, "rows", "3/3"), other);
});

Deno.test("readers of probe rows accept tasks that read different parts, or none, as one run", async () => {
  using folder = new TemporaryFolder();
  await makeShards(folder);
  // Three files: the first of the four tasks makes none.
  for (let i = 1; i <= 4; i++) await succeed(...rowsTask(folder, "rows", `${i}/4`, 1));
  assertEquals(splitModeOf(folder.at("rows")), "pair");
  assertStringIncludes((await succeed("status", folder.at("rows"))).stdout, "done");
  await succeed("inspect", folder.at("rows"), "--verify");
});

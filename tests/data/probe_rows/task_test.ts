/**
 * `--task I/N`: several tasks together write the same files as one run, byte for byte, whatever the number of
 * tasks.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { dirname } from "@std/path";
import { UserError } from "../../../lib/base/errors.ts";
import type { ArrayTask } from "../../../lib/io/files/array_task.ts";
import { manifestName } from "../../../lib/io/files/task_manifests.ts";
import { readManifest } from "../../../lib/io/files/manifest.ts";
import { buildProbeRows, type ProbeRowsOptions } from "../../../lib/data/probe_rows/probe_rows.ts";
import { shardMeasurements } from "../../../lib/data/probe_rows/shard.ts";
import { neededParts } from "../../../lib/data/probe_rows/shard_layout.ts";
import {
  listSplitInputs,
  SPLIT_MODES,
  SPLIT_NAMES,
  type SplitMode,
} from "../../../lib/data/probe_rows/splits.ts";
import { dataFingerprint } from "../../../lib/train/run_data.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { folderHashes, PROBE_ROWS_OPTIONS, SHARD_OPTIONS } from "./stage_fixtures.ts";
import { sampleBatch, writeParquet, writeRowGroups } from "./sample_parquet.ts";

const ROWS_PER_GROUP = 500;
const CHANGED = { seed: 3, maxRejectRatio: 0.2 };
const SHARD = { ...SHARD_OPTIONS, ...CHANGED };
const PROBE_ROWS = { ...PROBE_ROWS_OPTIONS, ...CHANGED, maxRowSizeBytes: 20_000 };

/** One file with many row groups, and one with a few rows, no optional columns, and bad rows. */
function writeInputs(folder: TemporaryFolder): string[] {
  const whole = sampleBatch({ numRows: 6000, numProbes: 90, numBad: 40 });
  const large = folder.at("in/a.parquet");
  writeRowGroups(large, whole, ROWS_PER_GROUP);
  const { prbId: _none, packetErrorCount: _too, ...small } = sampleBatch({
    numRows: 300,
    seed: 1,
    numBad: 7,
  });
  writeParquet(folder.at("in/b.parquet"), small);
  return [large, folder.at("in/b.parquet")];
}

function tasksOf(count: number): ArrayTask[] {
  return Array.from({ length: count }, (_, i) => ({ index: i + 1, count }));
}

async function shardInTasks(
  inputs: string[],
  output: string,
  { splitBy, count }: { splitBy: SplitMode; count: number },
) {
  const results = [];
  for (const task of tasksOf(count)) {
    results.push(await shardMeasurements({ ...SHARD, splitBy, inputs, output, task }));
  }
  return results;
}

async function makeRows(
  shards: string,
  output: string,
  { count, ...changed }: { count: number } & Partial<ProbeRowsOptions>,
): Promise<number[]> {
  const numRowsRead = [];
  for (const task of tasksOf(count)) {
    const wanted = { ...PROBE_ROWS, ...changed, output, task };
    const { isRead, manifests: inputManifests } = neededParts([shards], wanted) ?? {};
    const { files: inputs, splitOfFile } = listSplitInputs([shards], undefined, isRead);
    assert(splitOfFile);
    const options = { ...wanted, inputs, inputManifests, splits: { splitOfFile } };
    numRowsRead.push((await buildProbeRows(options)).inputRows);
  }
  return numRowsRead;
}

function records(folder: string): Record<string, string> {
  const isRecord = ([name]: [string, string]) => name.endsWith(".arrayrecord");
  return Object.fromEntries(Object.entries(folderHashes(folder)).filter(isRecord));
}

Deno.test("shard and probe-rows write the same bytes in any number of tasks, in one run and without shards", async () => {
  using folder = new TemporaryFolder();
  const inputs = writeInputs(folder);
  for (const splitBy of SPLIT_MODES) {
    const at = (name: string) => folder.at(`${splitBy}/${name}`);
    const [whole] = await shardInTasks(inputs, at("shards-1"), { splitBy, count: 1 });
    await makeRows(at("shards-1"), at("rows-1-1"), { count: 1 });
    const wanted = records(at("rows-1-1"));
    assertEquals(Object.keys(wanted).length, 6);
    const splits = { plan: { mode: splitBy, ratios: SHARD.ratios, seed: SHARD.seed } };
    await buildProbeRows({ ...PROBE_ROWS, inputs, splits, output: at("unsharded") });
    assertEquals(records(at("unsharded")), wanted);
    if (splitBy !== "probe" && splitBy !== "time") continue;
    // Fewer tasks than the 14 row groups in 2 files and the 6 shards of records, and more.
    const [count, numTasks] = splitBy === "probe" ? [20, 9] : [3, 2];
    const parts = await shardInTasks(inputs, at("shards"), { splitBy, count });
    assertEquals(parts.reduce((sum, { inputRows }) => sum + inputRows, 0), whole.inputRows);
    const rejected = parts.reduce((sum, part) => sum + (part.rejected.unparseableAddress ?? 0), 0);
    assertEquals(rejected, whole.rejected.unparseableAddress);
    await makeRows(at("shards"), at("rows"), { count: numTasks });
    assertEquals(records(at("rows")), wanted);
    assertEquals(await dataFingerprint(at("rows")), await dataFingerprint(at("rows-1-1")));
  }
});

Deno.test("probe-rows in tasks writes the bytes of one run of an unsharded file", async () => {
  using folder = new TemporaryFolder();
  const inputs = writeInputs(folder);
  const plan = { mode: "time", ratios: [0.8, 0.1, 0.1], seed: 3 } as const;
  const options = { ...PROBE_ROWS, inputs, splits: { plan } };
  const whole = await buildProbeRows({ ...options, output: folder.at("whole") });
  let measurements = 0;
  for (const task of tasksOf(8)) {
    const { rejected, splits } = await buildProbeRows({ ...options, output: folder.at("tasks"), task });
    // A task without shards of a split counts nothing for it.
    for (const split of SPLIT_NAMES) {
      assertEquals(Object.keys(splits[split]), ["shards", "bytes", "records", "measurements", "sources"]);
    }
    // The last of eight tasks for six shards reads like the others; tasks without shards read nothing.
    const { counts } = readManifest(folder.at(`tasks/${manifestName(task)}`)) ?? {};
    assertEquals(rejected, counts?.inputRows === undefined ? {} : whole.rejected);
    measurements += splits.train.measurements;
  }
  assertEquals(records(folder.at("tasks")), records(folder.at("whole")));
  assertEquals(measurements, whole.splits.train.measurements);
});

Deno.test("probe-rows reads only the parts that its task needs, and all when shard placed sources differently", async () => {
  using folder = new TemporaryFolder();
  const inputs = writeInputs(folder);
  const numShards = [12, 3, 3] as const;
  for (const task of tasksOf(2)) {
    const options = {
      ...SHARD,
      splitBy: "probe",
      numShards,
      inputs,
      output: folder.at("shards"),
      task,
    } as const;
    await shardMeasurements(options);
  }
  const [numRows] = await makeRows(folder.at("shards"), folder.at("whole"), { count: 1 });
  const pruned = await makeRows(folder.at("shards"), folder.at("pruned"), { count: 6 });
  // 12 shards feed 4, so no shard feeds two.
  assertEquals(pruned.reduce((sum, rows) => sum + rows, 0), numRows);
  assertEquals(records(folder.at("pruned")), records(folder.at("whole")));
  await makeRows(folder.at("shards"), folder.at("other"), { count: 1, seed: 4 });
  const all = await makeRows(folder.at("shards"), folder.at("other-tasks"), { count: 3, seed: 4 });
  assertEquals(all, [numRows, numRows, numRows]);
  assertEquals(records(folder.at("other-tasks")), records(folder.at("other")));
});

Deno.test("shard in tasks writes the columns of any input to every part", async () => {
  using folder = new TemporaryFolder();
  writeParquet(folder.at("a.parquet"), sampleBatch({ numRows: 500 }));
  const { prbId: _none, ...small } = sampleBatch({ numRows: 50, seed: 1 });
  writeParquet(folder.at("b.parquet"), small);
  const inputs = [folder.at("a.parquet"), folder.at("b.parquet")];
  const rejected = [];
  for (const count of [1, 2]) {
    const shards = folder.at(`shards-${count}`);
    await shardInTasks(inputs, shards, { splitBy: "probe", count });
    const { files, splitOfFile = new Map() } = listSplitInputs([shards]);
    const output = folder.at(`rows-${count}`);
    const options = { ...PROBE_ROWS, inputs: files, splits: { splitOfFile }, groupBy: "prb_id" } as const;
    rejected.push((await buildProbeRows({ ...options, output })).rejected);
  }
  // The second task read only the file without prb_id.
  assertEquals(rejected, [{ nullValue: 50 }, { nullValue: 50 }]);
  assertEquals(records(folder.at("rows-2")), records(folder.at("rows-1")));
});

Deno.test("a task resumes independently and does not touch other tasks' files", async () => {
  using folder = new TemporaryFolder();
  const inputs = writeInputs(folder);
  const output = folder.at("out");
  const made = await shardInTasks(inputs, output, { splitBy: "probe", count: 2 });
  const wanted = folderHashes(output);
  const partOf = (index: number) => folder.at(`out/train/shard-00001-part-0000${index}-of-00002.parquet`);
  Deno.removeSync(partOf(2));
  const inode = Deno.statSync(partOf(1)).ino;
  const [first, second] = await shardInTasks(inputs, output, { splitBy: "probe", count: 2 });
  assertEquals([first.wasComplete, second.wasComplete], [true, false]);
  assertEquals([first.splits, second.splits], made.map(({ splits }) => splits));
  assertEquals(folderHashes(output), wanted);
  assertEquals(Deno.statSync(partOf(1)).ino, inode);

  const begun = folder.at("out/.work-00001-of-00002/next/begun");
  Deno.mkdirSync(dirname(begun), { recursive: true });
  Deno.writeTextFileSync(begun, "being written");
  const options = { ...SHARD, splitBy: "probe", inputs, output } as const;
  await shardMeasurements({ ...options, task: { index: 2, count: 2 } });
  assert(Deno.statSync(begun).isFile, "task 2 deleted what task 1 was writing");
  await assertRejects(
    () => shardMeasurements({ ...options, overwrite: true }),
    UserError,
    "delete the folder",
  );
});

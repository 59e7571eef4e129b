/**
 * `--task I/N`: the files of several tasks together are those of one run, byte for byte, whatever the numbers of
 * tasks, and an incomplete folder is refused with the task that is missing.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { ArrayTask } from "../../lib/files/array_task.ts";
import { buildProbeRows, type ProbeRowsOptions } from "../../lib/preprocess/probe_rows.ts";
import { shardMeasurements, type ShardOptions } from "../../lib/preprocess/shard.ts";
import { listSplitInputs } from "../../lib/preprocess/split_folders.ts";
import { SPLIT_MODES, type SplitMode } from "../../lib/preprocess/splits.ts";
import { dataFingerprint } from "../../lib/train/data_fingerprint.ts";
import { TemporaryFolder } from "../files/temporary_folder.ts";
import { folderHashes } from "./folder_hashes.ts";
import { sampleBatch, writeParquet, writeRowGroups } from "./sample_parquet.ts";

const ROWS_PER_GROUP = 500;
const RATIOS = [0.8, 0.1, 0.1] as const;
const COMMON = {
  groupBy: "src_addr",
  seed: 3,
  maxRejectRatio: 0.2,
  memoryLimitBytes: 2e9,
  overwrite: false,
} as const;
const SHARD: Omit<ShardOptions, "inputs" | "output" | "splitBy"> = {
  ...COMMON,
  ratios: RATIOS,
  numShards: [5, 2, 2],
};
const PROBE_ROWS: Omit<ProbeRowsOptions, "inputs" | "output" | "splits"> = {
  ...COMMON,
  numShards: [4, 1, 1],
  maxRowSizeBytes: 20_000,
  compression: "zstd",
};

/** A file of many row groups, and one of a few rows that lacks the optional columns but has bad rows. */
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
  const { files, splitOfFile, sourcesOfFile } = listSplitInputs([shards]);
  assert(splitOfFile);
  const numRowsRead = [];
  for (const task of tasksOf(count)) {
    const options = { ...PROBE_ROWS, ...changed, inputs: files, splits: { splitOfFile, sourcesOfFile } };
    numRowsRead.push((await buildProbeRows({ ...options, output, task })).inputRows);
  }
  return numRowsRead;
}

/** The ArrayRecord files of a folder. */
function records(folder: string): Record<string, string> {
  const isRecord = ([name]: [string, string]) => name.endsWith(".arrayrecord");
  return Object.fromEntries(Object.entries(folderHashes(folder)).filter(isRecord));
}

Deno.test("shard and probe-rows in tasks make the bytes of one run, for any number of tasks", async () => {
  using folder = new TemporaryFolder();
  const inputs = writeInputs(folder);
  for (const splitBy of SPLIT_MODES) {
    const at = (name: string) => folder.at(`${splitBy}/${name}`);
    const [whole] = await shardInTasks(inputs, at("shards-1"), { splitBy, count: 1 });
    await makeRows(at("shards-1"), at("rows-1-1"), { count: 1 });
    const wanted = records(at("rows-1-1"));
    assertEquals(Object.keys(wanted).length, 6);
    // 14 row groups in 2 files, 6 shards of records.
    for (const count of splitBy === "probe" ? [2, 3, 20] : [3]) {
      const parts = await shardInTasks(inputs, at(`shards-${count}`), { splitBy, count });
      assertEquals(parts.reduce((sum, { inputRows }) => sum + inputRows, 0), whole.inputRows);
      const rejected = parts.reduce((sum, part) => sum + (part.rejected.unparseableAddress ?? 0), 0);
      assertEquals(rejected, whole.rejected.unparseableAddress);
      for (const numTasks of splitBy === "probe" ? [1, 2, 4, 9] : [2]) {
        const rows = at(`rows-${count}-${numTasks}`);
        await makeRows(at(`shards-${count}`), rows, { count: numTasks });
        assertEquals(records(rows), wanted, `${count} tasks of shard, ${numTasks} of probe-rows`);
        assertEquals(dataFingerprint(rows), dataFingerprint(at("rows-1-1")));
      }
    }
  }
});

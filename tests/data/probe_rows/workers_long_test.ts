/**
 * Several threads write the same bytes as one, even after a failure or kill -9 of all of them.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import { buildProbeRows } from "../../../lib/data/probe_rows/probe_rows.ts";
import { shardMeasurements } from "../../../lib/data/probe_rows/shard.ts";
import { threadsWithin } from "../../../lib/data/probe_rows/stage_threads.ts";
import { killWhenThere, runStageProcess, succeeded } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { folderHashes, PROBE_ROWS_OPTIONS, SHARD_OPTIONS, unfinishedHashes } from "./stage_fixtures.ts";
import { sampleBatch, writeParquet } from "./sample_parquet.ts";

/** Enough for three threads, each with its own row groups. */
const NUM_FILES = 4;
const ROWS_PER_FILE = 40_000;

function writeInputs(folder: TemporaryFolder): string[] {
  return Array.from({ length: NUM_FILES }, (_, i) => {
    const path = folder.at(`in-${i}.parquet`);
    writeParquet(path, sampleBatch({ numRows: ROWS_PER_FILE, numProbes: 300, seed: i, numBad: 500 * i }));
    return path;
  });
}

const PROBE_ROWS = {
  ...PROBE_ROWS_OPTIONS,
  splits: { plan: { mode: "time", ratios: [0.8, 0.1, 0.1], seed: 0 } },
  maxRowSizeBytes: 1e5,
} as const;

Deno.test("shard and probe-rows write the same bytes with any number of workers and any memory limit", async () => {
  using folder = new TemporaryFolder();
  const inputs = writeInputs(folder);
  let numRead = 0;
  const onProgress = (phase: string, done: number) => {
    if (phase === "reading") numRead = Math.max(numRead, done);
  };
  for (const [i, [workers, memoryLimitBytes]] of [[1, 2e9], [2, 3e6], [3, 2e9]].entries()) {
    const options = { inputs, workers, memoryLimitBytes };
    const { rejected } = await buildProbeRows({ ...PROBE_ROWS, ...options, output: folder.at(`rows-${i}`) }, {
      onProgress,
    });
    assertEquals(rejected, { unparseableAddress: 3000 });
    await shardMeasurements({ ...SHARD_OPTIONS, ...options, output: folder.at(`shards-${i}`) });
    for (const name of ["rows", "shards"]) {
      assertEquals(folderHashes(folder.at(`${name}-${i}`)), folderHashes(folder.at(`${name}-0`)));
    }
  }
  assertEquals(numRead, NUM_FILES * ROWS_PER_FILE);
});

Deno.test("buildProbeRows() reports the error of a worker and leaves an empty folder", async () => {
  using folder = new TemporaryFolder();
  const inputs = writeInputs(folder);
  const damaged = Deno.readFileSync(inputs[NUM_FILES - 1]);
  // Damages all columns, but not the footer.
  for (let at = 4; at < damaged.length - 4000; at += 997) damaged[at] ^= 0x40;
  Deno.writeFileSync(inputs[NUM_FILES - 1], damaged);
  const options = { ...PROBE_ROWS, splits: { plan: { mode: "probe", ratios: [1, 0, 0], seed: 0 } } } as const;
  const output = folder.at("out");
  await assertRejects(
    () => buildProbeRows({ ...options, inputs, output, workers: 3 }),
    UserError,
    `Cannot read ${inputs[NUM_FILES - 1]}`,
  );
  assertEquals([...Deno.readDirSync(output)], []);
});

Deno.test("probe-rows with workers ends with the same files after being killed midway", async () => {
  using folder = new TemporaryFolder();
  const args = ["--input", ...writeInputs(folder), "--max-row-size-mb", "0.1"];
  await succeeded(runStageProcess(["probe-rows", ...args, "--output", folder.at("whole")]));
  const wanted = folderHashes(folder.at("whole"));
  const output = folder.at("killed");
  const files = [
    "spill/rows-1.bin",
    "spill/index.json",
    "next/train/train-00000-of-00016.arrayrecord",
    "next/train/train-00006-of-00016.arrayrecord",
  ];
  for (const file of files) {
    await killWhenThere(
      ["probe-rows", ...args, "--workers", "3", "--output", output],
      `${output}/.work/${file}`,
    );
    for (const [name, hash] of Object.entries(unfinishedHashes(output))) {
      if (name.endsWith(".arrayrecord")) assertEquals(hash, wanted[name], `${name} after ${file}`);
    }
  }
  await succeeded(runStageProcess(["probe-rows", ...args, "--output", output, "--workers", "2"]));
  assertEquals(folderHashes(output), wanted);
});

Deno.test("threadsWithin() allows no more threads than fit in memory, and at least one", () => {
  assertEquals(threadsWithin(2, 2e9, 8e6), 2);
  assertEquals(threadsWithin(64, 2e9), 7);
  assertEquals(threadsWithin(64, 2e9, 100e6), 2);
  assertEquals(threadsWithin(64, 2e9, 250e6), 1);
  assertEquals(threadsWithin(4, 1e5), 1);
});

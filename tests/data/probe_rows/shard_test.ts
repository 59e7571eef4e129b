import { assert, assertEquals, assertThrows } from "@std/assert";
import { UsageError, UserError } from "../../../lib/base/errors.ts";
import type { MeasurementBatch } from "../../../lib/data/formats/batch.ts";
import { readMeasurements, type SourcedBatch } from "../../../lib/data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../../../lib/data/measurement_files/rejects.ts";
import { shardMeasurements } from "../../../lib/data/probe_rows/shard.ts";
import { listSplitInputs, SPLIT_NAMES } from "../../../lib/data/probe_rows/splits.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { folderHashes, SHARD_OPTIONS } from "./stage_fixtures.ts";
import { sampleBatch, writeParquet } from "./sample_parquet.ts";

function textOf(batch: MeasurementBatch, row: number): string {
  const { eventTimeUs, srcAddr, dstAddr, ipVersion, rttMs, msmId, prbId, sizeBytes, packetErrorCount } =
    batch;
  const optional = [msmId, prbId, sizeBytes, packetErrorCount].map((column) => column?.[row]);
  return [eventTimeUs[row], srcAddr[row], dstAddr[row], ipVersion[row], rttMs[row], ...optional].join(" ");
}

/** The rows of each output file, in order. */
async function readShards(folder: string): Promise<Map<string, { rows: string[]; sources: Set<string> }>> {
  const shards = new Map<string, { rows: string[]; sources: Set<string> }>();
  for (const name of Object.keys(folderHashes(folder)).filter((path) => path.endsWith(".parquet"))) {
    const shard = { rows: [] as string[], sources: new Set<string>() };
    shards.set(name, shard);
    const batches: AsyncGenerator<SourcedBatch> = readMeasurements([`${folder}/${name}`], {
      rejects: new RejectLog(),
    });
    for await (const batch of batches) {
      for (let row = 0; row < batch.numRows; row++) {
        shard.rows.push(textOf(batch, row));
        shard.sources.add(batch.srcAddr[row]);
      }
    }
  }
  return shards;
}

Deno.test("shardMeasurements() writes every row once in input order and each source to one shard, whatever the memory", async () => {
  using folder = new TemporaryFolder();
  const batch = sampleBatch({ numRows: 20_000 });
  writeParquet(folder.at("in.parquet"), batch);
  const output = folder.at("out");
  const options = { ...SHARD_OPTIONS, inputs: [folder.at("in.parquet")] };
  const result = await shardMeasurements({ ...options, output });
  await shardMeasurements({ ...options, output: folder.at("tiny"), memoryLimitBytes: 1e5 });
  assertEquals(folderHashes(folder.at("tiny")), folderHashes(output));
  const shards = await readShards(output);
  assertEquals([...shards.keys()], [
    ...[0, 1].map((i) => `test/shard-0000${i}.parquet`),
    ...[0, 1, 2, 3, 4].map((i) => `train/shard-0000${i}.parquet`),
    ...[0, 1].map((i) => `val/shard-0000${i}.parquet`),
  ]);
  const order = new Map(Array.from({ length: batch.numRows }, (_, row) => [textOf(batch, row), row]));
  const seen = new Set<string>();
  for (const { rows } of shards.values()) {
    let last = -1;
    for (const text of rows) {
      const row = order.get(text) ?? -1;
      assert(row > last, `${text} is out of order or not of the input`);
      last = row;
      seen.add(text);
    }
  }
  assertEquals(seen.size, batch.numRows);
  const placed = [...shards.values()].flatMap(({ sources }) => [...sources]);
  assertEquals(placed.length, new Set(placed).size, "a source is in two shards");
  assertEquals(new Set(placed), new Set(batch.srcAddr));
  for (const split of SPLIT_NAMES) {
    const files = [...shards].filter(([name]) => name.startsWith(split)).map(([, shard]) => shard);
    const { rows, sources, shards: numShards } = result.splits[split];
    assertEquals(rows, files.reduce((sum, shard) => sum + shard.rows.length, 0));
    assertEquals(sources, files.reduce((sum, shard) => sum + shard.sources.size, 0));
    assertEquals(numShards, files.length);
  }
});

Deno.test("shardMeasurements() puts the same rows into each shard for any order and number of files", async () => {
  using folder = new TemporaryFolder();
  const batches = [1, 2, 3].map((seed) => sampleBatch({ numRows: 2000, seed }));
  batches.forEach((batch, i) => {
    writeParquet(folder.at(`forth/${i}.parquet`), batch);
    writeParquet(folder.at(`back/${2 - i}.parquet`), batch);
  });
  const sorted = [];
  for (const name of ["forth", "back"]) {
    const inputs = [0, 1, 2].map((i) => folder.at(`${name}/${i}.parquet`));
    await shardMeasurements({ ...SHARD_OPTIONS, inputs, output: folder.at(`${name}-out`), splitBy: "pair" });
    const shards = await readShards(folder.at(`${name}-out`));
    sorted.push([...shards].map(([file, { rows }]) => [file, rows.sort()]));
  }
  assertEquals(sorted[0], sorted[1]);
});

Deno.test("shardMeasurements() keeps a probe in one shard when grouped by prb_id", async () => {
  using folder = new TemporaryFolder();
  const batch = sampleBatch({ numRows: 5000 });
  writeParquet(folder.at("in.parquet"), batch);
  const output = folder.at("out");
  const options = { ...SHARD_OPTIONS, inputs: [folder.at("in.parquet")], output, groupBy: "prb_id" } as const;
  const result = await shardMeasurements(options);
  const shards = await readShards(output);
  // src_addr ends with 1 or 2 as the probe's address changes; the rest identifies the probe.
  const probes = [...shards.values()].flatMap(({ sources }) => [
    ...new Set([...sources].map((address) => address.slice(0, -1))),
  ]);
  assertEquals(probes.length, new Set(probes).size);
  const { train, val, test } = result.splits;
  assertEquals(train.sources + val.sources + test.sources, new Set(batch.prbId).size);
});

Deno.test("listSplitInputs() reads splits from the folders train, val and test, and rejects a mixture", () => {
  using folder = new TemporaryFolder();
  for (const name of ["split/train/a.parquet", "split/test/b.parquet", "plain/c.parquet"]) {
    writeParquet(folder.at(name), sampleBatch({ numRows: 1 }));
  }
  const { files, splitOfFile } = listSplitInputs([folder.at("split")]);
  assertEquals(files.map((file) => splitOfFile?.get(file)), ["test", "train"]);
  assertEquals(listSplitInputs([folder.at("plain")]), { files: [folder.at("plain/c.parquet")] });
  assertThrows(
    () => listSplitInputs([folder.at("split"), folder.at("plain")]),
    UsageError,
    "use separate runs for them",
  );
  assertThrows(() => listSplitInputs([folder.at("none")]), UserError, "no such file");
});

import fc from "fast-check";
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertLessOrEqual,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { FormatError, UsageError, UserError } from "../../../lib/base/errors.ts";
import type { MeasurementBatch } from "../../../lib/data/formats/batch.ts";
import {
  decodeProbeRow,
  encodeProbeRow,
  probeOf,
  type ProbeRow,
  probeRowSrcId,
} from "../../../lib/data/probe_rows/probe_row.ts";
import { buildProbeRows } from "../../../lib/data/probe_rows/probe_rows.ts";
import { SPLIT_NAMES } from "../../../lib/data/probe_rows/splits.ts";
import { ArrayRecordReader } from "../../../lib/io/array_record/reader.ts";
import { succeed } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { sampleBatch, writeParquet } from "./sample_parquet.ts";
import { folderHashes, PROBE_ROWS_OPTIONS } from "./stage_fixtures.ts";

/** So little memory that partitions contain at most 1,024 rows and larger sources are sorted on disk. */
const TINY_MEMORY_BYTES = 1e5;

async function readRecords(folder: string): Promise<ProbeRow[]> {
  const rows: ProbeRow[] = [];
  for (const name of Object.keys(folderHashes(folder)).filter((name) => name.endsWith(".arrayrecord"))) {
    using reader = await ArrayRecordReader.open(join(folder, name));
    for (const record of reader) rows.push(decodeProbeRow(record.slice(), { path: name }));
  }
  return rows;
}

type Measurement = readonly [source: bigint, ...unknown[]];

/** The measurements of each source as texts, in order. */
function bySource(measurements: readonly Measurement[]): Record<string, string[]> {
  const sources: Record<string, string[]> = {};
  for (const [source, ...rest] of measurements) (sources[String(source)] ??= []).push(rest.join(" "));
  return sources;
}

/** Asserts that the records contain the rows of a batch by source and time, in stable order. */
function assertHolds(rows: ProbeRow[], batch: MeasurementBatch, groupBy: "src_addr" | "prb_id"): void {
  const found = rows.flatMap((row) =>
    Array.from(row.eventTimeUs, (timeUs, i): Measurement => [
      ...[row.srcId, timeUs, row.srcAddrs[row.srcIndex[i]]] as const,
      ...[row.dstAddrs[row.dstIndex[i]], row.ipVersion[i], row.rttMs[i]],
    ])
  );
  const { eventTimeUs, srcAddr, dstAddr, ipVersion, rttMs, prbId = [] } = batch;
  const keyOf = (row: number) => groupBy === "src_addr" ? probeRowSrcId(srcAddr[row]) : BigInt(prbId[row]);
  const wanted = Array.from(srcAddr.keys()).sort((a, b) => eventTimeUs[a] - eventTimeUs[b]).map((
    row,
  ): Measurement => [
    ...[
      keyOf(row),
      eventTimeUs[row],
      srcAddr[row],
      dstAddr[row],
      ipVersion[row],
      Math.fround(rttMs[row]),
    ] as const,
  ]);
  assertEquals(bySource(found), bySource(wanted));
}

Deno.test("buildProbeRows() writes each source's measurements in time order, cut at the row size, whatever the memory", async () => {
  using folder = new TemporaryFolder();
  const batch = sampleBatch({ numRows: 20_000 });
  // An id of more than 32 bits.
  batch.prbId?.forEach((id, row, ids) => ids[row] = id + 2 ** 33);
  const inputs = [folder.at("in.parquet")];
  writeParquet(inputs[0], batch);
  for (const groupBy of ["src_addr", "prb_id"] as const) {
    const options = { ...PROBE_ROWS_OPTIONS, inputs, groupBy, maxRowSizeBytes: 12_000 };
    const output = folder.at(`${groupBy}-large`);
    const { splits } = await buildProbeRows({ ...options, output });
    const rows = await readRecords(output);
    // Rows with equal times stay in file order, and the cut parts of a history in time order.
    assertHolds(rows, batch, groupBy);
    const sum = (count: string) => SPLIT_NAMES.reduce((sum, split) => sum + splits[split][count], 0);
    assertEquals([sum("measurements"), sum("records"), sum("shards")], [20_000, rows.length, 6]);
    const probes = new Map(batch.srcAddr.map((address, row) => [address, batch.prbId?.[row]]));
    for (const row of rows) {
      assertEquals(row.prbId, groupBy === "src_addr" ? probes.get(row.srcAddrs[0]) : undefined);
      assertEquals(probeOf(row), probes.get(row.srcAddrs[0]));
    }
    const parts = Map.groupBy(rows, ({ srcId }) => srcId);
    assertEquals(sum("sources"), parts.size);
    assert(Math.max(...[...parts.values()].map(({ length }) => length)) > 5, "a long history is cut");
    for (const cut of parts.values()) {
      const sizes = cut.map((row) => encodeProbeRow(row).length);
      assertLessOrEqual(Math.max(...sizes), options.maxRowSizeBytes);
      // A few kilobytes are reserved for what a record has besides its measurements and addresses.
      assertLessOrEqual(options.maxRowSizeBytes - 4096, Math.min(...sizes.slice(0, -1)));
    }

    const tiny = folder.at(`${groupBy}-tiny`);
    await buildProbeRows({ ...options, output: tiny, memoryLimitBytes: TINY_MEMORY_BYTES });
    assertEquals(folderHashes(tiny), folderHashes(output));
  }
});

Deno.test("buildProbeRows() agrees with the reference on any small input", async () => {
  const inputs = fc.record({
    numRows: fc.integer({ min: 0, max: 300 }),
    numProbes: fc.integer({ min: 1, max: 20 }),
    seed: fc.nat(1000),
  });
  await fc.assert(
    fc.asyncProperty(inputs, async (sample) => {
      using folder = new TemporaryFolder();
      const batch = sampleBatch(sample);
      writeParquet(folder.at("in.parquet"), batch);
      const output = folder.at("out");
      await buildProbeRows({ ...PROBE_ROWS_OPTIONS, inputs: [folder.at("in.parquet")], output });
      assertHolds(await readRecords(output), batch, "src_addr");
    }),
    { numRuns: 8 },
  );
});

Deno.test("buildProbeRows() counts and lists rejected rows, and fails when there are too many", async () => {
  using folder = new TemporaryFolder();
  writeParquet(folder.at("in.parquet"), sampleBatch({ numRows: 1000, numBad: 40 }));
  const options = { ...PROBE_ROWS_OPTIONS, inputs: [folder.at("in.parquet")], output: folder.at("out") };
  await assertRejects(
    () => buildProbeRows({ ...options, maxRejectRatio: 0.03 }),
    UserError,
    "40 of 1000 rows were rejected",
  );
  // The same command with a higher limit continues in the same folder.
  const result = await buildProbeRows(options);
  assertEquals(result.rejected, { unparseableAddress: 40 });
  assertEquals(result.inputRows, 1000);
  const lines = Deno.readTextFileSync(folder.at("out/rejects.jsonl")).trimEnd().split("\n");
  assertEquals(lines.length, 40);
  assertEquals(JSON.parse(lines[39]).row, 39);
  const manifest = JSON.parse(Deno.readTextFileSync(folder.at("out/manifest.json")));
  assertEquals(manifest.complete, true);
  assertEquals(manifest.rejected, { unparseableAddress: 40 });
  const hashes = folderHashes(folder.at("out"));
  for (const { path, sha256 } of manifest.outputs) assertEquals(hashes[path], sha256);
  assertEquals(manifest.outputs.length + 1, Object.keys(hashes).length);
});

Deno.test("shard and probe-rows report splits without measurements", async () => {
  using folder = new TemporaryFolder();
  const batch = sampleBatch({ numRows: 100 });
  batch.srcAddr.fill(batch.srcAddr[0]);
  batch.ipVersion.fill(batch.ipVersion[0]);
  batch.dstAddr.fill(batch.dstAddr[0]);
  writeParquet(folder.at("in.parquet"), batch);
  const input = ["--input", folder.at("in.parquet"), "--output"];
  for (const stage of ["probe-rows", "shard"]) {
    const { stdout } = await succeed(stage, ...input, folder.at(stage));
    assertMatch(
      stdout,
      /^nothing is in (train|val|test) and (val|test): split by row or time \(--split-by\)/m,
    );
    const byRow = await succeed(stage, ...input, folder.at(`${stage}-row`), "--split-by", "row");
    assert(!byRow.stdout.includes("nothing is in"));
  }
  // Shards are in splits already, whose shares only shard knows.
  const ofShards = await succeed("probe-rows", "--input", folder.at("shard"), "--output", folder.at("rows"));
  assert(!ofShards.stdout.includes("nothing is in"));
});

Deno.test("probe-rows, shard and pretokenize list rejected rows by reason, and splits by time report outliers", async () => {
  using folder = new TemporaryFolder();
  const batch = sampleBatch({ numRows: 1000, numBad: 3 });
  batch.eventTimeUs[10] = Date.UTC(2099, 0) * 1000;
  batch.eventTimeUs[11] = Date.UTC(1995, 0) * 1000;
  writeParquet(folder.at("in.parquet"), batch);
  const input = ["--input", folder.at("in.parquet"), "--output"];
  const byTime = ["--split-by", "time"];
  const reasons = "4 rejected (timeInFuture 1, unparseableAddress 3)";
  const far =
    /^98 % of the rows are from 2025-06-24\S+ to 2025-07-21\S+, the others from 1995-01-01T00:00:00Z to /m;
  // The second run has nothing to do.
  for (const stage of ["probe-rows", "shard", "shard"]) {
    const { stdout } = await succeed(stage, ...input, folder.at(stage), ...byTime);
    assertStringIncludes(stdout, reasons);
    assertMatch(stdout, far);
    const rows = [...stdout.matchAll(/^(?:train|val|test) +(\d+) /gm)].map(([, count]) => Number(count));
    assertEquals(rows.reduce((sum, count) => sum + count, 0), 996);
    rows.forEach((count, i) => assertAlmostEquals(count / 996, [0.8, 0.1, 0.1][i], 0.01));
  }
  const { stdout } = await succeed("pretokenize", ...input, folder.at("tokens"), "--vocab", "v1");
  assertStringIncludes(stdout, reasons);
});

Deno.test("buildProbeRows() rejects rows without a probe id when grouping by it", async () => {
  using folder = new TemporaryFolder();
  const batch = sampleBatch({ numRows: 100 });
  for (const row of [3, 50]) if (batch.prbId) batch.prbId[row] = NaN;
  batch.srcAddr[7] = "nowhere";
  writeParquet(folder.at("in.parquet"), batch);
  const options = { ...PROBE_ROWS_OPTIONS, inputs: [folder.at("in.parquet")], output: folder.at("out") };
  const result = await buildProbeRows({ ...options, groupBy: "prb_id" });
  assertEquals(result.rejected, { nullValue: 2, unparseableAddress: 1 });
  const lines = Deno.readTextFileSync(folder.at("out/rejects.jsonl")).trimEnd().split("\n");
  assertEquals(lines.map((line) => JSON.parse(line).row), [3, 50, 7]);
  assertEquals(lines.map((line) => JSON.parse(line).detail), ["prb_id", "prb_id", "nowhere"]);
});

Deno.test("a row of an address has the number of its probe if the file tells it, and -1 for several probes", async () => {
  using folder = new TemporaryFolder();
  const batch = sampleBatch({ numRows: 300 });
  const { srcAddr, prbId = new Float64Array() } = batch;
  const probes = new Map<string, number | undefined>(srcAddr.map((address, row) => [address, prbId[row]]));
  const byAddress = [...Map.groupBy(srcAddr.keys(), (row) => srcAddr[row])];
  const [nat, unknown, partly] = byAddress.sort(([, a], [, b]) => b.length - a.length);
  prbId[nat[1][0]] = 7;
  probes.set(nat[0], -1);
  unknown[1].forEach((row, i) => prbId[row] = i % 2 === 0 ? NaN : -9);
  probes.set(unknown[0], undefined);
  prbId[partly[1][0]] = NaN;
  writeParquet(folder.at("in.parquet"), batch);
  const options = { ...PROBE_ROWS_OPTIONS, inputs: [folder.at("in.parquet")], output: folder.at("out") };
  assertEquals((await buildProbeRows(options)).rejected, {});
  const rows = await readRecords(folder.at("out"));
  for (const row of rows) assertEquals(probeOf(row), probes.get(row.srcAddrs[0]), row.srcAddrs[0]);
  assertEquals(rows.filter(({ prbId }) => prbId === undefined).length, 1);
});

Deno.test("buildProbeRows() names a missing column and leaves an empty folder", async () => {
  using folder = new TemporaryFolder();
  const { prbId: _none, ...batch } = sampleBatch({ numRows: 100 });
  writeParquet(folder.at("in.parquet"), batch);
  const options = { ...PROBE_ROWS_OPTIONS, inputs: [folder.at("in.parquet")], output: folder.at("out") };
  const error = await assertRejects(() => buildProbeRows({ ...options, groupBy: "prb_id" }), FormatError);
  assertMatch(error.message, /: column prb_id is missing .*; use --group-by src_addr, [^\n]+$/);
  assertEquals(folderHashes(folder.at("out")), {});
  await buildProbeRows(options);
});

Deno.test("buildProbeRows() rejects a row size that is too small or too large for the memory", async () => {
  for (const maxRowSizeBytes of [8191, 2.6e8]) {
    const options = { ...PROBE_ROWS_OPTIONS, inputs: [], output: "nowhere", maxRowSizeBytes };
    await assertRejects(() => buildProbeRows(options), UsageError, "--max-row-size-mb");
  }
});

Deno.test("buildProbeRows() fails when an input changes meanwhile", async () => {
  using folder = new TemporaryFolder();
  const input = folder.at("in.parquet");
  for (const [i, moment] of ["reading", "writing"].entries()) {
    writeParquet(input, sampleBatch({ numRows: 2000 }));
    const options = { ...PROBE_ROWS_OPTIONS, inputs: [input], output: folder.at(`out${i}`) };
    const onProgress = (phase: string) => {
      if (phase === moment) Deno.utimeSync(input, new Date(), new Date(2001, 1, 1));
    };
    await assertRejects(
      () => buildProbeRows(options, { onProgress }),
      UserError,
      "changed while it was read",
    );
    await buildProbeRows({ ...options, overwrite: true });
  }
});

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
import { succeed } from "../../cli/process.ts";
import { join } from "@std/path";
import { FormatError, UsageError, UserError } from "../../../lib/base/errors.ts";
import type { MeasurementBatch } from "../../../lib/data/formats/batch.ts";
import { buildProbeRows, RECORD_OVERHEAD_BYTES, RowCutter } from "../../../lib/data/probe_rows/probe_rows.ts";
import { shardMeasurements } from "../../../lib/data/probe_rows/shard.ts";
import { listSplitInputs, SPLIT_MODES, SPLIT_NAMES } from "../../../lib/data/probe_rows/splits.ts";
import { ArrayRecordReader } from "../../../lib/io/array_record/reader.ts";
import {
  decodeProbeRow,
  encodeProbeRow,
  type ProbeRow,
  probeRowSrcId,
} from "../../../lib/data/probe_rows/probe_row.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { folderHashes, PROBE_ROWS_OPTIONS } from "./stage_fixtures.ts";
import { sampleBatch, writeParquet } from "./sample_parquet.ts";
import {
  makeGroup,
  nameColumns,
  type ProbeColumns,
  probeSchema,
} from "../../../lib/data/probe_rows/external_sort/probe_columns.ts";
import { addressToWords, KeyKind, KeyTable } from "../../../lib/data/probe_rows/external_sort/keys.ts";
import { makeColumn } from "../../../lib/data/probe_rows/external_sort/spill.ts";
import { parseAddress } from "../../../lib/data/addresses/ip.ts";

/** So little that partitions hold at most 1,024 rows and larger sources are sorted on disk. */
const TINY_MEMORY_BYTES = 1e5;

async function readRecords(folder: string, split: string): Promise<ProbeRow[]> {
  const rows: ProbeRow[] = [];
  const names = [...Deno.readDirSync(join(folder, split))].map(({ name }) => name).sort();
  for (const name of names) {
    const path = join(folder, split, name);
    const reader = await ArrayRecordReader.open(path);
    for (const record of reader) rows.push(decodeProbeRow(record.slice(), { path }));
    reader.close();
  }
  return rows;
}

type Measurement = string;

/** The measurements of each source, by src_id, in the order in which they stand. */
function bySource(rows: ProbeRow[]): Map<bigint, Measurement[]> {
  const sources = new Map<bigint, Measurement[]>();
  for (const row of rows) {
    const list = sources.get(row.srcId) ?? [];
    sources.set(row.srcId, list);
    for (let i = 0; i < row.eventTimeUs.length; i++) {
      const src = row.srcAddrs[row.srcIndex[i]];
      const dst = row.dstAddrs[row.dstIndex[i]];
      list.push(`${row.eventTimeUs[i]} ${src} ${dst} ${row.ipVersion[i]} ${row.rttMs[i]}`);
    }
  }
  return sources;
}

/** The expected rows of the stage, by the plainest means: a Map and the language's stable sort. */
function reference(batch: MeasurementBatch, groupBy: "src_addr" | "prb_id"): Map<bigint, Measurement[]> {
  const groups = new Map<bigint, { timeUs: number; text: Measurement }[]>();
  for (let row = 0; row < batch.numRows; row++) {
    const src = batch.srcAddr[row];
    const key = groupBy === "src_addr" ? probeRowSrcId(src) : BigInt(batch.prbId?.[row] ?? -1);
    const list = groups.get(key) ?? [];
    groups.set(key, list);
    const timeUs = batch.eventTimeUs[row];
    const rttMs = Math.fround(batch.rttMs[row]);
    list.push({ timeUs, text: `${timeUs} ${src} ${batch.dstAddr[row]} ${batch.ipVersion[row]} ${rttMs}` });
  }
  const entries = [...groups].map(([key, list]) =>
    [key, list.sort((a, b) => a.timeUs - b.timeUs).map(({ text }) => text)] as const
  );
  return new Map(entries);
}

/** Asserts that the records hold what the reference says, with a short message where they do not. */
function assertHolds(rows: ProbeRow[], wanted: Map<bigint, Measurement[]>): void {
  const found = bySource(rows);
  assertEquals([...found.keys()].sort(), [...wanted.keys()].sort());
  for (const [source, measurements] of wanted) {
    measurements.forEach((text, i) =>
      assertEquals(found.get(source)?.[i], text, `${source}, measurement ${i}`)
    );
    assertEquals(found.get(source)?.length, measurements.length);
  }
}

Deno.test("buildProbeRows() gives each source's measurements in time order, equal times in file order", async () => {
  using folder = new TemporaryFolder();
  const batch = sampleBatch({ numRows: 20_000 });
  writeParquet(folder.at("in.parquet"), batch);
  for (const groupBy of ["src_addr", "prb_id"] as const) {
    const output = folder.at(groupBy);
    const result = await buildProbeRows({
      ...PROBE_ROWS_OPTIONS,
      inputs: [folder.at("in.parquet")],
      output,
      groupBy,
    });
    const rows = (await Promise.all(SPLIT_NAMES.map((split) => readRecords(output, split)))).flat();
    assertHolds(rows, reference(batch, groupBy));
    const { train, val, test } = result.splits;
    assertEquals(train.measurements + val.measurements + test.measurements, 20_000);
    assertEquals(train.sources + val.sources + test.sources, rows.length);
    assertEquals([train.shards, val.shards, test.shards], [4, 1, 1]);
  }
});

Deno.test("buildProbeRows() agrees with the reference on any small input and memory limit", async () => {
  const inputs = fc.record({
    numRows: fc.integer({ min: 0, max: 300 }),
    numProbes: fc.integer({ min: 1, max: 20 }),
    seed: fc.nat(1000),
    isTiny: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(inputs, async ({ numRows, numProbes, seed, isTiny }) => {
      using folder = new TemporaryFolder();
      const batch = sampleBatch({ numRows, numProbes, seed });
      writeParquet(folder.at("in.parquet"), batch);
      const limits = isTiny ? { memoryLimitBytes: TINY_MEMORY_BYTES, maxRowSizeBytes: 12_000 } : {};
      const options = {
        ...PROBE_ROWS_OPTIONS,
        ...limits,
        inputs: [folder.at("in.parquet")],
        output: folder.at("out"),
      };
      await buildProbeRows(options);
      const rows = (await Promise.all(SPLIT_NAMES.map((split) => readRecords(options.output, split)))).flat();
      assertHolds(rows, reference(batch, "src_addr"));
    }),
    { numRuns: 10 },
  );
});

Deno.test("buildProbeRows() writes the same bytes whatever the memory limit, also when a source exceeds it", async () => {
  using folder = new TemporaryFolder();
  writeParquet(folder.at("in.parquet"), sampleBatch({ numRows: 20_000 }));
  for (const groupBy of ["src_addr", "prb_id"] as const) {
    const options = {
      ...PROBE_ROWS_OPTIONS,
      inputs: [folder.at("in.parquet")],
      groupBy,
      maxRowSizeBytes: 12_000,
    };
    await buildProbeRows({ ...options, output: folder.at(`${groupBy}-large`) });
    await buildProbeRows({
      ...options,
      output: folder.at(`${groupBy}-tiny`),
      memoryLimitBytes: TINY_MEMORY_BYTES,
    });
    assertEquals(folderHashes(folder.at(`${groupBy}-tiny`)), folderHashes(folder.at(`${groupBy}-large`)));
  }
});

Deno.test("buildProbeRows() cuts a long history at the row size, in time order", async () => {
  using folder = new TemporaryFolder();
  const batch = sampleBatch({ numRows: 20_000 });
  writeParquet(folder.at("in.parquet"), batch);
  const options = {
    ...PROBE_ROWS_OPTIONS,
    inputs: [folder.at("in.parquet")],
    output: folder.at("out"),
    maxRowSizeBytes: 20_000,
  };
  const result = await buildProbeRows({ ...options, compression: "none" });
  const rows = await readRecords(options.output, "train");
  assert(result.splits.train.records > result.splits.train.sources);
  const pieces = Map.groupBy(rows, (row) => row.srcId);
  const longest = [...pieces.values()].sort((a, b) => b.length - a.length)[0];
  assert(longest.length > 5, "the large source is cut");
  for (let i = 1; i < longest.length; i++) {
    assertLessOrEqual(longest[i - 1].eventTimeUs.at(-1), longest[i].eventTimeUs[0]);
  }
  const all = (await Promise.all(SPLIT_NAMES.map((split) => readRecords(options.output, split)))).flat();
  assertHolds(all, reference(batch, "src_addr"));
});

Deno.test("buildProbeRows() writes the same records from shard's folders as from the file itself", async () => {
  using folder = new TemporaryFolder();
  writeParquet(folder.at("in.parquet"), sampleBatch({ numRows: 5_000 }));
  for (const mode of SPLIT_MODES) {
    const plan = { mode, ratios: [0.8, 0.1, 0.1], seed: 5 } as const;
    const common = { ...PROBE_ROWS_OPTIONS, seed: 5 };
    const shards = folder.at(`${mode}-shards`);
    await shardMeasurements({
      ...common,
      inputs: [folder.at("in.parquet")],
      output: shards,
      splitBy: mode,
      ratios: plan.ratios,
      numShards: [7, 2, 3],
    });
    const { files, splitOfFile } = listSplitInputs([shards]);
    assert(splitOfFile);
    assertEquals(files.length, 12);
    await buildProbeRows({
      ...common,
      inputs: files,
      output: folder.at(`${mode}-a`),
      splits: { splitOfFile },
    });
    await buildProbeRows({
      ...common,
      inputs: [folder.at("in.parquet")],
      output: folder.at(`${mode}-b`),
      splits: { plan },
    });
    const records = (name: string) => {
      const { "manifest.json": _inputsDiffer, ...hashes } = folderHashes(folder.at(name));
      return hashes;
    };
    assertEquals(records(`${mode}-a`), records(`${mode}-b`));
    assertEquals(Object.keys(records(`${mode}-a`)).length, 6);
  }
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
  // The same command with a higher limit goes on in the same folder.
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

Deno.test("probe-rows, shard and pretokenize list rejected rows by reason, and a split by time tells far times", async () => {
  using folder = new TemporaryFolder();
  const batch = sampleBatch({ numRows: 1000, numBad: 3 });
  batch.eventTimeUs[10] = Date.UTC(2099, 0) * 1000;
  batch.eventTimeUs[11] = Date.UTC(1995, 0) * 1000;
  writeParquet(folder.at("in.parquet"), batch);
  const input = ["--input", folder.at("in.parquet"), "--output"];
  const byTime = ["--split-by", "time"];
  const reasons = "4 rejected (timeInFuture 1, unparseableAddress 3)";
  const far =
    /^98 % of the rows are from 2025-06-24\S+ to 2025-07-21\S+, others are from 1995-01-01T00:00:00Z to /m;
  for (const stage of ["probe-rows", "shard"]) {
    const { stdout } = await succeed(stage, ...input, folder.at(stage), ...byTime);
    assertStringIncludes(stdout, reasons);
    assertMatch(stdout, far);
    const rows = [...stdout.matchAll(/^(?:train|val|test) +(\d+) /gm)].map(([, count]) => Number(count));
    assertEquals(rows.reduce((sum, count) => sum + count, 0), 996);
    rows.forEach((count, i) => assertAlmostEquals(count / 996, [0.8, 0.1, 0.1][i], 0.01));
    // Also when there is nothing to do.
    const again = await succeed(stage, ...input, folder.at(stage), ...byTime);
    assertStringIncludes(again.stdout, reasons);
    assertMatch(again.stdout, far);
  }
  const { stdout } = await succeed("pretokenize", ...input, folder.at("tokens"), "--vocab", "v1");
  assertStringIncludes(stdout, reasons);
});

Deno.test("buildProbeRows() rejects rows without a probe id when grouped by it", async () => {
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

Deno.test("buildProbeRows() names the column that is missing and leaves an empty folder", async () => {
  using folder = new TemporaryFolder();
  const { prbId: _none, ...batch } = sampleBatch({ numRows: 100 });
  writeParquet(folder.at("in.parquet"), batch);
  const options = { ...PROBE_ROWS_OPTIONS, inputs: [folder.at("in.parquet")], output: folder.at("out") };
  const error = await assertRejects(() => buildProbeRows({ ...options, groupBy: "prb_id" }), FormatError);
  assertMatch(error.message, /: column prb_id is missing .*; use --group-by src_addr, [^\n]+$/);
  assertEquals(folderHashes(folder.at("out")), {});
  await buildProbeRows(options);
});

Deno.test("buildProbeRows() refuses a row size that is too small or too large for the memory", async () => {
  for (const maxRowSizeBytes of [8191, 2.6e8]) {
    const options = { ...PROBE_ROWS_OPTIONS, inputs: [], output: "nowhere", maxRowSizeBytes };
    await assertRejects(() => buildProbeRows(options), UsageError, "--max-row-size-mb");
  }
});

Deno.test("buildProbeRows() fails when an input changes under way", async () => {
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

const WHERE = { path: "test" };

/** `numRows` measurements from 10.0.0.1 to `numDestinations` addresses in turn, a second apart. */
function columnsOf(numRows: number, numDestinations: number): ProbeColumns {
  const keys = new KeyTable();
  const columns = nameColumns(probeSchema("src_addr").map((column) => makeColumn(column, numRows)), keys);
  for (let row = 0; row < numRows; row++) {
    const destination = row % numDestinations;
    columns.timeUs[row] = 1e15 + row * 1e6;
    columns.rttMs[row] = row % 7 === 0 ? -1 : row / 8;
    columns.src[row] = keys.idOf(Uint32Array.of(0, 0, 0, 0x0a000001), 0, KeyKind.IPV4);
    columns.dst[row] = keys.idOf(Uint32Array.of(0, 0, 0, 0xc0000000 + destination), 0, KeyKind.IPV4);
  }
  return columns;
}

function cut(
  columns: ProbeColumns,
  numRows: number,
  maxBytes: number,
): { records: Uint8Array[]; rows: ProbeRow[] } {
  const records: Uint8Array[] = [];
  const cutter = new RowCutter(maxBytes, (row) => records.push(encodeProbeRow(row)));
  cutter.beginGroup(makeGroup(columns.keys, columns.group[0], 0));
  for (let row = 0; row < numRows; row++) cutter.push(columns, row);
  cutter.flush();
  return { records, rows: records.map((record) => decodeProbeRow(record, WHERE)) };
}

Deno.test("RowCutter cuts at measurement boundaries in time order and keeps every record below the limit", () => {
  for (const numDestinations of [1, 50, 5000]) {
    for (const maxBytes of [2 * RECORD_OVERHEAD_BYTES, 20_000, 100_000]) {
      const columns = columnsOf(5000, numDestinations);
      const { records, rows } = cut(columns, 5000, maxBytes);
      assert(records.length > 1);
      records.forEach((record, i) => {
        assertLessOrEqual(record.length, maxBytes);
        // All but the last are as full as the reckoning of the overhead allows.
        if (i < records.length - 1) {
          assert(record.length > maxBytes - RECORD_OVERHEAD_BYTES, `${record.length}`);
        }
      });
      assertEquals(rows.flatMap((row) => Array.from(row.eventTimeUs)), Array.from(columns.timeUs));
      assertEquals(rows.flatMap((row) => Array.from(row.rttMs)), Array.from(columns.rttMs));
    }
  }
});

Deno.test("RowCutter starts a new record with each group, with dictionaries of its own", () => {
  const columns = columnsOf(6, 3);
  const bytes = parseAddress("2001:db8::5");
  assert(bytes);
  const { keys } = columns;
  const words = new Uint32Array(4);
  for (let row = 3; row < 6; row++) {
    addressToWords(bytes, words, 0);
    columns.src[row] = keys.idOf(words, 0, KeyKind.IPV6);
    columns.dst[row] = keys.idOf(Uint32Array.of(0, 0, 0, 0xc0000000 + row - 3), 0, KeyKind.IPV6);
  }
  const rows: ProbeRow[] = [];
  const cutter = new RowCutter(8e6, (row) => rows.push(decodeProbeRow(encodeProbeRow(row), WHERE)));
  for (let row = 0; row < 6; row++) {
    if (row % 3 === 0) cutter.beginGroup(makeGroup(keys, columns.group[row], 0));
    cutter.push(columns, row);
  }
  cutter.flush();
  cutter.flush();
  assertEquals(rows.map((row) => row.srcAddrs), [["10.0.0.1"], ["2001:db8::5"]]);
  assertEquals(rows.map((row) => row.srcId), ["10.0.0.1", "2001:db8::5"].map(probeRowSrcId));
  assertEquals(Array.from(rows[1].ipVersion), [6, 6, 6]);
  assertEquals(rows[1].dstAddrs, ["::c000:0", "::c000:1", "::c000:2"]);
});

Deno.test("RowCutter names a group of prb_id by the probe id and lists all its addresses", () => {
  const columns = columnsOf(3, 3);
  const { keys } = columns;
  columns.src[2] = keys.idOf(Uint32Array.of(0, 0, 0, 0x0a000002), 0, KeyKind.IPV4);
  const rows: ProbeRow[] = [];
  const cutter = new RowCutter(8e6, (row) => rows.push(decodeProbeRow(encodeProbeRow(row), WHERE)));
  cutter.beginGroup(makeGroup(keys, keys.idOf(Uint32Array.of(0, 0, 2, 6042), 0, KeyKind.PROBE), 0));
  for (let row = 0; row < 3; row++) cutter.push(columns, row);
  cutter.flush();
  assertEquals(rows[0].srcId, (2n << 32n) + 6042n);
  assertEquals(rows[0].srcAddrs, ["10.0.0.1", "10.0.0.2"]);
  assertEquals(Array.from(rows[0].srcIndex), [0, 0, 1]);
});

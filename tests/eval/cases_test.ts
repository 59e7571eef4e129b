import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { drawCases, type EvalCase, queryOf } from "../../lib/eval/cases.ts";
import { type EvalRows, findTruthFile, openEvalRows, splitModeOf } from "../../lib/eval/eval_rows.ts";
import type { ProbeRow } from "../../lib/data/probe_rows/probe_row.ts";
import { UserError } from "../../lib/base/errors.ts";
import { FAILED_RTT_MS } from "../../lib/data/formats/batch.ts";
import { SPLIT_MODES } from "../../lib/data/probe_rows/splits.ts";
import { newManifest, writeManifest } from "../../lib/io/files/manifest.ts";
import { decodeRttCode } from "../../lib/data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../lib/data/tokens/vocab_v2.ts";
import { MemoryRowSource, syntheticRows } from "../data/loader/synthetic_rows.ts";
import { meshRow } from "./sections/mesh_rows.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

/** A row of a source with one address. Measurements are [seconds, last byte of the destination, ms or -1]. */
function rowOf(srcId: bigint, measurements: [timeS: number, destination: number, rttMs: number][]): ProbeRow {
  const row = meshRow(`10.0.0.${srcId}`, measurements.map(([timeS, to, ms]) => [`192.0.2.${to}`, ms, timeS]));
  return { ...row, srcId };
}

function rowsOf(rows: Partial<Record<"heldOut" | "training" | "others", ProbeRow[]>>): EvalRows {
  return {
    heldOut: new MemoryRowSource(rows.heldOut ?? []),
    training: new MemoryRowSource(rows.training ?? []),
    others: [new MemoryRowSource(rows.others ?? [])],
    history: "all",
  };
}

const timesOf = (measurements: readonly TokenMeasurement[]) => measurements.map(({ timeS }) => timeS);
const caseAt = (cases: readonly EvalCase[], timeS: number) => {
  const found = cases.find(({ measurement }) => measurement.timeS === timeS);
  assert(found, `no case at ${timeS}`);
  return found;
};

Deno.test("queryOf() selects the newest measurements of the pair, then the newest others", async () => {
  const history: [number, number, number][] = [
    [1, 7, 5],
    [2, 8, 5],
    [3, 7, 5],
    [4, 8, 5],
    [5, 9, 5],
    [6, 7, 5],
    [7, 8, 5],
  ];
  const rows = rowsOf({ heldOut: [rowOf(1n, [[9, 7, 5]])], training: [rowOf(1n, history)] });
  const [drawn] = await drawCases(rows, { count: 9, maxContext: 20, seed: 1 });
  const contexts = [0, 1, 2, 3, 4, 5, 6, 7, 20].map((count) => timesOf(queryOf(drawn, count).context));
  assertEquals(contexts, [
    [],
    [6],
    [3, 6],
    [1, 3, 6],
    [1, 3, 6, 7],
    [1, 3, 5, 6, 7],
    [1, 3, 4, 5, 6, 7],
    [1, 2, 3, 4, 5, 6, 7],
    [1, 2, 3, 4, 5, 6, 7],
  ]);
});

Deno.test("drawCases() returns the same contexts for any maxContext", async () => {
  const rows = rowsOf({ heldOut: syntheticRows(3, 6, 60), training: syntheticRows(3, 6, 90) });
  const small = await drawCases(rows, { count: 100, maxContext: 7, seed: 1 });
  const large = await drawCases(rows, { count: 100, maxContext: 1000, seed: 1 });
  assertEquals(small.length, 100);
  small.forEach((drawn, i) => {
    assert(drawn.history.length <= 2 * 7);
    for (const count of [0, 1, 2, 5, 7]) {
      assertEquals(queryOf(drawn, count).context, queryOf(large[i], count).context);
    }
    const times = timesOf(large[i].history);
    assert(times.every((timeS, j) => j === 0 || Number(timeS) >= Number(times[j - 1])), "oldest first");
  });
});

Deno.test("drawCases() includes earlier measurements of the source from all splits or only from training", async () => {
  const parts = {
    heldOut: [rowOf(1n, [[20, 7, 3], [50, 7, -1]]), rowOf(2n, [[45, 7, 5]])],
    training: [rowOf(1n, [[10, 7, 1], [60, 7, 1]]), rowOf(3n, [[11, 7, 1]])],
    others: [rowOf(1n, [[30, 7, 2], [50, 7, 2]])],
  };
  const all = await drawCases(rowsOf(parts), { count: 10, maxContext: 10, seed: 1 });
  assertEquals(timesOf(caseAt(all, 50).history), [10, 20, 30]);
  assertEquals(timesOf(caseAt(all, 20).history), [10]);
  assertEquals(timesOf(caseAt(all, 45).history), []);
  const codes = caseAt(all, 50).history.map(({ rttCode }) =>
    rttCode === null ? null : decodeRttCode(rttCode)
  );
  assertEquals(codes.map((ms) => Math.round(ms ?? -1)), [1, 3, 2]);
  const known = { ...rowsOf(parts), history: "train" as const };
  const ofTraining = await drawCases(known, { count: 10, maxContext: 10, seed: 1 });
  assertEquals(timesOf(caseAt(ofTraining, 50).history), [10]);
});

Deno.test("drawCases() returns the ends, result and history of each case", async () => {
  const rows = rowsOf({ heldOut: [rowOf(4n, [[20, 7, 3], [50, 8, -1]])] });
  const cases = await drawCases(rows, { count: 10, maxContext: 10, seed: 1 });
  const { sourceKey, srcAddr, dstAddr, rttMs, measurement } = caseAt(cases, 50);
  assertEquals([sourceKey, srcAddr, dstAddr, rttMs], ["4", "10.0.0.4", "192.0.2.8", null]);
  assertEquals(measurement.rttCode, null);
  assertEquals([...measurement.destination], [192, 0, 2, 8]);
  assertEquals(caseAt(cases, 20).rttMs, 3);
  assertEquals(timesOf(caseAt(cases, 50).history), [20]);
});

Deno.test("drawCases() draws measurements uniformly, and reproducibly by seed", async () => {
  const rows = rowsOf({
    heldOut: [rowOf(1n, [[1, 7, 1], [2, 7, 1], [3, 7, 1]]), rowOf(2n, []), rowOf(3n, [[4, 7, 1]])],
  });
  const counts = new Map<number, number>();
  for (let seed = 0; seed < 400; seed++) {
    for (const { measurement } of await drawCases(rows, { count: 2, maxContext: 1, seed })) {
      counts.set(measurement.timeS, (counts.get(measurement.timeS) ?? 0) + 1);
    }
  }
  // Each is drawn with probability 1/2: standard deviation 10 of 200.
  for (const timeS of [1, 2, 3, 4]) assert(Math.abs((counts.get(timeS) ?? 0) - 200) < 40, `${timeS}`);
  const many = rowsOf({ heldOut: syntheticRows(1, 20, 30) });
  const draw = (seed: number) => drawCases(many, { count: 20, maxContext: 3, seed });
  assertEquals(await draw(5), await draw(5));
  assertNotEquals(await draw(5), await draw(6));
});

Deno.test("openEvalRows() rejects rows with an unknown split mode", async () => {
  using folder = new TemporaryFolder();
  const options = { splitBy: "folders", groupBy: "src_addr" };
  const manifest = { ...newManifest({ stage: "probe-rows", inputs: [], options }), complete: true };
  writeManifest(folder.at("manifest.json"), manifest);
  await assertRejects(
    () => openEvalRows(folder.path, { split: "test" }),
    UserError,
    `Cannot choose the history of ${folder.path}: no manifest records how it was split`,
  );
});

Deno.test("splitModeOf() returns the split mode of rows or of the shards they were made from", () => {
  using folder = new TemporaryFolder();
  const write = (name: string, options: Record<string, unknown>, inputs: string[] = []) => {
    Deno.mkdirSync(folder.at(name), { recursive: true });
    const fingerprints = inputs.map((path) => ({ path: folder.at(path), sizeBytes: 1, mtimeMs: 1 }));
    const manifest = newManifest({ stage: "any", inputs: fingerprints, options });
    writeManifest(folder.at(`${name}/manifest.json`), { ...manifest, complete: true });
    return splitModeOf(folder.at(name));
  };
  for (const splitBy of SPLIT_MODES) {
    assertEquals(write(`own-${splitBy}`, { splitBy }), splitBy);
    write(`shards-${splitBy}`, { splitBy });
    const parts = ["train", "test"].map((split) => `shards-${splitBy}/${split}/shard-00000.parquet`);
    assertEquals(write(`of-${splitBy}`, { splitBy: "folders" }, parts), splitBy);
  }
  const mixed = ["shards-time/train/a.parquet", "shards-pair/test/b.parquet"];
  assertEquals(write("mixed", { splitBy: "folders" }, mixed), undefined);
  assertEquals(write("gone", { splitBy: "folders" }, ["nowhere/train/a.parquet"]), undefined);
  assertEquals(splitModeOf(folder.path), undefined);
});

function writeFolder(folder: TemporaryFolder, name: string, inputs: string[]): void {
  Deno.mkdirSync(folder.at(name), { recursive: true });
  const described = inputs.map((path) => ({ path: folder.at(path), sizeBytes: 0, mtimeMs: 0 }));
  const manifest = newManifest({ stage: name, inputs: described, options: {} });
  writeManifest(folder.at(`${name}/manifest.json`), { ...manifest, complete: true });
}

Deno.test("findTruthFile() finds the truth beside the measurements, also through shards", () => {
  using folder = new TemporaryFolder();
  Deno.writeTextFileSync(folder.at("a.truth.json"), "{}");
  writeFolder(folder, "shards", ["a.parquet"]);
  writeFolder(folder, "rows", ["shards/train/shard-00000.parquet", "shards/test/shard-00000.parquet"]);
  writeFolder(folder, "direct", ["a.parquet"]);
  writeFolder(folder, "shards/pair", ["shards/train/shard-00000.parquet"]);
  writeFolder(folder, "nested", ["shards/pair/train/shard-00000.parquet"]);
  assertEquals(findTruthFile(folder.at("nested")), folder.at("a.truth.json"));
  assertEquals(findTruthFile(folder.at("rows")), folder.at("a.truth.json"));
  assertEquals(findTruthFile(folder.at("direct")), folder.at("a.truth.json"));
});

Deno.test("findTruthFile() finds nothing if there are no or several truth files", () => {
  using folder = new TemporaryFolder();
  writeFolder(folder, "rows", ["a.parquet", "b.parquet"]);
  assertEquals(findTruthFile(folder.at("rows")), undefined);
  assertEquals(findTruthFile(folder.at("nowhere")), undefined);
  for (const name of ["a", "b"]) Deno.writeTextFileSync(folder.at(`${name}.truth.json`), "{}");
  assertEquals(findTruthFile(folder.at("rows")), undefined);
});

Deno.test("drawCases() forecasts a reply by the pair's other replies in the split, if there are any", async () => {
  const [pair, other] = ["198.51.100.1", "198.51.100.2"];
  const held = [[pair, 10], [pair, 14], [pair, 30], [pair, FAILED_RTT_MS], [other, 50]] as const;
  const rows: EvalRows = {
    heldOut: new MemoryRowSource([
      meshRow("192.0.2.1", held.map(([destination, rttMs], i) => [destination, rttMs, 100 + i])),
    ]),
    training: new MemoryRowSource([meshRow("192.0.2.1", [[pair, 99, 1], [other, 99, 2]])]),
    others: [],
    history: "all",
  };
  const cases = await drawCases(rows, { count: held.length, maxContext: 0, seed: 0 });
  assertEquals(cases.map(({ ofPair }) => ofPair), [
    { medianMs: 14, crpsMs: (4 + 20) / 4 },
    { medianMs: 10, crpsMs: (4 + 16) / 4 },
    { medianMs: 10, crpsMs: (20 + 16) / 4 },
    undefined,
    undefined,
  ]);
});

import { assert, assertEquals, assertThrows } from "@std/assert";
import { fromFileUrl } from "@std/path";
import {
  describeScaling,
  describeThroughputs,
  readEarlierRun,
  scalingOf,
  throughputOf,
} from "../../../lib/cli/bench/throughput.ts";
import { FormatError, UserError } from "../../../lib/base/errors.ts";
import { runProgram, runStageProcess, succeeded } from "../process.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";
import { writeAtlasLines } from "../../../lib/cli/bench/data_stages.ts";
import { synthesize } from "../../../lib/data/synth/synthesize.ts";
import { joinBatches, readAll } from "../../data/measurement_files/batches.ts";

const usage = (seconds: number, cpuSeconds: number, peakMemoryBytes: number) => ({
  seconds,
  cpuSeconds,
  peakMemoryBytes,
});

Deno.test("throughputOf() uses the median time and the peak memory", () => {
  const row = throughputOf({ name: "shard", unit: "rows/s", work: 1000 }, [
    usage(4, 8, 10),
    usage(1, 5, 30),
    usage(2, 4, 20),
  ]);
  assertEquals([row.median, row.slowest, row.fastest, row.repetitions], [500, 250, 1000, 3]);
  assertEquals([row.perCore, row.seconds, row.cpuSeconds, row.peakMemoryBytes], [200, 2, 5, 30]);
});

Deno.test("describeThroughputs() prints one line per measure, with the ratio to an earlier run", () =>
  withFolder((folder) => {
    const rows = [
      throughputOf({ name: "synth", unit: "rows/s", work: 2e6, bytesWritten: 1500 }, [usage(2, 1, 3e8)]),
      throughputOf({ name: "loader", unit: "tokens/s", work: 5e6, padding: 0.0017 }, [usage(1, 1, 2e8)]),
    ];
    const path = `${folder}/earlier.json`;
    Deno.writeTextFileSync(path, JSON.stringify({ rows: [{ name: "synth", median: 5e5 }] }));
    const lines = describeThroughputs(rows, readEarlierRun(path)).split("\n");
    assertEquals(lines.length, 3);
    for (const cell of ["1.00 M", "rows/s", "2.00 M", "2.00 s", "300 MB", "1500 B", "2.00 x"]) {
      assert(lines[1].includes(cell), `${cell} in ${lines[1]}`);
    }
    assert(lines[2].includes("0.17 %") && !lines[2].includes(" x"), lines[2]);
    // Each size is compared with the same size.
    const sized = (dataRows: number, seconds: number) =>
      throughputOf({ name: "shard", dataRows, unit: "rows/s", work: dataRows }, [
        usage(seconds, seconds, 1e8),
      ]);
    Deno.writeTextFileSync(path, JSON.stringify({ rows: [sized(1000, 1), sized(10_000, 20)] }));
    const table = describeThroughputs([sized(1000, 2), sized(10_000, 5)], readEarlierRun(path));
    const [, small, large] = table.split("\n");
    assert(small.includes("0.50 x") && large.includes("4.00 x"), table);
    Deno.writeTextFileSync(path, "[]");
    assertThrows(() => readEarlierRun(path), FormatError, "bench --json");
    assertThrows(() => readEarlierRun(`${folder}/none.json`), UserError, "none.json");
  }));

Deno.test("measureUsage() separates processor time from waiting, and returns the work's result", async () => {
  // In a separate process: processor time counts all threads, including those that run other tests.
  const child = await succeeded(runProgram([fromFileUrl(new URL("usage_child.ts", import.meta.url))]));
  const { result, waiting, busy } = JSON.parse(child.stdout);
  assertEquals(result, 7);
  assert(waiting.seconds >= 0.29 && waiting.cpuSeconds < 0.25, JSON.stringify(waiting));
  assert(busy.seconds >= 0.2 && busy.cpuSeconds > 0.02 && busy.peakMemoryBytes > 10e6, JSON.stringify(busy));
});

Deno.test("scalingOf() compares each stage with its next smaller size", () => {
  const measure = (name: string, work: number, seconds: number, memory: number) =>
    throughputOf({ name, unit: "rows/s", work }, [usage(seconds, 2 * seconds, memory)]);
  const rows = [
    measure("a", 100, 1, 10),
    measure("b", 100, 1, 10),
    measure("a", 1000, 20, 15),
    measure("a", 2000, 20, 15),
  ];
  const scaling = scalingOf(rows);
  assertEquals(scaling.map(({ name, fromRows, toRows }) => [name, fromRows, toRows]), [
    ["a", 100, 1000],
    ["a", 1000, 2000],
  ]);
  assertEquals(
    scaling.map(({ speedRatio, perCoreRatio, memoryRatio }) => [speedRatio, perCoreRatio, memoryRatio]),
    [[0.5, 0.5, 1.5], [2, 2, 1]],
  );
  assertEquals(describeScaling(scaling).split("\n")[1], "a       100 to 1000  0.50 x    0.50 x       1.50 x");
});

Deno.test("writeAtlasLines() writes results that import converts back to the same measurements", () =>
  withFolder(async (folder) => {
    const [made, lines, imported] = [
      `${folder}/made.parquet`,
      `${folder}/lines.jsonl`,
      `${folder}/i.parquet`,
    ];
    await synthesize(made, { seed: 2, rows: 3000, probes: 20, destinations: 10, days: 2, ipv6Share: 0.4 });
    const { numRows, numBytes } = await writeAtlasLines(made, lines, 2500);
    assertEquals([numRows, numBytes], [2500, Deno.statSync(lines).size]);
    await succeeded(runStageProcess(["import", "--input", lines, "--output", imported]));
    const [wanted, found] = [
      joinBatches((await readAll([made])).batches),
      joinBatches((await readAll([imported])).batches),
    ];
    assertEquals(found.numRows, 2500);
    const firstRows = (values: Float64Array | undefined) => values?.subarray(0, 2500);
    assertEquals(found.srcAddr, wanted.srcAddr.slice(0, 2500));
    assertEquals(found.dstAddr, wanted.dstAddr.slice(0, 2500));
    for (const key of ["eventTimeUs", "msmId", "prbId", "sizeBytes", "packetErrorCount"] as const) {
      assertEquals(found[key], firstRows(wanted[key]), key);
    }
    for (const [row, rttMs] of found.rttMs.entries()) {
      assert(Math.abs(rttMs - wanted.rttMs[row]) <= 1e-6, `${rttMs} instead of ${wanted.rttMs[row]}`);
    }
  }));

import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { readEarlierRun } from "../../lib/bench/earlier_run.ts";
import { describeThroughputs, throughputOf } from "../../lib/bench/throughput.ts";
import { measureUsage } from "../../lib/bench/usage.ts";
import { FormatError, UserError } from "../../lib/errors.ts";
import { withFolder } from "../measurement/batches.ts";

const usage = (seconds: number, cpuSeconds: number, peakMemoryBytes: number) => ({
  seconds,
  cpuSeconds,
  peakMemoryBytes,
});

Deno.test("throughputOf() takes the median time, and the largest memory", () => {
  const row = throughputOf({ name: "shard", unit: "rows/s", work: 1000 }, [
    usage(4, 8, 10),
    usage(1, 5, 30),
    usage(2, 4, 20),
  ]);
  assertEquals([row.median, row.slowest, row.fastest, row.repetitions], [500, 250, 1000, 3]);
  assertEquals([row.perCore, row.seconds, row.cpuSeconds, row.peakMemoryBytes], [200, 2, 5, 30]);
  const two = throughputOf({ name: "shard", unit: "rows/s", work: 1000 }, [usage(1, 1, 1), usage(3, 3, 1)]);
  assertEquals([two.seconds, two.median], [2, 500]);
});

Deno.test("describeThroughputs() gives a line a measure, with the ratio to an earlier run", () =>
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
    Deno.writeTextFileSync(path, "[]");
    assertThrows(() => readEarlierRun(path), FormatError, "bench --json");
    assertThrows(() => readEarlierRun(`${folder}/none.json`), UserError, "none.json");
  }));

Deno.test("measureUsage() counts processor time apart from waiting, and hands on what the work gave", async () => {
  const waiting = await measureUsage(async () => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    return 7;
  });
  assertEquals(waiting.result, 7);
  assert(waiting.usage.seconds >= 0.29 && waiting.usage.cpuSeconds < 0.25, JSON.stringify(waiting.usage));
  const busy = await measureUsage(() => {
    const startMs = performance.now();
    let sum = 0;
    while (performance.now() - startMs < 200) sum += Math.sqrt(sum + 1);
    return Promise.resolve(sum);
  });
  assert(busy.usage.cpuSeconds > 0.02 && busy.usage.peakMemoryBytes > 10e6, JSON.stringify(busy.usage));
  assertAlmostEquals(busy.usage.seconds, 0.2, 0.15);
});

import { assert, assertEquals } from "@std/assert";
import type { Scaling, Throughput } from "../../../lib/cli/bench/throughput.ts";
import { fromFileUrl } from "@std/path";
import { runProgram, succeeded } from "../process.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

const MAIN = fromFileUrl(new URL("../../../tasks/main.ts", import.meta.url));

async function runBench(args: string[]): Promise<{ rows: Throughput[]; scaling: Scaling[]; stderr: string }> {
  const { stdout, stderr } = await succeeded(runProgram(["--allow-run", MAIN, "bench", ...args]));
  return { ...JSON.parse(stdout), stderr };
}

const COMMON = ["--rows", "3000", "--probes", "20", "--destinations", "10", "--json"];

Deno.test("bench preprocess times every stage and removes its files", () =>
  withFolder(async (folder) => {
    const { rows, stderr } = await runBench([
      "preprocess",
      ...COMMON,
      "--import-rows",
      "500",
      "--repeats",
      "2",
      "--folder",
      folder,
    ]);
    assertEquals(rows.map(({ name, work }) => [name, work]), [
      ["synth", 3000],
      ["import", 500],
      ["shard", 3000],
      ["probe-rows", 3000],
    ]);
    for (const { median, slowest, fastest, repetitions, perCore, peakMemoryBytes, bytesWritten } of rows) {
      assert(slowest <= median && median <= fastest && repetitions === 2 && perCore > 0);
      assert(peakMemoryBytes > 50e6 && (bytesWritten ?? 0) > 1000);
    }
    assert(stderr.includes("MB/s per core"), stderr);
    assertEquals([...Deno.readDirSync(folder)], []);
  }));

Deno.test("bench preprocess compares the sizes of --rows in ascending order", async () => {
  const { rows, scaling } = await runBench([
    "preprocess",
    ...COMMON.with(COMMON.indexOf("--rows") + 1, "4_000,2000"),
  ]);
  assertEquals(rows.map(({ name, dataRows, work }) => [name, dataRows, work]), [
    ...[["synth", 2000, 2000], ["import", 2000, 200], ["shard", 2000, 2000], ["probe-rows", 2000, 2000]],
    ...[["synth", 4000, 4000], ["import", 4000, 400], ["shard", 4000, 4000], ["probe-rows", 4000, 4000]],
  ]);
  assertEquals(scaling.map(({ name, fromRows, toRows }) => [name, fromRows, toRows]), [
    ["synth", 2000, 4000],
    ["import", 200, 400],
    ["shard", 2000, 4000],
    ["probe-rows", 2000, 4000],
  ]);
});

Deno.test("bench loader reports speed and padding of first and later epochs by workers and row sizes", async () => {
  const { rows } = await runBench([
    "loader",
    ...COMMON,
    "--seconds",
    "0.1",
    "--sequence-length",
    "256",
    "--loader-workers",
    "0,2",
  ]);
  const loaders = ["synth", "short rows", "mixed rows"].flatMap((mix) =>
    [0, 2].flatMap((workers) =>
      ["first epoch", "later"].map((time) => `loader, ${mix}, ${workers} workers, ${time}: tokens/s`)
    )
  );
  assertEquals(rows.map(({ name, unit }) => `${name}: ${unit}`), [
    ...loaders,
    "synth: rows/s",
    "probe-rows: rows/s",
  ]);
  const measured = rows.slice(0, loaders.length);
  assert(measured.every(({ work, padding = 1 }) => work >= 32 * 256 && padding < 0.2));
  // The loaded data do not depend on the number of workers.
  const firstEpochs = measured.filter(({ name }) => name.endsWith("first epoch"));
  for (let i = 0; i < firstEpochs.length; i += 2) {
    assertEquals(firstEpochs[i].work, firstEpochs[i + 1].work);
    assertEquals(firstEpochs[i].padding, firstEpochs[i + 1].padding);
  }
});

/** Runs each bench once at its smallest size, with the commands of deno.json. @module */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import config from "../../deno.json" with { type: "json" };
import { outputOf } from "../cli/process.ts";
import { withFolder } from "../io/files/temporary_folder.ts";
import type { StepEnd } from "./gpu_steps.ts";
import type { Throughput } from "./throughput.ts";

const SERIES = "tests/data/changes/17783.csv.gz";
const DATA = ["--rows", "1000", "--probes", "20", "--destinations", "10"];
const SETTINGS = ["--set", "model.numLayers=1", "train.microBatchSize=1", "train.batchSize=2"];

function run(task: keyof typeof config.tasks, args: readonly string[], env: Record<string, string> = {}) {
  const [, ...words] = config.tasks[task].command.replace("DENO_NO_UPDATE_CHECK=1 ", "").split(" ");
  const options = {
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1", ...env },
  } as const;
  return outputOf(new Deno.Command(Deno.execPath(), { ...options, args: [...words, ...args] }).spawn());
}

async function jsonOf(...args: Parameters<typeof run>) {
  const { code, stdout, stderr } = await run(args[0], [...args[1], "--json"], args[2]);
  assertEquals(code, 0, stderr);
  return JSON.parse(stdout);
}

Deno.test("deno task bench times every kernel, a step of training and scores", async () => {
  const { benches } = await jsonOf("bench", [], { BENCH_SMALL: "1" });
  const names = benches.map(({ name, results: [result] }: { name: string; results: object[] }) =>
    "ok" in result ? name : `${name} failed`
  );
  assertEquals(names.filter((name: string) => name.endsWith("failed")), []);
  for (const part of ["gemm NT", "attention backward", "adamw", "training step of demo", "score of 8 rows"]) {
    assert(names.some((name: string) => name.includes(part)), `${part} in ${names}`);
  }
});

Deno.test("bench:preprocess times every stage, compares with an earlier run and removes its files", () =>
  withFolder(async (folder) => {
    const compare = join(folder, "earlier.json");
    Deno.writeTextFileSync(compare, JSON.stringify({ rows: [{ name: "synth", dataRows: 1000, median: 1 }] }));
    const args = [
      ...DATA,
      "--compare",
      compare,
      "--import-rows",
      "500",
      "--repeats",
      "2",
      "--folder",
      join(folder, "work"),
    ];
    const json: { rows: Throughput[] } = await jsonOf("bench:preprocess", args);
    assertEquals(json.rows.map(({ name, work }) => [name, work]), [
      ["synth", 1000],
      ["import", 500],
      ["shard", 1000],
      ["probe-rows", 1000],
    ]);
    for (const { median, slowest, fastest, perCore, peakMemoryBytes, bytesWritten = 0 } of json.rows) {
      assert(slowest <= median && median <= fastest && perCore > 0);
      assert(peakMemoryBytes > 50e6 && bytesWritten > 1000);
    }
    assertEquals([...Deno.readDirSync(join(folder, "work"))], []);
  }));

Deno.test("bench:loader loads the same tokens by any number of workers", async () => {
  const args = [...DATA, "--seconds", "0.1", "--sequence-length", "128", "--loader-workers", "0,1"];
  const { rows }: { rows: Throughput[] } = await jsonOf("bench:loader", args);
  const first = rows.filter(({ name }) => name.endsWith("first epoch"));
  const ofWorkers = (workers: string) =>
    first.filter(({ name }) => name.includes(workers)).map(({ work, padding }) => [work, padding]);
  assertEquals(first.length, 6);
  assertEquals(ofWorkers("0 workers"), ofWorkers("1 worker,"));
});

Deno.test("bench:peers reports missing programs, and measures this one in any case", async () => {
  const args = ["--only", "PyTorch", "--seconds", "0.1", ...SETTINGS];
  const { comparisons, missing, tokensPerS } = await jsonOf("bench:peers", args);
  assertEquals(comparisons.length + missing.length, 1);
  if (missing.length > 0) assertMatch(missing[0], /^Cannot compare with PyTorch f32: .*python3/);
  assert((comparisons[0]?.median ?? tokensPerS) > 0);
});

Deno.test("bench:changes compares changes with labels, and cross-validates settings", () =>
  withFolder(async (folder) => {
    for (const name of ["a", "b"]) Deno.copyFileSync(SERIES, join(folder, `${name}.csv.gz`));
    const output = join(folder, "changes.jsonl");
    const args = ["--input", folder, "--output", output, "--settings", "2", "--folds", "2"];
    const { series, medians, crossValidation } = await jsonOf("bench:changes", args);
    assertEquals(series.map(({ numRows }: { numRows: number }) => numRows), [1646, 1646]);
    assert(medians.f2 >= 0.85 && crossValidation.mean > 0);
    assertEquals(Deno.readTextFileSync(output).trim().split("\n").length, 2);
  }));

Deno.test("bench:gpu measures each kind of step, and writes gpu.json as it goes", () =>
  withFolder(async (folder) => {
    // Peers are measured above, and Dawn need not be installed.
    const args = ["--only", "^(?!beside|.*dawn)", "--max-time", "60m", ...SETTINGS];
    const json: { steps: StepEnd[] } = await jsonOf("bench:gpu", [...args, "--output", folder]);
    assertEquals(json.steps.filter(({ reason }) => reason !== undefined), []);
    assertEquals(
      [...new Set(json.steps.map(({ part }) => part.kind))],
      ["adapter", "checks", "training", "kernels", "decoding", "products"],
    );
    const refused = await run("bench:gpu", ["--output", folder]);
    assertEquals([refused.code, refused.stderr.match(/^error: .*--overwrite$/m)?.length], [1, 1]);
    const late = await run("bench:gpu", ["--output", folder, "--overwrite", "--max-time", "0.001s"]);
    assertEquals(late.code, 0, late.stderr);
    const { steps }: typeof json = JSON.parse(Deno.readTextFileSync(join(folder, "gpu.json")));
    assert(steps.every(({ reason }) => reason === "the time limit was reached"));
  }));

Deno.test("a bench reports a wrong option in one line", async () => {
  const { code, stdout, stderr } = await run("bench:loader", ["--rows", "many"]);
  assertEquals([code, stdout], [2, ""]);
  assertMatch(stderr, /^error: [^\n]*--rows[^\n]*\n$/);
});

/** A model with vocabulary v1 in real processes: trained, resumed, queried, evaluated, refused. */
import { assert, assertEquals, assertLess, assertNotEquals, assertStringIncludes } from "@std/assert";
import { runStageProcess, succeed } from "../cli/process.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { metricsOf, tensorHashes, TrainingRuns, writeTrainingRows } from "./training_runs.ts";

const folder = new TemporaryFolder();
const runs = new TrainingRuns(folder.path);
const [run, measurements] = [folder.at("float64"), folder.at("synth.parquet")];
const LENGTH = ["--config", "v1-100m", "--steps", "12"];

Deno.test.beforeAll(async () => {
  await writeTrainingRows(runs.data);
  await succeed("synth", "--rows", "20", "--probes", "3", "--output", measurements);
  await succeed(...runs.arguments(run, {}, ...LENGTH));
});

Deno.test.afterAll(() => folder[Symbol.dispose]());

async function refusal(...args: string[]): Promise<[code: number, line: string]> {
  const { code, stderr } = await runStageProcess(args);
  const [line, ...others] = stderr.trim().split("\n").filter((each) => each.startsWith("error"));
  assertEquals([others, stderr.includes("    at ")], [[], false], stderr);
  return [code, line];
}

const likelihood = async (checkpoint: string): Promise<Record<string, number>[]> => {
  const args = [
    "--checkpoint",
    checkpoint,
    "--input",
    measurements,
    "--order",
    "time,source,destination,result",
  ];
  const { stdout } = await succeed("query", "likelihood", ...args);
  return stdout.trim().split("\n").map((line) => JSON.parse(line).orders[0].block_bits);
};

Deno.test("train with vocabulary v1 learns, and ends as if uninterrupted when killed and resumed with workers", async () => {
  const losses = metricsOf(run).map((record) => record["train/loss"] ?? NaN);
  assertLess(losses[11], losses[0] - 1);
  assertLess(metricsOf(run)[9]["eval/loss"] ?? NaN, Math.log(266) - 1);
  const killed = folder.at("killed");
  await runs.signalAtStep(killed, 8, { signals: ["SIGKILL"], more: LENGTH });
  await succeed(...runs.arguments(killed, {}, ...LENGTH, "--workers", "2"));
  assertEquals(tensorHashes(killed, 12), tensorHashes(run, 12));
  assertEquals(metricsOf(killed), metricsOf(run));
});

Deno.test("train with vocabulary v1 accepts every RTT encoding, and query likelihood uses the model's", async () => {
  const ofFloat64 = await likelihood(run);
  assertEquals(ofFloat64.length, 20);
  for (const name of ["fixed", "log", "clipped"]) {
    const other = folder.at(name);
    await succeed(...runs.arguments(other, { "model.rttEncoding": name }, ...LENGTH));
    assertNotEquals(tensorHashes(other, 12), tensorHashes(run, 12));
    const bits = await likelihood(other);
    // Six of the eight bytes of `log` are always 0; of `fixed` and `clipped` at least four.
    const mean = (all: Record<string, number>[]) =>
      all.reduce((sum, { result }) => sum + result, 0) / all.length;
    assertLess(mean(bits), mean(ofFloat64));
  }
});

Deno.test("eval with vocabulary v1 reports bits only, with a note", async () => {
  const args = [
    ...["eval", "--checkpoint", run, "--data", runs.data, "--output", folder.at("eval")],
    ...["--split", "val", "--history", "all", "--max-measurements", "30"],
  ];
  const { stdout, stderr } = await succeed(...args);
  assertStringIncludes(stdout + stderr, "models with vocabulary v1 are evaluated only by bits");
  const report = JSON.parse(Deno.readTextFileSync(folder.at("eval/report.json")));
  assertEquals(Object.keys(report), ["bits", "run"]);
  assert(report.bits.withTimes.fieldBits.result > 1);
  assertStringIncludes(Deno.readTextFileSync(folder.at("eval/report.html")), "RttStart byte 8");
  const again = await succeed(...args);
  assertStringIncludes(again.stderr, "the same evaluation was made before");
});

Deno.test("commands that need vocabulary v2 refuse a v1 model with a one-line error", async () => {
  const of = ["--checkpoint", run];
  for (
    const [args, wanted] of [
      [["query", "rtt", ...of, "--src", "10.0.0.1", "--dst", "10.0.0.2"], "vocabulary v1, expected v2"],
      [["query", "sample", ...of], "vocabulary v1, expected v2"],
      [["query", "destinations", ...of, "--src", "10.0.0.1", "--rtt", "20"], "vocabulary v1, expected v2"],
      [["score", ...of, "--input", measurements, "--output", folder.at("s.parquet")], "v1, expected v2"],
      [["adapt", ...of, "--input", measurements, "--output", folder.at("a")], "no address embeddings"],
      [
        ["eval", ...of, "--data", runs.data, "--output", folder.at("e"), "--adapt", "2"],
        "no address embeddings",
      ],
      [
        ["eval", "--all-splits", measurements, "--config", "v1-100m", "--output", folder.at("all")],
        "expected v2",
      ],
      [["eval", "--all-splits", measurements, ...of, "--output", folder.at("all")], "expected v2"],
      [
        ["query", "likelihood", ...of, "--input", measurements, "--context", measurements],
        "have no context",
      ],
      [
        runs.arguments(folder.at("short"), { "model.sequenceLength": 54 }, ...LENGTH),
        "found 54, expected an integer in 55..65535",
      ],
      [runs.arguments(run, { "model.rttEncoding": "log" }, ...LENGTH), "model.rttEncoding"],
    ] as const
  ) {
    const [code, line] = await refusal(...args);
    assert(code === 1 || code === 2, line);
    assertStringIncludes(line, wanted);
  }
});

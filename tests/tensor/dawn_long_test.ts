/** Stages that run with Dawn, in real processes: in a stage's thread and in the single-file program. */
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { readManifest } from "../../lib/io/files/manifest.ts";
import { Gpu } from "../../lib/tensor/device.ts";
import { loadCheckpoint } from "../../lib/train/checkpoint.ts";
import { outputOf, type ProcessResult, runStageProcess, succeeded } from "../cli/process.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { DAWN, isDawnMissing } from "./dawn.ts";
import { TrainingRuns, writeTrainingRows } from "../train/training_runs.ts";

const FLAGS = [`--allow-ffi=${DAWN}`];
const isMissing = isDawnMissing();

/** The arguments of a query, and the numbers in its answer. */
const queryOf = (checkpoint: string) =>
  `query rtt --json --quiet --checkpoint ${checkpoint} --src 192.0.2.1 --dst 198.51.100.7`.split(" ");

async function answerOf(query: Promise<ProcessResult>): Promise<number[]> {
  const { p_failed, likeliest, mean_ms, quantiles_ms } = JSON.parse((await succeeded(query)).stdout);
  return [p_failed, likeliest.probability, mean_ms, ...Object.values<number>(quantiles_ms)];
}

async function assertSameAnswers(given: Promise<ProcessResult>, wanted: Promise<ProcessResult>) {
  const [found, expected] = await Promise.all([given, wanted].map(answerOf));
  assertEquals(expected.length, 8);
  expected.forEach((number, i) => assertAlmostEquals(found[i], number, 1e-5 * number));
}

Deno.test(
  "query --engine dawn answers as with Deno's WebGPU, within 1e-5",
  { ignore: isMissing },
  () =>
    withCheckpoint(async (_, checkpoint) => {
      await assertSameAnswers(
        runStageProcess([...queryOf(checkpoint), "--engine", "dawn"], { flags: FLAGS }),
        runStageProcess([...queryOf(checkpoint), "--engine", "deno"]),
      );
    }, { scale: 3 }),
);

Deno.test("train records its engine, and reports resuming with another one", {
  ignore: isMissing,
}, async () => {
  using folder = new TemporaryFolder();
  const runs = new TrainingRuns(folder.path);
  await writeTrainingRows(runs.data);
  const run = folder.at("run");
  const train = async (steps: number, ...more: string[]) =>
    await succeeded(runStageProcess(
      runs.arguments(run, {}, "--steps", String(steps), ...more),
      { flags: FLAGS },
    ));
  const engines = () => [
    loadCheckpoint(run).state.engine,
    readManifest(join(run, "manifest.json"))?.options.engine,
    /engine<\/td><td>(\w+)/.exec(Deno.readTextFileSync(join(run, "report.html")))?.[1],
  ];
  const first = await train(2, "--engine", "dawn");
  assertStringIncludes(first.stderr, "engine: Dawn, as chosen\n");
  assertEquals(engines(), ["dawn", "dawn", "dawn"]);
  const second = await train(4, "--engine", "deno", "--resume-from", run);
  assertStringIncludes(second.stderr, "trained with the engine dawn; continuing with deno");
  assertEquals(engines(), ["deno", "deno", "deno"]);
  assertEquals(loadCheckpoint(run).state.step, 4);
});

Deno.test(
  "compile --dawn builds a program whose stages run with Dawn",
  { ignore: isMissing },
  () =>
    withCheckpoint(async (folder, checkpoint) => {
      const program = join(folder, "ping-llm");
      await succeeded(
        runStageProcess(["compile", "--dawn", "--output", program], { flags: ["--allow-run"] }),
      );
      const spawn = (engine: string) =>
        outputOf(
          new Deno.Command(program, {
            args: [...queryOf(checkpoint), "--engine", engine],
            env: { HOME: folder, XDG_CACHE_HOME: join(folder, "some cache"), NO_COLOR: "1" },
            stdout: "piped",
            stderr: "piped",
          }).spawn(),
        );
      await succeeded(spawn("deno"));
      await assertSameAnswers(spawn("dawn"), spawn("deno"));
    }),
);

Deno.test("Dawn's timestamps are not rounded", {
  ignore: isMissing || Deno.permissions.querySync({ name: "ffi", path: DAWN }).state !== "granted",
}, async () => {
  using gpu = await Gpu.open({ engine: "dawn" });
  const { device } = gpu;
  const querySet = device.createQuerySet({ type: "timestamp", count: 2 });
  const buffer = device.createBuffer({
    size: 16,
    usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC,
  });
  const encoder = device.createCommandEncoder();
  encoder.beginComputePass({
    timestampWrites: { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 },
  }).end();
  encoder.resolveQuerySet(querySet, 0, 2, buffer, 0);
  device.queue.submit([encoder.finish()]);
  const [words] = await gpu.read({ label: "timestamps", shape: [4], dtype: "f32", offsetBytes: 0, buffer });
  assert(new BigUint64Array(words.buffer, 0, 2).some((timeNs) => timeNs % 2n ** 16n !== 0n));
});

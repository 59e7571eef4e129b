/** Stages on matrix units, in real processes; `deno task test:matrix` has a software adapter with them. */
import { assert, assertAlmostEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { readMetrics } from "../../lib/train/metrics.ts";
import { runStageProcess, succeeded } from "../cli/process.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { TrainingRuns, writeTrainingRows } from "../train/training_runs.ts";

const isMissing = !Deno.env.has("MATRIX_DENO");
if (isMissing) {
  console.log("skipped: no adapter with matrix units was named; deno task test:matrix makes one");
}

const FLAGS = [`--allow-ffi=${fromFileUrl(new URL("../../lib/tensor/dawn", import.meta.url))}`];

Deno.test(
  "30 steps of train in f16 and a query on matrix units come close to f32",
  { ignore: isMissing },
  async () => {
    using folder = new TemporaryFolder();
    const runs = new TrainingRuns(folder.path);
    await writeTrainingRows(runs.data);
    const process = { flags: FLAGS };
    const outcomes = await Promise.all(
      [["f16", "dawn"], ["f32", "deno"]].map(async ([dtype, engine]) => {
        const run = folder.at(dtype);
        const settings = { "train.dtype": dtype };
        const options = ["--steps", "30", "--engine", engine];
        const { stderr } = await succeeded(
          runStageProcess(runs.arguments(run, settings, ...options), process),
        );
        const query =
          `query rtt --json --quiet --checkpoint ${run} --src 192.0.2.1 --dst 198.51.100.7 --engine ${engine}`;
        const { stdout } = await succeeded(runStageProcess(query.split(" "), process));
        const losses = readMetrics(join(run, "metrics.jsonl")).map((record) => Number(record["train/loss"]));
        return { stderr, losses, answer: JSON.parse(stdout) };
      }),
    );
    const [half, full] = outcomes;
    assertStringIncludes(half.stderr, "engine: Dawn, as chosen\n");
    const [first, last] = [half.losses[0], half.losses.at(-1) ?? NaN];
    assert(last < 0.9 * first, `the loss went from ${first} to ${last}`);
    assertAlmostEquals(last, full.losses.at(-1) ?? NaN, 0.02 * last);
    const [a, b] = outcomes.map(({ answer }) => answer.mean_ms);
    assertAlmostEquals(a, b, 0.1 * b);
  },
);

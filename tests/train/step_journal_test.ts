import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { Gpu } from "../../lib/tensor/device.ts";
import { openMetrics, readMetrics } from "../../lib/train/metrics.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { SimulatedTime } from "../simulated_time.ts";
import { StepJournal } from "../../lib/train/step_journal.ts";

/** Runs `work` with a journal whose device numbers the test sets. */
async function withJournal(
  options: { logEverySteps: number },
  work: (
    journal: StepJournal,
    submit: (step: number, lossSum: number, norm: number) => void,
    setLossScale: (scale: number) => void,
  ) => Promise<void>,
): Promise<ReturnType<typeof readMetrics>> {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  using gpu = await Gpu.open();
  const lossSum = gpu.tensor("loss sum", [1]);
  const gradientNorm = gpu.tensor("gradient norm", [1]);
  const lossScale = gpu.tensor("loss scale", [1]);
  const sources = { lossSum, gradientNorm, ...(work.length > 2 ? { lossScale } : {}) };
  const path = join(folder, "metrics.jsonl");
  using scalars = openMetrics(path, 0);
  const journal = new StepJournal(gpu, sources, { scalars, ...options });
  await work(journal, (step, loss, norm) => {
    gpu.write(lossSum, Float32Array.of(loss));
    gpu.write(gradientNorm, Float32Array.of(norm));
    journal.submitted({ step, numTargets: 4, numTokens: 8, numPaddingTokens: 2, learningRate: step / 8 });
  }, (scale) => gpu.write(lossScale, Float32Array.of(scale)));
  return readMetrics(path);
}

Deno.test("StepJournal writes each step's own numbers though they are read later, in one go", async () => {
  using time = new SimulatedTime();
  const records = await withJournal({ logEverySteps: 1 }, async (journal, submit) => {
    for (let step = 1; step <= 5; step++) submit(step, step, 10 * step);
    assertEquals(journal.lastLoss, null);
    time.pass(2000);
    await journal.settle();
    journal.write();
    assertEquals(journal.lastLoss, 5 / 4);
    assertEquals(journal.padding, 0.25);
    assertEquals(journal.tokensPerSecond, 5 * 8 / 2);
  });
  assertEquals(records.map((record) => record["train/loss"]), [0.25, 0.5, 0.75, 1, 1.25]);
  assertEquals(records.map((record) => record["train/grad_norm"]), [10, 20, 30, 40, 50]);
  assertEquals(records.map((record) => record["train/lr"]), [0.125, 0.25, 0.375, 0.5, 0.625]);
  assertAlmostEquals(records[0]["train/padding"] ?? 0, 0.25);
});

Deno.test("StepJournal.write() keeps every n-th step and those with an evaluation", async () => {
  const records = await withJournal({ logEverySteps: 3 }, async (journal, submit) => {
    for (let step = 1; step <= 7; step++) submit(step, step, 1);
    await journal.settle();
    journal.annotate("eval/loss", 2.5);
    journal.write();
    journal.write();
  });
  assertEquals(records.map(({ step }) => step), [3, 6, 7]);
  assertEquals(records[2]["eval/loss"], 2.5);
});

Deno.test("StepJournal counts non-finite steps, in total and in a row", async () => {
  const records = await withJournal({ logEverySteps: 1 }, async (journal, submit) => {
    submit(1, 4, 1);
    submit(2, NaN, 1);
    submit(3, 4, Infinity);
    await journal.settle();
    assertEquals(journal.state.numSkippedInRow, 2);
    submit(4, 4, 1);
    submit(5, Infinity, NaN);
    await journal.settle();
    assertEquals(journal.state.numSkippedInRow, 1);
    assertEquals(journal.state.numSkippedSteps, 3);
    assertEquals(journal.state.losses.map(({ loss }) => loss), [1, null, 1, 1, null]);
    journal.write();
  });
  assertEquals(records.map((record) => record["train/skipped_steps"]), [0, 1, 2, 2, 3]);
});

Deno.test("StepJournal counts no steps in a row while a smaller loss scale can be tried", async () => {
  const records = await withJournal({ logEverySteps: 1 }, async (journal, submit, lossScale) => {
    const seen: number[] = [];
    for (const [i, [loss, norm, scale]] of [[4, NaN, 4], [4, NaN, 2], [4, NaN, 1], [NaN, NaN, 4]].entries()) {
      lossScale(scale);
      submit(i + 1, loss, norm);
      await journal.settle();
      seen.push(journal.state.numSkippedInRow);
    }
    assertEquals(seen, [0, 0, 1, 2]);
    assertEquals(journal.state.numSkippedSteps, 4);
    journal.write();
  });
  assertEquals(records.map((record) => record["train/loss_scale"]), [4, 2, 1, 4]);
});

Deno.test("StepJournal is due when its ring is full, and after a second", async () => {
  using time = new SimulatedTime();
  await withJournal({ logEverySteps: 1 }, async (journal, submit) => {
    let step = 0;
    while (!journal.isDue) submit(++step, 1, 1);
    assertEquals(step, 32);
    await journal.settle();
    assert(!journal.isDue);
    assertEquals(journal.state.losses.length, step);
    submit(++step, 1, 1);
    time.pass(1000);
    assert(!journal.isDue);
    time.pass(1);
    assert(journal.isDue);
  });
});

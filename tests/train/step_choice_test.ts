import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { FormatError, InterruptedError } from "../../lib/base/errors.ts";
import { loadCheckpoint } from "../../lib/train/checkpoint.ts";
import { loadConfig } from "../../lib/train/run_config.ts";
import { endsOf, StepChoice } from "../../lib/train/step_choice.ts";
import { train, type TrainResult } from "../../lib/train/trainer.ts";
import { SMALL, SMALL_RUN } from "./small_run.ts";
import { writeTrainingRows } from "./training_runs.ts";
import { withFolder } from "../io/files/temporary_folder.ts";

Deno.test("a run may end after its first steps, each doubling of them and all steps", () => {
  assertEquals(endsOf({ steps: 1000, firstSteps: 77 }), [77, 154, 308, 616, 1000]);
  assertEquals(endsOf({ steps: 616, firstSteps: 77 }), [77, 154, 308, 616]);
  assertEquals(endsOf({ steps: 50, firstSteps: null }), [50]);
  assertEquals(endsOf({ steps: 50, firstSteps: 80 }), [50]);
});

Deno.test("a run continues while any kind improves, and chooses the end that is best over all kinds", () =>
  withFolder((folder) => {
    const path = join(folder, "choice.json");
    const choice = new StepChoice(path, 0);
    assert(choice.add({ step: 10, errors: { pair: 20, time: 1 } }));
    assert(choice.add({ step: 20, errors: { pair: 15, time: 1.1 } }));
    // Better than the previous end, but not than all.
    assert(!choice.add({ step: 40, errors: { pair: 15, time: 1.05 } }));
    assertEquals(choice.choose(), 40);
    assertEquals(new StepChoice(path, 40).chosen, 40);
    // Results after the step that a run resumes from do not count, nor does a choice that it reverts.
    const resumed = new StepChoice(path, 20);
    assertEquals([resumed.chosen, resumed.ends.map(({ step }) => step)], [null, [10, 20]]);
    assertEquals(new StepChoice(path, 40, { isMade: false }).chosen, null);
    assertEquals(new StepChoice(path, 0).ends, []);
    // More steps matter only if the last end was better than all before.
    assertEquals(new StepChoice(path, 40, { hasMoreSteps: true }).chosen, 40);
    assert(choice.add({ step: 80, errors: { pair: 12, time: 2 } }));
    assertEquals(choice.choose(), 40);
    assertEquals(new StepChoice(path, 40).chosen, 40);
    const longer = new StepChoice(path, 40, { hasMoreSteps: true });
    assertEquals([longer.chosen, longer.ends.map(({ step }) => step)], [null, [10, 20, 40]]);
    Deno.writeTextFileSync(path, "{}");
    assertThrows(() => new StepChoice(path, 20), FormatError, "--fresh");
  }));

Deno.test("train() continues while validation improves and chooses the best end, also when interrupted", () =>
  withFolder(async (folder) => {
    const dataDir = join(folder, "rows");
    await writeTrainingRows(dataDir);
    const errors: Record<string, number>[] = [{ a: 4, b: 2 }, { a: 3, b: 2 }, { a: 3, b: 3 }, { a: 1, b: 1 }];
    const choosing = ["steps=100", "firstSteps=8", "checkpointEverySteps=5", "keepCheckpoints=1"];
    const small = Object.entries(SMALL).map(([key, value]) => `${key}=${value}`);
    const config = loadConfig(SMALL_RUN, [...small, ...choosing.map((each) => `train.${each}`)]);
    const validated: number[] = [];
    const run = (name: string, stopAt = Infinity): Promise<TrainResult> => {
      const controller = new AbortController();
      return train({
        config,
        seed: 0,
        dataDir,
        runDir: join(folder, name),
        signal: controller.signal,
        onProgress: ({ step }) => {
          if (step >= stopAt) controller.abort(new InterruptedError("SIGINT"));
        },
        validate: (checkpoint) => {
          const { step } = loadCheckpoint(checkpoint).state;
          if (step === stopAt) throw new Deno.errors.Interrupted();
          validated.push(step);
          return Promise.resolve(errors[Math.log2(step / 8)]);
        },
      });
    };
    const { status, step, checkpoint } = await run("whole");
    assertEquals([status, step, validated], ["done", 16, [8, 16, 32]]);
    assertEquals(loadCheckpoint(join(folder, "whole")).directory, checkpoint);
    assertEquals((await run("whole")).status, "already done");
    assertEquals(validated.length, 3);

    await assertRejects(() => run("stopped", 5), InterruptedError);
    await assertRejects(() => run("stopped", 8), Deno.errors.Interrupted);
    await assertRejects(() => run("stopped", 20), InterruptedError);
    await assertRejects(() => run("stopped", 32), Deno.errors.Interrupted);
    assertEquals((await run("stopped")).step, 16);
    const weightsOf = (name: string) => loadCheckpoint(join(folder, name)).state.files.model.sha256;
    assertEquals(weightsOf("stopped"), weightsOf("whole"));

    // Without validation the run ends after its first steps.
    const alone = await train({ config, seed: 0, dataDir, runDir: join(folder, "alone") });
    assertEquals([alone.status, alone.step], ["done", 8]);
  }));

import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { listCheckpoints } from "../../lib/train/checkpoint.ts";
import { loadConfig } from "../../lib/train/run_config.ts";
import { train } from "../../lib/train/trainer.ts";
import { withFolder } from "../io/files/temporary_folder.ts";
import { SMALL, SMALL_RUN } from "./small_run.ts";
import { writeTrainingRows } from "./training_runs.ts";

/** Steps are settled every four. */
const LENGTH = { "train.steps": 5000, "train.evalEverySteps": 4 };
/** Seconds that a run should take, and that 32 of its steps take. */
const [MAX_TIME_S, SETTLED_S] = [100, 20];
/** The number of steps that fill nine tenths of the time left after a tenth at that speed. */
const FITTING_STEPS = 0.91 * MAX_TIME_S * 32 / SETTLED_S;

for (const { name, lookMs } of [{ name: "few", lookMs: 2000 }, { name: "many", lookMs: 20 }]) {
  Deno.test(`a time-limited run corrects its steps when a wrong first measurement planned too ${name}`, () =>
    withFolder(async (folder) => {
      const dataDir = join(folder, "rows");
      await writeTrainingRows(dataDir);
      const small = Object.entries({ ...SMALL, ...LENGTH }).map(([key, value]) => `${key}=${value}`);
      // The clock stands still, except at each reading while measuring, and by 20 s for 32 settled steps.
      const { now } = performance;
      let nowMs = 0;
      let isMeasuring = false;
      performance.now = () => nowMs += isMeasuring ? lookMs : 0;
      try {
        const lines: string[] = [];
        const given = { config: loadConfig(SMALL_RUN, small), seed: 0, dataDir, runDir: join(folder, "run") };
        const timed = { ...given, fitsTime: true, maxTimeS: MAX_TIME_S };
        const { status, step, steps } = await train({
          ...timed,
          onLog: (line) => {
            lines.push(line);
            if (line.startsWith("measuring")) isMeasuring = true;
            if (/^[\d.]+ k?\s?tokens.s: /.test(line)) [isMeasuring, nowMs] = [false, 0];
          },
          onProgress: ({ step }) => nowMs = step / 32 * 1000 * SETTLED_S,
        });
        const [planned] = lines.flatMap((line) => /^run: (\d+) steps/.exec(line)?.slice(1).map(Number) ?? []);
        assertEquals([status, step], ["done", steps]);
        assert(lines.some((line) => line.includes(` instead of ${planned} steps fill 1 min 40 s`)));
        assert(Math.abs(steps - FITTING_STEPS) <= 0.15 * FITTING_STEPS, `${steps} steps`);
        assert(name === "few" ? planned < steps : planned > steps);
        // The schedule and the checkpoint use the corrected number.
        const [last] = listCheckpoints(join(given.runDir, "checkpoints")).slice(-1);
        assertEquals(last.config.train.steps, steps);
        assertEquals((await train(timed)).status, "already done");
      } finally {
        performance.now = now;
      }
    }));
}

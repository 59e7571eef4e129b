import { assert, assertEquals, assertGreater, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { ConfigError, UserError } from "../../lib/base/errors.ts";
import { fitPoolOf } from "../../lib/eval/fit_pool.ts";
import { checkpointDirectory, loadCheckpoint } from "../../lib/train/checkpoint.ts";
import { POOL_FILE } from "../../lib/train/checkpoint_files.ts";
import { readMetrics } from "../../lib/train/metrics.ts";
import { loadConfig } from "../../lib/train/run_config.ts";
import { dataFingerprint } from "../../lib/train/run_data.ts";
import { train, type TrainOptions } from "../../lib/train/trainer.ts";
import { syntheticRow, syntheticRows } from "../data/loader/synthetic_rows.ts";
import { withFolder } from "../io/files/temporary_folder.ts";
import { SMALL, SMALL_RUN } from "./small_run.ts";
import { writeRows } from "./training_runs.ts";

const SETTINGS = {
  ...SMALL,
  "model.pairVectors": '{"rows":4096,"dropShare":0.5}',
  "model.prefixVectors": '{"rows":4096}',
  "autosize": '{"passes":4,"maxPasses":8}',
};

Deno.test("a model of several campaigns with places continues with more steps, without reading files of places", () =>
  withFolder(async (folder) => {
    const [large, small] = ["large", "small"].map((name) => join(folder, name));
    const rows = [
      syntheticRows(1, 30, 20),
      Array.from({ length: 5 }, (_, i) => syntheticRow(3, 1000 + i, 20)),
    ];
    for (const [i, dir] of [large, small].entries()) await writeRows(dir, "train", rows[i]);
    await writeRows(large, "val", syntheticRows(2, 5, 20));
    const geo = join(folder, "city.csv");
    Deno.writeTextFileSync(geo, "10.0.0.0,10.0.0.255,DE,,,,,52.5,13.5,\n");
    const runDir = join(folder, "run");
    let lines: string[] = [];
    const run = (steps: number, more: Record<string, string> = {}, options: Partial<TrainOptions> = {}) => {
      lines = [];
      const sets = Object.entries({ ...SETTINGS, ...more, "train.steps": steps });
      return train({
        config: loadConfig(SMALL_RUN, sets.map(([key, value]) => `${key}=${value}`)),
        seed: 0,
        dataDir: [large, small],
        runDir,
        geo: [geo],
        onLog: (line) => lines.push(line),
        ...options,
      });
    };
    assertEquals((await run(4)).step, 4);
    const { trainingData, state } = loadCheckpoint(runDir);
    const fingerprints = await Promise.all([large, small].map(dataFingerprint));
    assertEquals(state.dataFingerprint, fingerprints.join("+"));
    const numMeasurements = rows.flat().reduce((sum, { rttMs }) => sum + rttMs.length, 0);
    assertEquals(trainingData.summary.measurements, numMeasurements);
    // The pool remembers the pairs of both.
    const remembered = async (dataDir: string | string[]) => {
      const fitting = { validationDirs: [large], maxMeasurements: 6, seed: 0 };
      const checkpoint = checkpointDirectory(runDir);
      await fitPoolOf({ checkpoint, dataDir, ...fitting });
      const { pool } = loadCheckpoint(runDir);
      Deno.removeSync(join(checkpoint, POOL_FILE));
      return pool?.get("pool.ends")?.length ?? 0;
    };
    assertGreater(await remembered([large, small]), await remembered(large));
    await assertRejects(() => run(4, {}, { dataDir: [large, large] }), UserError, "the same probe rows");

    // Not places, but of the same size.
    Deno.writeTextFileSync(geo, "x".repeat(Deno.statSync(geo).size));
    await assertRejects(() => run(4, { "model.mlpWidth": "32" }), ConfigError, "model.mlpWidth");
    await assertRejects(() => run(4, {}, { dataDir: large }), ConfigError, "config key data");
    await assertRejects(() => run(4, {}, { geo: [] }), ConfigError, "model.places");
    await assertRejects(() => run(3), UserError, "after step 4, but the run has only 3 steps");
    assertEquals(lines, []);
    assertEquals((await run(4)).status, "already done");
    assertEquals(lines, []);
    const continued = await run(8, { "train.logEverySteps": "1", "autosize.passes": "5" });
    assertEquals([continued.status, continued.step], ["done", 8]);
    assert(lines.includes("train.steps changes from 4 to 8"), lines.join("\n"));
    // The learning rate follows the schedule of all steps.
    const rates = readMetrics(join(runDir, "metrics.jsonl")).map((record) => record["train/lr"] ?? NaN);
    assertGreater(rates[4], rates[3]);
    assertEquals(rates.length, 8);
  }));

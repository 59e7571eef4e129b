import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { sha256OfTensors } from "../../lib/io/tensor_files/safetensors.ts";
import { fitPoolOf, type FittedPool } from "../../lib/eval/fit_pool.ts";
import { loadCheckpoint } from "../../lib/train/checkpoint.ts";
import { POOL_FILE } from "../../lib/train/pool_file.ts";
import { PingModel } from "../../lib/query/ping_model.ts";
import { writeTrainingRows } from "../train/training_runs.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";

Deno.test("fitPoolOf() gives a checkpoint a pool, once, the same every time, and without it is the model alone", () =>
  withCheckpoint(async (folder, run) => {
    const rows = join(folder, "rows");
    await writeTrainingRows(rows);
    const { directory, pool: none } = loadCheckpoint(run);
    assertEquals(none, undefined);
    const options = { checkpoint: directory, dataDir: rows, validationDirs: [rows], seed: 0 };
    const fit = (): Promise<FittedPool | undefined> => fitPoolOf({ ...options, maxMeasurements: 60 });
    const fitted = await fit();
    assert(fitted && fitted.numMeasurements > 20, `${fitted?.numMeasurements}`);
    // The model has random weights.
    assert(fitted.poolBits < fitted.modelBits - 1, `${fitted.poolBits} and ${fitted.modelBits} bits`);
    const checkpoint = loadCheckpoint(run);
    assert(checkpoint.pool);
    assertEquals(await fit(), undefined);
    const path = join(directory, POOL_FILE);
    Deno.removeSync(path);
    assertEquals(await fit(), fitted);
    assertEquals(sha256OfTensors(loadCheckpoint(run).pool ?? new Map()), sha256OfTensors(checkpoint.pool));
    const asked = { src: "192.0.2.1", dst: "192.0.2.2" };
    using pooled = await PingModel.from(checkpoint);
    using alone = await PingModel.from(checkpoint, { noPool: true });
    const [withPool, ofModel] = [await pooled.rttDistribution(asked), await alone.rttDistribution(asked)];
    assertAlmostEquals(withPool.pFailed, ofModel.pFailed, 1e-12);
    assert(withPool.quantileMs(0.95) < ofModel.quantileMs(0.95));
  }));

Deno.test("fitPoolOf() makes no pool where there is no validation split, or nothing to remember", () =>
  withCheckpoint(async (folder, run) => {
    const rows = join(folder, "rows");
    await writeTrainingRows(rows);
    const { directory } = loadCheckpoint(run);
    const options = { checkpoint: directory, dataDir: rows, seed: 0, maxMeasurements: 60 };
    assertEquals(await fitPoolOf({ ...options, validationDirs: [folder] }), undefined);
    Deno.removeSync(join(rows, "val"), { recursive: true });
    assertEquals(await fitPoolOf({ ...options, validationDirs: [rows] }), undefined);
    assertEquals(loadCheckpoint(run).pool, undefined);
  }));

/** A checkpoint for tests of stages that query a model: the tiny model with initial weights. @module */
import { join } from "@std/path";
import type { PlaceTable } from "../../lib/data/addresses/place_table.ts";
import { PLACE_TABLE } from "../../lib/model/model_config.ts";
import { initialParameters } from "../../lib/model/parameters.ts";
import { loadConfig } from "../../lib/train/run_config.ts";
import { dataOf } from "./adapt/tiny_rows.ts";
import { TINY_CONFIG } from "./tiny_model.ts";
import { SMALL_RUN } from "../train/small_run.ts";
import { writeUntrainedRun } from "../train/untrained_run.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

/**
 * Runs a test in a folder that contains a checkpoint of the tiny model.
 *
 * @param options `run`: the run directory within the folder (default: the folder); `scale`: a factor of the
 *   weights.
 */
export async function withCheckpoint(
  test: (folder: string, checkpoint: string) => Promise<void>,
  { vocabulary = "v2", run = ".", scale = 1, places }: {
    vocabulary?: "v1" | "v2";
    run?: string;
    scale?: number;
    /** The checkpoint's table of places (default: empty). */
    places?: PlaceTable;
  } = {},
): Promise<void> {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const { numLayers, width, numHeads, headDim, mlpWidth, sequenceLength } = TINY_CONFIG;
  const table = places?.encode();
  const placing = table &&
    {
      prefixVectors: { rows: 64 },
      places: { tableSize: table.length / 3, sources: ["dbip.csv"], dropShare: 0 },
    };
  const keys = { numLayers, width, numHeads, headDim, mlpWidth, sequenceLength, vocabulary, ...placing };
  const config = loadConfig(
    SMALL_RUN,
    Object.entries(keys).map(([key, value]) =>
      `model.${key}=${typeof value === "object" ? JSON.stringify(value) : value}`
    ),
  );
  const weights = initialParameters(config.model, 7);
  if (scale !== 1) {
    for (const values of weights.values()) values.forEach((value, i) => values[i] = value * scale);
  }
  if (table) weights.set(PLACE_TABLE, table);
  const trainingData = dataOf([["203.0.113.1", "203.0.113.2", 1]]);
  writeUntrainedRun(join(folder, run), { config, weights, trainingData });
  await test(folder, join(folder, run));
}

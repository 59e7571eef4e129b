/** A checkpoint for the tests of stages that ask a model: the tiny model with initial weights. @module */
import { join } from "@std/path";
import { parameterShapes } from "../../lib/model/model_config.ts";
import { initialParameters } from "../../lib/model/parameters.ts";
import { saveCheckpoint } from "../../lib/train/checkpoint.ts";
import { loadConfig } from "../../lib/train/run_config.ts";
import { TINY_CONFIG } from "./tiny_model.ts";
import { SMALL_RUN } from "../train/small_run.ts";

/**
 * Runs a test with a folder and a checkpoint of the tiny model in it.
 *
 * @param options `run`: the run directory in the folder (the folder itself); `scale`: what weights are multiplied by.
 */
export async function withCheckpoint(
  test: (folder: string, checkpoint: string) => Promise<void>,
  { vocabulary = "v2", run = ".", scale = 1 }: { vocabulary?: "v1" | "v2"; run?: string; scale?: number } =
    {},
): Promise<void> {
  const folder = Deno.makeTempDirSync();
  const { numLayers, width, numHeads, headDim, mlpWidth, sequenceLength } = TINY_CONFIG;
  const keys = { numLayers, width, numHeads, headDim, mlpWidth, sequenceLength, vocabulary };
  const config = loadConfig(SMALL_RUN, Object.entries(keys).map(([key, value]) => `model.${key}=${value}`));
  const state = {
    version: "0.0.0",
    step: 3,
    seed: 0,
    config,
    dataFingerprint: "none",
    losses: [],
    evalLoss: null,
    position: { epoch: 0, block: 0, sequence: 0, blockRows: 8 },
    numSkippedSteps: 0,
    numSkippedInRow: 0,
  };
  const zeros = [...parameterShapes(config.model)].flatMap(([name, [rows, columns]]) =>
    ["exp_avg", "exp_avg_sq"].map((kind) => [`${name}.${kind}`, new Float32Array(rows * columns)] as const)
  );
  const weights = initialParameters(config.model, 7);
  if (scale !== 1) {
    for (const values of weights.values()) values.forEach((value, i) => values[i] = value * scale);
  }
  const content = { state, weights, optimizer: new Map(zeros) };
  saveCheckpoint(join(folder, run, "checkpoints"), content, { keep: 1 });
  try {
    await test(folder, join(folder, run));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

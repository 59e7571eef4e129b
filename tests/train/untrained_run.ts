/** Checkpoints of untrained models. @module */
import { join } from "@std/path";
import type { TensorArray } from "../../lib/base/safetensors_header.ts";
import { modelShapes } from "../../lib/model/model_config.ts";
import { saveCheckpoint } from "../../lib/train/checkpoint.ts";
import { NO_DATA, type TrainingData } from "../../lib/data/addresses/known_addresses.ts";
import type { RunConfig } from "../../lib/train/run_config.ts";

/** Adds a checkpoint with zero optimizer state to a run. */
export function writeUntrainedRun(
  run: string,
  { config, weights, step = 3, evalLoss = null, trainingData = NO_DATA, keep = 1 }: {
    config: RunConfig;
    weights: Map<string, TensorArray>;
    step?: number;
    evalLoss?: number | null;
    trainingData?: TrainingData;
    keep?: number;
  },
): void {
  const state = {
    version: "0.0.0",
    step,
    seed: 0,
    config,
    dataFingerprint: "none",
    losses: [],
    evalLoss,
    engine: "deno" as const,
    position: { epoch: 0, block: 0, sequence: 0, blockRows: 8 },
    numSkippedSteps: 0,
    numSkippedInRow: 0,
  };
  const optimizer = new Map(
    [...modelShapes(config.model).parameters].flatMap(([name, [rows, columns]]) =>
      ["exp_avg", "exp_avg_sq"].map((kind) => [`${name}.${kind}`, new Float32Array(rows * columns)] as const)
    ),
  );
  saveCheckpoint(join(run, "checkpoints"), { state, weights, optimizer, trainingData }, { keep });
}

/**
 * Trains a tiny model and prints the process's resident memory after each checkpoint. memory_long_test.ts
 * runs it; for longer runs by hand:
 *
 *     deno run --allow-read --allow-write --v8-flags=--expose-gc tests/train/memory_child.ts DATA RUN 2000
 *
 * @module
 */
import { loadConfig } from "../../lib/train/run_config.ts";
import { train } from "../../lib/train/trainer.ts";
import { SMALL_RUN } from "./small_run.ts";

export interface MemoryAtStep {
  step: number;
  rssBytes: number;
}

const SETTINGS = [
  "model.numLayers=1",
  "model.width=32",
  "model.numHeads=1",
  "model.headDim=32",
  "model.mlpWidth=32",
  "model.sequenceLength=64",
  "train.batchSize=1",
  "train.microBatchSize=1",
  "train.evalEverySteps=100",
  "train.evalSequences=1",
  "train.checkpointEverySteps=100",
];

if (import.meta.main) {
  const [dataDir, runDir, steps] = Deno.args;
  const memory: MemoryAtStep[] = [];
  await train({
    config: loadConfig(SMALL_RUN, [...SETTINGS, `train.steps=${steps}`]),
    seed: 0,
    dataDir,
    runDir,
    onLog(line) {
      const saved = /^step (\d+): saved/.exec(line);
      if (saved) memory.push({ step: Number(saved[1]), rssBytes: Deno.memoryUsage().rss });
    },
  });
  console.log(JSON.stringify(memory));
}

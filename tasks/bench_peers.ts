/**
 * `bench peers`: compares this program with jax-js on the same adapter and PyTorch on the processor, in the same run.
 *
 * @module
 */
import { PeerProcess, PEERS } from "../lib/cli/bench/peer_process.ts";
import { comparableConfig, compareTraining, type TrainingComparison } from "../lib/cli/bench/peers.ts";
import { formatTable } from "../lib/base/text.ts";
import { UserError } from "../lib/base/errors.ts";
import { defineStage, serveStage, type Stage } from "../lib/cli/stage.ts";
import { Gpu } from "../lib/tensor/device.ts";
import { KernelRegistry } from "../lib/tensor/registry.ts";
import { loadConfig } from "../lib/train/run_config.ts";
import { VERSION } from "../lib/base/version.ts";
import { STAGES } from "./stages.ts";

const STEP_NOTE =
  "A step: forward, backward, clipping and the preset's optimizers for one micro-batch; medians of steps in turns.";

export const peersBench: Stage = defineStage(
  STAGES.bench.kinds.peers,
  async ({ config: preset, set, seconds }, { log, signal }) => {
    const config = comparableConfig(loadConfig(preset, set));
    using gpu = await Gpu.open();
    log(`adapter: ${gpu.info.name}`);
    const registry = new KernelRegistry(gpu);
    const comparisons: TrainingComparison[] = [];
    const missing: string[] = [];
    for (const name of PEERS) {
      log(`training ${preset} in turns with ${name}`);
      try {
        using peer = await PeerProcess.start(name, { signal });
        comparisons.push(await compareTraining(registry, peer, { config, seconds, signal }));
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof UserError)) throw error;
        missing.push(error.message);
        log(error.message);
      }
    }
    if (comparisons.length === 0) throw new UserError(missing.join("; "));
    const notes = comparisons.map(({ peer, numSteps, lossDifference }) => {
      const difference = lossDifference.toExponential(1);
      return `${peer}: ${numSteps} steps; the losses of the first steps differ by at most ${difference}`;
    });
    const text = [describe(comparisons), "", STEP_NOTE, ...notes, ...missing].join("\n");
    const json = { stage: "bench peers", version: VERSION, adapter: gpu.info, comparisons, missing };
    return { text, json };
  },
);

function describe(comparisons: readonly TrainingComparison[]): string {
  const head = ["tokens/s, beside", "this program", "other", "ratio", "per core", "other", "ratio"];
  const lines = comparisons.map(({ peer, median, peerMedian, perCore, peerPerCore }) => [
    peer,
    ...cellsOf(median, peerMedian),
    ...cellsOf(perCore, peerPerCore),
  ]);
  return formatTable([head, ...lines], { left: [0] });
}

const cellsOf = (ours: number, theirs: number) => [
  ours.toPrecision(3),
  theirs.toPrecision(3),
  `${(ours / theirs).toFixed(2)} x`,
];

if (import.meta.main) serveStage(peersBench);

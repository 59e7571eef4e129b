/**
 * `bench peers`: this program beside jax-js on the same adapter and PyTorch on the processor, in the same run.
 *
 * @module
 */
import { type PeerName, PeerProcess, PEERS } from "../lib/bench/peer_process.ts";
import {
  comparableConfig,
  compareProduct,
  compareTraining,
  type PeerRow,
  PRODUCTS,
} from "../lib/bench/peers.ts";
import { formatTable } from "../lib/text/table.ts";
import { configFlags, flag } from "../lib/cli/flags.ts";
import { UserError } from "../lib/errors.ts";
import { defineStage, type Stage } from "../lib/cli/stage.ts";
import { Gpu } from "../lib/gpu/device.ts";
import { KernelRegistry } from "../lib/gpu/registry.ts";
import { loadConfig, type RunConfig } from "../lib/train/run_config.ts";
import { VERSION } from "../lib/version.ts";

/** How long each product is timed, as a share of the time for training. */
const PRODUCT_SHARE = 0.05;

/** The stage `bench peers`. */
export const peersBench: Stage = defineStage({
  name: "bench peers",
  purpose:
    "the speed of training and of matrix products beside jax-js and, where python3 has torch, PyTorch, in turns",
  example: "--config demo --seconds 60",
  flags: {
    ...configFlags,
    seconds: flag.number("how long to train in turns with each, in seconds", {
      default: 60,
      min: 0.1,
      max: 3600,
    }),
  },
  async run({ config: preset, set, seconds }, { log, signal }) {
    const config = comparableConfig(loadConfig(preset, set));
    using gpu = await Gpu.open();
    log(`adapter: ${gpu.info.name}`);
    const registry = new KernelRegistry(gpu);
    const comparisons: Comparison[] = [];
    const missing: string[] = [];
    for (const name of PEERS) {
      log(`training ${preset} in turns with ${name}`);
      try {
        comparisons.push(await compareWith(name, { registry, config, preset, seconds, signal }));
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof UserError)) throw error;
        missing.push(error.message);
        log(error.message);
      }
    }
    if (comparisons.length === 0) throw new UserError(missing.join("; "));
    const text = [
      describe(comparisons.flatMap(({ rows }) => rows)),
      "",
      "train: forward, backward, clipping and the preset's optimizers, one micro-batch a step; medians of steps in turns",
      ...comparisons.map(({ name, numSteps, lossDifference }) =>
        `${name}: ${numSteps} steps; the losses of those before differ by at most ${
          lossDifference.toExponential(1)
        }`
      ),
      ...missing,
    ].join("\n");
    const json = { stage: "bench peers", version: VERSION, adapter: gpu.info, comparisons, missing };
    return { text, json };
  },
});

/** What was found of one peer. */
interface Comparison {
  name: PeerName;
  rows: PeerRow[];
  numSteps: number;
  lossDifference: number;
}

async function compareWith(
  name: PeerName,
  { registry, config, preset, seconds, signal }: {
    registry: KernelRegistry;
    config: RunConfig;
    preset: string;
    seconds: number;
    signal: AbortSignal;
  },
): Promise<Comparison> {
  using peer = await PeerProcess.start(name, { signal });
  const { row, numSteps, lossDifference } = await compareTraining(registry, peer, {
    config,
    seconds,
    signal,
  });
  const rows = [{ ...row, name: `train ${preset}` }];
  // A product alone is the same with torch.compile.
  for (const product of name === "torch.compile" ? [] : PRODUCTS) {
    signal.throwIfAborted();
    rows.push(await compareProduct(registry, peer, { product, seconds: seconds * PRODUCT_SHARE }));
  }
  return { name, rows, numSteps, lossDifference };
}

function describe(rows: readonly PeerRow[]): string {
  const head = ["", "beside", "unit", "this program", "other", "ratio", "per core", "other", "ratio"];
  const lines = rows.map(({ name, peer, unit, median, peerMedian, perCore, peerPerCore }) => [
    ...[name, peer, unit],
    format(median),
    format(peerMedian),
    `${(median / peerMedian).toFixed(2)} x`,
    format(perCore),
    format(peerPerCore),
    `${(perCore / peerPerCore).toFixed(2)} x`,
  ]);
  return formatTable([head, ...lines], { left: [0, 1, 2] });
}

const format = (value: number) => value.toPrecision(3);

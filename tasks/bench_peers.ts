/**
 * `bench peers`: this program beside jax-js on the same adapter in the same run.
 *
 * @module
 */
import { PeerProcess } from "../lib/bench/peer_process.ts";
import { compareProduct, compareTraining, type PeerRow, PRODUCTS } from "../lib/bench/peers.ts";
import { formatTable } from "../lib/cli/table.ts";
import { configFlags, flag } from "../lib/cli/flags.ts";
import { defineStage, type Stage } from "../lib/cli/stage.ts";
import { Gpu } from "../lib/gpu/device.ts";
import { KernelRegistry } from "../lib/gpu/registry.ts";
import { loadConfig } from "../lib/train/config.ts";
import { VERSION } from "../lib/version.ts";

/** How long each product is timed, as a share of the time for training. */
const PRODUCT_SHARE = 0.05;

/** The stage `bench peers`. */
export const peersBench: Stage = defineStage({
  name: "bench peers",
  purpose: "the speed of training and of matrix products beside jax-js, in turns on the same adapter",
  example: "--config demo --seconds 60",
  flags: {
    ...configFlags,
    seconds: flag.number("how long both train in turns, in seconds", { default: 60, min: 0.1, max: 3600 }),
  },
  async run({ config: preset, set, seconds }, { log, signal }) {
    const config = loadConfig(preset, set);
    using gpu = await Gpu.open();
    log(`adapter: ${gpu.info.name}`);
    using peer = await PeerProcess.start({ signal });
    const registry = new KernelRegistry(gpu);
    log(`training ${preset} in turns`);
    const training = await compareTraining(registry, peer, { config, seconds, signal });
    const { numSteps, lossDifference } = training;
    const rows = [{ ...training.row, name: `train ${preset}` }];
    for (const product of PRODUCTS) {
      signal.throwIfAborted();
      const { kind, m, n, k } = product;
      log(`multiplying ${kind} ${m} x ${n} x ${k}`);
      rows.push(await compareProduct(registry, peer, { product, seconds: seconds * PRODUCT_SHARE }));
    }
    const text = [
      describe(rows),
      "",
      "train: forward, backward, clipping and the preset's optimizers, one micro-batch a step;",
      `medians of ${numSteps} steps of each, in turns; the losses of the steps before differ by at most ${
        lossDifference.toExponential(1)
      }`,
    ].join("\n");
    const json = {
      stage: "bench peers",
      version: VERSION,
      adapter: gpu.info,
      rows,
      numSteps,
      lossDifference,
    };
    return { text, json };
  },
});

function describe(rows: readonly PeerRow[]): string {
  const head = ["", "unit", "this program", "jax-js", "ratio", "per core", "jax-js", "ratio"];
  const lines = rows.map(({ name, unit, median, jaxMedian, perCore, jaxPerCore }) => [
    name,
    unit,
    format(median),
    format(jaxMedian),
    `${(median / jaxMedian).toFixed(2)} x`,
    format(perCore),
    format(jaxPerCore),
    `${(perCore / jaxPerCore).toFixed(2)} x`,
  ]);
  return formatTable([head, ...lines], { left: [0, 1] });
}

const format = (value: number) => value.toPrecision(3);

/**
 * How long the exchange of a preset's gradients between ranks takes here, how much of that the backward pass
 * hides, and what follows for GPUs and networks that are not here. Not a test:
 *
 *     mpirun -n 2 deno run -A tests/bench/exchange_times.ts --config 95m
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { named } from "../../lib/base/errors.ts";
import { Gpu } from "../../lib/tensor/device.ts";
import { KernelRegistry } from "../../lib/tensor/registry.ts";
import { initialParameters } from "../../lib/model/parameters.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import { Communicator } from "../../lib/train/mpi/communicator.ts";
import { CompressedSum } from "../../lib/train/mpi/compressed_sum.ts";
import { launchOf } from "../../lib/train/mpi/launch.ts";
import { claimedAddresses, denseBatch } from "../../lib/train/step_timing.ts";
import { loadConfig, planRun } from "../../lib/train/run_config.ts";
import { GradientExchange } from "../../lib/train/step_work.ts";

/** Between GPU and host: a low practical value for PCI Express 4.0 x16. */
const COPIED_GB_PER_S = 10;

const { config: preset = "95m", set } = parseArgs(Deno.args, {
  string: ["config", "set"],
  collect: ["set"],
  default: { set: ["model.sequenceLength=128", "train.microBatchSize=1"] },
});
const launch = launchOf((name) => Deno.env.get(name));
if (!launch) throw new Error("start it with mpirun");
const ranks = Communicator.open(launch);
const config = loadConfig(preset, set);
using gpu = await Gpu.open();
const registry = new KernelRegistry(gpu);
const extent = { ...planRun(config).extent, sequencesPerStep: config.train.microBatchSize * ranks.size };
const model = await Transformer.create(registry, config.model, extent);
const weights = initialParameters(config.model, 0);
const addresses = claimedAddresses(config.model, weights);
model.load(weights);
const batch = denseBatch(extent.sequencesPerStep, config.model.sequenceLength, addresses);
const weight = 1 / batch.tokens.length;
const passes = async () => {
  model.zeroGradients();
  model.accumulateShare(batch, weight, { share: ranks, afterPart() {} });
  await gpu.finish();
};
const sizeOf = (name: string) => 4 * model.usedRows(name) * named(model.gradients, name).shape[1];

/** Median time of three repetitions, which all ranks begin together, after a warm-up. */
async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 4; i++) {
    await ranks.sumOf(0);
    const startMs = performance.now();
    await work();
    times.push((performance.now() - startMs) / 1000);
  }
  return times.slice(1).sort((a, b) => a - b)[1];
}

const passesS = await secondsOf(passes);
// In the order of the backward pass, in which they are sent.
const groups = Map.groupBy([...model.gradients.keys()].reverse(), (name) => name.split(".", 2).join("."));
const buckets = [...groups.values()].map((names) => names.reduce((sum, name) => sum + sizeOf(name), 0));
const numbers = Math.max(...buckets) / 4;
const [own, sums] = [new Float32Array(numbers), new Float32Array(numbers)];
const totalBytes = buckets.reduce((sum, bytes) => sum + bytes, 0);
const hostS = await secondsOf(async () => {
  for (const names of groups.values()) {
    const tensors = names.map((name) => named(model.gradients, name));
    (await gpu.read(...tensors)).forEach((values, i) => gpu.write(tensors[i], values));
  }
  await gpu.finish();
});
for (const format of ["f32", "f16"] as const) {
  const compressed = format === "f32" ? ranks : new CompressedSum(ranks, numbers, { format });
  const sumsS = await secondsOf(async () => {
    for (const bytes of buckets) {
      await compressed.sum(own.subarray(0, bytes / 4), sums.subarray(0, bytes / 4));
    }
  });
  const exchange = new GradientExchange(gpu, model, { ranks, format });
  let halfwayS = 0;
  const bothS = await secondsOf(async () => {
    const [startMs, startBytes] = [performance.now(), ranks.numSentBytes];
    halfwayS = 0;
    const halfBytes = totalBytes * (format === "f32" ? 1 : 0.502) * (ranks.size - 1) / ranks.size;
    const timer = setInterval(() => {
      const isHalfway = ranks.numSentBytes - startBytes >= halfBytes;
      if (isHalfway) halfwayS ||= (performance.now() - startMs) / 1000;
    }, 2);
    model.zeroGradients();
    exchange.add(batch, weight, { isLastBatch: true });
    await exchange.finish();
    await gpu.finish();
    clearInterval(timer);
  });
  if (ranks.rank > 0) continue;
  const hidden = (passesS + hostS + sumsS - bothS) / (hostS + sumsS);
  console.log(
    `${preset}, ${ranks.size} ranks, ${format}: ${(totalBytes / 1e6).toFixed(0)} MB of gradients; passes ` +
      `${passesS.toFixed(2)} s, to and from the device ${hostS.toFixed(2)} s, sums ${
        sumsS.toFixed(2)
      } s, all at once ` +
      `${bothS.toFixed(2)} s: ${
        (100 * hidden).toFixed(0)
      } % of the exchange is hidden, half of it handed over after ` +
      `${halfwayS.toFixed(2)} s`,
  );
  console.log(" with copies as fast as here");
  predict(format, { hostS, sumsS });
  console.log(` with copies of ${COPIED_GB_PER_S} GB/s`);
  predict(format, { hostS: 2 * totalBytes / (COPIED_GB_PER_S * 1e9), sumsS });
}
await ranks.close();
Deno.exit(0);

/** Prints the efficiency of 8 GPUs in 8 machines, assuming that the processor is as fast as here. */
function predict(format: "f32" | "f16", { hostS, sumsS }: { hostS: number; sumsS: number }): void {
  const size = 8;
  const { batchSize } = config.train;
  const tokensOfRank = batchSize * loadConfig(preset).model.sequenceLength / size;
  for (const tokensPerS of [100e3, 400e3]) {
    const stepS = tokensOfRank / tokensPerS;
    const { microBatchSize } = loadConfig(preset).train;
    const lastPassesS = stepS * microBatchSize * size / batchSize;
    const cells = [1, 10, 100].map((gigabitsPerS) => {
      const bytes = totalBytes * (format === "f32" ? 1 : 0.502);
      const networkS = 2 * (size - 1) / size * bytes * 8 / (gigabitsPerS * 1e9);
      // A sum of two ranks moves the same amount in memory; the rest is coding.
      const codingS = format === "f32" ? 0 : sumsS;
      const share = buckets.map((bytes) => bytes / totalBytes);
      let computed = lastPassesS / 3;
      let copied = 0;
      let travelled = 0;
      for (const part of share) {
        computed += 2 / 3 * lastPassesS * part;
        copied = Math.max(computed, copied) + part * (hostS + codingS);
        travelled = Math.max(copied, travelled) + part * networkS;
      }
      const efficiency = stepS / (stepS - lastPassesS + Math.max(computed, travelled));
      return `${(100 * efficiency).toFixed(0)} % at ${gigabitsPerS} Gbit/s`;
    });
    console.log(`  8 x 1 GPU of ${tokensPerS / 1e3} k tokens/s: ${cells.join(", ")}`);
  }
}

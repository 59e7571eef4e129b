/**
 * `deno task bench`: times each kernel at the sizes of the presets, a training step of one micro-batch, and
 * scores of rows, on Deno's WebGPU. BENCH_CONFIG=95m uses a preset other than the demo; `train --profile` shows
 * where the time of a step goes.
 *
 * @module
 */
import { Gpu } from "../../lib/tensor/device.ts";
import { Program } from "../../lib/tensor/program.ts";
import { KernelRegistry } from "../../lib/tensor/registry.ts";
import { loadConfig } from "../../lib/train/run_config.ts";
import { BenchMemory, kernelCases, SMALL } from "./kernel_cases.ts";
import { prepareScoring } from "./scoring.ts";
import { prepareTraining } from "./training.ts";

let registry: KernelRegistry | undefined;
let ready: { name: string; memory: BenchMemory; submit: () => void } | undefined;

/** @param prepare Compiles what is timed; called at the start, with memory that is freed at the end. */
function bench(
  name: string,
  prepare: (registry: KernelRegistry, memory: BenchMemory) => Promise<() => void>,
): void {
  Deno.bench({
    name,
    ...SMALL,
    async fn(timer) {
      registry ??= new KernelRegistry(await Gpu.open({ engine: "deno" }));
      const { gpu } = registry;
      if (ready?.name !== name) {
        ready?.memory[Symbol.dispose]();
        const memory = new BenchMemory(gpu);
        ready = { name, memory, submit: await prepare(registry, memory) };
      }
      timer.start();
      ready.submit();
      // The call waits for the work; its promise settles 11 ms later.
      const done = gpu.device.queue.onSubmittedWorkDone();
      timer.end();
      await done;
      gpu.check();
    },
  });
}

for (const { name, prepare } of kernelCases()) {
  bench(name, async (registry, memory) => {
    const program = new Program(registry, name);
    prepare(memory)(program);
    await registry.ready();
    program.run();
    await registry.gpu.finish();
    return () => program.run();
  });
}

const preset = Deno.env.get("BENCH_CONFIG") ?? "demo";
const config = loadConfig(preset, SMALL && ["train.microBatchSize=1", "train.batchSize=1"]);
const numTokens = config.train.microBatchSize * config.model.sequenceLength;
bench(`training step of ${preset}, ${numTokens} tokens`, async (registry) => {
  const { submitStep } = await prepareTraining(registry, config);
  return () => submitStep(0);
});

const numRows = SMALL ? 8 : 256;
let score: (() => Promise<void>) | undefined;
Deno.bench({
  name: `score of ${numRows} rows, ${preset}`,
  ...SMALL,
  async fn(timer) {
    registry ??= new KernelRegistry(await Gpu.open({ engine: "deno" }));
    score ??= prepareScoring(registry, config.model, numRows);
    timer.start();
    await score();
    timer.end();
  },
});

import { assertEquals, assertGreater, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { Autotuner, type AutotunerOptions } from "../../lib/tensor/tuning/autotune.ts";
import { Gpu } from "../../lib/tensor/device.ts";
import { KERNEL_SOURCES } from "../../lib/tensor/kernels.ts";
import { addGemm, type GemmKind } from "../../lib/tensor/ops/gemm.ts";
import { type Launch, Program } from "../../lib/tensor/program.ts";
import { KernelRegistry } from "../../lib/tensor/registry.ts";
import { Optimizer } from "../../lib/train/optim/optimizer.ts";
import { readParameterLike } from "../../lib/model/parameter_tensors.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import { withFolder } from "../data/measurement_files/batches.ts";
import { tinyBatch, tinyConfig, tinyWeights, toFloat32 } from "../model/tiny_model.ts";
import { parseOptimConfig } from "../../lib/train/optim/optim_config.ts";
import { assertSameBits } from "./support.ts";

/** A registry of an adapter without subgroups, whose matrix products come in tiles of 64 and of 128. */
async function withRegistry(body: (registry: KernelRegistry) => Promise<void>): Promise<void> {
  using gpu = await Gpu.open({ subgroups: false });
  await body(new KernelRegistry(gpu));
}

/** Two products of one shape and one of another. */
function productsOf(registry: KernelRegistry): Program {
  const [a, b, c] = ["a", "b", "c"].map((label) => registry.gpu.tensor(label, [8, 8]));
  const program = new Program(registry, "products");
  const add = (kind: GemmKind, k: number) => addGemm(program, { kind, m: 8, n: 8, k, a, b, c });
  add("NN", 8);
  add("NN", 8);
  add("NT", 4);
  return program;
}

/** A measure that finds one launch faster than all others, and counts. */
function measureFor(fastest: string) {
  let count = 0;
  const measure: AutotunerOptions["measure"] = (_, { name }: Launch) => {
    count++;
    return Promise.resolve(name === fastest ? 1 : 2);
  };
  return { measure, count: () => count };
}

const tilesOf = (program: Program) => program.dispatches.map(({ overrides }) => overrides?.TILE);

Deno.test("Autotuner measures each kind of dispatch once and chooses the fastest launch", async () => {
  await withRegistry(async (registry) => {
    for (const tile of [64, 128]) {
      const { measure, count } = measureFor(`tile ${tile}`);
      const tuner = new Autotuner(registry, { measure });
      const program = productsOf(registry);
      assertEquals(tilesOf(program), [64, 64, 64]);
      await tuner.tune(program);
      assertEquals(tilesOf(program), [tile, tile, tile]);
      assertEquals([tuner.numMeasured, count()], [2, 4]);
    }
  });
});

Deno.test("Autotuner remembers its choices in its file, for the same WGSL", async () => {
  await withFolder((folder) =>
    withRegistry(async (registry) => {
      const path = join(folder, "autotune.json");
      const first = new Autotuner(registry, { path, ...measureFor("tile 128") });
      await first.tune(productsOf(registry));
      first.save();
      const tuned = async (registry: KernelRegistry) => {
        const tuner = new Autotuner(registry, { path, ...measureFor("tile 64") });
        const program = productsOf(registry);
        await tuner.tune(program);
        return { tiles: tilesOf(program), numMeasured: tuner.numMeasured };
      };
      assertEquals(await tuned(registry), { tiles: [128, 128, 128], numMeasured: 0 });
      const sources = { gemm_tiled: `${KERNEL_SOURCES.gemm_tiled}// changed\n` };
      const changed = new KernelRegistry(registry.gpu, { sources });
      assertEquals(await tuned(changed), { tiles: [64, 64, 64], numMeasured: 2 });
    })
  );
});

Deno.test("Autotuner takes a damaged file for none, says so in a line, and writes a whole one", async () => {
  await withFolder((folder) =>
    withRegistry(async (registry) => {
      const path = join(folder, "autotune.json");
      for (const content of ["", '{"choices": {', "null", "[]", '{"choices": null}']) {
        Deno.writeTextFileSync(path, content);
        const lines: string[] = [];
        const onLog = (line: string) => lines.push(line);
        const tuner = new Autotuner(registry, { path, onLog, ...measureFor("tile 128") });
        await tuner.tune(productsOf(registry));
        tuner.save();
        assertEquals(lines, [`${path} is damaged; the kernels are measured again`], content);
        assertEquals(Object.values(JSON.parse(Deno.readTextFileSync(path)).choices), [
          "tile 128",
          "tile 128",
        ]);
      }
      const unknown = Deno.readTextFileSync(path).replaceAll("tile 128", "tile 256");
      Deno.writeTextFileSync(path, unknown);
      const tuner = new Autotuner(registry, { path, ...measureFor("tile 64") });
      await tuner.tune(productsOf(registry));
      assertEquals(tuner.numMeasured, 2);
    })
  );
});

Deno.test("Autotuner measures by running dispatches, into scratch memory too", async () => {
  await withRegistry(async (registry) => {
    const [m, n, k] = [8, 8, 64];
    const [a, b, c] = [[k, m], [k, n], [m, n]].map((shape) => registry.gpu.tensor("matrix", shape));
    const program = new Program(registry, "product");
    addGemm(program, { kind: "TN", m, n, k, a, b, c });
    const dispatch = program.dispatches[0];
    const tuned = new Program(registry, "tuned");
    tuned.add({ ...dispatch, bindings: { ...dispatch.bindings, c: tuned.scratch(m * n) } });
    const tuner = new Autotuner(registry);
    await tuner.tune(tuned);
    assertEquals(tuner.numMeasured, 1);
    assertMatch(`tile ${tilesOf(tuned)[0]}`, /^tile (64|128)$/);
  });
});

Deno.test("a model's gradients and updates are the same bits with whatever the autotuner chooses", async () => {
  const config = tinyConfig({ width: 72, mlpWidth: 136 });
  const batch = tinyBatch(config, 12);
  const adamW = { kind: "adamw", learningRate: 0.001 };
  const muon = { kind: "muon", learningRate: 0.002 };
  const optim = parseOptimConfig({ groups: { embedding: adamW, head: adamW, matrices: muon } });
  const results: Float32Array[][] = [];
  for (const tile of [undefined, 64, 128]) {
    await withRegistry(async (registry) => {
      const model = await Transformer.create(registry, config, { batchSize: 12, training: true });
      const optimizer = Optimizer.create(registry, model, optim, { totalSteps: 4 });
      if (tile) {
        const tuner = new Autotuner(registry, measureFor(`tile ${tile}`));
        await model.tune(tuner);
        await optimizer.tune(tuner);
        assertGreater(tuner.numMeasured, 10);
      }
      model.load(toFloat32(tinyWeights(config)));
      const losses = await model.evaluateLosses(batch);
      model.accumulate(batch, 0.01);
      const gradients = await readParameterLike(registry.gpu, config, model.gradients);
      optimizer.step(1);
      results.push([losses, ...gradients.values(), ...(await model.weights()).values()]);
    });
  }
  const [usual, ...tuned] = results;
  for (const values of tuned) usual.forEach((tensor, i) => assertSameBits(values[i], tensor, `tensor ${i}`));
});

import { assert, assertEquals, assertRejects } from "@std/assert";
import { UserError } from "../../lib/base/errors.ts";
import { Gpu } from "../../lib/tensor/device.ts";

Deno.test("read() and finish() of a lost device say that it was lost", async () => {
  const gpu = await Gpu.open();
  const tensor = gpu.tensor("x", [16]);
  gpu.close();
  await assertRejects(() => gpu.read(tensor), UserError, "the GPU device was lost");
  await assertRejects(() => gpu.finish(), UserError, "the GPU device was lost");
});

Deno.test("read() says what went wrong on the device before it", async () => {
  using gpu = await Gpu.open();
  const tensor = gpu.tensor("x", [16]);
  tensor.buffer.destroy();
  await assertRejects(() => gpu.read(tensor), Error, "destroyed");
});

Deno.test("read() and array() have the memory of what was recycled, which is empty from then on", async () => {
  using gpu = await Gpu.open();
  const numbers = Float32Array.from({ length: 2 ** 16 }, (_, i) => i);
  const large = gpu.tensorFrom("large", [2 ** 16], numbers);
  const small = gpu.tensorFrom("small", [40_000], numbers.subarray(7, 40_007));
  const [first, second] = await gpu.read(large, small);
  assertEquals([first, second], [numbers, numbers.slice(7, 40_007)]);
  gpu.recycle(first, second);
  assertEquals([first.length, second.length], [0, 0]);
  const again = [gpu.array(50_000), gpu.array(2 ** 16)];
  assertEquals(again.map((array) => [array.length, array[3]]), [[50_000, 10], [2 ** 16, 3]]);
  gpu.recycle(...again);
  const wanted = numbers.slice(7, 40_007);
  assertEquals(await gpu.read(small, large, small), [wanted, numbers, wanted]);
});

const SHADER = `
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  var v = x[id.x];
  for (var i = 0u; i < 2000u; i++) { v = fma(v, 1.0001f, sin(v)); }
  x[id.x] = v;
}`;

/** Submits work of some 20 ms or more on any adapter. */
async function longWork(gpu: Gpu): Promise<() => void> {
  for (let numPasses = 1;; numPasses *= 2) {
    const submit = shaderWork(gpu, { numGroups: 256, numPasses });
    if (await gpu.timeS(submit) > 0.02 && await gpu.timeS(submit) > 0.02) return submit;
  }
}

function shaderWork(
  { device }: Gpu,
  { numGroups, numPasses }: { numGroups: number; numPasses: number },
): () => void {
  const module = device.createShaderModule({ code: SHADER });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "main" } });
  const buffer = device.createBuffer({ size: 1 << 16, usage: GPUBufferUsage.STORAGE });
  const entries = [{ binding: 0, resource: { buffer } }];
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  return () => {
    const encoder = device.createCommandEncoder();
    for (let i = 0; i < numPasses; i++) {
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(numGroups);
      pass.end();
    }
    device.queue.submit([encoder.finish()]);
  };
}

// The calls of Dawn do not block, and only tests run on it.
const isDawn = !(Symbol.for("Deno.privateCustomInspect") in navigator.gpu);
if (isDawn) console.log("left out: waiting for the device at the end is for Deno's WebGPU, this is Dawn");

// A process that ends while lavapipe's threads work aborts.
const endThread = () => globalThis.dispatchEvent(new Event("unload"));
for (
  const [how, end] of [
    ["Gpu.close()", (gpu: Gpu) => gpu.close()],
    ["the end of a thread", endThread],
    ["the end of a thread that lost its device", async ({ device }: Gpu) => {
      device.destroy();
      await device.lost;
      endThread();
    }],
  ] as const
) {
  Deno.test(`${how} waits until the device is idle`, { ignore: isDawn }, async () => {
    using gpu = await Gpu.open();
    const submit = await longWork(gpu);
    const wholeS = Math.min(await gpu.timeS(submit), await gpu.timeS(submit));
    const startMs = performance.now();
    submit();
    await end(gpu);
    const seconds = (performance.now() - startMs) / 1000;
    assert(seconds > wholeS / 4, `${seconds} s for ${wholeS} s of work`);
  });
}

/** The least time of some runs of `work`: other programs may hold up any one. */
async function leastS(gpu: Gpu, work: () => void): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < 5; i++) least = Math.min(least, await gpu.timeS(work));
  return least;
}

Deno.test("Gpu.timeS() measures the work, whether the call blocks until the queue is idle or its promise tells", async () => {
  using gpu = await Gpu.open();
  const [short, long] = [shaderWork(gpu, { numGroups: 1, numPasses: 1 }), await longWork(gpu)];
  await gpu.timeS(short);
  const [shortS, longS] = [await leastS(gpu, short), await gpu.timeS(long)];
  assert(longS > 3 * shortS, `${longS} s and ${shortS} s`);
});

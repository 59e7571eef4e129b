import { assert } from "@std/assert";
import { secondsUntilIdle } from "../../lib/tensor/device.ts";

const SLOW_KERNEL = `
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  var y = f32(id.x);
  for (var i = 0; i < 4096; i++) { y = sin(y) + 0.5; }
  x[id.x] = y;
}`;
const NUM_VALUES = 1 << 18;

Deno.test("secondsUntilIdle() measures the work, whether the call blocks until the queue is idle or its promise tells", async () => {
  const device = await (await navigator.gpu.requestAdapter())?.requestDevice();
  assert(device, "there is an adapter");
  const pipeline = device.createComputePipeline({
    layout: "auto",
    compute: { module: device.createShaderModule({ code: SLOW_KERNEL }) },
  });
  const buffer = device.createBuffer({ size: 4 * NUM_VALUES, usage: GPUBufferUsage.STORAGE });
  const layout = pipeline.getBindGroupLayout(0);
  const group = device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] });
  const run = async (numGroups: number) => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(numGroups);
    pass.end();
    const startMs = performance.now();
    device.queue.submit([encoder.finish()]);
    const seconds = await secondsUntilIdle(device.queue, startMs);
    return seconds;
  };
  await run(1);
  // The least of some: other programs may hold up any one.
  let short = Infinity;
  for (let i = 0; i < 5; i++) short = Math.min(short, await run(1));
  const long = await run(NUM_VALUES / 64);
  assert(long > 3 * short, `${long} s and ${short} s`);
  buffer.destroy();
  device.destroy();
});

/**
 * Shows that a process aborts that ends while Mesa's lavapipe compiles shaders in its queues' threads, here those of
 * workers: `exit()` runs LLVM's destructors, which free tables that the compiler reads.
 *
 * Run: `LD_PRELOAD=libc_malloc_debug.so.0 MALLOC_CHECK_=3 MALLOC_PERTURB_=165 deno run -A tests/tensor/exit_while_compiling.ts`.
 * The exit code is 134 ("LLVM ERROR: Invalid size request on a scalable vector") or 139 where it should be 0 in 5 of 6
 * runs with Mesa 25.0.7, LLVM 15.0.6 and Deno 2.9.6 on two busy cores. Without the checks freed memory mostly keeps what it held.
 */
const NUM_WORKERS = 8;

/** A shader that takes a while to compile, and no other is like it. */
const shaderOf = (salt: number) => `
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  var v = x[id.x];
  ${Array.from({ length: 40 }, (_, i) => `v = sin(v * ${salt + i}.5) + pow(abs(v), ${i}.25);`).join("\n")}
  x[id.x] = v;
}`;

/** Dispatches one new shader after another. Lavapipe compiles at the first dispatch, in the queue's thread. */
async function compileForever(onFirst: () => void): Promise<never> {
  const device = await (await navigator.gpu.requestAdapter())?.requestDevice();
  if (!device) throw new Error("no WebGPU device");
  const buffer = device.createBuffer({ size: 4096, usage: GPUBufferUsage.STORAGE });
  for (let i = 0;; i++) {
    const module = device.createShaderModule({ code: shaderOf(Math.floor(1e6 * Math.random())) });
    const pipeline = device.createComputePipeline({
      layout: "auto",
      compute: { module, entryPoint: "main" },
    });
    const entries = [{ binding: 0, resource: { buffer } }];
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(16);
    pass.end();
    device.queue.submit([encoder.finish()]);
    if (i === 0) onFirst();
    if (i % 4 === 3) await device.queue.onSubmittedWorkDone();
  }
}

if (new URL(import.meta.url).search === "?worker") {
  const { postMessage } = globalThis as unknown as { postMessage(message: string): void };
  await compileForever(() => postMessage("compiling"));
}
const workers = Array.from(
  { length: NUM_WORKERS },
  () => new Worker(`${import.meta.url}?worker`, { type: "module" }),
);
await Promise.all(workers.map((worker) => new Promise((resolve) => worker.onmessage = resolve)));
await new Promise((resolve) => setTimeout(resolve, 100 * Math.random()));
for (const worker of workers) worker.terminate();
Deno.exit(0);

import { assertEquals, assertRejects } from "@std/assert";
import { UserError } from "../../lib/base/errors.ts";
import { Gpu } from "../../lib/tensor/device.ts";
import { SimulatedTime } from "../simulated_time.ts";

Deno.test("read() and finish() on a lost device report the loss", async () => {
  const gpu = await Gpu.open();
  const tensor = gpu.tensor("x", [16]);
  gpu.close();
  await assertRejects(() => gpu.read(tensor), UserError, "the GPU device was lost");
  await assertRejects(() => gpu.finish(), UserError, "the GPU device was lost");
});

Deno.test("read() reports earlier errors of the device", async () => {
  using gpu = await Gpu.open();
  const tensor = gpu.tensor("x", [16]);
  tensor.buffer.destroy();
  await assertRejects(() => gpu.read(tensor), Error, "destroyed");
});

Deno.test("read() and array() reuse recycled memory, and recycled arrays become empty", async () => {
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

function notesOf({ device }: Gpu): string[] {
  const notes: string[] = [];
  const note = (of: object, name: string) => {
    const call: (...args: unknown[]) => unknown = Reflect.get(of, name);
    Object.assign(of, {
      [name]: (...args: unknown[]) => {
        notes.push(name);
        return call.apply(of, args);
      },
    });
  };
  note(device, "destroy");
  note(device.queue, "submit");
  note(device.queue, "onSubmittedWorkDone");
  return notes;
}

// A process that ends while lavapipe's threads are working aborts. On Deno `onSubmittedWorkDone()` waits.
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
  Deno.test(`${how} waits for work submitted to the device`, async () => {
    using gpu = await Gpu.open();
    const notes = notesOf(gpu);
    gpu.device.queue.submit([gpu.device.createCommandEncoder().finish()]);
    await end(gpu);
    const waits = gpu.info.engine === "dawn" ? "destroy" : "onSubmittedWorkDone";
    assertEquals(notes.filter((name) => name === "submit" || name === waits).slice(0, 2), ["submit", waits]);
  });
}

Deno.test("Gpu.timeS() measures the work, whether onSubmittedWorkDone() blocks or its promise waits", async () => {
  const [workMs, settledMs] = [5000, 11];
  for (const isOfDeno of [true, false]) {
    using time = new SimulatedTime();
    const queue = {
      ...(isOfDeno && { [Symbol.for("Deno.privateCustomInspect")]: undefined }),
      async onSubmittedWorkDone() {
        if (isOfDeno) time.pass(workMs);
        await null;
        time.pass(isOfDeno ? settledMs : workMs);
      },
    };
    const seconds = await Gpu.prototype.timeS.call(
      { device: { queue } } as unknown as Gpu,
      () => time.pass(1000),
    );
    assertEquals(seconds, 6);
  }
});

Deno.test("Gpu.timeS() recognises Deno's queue and waits for submitted work", async () => {
  using gpu = await Gpu.open();
  const notes = notesOf(gpu);
  await gpu.timeS(() => gpu.device.queue.submit([]));
  assertEquals(notes, ["submit", "onSubmittedWorkDone"]);
  assertEquals(Symbol.for("Deno.privateCustomInspect") in gpu.device.queue, gpu.info.engine === "deno");
});

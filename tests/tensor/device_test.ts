import { assertEquals, assertRejects } from "@std/assert";
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

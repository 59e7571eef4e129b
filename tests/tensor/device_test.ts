import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
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

Deno.test("read() reuses what was recycled, which is empty from then on", async () => {
  using gpu = await Gpu.open();
  const numbers = Float32Array.from({ length: 2 ** 16 }, (_, i) => i);
  const large = gpu.tensorFrom("large", [2 ** 16], numbers);
  const small = gpu.tensorFrom("small", [2 ** 15], numbers.subarray(7, 7 + 2 ** 15));
  const [kept, first] = await gpu.read(small, large);
  assertEquals(first, numbers);
  gpu.recycle(first);
  assertEquals(first.length, 0);
  const [second, third] = await gpu.read(small, small);
  assertEquals(second.buffer.byteLength, 2 ** 18);
  assertEquals([second, third], [kept, kept]);
  gpu.recycle(second);
  // Larger than what is there.
  const [again, last] = await gpu.read(large, small);
  assertEquals([again, last], [numbers, kept]);
  assertStrictEquals(kept[0], 7);
  gpu.recycle(again);
  assertEquals([gpu.array(2 ** 15).buffer.byteLength, gpu.array(3).length], [2 ** 18, 3]);
});

import { assertRejects } from "@std/assert";
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

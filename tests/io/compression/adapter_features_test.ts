import { assert } from "@std/assert";

Deno.test("a device can have subgroups that the adapter does not list", async () => {
  const adapter = await navigator.gpu.requestAdapter();
  assert(adapter);
  const isListed = adapter.features.has("subgroups" as GPUFeatureName);
  assert(
    !isListed,
    "Deno lists subgroups: ask the adapter in lib/tensor/device.ts, see lib/io/README.md",
  );
});

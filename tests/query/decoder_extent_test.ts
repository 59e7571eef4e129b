import { assert, assertEquals } from "@std/assert";
import { largestTensorBytes } from "../../lib/model/allocation.ts";
import { buildDecoder, type DecoderMemory } from "../../lib/model/decoder_buffers.ts";
import { continuationExtent, promptExtent } from "../../lib/query/model_decoders.ts";
import { TINY_CONFIG } from "./tiny_model.ts";

Deno.test("prompts and rows are as many as fit the memory, and each tensor a buffer", () => {
  const free: DecoderMemory = { limitBytes: Infinity, bufferBytes: Infinity };
  for (const extentOf of [promptExtent, continuationExtent]) {
    const largest = (memory: DecoderMemory) =>
      largestTensorBytes((make) => buildDecoder(TINY_CONFIG, extentOf(TINY_CONFIG, memory), make));
    const unboundBytes = largest(free);
    for (const part of [1, 2, 5]) {
      const bufferBytes = Math.floor(unboundBytes / part);
      const foundBytes = largest({ ...free, bufferBytes });
      assert(foundBytes <= bufferBytes, `${foundBytes} bytes of ${bufferBytes}`);
      assert(foundBytes > bufferBytes / 3, "no smaller than needed");
    }
    // An extent that cannot fit is left to the allocation, which names the tensor.
    const { maxRows } = extentOf(TINY_CONFIG, { ...free, bufferBytes: 1 });
    assertEquals(extentOf(TINY_CONFIG, { ...free, limitBytes: 1 }).maxRows, maxRows);
  }
});

import { assertEquals, assertStringIncludes } from "@std/assert";
import { tensorOf, type Tensors } from "../../../lib/base/safetensors_header.ts";
import { hashesOf } from "../../../lib/model/embedding_table.ts";
import { CollectedIdentities, IDENTITIES, Identities } from "../../../lib/model/pool/identities.ts";
import { faultOfNumbers } from "../../../lib/model/tensor_bounds.ts";

const [A, B, C, D, E, F] = [1, 2, 3, 4, 5, 6].map((host) => hashesOf(Uint8Array.of(192, 0, 2, host)));

function collected(identities: [typeof A, number][]): CollectedIdentities {
  const all = new CollectedIdentities();
  for (const [hashes, identity] of identities) all.add(hashes, identity);
  return all;
}

Deno.test("identities are the addresses of one probe, without those that several probes share, in any order of the data", () => {
  // B is seen with two probes, C with several that the rows do not tell; E is the only one of its probe.
  const seen: [typeof A, number][] = [[A, 7], [B, 7], [B, 9], [C, -1], [D, 7], [C, 7], [E, 8], [A, 7], [
    F,
    7,
  ]];
  const all = collected(seen);
  assertEquals(all.counts(), { identified: 4, shared: 2, ignored: 0 });
  const tensors = all.save();
  assertEquals(collected(seen.toReversed()).save(), tensors);
  const identities = new Identities(tensors);
  const probes = [A, D, F, E, B, C].map((asked) => identities.probeOf(asked));
  assertEquals(probes, [7, 7, 7, 8, undefined, undefined]);
  assertEquals([7, 8, 9].map((probe) => identities.addressesOf(probe).length), [3, 1, 0]);
  // The tensor has no room for greater numbers.
  assertEquals(collected([[A, 2 ** 32]]).save().size, 0);
});

Deno.test("a probe with more than 1,024 addresses is ignored; without identities there is no tensor", () => {
  const ofMany = (count: number) =>
    collected(Array.from({ length: count }, (_, i) => [hashesOf(Uint8Array.of(10, 0, i >> 8, i & 255)), 0]));
  assertEquals(ofMany(1024).counts(), { identified: 1024, shared: 0, ignored: 0 });
  assertEquals(ofMany(1025).counts(), { identified: 0, shared: 0, ignored: 1025 });
  assertEquals(ofMany(1025).save().size, 0);
  assertEquals(new Identities(new Map()).probeOf(A), undefined);
});

Deno.test("faultOfNumbers() names impossible identities", () => {
  const tensors = collected([[A, 1], [B, 1]]).save();
  assertEquals(faultOfNumbers(tensors), undefined);
  const values = tensorOf(tensors, IDENTITIES[0], "U32");
  const swapped: Tensors = new Map([[
    IDENTITIES[0],
    Uint32Array.of(...values.slice(3), ...values.slice(0, 3)),
  ]]);
  assertStringIncludes(faultOfNumbers(swapped) ?? "", "rows in ascending order of their hashes");
  const cut: Tensors = new Map([[IDENTITIES[0], values.slice(0, 4)]]);
  assertEquals(faultOfNumbers(cut), "tensor pool.identities has 4 numbers, expected rows of 3");
});

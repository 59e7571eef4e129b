import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { UserError } from "../../lib/errors.ts";
import { BYTES_PER_KEY, DuplicateSet } from "../../lib/measurement/duplicate_set.ts";

Deno.test("DuplicateSet.add() says the same as a set of texts", () => {
  const id = fc.oneof(fc.nat(3), fc.constantFrom(0, 2 ** 32 - 1, 2 ** 32, 2 ** 40, -1, 0.5));
  fc.assert(fc.property(fc.array(fc.tuple(id, id, id), { maxLength: 300 }), (keys) => {
    const set = new DuplicateSet({ maxBytes: 1e7 });
    const known = new Set<string>();
    for (const [msmId, prbId, timeS] of keys) {
      const key = `${msmId} ${prbId} ${timeS}`;
      assertEquals(set.add(msmId, prbId, timeS), !known.has(key), key);
      known.add(key);
    }
  }));
});

Deno.test("DuplicateSet.add() tells a million neighbouring keys apart", () => {
  const set = new DuplicateSet({ maxBytes: 1e8 });
  for (const isNew of [true, false]) {
    for (let msmId = 1000; msmId < 1010; msmId++) {
      for (let prbId = 0; prbId < 100; prbId++) {
        for (let slot = 0; slot < 1000; slot++) {
          assert(set.add(msmId, prbId, 1_600_000_000 + 240 * slot) === isNew);
        }
      }
    }
  }
});

Deno.test("DuplicateSet.add() keeps within its memory and says when that is full", () => {
  const maxBytes = 4e6;
  const set = new DuplicateSet({ maxBytes });
  let numKeys = 0;
  const error = assertThrows(() => {
    for (;; numKeys++) set.add(numKeys, 1, 1_600_000_000);
  }, UserError);
  assert(error.message.includes("--memory-limit-gb"));
  assert(numKeys > 0.6 * maxBytes / BYTES_PER_KEY, `${numKeys} keys`);
});

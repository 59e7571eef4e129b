import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { DuplicateSet, isSameResult, type ResultKey } from "../../../lib/data/import/duplicates.ts";

/** Indexes of the keys that a set accepts as new. */
function takenIndexes(keys: readonly ResultKey[], maxBytes: number) {
  const set = new DuplicateSet({ maxBytes });
  const taken = [...keys.keys()].filter((index) => set.add(keys[index]));
  return { taken, numForgets: set.numForgets };
}

function firstIndexes(keys: readonly ResultKey[]): number[] {
  const known = new Set<string>();
  return [...keys.keys()].filter((index) => known.size < known.add(JSON.stringify(keys[index])).size);
}

const id = fc.oneof(fc.nat(9), fc.constantFrom(2 ** 32 - 1, 2 ** 32, 2 ** 40, 2 ** 53 - 1));
const eventTimeUs = fc.constantFrom(
  1.6e15,
  1.6e15 + 1,
  1.6e15 + 2048,
  1.6e15 + 999_999,
  1.6e15 + 1e6,
  4.1e15,
);
const keysOfResults = fc.array(fc.record({ msmId: id, prbId: id, eventTimeUs }), { maxLength: 300 });

Deno.test("DuplicateSet finds all duplicates with enough memory, and with little misses only what it forgot", () => {
  fc.assert(
    fc.property(keysOfResults, (keys) => {
      assertEquals(takenIndexes(keys, Infinity), { taken: firstIndexes(keys), numForgets: 0 });
      const { taken, numForgets } = takenIndexes(keys, 1);
      assertEquals(numForgets > 0, taken.length > 64);
      assert(firstIndexes(keys).every((index) => taken.includes(index)));
      assert(taken.every((index, i) => i === 0 || !isSameResult(keys[index], keys[taken[i - 1]])));
    }),
  );
});

Deno.test("DuplicateSet finds all duplicates of more probes than it keeps the latest time of", () => {
  const times = [1.6e15 + 240e6, 1.6e15 + 240e6, 1.6e15 + 480e6, 1.6e15, 1.6e15 + 240e6];
  const set = new DuplicateSet({ maxBytes: Infinity });
  for (const [i, eventTimeUs] of times.entries()) {
    let numNew = 0;
    for (let prbId = 0; prbId < 70_000; prbId++) if (set.add({ msmId: 1, prbId, eventTimeUs })) numNew++;
    assertEquals(numNew, times.indexOf(eventTimeUs) === i ? 70_000 : 0);
  }
});

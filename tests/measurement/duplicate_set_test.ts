import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { DuplicateSet, MarkedRows, type ResultKey } from "../../lib/measurement/duplicate_set.ts";
import { withFolder } from "./batches.ts";

/** What the set leaves of keys: their indexes. Row numbers are those of the keys that were taken for new. */
function uniqueIndexes(path: string, keys: readonly ResultKey[], maxBytes: number) {
  using set = new DuplicateSet(path, { maxBytes });
  const taken: number[] = [];
  for (const [index, key] of keys.entries()) if (set.add(key, taken.length)) taken.push(index);
  const repeated = new Set<number>();
  for (const marked of set.repeatedRows(taken.length)) {
    for (let row = marked.from; row < marked.end; row++) if (marked.has(row)) repeated.add(row);
  }
  return { left: taken.filter((_, row) => !repeated.has(row)), numSpills: set.numSpills };
}

function firstIndexes(keys: readonly ResultKey[]): number[] {
  const known = new Set<string>();
  return keys.flatMap((key, index) => {
    const text = JSON.stringify(key);
    if (known.has(text)) return [];
    known.add(text);
    return [index];
  });
}

Deno.test("DuplicateSet leaves the first result of each key, however little memory it has", () =>
  withFolder((folder) => {
    const id = fc.oneof(fc.nat(3), fc.constantFrom(2 ** 32 - 1, 2 ** 32, 2 ** 40, 2 ** 53 - 1));
    const eventTimeUs = fc.oneof(
      fc.constantFrom(1.6e15, 1.6e15 + 1, 1.6e15 + 2048, 1.6e15 + 999_999, 1.6e15 + 1e6, 4.1e15),
    );
    const key = fc.record({ msmId: id, prbId: id, eventTimeUs });
    let maxSpills = 0;
    fc.assert(
      fc.property(fc.array(key, { maxLength: 60 }), fc.constantFrom(1, 300, 1e7), (keys, maxBytes) => {
        const { left, numSpills } = uniqueIndexes(`${folder}/keys`, keys, maxBytes);
        assertEquals(left, firstIndexes(keys));
        maxSpills = Math.max(maxSpills, numSpills);
      }),
      { numRuns: 60 },
    );
    assert(maxSpills > 5, `${maxSpills} spills`);
    assertEquals([...Deno.readDirSync(folder)], []);
    return Promise.resolve();
  }));

Deno.test("DuplicateSet tells many neighbouring keys apart in several spills", () =>
  withFolder((folder) => {
    const keys: ResultKey[] = [];
    for (const eventTimeUs of [1.6e15, 1.6e15 + 240e6, 1.6e15]) {
      for (let msmId = 1000; msmId < 1020; msmId++) {
        for (let prbId = 0; prbId < 1000; prbId++) keys.push({ msmId, prbId, eventTimeUs });
      }
    }
    for (const maxBytes of [1e8, 1e6, 200_000]) {
      const { left, numSpills } = uniqueIndexes(`${folder}/keys`, keys, maxBytes);
      assertEquals(left.length, 40_000);
      assertEquals(left.at(-1), 39_999);
      assertEquals(numSpills > 0, maxBytes < 1e8, `${numSpills} spills`);
    }
    return Promise.resolve();
  }));

Deno.test("MarkedRows holds rows of its stretch alone", () => {
  const marked = new MarkedRows(5e9, 5e9 + 20);
  for (const row of [0, 5e9 - 1, 5e9, 5e9 + 9, 5e9 + 19, 5e9 + 20]) marked.mark(row);
  assertEquals(marked.count, 3);
  const found = [];
  for (let row = 5e9 - 9; row < 5e9 + 30; row++) if (marked.has(row)) found.push(row - 5e9);
  assertEquals(found, [0, 9, 19]);
});

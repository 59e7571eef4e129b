import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { DuplicateCount } from "../../lib/inspect/duplicate_count.ts";

Deno.test("DuplicateCount counts as a set of rows does", () => {
  const row = fc.tuple(
    fc.constantFrom(0, -1, 1.5, 1e15, 1e15 + 1, NaN),
    fc.integer({ min: 0, max: 3 }),
    fc.constantFrom("", "a", "b", "ab"),
  );
  fc.assert(fc.property(fc.array(row, { maxLength: 200 }), (rows) => {
    const duplicates = new DuplicateCount();
    for (const [a, b, text] of rows) duplicates.add([a, b], [text, "x"]);
    const numDistinct = new Set(rows.map((values) => values.join())).size;
    assertEquals([duplicates.count, duplicates.numRows], [rows.length - numDistinct, rows.length]);
  }));
});

Deno.test("DuplicateCount tells many rows apart and stops at its bound", () => {
  const duplicates = new DuplicateCount(300_000);
  for (let i = 0; i < 200_000; i++) {
    duplicates.add([1.75e15 + i * 1e6, i % 7], [`10.0.0.${i % 250}`, "192.0.2.1"]);
  }
  assertEquals(duplicates.count, 0);
  for (let i = 0; i < 100_000; i++) {
    duplicates.add([1.75e15 + i * 1e6, i % 7], [`10.0.0.${i % 250}`, "192.0.2.1"]);
  }
  assertEquals([duplicates.count, duplicates.isComplete], [100_000, true]);
  duplicates.add([0], []);
  assertEquals([duplicates.count, duplicates.numRows, duplicates.isComplete], [100_000, 300_000, false]);
});

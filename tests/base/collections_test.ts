import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { partitionPoint } from "../../lib/base/collections.ts";

const NUMBERS = fc.array(fc.nat(20), { maxLength: 60 });

Deno.test("partitionPoint() finds where the second part begins", () => {
  fc.assert(fc.property(NUMBERS, fc.nat(21), (numbers, value) => {
    const sorted = numbers.toSorted((a, b) => a - b);
    const wanted = sorted.findIndex((number) => number >= value);
    const found = partitionPoint(sorted.length, (index) => sorted[index] >= value);
    assertEquals(found, wanted < 0 ? sorted.length : wanted);
  }));
});

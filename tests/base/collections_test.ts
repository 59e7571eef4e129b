import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { Heap, partitionPoint } from "../../lib/base/collections.ts";

const NUMBERS = fc.array(fc.nat(20), { maxLength: 60 });

Deno.test("Heap yields items in order, even when the first changes", () => {
  fc.assert(fc.property(NUMBERS, fc.nat(3), (numbers, step) => {
    const heap = new Heap<{ value: number }>((a, b) => a.value < b.value);
    const items = numbers.map((value) => ({ value }));
    for (const item of items) heap.add(item);
    const taken: number[] = [];
    for (let first; (first = heap.first) !== undefined;) {
      assertEquals(first.value, Math.min(...items.map(({ value }) => value)));
      if (step > 0 && taken.length % 2 === 0 && first.value <= 20) {
        first.value += step;
        heap.sinkFirst();
        taken.push(first.value);
        continue;
      }
      taken.push(first.value);
      items.splice(items.indexOf(first), 1);
      heap.removeFirst();
    }
    assertEquals(items, []);
  }));
});

Deno.test("partitionPoint() finds where the second part begins", () => {
  fc.assert(fc.property(NUMBERS, fc.nat(21), (numbers, value) => {
    const sorted = numbers.toSorted((a, b) => a - b);
    const wanted = sorted.findIndex((number) => number >= value);
    const found = partitionPoint(sorted.length, (index) => sorted[index] >= value);
    assertEquals(found, wanted < 0 ? sorted.length : wanted);
  }));
});

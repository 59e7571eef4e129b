import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { Permutation } from "../../../lib/data/loader/blocks.ts";

const order = (permutation: Permutation) =>
  Array.from({ length: permutation.length }, (_, rank) => permutation.at(rank));

Deno.test("Permutation takes every value once, for any length", () => {
  for (const length of [...Array(70).keys(), 255, 256, 257, 1000, 4096, 4097]) {
    const values = order(new Permutation(length, 1, "test"));
    assertEquals(values.toSorted((a, b) => a - b), [...Array(length).keys()]);
  }
});

Deno.test("Permutation stays in range and has no repeats near 2^32", () => {
  const permutation = new Permutation(2 ** 32 - 5, 1, "test");
  const seen = new Set<number>();
  for (let rank = 0; rank < 2000; rank++) {
    for (const at of [rank, permutation.length - 1 - rank]) {
      const value = permutation.at(at);
      assert(Number.isInteger(value) && value >= 0 && value < permutation.length);
      seen.add(value);
    }
  }
  assertEquals(seen.size, 4000);
});

Deno.test("Permutation refuses ranks out of range", () => {
  for (const rank of [-1, 3, 0.5, NaN]) {
    assertThrows(() => new Permutation(3, 1, "test").at(rank), RangeError);
  }
  assertThrows(() => new Permutation(0, 1, "test").at(0), RangeError);
});

Deno.test("Permutation repeats itself and differs by seed, name and index", () => {
  const base = order(new Permutation(100, 1, "test", 2));
  assertEquals(order(new Permutation(100, 1, "test", 2)), base);
  assertNotEquals(order(new Permutation(100, 2, "test", 2)), base);
  assertNotEquals(order(new Permutation(100, 1, "other", 2)), base);
  assertNotEquals(order(new Permutation(100, 1, "test", 3)), base);
});

Deno.test("Permutation sends each rank to each value equally often, also for small lengths", () => {
  const numDraws = 3000;
  for (const length of [2, 3, 5, 16, 17]) {
    const counts = new Float64Array(length * length);
    for (let index = 0; index < numDraws; index++) {
      order(new Permutation(length, 3, "uniform", index)).forEach((value, rank) => {
        counts[rank * length + value]++;
      });
    }
    const expected = numDraws / length;
    const chiSquare = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    // For a random permutation matrix chiSquare * (n-1)/n is near chi-square of (n-1)^2 degrees: 5 deviations.
    const degrees = (length - 1) ** 2;
    const bound = degrees + 5 * Math.sqrt(2 * degrees) + 5;
    assert(chiSquare * (length - 1) / length < bound, `n = ${length}: ${chiSquare} against ${bound}`);
  }
});

Deno.test("Permutation gives every order of 4 equally often", () => {
  const counts = new Map<string, number>();
  for (let index = 0; index < 4800; index++) {
    const key = String(order(new Permutation(4, 4, "orders", index)));
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  assertEquals(counts.size, 24);
  // Each is binomial(4800, 1/24): mean 200, deviation 13.8; 5 deviations.
  for (const [key, count] of counts) assert(Math.abs(count - 200) < 70, `${key}: ${count}`);
});

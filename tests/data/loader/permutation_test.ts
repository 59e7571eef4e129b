import { assert, assertEquals } from "@std/assert";
import { Permutation } from "../../../lib/data/loader/permutation.ts";

const order = (permutation: Permutation) =>
  Array.from({ length: permutation.length }, (_, rank) => permutation.at(rank));

Deno.test("Permutation yields every value once, for any length", () => {
  for (const length of [...Array(70).keys(), 255, 256, 257, 1000, 4096, 4097]) {
    const values = order(new Permutation(length, 1, "test"));
    assertEquals(values.toSorted((a, b) => a - b), [...Array(length).keys()]);
  }
});

Deno.test("Permutation stays in range without repeats near 2^32", () => {
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

Deno.test("Permutation maps each rank to each value equally often, even for small lengths", () => {
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
    // For a random permutation matrix, chiSquare * (n-1)/n is about chi-square with (n-1)^2 degrees of
    // freedom; 5 deviations.
    const degrees = (length - 1) ** 2;
    const bound = degrees + 5 * Math.sqrt(2 * degrees) + 5;
    assert(chiSquare * (length - 1) / length < bound, `n = ${length}: ${chiSquare} against ${bound}`);
  }
});

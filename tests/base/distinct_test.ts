import { assert, assertEquals } from "@std/assert";
import { drawDistinct, RandomStream } from "../../lib/base/random.ts";

Deno.test("drawDistinct() draws every ordered choice equally often", () => {
  const counts = new Map<string, number>();
  for (let draw = 0; draw < 12_000; draw++) {
    const key = String(drawDistinct(4, 3, new RandomStream(1, "distinct", draw)));
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  assertEquals(counts.size, 24);
  // Binomial(12000, 1/24): mean 500, deviation 21.9; 5 deviations.
  for (const [key, count] of counts) assert(Math.abs(count - 500) < 110, `${key}: ${count}`);
});

Deno.test("drawDistinct() draws in range, without repeats, up to all of them", () => {
  for (const [n, count] of [[1, 1], [5, 5], [100, 100], [1000, 3], [2 ** 31, 100], [7, 0]]) {
    const drawn = drawDistinct(n, count, new RandomStream(2, "distinct", n, count));
    assertEquals(new Set(drawn).size, count);
    assert(drawn.every((value) => value >= 0 && value < n));
  }
});

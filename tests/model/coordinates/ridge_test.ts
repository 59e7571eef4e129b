import { assertAlmostEquals } from "@std/assert";
import { RidgeSum } from "../../../lib/model/coordinates/ridge.ts";
import { fromScale, toScale } from "../../../lib/model/coordinates/rtt_scale.ts";
import { RandomStream } from "../../../lib/base/random.ts";

Deno.test("RidgeSum.addFour gives what adding each row gives, a weight counting as so many rows", () => {
  const random = new RandomStream(3, "test/ridge");
  const numbers = (length: number) => Float64Array.from({ length }, () => random.normal());
  for (const n of [1, 2, 5]) {
    const [features, targets] = [numbers(4 * n), numbers(4)];
    const [four, each] = [new RidgeSum(n), new RidgeSum(n)];
    const weights = Float64Array.of(1, 3, 0, 2);
    four.addFour(features, targets, weights);
    weights.forEach((weight, row) => {
      for (let time = 0; time < weight; time++) {
        each.add(features.subarray(row * n, (row + 1) * n), targets[row]);
      }
    });
    const [found, expected] = [four.solve(0.5), each.solve(0.5)];
    expected.forEach((value, i) => assertAlmostEquals(found[i], value, 1e-12));
  }
});

Deno.test("fromScale gives back what toScale made, and steps near the typical RTT are as long on every scale", () => {
  for (const power of [0, 0.5, 1]) {
    for (const log of [-5, -1, 0, 0.3, 4]) {
      assertAlmostEquals(fromScale(power, toScale(power, log)), log, 1e-9, `power ${power}`);
    }
    assertAlmostEquals(toScale(power, 1e-4), 1e-4, 1e-8);
    assertAlmostEquals(fromScale(power, -100), power === 0 ? -100 : Math.log(1e-3), 1e-9);
  }
});

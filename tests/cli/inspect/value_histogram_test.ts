import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { ValueHistogram } from "../../../lib/cli/inspect/histogram.ts";
import { DistinctCount } from "../../../lib/cli/inspect/measurement_tally.ts";

Deno.test("ValueHistogram.quantile() is within 0.05 % of the sorted values' quantile", () => {
  fc.assert(fc.property(
    fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 200 }),
    fc.constantFrom(0, 0.01, 0.5, 0.9, 0.99, 1),
    (values, q) => {
      const histogram = new ValueHistogram();
      for (const value of values) histogram.add(value);
      const sorted = values.toSorted((a, b) => a - b);
      const wanted = sorted[Math.max(1, Math.ceil(q * sorted.length)) - 1];
      const found = histogram.quantile(q);
      assert(Math.abs(found - wanted) <= 0.0005 * wanted + 1e-37, `${found} for ${wanted}`);
      assertEquals([histogram.min, histogram.max, histogram.count], [
        sorted[0],
        sorted.at(-1),
        values.length,
      ]);
    },
  ));
});

Deno.test("ValueHistogram gives whole quantiles of whole values and leaves out what is no value", () => {
  const histogram = new ValueHistogram();
  for (const value of [1, 39, 39, 80, -1, NaN, Infinity]) histogram.add(value);
  assertEquals([histogram.count, histogram.quantile(0.5), histogram.quantile(1)], [4, 39, 80]);
  assertEquals(histogram.mean, 159 / 4);
  for (const value of [1e39, 3.5e38]) histogram.add(value);
  assertEquals([histogram.count, histogram.max], [4, 80]);
  assertEquals(histogram.logBins().reduce((sum, { count }) => sum + count, 0), 4);
  assertEquals(new ValueHistogram().quantile(0.5), NaN);
  const zeros = new ValueHistogram();
  zeros.add(0);
  assertEquals(zeros.quantile(0.5), 0);
});

Deno.test("DistinctCount counts each value once and says when its bound is reached", () => {
  const distinct = new DistinctCount(3);
  for (const value of ["a", "b", "a", 1n]) distinct.add(value);
  assertEquals([distinct.count, distinct.isCapped, `${distinct}`], [3, true, "at least 3"]);
  const few = new DistinctCount(3);
  few.add("a");
  assertEquals(`${few}`, "1");
});

import { assert, assertEquals, assertNotEquals, assertRejects, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { UserError } from "../../../lib/base/errors.ts";
import {
  type Bin,
  type Histogram,
  logHistogram,
  plotHistograms,
  TimeHistogram,
  ValueHistogram,
} from "../../../lib/cli/inspect/report.ts";
import { runStageProcess } from "../process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { sampleBatch, writeParquet } from "../../data/probe_rows/sample_parquet.ts";
import { DistinctCount } from "../../../lib/cli/inspect/measurement_tally.ts";

function totalOf(bins: readonly Bin[]): number {
  return bins.reduce((sum, { count }) => sum + count, 0);
}

function groupOf(values: number[]): { title: string; histograms: Histogram[] } {
  const histogram = new ValueHistogram();
  const times = new TimeHistogram();
  values.forEach((value, i) => {
    histogram.add(value);
    times.add(1.75e15 + 3600e6 * i);
  });
  return {
    title: "probe rows: <&>",
    histograms: [
      logHistogram("RTT, ms", "measurements", histogram),
      { label: "time, UTC", countLabel: "measurements", scale: "utc", bins: times.bins() },
    ],
  };
}

Deno.test("logBins() counts every value once, in the bin that contains it", () => {
  const value = fc.double({ min: 0, max: 1e9, noNaN: true }).map((value) => value < 1e-40 ? 0 : value);
  fc.assert(
    fc.property(fc.array(value, { minLength: 1 }), (values) => {
      const histogram = new ValueHistogram();
      values.forEach((value) => histogram.add(value));
      const bins = histogram.logBins();
      if (values.every((value) => value === 0)) return assertEquals(bins, []);
      assertEquals(totalOf(bins), values.length);
      bins.forEach(({ low, high }, i) =>
        assert(low > 0 && low < high && (i === 0 || low === bins[i - 1].high))
      );
    }),
  );
  for (
    const values of [[1, 1 + 2 ** -52], [1e9 - 2 ** -23, 1e9], [3, 3 * (1 + 1e-14)], [0, 1e-40, 1.1e-40]]
  ) {
    const close = new ValueHistogram();
    values.forEach((value) => close.add(value));
    const bins = close.logBins();
    assertEquals(totalOf(bins), values.length);
    assert(bins.every(({ low, high }) => 0 < low && low < high), `bins of ${values}`);
  }
  const histogram = new ValueHistogram();
  for (const value of [0, 1, 10, 10, 100, 1e4]) histogram.add(value);
  const filled = histogram.logBins().filter(({ count }) => count > 0);
  assertEquals(filled.map(({ count }) => count), [2, 2, 1, 1]);
  filled.forEach(({ low, high }, i) => {
    const value = [1, 10, 100, 1e4][i];
    assert(low <= 1.001 * value && value <= 1.001 * high, `${value} in ${low}..${high}`);
  });
});

Deno.test("TimeHistogram counts every time in its bin, in any order", () => {
  const timesS = fc.array(fc.integer({ min: -1e4, max: 4e9 }), { minLength: 1, maxLength: 60 });
  fc.assert(fc.property(timesS, (times) => {
    const binsOf = (list: number[]) => {
      const histogram = new TimeHistogram();
      list.forEach((timeS) => histogram.add(1e6 * timeS));
      return histogram.bins();
    };
    const bins = binsOf(times);
    for (const { low, high, count } of bins) {
      assertEquals(count, times.filter((timeS) => timeS * 1000 >= low && timeS * 1000 < high).length);
    }
    assertEquals(totalOf(bins), times.length);
    assert(bins.length <= 96 && bins[0].count > 0 && bins[bins.length - 1].count > 0);
    assertEquals(binsOf(times.toReversed()), bins);
    assertEquals(binsOf(times.toSorted((a, b) => a - b)), bins);
  }));
});

Deno.test("plotHistograms() draws a bar for every bin, with the same bytes for the same counts", async () => {
  const draw = async (values: number[]) =>
    await plotHistograms("p.svg", [groupOf(values), { title: "empty", histograms: [] }]);
  const values = Array.from({ length: 50 }, (_, i) => 1.2 ** i);
  const svg = await draw(values);
  assert(svg.startsWith("<svg ") && svg.endsWith("</svg>\n"));
  for (const text of ["RTT, ms", "time, UTC", "measurements", "probe rows: &lt;&amp;&gt;"]) {
    assertStringIncludes(svg, text);
  }
  assert(!/NaN|undefined|Infinity/.test(svg));
  const numBins = groupOf(values).histograms.reduce((sum, { bins }) => sum + bins.length, 0);
  const bars = [...svg.matchAll(/mark-rect role-mark [^>]*>(.*?)<\/g>/g)].flatMap(([, group]) =>
    group.match(/<path/g)
  );
  assertEquals(bars.length, numBins);
  assertEquals(await draw(values), svg);
  assertNotEquals(await draw([...values, 5]), svg);
  assert(!/NaN|undefined|Infinity/.test(await draw([7])));
});

Deno.test("inspect --plot draws measurements with its task's permissions, and refuses other file types", async () => {
  using folder = new TemporaryFolder();
  writeParquet(folder.at("in.parquet"), sampleBatch({ numRows: 300 }));
  const plot = folder.at("new/p.svg");
  const done = await runStageProcess(["inspect", folder.at("in.parquet"), "--plot", plot, "--quiet"]);
  assertEquals([done.code, done.stderr], [0, ""]);
  assertStringIncludes(Deno.readTextFileSync(plot), "RTT, ms");
  const png = await runStageProcess(["inspect", folder.at("in.parquet"), "--plot", folder.at("p.png")]);
  assertEquals(png.code, 2);
  assertStringIncludes(png.stderr, "expected a name that ends with .svg");
  await assertRejects(() => plotHistograms("q.svg", []), UserError, "leave out --plot");
});

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

Deno.test("ValueHistogram returns integer quantiles of integers, and ignores invalid values", () => {
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

Deno.test("DistinctCount counts each value once and reports when its bound is reached", () => {
  const distinct = new DistinctCount(3);
  for (const value of ["a", "b", "a", 1n]) distinct.add(value);
  assertEquals([distinct.count, distinct.isCapped, `${distinct}`], [3, true, "at least 3"]);
  const few = new DistinctCount(3);
  few.add("a");
  assertEquals(`${few}`, "1");
});

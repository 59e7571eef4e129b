import fc from "fast-check";
import { assertEquals } from "@std/assert";
import { MedianBaseline, RecentBaseline, RttHistogram } from "../../../lib/eval/baselines/histories.ts";
import { quantileOfSample } from "../../../lib/base/sample_statistics.ts";
import { decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { predictInOrder, series } from "./series.ts";

const TRAINING = series(
  ["a", "x", 10],
  ["a", "x", 30],
  ["a", "y", 50],
  ["a", "x", null],
  ["b", "x", 70],
  ["b", "y", 90],
  ["a", "x", 20],
);

function coded(rttMs: number): number {
  return decodeRttCode(encodeRttCode(rttMs));
}

function ask(source: string, destination: string) {
  return { source, destination, timeS: 100 };
}

Deno.test("RttHistogram.medianMs() is the lower median after every RTT", () => {
  fc.assert(fc.property(
    fc.array(fc.oneof(fc.integer({ min: 1, max: 6 }), fc.double({ min: 0, max: 5000, noNaN: true }))),
    (rttsMs) => {
      const histogram = new RttHistogram();
      assertEquals(histogram.medianMs(), NaN);
      rttsMs.forEach((rttMs, i) => {
        histogram.add(rttMs);
        assertEquals(histogram.medianMs(), quantileOfSample(rttsMs.slice(0, i + 1).map(coded), 0.5));
      });
    },
  ));
});

Deno.test("MedianBaseline predicts the median of all, the source, the destination or the pair", () => {
  const predict = (of: "all" | "source" | "destination" | "pair", source: string, destination: string) => {
    const baseline = new MedianBaseline(of);
    baseline.train(TRAINING);
    return baseline.predictMs(ask(source, destination));
  };
  assertEquals(predict("all", "new", "new"), coded(30));
  assertEquals(predict("source", "a", "new"), coded(20));
  assertEquals(predict("destination", "new", "x"), coded(20));
  assertEquals(predict("pair", "a", "x"), coded(20));
  assertEquals(predict("pair", "b", "y"), coded(90));
  assertEquals(predict("source", "new", "x"), undefined);
  assertEquals(predict("destination", "a", "new"), undefined);
  assertEquals(predict("pair", "b", "new"), undefined);
});

Deno.test("RecentBaseline predicts the last value or the median of the last 9", () => {
  const rttsMs = [5, 9, null, 1, 8, 100, 7, 6, 5.5, 30, 40];
  const heldOut = series(...rttsMs.map((rttMs) => ["a", "x", rttMs] as ["a", "x", number | null]));
  const predict = (count: number) => {
    const baseline = new RecentBaseline(count);
    return [...predictInOrder(baseline, heldOut, { known: heldOut })];
  };
  assertEquals(predict(1), [NaN, 5, 9, 9, 1, 8, 100, 7, 6, 5.5, 30]);
  assertEquals(predict(9), [NaN, 5, 5, 5, 5, 5, 8, 7, 7, 6, 7]);
});

Deno.test("RecentBaseline keeps the histories of pairs apart and forgets older values", () => {
  const baseline = new RecentBaseline(9);
  baseline.train(series(...Array.from({ length: 9 }, () => ["a", "x", 1] as [string, string, number])));
  baseline.train(series(...Array.from({ length: 5 }, () => ["a", "x", 50] as [string, string, number])));
  baseline.observe({ ...ask("a", "y"), rttMs: 3 });
  assertEquals(baseline.predictMs(ask("a", "x")), 50);
  assertEquals(baseline.predictMs(ask("a", "y")), 3);
  assertEquals(baseline.predictMs(ask("b", "x")), undefined);
});

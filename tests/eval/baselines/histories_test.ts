import fc from "fast-check";
import { assertEquals } from "@std/assert";
import { LastSeenBaseline, MedianBaseline, RttHistogram } from "../../../lib/eval/baselines/histories.ts";
import { quantileOfSample } from "../../../lib/base/sample_statistics.ts";
import { decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { SAMPLE_LEVELS } from "../../../lib/eval/baselines/baseline.ts";
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

Deno.test("MedianBaseline forecasts the empirical distribution of its history", () => {
  const baseline = new MedianBaseline("pair");
  baseline.train(TRAINING);
  const expected = SAMPLE_LEVELS.map((level) => coded(level <= 1 / 3 ? 10 : level <= 2 / 3 ? 20 : 30));
  assertEquals(baseline.predictSampleMs(ask("a", "x")), Float64Array.from(expected));
  assertEquals(baseline.predictSampleMs(ask("b", "new")), undefined);
});

Deno.test("LastSeenBaseline predicts the last value of a pair", () => {
  const rttsMs = [5, 9, null, 1, 8, 100];
  const heldOut = series(...rttsMs.map((rttMs) => ["a", "x", rttMs] as ["a", "x", number | null]));
  const baseline = new LastSeenBaseline();
  assertEquals([...predictInOrder(baseline, heldOut, { known: heldOut })], [NaN, 5, 9, 9, 1, 8]);
  baseline.observe({ ...ask("a", "y"), rttMs: 3 });
  assertEquals(baseline.predictMs(ask("a", "x")), 8);
  assertEquals(baseline.predictMs(ask("a", "y")), 3);
  assertEquals(baseline.predictMs(ask("b", "x")), undefined);
});

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import {
  type Baseline,
  type BaselineMeasurement,
  SAMPLE_LEVELS,
} from "../../../lib/eval/baselines/baseline.ts";
import { HiddenMarkovBaseline } from "../../../lib/eval/baselines/hidden_markov.ts";
import { LastSeenBaseline, MedianBaseline } from "../../../lib/eval/baselines/histories.ts";
import { TunedBaseline, tuningRows } from "../../../lib/eval/baselines/tuned.ts";
import { crpsOfNumberMs, crpsOfSampleMs } from "../../../lib/eval/metrics/forecast_errors.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { standardBaselines } from "../../../lib/eval/baselines/standard.ts";
import { decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { series } from "./series.ts";

const ASK = { source: "a", destination: "x", timeS: 1e9 };

/** RTTs of a pair that jump occasionally, so that the newest value is the most informative. */
function jumping(count: number) {
  const random = new RandomStream(3, "test/jumps");
  let rttMs = 20;
  return Array.from({ length: count }, (_, timeS) => {
    if (timeS % 10 === 0) rttMs = 20 + 80 * random.float64();
    return { source: "a", destination: "x", timeS, rttMs: rttMs * Math.exp(0.02 * random.normal()) };
  });
}

const CANDIDATES = new Map<string, () => Baseline>([
  ["all", () => new MedianBaseline("pair")],
  ["last", () => new LastSeenBaseline()],
]);

Deno.test("TunedBaseline chooses the best settings on held-out data, then trains on all", () => {
  const all = jumping(400);
  const baseline = new TunedBaseline(CANDIDATES);
  const tuning = { training: all.slice(0, 300), heldOut: all.slice(300), known: all.slice(300) };
  baseline.train(all, tuning);
  assertEquals(baseline.settings, "last");
  assertEquals(baseline.predictMs(ASK), all[399].rttMs);
  const untuned = new TunedBaseline(new Map([...CANDIDATES].reverse()));
  untuned.train(all);
  assertEquals([untuned.settings, untuned.predictSampleMs(ASK)], ["last", undefined]);
});

Deno.test("TunedBaseline turns numbers into calibrated distributions by their errors", () => {
  const random = new RandomStream(5, "test/dressing");
  const draw = (timeS: number) => ({ ...ASK, timeS, rttMs: 50 * Math.exp(0.2 * random.normal()) });
  const all = Array.from({ length: 3000 }, (_, timeS) => draw(timeS));
  const baseline = new TunedBaseline(new Map([["", () => new LastSeenBaseline()]]));
  baseline.train(all, { training: all.slice(0, 1000), heldOut: all.slice(1000), known: all.slice(1000) });
  const sample = baseline.predictSampleMs(ASK);
  assert(sample);
  assertEquals(baseline.settings, undefined);
  const logAt = (level: number) => Math.log(sample[SAMPLE_LEVELS.indexOf(level)] / all[2999].rttMs);
  // The error of the last value is that of two draws.
  assertAlmostEquals(logAt(0.51), 0, 0.03);
  assertAlmostEquals(logAt(0.95), 0.2 * Math.SQRT2 * 1.645, 0.04);
});

Deno.test("TunedBaseline keeps numbers that distributions would worsen, and a method's distributions", () => {
  // Exact until the query, then far off half of the time: no common factor helps.
  const exact = Array.from({ length: 60 }, (_, timeS) => ({ ...ASK, timeS, rttMs: 20 }));
  const baseline = new TunedBaseline(new Map([["", () => new LastSeenBaseline()]]));
  baseline.train(exact, { training: exact, heldOut: exact, known: [] });
  assertEquals(baseline.predictSampleMs(ASK), undefined);
  const own = new TunedBaseline(new Map([["", () => new HiddenMarkovBaseline({ numLevels: 1 })]]));
  const alone = new HiddenMarkovBaseline({ numLevels: 1 });
  const all = jumping(50);
  own.train(all, { training: all, heldOut: all, known: [] });
  alone.train(all);
  assertEquals(own.predictSampleMs(ASK), alone.predictSampleMs(ASK));
});

Deno.test("crpsOfSampleMs() equals its formula over all pairs", () => {
  const sample = Float64Array.of(1, 2, 4, 4, 30);
  for (const measuredMs of [0.5, 3, 4, 100]) {
    const mean = (of: (ms: number) => number) => sample.reduce((sum, ms) => sum + of(ms), 0) / sample.length;
    const expected = mean((ms) => Math.abs(ms - measuredMs)) - mean((a) => mean((b) => Math.abs(a - b))) / 2;
    assertAlmostEquals(crpsOfSampleMs(sample, measuredMs), expected, 1e-12);
  }
  assertAlmostEquals(crpsOfSampleMs(Float64Array.of(7), 9), crpsOfNumberMs(7, 9), 1e-12);
  const weights = Float64Array.of(0.25, 0, 0.5, 0.25);
  const repeated = Float64Array.of(1, 4, 4, 30);
  const expected = crpsOfSampleMs(repeated, 3);
  assertAlmostEquals(crpsOfSampleMs([1, 2, 4, 30], 3, weights), expected, 1e-12);
});

/** Measurements of 400 pairs in both directions. */
function mesh(): BaselineMeasurement[] {
  return Array.from({ length: 4000 }, (_, timeS) => {
    const [a, b] = [`n${timeS % 20}`, `n${Math.floor(timeS / 20) % 20}`];
    return { source: a, destination: b, timeS, rttMs: timeS % 9 === 0 ? null : timeS };
  });
}

const pairOf = ({ source, destination }: BaselineMeasurement) => [source, destination].sort().join(" ");

Deno.test("tuningRows() holds out both directions of a tenth of the links if pairs are unseen", () => {
  const tuning = tuningRows(mesh(), { validation: undefined, history: "train" });
  const known = new Set([...tuning.training].map(pairOf));
  assert(tuning.heldOut.every((each) => !known.has(pairOf(each)) && each.rttMs !== null));
  const share = 1 - [...tuning.training].length / 4000;
  assert(share > 0.05 && share < 0.16, `${share}`);
  assertEquals([...tuning.known], []);
});

Deno.test("tuningRows() holds out the last tenth of the time if earlier measurements are known", () => {
  const tuning = tuningRows(mesh(), { validation: undefined, history: "all" });
  assertEquals([...tuning.training].length, 3600);
  assertEquals(tuning.heldOut[0].timeS, 3601);
  assertEquals([...tuning.known].length, 400);
});

Deno.test("tuningRows() uses the validation split if there is one, and samples the pairs of large data", () => {
  const rows = mesh();
  const validation = rows.slice(3000);
  const tuning = tuningRows(rows.slice(0, 3000), { validation, history: "all" });
  assertEquals([[...tuning.training].length, tuning.heldOut[0].timeS], [3000, 3000]);
  assertEquals([...tuning.known], validation);
  const many = { length: 800_000, [Symbol.iterator]: () => rows[Symbol.iterator]() };
  const sampled = new Set([...tuningRows(many, { validation, history: "all" }).training].map(pairOf));
  const numPairs = new Set(rows.map(pairOf)).size;
  assert(sampled.size > 0.15 * numPairs && sampled.size < 0.36 * numPairs, `${sampled.size} of ${numPairs}`);
});

const SOURCE_MEDIAN_MS = decodeRttCode(encodeRttCode(30));
const DESTINATION_MEDIAN_MS = decodeRttCode(encodeRttCode(10));
const GLOBAL_MEDIAN_MS = decodeRttCode(encodeRttCode(50));

Deno.test("standardBaselines() fall back to the median of the source, then the destination, then all", () => {
  const training = series(
    ["a", "x", 10],
    ["a", "y", 30],
    ["a", "y", 50],
    ["b", "x", 10],
    ["b", "x", 10],
    ...Array.from({ length: 4 }, () => ["c", "y", 50] as [string, string, number]),
    ["new", "lost", null],
  );
  for (const [name, baseline] of standardBaselines(0)) {
    baseline.train(training);
    const predict = (source: string, destination: string) =>
      baseline.predictMs({ source, destination, timeS: 9 });
    const saysAlways = ["global median", "biased factorisation"].includes(name);
    if (!saysAlways && name !== "destination median") {
      assertEquals(predict("a", "new"), SOURCE_MEDIAN_MS, name);
    }
    if (!saysAlways) assertEquals(predict("new", "x"), DESTINATION_MEDIAN_MS, name);
    if (!saysAlways) assertEquals(predict("new", "new"), GLOBAL_MEDIAN_MS, name);
    if (!saysAlways) assertEquals(predict("new", "lost"), GLOBAL_MEDIAN_MS, name);
    baseline.observe({ source: "late", destination: "z", timeS: 20, rttMs: 30 });
    if (!saysAlways) assertEquals(predict("late", "unmeasured"), SOURCE_MEDIAN_MS, name);
  }
});

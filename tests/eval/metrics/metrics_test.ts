import { casesToShow, verdictOf } from "../../../lib/eval/metrics/rtt_comparison.ts";
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { brierScore, coverages, pitHistogram, reliability } from "../../../lib/eval/metrics/calibration.ts";
import {
  ClusterBootstrap,
  clustersOf,
  differenceInterval,
  type Interval,
  intervalOf,
  MIN_CLUSTERS,
  NUM_RESAMPLES,
} from "../../../lib/eval/metrics/bootstrap.ts";
import {
  crpsMs,
  crpsOfNumberMs,
  errorCdf,
  type ScoredForecasts,
  scoreErrors,
} from "../../../lib/eval/metrics/forecast_errors.ts";
import { quantileOfSample } from "../../../lib/base/sample_statistics.ts";
import { RttDistribution, RTTS_MS } from "../../../lib/query/rtt/rtt_distribution.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { CANONICAL_RTT_CODES, decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";

/** A distribution with P(RTT <= x) = cdf(x) at the upper bounds of buckets. */
function distributionOf(cdf: (ms: number) => number): RttDistribution {
  const probabilities = new Float64Array(RTTS_MS.length);
  let below = 0;
  for (let i = 0; i < RTTS_MS.length; i++) {
    const isLast = i === RTTS_MS.length - 1;
    const upTo = isLast ? 1 : cdf((RTTS_MS[i] + RTTS_MS[i + 1]) / 2);
    probabilities[i] = upTo - below;
    below = upTo;
  }
  return new RttDistribution(0, probabilities, 1);
}

const uniform = (low: number, high: number) => (ms: number) =>
  Math.min(1, Math.max(0, (ms - low) / (high - low)));

Deno.test("crpsMs() of one certain value is the absolute error", () => {
  const certain = new RttDistribution(
    0,
    Float64Array.from(CANONICAL_RTT_CODES, (code) => code === encodeRttCode(20) ? 1 : 0),
    1,
  );
  const valueMs = decodeRttCode(encodeRttCode(20));
  for (const measuredMs of [0.0001, 5, 19.999, 20, 200, 59_999, 60_001, 5e9]) {
    const expected = crpsOfNumberMs(valueMs, measuredMs);
    assertAlmostEquals(crpsMs(certain, measuredMs), expected, 1e-5);
    assertAlmostEquals(expected, Math.abs(Math.min(60_000, measuredMs) - valueMs), 1e-9);
  }
});

Deno.test("crpsMs() of a uniform distribution equals the closed form", () => {
  const distribution = distributionOf(uniform(10, 60));
  // CRPS of U(0, 1): y^3 / 3 + (1 - y)^3 / 3 inside, plus the distance outside; times the width of the
  // interval.
  for (const y of [-0.1, 0, 0.3, 0.5, 1, 1.7]) {
    const inside = Math.min(1, Math.max(0, y));
    const expected = (inside ** 3 + (1 - inside) ** 3) / 3 + Math.abs(y - inside);
    assertAlmostEquals(crpsMs(distribution, 10 + 50 * y), 50 * expected, 0.01);
  }
});

Deno.test("crpsMs() of a small mass at the longest RTTs is its square times a minute", () => {
  const distribution = distributionOf((ms) => ms < 20 ? 0 : ms < 1e9 ? 0.99 : 1);
  assertAlmostEquals(crpsMs(distribution, decodeRttCode(encodeRttCode(20))), 0.01 ** 2 * 60_000, 0.02);
});

/** Errors of forecasts, each in its own cluster. */
function errorValues(scored: ScoredForecasts) {
  const places = scored.measuredMs.keys().toArray();
  const bootstrap = new ClusterBootstrap(Uint32Array.from(places), { seed: 0 });
  const { intervals: _, ...values } = scoreErrors(scored, bootstrap, places).metrics;
  return values;
}

Deno.test("scoreErrors() computes median, mean and relative errors and skips missing forecasts", () => {
  const measuredMs = Float64Array.of(10, 25, 30, 40, 99);
  const predictedMs = Float64Array.of(10, 20, 33, 48, NaN);
  assertEquals(errorValues({ predictedMs, measuredMs }), {
    numMeasurements: 4,
    medianAbsoluteMs: 3,
    meanAbsoluteMs: 4,
    nmae: 16 / 105,
    relative: { p50: 0.1, p75: 0.2, p90: 0.2, p95: 0.2 },
    crpsMs: 4,
  });
  const scored = errorValues({ predictedMs, measuredMs, crpsMs: Float64Array.of(1, 2, 3, 6, NaN) });
  assertEquals([scored.crpsMs, scored.meanAbsoluteMs], [3, 4]);
  const none = new Float64Array(0);
  assertEquals(errorValues({ predictedMs: none, measuredMs: none }), {
    numMeasurements: 0,
    medianAbsoluteMs: null,
    meanAbsoluteMs: null,
    nmae: null,
    relative: { p50: null, p75: null, p90: null, p95: null },
    crpsMs: null,
  });
});

Deno.test("errorCdf() returns the quantiles of the absolute error", () => {
  const predictedMs = Float64Array.from({ length: 201 }, (_, i) => i === 200 ? NaN : (i % 2 ? 5 : -5) * i);
  const cdf = errorCdf({ predictedMs, measuredMs: new Float64Array(201) });
  assertEquals(cdf.length, 101);
  assertEquals([cdf[0], cdf[1], cdf[50], cdf[99], cdf[100]], [0, 5, 495, 985, 995]);
  assertEquals(errorCdf({ predictedMs: new Float64Array(0), measuredMs: new Float64Array(0) }), []);
});

Deno.test("coverages() and pitHistogram() divide a range between the parts it spans", () => {
  const ranges = { below: Float64Array.of(0.2, 0.9), upTo: Float64Array.of(0.3, 1) };
  assertEquals(coverages(ranges).map(({ share }) => Math.round(1e6 * (share ?? NaN)) / 1e6), [
    0.25,
    0.5,
    0.75,
    0.875,
  ]);
  assertEquals(pitHistogram(ranges, 4).map((share) => Math.round(1e6 * share) / 1e6), [0.25, 0.25, 0, 0.5]);
  const points = { below: Float64Array.of(0, 0.5, 1), upTo: Float64Array.of(0, 0.5, 1) };
  assertEquals(pitHistogram(points, 2).map((share) => Math.round(3 * share)), [1, 2]);
});

Deno.test("brierScore() and reliability() score forecasts of failure", () => {
  const pFailed = Float64Array.of(0.1, 0.1, 0.8, 0.6, 0.3, 0.2);
  const isFailed = Uint8Array.of(0, 1, 1, 1, 0, 0);
  assertAlmostEquals(
    brierScore(pFailed, isFailed) ?? NaN,
    (0.01 + 0.81 + 0.04 + 0.16 + 0.09 + 0.04) / 6,
    1e-12,
  );
  assertEquals(brierScore(new Float64Array(0), new Uint8Array(0)), null);
  const bins = reliability(pFailed, isFailed, { numBins: 3 });
  assertEquals(bins.map(({ numMeasurements, observed }) => [numMeasurements, observed]), [[2, 0.5], [2, 0], [
    2,
    1,
  ]]);
  bins.forEach(({ predicted }, i) => assertAlmostEquals(predicted, [0.1, 0.25, 0.7][i], 1e-12));
  const equal = reliability(new Float64Array(5).fill(0.1), isFailed.subarray(0, 5), { numBins: 3 });
  assertEquals(equal.map(({ numMeasurements }) => numMeasurements), [5]);
});

Deno.test("quantileOfSample() is the smallest value with at least the share at or below it", () => {
  assertEquals([0, 0.5, 0.51, 0.9, 1].map((q) => quantileOfSample([4, 1, 3, 2], q)), [1, 2, 3, 4, 4]);
  assert(Number.isNaN(quantileOfSample([], 0.5)));
});

Deno.test("casesToShow() is the number of cases that show a true difference with 80 % power", () => {
  const level = (model: number, differenceInterval: [number, number] | null) => ({
    model,
    baseline: 10,
    differenceInterval,
  });
  // Half-width 4 and difference 2: the interval of 600 cases would end at 0. Power requires (1.960 + 0.842) ^
  // 2 / 1.960 ^ 2 times as many.
  assertEquals(casesToShow(level(12, [-2, 6]), 150), 1300);
  assertEquals(casesToShow(level(8, [-6, 2]), 150), 1300);
  // If an interval is asymmetric, the half towards 0 counts; counts are rounded up to two digits.
  assertEquals(casesToShow(level(11, [-2, 2]), 1234), 23_000);
  // Already shown, nothing to show, too far away, unknown.
  assertEquals(casesToShow(level(12, [1, 3]), 150), null);
  assertEquals(casesToShow(level(10, [-1, 1]), 150), null);
  assertEquals(casesToShow(level(10.001, [-1, 1]), 150), null);
  assertEquals(casesToShow(level(12, null), 150), null);
});

const NORMAL_975 = 1.96;

function places(length: number): number[] {
  return Array.from({ length }, (_, i) => i);
}

/** Values in clusters: a normal number shared by the cluster, plus a separate one for each value. */
function clustered(numClusters: number, size: number, shared: number) {
  const random = new RandomStream(0, "test/bootstrap");
  const values = new Float64Array(numClusters * size);
  for (let cluster = 0; cluster < numClusters; cluster++) {
    const common = shared * random.normal();
    for (let i = 0; i < size; i++) values[cluster * size + i] = common + random.normal();
  }
  return { values, clusterOf: Uint32Array.from(values, (_, i) => Math.floor(i / size)) };
}

function meanInterval(values: Float64Array, clusterOf: Uint32Array, seed = 1): Interval {
  const bootstrap = new ClusterBootstrap(clusterOf, { seed });
  const mean = bootstrap.mean(values, places(values.length));
  const interval = intervalOf(mean);
  assert(interval);
  return interval;
}

const widthOf = ([low, high]: Interval) => high - low;

Deno.test("ClusterBootstrap's intervals of means match the normal distribution", () => {
  const { values, clusterOf } = clustered(2000, 1, 0);
  const interval = meanInterval(values, clusterOf);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  assertAlmostEquals(interval[0], mean - NORMAL_975 / Math.sqrt(2000), 0.006);
  assertAlmostEquals(interval[1], mean + NORMAL_975 / Math.sqrt(2000), 0.006);
});

Deno.test("ClusterBootstrap gains no precision from ten similar measurements in each cluster", () => {
  const { values, clusterOf } = clustered(200, 10, 3);
  const byCluster = meanInterval(values, clusterOf);
  const alone = meanInterval(values, Uint32Array.from(values, (_, i) => i));
  const expected = 2 * NORMAL_975 * Math.sqrt((9 + 0.1) / 200);
  assertAlmostEquals(widthOf(byCluster) / expected, 1, 0.12);
  assert(widthOf(alone) < 0.45 * widthOf(byCluster), `${widthOf(alone)} of ${widthOf(byCluster)}`);
});

Deno.test("ClusterBootstrap.quantiles() are the quantiles of resamples of whole clusters", () => {
  // The values of a cluster are equal, so a resample's quantile is the value of a cluster.
  const clusterOf = Uint32Array.from({ length: 30 }, (_, i) => Math.floor(i / 3));
  const values = Float64Array.from(clusterOf, (cluster) => 10 * cluster);
  const bootstrap = new ClusterBootstrap(clusterOf, { seed: 2 });
  const [low, half, high] = bootstrap.quantiles(values, places(30), [0.1, 0.5, 0.9]);
  const mean = bootstrap.mean(values, places(30));
  const random = new RandomStream(2, "evaluate/bootstrap");
  for (let resample = 0; resample < NUM_RESAMPLES; resample++) {
    const drawn = Array.from({ length: 10 }, () => 10 * random.below(10)).sort((a, b) => a - b);
    assertEquals([low[resample], half[resample], high[resample]], [drawn[0], drawn[4], drawn[8]]);
    assertAlmostEquals(mean[resample], drawn.reduce((sum, value) => sum + value, 0) / 10, 1e-9);
  }
});

Deno.test("ClusterBootstrap detects a small paired difference if both methods share the noise", () => {
  const { values, clusterOf } = clustered(100, 2, 5);
  const random = new RandomStream(3, "test/pairs");
  const better = values.map((value) => value - 0.5 + 0.3 * random.normal());
  const bootstrap = new ClusterBootstrap(clusterOf, { seed: 1 });
  const [a, b] = [better, values].map((each) => bootstrap.mean(each, places(each.length)));
  const [ofA, ofB, difference] = [intervalOf(a), intervalOf(b), differenceInterval(a, b)];
  assert(ofA && ofB && difference);
  assert(ofA[1] > ofB[0], "unpaired, the intervals overlap");
  assertAlmostEquals((difference[0] + difference[1]) / 2, -0.5, 0.1);
  assertEquals(verdictOf(difference), "better");
  assertEquals(verdictOf(differenceInterval(b, a)), "worse");
  assertEquals(verdictOf(differenceInterval(a, a)), "none");
});

Deno.test("ClusterBootstrap is reproducible by seed, skips NaN and has no intervals for few clusters", () => {
  const { values, clusterOf } = clustered(40, 2, 1);
  assertEquals(meanInterval(values, clusterOf, 4), meanInterval(values, clusterOf, 4));
  assert(meanInterval(values, clusterOf, 4)[0] !== meanInterval(values, clusterOf, 5)[0]);
  const kept = values.map((value, i) => i % 2 === 0 ? value : NaN);
  const bootstrap = new ClusterBootstrap(clusterOf, { seed: 4 });
  const all = places(values.length);
  const [withNaN, without] = [
    bootstrap.mean(kept, all),
    bootstrap.mean(values.filter((_, i) => i % 2 === 0), all.filter((i) => i % 2 === 0)),
  ];
  const few = (count: number) => {
    const some = all.filter((place) => clusterOf[place] < count);
    return [
      bootstrap.mean(values.slice(0, some.length), some),
      ...bootstrap.quantiles(values.slice(0, some.length), some, [0.5]),
    ];
  };
  const [five, six] = [few(MIN_CLUSTERS - 1), few(MIN_CLUSTERS)];
  assertEquals(withNaN, without);
  assertEquals(five.map(intervalOf), [null, null]);
  assert(six.map(intervalOf).every((interval) => interval !== null));
});

Deno.test("clustersOf() groups both directions of a pair, or sources if these were held out", () => {
  const caseOf = ([sourceKey, dstAddr]: string) => ({ sourceKey, dstAddr });
  const cases = ["ab", "ba", "ac", "ab", "bc"].map(caseOf);
  assertEquals([...clustersOf(cases, "pair").ofCase], [0, 0, 1, 0, 2]);
  assertEquals(clustersOf(cases, "time").count, 3);
  assertEquals([...clustersOf(cases, "probe").ofCase], [0, 1, 0, 0, 1]);
});

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import {
  ClusterBootstrap,
  clustersOf,
  differenceInterval,
  type Interval,
  intervalOf,
  MIN_CLUSTERS,
  NUM_RESAMPLES,
} from "../../../lib/eval/metrics/bootstrap.ts";
import { verdictOf } from "../../../lib/eval/metrics/rtt_comparison.ts";
import { RandomStream } from "../../../lib/base/random.ts";

const NORMAL_975 = 1.96;

function places(length: number): number[] {
  return Array.from({ length }, (_, i) => i);
}

/** Values of clusters: a normal number that all of a cluster share, plus a normal one of each. */
function clustered(numClusters: number, size: number, shared: number, seed = 0) {
  const random = new RandomStream(seed, "test/bootstrap");
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

Deno.test("ClusterBootstrap gives means the interval of the normal distribution", () => {
  const { values, clusterOf } = clustered(2000, 1, 0);
  const interval = meanInterval(values, clusterOf);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  assertAlmostEquals(interval[0], mean - NORMAL_975 / Math.sqrt(2000), 0.006);
  assertAlmostEquals(interval[1], mean + NORMAL_975 / Math.sqrt(2000), 0.006);
});

Deno.test("ClusterBootstrap takes measurements that are alike for one: ten copies tell no more", () => {
  const { values, clusterOf } = clustered(200, 10, 3);
  const byCluster = meanInterval(values, clusterOf);
  const alone = meanInterval(values, Uint32Array.from(values, (_, i) => i));
  const expected = 2 * NORMAL_975 * Math.sqrt((9 + 0.1) / 200);
  assertAlmostEquals(widthOf(byCluster) / expected, 1, 0.12);
  assert(widthOf(alone) < 0.45 * widthOf(byCluster), `${widthOf(alone)} of ${widthOf(byCluster)}`);
});

Deno.test("ClusterBootstrap's intervals hold the truth 95 % of the time", () => {
  let numHeld = 0;
  for (let seed = 0; seed < 60; seed++) {
    const { values, clusterOf } = clustered(80, 3, 1, seed);
    const [low, high] = meanInterval(values, clusterOf, seed);
    if (low <= 0 && high >= 0) numHeld++;
  }
  // Of 60 at 95 %: 57 expected, fewer than 51 once in 2,000 trials.
  assert(numHeld >= 51, `${numHeld} of 60`);
});

Deno.test("ClusterBootstrap.quantiles() are the quantiles of resamples, whole clusters at a time", () => {
  // Each cluster is one value, so a resample's quantile is the value of a cluster.
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

Deno.test("ClusterBootstrap pairs: a small difference shows where both methods share the noise", () => {
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

Deno.test("ClusterBootstrap is the same for a seed, leaves out NaN, and says nothing of few clusters", () => {
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

Deno.test("clustersOf() puts both directions of a pair together, and sources where these were held out", () => {
  const caseOf = ([sourceKey, dstAddr]: string) => ({ sourceKey, dstAddr });
  const cases = ["ab", "ba", "ac", "ab", "bc"].map(caseOf);
  assertEquals([...clustersOf(cases, "pair").ofCase], [0, 0, 1, 0, 2]);
  assertEquals(clustersOf(cases, "time").count, 3);
  assertEquals([...clustersOf(cases, "probe").ofCase], [0, 1, 0, 0, 1]);
});

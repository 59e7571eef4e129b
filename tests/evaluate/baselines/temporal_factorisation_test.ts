import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { TemporalFactorisationBaseline } from "../../../lib/evaluate/baselines/temporal_factorisation.ts";
import { RandomStream } from "../../../lib/random/philox.ts";
import { predictInOrder } from "./series.ts";

const SLICE_S = 900;

/** Pairs whose RTTs swing together about their own means, each by its own share, in all slices of 15 minutes. */
function swinging(numSlices: number) {
  const random = new RandomStream(1, "test/swing");
  const pairs = Array.from({ length: 40 }, (_, i) => ({
    ...{ source: `s${i % 8}`, destination: `d${Math.floor(i / 8)}` },
    ...{ mean: 3 + random.normal(), swing: random.normal() },
  }));
  return Array.from(
    { length: numSlices },
    (_, slice) =>
      pairs.map(({ source, destination, mean, swing }, i) => ({
        ...{ source, destination, timeS: slice * SLICE_S + 10 * i },
        rttMs: Math.exp(mean + swing * Math.sin(slice / 3)),
      })),
  ).flat();
}

function errorsOf(predictedMs: Float64Array, measurements: { rttMs: number }[]): Float64Array {
  return predictedMs.map((ms, i) => Math.abs(Math.log(ms / measurements[i].rttMs))).sort();
}

Deno.test("TemporalFactorisationBaseline recovers a rank-1 swing, and from the slices forecasts the next", () => {
  const all = swinging(80);
  const [training, later] = [all.slice(0, 60 * 40), all.slice(60 * 40)];
  const baseline = new TemporalFactorisationBaseline({ seed: 1, rank: 2, smoothness: 0.1 });
  baseline.train(training);
  assert(baseline.applies);
  const within = errorsOf(predictInOrder(baseline, training, { known: [] }), training);
  assert(within[within.length >> 1] < 0.02, `${within[within.length >> 1]}`);
  const predictedMs = predictInOrder(baseline, later, { known: later });
  const ahead = errorsOf(predictedMs, later);
  // The mean alone is off by 0.4 or so, the last value by 0.15.
  assert(ahead[ahead.length >> 1] < 0.06, `${ahead[ahead.length >> 1]}`);
});

Deno.test("TemporalFactorisationBaseline goes to the means far from what was measured", () => {
  const baseline = new TemporalFactorisationBaseline({ seed: 1 });
  baseline.train(swinging(60));
  const { source, destination } = swinging(1)[3];
  const farMs = baseline.predictMs({ source, destination, timeS: 5000 * SLICE_S }) ?? NaN;
  assertAlmostEquals(Math.log(farMs), 3 + logMean(), 0.25);
  assertEquals(baseline.predictMs({ source: "new", destination, timeS: 0 }), undefined);
});

/** The mean logarithm of the pair asked about, less 3. */
function logMean(): number {
  const { source, destination } = swinging(1)[3];
  const ofPair = swinging(60).filter((each) => each.source === source && each.destination === destination);
  return ofPair.reduce((sum, { rttMs }) => sum + Math.log(rttMs), 0) / ofPair.length - 3;
}

Deno.test("TemporalFactorisationBaseline does not apply to few slices, nor to pairs that were measured seldom", () => {
  const seldom = swinging(60).filter((_, i) => i % 7 === 0 && i % 3 !== 0);
  for (const measurements of [swinging(4), seldom.map((each, i) => ({ ...each, source: `${i}` })), []]) {
    const baseline = new TemporalFactorisationBaseline({ seed: 1 });
    baseline.train(measurements);
    assertEquals(baseline.applies, false);
    assertEquals(baseline.predictMs({ source: "s3", destination: "d0", timeS: 0 }), undefined);
  }
});

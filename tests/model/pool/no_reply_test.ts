import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import {
  type FailureCase,
  failureKind,
  failureOfEnds,
  failureOfPair,
  fitFailures,
  type KnownTries,
} from "../../../lib/model/pool/no_reply.ts";

const tried = (measurements: number, failures: number) => ({ measurements, failures });
const NONE = tried(0, 0);
/** Measurements of a pair, all of which count alike. */
const anyTime = (measurements: number, failures: number) => ({
  ...tried(measurements, failures),
  share: failures / measurements,
  worth: Infinity,
});

function knownOf(changes: Partial<KnownTries>): KnownTries {
  return { ofSource: NONE, ofDestination: NONE, ofAll: tried(998, 99), ...changes };
}

Deno.test("P(no reply) is neither 0 nor 1, however many measurements agree", () => {
  for (const failures of [0, 2 ** 24]) {
    const all = tried(2 ** 24, failures);
    const ofEnds = failureOfEnds(knownOf({ ofSource: all, ofDestination: all, ofAll: all }));
    const ofPair = anyTime(2 ** 24, failures);
    for (
      const p of [ofEnds, failureOfPair(ofEnds, ofPair), failureOfPair(ofEnds, { ...ofPair, worth: 1e9 })]
    ) {
      assert(p >= 1e-6 && p <= 1 - 1e-6, `${p}`);
    }
  }
});

Deno.test("the pair's measurements update what its ends suggest; those at the asked time update all", () => {
  const all = (1 + 4 * 0.5) / 40;
  assertAlmostEquals(failureOfPair(0.5, anyTime(36, 1)), all, 1e-12);
  const now = { ...anyTime(36, 1), share: 0.25, worth: 8 };
  assertAlmostEquals(failureOfPair(0.5, now), (8 * 0.25 + 4 * all) / 12, 1e-12);
});

Deno.test("failureKind() depends on whether the ends were measured", () => {
  const some = tried(3, 0);
  assertEquals(failureKind(knownOf({})), 0);
  assertEquals(failureKind(knownOf({ ofDestination: some })), 1);
  assertEquals(failureKind(knownOf({ ofSource: some })), 2);
  assertEquals(failureKind(knownOf({ ofSource: some, ofDestination: some })), 3);
});

/** Outcomes drawn from the model or from the endpoints, which disagree about each of them. */
function drawnFrom(truth: "ofModel" | "ofEnds", kind: number, count: number): FailureCase[] {
  const random = new RandomStream(kind, "tests/failures");
  return Array.from({ length: count }, () => {
    const said = { ofModel: random.float64() ** 3, ofEnds: random.float64() ** 3 };
    return { ...said, kind, isFailed: random.float64() < said[truth], weight: 1 };
  });
}

Deno.test("fitFailures() favours the source of each kind's outcomes; kinds without any share the overall weight", () => {
  for (const weight of fitFailures([])) assertAlmostEquals(weight, 0.2, 1e-12);
  const weights = fitFailures([...drawnFrom("ofModel", 3, 2000), ...drawnFrom("ofEnds", 1, 2000)]);
  assert(weights[3] < 0.05 && weights[1] > 0.95, `${weights}`);
  assert(weights[0] > 0.4 && weights[0] < 0.6 && weights[0] === weights[2], `${weights}`);
  const certain = [{ kind: 0, ofModel: 0, ofEnds: 0.1, isFailed: true, weight: 1 }];
  assert(fitFailures(certain).every((weight) => weight > 0 && weight < 1));
});

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import {
  failureByNetwork,
  type FailureCase,
  failureKind,
  failureShare,
  fitFailures,
  type KnownTries,
  NUM_FAILURE_KINDS,
} from "../../../lib/model/pool/no_reply.ts";

const tried = (measurements: number, failures: number) => ({ measurements, failures });
const NONE = tried(0, 0);

function knownOf(changes: Partial<KnownTries>): KnownTries {
  const none = { ofPair: NONE, isInContext: false, ofSource: NONE, ofDestination: NONE };
  return { ...none, ofAll: tried(998, 99), ...changes };
}

Deno.test("failureShare() is neither 0 nor 1, however many measurements agree", () => {
  for (const failures of [0, 2 ** 24]) {
    const all = tried(2 ** 24, failures);
    const p = failureShare(knownOf({ ofPair: all, ofSource: all, ofDestination: all, ofAll: all }));
    assert(p >= 1e-6 && p <= 1 - 1e-6, `${p}`);
  }
});

Deno.test("the pair's measurements update the network's P(no reply), unless its context has some", () => {
  assertEquals(failureByNetwork(0.5, knownOf({})), 0.5);
  const ofPair = tried(36, 1);
  assertAlmostEquals(failureByNetwork(0.5, knownOf({ ofPair })), (1 + 4 * 0.5) / 40, 1e-12);
  assertEquals(failureByNetwork(0.5, knownOf({ ofPair, isInContext: true })), 0.5);
});

Deno.test("failureKind() depends on whether the ends and the pair were measured", () => {
  const some = tried(3, 0);
  assertEquals(failureKind(knownOf({})), 0);
  assertEquals(failureKind(knownOf({ ofDestination: some })), 1);
  assertEquals(failureKind(knownOf({ ofSource: some })), 2);
  assertEquals(failureKind(knownOf({ ofSource: some, ofDestination: some })), 3);
  assertEquals(failureKind(knownOf({ ofPair: some })), NUM_FAILURE_KINDS - 1);
});

/** Outcomes drawn from the model or from the share, which disagree about each of them. */
function drawnFrom(truth: "ofModel" | "share", kind: number, count: number): FailureCase[] {
  const random = new RandomStream(kind, "tests/failures");
  return Array.from({ length: count }, () => {
    const said = { ofModel: random.float64() ** 3, share: random.float64() ** 3 };
    return { ...said, kind, isFailed: random.float64() < said[truth], weight: 1 };
  });
}

Deno.test("fitFailures() favours the source of each kind's outcomes; kinds without any share the overall weight", () => {
  for (const weight of fitFailures([])) assertAlmostEquals(weight, 0.2, 1e-12);
  const weights = fitFailures([...drawnFrom("ofModel", 3, 2000), ...drawnFrom("share", 1, 2000)]);
  assert(weights[3] < 0.05 && weights[1] > 0.95, `${weights}`);
  assert(weights[0] > 0.4 && weights[0] < 0.6 && weights[0] === weights[2], `${weights}`);
  const certain = [{ kind: 0, ofModel: 0, share: 0.1, isFailed: true, weight: 1 }];
  assert(fitFailures(certain).every((weight) => weight > 0 && weight < 1));
});

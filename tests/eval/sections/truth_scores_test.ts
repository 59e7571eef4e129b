import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { COVERAGE_LEVELS } from "../../../lib/eval/metrics/calibration.ts";
import {
  outcomeExcessBits,
  scoreReply,
  trueProbabilityBelow,
  TRUTH_QUANTILES,
} from "../../../lib/eval/sections/truth_section.ts";
import { LatencyModel } from "../../../lib/data/synth/latency_model.ts";
import { RttDistribution } from "../../../lib/query/rtt/rtt_distribution.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { CANONICAL_RTT_CODES, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { codeProbabilities } from "../../data/synth/code_probabilities.ts";

const MODEL = new LatencyModel(0.1, 62, 0.4);

function distribution(probabilities: Float64Array): RttDistribution {
  return new RttDistribution(0.1, probabilities, 1);
}

Deno.test("scoreReply() of the truth itself has no excess, exact coverage and the true quantiles", () => {
  const truth = distribution(codeProbabilities(MODEL));
  for (const rttMs of [62.1, 62.4, 63, 70, 1000]) {
    const score = scoreReply(MODEL, truth, encodeRttCode(rttMs));
    assertAlmostEquals(score.excessBits, 0, 1e-9);
    score.coverage.forEach((share, i) => assertAlmostEquals(share, COVERAGE_LEVELS[i], 1e-9));
    score.predictedMs.forEach((predictedMs, i) =>
      assertAlmostEquals(predictedMs / MODEL.quantile(TRUTH_QUANTILES[i]), 1, 1e-3)
    );
    assertEquals(score.trueMs, TRUTH_QUANTILES.map((q) => MODEL.quantile(q)));
  }
});

Deno.test("scoreReply() has one bit of excess where half of the mass is where the truth has none", () => {
  const halved = codeProbabilities(MODEL).map((p) => p / 2);
  halved[CANONICAL_RTT_CODES.indexOf(encodeRttCode(5))] += 0.5;
  const score = scoreReply(MODEL, distribution(halved), encodeRttCode(62.4));
  assertAlmostEquals(score.excessBits, 1, 1e-9);
  // The lower half is below every true RTT: the central 90 % reach from there to the true 0.9-quantile.
  assertAlmostEquals(score.coverage[2], 0.9, 1e-9);
  assertAlmostEquals(score.coverage[0], 0.5, 1e-9);
  assertAlmostEquals(score.predictedMs[1], 5, 0.01);
});

Deno.test("scoreReply() covers as many of the truth's draws as it says", () => {
  const wrong = new LatencyModel(0.1, 62.1, 0.6);
  const predicted = distribution(codeProbabilities(wrong));
  const random = new RandomStream(1, "test/truth-scores");
  const [lowMs, highMs] = [wrong.quantile(0.05), wrong.quantile(0.95)];
  let numReplies = 0;
  let numCovered = 0;
  for (let draw = 0; draw < 20_000; draw++) {
    const rttMs = MODEL.sample(random);
    if (rttMs === undefined) continue;
    numReplies++;
    if (rttMs >= lowMs && rttMs < highMs) numCovered++;
  }
  const { coverage } = scoreReply(MODEL, predicted, encodeRttCode(62.5));
  assert(coverage[2] < 0.8, `${coverage[2]}`);
  assertAlmostEquals(numCovered / numReplies, coverage[2], 4 * Math.sqrt(0.25 / numReplies));
});

Deno.test("trueProbabilityBelow() spreads the mass of a code evenly within it", () => {
  const atOnce = new Float64Array(CANONICAL_RTT_CODES.length);
  const place = CANONICAL_RTT_CODES.indexOf(encodeRttCode(62.4));
  atOnce[place] = 1;
  const probabilities = codeProbabilities(MODEL);
  const below = probabilities.subarray(0, place).reduce((sum, p) => sum + p, 0);
  for (const q of [0.1, 0.5, 1]) {
    const found = trueProbabilityBelow(MODEL, distribution(atOnce), q);
    assertAlmostEquals(found, below + q * probabilities[place], 1e-12);
  }
});

Deno.test("outcomeExcessBits() is 0 for the truth and grows with the difference", () => {
  assertEquals([outcomeExcessBits(MODEL, 0.1, true), outcomeExcessBits(MODEL, 0.1, false)], [0, 0]);
  assertAlmostEquals(outcomeExcessBits(MODEL, 0.05, true), 1, 1e-12);
  assertAlmostEquals(outcomeExcessBits(MODEL, 0.55, false), 1, 1e-12);
});

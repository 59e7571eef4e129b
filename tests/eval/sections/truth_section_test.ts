import { assert, assertAlmostEquals, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { drawCases, type EvalCase, queryOf } from "../../../lib/eval/cases.ts";
import {
  evaluateTruth,
  outcomeExcessBits,
  scoreReply,
  TRUTH_QUANTILES,
} from "../../../lib/eval/sections/truth_section.ts";
import { UserError } from "../../../lib/base/errors.ts";
import { CALIBRATION_LEVELS, QuantileCalibration } from "../../../lib/query/rtt/quantile_calibration.ts";
import { makeCampaign, RowMaker } from "../../../lib/data/synth/campaign.ts";
import { SyntheticTruth } from "../../../lib/data/synth/truth.ts";
import { makeWorld } from "../../../lib/data/synth/world.ts";
import type { ProbeRow } from "../../../lib/data/probe_rows/probe_row.ts";
import { CANONICAL_RTT_CODES, encodeRttCode, rttCodeBounds } from "../../../lib/data/tokens/rtt_code.ts";
import { withTinyModel } from "../../query/tiny_model.ts";
import { MemoryRowSource } from "../../data/loader/synthetic_rows.ts";
import { COVERAGE_LEVELS } from "../../../lib/eval/metrics/calibration.ts";
import { LatencyModel } from "../../../lib/data/synth/latency_model.ts";
import { RttDistribution } from "../../../lib/query/rtt/rtt_distribution.ts";
import { codeProbabilities } from "../../data/synth/code_probabilities.ts";

const NUM_ROWS = 400;
const WORLD = makeWorld({
  seed: 5,
  probes: 4,
  destinations: 6,
  ipv6Share: 0.5,
  startTimeS: 1_750_723_200,
  endTimeS: 1_750_723_200 + 86_400,
});
const TRUTH = new SyntheticTruth(WORLD);

/** Rows of a campaign, one per probe. Every 7th measurement and one destination are held out. */
function synthRows(): { training: MemoryRowSource; heldOut: MemoryRowSource } {
  const campaign = makeCampaign(WORLD, NUM_ROWS);
  const addresses = WORLD.hosts.map(({ address }) => address);
  const rows = new RowMaker(campaign).rows(0, NUM_ROWS);
  const rowOf = (probe: number, isWanted: (row: number) => boolean): ProbeRow => {
    const of = Array.from({ length: NUM_ROWS }, (_, row) => row)
      .filter((row) => rows.src[row] === probe && isWanted(row));
    return {
      srcId: BigInt(probe),
      eventTimeUs: Float64Array.from(of, (row) => rows.eventTimeUs[row]),
      srcAddrs: [addresses[probe]],
      srcIndex: new Int32Array(of.length),
      dstAddrs: addresses,
      dstIndex: Int32Array.from(of, (row) => rows.dst[row]),
      ipVersion: Int8Array.from(of, (row) => rows.ipVersion[row]),
      rttMs: Float32Array.from(of, (row) => rows.rttMs[row]),
    };
  };
  const probes = [...new Set(rows.src)].sort();
  const isHeldOut = (row: number) => row % 7 === 3 || rows.dst[row] === rows.dst[0];
  return {
    training: new MemoryRowSource(probes.map((probe) => rowOf(probe, (row) => !isHeldOut(row)))),
    heldOut: new MemoryRowSource(probes.map((probe) => rowOf(probe, isHeldOut))),
  };
}

async function synthCases(count: number): Promise<EvalCase[]> {
  const { training, heldOut } = synthRows();
  const rows = { training, heldOut, others: [], history: "all" as const };
  return await drawCases(rows, { count, maxContext: 2, seed: 1 });
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

Deno.test("evaluateTruth() computes the excess bits of exact distributions over the truth", async () => {
  await withTinyModel(async (model) => {
    const cases = await synthCases(12);
    const section = await evaluateTruth(model, cases, { truth: TRUTH, contexts: [0, 2] });
    const contexts = cases.map((drawn, i) => queryOf(drawn, i % 2 === 0 ? 0 : 2).context);
    const exact = await model.rttDistributions(
      cases.map(({ measurement }, i) => ({ ...measurement, context: contexts[i] })),
    );
    const expected = cases.flatMap(({ srcAddr, dstAddr, rttMs, measurement }, i) => {
      if (rttMs === null) return [];
      const { lowMs, highMs } = rttCodeBounds(encodeRttCode(rttMs));
      const at = (limitMs: number) => TRUTH.latencyModel(srcAddr, dstAddr, measurement.timeS).cdf(limitMs);
      return [{
        context: contexts[i].length,
        bits: Math.log2((at(highMs) - at(lowMs)) / exact[i].probabilityOf(rttMs)),
      }];
    });
    const bits = expected.map((reply) => reply.bits);
    assertEquals([section.numMeasurements, section.numReplies], [12, bits.length]);
    assertAlmostEquals(section.excessBits.mean ?? NaN, mean(bits), 1e-3);
    assert(mean(bits) > 3, `${mean(bits)} bits of a model that was never trained`);
    const variance = bits.reduce((sum, b) => sum + (b - mean(bits)) ** 2, 0) / (bits.length - 1);
    assertAlmostEquals(section.excessBits.standardError ?? NaN, Math.sqrt(variance / bits.length), 1e-3);
    for (const { context, excessBits } of section.byContext) {
      const ofContext = expected.filter((reply) => reply.context === context).map((reply) => reply.bits);
      assertAlmostEquals(excessBits.mean ?? NaN, mean(ofContext), 1e-3);
    }
  });
});

Deno.test("evaluateTruth() also compares corrected predictions, which differ only if corrected", async () => {
  await withTinyModel(async (model) => {
    const cases = await synthCases(6);
    const sectionOf = (shares: readonly number[]) =>
      evaluateTruth(model, cases, {
        truth: TRUTH,
        contexts: [0],
        calibration: new QuantileCalibration(shares),
      });
    const same = await sectionOf(CALIBRATION_LEVELS);
    assertAlmostEquals(same.calibrated?.excessBits.mean ?? NaN, same.excessBits.mean ?? NaN, 1e-9);
    same.coverage.forEach(({ share }, i) =>
      assertAlmostEquals(same.calibrated?.coverage[i].share ?? NaN, share ?? NaN, 1e-9)
    );
    const other = await sectionOf(CALIBRATION_LEVELS.map((level) => level ** 2));
    assertEquals(other.coverage, same.coverage);
    assertNotEquals(other.calibrated, same.calibrated);
  });
});

Deno.test("evaluateTruth() breaks results down by IP version and context, as plain JSON", async () => {
  await withTinyModel(async (model) => {
    const cases = await synthCases(20);
    const calls: number[] = [];
    const section = await evaluateTruth(model, cases, {
      truth: TRUTH,
      contexts: [0, 1],
      onProgress: (done, total) => calls.push(done, total),
    });
    const sizeOf = (parts: { numMeasurements: number }[]) =>
      parts.map(({ numMeasurements }) => numMeasurements);
    assertEquals(section.numMeasurements, 20);
    assertEquals(sizeOf(section.byContext), [10, 10]);
    const num4 = cases.filter(({ measurement }) => measurement.source.length === 4).length;
    assertEquals(sizeOf(section.byIpVersion), [num4, 20 - num4]);
    assertEquals(JSON.parse(JSON.stringify(section)), section);
    assertEquals(calls.slice(-2), [20, 20]);
  });
});

Deno.test("evaluateTruth() rejects measurements that cannot come from the synthetic Internet", async () => {
  const cases = await synthCases(1);
  const options = { truth: TRUTH, contexts: [0] };
  const measurement = { ...cases[0].measurement, rttCode: encodeRttCode(0.01) };
  await withTinyModel(async (model) => {
    for (
      const other of [
        { ...cases[0], srcAddr: "192.0.2.1" },
        { ...cases[0], rttMs: 0.01, measurement },
      ]
    ) {
      await assertRejects(
        () => evaluateTruth(model, [other], options),
        UserError,
        "which cannot come from this synthetic Internet; name the truth file",
      );
    }
  });
});

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

Deno.test("scoreReply() computes one bit of excess if half of the mass lies where the truth has none", () => {
  const halved = codeProbabilities(MODEL).map((p) => p / 2);
  halved[CANONICAL_RTT_CODES.indexOf(encodeRttCode(5))] += 0.5;
  const score = scoreReply(MODEL, distribution(halved), encodeRttCode(62.4));
  assertAlmostEquals(score.excessBits, 1, 1e-9);
  // The lower half is below every true RTT, so the central 90 % reach from there to the true 0.9-quantile.
  assertAlmostEquals(score.coverage[2], 0.9, 1e-9);
  assertAlmostEquals(score.coverage[0], 0.5, 1e-9);
  assertAlmostEquals(score.predictedMs[1], 5, 0.01);
});

Deno.test("outcomeExcessBits() is 0 for the truth and grows with the difference", () => {
  assertEquals([outcomeExcessBits(MODEL, 0.1, true), outcomeExcessBits(MODEL, 0.1, false)], [0, 0]);
  assertAlmostEquals(outcomeExcessBits(MODEL, 0.05, true), 1, 1e-12);
  assertAlmostEquals(outcomeExcessBits(MODEL, 0.55, false), 1, 1e-12);
});

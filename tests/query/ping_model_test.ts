import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { UserError } from "../../lib/base/errors.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import { PingModel } from "../../lib/query/ping_model.ts";
import { CALIBRATION_LEVELS, QuantileCalibration } from "../../lib/query/rtt/quantile_calibration.ts";
import { contextThatFits, encodeQuery, type RttQuery } from "../../lib/query/query_tokens.ts";
import type { RttDistribution } from "../../lib/query/rtt/rtt_distribution.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { CANONICAL_RTT_CODES, encodeRttCode } from "../../lib/data/tokens/rtt_code.ts";
import { BYTE_BASE, FAILED, RTT_START } from "../../lib/data/tokens/vocab_v2.ts";
import { measured } from "./adapt/tiny_rows.ts";
import { nextLogProbabilities, TINY_CONFIG, withTinyModel } from "./tiny_model.ts";

const CONTEXT = [
  measured("192.0.2.1", "198.51.100.7", 12.5, 1_700_000_000),
  measured("192.0.2.1", "198.51.100.9", null, 1_700_000_100),
  measured("192.0.2.1", "203.0.113.4", 250, 1_700_009_000),
];
const QUERIES: RttQuery[] = [
  { ...measured("192.0.2.1", "198.51.100.7", null, null), context: [] },
  { ...measured("192.0.2.1", "198.51.100.9", null, 1_700_010_000), context: CONTEXT },
  { ...measured("2001:db8::1", "2001:db8::2", null, 1_700_010_000), context: [] },
];

function extended(prefix: Uint16Array, ...tokens: number[]): Uint16Array {
  return Uint16Array.from([...prefix, ...tokens]);
}

/** log P(next token | sequence) by a full forward pass, which uses no cache. */
async function fullForward(model: PingModel, sequences: readonly Uint16Array[]): Promise<Float32Array[]> {
  const sequenceLength = Math.max(...sequences.map(({ length }) => length));
  const batchSize = sequences.length;
  const size = { batchSize, training: false, sequenceLength };
  const transformer = await Transformer.create(model.registry, model.config, size);
  transformer.load(model.weights);
  const batch = {
    tokens: new Uint16Array(batchSize * sequenceLength),
    targets: new Uint16Array(batchSize * sequenceLength),
    lossMask: new Uint8Array(batchSize * sequenceLength),
    segmentStart: new Uint16Array(batchSize * sequenceLength),
  };
  sequences.forEach((sequence, b) => batch.tokens.set(sequence, b * sequenceLength));
  const lasts = Uint32Array.from(sequences, ({ length }, b) => b * sequenceLength + length - 1);
  const rows = await transformer.logProbabilities(batch, lasts);
  transformer.destroy();
  const V = rows.length / batchSize;
  return sequences.map((_, b) => rows.subarray(b * V, (b + 1) * V));
}

/** P(code) of every canonical code, from full forward passes of every first byte. */
async function bruteForce(model: PingModel, query: RttQuery): Promise<{ codes: number[]; pFailed: number }> {
  const prefix = encodeQuery(query, TINY_CONFIG.sequenceLength);
  const firstBytes = [...new Set([...CANONICAL_RTT_CODES].map((code) => code >> 8))];
  const [outcome, first, ...seconds] = await fullForward(model, [
    prefix,
    extended(prefix, RTT_START),
    ...firstBytes.map((byte) => extended(prefix, RTT_START, BYTE_BASE + byte)),
  ]);
  const massOf = (logP: Float32Array, bytes: number[]) =>
    bytes.reduce((sum, byte) => sum + Math.exp(logP[BYTE_BASE + byte]), 0);
  const massOfFirst = massOf(first, firstBytes);
  const codes = firstBytes.flatMap((byte1, i) => {
    const siblings = [...CANONICAL_RTT_CODES].filter((code) => code >> 8 === byte1).map((code) => code & 255);
    const massOfSecond = massOf(seconds[i], siblings);
    return siblings.map((byte2) =>
      Math.exp(first[BYTE_BASE + byte1] + seconds[i][BYTE_BASE + byte2]) / massOfFirst / massOfSecond
    );
  });
  const [failed, replied] = [Math.exp(outcome[FAILED]), Math.exp(outcome[RTT_START])];
  return { codes, pFailed: failed / (failed + replied) };
}

Deno.test("rttDistribution() equals the enumeration of all codes by the full forward pass", () =>
  withTinyModel(async (model) => {
    for (const query of QUERIES) {
      const { probabilities, pFailed } = await model.rttDistribution(query);
      const expected = await bruteForce(model, query);
      assertEquals(probabilities.length, expected.codes.length);
      assertAlmostEquals(probabilities.reduce((sum, p) => sum + p, 0), 1, 1e-9);
      assertAlmostEquals(pFailed, expected.pFailed, 1e-6);
      const distance = probabilities.reduce((sum, p, i) => sum + Math.abs(p - expected.codes[i]), 0);
      assert(distance < 1e-5, `the distributions are ${distance} apart`);
      probabilities.forEach((p, i) => assertAlmostEquals(p / expected.codes[i], 1, 1e-4, `code ${i}`));
    }
  }));

Deno.test("rttDistributions() of many queries equals separate answers, in groups of any size", () =>
  withTinyModel(async (model) => {
    const queries = Array.from({ length: 7 }, (_, i) => QUERIES[i % QUERIES.length]);
    const alone = await Promise.all(QUERIES.map((query) => model.rttDistribution(query)));
    const small = PingModel.of(TINY_CONFIG, model.registry, {
      weights: model.weights,
      memoryLimitBytes: 1.5e6,
    });
    for (const each of [model, small]) {
      const together = await each.rttDistributions(queries);
      assertEquals(together.length, queries.length);
      together.forEach((distribution, i) => {
        const expected = alone[i % QUERIES.length];
        assertAlmostEquals(distribution.pFailed, expected.pFailed, 1e-6);
        distribution.probabilities.forEach((p, code) =>
          assertAlmostEquals(p, expected.probabilities[code], 1e-6)
        );
      });
    }
    assertEquals(await model.rttDistributions([]), []);
  }));

Deno.test("concurrent questions get the same answers as sequential ones", () =>
  withTinyModel(async (model) => {
    const sequences = QUERIES.map((query) => encodeQuery(query, TINY_CONFIG.sequenceLength));
    const medians = async (queries: typeof QUERIES) =>
      (await model.rttDistributions(queries)).map((distribution) => distribution.quantileMs(0.5));
    const expected = { medians: await medians(QUERIES), next: await nextLogProbabilities(model, sequences) };
    const [same, next, reversed] = await Promise.all([
      medians(QUERIES),
      nextLogProbabilities(model, sequences),
      medians(QUERIES.toReversed()),
    ]);
    assertEquals({ medians: same, next }, expected);
    assertEquals(reversed, expected.medians.toReversed());
  }));

Deno.test("a memory limit too small for one query is reported", () =>
  withTinyModel(async (model) => {
    const small = PingModel.of(TINY_CONFIG, model.registry, {
      weights: model.weights,
      memoryLimitBytes: 1e5,
    });
    const error = await assertRejects(() => small.rttDistribution(QUERIES[0]), UserError);
    assert(/Cannot allocate the decoder: .* expected at most 1 MiB;/.test(error.message), error.message);
  }));

Deno.test("a model with a calibration returns corrected distributions, exact and likely", () =>
  withTinyModel(async (model) => {
    const calibration = new QuantileCalibration(CALIBRATION_LEVELS.map((level) => level ** 2));
    const { config, registry, weights } = model;
    const corrected = PingModel.of(config, registry, { weights, calibration });
    const wanted = (await model.rttDistributions(QUERIES)).map((raw) => calibration.apply(raw));
    const found = await corrected.rttDistributions(QUERIES);
    wanted.forEach(({ probabilities }, i) => assertEquals(found[i].probabilities, probabilities));
    await corrected.likelyRttDistributions(
      QUERIES,
      ({ probabilities }, i) =>
        probabilities.forEach((p, j) => assertAlmostEquals(p, wanted[i].probabilities[j], 1e-5)),
      { maxSpreadMass: 0, codes: QUERIES.map(() => null) },
    );
  }));

Deno.test("encodeQuery() keeps the newest context that fits and rejects mixed IP versions", () =>
  withTinyModel(async (model) => {
    const long = Array.from(
      { length: 40 },
      (_, i) => measured("192.0.2.1", "198.51.100.7", 10 + i, 1_700_000_000 + i),
    );
    const query = { ...QUERIES[0], timeS: 1_700_000_100, context: long };
    const kept = contextThatFits(query, TINY_CONFIG.sequenceLength);
    assertEquals(kept.at(-1), long.at(-1));
    assert(kept.length > 3 && kept.length < 40);
    const length = encodeQuery(query, TINY_CONFIG.sequenceLength).length;
    assert(
      length + 2 <= TINY_CONFIG.sequenceLength && length + 2 > TINY_CONFIG.sequenceLength - 17,
      `${length} tokens`,
    );
    assertThrows(
      () => encodeQuery({ ...query, destination: addressBytes("::1") }, TINY_CONFIG.sequenceLength),
      UserError,
      "same version",
    );
    await assertRejects(
      () => model.rttDistribution({ ...query, destination: addressBytes("::1") }),
      UserError,
    );
  }));

Deno.test("likelyRttDistributions() equals the exact ones except for the evenly spread mass", () =>
  withTinyModel(async (model) => {
    const codes = [encodeRttCode(12.5), encodeRttCode(0.25), null];
    const exact = await model.rttDistributions(QUERIES);
    for (const maxSpreadMass of [0, 1e-3, 0.4]) {
      const likely: RttDistribution[] = [];
      const take = (distribution: RttDistribution, i: number) =>
        assertEquals(likely.push(distribution.copy()), i + 1);
      await model.likelyRttDistributions(QUERIES, take, { maxSpreadMass, codes });
      assertEquals(likely.length, QUERIES.length);
      likely.forEach(({ probabilities, pFailed, spreadMass }, i) => {
        assertAlmostEquals(pFailed, exact[i].pFailed, 1e-6);
        assertAlmostEquals(probabilities.reduce((sum, p) => sum + p, 0), 1, 1e-9);
        assert(spreadMass <= maxSpreadMass + 1e-9, `${spreadMass} of ${maxSpreadMass} was spread`);
        const distance = probabilities.reduce(
          (sum, p, j) => sum + Math.abs(p - exact[i].probabilities[j]),
          0,
        );
        assert(distance <= 2 * spreadMass + 1e-5, `${distance} apart with ${spreadMass} spread`);
        const at = CANONICAL_RTT_CODES.indexOf(codes[i] ?? NaN);
        if (at >= 0) assertAlmostEquals(probabilities[at] / exact[i].probabilities[at], 1, 1e-5);
        if (maxSpreadMass === 0.4) assert(spreadMass > 0.01, "some mass is spread");
      });
    }
  }));

Deno.test("likelyRttDistributions() for quantiles returns the exact ones, also with a calibration", () =>
  withTinyModel(async (model) => {
    const { config, registry, weights } = model;
    const calibration = new QuantileCalibration(CALIBRATION_LEVELS.map((level) => level ** 2));
    const quantiles = [0.5, 0.01, 0.3, 0.975];
    for (const each of [model, PingModel.of(config, registry, { weights, calibration })]) {
      const exact = await each.rttDistributions(QUERIES);
      const found: number[][] = [];
      await each.likelyRttDistributions(QUERIES, (distribution, i) => {
        assertAlmostEquals(distribution.pFailed, exact[i].pFailed, 1e-6);
        assert(distribution.spreadMass > 0.5, "few first bytes were continued");
        found.push(quantiles.map((q) => distribution.quantileMs(q)));
      }, { quantilesOfEach: QUERIES.map(() => quantiles) });
      assertEquals(found, exact.map((each) => quantiles.map((q) => each.quantileMs(q))));
    }
  }));

Deno.test("likelyRttDistributions() for quantiles agrees with exact ones for addresses with shared prefixes", () =>
  withTinyModel(async (model) => {
    const [sources, destinations] = [3, 40].map((count, side) =>
      Array.from({ length: count }, (_, i) => addressBytes(`10.${side}.${i % 3}.${(i * i) % 37}`))
    );
    const queries: RttQuery[] = sources.flatMap((source) =>
      destinations.map((destination) => ({ source, destination, timeS: null, context: [] }))
    );
    // Some queries are repeated, and the order is mixed.
    const asked = queries.map((_, i) => queries[(i * 7) % queries.length]).concat(queries.slice(0, 9));
    const quantilesOfEach = asked.map((_, i) => [0.5, ...(i % 5 > 0 ? [0.2 * (i % 5)] : [])]);
    const exact = await model.rttDistributions(asked);
    let numSame = 0;
    await model.likelyRttDistributions(asked, (distribution, i) => {
      assertAlmostEquals(distribution.pFailed, exact[i].pFailed, 1e-6);
      for (const q of quantilesOfEach[i]) {
        // If a sum equals a quantile's level up to rounding, the next code (0.1 % more) is also correct.
        const [foundMs, exactMs] = [distribution, exact[i]].map((each) => each.quantileMs(q));
        assertAlmostEquals(foundMs / exactMs, 1, 1e-3);
        if (foundMs === exactMs) numSame++;
      }
    }, { quantilesOfEach });
    assertGreater(numSame / quantilesOfEach.flat().length, 0.97);
  }));

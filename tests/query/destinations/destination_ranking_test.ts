import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { prefixContains } from "../../../lib/addresses/ip_prefix.ts";
import type { DestinationQuery } from "../../../lib/query/destinations/destination_prompt.ts";
import { rankDestinations } from "../../../lib/query/destinations/destination_ranking.ts";
import { PingModel } from "../../../lib/query/ping_model.ts";
import { encodeMeasurement } from "../../../lib/query/query_tokens.ts";
import { CANONICAL_RTT_CODES, encodeRttCode } from "../../../lib/tokens/rtt_code.ts";
import { BYTE_BASE, QUERY_ORDER, type TokenMeasurement } from "../../../lib/tokens/vocab_v2.ts";
import { nextLogProbabilities, withTinyModel } from "../tiny_model.ts";

const SOURCE = Uint8Array.of(192, 0, 2, 1);
const CONTEXT: TokenMeasurement[] = [0, 1, 2].map((i) => ({
  source: SOURCE,
  destination: Uint8Array.of(198, 51, 100, i),
  rttCode: i === 1 ? null : encodeRttCode(10 + i),
  timeS: 1_700_000_000 + 400 * i,
}));
const QUERIES: DestinationQuery[] = [
  { source: SOURCE, rttMs: [20, 20], timeS: null, context: [] },
  { source: SOURCE, rttMs: [20, 20], timeS: 1_700_001_000, context: CONTEXT },
  { source: SOURCE, rttMs: null, timeS: 1_700_001_000, context: CONTEXT },
];

/** log P of the last tokens of a whole measurement, from its destination's bytes on, nats each. */
async function tailLogP(
  model: PingModel,
  query: DestinationQuery,
  destination: Uint8Array,
): Promise<Float32Array> {
  const { source, rttMs, timeS, context } = query;
  const measurement = { source, destination, rttCode: rttMs ? encodeRttCode(rttMs[0]) : null, timeS };
  const { sequenceLength } = model.config;
  const whole = encodeMeasurement(measurement, { context, order: QUERY_ORDER, sequenceLength });
  const numTime = timeS === null ? 0 : context.length === 0 ? 9 : 5;
  return (await model.decoders.tokenLogProbabilities([whole], 4 + numTime + (rttMs ? 3 : 1)))[0];
}

Deno.test("rankDestinations() gives the shares of P(destination, time, result) that whole sequences have", () =>
  withTinyModel(async (model) => {
    const ranked = await rankDestinations(model, QUERIES, { numCandidates: 40 });
    for (const [i, { destinations, priorMass }] of ranked.entries()) {
      assertEquals(destinations.length, 40);
      assertEquals(new Set(destinations.map(({ prefix }) => String(prefix.bytes))).size, 40);
      const joint: number[] = [];
      for (const { prefix } of destinations) {
        joint.push(Math.exp((await tailLogP(model, QUERIES[i], prefix.bytes)).reduce((a, b) => a + b, 0)));
      }
      const total = joint.reduce((a, b) => a + b, 0);
      destinations.forEach(({ probability }, place) => {
        assertAlmostEquals(probability, joint[place] / total, 1e-4, `query ${i}, place ${place}`);
        assert(place === 0 || probability <= destinations[place - 1].probability);
      });
      assert(priorMass > 0 && priorMass <= 1, `${priorMass}`);
    }
  }, 4));

/** P(destination | source, context), of its bytes, one byte after another as prompts of their own. */
async function priorOf(model: PingModel, query: DestinationQuery, destination: Uint8Array): Promise<number> {
  const measurement = { source: query.source, destination, rttCode: null, timeS: null };
  const { sequenceLength } = model.config;
  const whole = encodeMeasurement(measurement, {
    context: query.context,
    order: QUERY_ORDER,
    sequenceLength,
  });
  const end = whole.length - 1;
  const prompts = [4, 3, 2, 1].map((numLeft) => whole.slice(0, end - numLeft));
  const rows = await nextLogProbabilities(model, prompts);
  return rows.reduce((p, logP, i) => {
    const bytes = Array.from(logP.subarray(BYTE_BASE), Math.exp);
    return p * bytes[destination[i]] / bytes.reduce((a, b) => a + b, 0);
  }, 1);
}

Deno.test("rankDestinations() ranks the destinations that are likeliest before the result is known", () =>
  withTinyModel(async (model) => {
    for (const query of QUERIES.slice(0, 2)) {
      const [few, many] = await Promise.all(
        [4, 24].map((numCandidates) => rankDestinations(model, [query], { numCandidates })),
      );
      const priors = async ([{ destinations }]: typeof few) => {
        const values: number[] = [];
        for (const { prefix } of destinations) values.push(await priorOf(model, query, prefix.bytes));
        return values.sort((a, b) => b - a);
      };
      const [ofFew, ofMany] = [await priors(few), await priors(many)];
      ofFew.forEach((prior, i) => assertAlmostEquals(prior / ofMany[i], 1, 1e-4, `number ${i}`));
      assertAlmostEquals(ofFew.reduce((a, b) => a + b, 0) / few[0].priorMass, 1, 1e-4);
      assert(many[0].priorMass > few[0].priorMass);
    }
  }));

Deno.test("rankDestinations() weighs candidates of a range by the probability that query rtt gives to it", () =>
  withTinyModel(async (model) => {
    const query: DestinationQuery = { ...QUERIES[1], rttMs: [20, 25] };
    const { source, timeS, context } = query;
    const [{ destinations }] = await rankDestinations(model, [query], { numCandidates: 12 });
    const weights: number[] = [];
    for (const { prefix } of destinations) {
      const rtts = await model.rttDistribution({ source, destination: prefix.bytes, timeS, context });
      let inRange = 0;
      CANONICAL_RTT_CODES.forEach((code, i) => {
        if (code >= encodeRttCode(20) && code <= encodeRttCode(25)) inRange += rtts.probabilities[i];
      });
      const withoutResult = (await tailLogP(model, { ...query, rttMs: null }, prefix.bytes)).slice(0, -1);
      weights.push(
        Math.exp(withoutResult.reduce((a, b) => a + b, 0)) * (1 - rtts.pFailed) * inRange,
      );
    }
    const total = weights.reduce((a, b) => a + b, 0);
    destinations.forEach(({ probability }, i) => assertAlmostEquals(probability, weights[i] / total, 1e-4));
  }));

Deno.test("rankDestinations() adds up the candidates of a prefix", () =>
  withTinyModel(async (model) => {
    for (const query of [QUERIES[0], { ...QUERIES[0], rttMs: [20, 25] as const }]) {
      const [[addresses], [prefixes]] = await Promise.all(
        [32, 3].map((prefixLength) => rankDestinations(model, [query], { numCandidates: 20, prefixLength })),
      );
      assert(prefixes.destinations.length <= 8 && addresses.destinations.length === 20);
      for (const { prefix, probability } of prefixes.destinations) {
        const within = addresses.destinations.filter((each) => prefixContains(prefix, each.prefix.bytes));
        const sum = within.reduce((total, each) => total + each.probability, 0);
        assertAlmostEquals(probability, sum, 1e-6);
        assertEquals(prefix.bytes[0] & 31, 0);
      }
    }
  }));

Deno.test("rankDestinations() ends soon after its signal while it weighs a range", () =>
  withTinyModel(async (model) => {
    const controller = new AbortController();
    const aborting = Object.create(model, {
      likelyRttDistributions: {
        value: (...args: Parameters<PingModel["likelyRttDistributions"]>) => {
          controller.abort(new Error("aborted while it weighs"));
          return model.likelyRttDistributions(...args);
        },
      },
    }) as PingModel;
    const range: DestinationQuery = { ...QUERIES[0], rttMs: [20, 25] };
    const options = { numCandidates: 5, signal: controller.signal };
    await assertRejects(() => rankDestinations(aborting, [range], options), Error, "aborted while it weighs");
    assertEquals((await rankDestinations(model, [range], { numCandidates: 5 }))[0].candidates, 5);
  }));

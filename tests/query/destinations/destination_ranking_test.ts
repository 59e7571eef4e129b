import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { addressBytes, formatAddress } from "../../../lib/data/addresses/ip.ts";
import { formatPrefix, prefixContains } from "../../../lib/data/addresses/ip_prefix.ts";
import { UserError } from "../../../lib/base/errors.ts";
import {
  type DestinationQuery,
  rankDestinations,
} from "../../../lib/query/destinations/destination_ranking.ts";
import { PingModel } from "../../../lib/query/ping_model.ts";
import { encodeMeasurement } from "../../../lib/query/query_tokens.ts";
import { sampleMeasurements } from "../../../lib/query/score/sample.ts";
import { CALIBRATION_LEVELS, QuantileCalibration } from "../../../lib/query/rtt/quantile_calibration.ts";
import { CANONICAL_RTT_CODES, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { BYTE_BASE, QUERY_ORDER, type TokenMeasurement } from "../../../lib/data/tokens/vocab_v2.ts";
import { nextLogProbabilities, TINY_CONFIG, withTinyModel } from "../tiny_model.ts";
import { dataOf } from "../adapt/tiny_rows.ts";

const SOURCE = addressBytes("192.0.2.1");
const CONTEXT: TokenMeasurement[] = [0, 1, 2].map((i) => ({
  source: SOURCE,
  destination: addressBytes(`198.51.100.${i}`),
  rttCode: i === 1 ? null : encodeRttCode(10 + i),
  timeS: 1_700_000_000 + 400 * i,
}));
const PLAIN: DestinationQuery = { source: SOURCE, rttMs: [20, 20], timeS: null, context: [] };
const QUERIES: DestinationQuery[] = [
  PLAIN,
  { ...PLAIN, rttMs: [20, 25], timeS: 1_700_001_500, context: CONTEXT },
  { ...PLAIN, rttMs: [20, 20.03], timeS: 1_700_001_500 },
  { ...PLAIN, rttMs: [3, 500], context: CONTEXT },
  { ...PLAIN, rttMs: null, timeS: 1_700_001_500, context: CONTEXT },
];

/** P(byte) after sequences, each read as a separate prompt. */
async function bytesAfter(model: PingModel, sequences: readonly Uint16Array[]): Promise<Float64Array[]> {
  return (await nextLogProbabilities(model, sequences)).map((logP) => {
    const values = Float64Array.from(logP.subarray(BYTE_BASE), (nats) => Math.exp(nats));
    const total = values.reduce((sum, value) => sum + value, 0);
    return values.map((value) => value / total);
  });
}

/** The tokens of a question before its destination's bytes. */
function promptOf(model: PingModel, { source, timeS, context }: DestinationQuery): Uint16Array {
  const measurement = { source, destination: source, rttCode: null, timeS };
  const { sequenceLength } = model.config;
  const whole = encodeMeasurement(measurement, { context, order: QUERY_ORDER, sequenceLength });
  const numTime = timeS === null ? 0 : context.length === 0 ? 9 : 5;
  return whole.slice(0, whole.length - 1 - numTime - source.length);
}

/** P(destination | source, context) from its bytes, each after a separate prompt. */
async function priorOf(model: PingModel, query: DestinationQuery, destination: Uint8Array): Promise<number> {
  const prompt = promptOf(model, query);
  const tokens = Array.from(destination, (byte) => BYTE_BASE + byte);
  const after = await bytesAfter(
    model,
    tokens.map((_, i) => Uint16Array.from([...prompt, ...tokens.slice(0, i)])),
  );
  return after.reduce((p, bytes, i) => p * bytes[destination[i]], 1);
}

/** P(the result of a question) for a destination according to `query rtt`. */
async function likelihoodOf(
  model: PingModel,
  query: DestinationQuery,
  destination: Uint8Array,
): Promise<number> {
  const { source, rttMs, timeS, context } = query;
  const rtts = await model.rttDistribution({ source, destination, timeS, context });
  if (!rttMs) return rtts.pFailed;
  const [low, high] = rttMs.map(encodeRttCode);
  return CANONICAL_RTT_CODES.reduce(
    (sum, code, i) => code >= low && code <= high ? sum + (1 - rtts.pFailed) * rtts.probabilities[i] : sum,
    0,
  );
}

/** Checks an answer against Bayes' rule. @param priors P(destination | source, context) of each listed. */
async function assertByBayes(
  model: PingModel,
  query: DestinationQuery,
  { destinations }: Awaited<ReturnType<typeof rankDestinations>>[number],
  priors: readonly number[],
): Promise<void> {
  const weights: number[] = [];
  for (const [i, { prefix }] of destinations.entries()) {
    weights.push(priors[i] * await likelihoodOf(model, query, prefix.bytes));
  }
  const total = weights.reduce((a, b) => a + b, 0);
  destinations.forEach(({ probability, prefix }, i) => {
    assertAlmostEquals(probability, weights[i] / total, 1e-4, formatPrefix(prefix));
    assert(i === 0 || probability <= destinations[i - 1].probability);
  });
}

Deno.test("rankDestinations() applies Bayes' rule to query rtt's answers, for RTTs, ranges and no reply", () =>
  withTinyModel(async (model) => {
    for (const query of QUERIES) {
      const [answer] = await rankDestinations(model, [query], { numCandidates: 5, top: 100 });
      const { destinations, candidates, priorMass, unlistedProbability } = answer;
      // Includes the three in the context.
      assertEquals([destinations.length, candidates], [query.context.length + 5, query.context.length + 5]);
      assertEquals(new Set(destinations.map(({ prefix }) => formatPrefix(prefix))).size, candidates);
      const priors: number[] = [];
      for (const { prefix } of destinations) priors.push(await priorOf(model, query, prefix.bytes));
      await assertByBayes(model, query, answer, priors);
      assertAlmostEquals(priors.reduce((a, b) => a + b, 0) / priorMass, 1, 1e-4);
      assertAlmostEquals(unlistedProbability, 0, 1e-9);
    }
  }, 4));

Deno.test("rankDestinations() corrects RTTs with a calibration as query rtt does", () =>
  withTinyModel(async ({ config, registry, weights }) => {
    const calibration = new QuantileCalibration(CALIBRATION_LEVELS.map((level) => level ** 3));
    const model = PingModel.of(config, registry, { weights, calibration });
    for (const query of QUERIES.slice(0, 2)) {
      const [answer] = await rankDestinations(model, [query], { numCandidates: 6 });
      const priors: number[] = [];
      for (const { prefix } of answer.destinations) priors.push(await priorOf(model, query, prefix.bytes));
      await assertByBayes(model, query, answer, priors);
    }
  }, 4));

Deno.test("rankDestinations() answers several questions as if asked separately, in any memory", () =>
  withTinyModel(async (model) => {
    const weights = model.weights;
    const small = PingModel.of(TINY_CONFIG, model.registry, { weights, memoryLimitBytes: 3e6 });
    assert(small.decoders.continuationExtent.maxRows <= 64);
    const options = { numCandidates: 12, maxExpansions: 64, top: 5 };
    const together = await rankDestinations(model, QUERIES, options);
    for (const [i, query] of QUERIES.entries()) {
      for (const each of [model, small]) {
        const [alone] = await rankDestinations(each, [query], options);
        alone.destinations.forEach(({ prefix, probability }, place) => {
          const expected = together[i].destinations[place];
          assertEquals(formatPrefix(prefix), formatPrefix(expected.prefix));
          assertAlmostEquals(probability / expected.probability, 1, 1e-4);
        });
      }
    }
  }, 4));

Deno.test("rankDestinations() weighs the source's destinations by their counts in training and adaptation", () =>
  withTinyModel(async ({ config, registry, weights }) => {
    const trained = dataOf([
      ["192.0.2.1", "203.0.113.1", 6],
      ["192.0.2.1", "203.0.113.2", 1],
      ["192.0.2.2", "203.0.113.3", 2],
      ["2001:db8::1", "2001:db8::2", 9],
    ]);
    const adaptation = dataOf([["192.0.2.1", "203.0.113.4", 3], ["192.0.2.1", "203.0.113.2", 2]]);
    const trainingData = { ...trained, adaptation };
    const model = PingModel.of(config, registry, { weights, trainingData });
    const [answer] = await rankDestinations(model, [PLAIN], { numCandidates: 5, top: 100 });
    const names = answer.destinations.map(({ prefix }) => formatPrefix(prefix));
    assertEquals(names.length, 8);
    for (const last of [1, 2, 4]) assert(names.includes(`203.0.113.${last}`), `203.0.113.${last}`);
    // One pair was measured once and one twice: D = 2 / (2 + 2 * 2). 12 measurements have 3 destinations.
    const D = 2 / 6;
    assertEquals(trained.known.pairDiscount, D);
    // 2 % of the questions are about any destination. Sources share none, so neighbours do not count.
    const counts: Record<string, number> = { "203.0.113.1": 6, "203.0.113.2": 3, "203.0.113.4": 3 };
    const priors: number[] = [];
    for (const [i, { prefix }] of answer.destinations.entries()) {
      const ofModel = await priorOf(model, PLAIN, prefix.bytes);
      const ofSource = (Math.max(0, (counts[names[i]] ?? 0) - D) + D * 3 * ofModel) / 12;
      priors.push(0.98 * ofSource + 0.02 * ofModel);
    }
    await assertByBayes(model, PLAIN, answer, priors);
    assertAlmostEquals(answer.priorMass, priors.reduce((a, b) => a + b, 0), 1e-6);
    assert(answer.priorMass > 0.98 * (1 - 3 * D / 12));
    // An unknown source has the prior of the model alone.
    const other = { ...PLAIN, source: addressBytes("192.0.2.77") };
    const [unknown] = await rankDestinations(model, [other], { numCandidates: 5, top: 100 });
    assertEquals(unknown.candidates, 5);
    const own: number[] = [];
    for (const { prefix } of unknown.destinations) own.push(await priorOf(model, other, prefix.bytes));
    await assertByBayes(model, other, unknown, own);
  }, 4));

Deno.test("known destinations with nearly all of the prior need no search, and samples of the source have them", () =>
  withTinyModel(async (alone) => {
    const { config, registry, weights } = alone;
    // Its neighbours do not measure other destinations either; sources elsewhere do.
    const trainingData = dataOf([
      ...Array.from({ length: 10 }, (_, i) => [`192.0.2.${i}`, "203.0.113.1", 2000] as const),
      ...Array.from({ length: 10 }, (_, i) => [`192.0.2.${i}`, "203.0.113.2", 6000] as const),
      ...Array.from({ length: 40 }, (_, i) => [`${i}.0.0.1`, `198.51.100.${i}`, 1] as const),
    ]);
    const model = PingModel.of(config, registry, { weights, trainingData });
    const numExpanded: number[] = [];
    const onSearch = (count: number) => numExpanded.push(count);
    const [{ candidates, priorMass }] = await rankDestinations(model, [PLAIN], { onSearch });
    assertEquals([candidates, numExpanded], [2, []]);
    assert(priorMass > 0.999 && priorMass <= 1);
    const drawn = async (
      of: PingModel,
      changes: { source?: Uint8Array; temperature?: number; topK?: number },
    ) => {
      const { source = SOURCE, ...others } = changes;
      const asked = { source, timeS: 1_700_000_000, context: [] };
      const samples = sampleMeasurements(of, asked, { count: 100, seed: 3, ...others });
      return (await Array.fromAsync(samples)).map(({ destination }) => formatAddress(destination));
    };
    for (const [changes, share] of [[{}, 3 / 4], [{ temperature: 0.5 }, 9 / 10], [{ topK: 1 }, 1]] as const) {
      const all = await drawn(model, changes);
      const counts = ["203.0.113.1", "203.0.113.2"].map((name) => all.filter((each) => each === name).length);
      assertEquals(counts[0] + counts[1], 100);
      assertAlmostEquals(counts[1] / 100, share, 4 * Math.sqrt(share * (1 - share) / 100));
    }
    // Training measured no destination over IPv6.
    const source = addressBytes("2001:db8::1");
    assertEquals(await drawn(model, { source }), await drawn(alone, { source }));
  }, 4));

Deno.test("rankDestinations() includes neighbours' destinations, without a search if little else is likely", () =>
  withTinyModel(async ({ config, registry, weights }) => {
    const trainingData = dataOf(
      [1, 2, 3, 4, 5, 6].flatMap((i) => [
        [`192.0.2.${i}`, "203.0.113.1", 2000] as const,
        [`192.0.2.${i}`, `203.0.113.${1 + Math.ceil(i / 2)}`, 2000] as const,
        [`${i}.0.0.1`, `198.51.100.${i}`, 1] as const,
        ...i > 2 ? [] : [[`192.0.2.${10 + i}`, `198.51.100.${10 + i}`, 1] as const],
      ]),
    );
    const model = PingModel.of(config, registry, { weights, trainingData });
    const numExpanded: number[] = [];
    const onSearch = (count: number) => numExpanded.push(count);
    const [{ destinations, priorMass }] = await rankDestinations(model, [PLAIN], { onSearch });
    const names = destinations.map(({ prefix }) => formatPrefix(prefix));
    for (const last of [1, 2, 3, 4]) assert(names.includes(`203.0.113.${last}`), `${names}`);
    assertEquals(numExpanded, []);
    assert(priorMass > 0.99 && priorMass < 0.999, `${priorMass}`);
  }, 4));

Deno.test("rankDestinations() adds up the candidates of a prefix", () =>
  withTinyModel(async (model) => {
    for (const query of [QUERIES[2], { ...PLAIN, source: addressBytes("2001:db8::1") }]) {
      const numBits = 8 * query.source.length;
      const [[addresses], ...shorter] = await Promise.all(
        [numBits, 0, 9, 29].map((prefixLength) =>
          rankDestinations(model, [query], { numCandidates: 20, top: 100, maxExpansions: 64, prefixLength })
        ),
      );
      assertEquals(addresses.destinations.length, 20);
      for (const [{ destinations }] of shorter) {
        for (const { prefix, probability } of destinations) {
          const within = addresses.destinations.filter((each) => prefixContains(prefix, each.prefix.bytes));
          assertAlmostEquals(probability, within.reduce((total, each) => total + each.probability, 0), 1e-6);
          const bits = [...prefix.bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
          assert(!bits.slice(prefix.length).includes("1"), formatPrefix(prefix));
        }
        assertAlmostEquals(destinations.reduce((sum, { probability }) => sum + probability, 0), 1, 1e-6);
      }
    }
  }, 4));

Deno.test("rankDestinations() rejects invalid questions", () =>
  withTinyModel(async (model) => {
    for (const rttMs of [[-1, 5], [5, 4], [NaN, 4], [0, Infinity]] as [number, number][]) {
      await assertRejects(() => rankDestinations(model, [{ ...PLAIN, rttMs }]), UserError, "at an RTT of");
    }
    for (const prefixLength of [33, -1, 1.5, NaN]) {
      const asked = () => rankDestinations(model, [PLAIN], { prefixLength });
      await assertRejects(asked, UserError, "expected 0 to 32");
    }
  }));

Deno.test("rankDestinations() ends soon after its signal, while searching and while weighing", () =>
  withTinyModel(async (model) => {
    const aborted = AbortSignal.abort(new UserError("stopped"));
    await assertRejects(() => rankDestinations(model, [PLAIN], { signal: aborted }), UserError, "stopped");
    let numChecks = 0;
    let last = Infinity;
    const signal = Object.create(AbortSignal.prototype, {
      throwIfAborted: {
        value: () => {
          if (++numChecks === last) throw new Error("aborted while it weighs");
        },
      },
    }) as AbortSignal;
    const options = { numCandidates: 5, maxExpansions: 64, signal };
    assertEquals((await rankDestinations(model, [PLAIN], options))[0].candidates, 5);
    last = numChecks;
    numChecks = 0;
    await assertRejects(() => rankDestinations(model, [PLAIN], options), Error, "aborted while it weighs");
    assertEquals((await rankDestinations(model, [PLAIN], options))[0].candidates, 5);
  }));

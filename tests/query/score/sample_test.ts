import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import { MeasurementGrammar } from "../../../lib/query/score/measurement_grammar.ts";
import { NO_DATA } from "../../../lib/data/addresses/known_addresses.ts";
import { PingModel } from "../../../lib/query/ping_model.ts";
import {
  sampleContextThatFits,
  sampleMeasurements,
  type SampleOptions,
  type SampleQuery,
} from "../../../lib/query/score/sample.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { CANONICAL_RTT_CODES, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { decodeTokens, MEASUREMENT_START, type TokenMeasurement } from "../../../lib/data/tokens/vocab_v2.ts";
import { withTinyModel } from "../tiny_model.ts";

const SOURCE = addressBytes("192.0.2.1");
const DESTINATION = addressBytes("198.51.100.7");
const ANYTHING: SampleQuery = { timeS: null, context: [] };
const CONTEXT: TokenMeasurement[] = Array.from({ length: 20 }, (_, i) => ({
  source: SOURCE,
  destination: DESTINATION,
  rttCode: encodeRttCode(10 + i),
  timeS: 1_700_000_000 + 400 * i,
}));

function draw(model: PingModel, query: SampleQuery, options: SampleOptions) {
  return Array.fromAsync(sampleMeasurements(model, query, options));
}

Deno.test("MeasurementGrammar allows only what decodes, along random walks", () => {
  const random = new RandomStream(1, "test/grammar");
  const lengths = new Set<number>();
  for (let walk = 0; walk < 300; walk++) {
    const grammar = new MeasurementGrammar(false);
    const tokens = [MEASUREMENT_START];
    while (!grammar.isComplete) {
      const allowed = grammar.allowed();
      assertEquals(new Set(allowed).size, allowed.length);
      const token = allowed[random.below(allowed.length)];
      grammar.push(token);
      if (token !== MEASUREMENT_START) tokens.push(token);
    }
    assertEquals(grammar.allowed(), []);
    const [{ source, destination }] = decodeTokens(Uint16Array.from(tokens));
    assertEquals(source.length, destination.length);
    lengths.add(tokens.length);
  }
  assertEquals([...lengths].sort((a, b) => a - b), [12, 14, 21, 23, 36, 38, 45, 47]);
});

Deno.test("MeasurementGrammar allows a 4-byte gap only above 255 s, and gaps only after a time", () => {
  const grammar = new MeasurementGrammar(true);
  assert(!grammar.allowed().includes(5) && grammar.allowed().includes(6));
  for (const token of [7, 11, 11]) grammar.push(token);
  assertEquals([grammar.allowed().length, grammar.allowed().includes(11)], [255, false]);
  grammar.push(12);
  assertEquals(grammar.allowed().length, 256);
});

Deno.test("MeasurementGrammar keeps times and gaps in their period, along random walks", () => {
  const random = new RandomStream(2, "test/grammar");
  for (const period of [[1_700_000_123, 1_700_065_700], [0, 70_000], [0, -5]] as const) {
    const role = period[0] > 0 ? 5 : period[1] < 256 ? 6 : 7;
    const seen = Array.from({ length: 500 }, () => {
      const grammar = new MeasurementGrammar(period[0] === 0, period);
      assertEquals(grammar.allowed().includes(7), role === 7);
      let value = 0;
      for (let token = role, left = role === 5 ? 8 : role === 7 ? 4 : 1; left >= 0; left--) {
        assert(grammar.allowed().includes(token));
        grammar.push(token);
        if (left === 0) break;
        const bytes = grammar.allowed();
        token =
          bytes[random.below(3) === 0 ? random.below(bytes.length) : random.below(2) * (bytes.length - 1)];
        value = 256 * value + token - 11;
      }
      return value;
    });
    const ends = role === 6 ? [0, 255] : [Math.max(period[0], role === 7 ? 256 : 0), period[1]];
    assertEquals([Math.min(...seen), Math.max(...seen)], ends);
  }
});

Deno.test("sampleMeasurements() draws valid measurements of many kinds", () =>
  withTinyModel(async (model) => {
    const samples = await draw(model, ANYTHING, { count: 300, seed: 1 });
    assertEquals(samples.length, 300);
    const kinds = new Set(
      samples.map(({ source, rttCode, timeS }) => `${source.length} ${rttCode === null} ${timeS === null}`),
    );
    assert(kinds.size >= 4, [...kinds].join("; "));
    assert(new Set(samples.map(({ order }) => order.join())).size >= 6);
    for (const { source, destination } of samples) assertEquals(source.length, destination.length);
    const [startS, endS] = [1_700_000_123, 1_700_065_700];
    const trainingData = { ...NO_DATA, summary: { ...NO_DATA.summary, startS, endS } };
    const trained = PingModel.of(model.config, model.registry, { weights: model.weights, trainingData });
    for (const context of [[], CONTEXT.slice(-2)]) {
      const times = (await draw(trained, { timeS: null, context }, { count: 100, seed: 1 }))
        .flatMap(({ timeS }) => timeS ?? []);
      assert(times.length > 10 && times.every((timeS) => timeS >= startS && timeS <= endS), `${times}`);
    }
  }, 3));

Deno.test("sampleMeasurements() keeps the given fields, with and without context", () =>
  withTinyModel(async (model) => {
    for (const context of [[], CONTEXT]) {
      for (
        const given of [{ source: SOURCE }, { destination: DESTINATION }, {
          source: SOURCE,
          destination: DESTINATION,
        }]
      ) {
        for (const timeS of [null, 1_700_000_100, 1_700_100_000]) {
          const query = { ...given, timeS, context };
          if (timeS !== null && timeS < (context.at(-1)?.timeS ?? 0)) {
            const refused = () => draw(model, query, { count: 3, seed: 2 });
            await assertRejects(refused, UserError, "its context has a later measurement");
            continue;
          }
          const samples = await draw(model, query, { count: 3, seed: 2 });
          for (const sample of samples) {
            if ("source" in given) assertEquals(sample.source, given.source);
            if ("destination" in given) assertEquals(sample.destination, given.destination);
            if (timeS !== null) assertEquals(sample.timeS, timeS);
          }
        }
      }
    }
    const kept = sampleContextThatFits(
      { source: SOURCE, timeS: null, context: CONTEXT },
      model.config.sequenceLength,
    );
    assert(kept.length >= 4 && kept.length < 20);
    assertEquals(kept.at(-1), CONTEXT[19]);
    const mixed = { source: SOURCE, destination: addressBytes("::1"), timeS: null, context: [] };
    await assertRejects(() => draw(model, mixed, { count: 1, seed: 0 }), UserError, "same version");
  }));

Deno.test("sampleMeasurements() depends only on the seed and each sample's number", () =>
  withTinyModel(async (model) => {
    const many = await draw(model, ANYTHING, { count: 40, seed: 5 });
    assertEquals(await draw(model, ANYTHING, { count: 40, seed: 5 }), many);
    assertEquals(await draw(model, ANYTHING, { count: 7, seed: 5 }), many.slice(0, 7));
    assert(JSON.stringify(await draw(model, ANYTHING, { count: 40, seed: 6 })) !== JSON.stringify(many));
    const greedy = await draw(model, ANYTHING, { count: 5, seed: 5, topK: 1 });
    const cold = await draw(model, ANYTHING, { count: 5, seed: 6, temperature: 1e-6 });
    for (const sample of [...greedy, ...cold]) assertEquals(sample, greedy[0]);
  }));

/** Pearson's statistic as a standard normal deviate, by the Wilson-Hilferty transformation. */
function chiSquareDeviate(observed: readonly number[], expected: readonly number[]): number {
  const statistic = observed.reduce((sum, count, i) => sum + (count - expected[i]) ** 2 / expected[i], 0);
  const freedom = observed.length - 1;
  return (Math.cbrt(statistic / freedom) - 1 + 2 / (9 * freedom)) / Math.sqrt(2 / (9 * freedom));
}

Deno.test("each sample's result follows the distribution of its addresses and time", () =>
  withTinyModel(async (model) => {
    const samples = await draw(model, { source: SOURCE, timeS: null, context: [] }, { count: 600, seed: 4 });
    const random = new RandomStream(0, "test/ties");
    const bins = new Array<number>(10).fill(0);
    let [numFailed, expected, variance] = [0, 0, 0];
    const distributions = await model.rttDistributions(samples.map((each) => ({ ...each, context: [] })));
    samples.forEach(({ rttCode }, i) => {
      const { pFailed, probabilities } = distributions[i];
      expected += pFailed;
      variance += pFailed * (1 - pFailed);
      if (rttCode === null) {
        numFailed++;
        return;
      }
      const index = CANONICAL_RTT_CODES.indexOf(rttCode);
      const below = probabilities.subarray(0, index).reduce((sum, p) => sum + p, 0);
      bins[Math.floor(10 * (below + random.float64() * probabilities[index]))]++;
    });
    assert(new Set(samples.map(({ timeS }) => timeS === null)).size === 2);
    assert(Math.abs(numFailed - expected) < 4 * Math.sqrt(variance), `${numFailed} losses, not ${expected}`);
    const deviate = chiSquareDeviate(bins, bins.map(() => (samples.length - numFailed) / bins.length));
    assert(Math.abs(deviate) < 4, `chi-square lies ${deviate} standard deviations off: ${bins}`);
  }, 3));

Deno.test("temperature and topK apply to outcomes, first bytes and second bytes", () =>
  withTinyModel(async (model) => {
    const query = { source: SOURCE, destination: DESTINATION, timeS: 1_700_000_000, context: [] };
    const { pFailed, probabilities } = await model.rttDistribution(query);
    const shareOf = async (options: Partial<SampleOptions>, isIn: (code: number | null) => boolean) =>
      (await draw(model, query, { count: 4000, seed: 1, ...options })).filter(({ rttCode }) => isIn(rttCode))
        .length / 4000;
    const cold = 1 / (1 + ((1 - pFailed) / pFailed) ** 2);
    assertAlmostEquals(await shareOf({ temperature: 0.5 }, (code) => code === null), cold, 0.035);
    const masses = new Map<number, number>();
    CANONICAL_RTT_CODES.forEach((code, i) =>
      masses.set(code >> 8, (masses.get(code >> 8) ?? 0) + probabilities[i])
    );
    const sorted = [...masses].sort(([, a], [, b]) => b - a);
    const [[first, mass], [second, other]] = sorted;
    const ofTwo = await shareOf({ topK: 2 }, (code) => code !== null && code >> 8 === first);
    assertEquals(
      await shareOf({ topK: 2 }, (code) => code !== null && ![first, second].includes(code >> 8)),
      0,
    );
    assertAlmostEquals(ofTwo, (1 - pFailed) * mass / (mass + other), 0.035);
  }, 3));

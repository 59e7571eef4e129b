import { assert, assertAlmostEquals, assertEquals, assertNotEquals } from "@std/assert";
import type { TensorArray } from "../../../lib/base/safetensors_header.ts";
import { CANONICAL_RTT_CODES, decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../../lib/data/tokens/vocab_v2.ts";
import { addressNumber, PlaceTable } from "../../../lib/data/addresses/place_table.ts";
import { AddressEmbeddings } from "../../../lib/model/address_embeddings.ts";
import { prefixOfAddress } from "../../../lib/data/addresses/ip_prefix.ts";
import { basisJson } from "../../../lib/data/addresses/known_addresses.ts";
import { rttsText } from "../../../lib/data/addresses/measured_text.ts";
import { fitPool } from "../../../lib/model/pool/pool_fit.ts";
import type { Forecast, KnownOfQuestion } from "../../../lib/model/pool/forecast.ts";
import { kernelsOf, namedWeights, NUM_COMPONENTS, weightsOf } from "../../../lib/model/pool/forecasts.ts";
import { factors } from "../../../lib/model/pool/forecasts/factors.ts";
import { forest } from "../../../lib/model/pool/forecasts/forest.ts";
import { kriging } from "../../../lib/model/pool/forecasts/kriging.ts";
import { FIRST_INDEXES, logOfCode } from "../../../lib/model/pool/kernel_mixture.ts";
import { Pool } from "../../../lib/model/pool/pool.ts";
import { PoolTables } from "../../../lib/model/pool/pool_tables.ts";
import { NUM_KINDS } from "../../../lib/model/pool/question_kinds.ts";
import { PingModel } from "../../../lib/query/ping_model.ts";
import { alone } from "../../../lib/query/questions/question.ts";
import { rtt } from "../../../lib/query/questions/rtt.ts";
import { FIRST_BYTES } from "../../../lib/query/rtt/rtt_bytes.ts";
import type { RttDistribution } from "../../../lib/query/rtt/rtt_distribution.ts";
import { tinyRowModel } from "../adapt/tiny_rows.ts";
import { blockPlaces } from "../../data/addresses/block_places.ts";
import { withTinyModel } from "../tiny_model.ts";

const START_S = 1_700_000_000;
const address = (text: string) => Uint8Array.from(text.split("."), Number);
const SOURCE = address("192.0.2.1");
const DESTINATIONS = ["198.51.100.1", "198.51.100.2", "203.0.113.9"].map(address);

function measured(destination: Uint8Array, rttMs: number | null, timeS: number): TokenMeasurement {
  return { source: SOURCE, destination, rttCode: rttMs === null ? null : encodeRttCode(rttMs), timeS };
}

/** Remembers some RTTs of two destinations. */
function pool(): Map<string, TensorArray> {
  const tables = new PoolTables();
  const source = PoolTables.endOf(SOURCE);
  [20.5, 20.6, 21, 20.4, 35].forEach((ms, i) =>
    tables.add(source, PoolTables.endOf(DESTINATIONS[0]), encodeRttCode(ms), START_S + 600 * i)
  );
  tables.add(source, PoolTables.endOf(DESTINATIONS[1]), encodeRttCode(140), START_S);
  for (const [end, failures] of [[1, 6], [2, 3]]) {
    for (let i = 0; i < failures; i++) {
      tables.add(source, PoolTables.endOf(DESTINATIONS[end]), null, START_S + i);
    }
  }
  return tables.save(fitPool([]));
}

const CONTEXT = [
  measured(DESTINATIONS[0], 22, START_S + 4000),
  measured(DESTINATIONS[2], null, START_S + 4010),
];
const QUESTIONS = [
  { source: SOURCE, destination: DESTINATIONS[0], timeS: START_S + 5000, context: [] },
  { source: SOURCE, destination: DESTINATIONS[0], timeS: START_S + 5000, context: CONTEXT },
  { source: SOURCE, destination: DESTINATIONS[1], timeS: null, context: [] },
  { source: SOURCE, destination: DESTINATIONS[2], timeS: START_S + 5000, context: CONTEXT },
  { source: address("10.9.8.7"), destination: address("10.9.8.6"), timeS: START_S, context: [] },
];

/** Runs a test on the tiny model with and without a pool. */
function withPooled(test: (pooled: PingModel, alone: PingModel) => Promise<void>): Promise<void> {
  return withTinyModel(async (alone) => {
    const { config, registry, weights } = alone;
    await test(PingModel.of(config, registry, { weights, pool: pool() }), alone);
  });
}

Deno.test("the basis of a pair contains its measured RTTs in the pool, newest first", () =>
  withPooled((pooled) => {
    const basisOf = (destination: Uint8Array) =>
      pooled.basisOf({ source: prefixOfAddress(SOURCE), destination: prefixOfAddress(destination) });
    const { rtts = [] } = basisOf(DESTINATIONS[0]);
    assertEquals(rtts.map(({ timeS }) => timeS), [4, 3, 2, 1, 0].map((i) => START_S + 600 * i));
    rtts.forEach(({ rttMs }, i) => assertAlmostEquals(rttMs, [35, 20.4, 21, 20.6, 20.5][i], 0.05));
    const { rtts: shown = [] } = basisJson(basisOf(DESTINATIONS[0]));
    assertEquals(rttsText(shown), "median 20.6 ms; 2023-11-14: 35.0, 20.4, 21.0, 20.6, 20.5 ms");
    assertEquals(shown[4].time, "2023-11-14T22:13:20.000Z");
    assertEquals(basisJson(basisOf(DESTINATIONS[2])).rtts, undefined);
    return Promise.resolve();
  }));

Deno.test("a question may name the probe of its source, whose other addresses were measured", () =>
  withTinyModel(async ({ config, registry, weights }) => {
    const tables = new PoolTables();
    const ends = ["10.1.0.1", "10.1.0.2", "10.2.0.1"].map((text) => PoolTables.endOf(address(text)));
    [7, 7, 8].forEach((probe, i) => tables.identities.add(ends[i].hashes, probe));
    // The path of the first probe changed.
    for (const [from, ms, ageS] of [[0, 20, 0], [1, 40, 864_000], [2, 80, 0], [2, null, 0]] as const) {
      const rttCode = ms && encodeRttCode(ms);
      tables.add(ends[from], PoolTables.endOf(DESTINATIONS[0]), rttCode, START_S - ageS);
    }
    // Training saw this address with probe 8, but not its pair.
    tables.identities.add(PoolTables.endOf(SOURCE).hashes, 8);
    const model = PingModel.of(config, registry, { weights, pool: tables.save(fitPool([])) });
    const asked = { src: "192.0.2.77", dst: "198.51.100.1", time: START_S };
    const seen = { ...asked, src: "192.0.2.1" };
    const [none, of7, unknown, own, named] = await model.rttDistributions(
      [asked, { ...asked, probe: 7 }, { ...asked, probe: 9 }, seen, { ...seen, probe: 7 }],
    );
    assertEquals(unknown.probabilities, none.probabilities);
    const near = (of: RttDistribution, rttMs: number) => of.cdf(1.1 * rttMs) - of.cdf(rttMs / 1.1);
    for (const [of, rttMs] of [[of7, 20], [own, 80], [named, 20]] as const) {
      assert(near(of, rttMs) > near(none, rttMs) + 0.2, `${near(of, rttMs)} at ${rttMs} ms`);
    }
    assert(near(named, 80) < near(own, 80) - 0.2 && near(of7, 40) < near(of7, 20) / 2);
    assert(own.pFailed > named.pFailed + 0.1, `${own.pFailed} and ${named.pFailed}`);
    const prefix = { ...asked, src: "192.0.2.76/31", probe: 7, draws: 2 };
    const texts = [];
    for (const question of [{ ...asked, probe: 7 }, prefix, { ...asked, probe: 9 }]) {
      const { median_ms, basis } = await rtt.ask(alone(model, {}), question);
      texts.push([Math.round(median_ms), basis.text.slice(basis.text.indexOf("Probe"))]);
    }
    const [first, second, last] = texts;
    assertEquals(
      [first, second],
      Array(2).fill([
        Math.round(of7.quantileMs(0.5)),
        "Probe 7: 2 known addresses, 2 measurements with the destination.",
      ]),
    );
    assertEquals(last[1], "Probe 9: 0 known addresses, 0 measurements with the destination.");
  }));

/** The mixture in float64: the model's codes up to the highest RTT, and the probability of each kernel. */
Deno.test("a pool mixes the model's codes within the known range with simple forecasts, summing to 1", () =>
  withPooled(async (pooled, alone) => {
    const distributions = await pooled.rttDistributions(QUESTIONS);
    const ofModel = await alone.rttDistributions(QUESTIONS);
    distributions.forEach((distribution, i) => {
      const { probabilities, pFailed } = ofModel[i];
      const firstBytes = FIRST_BYTES.map((_, place) =>
        probabilities.subarray(FIRST_INDEXES[place], FIRST_INDEXES[place + 1]).reduce((a, b) => a + b, 0)
      );
      const forecast = pooled.pooled(QUESTIONS[i])?.withNetwork(() => Float64Array.from(firstBytes));
      assert(forecast);
      const kept = probabilities.subarray(0, forecast.end).reduce((a, b) => a + b, 0);
      // For a measured pair the model does not count.
      assert(kept < 1 && (i < 3 ? forecast.modelShare === 0 : forecast.modelShare > 0.25));
      let total = 0;
      CANONICAL_RTT_CODES.forEach((_, code) => {
        const model = code < forecast.end ? forecast.modelShare * probabilities[code] / kept : 0;
        const expected = model + forecast.massBetween(code, code + 1);
        total += distribution.probabilities[code];
        if (Math.abs(distribution.probabilities[code] - expected) > 1e-9) {
          assertAlmostEquals(distribution.probabilities[code], expected, 1e-9);
        }
      });
      assertAlmostEquals(total, 1, 1e-9);
      assertEquals(distribution.pFailed, forecast.failureProbability(pFailed));
      assert(distribution.pFailed > 0 && distribution.pFailed < 1 && distribution.pFailed !== pFailed);
    });
    // The pair's RTTs have probability that the model with random weights does not give them.
    assert(
      distributions[0].cdf(22) - distributions[0].cdf(20) > ofModel[0].cdf(22) - ofModel[0].cdf(20) + 0.02,
    );
  }));

Deno.test("hardly any mass lies above four times the greatest RTT, and the mean lies below", () =>
  withPooled(async (pooled, alone) => {
    const limitMs = 4 * 140;
    const [distribution, ofModel] = [
      await pooled.rttDistribution(QUESTIONS[0]),
      await alone.rttDistribution(QUESTIONS[0]),
    ];
    const last = FIRST_BYTES.findIndex((byte) => byte === encodeRttCode(limitMs) >> 8);
    const endMs = decodeRttCode(CANONICAL_RTT_CODES.find((code) => code >> 8 === FIRST_BYTES[last + 1]) ?? 0);
    assert(1 - distribution.cdf(endMs) <= 1e-6, `${1 - distribution.cdf(endMs)}`);
    assert(ofModel.cdf(endMs) < 0.9 && ofModel.meanMs > endMs);
    assert(distribution.meanMs < limitMs);
    for (const probability of distribution.probabilities) assert(probability > 0);
  }));

Deno.test("for a pair without RTTs hardly any mass lies above four times the usual RTTs", () =>
  withPooled(async (pooled) => {
    // One training pair also has an RTT of 9 s.
    const { config, registry, weights } = pooled;
    const tables = new PoolTables();
    const [source, ...ends] = [SOURCE, ...DESTINATIONS].map(PoolTables.endOf);
    for (const ms of [20, 21, 9000]) tables.add(source, ends[0], encodeRttCode(ms), START_S);
    tables.add(source, ends[1], encodeRttCode(140), START_S);
    const model = PingModel.of(config, registry, { weights, pool: tables.save(fitPool([])) });
    const [ofPair, unknown] = await model.rttDistributions([QUESTIONS[0], QUESTIONS[4]]);
    assert(1 - ofPair.cdf(2000) > 0.01);
    assert(1 - unknown.cdf(700) <= 1e-6, `${1 - unknown.cdf(700)}`);
    const [slow] = await model.rttDistributions([{
      ...QUESTIONS[3],
      context: [measured(DESTINATIONS[1], 500, START_S)],
    }]);
    assert(1 - slow.cdf(1900) > 1e-4 && 1 - slow.cdf(2600) <= 1e-6);
  }));

/** Centres of a forecast's kernels that have the same width. */
function logsOf({ name, numWeights }: Forecast, known: KnownOfQuestion): number[] {
  const first = Float32Array.from({ length: NUM_KINDS * numWeights }, (_, i) => i % numWeights === 0 ? 1 : 0);
  const others = namedWeights({ ...fitPool([]), ofKinds: new Float64Array(NUM_KINDS * NUM_COMPONENTS) });
  const weights = weightsOf(others.set(`pool.weights.${name}`, first)).subarray(0, NUM_COMPONENTS);
  return kernelsOf(known)(weights).map(({ log }) => log);
}

Deno.test("a pool uses its forest and its kriging for pairs without RTTs", () =>
  withTinyModel(({ config, weights }) => {
    const tables = new PoolTables();
    const known = [SOURCE, address("192.0.2.2")];
    const unknown = address("203.0.113.9");
    const add = (source: Uint8Array, destination: Uint8Array) =>
      tables.add(PoolTables.endOf(source), PoolTables.endOf(destination), encodeRttCode(20), START_S);
    add(known[0], DESTINATIONS[0]);
    add(known[0], DESTINATIONS[1]);
    add(known[1], DESTINATIONS[0]);
    const pool = new Pool(config, { weights, pool: tables.save(fitPool([])) });
    const numsOf = (source: Uint8Array, destination: Uint8Array) => {
      const known = pool.known({ source, destination, timeS: null, context: [] });
      return [forest, kriging].map((forecast) => logsOf(forecast, known).length);
    };
    assertEquals(numsOf(known[1], DESTINATIONS[1]), [16, 1]);
    assertEquals(numsOf(known[1], DESTINATIONS[0]), [0, 0]);
    assertEquals(numsOf(known[1], unknown), [16, 1]);
    assertEquals(numsOf(unknown, DESTINATIONS[0]), [16, 1]);
    return Promise.resolve();
  }));

Deno.test("a pool uses its vectors for pairs without RTTs whose ends have four pairs", () =>
  withTinyModel(({ config, weights }) => {
    const tables = new PoolTables();
    const mesh = Array.from({ length: 6 }, (_, i) => address(`192.0.2.${10 + i}`));
    const far = address("203.0.113.9");
    const add = (a: Uint8Array, b: Uint8Array) =>
      tables.add(PoolTables.endOf(a), PoolTables.endOf(b), encodeRttCode(20), START_S);
    mesh.forEach((a, i) => mesh.forEach((b, j) => j > i && i + j > 1 && add(a, b)));
    add(mesh[0], far);
    const pool = new Pool(config, { weights, pool: tables.save(fitPool([])) });
    const predicted = (source: Uint8Array, destination: Uint8Array) =>
      logsOf(factors, pool.known({ source, destination, timeS: null, context: [] }));
    const usual = logOfCode(encodeRttCode(20));
    const [log] = predicted(mesh[1], mesh[0]);
    assert(log !== usual);
    assertAlmostEquals(log, Math.log(20), 0.1);
    assertEquals(predicted(mesh[2], mesh[0]), []);
    assert(predicted(mesh[1], far).every((log) => log === usual));
    return Promise.resolve();
  }));

/** The pool of one pair: 157 ms every three hours for 15 days, then 245 and 249. */
const LATELY = [...Array(118).fill(157), 245, 249].map((ms, i) => ({ ms, timeS: START_S + 10_800 * i }));
const NEWEST_S = LATELY[LATELY.length - 1].timeS;

/** Asks about the pair of {@link LATELY}, and about its source with another destination. */
function withLately(
  test: (ask: (timeS: number | null, to?: Uint8Array) => Promise<RttDistribution>) => Promise<void>,
): Promise<void> {
  return withTinyModel(async ({ config, registry, weights }) => {
    const tables = new PoolTables();
    const [source, ...ends] = [SOURCE, ...DESTINATIONS].map(PoolTables.endOf);
    for (const { ms, timeS } of LATELY) tables.add(source, ends[0], encodeRttCode(ms), timeS);
    tables.add(source, ends[1], encodeRttCode(140), START_S);
    const own = tables.save(fitPool([]));
    // The random network knows nothing, so kernels around the pair's RTTs get nearly all the weight.
    own.set("pool.weights.model", new Float32Array(NUM_KINDS));
    const aroundRtts = own.get("pool.weights.pair_memory");
    aroundRtts?.forEach((weight, i) => aroundRtts[i] = weight > 0 ? 1 : 0);
    const model = PingModel.of(config, registry, { weights, pool: own });
    await test((timeS, destination = DESTINATIONS[0]) =>
      model.rttDistribution({ source: SOURCE, destination, timeS, context: [] })
    );
  });
}

Deno.test("an answer without a time reflects a random moment of the data, one at its end the newest state", () =>
  withLately(async (ask) => {
    const [anyTime, now] = [await ask(null), await ask(NEWEST_S)];
    assertAlmostEquals(anyTime.quantileMs(0.5), 157, 1);
    assert(anyTime.cdf(200) > 0.9 && anyTime.cdf(200) < 0.999, `${anyTime.cdf(200)}`);
    assert(now.cdf(200) < anyTime.cdf(200) - 0.1, `${now.cdf(200)}`);
  }));

Deno.test("an answer widens with the age of the pair's RTTs, or of all RTTs if the pair has none", () =>
  withLately(async (ask) => {
    const width = (of: RttDistribution) => Math.log(of.quantileMs(0.95) / of.quantileMs(0.05));
    const bitsOf = (of: RttDistribution, ms: number) => -Math.log2(of.cdf(1.005 * ms) - of.cdf(0.995 * ms));
    const days = [0, 1, 60, 365];
    const later = await Promise.all(days.map((day) => ask(START_S + 86_400 * day, DESTINATIONS[1])));
    for (let i = 1; i < days.length; i++) assert(width(later[i]) > width(later[i - 1]), `${days[i]}`);
    const [now, latest] = await Promise.all([0, 365].map((day) => ask(NEWEST_S + 86_400 * day)));
    assert(bitsOf(latest, 249) > bitsOf(now, 249) + 1);
    const others = await Promise.all([0, 365].map((day) => ask(NEWEST_S + 86_400 * day, DESTINATIONS[2])));
    assert(width(others[1]) > width(others[0]));
  }));

Deno.test("P(no reply) moves towards the shares of the pair, its ends and the context", () =>
  withPooled(async (pooled) => {
    const { config, registry, weights } = pooled;
    // The ends alone, as if the fit had found that the network knows nothing.
    const tensors = pool();
    tensors.get("pool.failure_weights")?.fill(1);
    const model = PingModel.of(config, registry, { weights, pool: tensors });
    const from = async (
      source: Uint8Array,
      destination: Uint8Array,
      { context = [], timeS = null }: { context?: TokenMeasurement[]; timeS?: number | null } = {},
    ) => (await model.rttDistribution({ source, destination, timeS, context })).pFailed;
    const usual = (9 + 1) / (15 + 2);
    const unknown = address("10.9.8.7");
    assertAlmostEquals(await from(unknown, address("10.9.8.6")), usual, 1e-6);
    // 9 of 15 measurements of the source failed, 6 of 7 to the second destination, and 3 of 3 to the third.
    const odds = (p: number) => p / (1 - p);
    const [ofSource, ofSecond] = [[9, 15], [6, 7]].map(([failed, all]) => (failed + 2 * usual) / (all + 2));
    assertAlmostEquals(await from(unknown, DESTINATIONS[1]), ofSecond, 1e-6);
    const both = odds(ofSource) * odds(ofSecond) / odds(usual);
    const expected = (failed: number, all: number) => (failed + 4 * both / (1 + both)) / (all + 4);
    assertAlmostEquals(await from(SOURCE, DESTINATIONS[1]), expected(6, 7), 1e-6);
    const context = [1, 2].map((i) => measured(DESTINATIONS[1], null, START_S + 30_000 * i));
    assertAlmostEquals(await from(SOURCE, DESTINATIONS[1], { context }), expected(8, 9), 1e-6);
    // The newest measurements count more at their time.
    const timeS = START_S + 60_000;
    assert(await from(SOURCE, DESTINATIONS[1], { context, timeS }) > expected(8, 9) + 0.02);
    const replies = context.map((each) => ({ ...each, rttCode: encodeRttCode(140) }));
    assert(await from(SOURCE, DESTINATIONS[1], { context: replies, timeS }) < expected(6, 9) - 0.02);
    // The first destination always replied.
    assert(await from(SOURCE, DESTINATIONS[0], { timeS }) < 0.5);
  }));

Deno.test("without a pool or with --no-pool the network answers alone", () =>
  withPooled(async (pooled, alone) => {
    const { config, registry, weights } = alone;
    const asked = QUESTIONS[0];
    const off = PingModel.of(config, registry, { weights, pool: pool(), noPool: true });
    const { probabilities } = await alone.rttDistribution(asked);
    assertEquals((await off.rttDistribution(asked)).probabilities, probabilities);
    assertNotEquals((await pooled.rttDistribution(asked)).probabilities, probabilities);
    assertEquals(alone.pooled(asked), undefined);
  }));

Deno.test("forecasts do not use a place that is known to be wrong", () => {
  const ends = Array.from({ length: 24 }, (_, i) => address(`10.${i}.0.1`));
  const [wrong, right] = [address("10.90.0.1"), address("10.91.0.1")];
  const placeOf = (i: number) => ({
    latitude: 0,
    longitude: 10 * (i % 12) - 60,
    countryCode: ["DE", "FR", "US"][i % 3],
    asNumber: 100 + i % 5,
  });
  const known = ends.map((end, i) => [end, placeOf(i)] as const);
  // The same table with the wrong place, and with what is left of it.
  const [given, kept] = [placeOf(3), { asNumber: placeOf(3).asNumber }].map((place) =>
    PlaceTable.of(blockPlaces([...known, [wrong, place], [right, placeOf(7)]]))
  );
  const tables = new PoolTables((text) => given.locate(addressNumber(address(text)), 4));
  ends.forEach((source, i) =>
    ends.forEach((destination, j) => {
      const rttMs = 5 + 2 * Math.abs(i % 12 - j % 12) * (1 + i % 3);
      if (i < j) {
        tables.add(PoolTables.endOf(source), PoolTables.endOf(destination), encodeRttCode(rttMs), START_S);
      }
    })
  );
  const pool = tables.save(fitPool([]));
  const [asMarked, asKept, unmarked] = [given, kept, given].map((table, i) => {
    const { config, weights } = tinyRowModel(64, table.encode());
    const rows = new AddressEmbeddings(config);
    rows.load(weights);
    if (i === 0) assert(rows.isMisplaced(wrong, { claims: true }));
    rows.save(weights);
    const out = new Float64Array(CANONICAL_RTT_CODES.length);
    new Pool(config, { weights, pool }).forecast({
      source: wrong,
      destination: right,
      timeS: null,
      context: [],
    })
      .addTo(out);
    return out;
  });
  assertEquals(asMarked, asKept);
  assertNotEquals(asMarked, unmarked);
});

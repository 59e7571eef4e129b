/** No answer has mass below the RTT of light between the places of its endpoints. @module */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { addressBytes, formatAddress } from "../../../lib/data/addresses/ip.ts";
import type { IpPrefix } from "../../../lib/data/addresses/ip_prefix.ts";
import { parsePrefix } from "../../../lib/data/addresses/ip_prefix.ts";
import { PlaceTable } from "../../../lib/data/addresses/place_table.ts";
import { CANONICAL_RTT_CODES, decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { AddressEmbeddings } from "../../../lib/model/address_embeddings.ts";
import { forecastRtts } from "../../../lib/eval/sections/rtt_forecasts.ts";
import { savedMoves } from "../../../lib/model/pool/moved_places.ts";
import { fitPool } from "../../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../../lib/model/pool/pool_tables.ts";
import { rankDestinations } from "../../../lib/query/destinations/destination_ranking.ts";
import { sampleMeasurements } from "../../../lib/query/score/sample.ts";
import { PingModel } from "../../../lib/query/ping_model.ts";
import { drawAddresses, rttBetweenPrefixes } from "../../../lib/query/rtt/prefix_query.ts";
import { RTTS_MS } from "../../../lib/query/rtt/rtt_distribution.ts";
import { scoreResults } from "../../../lib/query/score/score_results.ts";
import { KernelRegistry } from "../../../lib/tensor/registry.ts";
import { Gpu } from "../../../lib/tensor/device.ts";
import { blockPlaces } from "../../data/addresses/block_places.ts";
import { knownData, tinyRowModel } from "../adapt/tiny_rows.ts";

/** Two addresses in Berlin, one in Sydney, one without a place, and one that training found misplaced. */
const [BERLIN, POTSDAM, SYDNEY, NOWHERE, WRONG] = [
  ...["192.0.2.1", "192.0.2.9", "198.51.100.7", "203.0.113.5", "198.51.100.9"].map(addressBytes),
];
const POSITIONS = [[BERLIN, 52.5, 13.5], [SYDNEY, -34, 151]] as const;
const TABLE = PlaceTable.of(
  blockPlaces(POSITIONS.map(([address, latitude, longitude]) => [address, { latitude, longitude }])),
);
const FLOOR_MS = 156.93;

/** A model with places whose pool knows RTTs of pairs, with and without floors. */
async function withPlaced(
  known: readonly (readonly [Uint8Array, Uint8Array, rttMs: number])[],
  test: (model: PingModel, without: PingModel) => Promise<void>,
  moved: Parameters<typeof savedMoves>[0] = new Map(),
): Promise<void> {
  using gpu = await Gpu.open();
  const { config, weights } = tinyRowModel(64, TABLE.encode());
  const rows = new AddressEmbeddings(config);
  rows.load(weights);
  rows.isMisplaced(WRONG, { claims: true });
  rows.save(weights);
  const tables = new PoolTables();
  for (const [source, destination, rttMs] of known) {
    tables.add(PoolTables.endOf(source), PoolTables.endOf(destination), encodeRttCode(rttMs), 1.7e9);
  }
  const pool = new Map([...tables.save(fitPool([])), ...savedMoves(moved)]);
  const options = { weights, pool, trainingData: knownData() };
  const registry = new KernelRegistry(gpu);
  const without = PingModel.of(config, registry, options);
  without.pooled = (query) => PingModel.prototype.pooled.call(without, query, encodeRttCode(1));
  await test(PingModel.of(config, registry, options), without);
}

const asked = (source: Uint8Array, destination: Uint8Array) => ({
  source,
  destination,
  timeS: null,
  context: [],
});
const EVERYWHERE = [[BERLIN, NOWHERE, 200], [NOWHERE, SYDNEY, 290], [BERLIN, POTSDAM, 140]] as const;
const FIRST = CANONICAL_RTT_CODES.findIndex((code) => code > encodeRttCode(FLOOR_MS));

Deno.test("mass below the floor is removed and the rest renormalised", () =>
  withPlaced(EVERYWHERE, async (model, without) => {
    const floored = await model.rttDistribution(asked(BERLIN, SYDNEY));
    const before = await without.rttDistribution(asked(BERLIN, SYDNEY));
    assertEquals(before.floorMs, null);
    assertAlmostEquals(floored.floorMs ?? 0, FLOOR_MS, 0.1);
    assert(before.cdf(FLOOR_MS) > 0.2 && floored.cdf(floored.floorMs ?? 0) === 0);
    assert(floored.quantileMs(0) >= (floored.floorMs ?? Infinity));
    assert(floored.probabilities.every((p, i) => (p > 0) === (i >= FIRST)));
    // Which share is left of the floor's first byte, EXACT.md's vectors say.
    const ratioAt = (ms: number) => floored.probabilityOf(ms) / before.probabilityOf(ms);
    assertAlmostEquals(ratioAt(300) / ratioAt(2000), 1, 1e-4);
    assertEquals(floored.pFailed, before.pFailed);
    assertAlmostEquals(floored.canonicalMass, before.canonicalMass, 1e-9);
  }));

Deno.test("addresses without a place or found elsewhere in training have no floor", () =>
  withPlaced(EVERYWHERE, async (model) => {
    const floorsMs = (await model.rttDistributions([
      asked(BERLIN, WRONG),
      asked(BERLIN, NOWHERE),
      asked(BERLIN, POTSDAM),
      asked(POTSDAM, SYDNEY),
    ])).map(({ floorMs }) => floorMs);
    assertEquals(floorsMs.map((floorMs) => floorMs !== null), [false, false, false, true]);
  }));

Deno.test("a pair measured below its floor has none, unless it represents its places", () =>
  withPlaced([...EVERYWHERE, [BERLIN, SYDNEY, 100]], async (model) => {
    const query = asked(BERLIN, SYDNEY);
    assertEquals((await model.rttDistribution(query)).floorMs, null);
    assert((await model.rttDistribution({ ...query, isOfPlaces: true })).floorMs !== null);
    const other = { ...asked(POTSDAM, SYDNEY), timeS: 1.7e9 };
    assert((await model.rttDistribution(other)).floorMs !== null);
    const context = [{ ...other, timeS: 1.7e9 - 60, rttCode: encodeRttCode(90) }];
    assertEquals((await model.rttDistribution({ ...other, context })).floorMs, null);
  }));

Deno.test("two addresses have no floor if their measurements show that they are nearer", () =>
  withPlaced([[BERLIN, NOWHERE, 3], [NOWHERE, SYDNEY, 4]], async (model) => {
    const query = asked(BERLIN, SYDNEY);
    assertEquals((await model.rttDistribution(query)).floorMs, null);
    assert((await model.rttDistribution({ ...query, isOfPlaces: true })).floorMs !== null);
    // They say nothing about a source that was never measured.
    assert((await model.rttDistribution(asked(POTSDAM, SYDNEY))).floorMs !== null);
  }));

Deno.test("a result below the floor has the likelihood without floors, and no destination", () =>
  withPlaced(EVERYWHERE, async (model, without) => {
    const query = { ...asked(BERLIN, SYDNEY), timeS: 1.7e9 };
    await model.likelyRttDistributions([query], (some) => {
      assert(some.quantileMs(0) >= FLOOR_MS && some.spreadMass <= 0.05);
    }, { maxSpreadMass: 0.05, codes: [null] });
    // A result that is too fast shows that a place is wrong.
    const fast = { measurement: { ...query, rttCode: encodeRttCode(40) }, context: [], number: 0 };
    const [ours, theirs] = await Promise.all(
      [model, without].map(async (each) => (await scoreResults(each, [fast], { seed: 0 })).scores[0]),
    );
    assertAlmostEquals(ours.logLikelihood, theirs.logLikelihood, 1e-6);
    const isWithin = (address: Uint8Array) =>
      [SYDNEY, NOWHERE].some((each) => each.join() === address.join());
    const [{ destinations }] = await rankDestinations(model, [{ ...query, rttMs: [1, 150] }], { isWithin });
    const sydney = destinations.find(({ prefix }) => prefix.bytes.join() === SYDNEY.join());
    assertEquals(sydney?.probability, 0);
  }));

Deno.test("between places no draw has mass below the floor", () =>
  withPlaced([...EVERYWHERE, [BERLIN, SYDNEY, 100]], async (model) => {
    const place = (text: string): IpPrefix => ({ ...parsePrefix(text), isWholePlace: true });
    const query = { source: place("192.0.2.0/24"), destination: place("198.51.100.0/24") };
    const answer = await rttBetweenPrefixes(model, { ...query, timeS: null, context: [] });
    const { distribution } = answer.mixture;
    assertAlmostEquals(distribution.floorMs ?? 0, FLOOR_MS, 0.1);
    assertEquals(distribution.cdf(FLOOR_MS), 0);
  }));

Deno.test("forecasts of an evaluation contain the numbers with and without floors", () =>
  withPlaced(EVERYWHERE, async (model, without) => {
    const query = { ...asked(BERLIN, SYDNEY), timeS: 1.7e9 };
    const ends = { sourceKey: "1", srcAddr: "192.0.2.1", dstAddr: "198.51.100.7", history: [] };
    const cases = [100, 300].map((rttMs) => (
      { ...ends, rttMs, measurement: { ...query, rttCode: encodeRttCode(rttMs) } }
    ));
    const options = { contexts: [0], maxSpreadMass: 0 };
    const floored = await forecastRtts(model, cases, options);
    const free = await forecastRtts(without, cases, options);
    const exact = await without.rttDistribution(query);
    cases.forEach((_, i) => {
      assertAlmostEquals(floored.massBelowFloor[i], exact.cdf(RTTS_MS[FIRST - 1]), 1e-6);
      assertEquals(floored.predictedWithoutFloorMs[i], free.predictedMs[i]);
      assertAlmostEquals(floored.crpsWithoutFloorMs[i], free.crpsMs[i], 1e-6);
      assertAlmostEquals(floored.upToWithoutFloor[i], free.upTo[i], 1e-9);
      assert(Number.isNaN(free.massBelowFloor[i]) && floored.predictedMs[i] > FLOOR_MS);
    });
    // No answer has mass there, as the report says; the bits are those of a pair without a floor.
    assertEquals([floored.upTo[0], floored.upTo[1] > 0], [0, true]);
    assertAlmostEquals(floored.codeBits[0], free.codeBits[0], 1e-6);
    assert(floored.codeBits[1] < free.codeBits[1]);
  }));

Deno.test("no address found elsewhere in training is drawn for a place", () =>
  withPlaced(EVERYWHERE, async (model) => {
    const prefix = parsePrefix("198.51.100.8/31");
    const drawn = async (destination: IpPrefix) => {
      const query = { source: parsePrefix("192.0.2.1"), destination, timeS: null, context: [] };
      const { pairs } = await drawAddresses(model, query, { numDraws: 64, seed: 0 });
      return pairs.map(({ destination }) => destination[3]).sort();
    };
    assertEquals(await drawn(prefix), [8, 9]);
    const place = { ...prefix, isWholePlace: true };
    assertEquals(await drawn(place), [8]);
    const query = {
      source: { ...parsePrefix("192.0.2.0/28"), isWholePlace: true },
      timeS: null,
      context: [],
    };
    for (const [destination, last] of [[prefix, [8, 9]], [place, [8]]] as const) {
      const samples = await Array.fromAsync(
        sampleMeasurements(model, { ...query, destination }, { count: 400, seed: 0 }),
      );
      assertEquals([...new Set(samples.map((sample) => sample.destination[3]))].sort(), [...last]);
    }
  }));

Deno.test("a checkpoint without a pool has floors, except with --no-pool", () =>
  withPlaced(EVERYWHERE, async ({ config, registry, weights }) => {
    const [model, alone] = [false, true].map((noPool) => PingModel.of(config, registry, { weights, noPool }));
    const query = asked(BERLIN, SYDNEY);
    const [floored, before] = [await model.rttDistribution(query), await alone.rttDistribution(query)];
    assertEquals([floored.cdf(FLOOR_MS), before.floorMs], [0, null]);
    const at = encodeRttCode(300);
    const ratioAt = (ms: number) => floored.probabilityOf(ms) / before.probabilityOf(ms);
    assertAlmostEquals(ratioAt(decodeRttCode(at)) / ratioAt(2000), 1, 1e-6);
    const context = [{ ...query, timeS: null, rttCode: encodeRttCode(90) }];
    assertEquals((await model.rttDistribution({ ...query, context })).floorMs, null);
  }));

Deno.test("an address that the pool moves is not where the database says and has no limit", () =>
  withPlaced(
    [[BERLIN, SYDNEY, 300]],
    async (model) => {
      const [moved, others] = await model.rttDistributions([asked(BERLIN, SYDNEY), asked(POTSDAM, SYDNEY)]);
      assertEquals(moved.floorMs, null);
      assertAlmostEquals(others.floorMs ?? NaN, FLOOR_MS, 0.01);
      assertEquals([BERLIN, SYDNEY].map((each) => model.isMisplaced(each)), [true, false]);
    },
    new Map([[formatAddress(BERLIN), { latitude: 48, longitude: 11.5 }]]),
  ));

import { claimRows, DataSurvey } from "../../../lib/train/autosize.ts";
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { RandomStream } from "../../../lib/base/random.ts";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import {
  addressNumber,
  countryCode,
  distanceKm,
  type Place,
  PlaceTable,
} from "../../../lib/data/addresses/place_table.ts";
import { openPlaces } from "../../../lib/data/addresses/places/open_places.ts";
import type { BaselineForecasts } from "../../../lib/eval/baselines/baseline_forecasts.ts";
import type { EvalCase } from "../../../lib/eval/cases.ts";
import { clustersOf } from "../../../lib/eval/metrics/bootstrap.ts";
import { alignmentsOf, evaluatePlaces, placeLookup } from "../../../lib/eval/sections/place_section.ts";
import { AddressEmbeddings } from "../../../lib/model/address_embeddings.ts";
import { NO_ROW } from "../../../lib/model/embedding_table.ts";
import type { ModelConfig } from "../../../lib/model/model_config.ts";
import { initialParameters } from "../../../lib/model/parameters.ts";
import type { LoadedCheckpoint } from "../../../lib/train/checkpoint_files.ts";
import { MemoryRowSource } from "../../data/loader/synthetic_rows.ts";
import { tinyConfig } from "../../model/tiny_model.ts";
import { meshRow } from "./mesh_rows.ts";

const DATA = fromFileUrl(new URL("../../data/places", import.meta.url));

/** Cities along the equator, each in a different country; networks `10.N.0.0/24`. */
const LONGITUDES = [-110, -97, -71, -52, -30, -3, 20, 44, 53, 71, 99, 118];
const NUM_CITIES = LONGITUDES.length;
const CITIES = LONGITUDES.map((longitude, i): Place => ({
  latitude: 0,
  longitude,
  countryCode: `A${String.fromCharCode(65 + i)}`,
  asNumber: 100 + i % 2,
}));
const addressIn = (city: number) => `10.${city}.0.1`;
const MISPLACED = "10.11.0.1";
const TABLE = PlaceTable.of({
  locate: ([first, city]) => first === 10 ? CITIES[city] : undefined,
  visitBounds: (length, visit) => {
    if (length === 16) return;
    for (let city = 0; city <= NUM_CITIES; city++) visit(addressNumber(addressBytes(`10.${city}.0.0`)));
  },
}).encode();

/** A model trained on all pairs of cities, or of some hosts in each; RTTs follow distances. */
function checkpointOf(places: ModelConfig["places"], numHosts = 1) {
  const config = tinyConfig({
    prefixVectors: { rows: 1024, seed: 1, dropShare: 0 },
    coordinates: numHosts === 1 ? null : { nodes: 256, rank: 4, folds: 4, dropShare: 0 },
    places,
  });
  const weights = initialParameters(config, 0);
  const hosts = CITIES.flatMap((_, city) =>
    Array.from({ length: numHosts }, (_, i) => `10.${city}.0.${i + 1}`)
  );
  const rttMs = (a: string, b: string) => {
    const [from, to] = [a, b].map((host) => ({
      latitude: 0,
      longitude: LONGITUDES[Number(host.split(".")[1])],
    }));
    return 5 + distanceKm(from, to) / 50;
  };
  const rows = hosts.map((source) =>
    meshRow(source, hosts.filter((host) => host !== source).map((host) => [host, rttMs(source, host), 0]))
  );
  const worst = { other: addressIn(0), rttMs: 1, distanceKm: 9000, floorMs: 88 };
  const misplaced = [{
    address: MISPLACED,
    kind: "anycast" as const,
    latitude: 0,
    longitude: 118,
    tooFast: 1,
    pairs: 3,
    worst,
  }];
  const given = places && { table: TABLE, numAddresses: 0, numLocated: 0, misplaced };
  const survey = DataSurvey.of(new MemoryRowSource(rows));
  claimRows(config, weights, survey, given ?? undefined);
  const { counts } = survey;
  const known = counts.table();
  const trainingData = { known, summary: counts.summary({ origin: "", isSynthetic: null }) };
  return { config: { model: config }, weights, trainingData } as unknown as LoadedCheckpoint;
}

const PLACES = { tableSize: TABLE.length / 3, sources: [], dropShare: 0 };

Deno.test("placeLookup() returns the checkpoint's places, except those known to be wrong", async () => {
  assertEquals(await placeLookup(checkpointOf(null)), undefined);
  const placeOf = await placeLookup(checkpointOf(PLACES));
  assert(placeOf);
  const found = placeOf("10.3.0.77");
  assertEquals([found?.position, countryCode(found?.country ?? 0), found?.asNumber], [
    { latitude: 0, longitude: -52 },
    "AD",
    101,
  ]);
  assertEquals([placeOf(MISPLACED)?.position, placeOf(MISPLACED)?.country, placeOf(MISPLACED)?.asNumber], [
    undefined,
    0,
    101,
  ]);
});

Deno.test("placeLookup() reads given files instead, with their positions", async () => {
  const files = [`${DATA}/city.csv`, `${DATA}/asn.csv`];
  const placeOf = await placeLookup(checkpointOf(null), files);
  const source = await openPlaces(files);
  for (const address of ["75.204.57.235", "2a00::1", "10.3.0.1"]) {
    const expected = source.locate(addressBytes(address));
    const found = placeOf?.(address);
    assertEquals(found?.position?.latitude, expected?.latitude);
    assertEquals(found?.asNumber, expected && (expected.asNumber ?? 0));
    assertEquals(found && countryCode(found.country), expected && (expected.countryCode ?? ""));
  }
});

/** A case of 100 ms between two cities. */
function caseOf(from: string, to: string): EvalCase {
  return {
    sourceKey: from,
    srcAddr: from,
    dstAddr: to,
    rttMs: 100,
    history: [],
    measurement: { source: addressBytes(from), destination: addressBytes(to), timeS: 0, rttCode: 1 },
  };
}

Deno.test("evaluatePlaces() groups by distance, country and AS, with the best baseline of each group", async () => {
  const checkpoint = checkpointOf(PLACES);
  const placeOf = await placeLookup(checkpoint);
  assert(placeOf);
  // 11 pairs from each of three cities to every other one, twice each; the misplaced one has no place.
  const cases = [0, 1, 2].flatMap((from) =>
    CITIES.keys().toArray().filter((to) => to !== from).flatMap((to) =>
      [0, 1].map(() => caseOf(addressIn(from), addressIn(to)))
    )
  );
  const errorMs = (i: number) => cases[i].srcAddr === addressIn(0) ? 1 : 20;
  const values = (of: (i: number) => number) => Float64Array.from(cases, (_, i) => of(i));
  const forecasts = {
    caseIndex: Uint32Array.from(cases.keys()),
    numContext: new Uint32Array(cases.length),
    predictedMs: values((i) => 100 + errorMs(i)),
    likeliestMs: values(() => 100),
    crpsMs: values(errorMs),
    codeBits: values(() => 7),
    below: values(() => 0.4),
    upTo: values(() => 0.6),
    pFailed: values(() => 0),
    spreadMass: values(() => 0),
    massBelowFloor: values((i) => errorMs(i) === 1 ? 0.25 : i % 2 === 0 ? 0.005 : NaN),
    predictedWithoutFloorMs: values((i) => 100 + errorMs(i) + 10),
    crpsWithoutFloorMs: values((i) => errorMs(i) + 3),
    belowWithoutFloor: values(() => 0.96),
    upToWithoutFloor: values(() => 1),
  };
  const off = (ms: number) => ({ predictedMs: values(() => 100 + ms) });
  const baselines: BaselineForecasts = {
    methods: new Map([["near", off(5)], ["far", off(50)], ["mute", off(NaN)]]),
    numTraining: 0,
    numTrainingUsed: 0,
    numObservable: 0,
    numObserved: 0,
    pFailed: new Map(),
  };
  const clusters = clustersOf(cases);
  const section = evaluatePlaces(checkpoint, forecasts, cases, { placeOf, baselines, clusters, seed: 0 });
  assertEquals([section.numMeasurements, section.numPlaced], [66, 60]);
  const [all, cut] = section.floors ?? [];
  assertEquals([all.of, all.numMeasurements, all.numBelow], ["all", 44, 0]);
  assertEquals([cut.of, cut.numMeasurements, cut.massBelow], ["cut", 22, 0.25]);
  assertEquals(cut.comparisons.map(({ model, baseline, verdict }) => [model, baseline, verdict]), [
    [1, 11, "better"],
    [1, 4, "better"],
  ]);
  const shareOf = (of: typeof cut.coverage) => of.find(({ level }) => level === 0.9)?.share;
  assertEquals([shareOf(cut.coverage), shareOf(cut.coverageWithout)], [1, 0]);
  // An RTT that no probability reaches is below its floor.
  const fast = { ...forecasts, below: values(() => 0), upTo: values((i) => i < 3 ? 0 : 0.6) };
  const { floors } = evaluatePlaces(checkpoint, fast, cases, { placeOf, baselines, clusters, seed: 0 });
  assertEquals(floors?.map(({ numBelow }) => numBelow), [3, 3]);
  const sources = section.groups.filter(({ by }) => by === "source country");
  assertEquals(sources.map(({ name }) => name).sort(), ["AA", "AB", "AC"]);
  for (const { name, model, comparisons, coverage } of sources) {
    assertEquals(model.numMeasurements, 22);
    const [median, crps] = comparisons;
    assertEquals([median.metric, crps.metric], ["medianAbsoluteMs", "crpsMs"]);
    assertEquals([median.bestBaseline, median.baseline], ["near", 5]);
    assertEquals([median.model, median.verdict], name === "AA" ? [1, "better"] : [20, "worse"]);
    assertEquals(coverage.find(({ level }) => level === 0.9)?.share, 1);
  }
  const kms = cases.map(({ srcAddr, dstAddr }) => {
    const [from, to] = [srcAddr, dstAddr].map((address) => Number(address.split(".")[1]));
    return to === 11 ? NaN : distanceKm(
      { latitude: 0, longitude: LONGITUDES[from] },
      { latitude: 0, longitude: LONGITUDES[to] },
    );
  });
  const bands = section.groups.filter(({ by }) => by === "distance");
  const numWithin = (from: number, to: number) => kms.filter((km) => km >= from && km < to).length;
  const expected = [
    ["below 500 km", 0, 500],
    ["500 to 1500 km", 500, 1500],
    ["1500 to 3000 km", 1500, 3000],
    [
      "3000 to 6000 km",
      3000,
      6000,
    ],
    ["6000 to 10000 km", 6000, 10_000],
    ["from 10000 km", 10_000, Infinity],
  ] as const;
  assertEquals(
    bands.map(({ name, model }) => [name, model.numMeasurements]),
    expected.map(([name, from, to]) => [name, numWithin(from, to)]).filter(([, count]) =>
      Number(count) >= 20
    ),
  );
  assert(bands.length > 0);
  assertEquals(section.groups.some(({ by, name }) => by === "destination AS" && name === "AS100"), true);
  assertEquals(JSON.parse(JSON.stringify(section)), section);
});

Deno.test("alignmentsOf() is 1 if embeddings are the places' directions, and near 0 if they are random", () => {
  const checkpoint = checkpointOf(PLACES);
  const { width } = checkpoint.config.model;
  const table = checkpoint.weights.get("address_embed.weight") ?? new Float32Array(0);
  // Nothing is known about embeddings that were never trained.
  assertEquals(alignmentsOf(checkpoint, 1), []);
  const random = new RandomStream(1, "test/embeddings");
  table.forEach((_, i) => table[i] = random.normal());
  const unaligned = alignmentsOf(checkpoint, 1);
  assertEquals(unaligned.map(({ of, by, numPlaces }) => [of, by, numPlaces]), [
    ["cells", "embeddings", 11],
    ["countries", "embeddings", 11],
  ]);
  for (const { correlation, interval } of unaligned) {
    assert(Math.abs(correlation) < 0.4, `${correlation}`);
    assert(interval && interval[0] < correlation && correlation < interval[1]);
  }
  const embeddings = new AddressEmbeddings(checkpoint.config.model);
  embeddings.load(checkpoint.weights);
  CITIES.forEach(({ longitude = 0 }, city) => {
    for (const row of embeddings.rowsOfPlaces(addressBytes(addressIn(city)))) {
      if (row === NO_ROW) continue;
      const angle = longitude * Math.PI / 180;
      table.subarray(row * width, (row + 1) * width).fill(0);
      table.set([3 * Math.cos(angle), 3 * Math.sin(angle)], row * width);
    }
  });
  for (const { correlation, interval } of alignmentsOf(checkpoint, 1)) {
    assertAlmostEquals(correlation, 1, 1e-3);
    assert(interval && interval[0] > 0.99);
  }
  assertEquals(alignmentsOf(checkpointOf(null), 1), []);
});

Deno.test("alignmentsOf() is high for coordinates of RTTs that follow distances", () => {
  const found = alignmentsOf(checkpointOf(PLACES, 4), 1);
  assertEquals(found.map(({ of, by, numPlaces }) => [of, by, numPlaces]), [
    ["cells", "coordinates", 12],
    ["countries", "coordinates", 12],
  ]);
  for (const { correlation, interval } of found) {
    assert(interval && interval[0] > 0.9, `${correlation} ${interval}`);
  }
});

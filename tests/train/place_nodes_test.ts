import { assert, assertAlmostEquals, assertEquals, assertLess } from "@std/assert";
import { MemoryRowSource } from "../data/loader/memory_rows.ts";
import { AddressEmbeddings } from "../../lib/model/address_embeddings.ts";
import { advance } from "../../lib/model/embedding_table.ts";
import type { ModelConfig } from "../../lib/model/model_config.ts";
import { initialParameters } from "../../lib/model/parameters.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { addressNumber, type Place, PlaceTable } from "../../lib/data/addresses/place_table.ts";
import type { ProbeRow } from "../../lib/data/probe_rows/probe_row.ts";
import { claimRows, DataSurvey } from "../../lib/train/autosize.ts";
import { tinyConfig } from "../model/tiny_model.ts";

const CITIES: Record<string, Place> = {
  "10.1.0": { latitude: 52.5, longitude: 13.5, countryCode: "DE", region: "Berlin" },
  "10.2.0": { latitude: 40.5, longitude: -74, countryCode: "US", region: "New York" },
  "10.3.0": { latitude: 35.5, longitude: 139.5, countryCode: "JP", region: "Tokyo" },
};
/** RTTs between cities, ms, by the second bytes of their addresses. */
const RTTS_MS: Record<string, number> = { "12": 90, "13": 240, "23": 160, "11": 5, "22": 6, "33": 4 };
const NUM_HOSTS = 6;

const NUMBERS = PlaceTable.of({
  locate: (address) => CITIES[address.slice(0, 3).join(".")],
  visitBounds: (length, visit) => {
    if (length === 16) return;
    for (const city of Object.keys(CITIES)) {
      const first = addressNumber(addressBytes(`${city}.0`));
      visit(first);
      visit(first + 256);
    }
  },
}).encode();

const HOSTS = Object.keys(CITIES).flatMap((city) =>
  Array.from({ length: NUM_HOSTS }, (_, i) => `${city}.${i + 1}`)
);
const cityOf = (address: string) => address.split(".")[1];
const rttMs = (a: string, b: string) => RTTS_MS[[cityOf(a), cityOf(b)].sort().join("")];

/** Every host measures every other one. */
const ROWS = HOSTS.map((source) => {
  const others = HOSTS.filter((host) => host !== source);
  return {
    srcAddrs: [source],
    dstAddrs: others,
    srcIndex: others.map(() => 0),
    dstIndex: others.map((_, i) => i),
    rttMs: Float32Array.from(others, (other) => rttMs(source, other)),
    eventTimeUs: Float64Array.from(others, (_, i) => 1e6 * i),
  } as unknown as ProbeRow;
});

function modelOf(places: ModelConfig["places"]): AddressEmbeddings {
  const config = tinyConfig({
    prefixVectors: { rows: 1024, seed: 1, dropShare: 0 },
    coordinates: { nodes: 128, rank: 4, folds: 4, dropShare: 0 },
    places,
  });
  const weights = initialParameters(config, 0);
  const given = places && { numbers: NUMBERS, numAddresses: 0, numLocated: 0, misplaced: [] };
  claimRows(config, weights, DataSurvey.of(new MemoryRowSource(ROWS)), given ?? undefined);
  const rows = new AddressEmbeddings(config);
  rows.load(weights);
  return rows;
}

function estimateOf(rows: AddressEmbeddings, ...addresses: [string, string]) {
  const use = { isTraining: false, context: 0 };
  const [a, b] = addresses.map((text) => {
    const state = rows.begin(4);
    for (const byte of addressBytes(text)) advance(state, byte);
    return state;
  });
  return rows.estimateOf(rows.pairOf(a, b, use), use);
}

const PLACES = { tableSize: NUMBERS.length, sources: [], dropShare: 0 };
const [UNKNOWN_BERLIN, UNKNOWN_TOKYO, UNKNOWN] = ["10.1.0.200", "10.3.0.200", "192.0.2.1"];

Deno.test("an address without coordinates has those of its place, one of no known place those of a typical address", () => {
  const rows = modelOf(PLACES);
  for (const known of ["10.1.0.1", "10.2.0.1", "10.3.0.1"]) {
    const estimate = estimateOf(rows, UNKNOWN_BERLIN, known);
    assert(estimate);
    const wanted = rttMs(UNKNOWN_BERLIN, known);
    assertLess(
      Math.abs(Math.log(estimate.rttMs / wanted)),
      0.3,
      `${estimate.rttMs} ms to ${known}, wanted ${wanted}`,
    );
    assertEquals(estimate.isOfBoth, false);
  }
  assertLess(Math.abs(Math.log((estimateOf(rows, UNKNOWN_BERLIN, UNKNOWN_TOKYO)?.rttMs ?? 0) / 240)), 0.4);
  const [here, there] = ["10.1.0.1", "10.3.0.1"].map((known) => estimateOf(rows, known, UNKNOWN));
  assertAlmostEquals(here?.rttMs ?? NaN, estimateOf(modelOf(null), "10.1.0.1", UNKNOWN)?.rttMs ?? NaN, 1e-3);
  assert(here && there);
});

Deno.test("places change no estimate of known addresses", () => {
  const [without, withPlaces] = [modelOf(null), modelOf(PLACES)];
  for (const [a, b] of [["10.1.0.1", "10.2.0.2"], ["10.3.0.1", "10.3.0.2"], ["10.2.0.3", "10.3.0.4"]]) {
    const [x, y] = [without, withPlaces].map((rows) => estimateOf(rows, a, b));
    assertAlmostEquals(x?.rttMs ?? NaN, y?.rttMs ?? NaN, 1e-3);
    assertEquals(y?.isOfBoth, true);
  }
});

Deno.test("both ends in one place count as typical addresses, if nothing is known of them", () => {
  const rows = modelOf(PLACES);
  const estimate = estimateOf(rows, UNKNOWN_BERLIN, "10.1.0.201");
  assertEquals(estimate?.isOfBoth, false);
  assertAlmostEquals(estimate?.rttMs ?? NaN, estimateOf(rows, UNKNOWN, "192.0.2.2")?.rttMs ?? NaN, 1e-6);
});

import { assert, assertAlmostEquals, assertEquals, assertNotEquals } from "@std/assert";
import { AddressEmbeddings, EmbeddingCursor, type RowUse } from "../../lib/model/address_embeddings.ts";
import { NO_ROW, NUM_PATH_STEPS } from "../../lib/model/embedding_table.ts";
import { type ModelConfig, modelShapes } from "../../lib/model/model_config.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import {
  addressNumber,
  type Place,
  type PlaceSource,
  PlaceTable,
} from "../../lib/data/addresses/place_table.ts";
import { encodeRttCode } from "../../lib/data/tokens/rtt_code.ts";
import { QUERY_ORDER, TokenWriter } from "../../lib/data/tokens/vocab_v2.ts";
import { tinyConfig } from "./tiny_model.ts";

const BERLIN: Place = {
  latitude: 52.5,
  longitude: 13.4,
  countryCode: "DE",
  region: "Berlin",
  asNumber: 64500,
};
const HAMBURG: Place = {
  latitude: 53.6,
  longitude: 10,
  countryCode: "DE",
  region: "Hamburg",
  asNumber: 64501,
};
const TOKYO: Place = {
  latitude: 35.7,
  longitude: 139.7,
  countryCode: "JP",
  region: "Tokyo",
  asNumber: 64502,
};
/** Places by /24. */
const PLACES: Record<string, Place> = {
  "192.0.2.0": BERLIN,
  "192.0.3.0": BERLIN,
  "198.51.100.0": HAMBURG,
  "203.0.113.0": TOKYO,
  "203.0.114.0": { asNumber: 64502 },
};

const SOURCE: PlaceSource = {
  locate: (address) => PLACES[`${address.slice(0, 3).join(".")}.0`],
  visitBounds: (length, visit) => {
    if (length === 16) return;
    for (const first of Object.keys(PLACES)) {
      visit(addressNumber(addressBytes(first)));
      visit(addressNumber(addressBytes(first)) + 256);
    }
  },
};
const TABLE = PlaceTable.of(SOURCE).encode();

function placesConfig(changes: Partial<ModelConfig> = {}): ModelConfig {
  return tinyConfig({
    prefixVectors: { rows: 512, seed: 1, dropShare: 0 },
    places: { tableSize: TABLE.length / 3, sources: [], dropShare: 0 },
    sequenceLength: 64,
    ...changes,
  });
}

function knowing(config: ModelConfig, ...pairs: [string, string][]): AddressEmbeddings {
  const rows = new AddressEmbeddings(config);
  if (config.places) rows.usePlaces(TABLE);
  for (const [src, dst] of pairs) rows.claim(addressBytes(src), addressBytes(dst));
  return rows;
}

/** The rows of the two tokens that precede the bytes of an RTT. */
function rowsOf(rows: AddressEmbeddings, [src, dst]: [string, string], use?: RowUse): number[][] {
  const tokens = new Uint16Array(64);
  const measurement = { source: addressBytes(src), destination: addressBytes(dst), timeS: null };
  const length = new TokenWriter(tokens).write({ ...measurement, rttCode: encodeRttCode(20) }, QUERY_ORDER);
  const cursor = new EmbeddingCursor(rows);
  const found = new Uint32Array(modelShapes(rows.config).rowsPerToken);
  const all = [...tokens.subarray(0, length)].map((token) => {
    cursor.read(token, found, 0, use);
    return [...found];
  });
  return all.slice(-3, -1);
}

const known = (rows: number[]) => rows.filter((row) => row !== NO_ROW);
/** Splits rows into those of addresses, the source's path, the destination's path, the pair of places. */
function parts(rows: number[]) {
  const first = modelShapes(tinyConfig()).rowsPerToken;
  return {
    addresses: known(rows.slice(0, 3)),
    source: rows.slice(first, first + NUM_PATH_STEPS),
    destination: rows.slice(first + NUM_PATH_STEPS, first + 2 * NUM_PATH_STEPS),
    pair: rows.slice(first + 2 * NUM_PATH_STEPS),
  };
}

Deno.test("an address with a known place has its rows before an RTT, whether or not the address is known", () => {
  const rows = knowing(placesConfig(), ["192.0.2.1", "203.0.113.5"]);
  const [start, firstByte] = rowsOf(rows, ["192.0.3.9", "203.0.113.77"]);
  assertEquals(start, firstByte);
  const [asked, trained] = [start, rowsOf(rows, ["192.0.2.1", "203.0.113.5"])[0]].map(parts);
  assertNotEquals(asked.addresses, trained.addresses);
  for (const part of ["source", "destination", "pair"] as const) {
    assertEquals(asked[part], trained[part]);
    assertEquals(new Set(known(asked[part])).size, NUM_PATH_STEPS);
  }
});

Deno.test("a place unseen in training has the rows of the parts that it shares with others", () => {
  const rows = knowing(placesConfig(), ["192.0.2.1", "203.0.113.5"]);
  const berlin = parts(rowsOf(rows, ["192.0.2.1", "203.0.113.5"])[0]);
  const hamburg = parts(rowsOf(rows, ["198.51.100.7", "203.0.113.5"])[0]);
  // They share the 20-degree cell and the country, but not the 5-degree cell, region or AS.
  assertEquals(hamburg.source, [berlin.source[0], NO_ROW, berlin.source[2], NO_ROW, NO_ROW]);
  assertEquals(hamburg.destination, berlin.destination);
  // They share the countries and cells, but not the ASes, and one of two classes of the distance.
  assertEquals(hamburg.pair.slice(0, 3), [...berlin.pair.slice(0, 2), NO_ROW]);
  const asOnly = parts(rowsOf(rows, ["192.0.2.1", "203.0.114.5"])[0]);
  assertEquals(asOnly.destination, [NO_ROW, NO_ROW, NO_ROW, NO_ROW, berlin.destination[4]]);
  assertEquals(asOnly.pair, [NO_ROW, NO_ROW, berlin.pair[2], NO_ROW, NO_ROW]);
});

Deno.test("the rows of a pair of places are the same in both directions", () => {
  const rows = knowing(placesConfig(), ["192.0.2.1", "203.0.113.5"]);
  const there = parts(rowsOf(rows, ["192.0.2.1", "203.0.113.5"])[0]);
  const back = parts(rowsOf(rows, ["203.0.113.5", "192.0.2.1"])[0]);
  assertEquals(back.pair, there.pair);
  assertEquals([back.source, back.destination], [there.destination, there.source]);
});

Deno.test("the places of a known pair have no rows", () => {
  const pairVectors = { rows: 64, seed: 1, dropShare: 0, history: true };
  const rows = knowing(placesConfig({ pairVectors }), ["192.0.2.1", "203.0.113.5"]);
  const { addresses, source, destination, pair } = parts(rowsOf(rows, ["192.0.2.1", "203.0.113.5"])[0]);
  assertEquals([addresses.length, known([...source, ...destination, ...pair])], [1, []]);
  assertEquals(known(parts(rowsOf(rows, ["192.0.2.1", "203.0.113.6"])[0]).source).length, NUM_PATH_STEPS);
});

Deno.test("a misplaced address keeps its AS and loses the rest of its place, also in a checkpoint", () => {
  const config = placesConfig();
  const rows = knowing(config);
  assert(!rows.isMisplaced(addressBytes("192.0.2.1")));
  assert(rows.isMisplaced(addressBytes("192.0.2.1"), { claims: true }));
  rows.claim(addressBytes("192.0.2.1"), addressBytes("203.0.113.5"));
  rows.claim(addressBytes("192.0.2.2"), addressBytes("203.0.113.5"));
  const weights = new Map<string, Float32Array>();
  rows.save(weights);
  const loaded = new AddressEmbeddings(config);
  loaded.load(weights);
  for (const each of [rows, loaded]) {
    assertEquals(each.placeOf(addressBytes("192.0.2.1"))?.asNumber, 64500);
    const wrong = parts(rowsOf(each, ["192.0.2.1", "203.0.113.5"])[0]);
    const right = parts(rowsOf(each, ["192.0.2.2", "203.0.113.5"])[0]);
    assertEquals(wrong.source, [NO_ROW, NO_ROW, NO_ROW, NO_ROW, right.source[4]]);
    assertEquals(wrong.pair, [NO_ROW, NO_ROW, right.pair[2], NO_ROW, NO_ROW]);
    assertEquals(known(right.source).length, NUM_PATH_STEPS);
    assertEquals([each.isMisplaced(addressBytes("192.0.2.1")), each.isMisplaced(addressBytes("192.0.2.2"))], [
      true,
      false,
    ]);
  }
});

Deno.test("training hides the end of a path from a random step on, consistently within a context", () => {
  const dropShare = 0.5;
  const rows = knowing(placesConfig({ places: { tableSize: TABLE.length / 3, sources: [], dropShare } }), [
    "192.0.2.1",
    "203.0.113.5",
  ]);
  const counts = new Map<string, number>();
  const NUM_CONTEXTS = 4000;
  let hiddenPairs = 0;
  for (let context = 0; context < NUM_CONTEXTS; context++) {
    const use = { isTraining: true, context };
    const [start, firstByte] = rowsOf(rows, ["192.0.2.1", "203.0.113.5"], use);
    assertEquals(start, firstByte);
    const { source, pair, addresses } = parts(start);
    const steps = known(source).length;
    assertEquals(known(source.slice(0, steps)).length, steps, "an earlier step is hidden");
    // The whole address and its prefixes come after the places.
    const key = steps < NUM_PATH_STEPS ? `${steps}` : addresses.length < 2 ? "prefix" : "all";
    counts.set(key, (counts.get(key) ?? 0) + 1);
    if (known(pair.slice(0, 1)).length === 0) hiddenPairs++;
    assertEquals(known(pair.slice(3)).length, 2, "a distance is hidden");
  }
  const share = (key: string) => (counts.get(key) ?? 0) / NUM_CONTEXTS;
  for (let steps = 0; steps < NUM_PATH_STEPS; steps++) {
    assertAlmostEquals(share(`${steps}`), dropShare / 9, 0.02);
  }
  assertAlmostEquals(hiddenPairs / NUM_CONTEXTS, dropShare, 0.03);
});

Deno.test("a model without places has the same rows as one with an empty place table", () => {
  const [without, empty] = [
    placesConfig({ places: null }),
    placesConfig({ places: { tableSize: 3, sources: [], dropShare: 0 } }),
  ].map((config) => {
    const rows = new AddressEmbeddings(config);
    if (config.places) rows.usePlaces(new Uint8Array(9));
    rows.claim(addressBytes("192.0.2.1"), addressBytes("203.0.113.5"));
    return rowsOf(rows, ["192.0.2.1", "203.0.113.9"]);
  });
  assertEquals(empty.map((rows) => rows.slice(0, 9)), without);
  assertEquals(known(empty[0].slice(9)), []);
});

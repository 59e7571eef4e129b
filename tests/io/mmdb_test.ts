import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { FormatError } from "../../lib/base/errors.ts";
import { addressBytes, formatAddress } from "../../lib/data/addresses/ip.ts";
import { isMmdb, Mmdb } from "../../lib/io/mmdb.ts";

const FOLDER = new URL("../data/places/", import.meta.url);
const read = (name: string) => Deno.readFileSync(new URL(name, FOLDER));
/** Records by address, as read by `maxminddb` from PyPI; null if there is none. */
const LOOK_UPS: Record<string, unknown> = JSON.parse(Deno.readTextFileSync(new URL("look-ups.json", FOLDER)));

for (const bits of [24, 28, 32]) {
  Deno.test(`Mmdb agrees with maxminddb, with records of ${bits} bits`, () => {
    const database = new Mmdb(read(`city-${bits}.mmdb`), "city");
    for (const [address, record] of Object.entries(LOOK_UPS)) {
      const found = database.find(addressBytes(address));
      assertEquals(found === undefined ? null : database.record(found), record, address);
    }
  });

  Deno.test(`Mmdb.walk() visits every network in order, with records of ${bits} bits`, () => {
    const database = new Mmdb(read(`city-${bits}.mmdb`), "city");
    const networks: string[] = [];
    for (const version of [4, 6] as const) {
      let last = -1n;
      database.walk(version, (upper, lower, lengthBits, record) => {
        const address = new Uint8Array(version === 4 ? 4 : 16);
        const view = new DataView(address.buffer);
        view.setUint32(0, upper);
        if (version === 6) view.setUint32(4, lower);
        const first = BigInt(upper) << 32n | BigInt(lower);
        assert(first > last, `${formatAddress(address)} comes after what follows it`);
        last = first;
        assertEquals(database.find(address), record);
        networks.push(`${formatAddress(address)}/${lengthBits}`);
      });
    }
    const known = Object.keys(LOOK_UPS).filter((address) => LOOK_UPS[address] !== null);
    assertEquals(networks.filter((network) => network.includes(":")), [
      "2001:67c:2e8::/48",
      "2001:4860:4840::/42",
      "2606:4700::/44",
      "2a0d:3344::/40",
    ]);
    const v4 = known.filter((address) => !address.includes(":")).map((address) => `${address}/24`);
    assertEquals(networks.filter((network) => !network.includes(":")).sort(), v4.sort());
  });
}

Deno.test("Mmdb rejects a file that is not a database, and names it", () => {
  for (const bytes of [new Uint8Array(), new TextEncoder().encode("1.0.0.0,1.0.0.255,AU\n")]) {
    assert(!isMmdb(bytes));
    assertThrows(() => new Mmdb(bytes, "places.mmdb"), FormatError, "places.mmdb");
  }
  assert(isMmdb(read("city-28.mmdb")));
});

Deno.test("Mmdb throws only a FormatError for damaged files", () => {
  const whole = read("city-28.mmdb");
  fc.assert(fc.property(
    fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }),
    fc.nat(whole.length),
    (changes, cut) => {
      const bytes = whole.slice(cut % 5 === 0 ? Math.min(cut, 200) : 0);
      for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
      try {
        const database = new Mmdb(bytes, "damaged");
        for (const version of [4, 6] as const) {
          database.walk(version, (_upper, _lower, _bits, record) => database.record(record));
        }
      } catch (error) {
        assert(error instanceof FormatError, String(error));
      }
    },
  ));
});

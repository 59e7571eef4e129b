import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  hashKey,
  KeyKind,
  KeyTable,
  SourceKeys,
  wordsToAddress,
} from "../../../../lib/data/probe_rows/external_sort/keys.ts";
import { TimeSorter } from "../../../../lib/data/probe_rows/external_sort/time_sorter.ts";
import { philox4x32 } from "../../../../lib/base/random.ts";
import { parseAddress } from "../../../../lib/data/addresses/ip.ts";

Deno.test("TimeSorter.sort() sorts the rows of a slice by time, and is stable", () => {
  const sorter = new TimeSorter();
  const anyOf = (time: fc.Arbitrary<number>) => fc.array(time, { maxLength: 400, size: "max" });
  const times = fc.oneof(
    anyOf(fc.nat(20)),
    anyOf(fc.double({ noNaN: true, min: -1e16, max: 1e16 })),
    anyOf(fc.nat(1000)).map((values) => values.sort((a, b) => a - b)),
    anyOf(fc.nat(1000)).map((values) => values.sort((a, b) => b - a)),
  );
  fc.assert(
    fc.property(times, fc.nat(20), (values, left) => {
      const timesUs = Float64Array.from(values);
      const rows = Uint32Array.from(values, (_, row) => row);
      const [first, end] = [Math.min(left, rows.length), Math.max(left, rows.length - left)];
      // Array.prototype.sort is stable (ECMA-262, 23.1.3.30).
      const sorted = Array.from(rows.subarray(first, end)).sort((a, b) => timesUs[a] - timesUs[b]);
      const wanted = [...rows.subarray(0, first), ...sorted, ...rows.subarray(Math.max(first, end))];
      sorter.sort(rows.subarray(first, end), timesUs);
      assertEquals(Array.from(rows), wanted);
    }),
    { numRuns: 300 },
  );
});

Deno.test("KeyTable.idOf() agrees with a Map", () => {
  const keys = fc.array(fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3), fc.nat(3), fc.nat(1)), {
    maxLength: 500,
    size: "max",
  });
  fc.assert(
    fc.property(keys, (values) => {
      const table = new KeyTable();
      const known = new Map<string, number>();
      for (const [w0, w1, w2, w3, kind] of values) {
        const name = `${w0} ${w1} ${w2} ${w3} ${kind}`;
        if (!known.has(name)) known.set(name, known.size);
        assertEquals(table.idOf(Uint32Array.of(9, w0, w1, w2, w3), 1, kind), known.get(name));
      }
    }),
    { numRuns: 100 },
  );
});

Deno.test("wordsToAddress() returns the address of a key", () => {
  const keys = new SourceKeys(0);
  const addresses = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.constantFrom("::ffff:1.2.3.4", "::", "255.255.255.255"),
  );
  fc.assert(fc.property(addresses, (text) => {
    const id = keys.idOfAddress(text);
    assertEquals(parseAddress(wordsToAddress(keys.words, 4 * id, keys.kinds[id])), parseAddress(text));
  }));
  const first = 4 * keys.idOfAddress("192.0.2.1");
  assertEquals(Array.from(keys.words.subarray(first, first + 4)), [0, 0, 0, 0xc0000201]);
});

Deno.test("hashKey() is Philox keyed by seed and kind, so published splits stay the same", () => {
  assertEquals(hashKey([0, 0, 0, 0xc0000201], KeyKind.IPV4, 7), philox4x32([0, 0, 0, 0xc0000201], [7, 4]));
  // Random123's known answer for zero counter and key (kat_vectors, philox4x32 10).
  assertEquals(Array.from(hashKey([0, 0, 0, 0], KeyKind.PROBE, 0)), [
    0x6627e8d5,
    0xe169c58d,
    0xbc57ac4c,
    0x9b00dbd8,
  ]);
});

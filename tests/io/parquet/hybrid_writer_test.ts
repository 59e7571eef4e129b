import fc from "fast-check";
import { assert, assertEquals } from "@std/assert";
import { decodeHybrid } from "../../../lib/io/parquet/encodings.ts";
import { encodeHybrid, maxHybridBytes, writeVarint } from "../../../lib/io/parquet/writer.ts";

function roundTrip(values: Int32Array, bitWidth: number): Int32Array {
  const room = maxHybridBytes(values.length, bitWidth);
  const out = new Uint8Array(room + 8).fill(0xa5);
  const end = encodeHybrid(values, values.length, { bitWidth, out, at: 3 });
  assert(end <= 3 + room, `${end - 3} bytes, at most ${room} were promised`);
  assertEquals([...out.subarray(0, 3)], [0xa5, 0xa5, 0xa5]);
  const decoded = new Int32Array(values.length);
  decodeHybrid(out.subarray(3, end), bitWidth, decoded);
  return decoded;
}

Deno.test("encodeHybrid() gives what decodeHybrid() reads back, for runs and for noise", () => {
  const runs = fc.integer({ min: 1, max: 24 }).chain((bitWidth) =>
    fc.record({
      bitWidth: fc.constant(bitWidth),
      runs: fc.array(
        fc.tuple(fc.nat(2 ** bitWidth - 1), fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 40 }))),
        { maxLength: 60 },
      ),
    })
  );
  fc.assert(
    fc.property(runs, ({ bitWidth, runs }) => {
      const values = Int32Array.from(runs.flatMap(([value, length]) => Array<number>(length).fill(value)));
      assertEquals(roundTrip(values, bitWidth), values);
    }),
    { numRuns: 300 },
  );
});

Deno.test("encodeHybrid() writes the bytes of the format's own example", () => {
  // Encodings.md: the numbers 0 to 7 with bit width 3 are packed as 88 c6 fa; the head says one group.
  const out = new Uint8Array(16);
  const end = encodeHybrid(Int32Array.of(0, 1, 2, 3, 4, 5, 6, 7), 8, { bitWidth: 3, out, at: 0 });
  assertEquals([...out.subarray(0, end)], [0b11, 0x88, 0xc6, 0xfa]);
});

Deno.test("encodeHybrid() stores a run of one value once", () => {
  const out = new Uint8Array(maxHybridBytes(1000, 10));
  const end = encodeHybrid(new Int32Array(1000).fill(0x123), 1000, { bitWidth: 10, out, at: 0 });
  assertEquals([...out.subarray(0, end)], [0xd0, 0x0f, 0x23, 0x01]); // 1000 << 1, then two bytes of value
});

Deno.test("writeVarint() writes LEB128", () => {
  for (
    const [value, bytes] of [[0, [0]], [127, [127]], [128, [128, 1]], [2 ** 31 - 1, [255, 255, 255, 255, 7]]]
  ) {
    const out = new Uint8Array(8);
    assertEquals([...out.subarray(0, writeVarint(out, 0, value as number))], bytes);
  }
});

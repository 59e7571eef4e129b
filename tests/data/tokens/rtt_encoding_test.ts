import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  clippedRtt,
  FIXED_RTT,
  FLOAT64_RTT,
  LOG_FAILED,
  LOG_HIGH_MS,
  LOG_LOW_MS,
  LOG_MAX_RELATIVE_ERROR,
  LOG_RTT,
  type RttEncoding,
} from "../../../lib/data/tokens/vocab_v1.ts";

const ENCODINGS: RttEncoding[] = [FLOAT64_RTT, FIXED_RTT, LOG_RTT, clippedRtt(343_000)];
/** RTTs of every size that occurs, and zero. */
const rttMs = fc.oneof(fc.double({ min: 0, max: 400_000, noNaN: true }), fc.constant(0));

function encoded(encoding: RttEncoding, value: number | null): DataView {
  const out = new DataView(new Uint8Array(8).fill(0xaa).buffer);
  encoding.encode(value, out);
  return out;
}

const hex = (bytes: DataView) => bytes.getBigUint64(0).toString(16).padStart(16, "0");

function decoded(encoding: RttEncoding, value: number | null): number {
  const result = encoding.decode(encoded(encoding, value));
  assert(typeof result === "number", `${encoding.name} read ${value} as ${result}`);
  return result;
}

Deno.test("RttEncoding.encode() writes the documented bytes", () => {
  assertEquals(ENCODINGS.map((encoding) => hex(encoded(encoding, 50.0004))), [
    "4049000d1b71758e",
    "000000000000c350",
    "00000000000085a8",
    "000000000000c350",
  ]);
  assertEquals(ENCODINGS.map((encoding) => hex(encoded(encoding, null))), [
    "bff0000000000000",
    "ffffffffffffffff",
    "000000000000ffff",
    "ffffffffffffffff",
  ]);
  assertEquals(hex(encoded(FIXED_RTT, 2 ** 33 / 1000)), "0000000200000000");
  assertEquals(hex(encoded(clippedRtt(343_000), 302_281.66)), (343_000).toString(16).padStart(16, "0"));
});

Deno.test("RttEncoding.decode() tells every RTT from no reply", () => {
  for (const encoding of ENCODINGS) {
    assertEquals(encoding.decode(encoded(encoding, null)), null);
    fc.assert(fc.property(rttMs, (value) => encoding.decode(encoded(encoding, value)) !== null));
  }
});

Deno.test("RttEncoding.decode() is off by no more than stated", () => {
  fc.assert(fc.property(rttMs, (value) => decoded(FLOAT64_RTT, value) === value));
  // Half a microsecond, and the rounding of a number of this size.
  const tolerance = (value: number) => 0.0005 + value * 2 ** -51;
  fc.assert(
    fc.property(rttMs, (value) => Math.abs(decoded(FIXED_RTT, value) - value) <= tolerance(value)),
  );
  fc.assert(fc.property(rttMs, (value) => {
    const clipped = Math.min(value, 343);
    return Math.abs(decoded(clippedRtt(343_000), value) - clipped) <= tolerance(clipped);
  }));
  const logMs = fc.double({ min: Math.log(LOG_LOW_MS), max: Math.log(LOG_HIGH_MS), noNaN: true });
  fc.assert(fc.property(logMs.map(Math.exp), (value) => {
    // 1e-9 for rounding at the edges of buckets.
    return Math.abs(decoded(LOG_RTT, value) / value - 1) <= LOG_MAX_RELATIVE_ERROR + 1e-9;
  }));
  assert(LOG_MAX_RELATIVE_ERROR > 1.5e-4 && LOG_MAX_RELATIVE_ERROR < 1.6e-4);
});

Deno.test("RttEncoding.encode() gives the same bytes for what it decoded", () => {
  for (const encoding of ENCODINGS) {
    fc.assert(fc.property(rttMs, (value) => {
      const bytes = encoded(encoding, value);
      assertEquals(hex(encoded(encoding, decoded(encoding, value))), hex(bytes));
    }));
  }
  for (let code = 0; code < LOG_FAILED; code++) {
    const bytes = new DataView(new ArrayBuffer(8));
    bytes.setUint32(4, code);
    assertEquals(encoded(LOG_RTT, LOG_RTT.decode(bytes) ?? null).getUint32(4), code);
  }
});

Deno.test("RttEncoding.encode() keeps the order of RTTs", () => {
  for (const encoding of ENCODINGS) {
    fc.assert(fc.property(rttMs, rttMs, (a, b) => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      assert(hex(encoded(encoding, low)) <= hex(encoded(encoding, high)));
    }));
  }
});

Deno.test("RttEncoding.decode() refuses what no encoder writes", () => {
  const bytes = (value: bigint) => {
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, value);
    return view;
  };
  const number = (value: number) => {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, value);
    return view;
  };
  for (const value of [NaN, Infinity, -0, -2]) assertEquals(FLOAT64_RTT.decode(number(value)), undefined);
  assertEquals(FIXED_RTT.decode(bytes(2n ** 53n)), undefined);
  assertEquals(FIXED_RTT.decode(bytes(2n ** 64n - 2n)), undefined);
  assertEquals(LOG_RTT.decode(bytes(65_536n)), undefined);
  assertEquals(LOG_RTT.decode(bytes(2n ** 32n)), undefined);
  assertEquals(clippedRtt(7).decode(bytes(8n)), undefined);
  assertEquals(clippedRtt(7).decode(bytes(7n)), 0.007);
});

Deno.test("RttEncoding.encode() refuses what is no RTT, and wraps nothing", () => {
  for (const encoding of ENCODINGS) {
    for (const value of [-1, -0.001, NaN, Infinity]) {
      assertThrows(() => encoded(encoding, value), RangeError, "Cannot encode an RTT");
    }
    assertEquals(typeof decoded(encoding, encoding.maxRttMs), "number");
  }
  assertThrows(() => encoded(FIXED_RTT, 1e300), RangeError);
  assertEquals(decoded(clippedRtt(343_000), 1e300), 343);
  assertEquals(encoded(LOG_RTT, 1e300).getUint32(4), LOG_FAILED - 1);
  for (const clipUs of [0, -1, 0.5, NaN, 2 ** 53]) assertThrows(() => clippedRtt(clipUs), RangeError);
});

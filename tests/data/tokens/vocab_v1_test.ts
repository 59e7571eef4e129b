import fc from "fast-check";
import { assert, assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import {
  type Block,
  blockOrder,
  BLOCKS,
  BYTE_BASE,
  clippedRtt,
  decodeWholeMeasurements,
  DEST_IP_START,
  ERROR_COUNT_START,
  FIXED_RTT,
  FLOAT64_RTT,
  IPV4_START,
  IPV6_START,
  LOG_FAILED,
  LOG_HIGH_MS,
  LOG_LOW_MS,
  LOG_MAX_RELATIVE_ERROR,
  LOG_RTT,
  MEASUREMENT_START,
  measurementLength,
  MSM_ID_START,
  ROLE_NAMES,
  RTT_START,
  type RttEncoding,
  SIZE_START,
  SRC_IP_START,
  TIMESTAMP_START,
  TokenError,
  tokenName,
  VOCAB_SIZE,
  type WholeMeasurement,
  WholeMeasurementWriter,
} from "../../../lib/data/tokens/vocab_v1.ts";

const ENCODINGS: RttEncoding[] = [FLOAT64_RTT, FIXED_RTT, LOG_RTT, clippedRtt(343_000)];

function measurement(change: Partial<WholeMeasurement> = {}): WholeMeasurement {
  return {
    source: addressBytes("192.0.2.1"),
    destination: addressBytes("198.51.100.7"),
    rttMs: 50,
    sizeBytes: 64,
    packetErrorCount: 2,
    timeS: 1_750_000_000,
    msmId: 1001,
    ...change,
  };
}

function encode(measurements: WholeMeasurement[], encoding = FLOAT64_RTT, order = BLOCKS): Uint16Array {
  const writer = new WholeMeasurementWriter(new Uint16Array(measurements.length * 69), encoding);
  for (const m of measurements) writer.write(m, order);
  return writer.out.subarray(0, writer.at);
}

const bytes = (...values: number[]) => values.map((value) => BYTE_BASE + value);

const anyAddress = fc.oneof(
  fc.uint8Array({ minLength: 4, maxLength: 4 }),
  fc.uint8Array({ minLength: 16, maxLength: 16 }),
);
const anyMeasurement = fc.record({
  source: anyAddress,
  destination: anyAddress,
  rttMs: fc.oneof(fc.double({ min: 0, max: 400_000, noNaN: true }), fc.constant(null)),
  sizeBytes: fc.nat(65_535),
  packetErrorCount: fc.nat(255),
  timeS: fc.maxSafeInteger(),
  msmId: fc.maxSafeInteger(),
});
const anyOrder = fc.shuffledSubarray([...BLOCKS], { minLength: BLOCKS.length });

Deno.test("WholeMeasurementWriter writes the tokens of the documented layout", () => {
  assertEquals([...encode([measurement()])], [
    MEASUREMENT_START,
    SRC_IP_START,
    IPV4_START,
    ...bytes(192, 0, 2, 1),
    DEST_IP_START,
    IPV4_START,
    ...bytes(198, 51, 100, 7),
    RTT_START,
    ...bytes(0x40, 0x49, 0, 0, 0, 0, 0, 0),
    SIZE_START,
    ...bytes(0, 64),
    ERROR_COUNT_START,
    ...bytes(2),
    TIMESTAMP_START,
    ...bytes(0, 0, 0, 0, 0x68, 0x4e, 0xe1, 0x80),
    MSM_ID_START,
    ...bytes(0, 0, 0, 0, 0, 0, 3, 233),
  ]);
  const last = encode([measurement({ msmId: -2 })]).subarray(-8);
  assertEquals([...last], bytes(255, 255, 255, 255, 255, 255, 255, 254));
});

Deno.test("the vocabulary v1 has 266 tokens with names", () => {
  assertEquals([VOCAB_SIZE, ROLE_NAMES.length], [BYTE_BASE + 256, BYTE_BASE]);
  assertEquals([0, 9, 10, 265, 266].map(tokenName), [
    "MeasurementStart",
    "MsmIdStart",
    "byte 0",
    "byte 255",
    "unknown token 266",
  ]);
});

Deno.test("a measurement has 45 tokens with IPv4 and 69 with IPv6, in every encoding", () => {
  const ipv6 = measurement({ source: addressBytes("2001:db8::1"), destination: addressBytes("::1") });
  for (const encoding of ENCODINGS) {
    assertEquals(encode([measurement()], encoding).length, 45);
    assertEquals(encode([measurement({ rttMs: null })], encoding).length, 45);
    assertEquals(encode([ipv6], encoding).length, 69);
  }
  assertEquals([measurementLength(measurement()), measurementLength(ipv6)], [45, 69]);
});

Deno.test("decodeWholeMeasurements() gives back what was written, in every encoding", () => {
  for (const encoding of ENCODINGS) {
    fc.assert(fc.property(fc.array(anyMeasurement, { maxLength: 4 }), anyOrder, (measurements, order) => {
      const tokens = encode(measurements, encoding, order);
      const decoded = decodeWholeMeasurements(tokens, encoding);
      assertEquals(encode(decoded, encoding, order), tokens);
      let position = 0;
      for (const [i, m] of measurements.entries()) {
        const { rttMs, order: foundOrder, position: foundPosition, ...rest } = decoded[i];
        const { rttMs: wanted, ...others } = m;
        assertEquals(rest, others);
        assertEquals([foundOrder, foundPosition, rttMs === null], [order, position, wanted === null]);
        if (encoding === FLOAT64_RTT) assertEquals(rttMs, wanted);
        position += measurementLength(m);
      }
      assertEquals(decoded.length, measurements.length);
    }));
  }
});

Deno.test("decodeWholeMeasurements() refuses every cut and, where it cannot be a value, every other token", () => {
  const tokens = encode([measurement()]);
  for (let length = 1; length < tokens.length; length++) {
    const error = assertThrows(() => decodeWholeMeasurements(tokens.subarray(0, length), FLOAT64_RTT));
    assertInstanceOf(error, TokenError);
    assertEquals(error.position, length);
  }
  fc.assert(fc.property(fc.nat(tokens.length - 1), fc.nat(300), (at, token) => {
    const changed = tokens.slice();
    changed[at] = token;
    let decoded;
    try {
      decoded = decodeWholeMeasurements(changed, FLOAT64_RTT);
    } catch (error) {
      assertInstanceOf(error, TokenError);
      return;
    }
    // Accepted tokens are those that a writer makes.
    assertEquals(encode(decoded, FLOAT64_RTT, decoded[0].order as Block[]), changed);
  }));
});

Deno.test("decodeWholeMeasurements() names the position and what it expected", () => {
  const fails = (at: number, token: number, position: number, message: string, encoding = FLOAT64_RTT) => {
    const tokens = encode([measurement()], encoding);
    tokens[at] = token;
    const error = assertThrows(() => decodeWholeMeasurements(tokens, encoding), TokenError, message);
    assertEquals(error.position, position);
  };
  fails(0, 1, 0, "position 0: found SrcIpStart, expected MeasurementStart");
  fails(1, DEST_IP_START, 7, "found DestIpStart, expected no second destination");
  fails(1, IPV6_START, 1, "found Ipv6Start, expected a block (source, destination, rtt, size");
  fails(2, 40, 2, "found byte 30, expected Ipv4Start or Ipv6Start");
  fails(3, MSM_ID_START, 3, "found MsmIdStart, expected a byte");
  fails(3, 266, 3, "found unknown token 266, expected a byte");
  fails(
    14,
    BYTE_BASE + 255,
    14,
    "found the bytes 255 73 0 0 0 0 0 0, expected an RTT of the encoding float64",
  );
  fails(14, BYTE_BASE + 1, 14, "expected an RTT of the encoding log", LOG_RTT);
  fails(28, BYTE_BASE + 1, 28, "found a time of 72057595787927940, expected one of at most 53 bits");
});

Deno.test("WholeMeasurementWriter refuses values without tokens and leaves no trace of them", () => {
  const writer = new WholeMeasurementWriter(new Uint16Array(60), FLOAT64_RTT);
  const wrong: [Partial<WholeMeasurement>, string][] = [
    [{ sizeBytes: 65_536 }, "the packet size 65536"],
    [{ sizeBytes: -1 }, "the packet size -1"],
    [{ sizeBytes: 1.5 }, "the packet size 1.5"],
    [{ packetErrorCount: 256 }, "the error count 256"],
    [{ packetErrorCount: NaN }, "the error count NaN"],
    [{ msmId: 2 ** 53 }, "the measurement id"],
    [{ timeS: 0.5 }, "the time 0.5"],
    [{ rttMs: -1 }, "an RTT of -1"],
    [{ source: new Uint8Array(5) }, "found 5 bytes"],
  ];
  for (const [change, message] of wrong) {
    assertThrows(() => writer.write(measurement(change), BLOCKS), RangeError, message);
    assertEquals(writer.at, 0);
  }
  assertEquals(writer.write(measurement({ sizeBytes: 65_535, packetErrorCount: 255 }), BLOCKS), 45);
  assertThrows(() => writer.write(measurement(), BLOCKS), RangeError, "found space for 15");
  assertThrows(() => new WholeMeasurementWriter(new Uint16Array(60), FLOAT64_RTT).write(measurement(), []));
});

Deno.test("blockOrder() depends on the id and the time alone, and makes every order as likely", () => {
  const at = Date.UTC(2025, 5, 24) * 1000;
  assertEquals(blockOrder(1001, at), blockOrder(1001, at));
  assert(new Set([0, 1, 2, 3, 2 ** 32].map((gap) => String(blockOrder(1001, at + gap)))).size > 1);
  // Each part of the seed counts: high and low half, and the sign.
  const ids = [1, -1, 2, 2 ** 40 + 1];
  const orders = ids.map((id) => [0, 1, 2, 3].map((gap) => blockOrder(id, at + gap)));
  assertEquals(new Set(orders.map(String)).size, ids.length);
  // Kept for good: files made earlier have these.
  assertEquals(blockOrder(1001, at).join(), "msmId,source,size,time,rtt,errorCount,destination");
  assertEquals(new Set(blockOrder(-5, -1)).size, 7);
  // Where each block comes: 7 x 7 counts of 1000 each; 36 degrees of freedom, 99.9 % below 67.99 (chi squared).
  const counts = new Float64Array(49);
  for (let i = 0; i < 7000; i++) {
    blockOrder(i % 83, at + i * 1e6).forEach((block, place) => counts[7 * BLOCKS.indexOf(block) + place]++);
  }
  const chiSquared = counts.reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0);
  assert(chiSquared < 67.99, `chi squared is ${chiSquared}`);
});

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

/** Both vocabularies: a table of common properties, then what is specific to one of them. @module */
import fc from "fast-check";
import { assert, assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { CANONICAL_RTT_CODES, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { TokenError } from "../../../lib/data/tokens/token_cursor.ts";
import * as v1 from "../../../lib/data/tokens/vocab_v1.ts";
import * as v2 from "../../../lib/data/tokens/vocab_v2.ts";

const NOW_S = 1_750_000_000;
const [SRC, DST] = [addressBytes("192.0.2.1"), addressBytes("198.51.100.7")];
const IPV6 = { source: addressBytes("2001:db8::1"), destination: addressBytes("::1") };
const ENCODINGS = [v1.FLOAT64_RTT, v1.FIXED_RTT, v1.LOG_RTT, v1.clippedRtt(343_000)];
const FIELDS: v2.Field[] = ["source", "destination", "result", "time"];

type Whole = v1.WholeMeasurement & { order?: readonly v1.Block[] };
type Timed = v2.TokenMeasurement & { order?: readonly v2.Field[] };

const whole = (change: Partial<Whole> = {}): Whole => ({
  ...{ source: SRC, destination: DST, rttMs: 50, sizeBytes: 64, packetErrorCount: 2, timeS: NOW_S },
  msmId: 1001,
  ...change,
});
const timed = (change: Partial<Timed> = {}): Timed => ({
  ...{ source: SRC, destination: DST, rttCode: encodeRttCode(50), timeS: null },
  ...change,
});

function encodeV1(measurements: readonly Whole[], encoding = v1.FLOAT64_RTT): Uint16Array {
  const writer = new v1.WholeMeasurementWriter(new Uint16Array(measurements.length * 69), encoding);
  for (const { order = v1.BLOCKS, ...m } of measurements) writer.write(m, order);
  return writer.out.subarray(0, writer.at);
}

function encodeV2(measurements: readonly Timed[]): Uint16Array {
  const out = new Uint16Array(measurements.length * 47);
  const writer = new v2.TokenWriter(out);
  for (const { order = FIELDS, ...m } of measurements) writer.write(m, order);
  return out.subarray(0, writer.at);
}

const decodeV1 = (tokens: Uint16Array) => v1.decodeWholeMeasurements(tokens, v1.FLOAT64_RTT);

const anyAddress = fc.oneof(
  fc.uint8Array({ minLength: 4, maxLength: 4 }),
  fc.uint8Array({ minLength: 16, maxLength: 16 }),
);
const anyWhole = fc.record({
  source: anyAddress,
  destination: anyAddress,
  rttMs: fc.oneof(fc.double({ min: 0, max: 400_000, noNaN: true }), fc.constant(null)),
  sizeBytes: fc.nat(65_535),
  packetErrorCount: fc.nat(255),
  timeS: fc.maxSafeInteger(),
  msmId: fc.maxSafeInteger(),
  order: fc.shuffledSubarray([...v1.BLOCKS], { minLength: v1.BLOCKS.length }),
});
const anyTimed = fc.record({
  source: anyAddress,
  destination: anyAddress,
  rttCode: fc.option(fc.nat(CANONICAL_RTT_CODES.length - 1).map((i) => CANONICAL_RTT_CODES[i])),
  // Times that increase in steps of every length, with a few that decrease.
  timeS: fc.option(fc.integer({ min: -10, max: 2 ** 20 })),
  order: fc.constantFrom(...v2.FIELD_ORDERS),
});
const anyContext = fc.array(anyTimed, { maxLength: 12 }).map((context) => {
  let timeS = NOW_S;
  return context.map((m) => ({
    ...m,
    timeS: m.timeS === null ? null : timeS += m.timeS % 2 ? m.timeS : m.timeS % 512,
  }));
});

/** What a reader sees: a decreasing time becomes the previous one, and missing blocks are absent. */
function asRead(context: readonly Timed[]) {
  let previousTimeS: number | null = null;
  let position = 0;
  return context.map(({ order = FIELDS, ...m }) => {
    const read = { ...m, order: order.filter((field) => field !== "time" || m.timeS !== null), position };
    position += v2.measurementLength(m, previousTimeS);
    if (m.timeS !== null) read.timeS = previousTimeS = Math.max(m.timeS, previousTimeS ?? 0);
    return read;
  });
}

Deno.test("decodeWholeMeasurements() and decodeTokens() return what was written", () => {
  fc.assert(fc.property(fc.array(anyWhole, { maxLength: 4 }), (measurements) => {
    let position = 0;
    const wanted = measurements.map((m) => {
      const start = position;
      position += 37 + m.source.length + m.destination.length;
      return { ...m, position: start };
    });
    assertEquals(decodeV1(encodeV1(measurements)), wanted);
    for (const encoding of ENCODINGS) {
      const tokens = encodeV1(measurements, encoding);
      assertEquals(encodeV1(v1.decodeWholeMeasurements(tokens, encoding), encoding), tokens);
    }
  }));
  fc.assert(
    fc.property(anyContext, (context) => assertEquals(v2.decodeTokens(encodeV2(context)), asRead(context))),
    { numRuns: 500 },
  );
});

const VOCABULARIES = {
  v1: {
    ...{ names: v1, size: 266, last: "MsmIdStart", tokens: encodeV1([whole(), whole({ rttMs: null })]) },
    rewritten: (tokens: Uint16Array) => encodeV1(decodeV1(tokens)),
    starts: [0, 45],
  },
  v2: {
    ...{ names: v2, size: 267, last: "Failed" },
    tokens: encodeV2([
      timed({ timeS: NOW_S, order: ["time", "source", "destination", "result"] }),
      timed({ timeS: NOW_S + 3, rttCode: null, order: ["time", "source", "destination", "result"] }),
      timed({ ...IPV6, timeS: NOW_S + 10_000, order: ["result", "time", "source", "destination"] }),
    ]),
    rewritten: (tokens: Uint16Array) => encodeV2(v2.decodeTokens(tokens)),
    starts: [0, 23, 37],
  },
};

for (const [name, { names, size, last, tokens, rewritten, starts }] of Object.entries(VOCABULARIES)) {
  Deno.test(`vocabulary ${name} has ${size} named tokens`, () => {
    assertEquals([names.VOCAB_SIZE, names.BYTE_BASE, names.ROLE_NAMES.length], [
      size,
      size - 256,
      size - 256,
    ]);
    const some = [0, size - 257, size - 256, size - 1, size].map(names.tokenName);
    assertEquals(some, ["MeasurementStart", last, "byte 0", "byte 255", `unknown token ${size}`]);
  });

  /** Whatever decodes must encode to the same tokens, and errors must give a position in the stream. */
  const decodes = (tokens: Uint16Array): boolean => {
    try {
      assertEquals(rewritten(tokens), tokens);
      return true;
    } catch (error) {
      assertInstanceOf(error, TokenError);
      assert(error.position >= 0 && error.position <= tokens.length, error.message);
      assert(error.message.includes(`position ${error.position}: `), error.message);
      return false;
    }
  };

  Deno.test(`tokens of vocabulary ${name} round-trip or throw an error with the position`, () => {
    const counts = { true: 0, false: 0 };
    for (let at = 0; at < tokens.length; at++) {
      for (const token of [...Array(14).keys(), size - 1, size, 65_535]) {
        const changed = tokens.slice();
        changed[at] = token;
        counts[`${decodes(changed)}`]++;
      }
      assertEquals(decodes(tokens.slice(0, at)), starts.includes(at), `first ${at} tokens`);
    }
    assert(counts.true > 100 && counts.false > 100, JSON.stringify(counts));
    const token = fc.oneof(fc.nat(10), fc.nat(size - 1), fc.nat(0xffff));
    const anyTokens = fc.array(token, { maxLength: 60 });
    fc.assert(fc.property(anyTokens, (any) => void decodes(Uint16Array.from(any))), { numRuns: 1000 });
  });
}

const bytesFrom = (base: number) => (...values: number[]) => values.map((value) => base + value);

Deno.test("WholeMeasurementWriter writes the tokens of the documented layout, 45 with IPv4 and 69 with IPv6", () => {
  const bytes = bytesFrom(v1.BYTE_BASE);
  assertEquals([...encodeV1([whole()])], [
    v1.MEASUREMENT_START,
    ...[v1.SRC_IP_START, v1.IPV4_START, ...bytes(192, 0, 2, 1)],
    ...[v1.DEST_IP_START, v1.IPV4_START, ...bytes(198, 51, 100, 7)],
    ...[v1.RTT_START, ...bytes(0x40, 0x49, 0, 0, 0, 0, 0, 0)],
    ...[v1.SIZE_START, ...bytes(0, 64)],
    ...[v1.ERROR_COUNT_START, ...bytes(2)],
    ...[v1.TIMESTAMP_START, ...bytes(0, 0, 0, 0, 0x68, 0x4e, 0xe1, 0x80)],
    ...[v1.MSM_ID_START, ...bytes(0, 0, 0, 0, 0, 0, 3, 233)],
  ]);
  const negative = encodeV1([whole({ msmId: -2 })]);
  assertEquals([...negative.subarray(-8)], bytes(255, 255, 255, 255, 255, 255, 255, 254));
  assertEquals(decodeV1(negative)[0].msmId, -2);
  for (const encoding of ENCODINGS) {
    const lengths = [whole(), whole({ rttMs: null }), whole(IPV6)].map((m) => encodeV1([m], encoding).length);
    assertEquals(lengths, [45, 45, 69]);
  }
});

Deno.test("TokenWriter writes the tokens of the documented layout, in the documented lengths", () => {
  const bytes = bytesFrom(v2.BYTE_BASE);
  const code = [5 << 3 | 1562 >> 8, 1562 & 255];
  assertEquals([...encodeV2([timed({ timeS: 258 })])], [
    v2.MEASUREMENT_START,
    ...[v2.SRC_IPV4, ...bytes(192, 0, 2, 1)],
    ...[v2.DST_IPV4, ...bytes(198, 51, 100, 7)],
    ...[v2.RTT_START, ...bytes(...code)],
    ...[v2.TIMESTAMP_ABS, ...bytes(0, 0, 0, 0, 0, 0, 1, 2)],
  ]);
  assertEquals([...encodeV2([timed({ rttCode: null, order: ["result", "destination", "source"] })])], [
    v2.MEASUREMENT_START,
    v2.FAILED,
    ...[v2.DST_IPV4, ...bytes(198, 51, 100, 7)],
    ...[v2.SRC_IPV4, ...bytes(192, 0, 2, 1)],
  ]);
  const lengths: [Partial<Timed>, number | null, number][] = [
    [{}, null, 14],
    [{ rttCode: null }, null, 12],
    [{ timeS: NOW_S + 255 }, NOW_S, 16],
    [{ timeS: NOW_S + 256 }, NOW_S, 19],
    [{ timeS: NOW_S }, null, 23],
    [IPV6, null, 38],
  ];
  for (const [change, previousTimeS, length] of lengths) {
    assertEquals(v2.measurementLength(timed(change), previousTimeS), length);
  }
  assertEquals(new Set(v2.FIELD_ORDERS.map(String)).size, 24);
});

Deno.test("decodeWholeMeasurements() reports the position and what it expected", () => {
  const cases: [at: number, token: number, position: number, message: string, encoding?: v1.RttEncoding][] = [
    [0, 1, 0, "position 0: found SrcIpStart, expected MeasurementStart"],
    [1, v1.DEST_IP_START, 7, "found DestIpStart, expected no second destination"],
    [1, v1.IPV6_START, 1, "found Ipv6Start, expected a block (source, destination, rtt, size"],
    [2, 40, 2, "found byte 30, expected Ipv4Start or Ipv6Start"],
    [3, v1.MSM_ID_START, 3, "found MsmIdStart, expected a byte"],
    [3, 266, 3, "found unknown token 266, expected a byte"],
    [
      14,
      v1.BYTE_BASE + 255,
      14,
      "found the bytes 255 73 0 0 0 0 0 0, expected an RTT of the encoding float64",
    ],
    [14, v1.BYTE_BASE + 1, 14, "expected an RTT of the encoding log", v1.LOG_RTT],
    [28, v1.BYTE_BASE + 1, 28, "found a time of 72057595787927940, expected one of at most 53 bits"],
  ];
  for (const [at, token, position, message, encoding = v1.FLOAT64_RTT] of cases) {
    const tokens = encodeV1([whole()], encoding);
    tokens[at] = token;
    const error = assertThrows(() => v1.decodeWholeMeasurements(tokens, encoding), TokenError, message);
    assertEquals(error.position, position);
  }
});

Deno.test("decodeTokens() names the first offending token", () => {
  const good = [...encodeV2([timed()])];
  const withTime = [...encodeV2([timed({ timeS: NOW_S })])];
  const cases: [tokens: number[], position: number, message: string][] = [
    [good.slice(1), 0, "SrcIpv4, expected MeasurementStart"],
    [[0, 20], 1, "byte 9, expected a block"],
    [[0, v2.THROUGHPUT_START], 1, "ThroughputStart, expected a block"],
    [[0, 999], 1, "unknown token 999, expected a block"],
    [[...good, v2.SRC_IPV4], 14, "SrcIpv4, expected no second source"],
    [[0], 1, "the end of the tokens, expected a source"],
    [[0, ...good.slice(6)], 9, "expected a source"],
    [[...good.slice(0, 6), 0], 6, "MeasurementStart, expected a destination"],
    [good.slice(0, 11), 11, "expected a result"],
    [good.slice(0, 4), 4, "the end of the tokens, expected a byte"],
    [[...good.slice(0, 12), 11, 11], 12, "RTT code 0, expected a canonical code"],
    [[...good.slice(0, 12), 11 + 8, 11], 12, "RTT code 2048, expected a canonical code"],
    [[...good, v2.TIMESTAMP_DELTA1, 11], 14, "expected an absolute first time"],
    [[...withTime, ...withTime], withTime.length + 14, "expected a gap after the first time"],
    [[...withTime, ...good, v2.TIMESTAMP_DELTA4, 11, 11, 11, 266], 37, "255 s in 4 bytes"],
    [[...good, v2.TIMESTAMP_ABS, ...Array(8).fill(266)], 14, "at most 2^53-1 s"],
  ];
  for (const [tokens, position, message] of cases) {
    const error = assertThrows(() => v2.decodeTokens(Uint16Array.from(tokens)), TokenError, message);
    assertEquals(error.position, position, message);
  }
});

Deno.test("TokenWriter respects the bounds of gaps and times", () => {
  const written = (gapS: number) => {
    const tokens = encodeV2([timed({ timeS: NOW_S }), timed({ timeS: NOW_S + gapS })]);
    return [tokens[23 + 14], (v2.decodeTokens(tokens)[1].timeS ?? NaN) - NOW_S];
  };
  const { TIMESTAMP_DELTA1, TIMESTAMP_DELTA4 } = v2;
  assertEquals([-5, 0, 255, 256, 2 ** 32 - 1].map(written), [
    [TIMESTAMP_DELTA1, 0],
    [TIMESTAMP_DELTA1, 0],
    [TIMESTAMP_DELTA1, 255],
    [TIMESTAMP_DELTA4, 256],
    [TIMESTAMP_DELTA4, 2 ** 32 - 1],
  ]);
  assertThrows(() => written(2 ** 32), RangeError, "gap");
  const latest = [timed({ timeS: Number.MAX_SAFE_INTEGER })];
  assertEquals(v2.decodeTokens(encodeV2(latest))[0].timeS, Number.MAX_SAFE_INTEGER);
});

Deno.test("writers reject values without tokens and a full array", () => {
  const writer = new v1.WholeMeasurementWriter(new Uint16Array(60), v1.FLOAT64_RTT);
  const wrong: [Partial<Whole>, string][] = [
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
    assertThrows(() => writer.write(whole(change), v1.BLOCKS), RangeError, message);
    assertEquals(writer.at, 0);
  }
  assertEquals(writer.write(whole({ sizeBytes: 65_535, packetErrorCount: 255 }), v1.BLOCKS), 45);
  assertThrows(() => writer.write(whole(), v1.BLOCKS), RangeError, "found space for 15");
  assertThrows(() => encodeV1([whole({ order: [] })]), Error, "order");

  const source = new Uint8Array(5);
  for (
    const change of [
      { source },
      { rttCode: 0 },
      { rttCode: 2048 },
      ...[-1, 1.5, 2 ** 53].map((timeS) => ({ timeS })),
    ]
  ) {
    assertThrows(() => encodeV2([timed(change)]), RangeError);
  }
  assertThrows(() => new v2.TokenWriter(new Uint16Array(13)).write(timed(), FIELDS), RangeError, "space");
  assertThrows(() => encodeV2([timed({ order: ["source", "result"] })]), Error, "order");
});

Deno.test("blockOrder() depends on the id and the time alone, and puts each block in each place equally often", () => {
  const at = Date.UTC(2025, 5, 24) * 1000;
  assertEquals(v1.blockOrder(1001, at), v1.blockOrder(1001, at));
  assert(new Set([0, 1, 2, 3, 2 ** 32].map((gap) => String(v1.blockOrder(1001, at + gap)))).size > 1);
  // Each part of the seed counts: high and low half, and the sign.
  const ids = [1, -1, 2, 2 ** 40 + 1];
  const orders = ids.map((id) => [0, 1, 2, 3].map((gap) => v1.blockOrder(id, at + gap)));
  assertEquals(new Set(orders.map(String)).size, ids.length);
  // Existing files have these orders.
  assertEquals(v1.blockOrder(1001, at).join(), "msmId,source,size,time,rtt,errorCount,destination");
  // Each block's position: 7 x 7 counts of 1000; 36 degrees of freedom, 99.9 % below 67.99 (chi squared).
  const counts = new Float64Array(49);
  for (let i = 0; i < 7000; i++) {
    v1.blockOrder(i % 83, at + i * 1e6).forEach((block, place) => {
      counts[7 * v1.BLOCKS.indexOf(block) + place]++;
    });
  }
  const chiSquared = counts.reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0);
  assert(chiSquared < 67.99, `chi squared is ${chiSquared}`);
});

// RTT encodings of vocabulary v1.

/** RTTs of every realistic size, and zero. */
const anyRttMs = fc.oneof(
  fc.double({ min: 0, max: 400_000, noNaN: true }),
  fc.double({ min: -9, max: 13.8, noNaN: true }).map(Math.exp),
  fc.constant(0),
);
const hex = (bytes: DataView) => bytes.getBigUint64(0).toString(16).padStart(16, "0");

function encoded(encoding: v1.RttEncoding, value: number | null): DataView {
  const out = new DataView(new Uint8Array(8).fill(0xaa).buffer);
  encoding.encode(value, out);
  return out;
}

function decoded(encoding: v1.RttEncoding, value: number | null): number {
  const result = encoding.decode(encoded(encoding, value));
  assert(typeof result === "number", `${encoding.name} read ${value} as ${result}`);
  return result;
}

Deno.test("RttEncoding.encode() writes the documented bytes", () => {
  const documented = [
    ["4049000d1b71758e", "bff0000000000000"],
    ["000000000000c350", "ffffffffffffffff"],
    ["00000000000085a8", "000000000000ffff"],
    ["000000000000c350", "ffffffffffffffff"],
  ];
  assertEquals(
    ENCODINGS.map((each) => [50.0004, null].map((rttMs) => hex(encoded(each, rttMs)))),
    documented,
  );
  for (const encoding of ENCODINGS) assertEquals(encoding.decode(encoded(encoding, null)), null);
  assertEquals(hex(encoded(v1.FIXED_RTT, 2 ** 33 / 1000)), "0000000200000000");
  assertEquals(hex(encoded(v1.clippedRtt(343_000), 302_281.66)), (343_000).toString(16).padStart(16, "0"));
});

Deno.test("RttEncoding.decode() stays within the stated error, encodes to the same bytes and keeps the order", () => {
  // Half a microsecond and this number's rounding error; half a bucket of log from 1 µs to 1000 s.
  const halfUs = (rttMs: number) => 0.0005 + rttMs * 2 ** -51;
  const wanted: [(rttMs: number) => number, (rttMs: number) => number][] = [
    [(rttMs) => rttMs, () => 0],
    [(rttMs) => rttMs, halfUs],
    [(rttMs) => Math.max(rttMs, 0.001), (rttMs) => 0.00016 * Math.max(rttMs, 0.001)],
    [(rttMs) => Math.min(rttMs, 343), halfUs],
  ];
  for (const [i, encoding] of ENCODINGS.entries()) {
    const [valueOf, mostOff] = wanted[i];
    fc.assert(fc.property(anyRttMs, anyRttMs, (a, b) => {
      const found = decoded(encoding, a);
      assert(Math.abs(found - valueOf(a)) <= mostOff(a), `${encoding.name}: ${found} for ${a}`);
      assertEquals(hex(encoded(encoding, found)), hex(encoded(encoding, a)));
      assert(hex(encoded(encoding, Math.min(a, b))) <= hex(encoded(encoding, Math.max(a, b))));
    }));
  }
  for (let code = 0; code < 65_535; code++) {
    const bytes = new DataView(new ArrayBuffer(8));
    bytes.setUint32(4, code);
    assertEquals(encoded(v1.LOG_RTT, v1.LOG_RTT.decode(bytes) ?? null).getUint32(4), code);
  }
});

Deno.test("RttEncoding.decode() rejects values that no encoder writes", () => {
  const view = (set: (view: DataView) => void) => {
    const bytes = new DataView(new ArrayBuffer(8));
    set(bytes);
    return bytes;
  };
  for (const value of [NaN, Infinity, -0, -2]) {
    assertEquals(v1.FLOAT64_RTT.decode(view((bytes) => bytes.setFloat64(0, value))), undefined);
  }
  const cases: [v1.RttEncoding, bigint, number | undefined][] = [
    [v1.FIXED_RTT, 2n ** 53n, undefined],
    [v1.FIXED_RTT, 2n ** 64n - 2n, undefined],
    [v1.LOG_RTT, 65_536n, undefined],
    [v1.LOG_RTT, 2n ** 32n, undefined],
    [v1.clippedRtt(7), 8n, undefined],
    [v1.clippedRtt(7), 7n, 0.007],
  ];
  for (const [encoding, value, rttMs] of cases) {
    assertEquals(encoding.decode(view((bytes) => bytes.setBigUint64(0, value))), rttMs);
  }
});

Deno.test("RttEncoding.encode() rejects invalid RTTs, and never wraps", () => {
  for (const encoding of ENCODINGS) {
    for (const value of [-1, -0.001, NaN, Infinity]) {
      assertThrows(() => encoded(encoding, value), RangeError, "Cannot encode an RTT");
    }
    assertEquals(typeof decoded(encoding, encoding.maxRttMs), "number");
  }
  assertThrows(() => encoded(v1.FIXED_RTT, 1e300), RangeError);
  assertEquals(decoded(v1.clippedRtt(343_000), 1e300), 343);
  assertEquals(encoded(v1.LOG_RTT, 1e300).getUint32(4), 65_534);
  for (const clipUs of [0, -1, 0.5, NaN, 2 ** 53]) assertThrows(() => v1.clippedRtt(clipUs), RangeError);
});

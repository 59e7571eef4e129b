import { assert, assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import fc from "fast-check";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { CANONICAL_RTT_CODES, decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import {
  BYTE_BASE,
  decodeTokens,
  DST_IPV4,
  FAILED,
  type Field,
  FIELD_ORDERS,
  MEASUREMENT_START,
  measurementLength,
  ROLE_NAMES,
  RTT_START,
  SRC_IPV4,
  THROUGHPUT_START,
  TIMESTAMP_ABS,
  TIMESTAMP_DELTA1,
  TIMESTAMP_DELTA4,
  TokenError,
  type TokenMeasurement,
  tokenName,
  TokenWriter,
  VOCAB_SIZE,
} from "../../../lib/data/tokens/vocab_v2.ts";

const ORDER: Field[] = ["source", "destination", "result", "time"];
const NOW_S = 1_750_000_000;

function measurement(change: Partial<TokenMeasurement> = {}): TokenMeasurement {
  return {
    source: addressBytes("192.0.2.1"),
    destination: addressBytes("198.51.100.7"),
    rttCode: encodeRttCode(50),
    timeS: null,
    ...change,
  };
}

/** Writes measurements as one context. */
function encode(measurements: TokenMeasurement[], order: (i: number) => readonly Field[] = () => ORDER) {
  const out = new Uint16Array(measurements.length * 47);
  const writer = new TokenWriter(out);
  measurements.forEach((m, i) => writer.write(m, order(i)));
  return out.subarray(0, writer.at);
}

const bytes = (...values: number[]) => values.map((value) => BYTE_BASE + value);

Deno.test("TokenWriter writes the tokens of the documented layout", () => {
  const code = encodeRttCode(50);
  assertEquals([...encode([measurement({ timeS: 258 })])], [
    MEASUREMENT_START,
    SRC_IPV4,
    ...bytes(192, 0, 2, 1),
    DST_IPV4,
    ...bytes(198, 51, 100, 7),
    RTT_START,
    ...bytes(5 << 3 | 1562 >> 8, 1562 & 255),
    TIMESTAMP_ABS,
    ...bytes(0, 0, 0, 0, 0, 0, 1, 2),
  ]);
  assertEquals(code, (5 << 3 | 1562 >> 8) << 8 | 1562 & 255);
  assertEquals([...encode([measurement({ rttCode: null })], () => ["result", "destination", "source"])], [
    MEASUREMENT_START,
    FAILED,
    DST_IPV4,
    ...bytes(198, 51, 100, 7),
    SRC_IPV4,
    ...bytes(192, 0, 2, 1),
  ]);
});

Deno.test("the vocabulary has 267 tokens with names", () => {
  assertEquals(VOCAB_SIZE, BYTE_BASE + 256);
  assertEquals(ROLE_NAMES.length, BYTE_BASE);
  assertEquals([tokenName(0), tokenName(10), tokenName(11), tokenName(266), tokenName(267)], [
    "MeasurementStart",
    "Failed",
    "byte 0",
    "byte 255",
    "unknown token 267",
  ]);
  assertEquals(new Set(FIELD_ORDERS.map(String)).size, 24);
});

Deno.test("measurementLength() gives the documented lengths", () => {
  assertEquals(measurementLength(measurement(), null), 14);
  assertEquals(measurementLength(measurement({ rttCode: null }), null), 12);
  assertEquals(measurementLength(measurement({ timeS: NOW_S + 255 }), NOW_S), 16);
  assertEquals(measurementLength(measurement({ timeS: NOW_S + 256 }), NOW_S), 19);
  assertEquals(measurementLength(measurement({ timeS: NOW_S }), null), 23);
  const ipv6 = { source: addressBytes("::1"), destination: addressBytes("2001:db8::1") };
  assertEquals(measurementLength(measurement(ipv6), null), 14 + 24);
});

const anyAddress = fc.oneof(
  fc.uint8Array({ minLength: 4, maxLength: 4 }),
  fc.uint8Array({ minLength: 16, maxLength: 16 }),
);
const anyMeasurement = fc.record({
  source: anyAddress,
  destination: anyAddress,
  rttCode: fc.option(fc.nat(CANONICAL_RTT_CODES.length - 1).map((i) => CANONICAL_RTT_CODES[i])),
  // Times that rise in steps of every length, with a few that fall.
  timeS: fc.option(fc.integer({ min: -10, max: 2 ** 20 })),
  order: fc.constantFrom(...FIELD_ORDERS),
});
const anyContext = fc.array(anyMeasurement, { maxLength: 12 }).map((context) => {
  let timeS = NOW_S;
  return context.map((m) => ({
    ...m,
    timeS: m.timeS === null ? null : timeS += m.timeS % 2 ? m.timeS : m.timeS % 512,
  }));
});

Deno.test("decodeTokens() gives back any context, times that fall as the time before", () => {
  fc.assert(
    fc.property(anyContext, (context) => {
      const tokens = encode(context, (i) => context[i].order);
      const decoded = decodeTokens(tokens);
      assertEquals(decoded.length, context.length);
      let previousTimeS: number | null = null;
      let position = 0;
      context.forEach((m, i) => {
        const length = measurementLength(m, previousTimeS);
        if (m.timeS !== null) previousTimeS = Math.max(m.timeS, previousTimeS ?? 0);
        assertEquals(decoded[i], {
          source: m.source,
          destination: m.destination,
          rttCode: m.rttCode,
          timeS: m.timeS === null ? null : previousTimeS,
          order: m.order.filter((field) => field !== "time" || m.timeS !== null),
          position,
        });
        position += length;
      });
      assertEquals(position, tokens.length);
    }),
    { numRuns: 500 },
  );
});

Deno.test("a measurement decodes to its RTT within 0.049 %", () => {
  fc.assert(fc.property(fc.double({ min: 2.048, max: 302_281.66, noNaN: true }), (rttMs) => {
    const [decoded] = decodeTokens(encode([measurement({ rttCode: encodeRttCode(rttMs) })]));
    assert(decoded.rttCode !== null);
    assert(Math.abs(decodeRttCode(decoded.rttCode) / rttMs - 1) <= 0.00049);
  }));
});

/** Decodes; what decodes must encode to the same tokens, what does not must name a place in the stream. */
function decodeOrRaise(tokens: Uint16Array): boolean {
  try {
    const decoded = decodeTokens(tokens);
    assertEquals(encode(decoded, (i) => decoded[i].order), tokens);
    return true;
  } catch (error) {
    assertInstanceOf(error, TokenError);
    assert(error.position >= 0 && error.position <= tokens.length, error.message);
    assert(error.message.includes(`position ${error.position}: `), error.message);
    return false;
  }
}

Deno.test("decodeTokens() decodes any token stream or raises with the position", () => {
  const token = fc.oneof(fc.nat(10), fc.nat(VOCAB_SIZE - 1), fc.nat(0xffff));
  fc.assert(
    fc.property(fc.array(token, { maxLength: 60 }), (tokens) => {
      decodeOrRaise(Uint16Array.from(tokens));
    }),
    { numRuns: 2000 },
  );
});

Deno.test("decodeTokens() decodes or raises on every change of one token and every truncation", () => {
  const tokens = encode([
    measurement({ timeS: NOW_S }),
    measurement({ timeS: NOW_S + 3, rttCode: null }),
    measurement({ source: addressBytes("::1"), timeS: NOW_S + 10_000 }),
  ], () => ["time", "source", "destination", "result"]);
  let numDecoded = 0;
  let numRaised = 0;
  for (let at = 0; at < tokens.length; at++) {
    for (const token of [...Array(14).keys(), 266, 267, 65535]) {
      const changed = tokens.slice();
      changed[at] = token;
      if (decodeOrRaise(changed)) numDecoded++;
      else numRaised++;
    }
    const whole = decodeTokens(tokens).some((m) => m.position === at);
    assertEquals(decodeOrRaise(tokens.slice(0, at)), whole, `first ${at} tokens`);
  }
  assert(numDecoded > 100 && numRaised > 100, `${numDecoded} decoded, ${numRaised} raised`);
});

Deno.test("decodeTokens() names the first offending token", () => {
  const good = [...encode([measurement()])];
  const timed = [...encode([measurement({ timeS: NOW_S })])];
  const cases: [string, number[], number, string][] = [
    ["no start", good.slice(1), 0, "SrcIpv4, expected MeasurementStart"],
    ["byte as block", [0, 20], 1, "byte 9, expected a block"],
    ["reserved role", [0, THROUGHPUT_START], 1, "ThroughputStart, expected a block"],
    ["unknown token", [0, 999], 1, "unknown token 999, expected a block"],
    ["second source", [...good, SRC_IPV4], 14, "SrcIpv4, expected no second source"],
    ["start alone", [0], 1, "the end of the tokens, expected a source"],
    ["no source", [0, ...good.slice(6)], 9, "expected a source"],
    ["no destination", [...good.slice(0, 6), 0], 6, "MeasurementStart, expected a destination"],
    ["no result", good.slice(0, 11), 11, "expected a result"],
    ["cut address", good.slice(0, 4), 4, "the end of the tokens, expected a byte"],
    ["code 0", [...good.slice(0, 12), 11, 11], 12, "RTT code 0, expected a canonical code"],
    ["low mantissa", [...good.slice(0, 12), 11 + 8, 11], 12, "RTT code 2048, expected a canonical code"],
    ["gap first", [...good, TIMESTAMP_DELTA1, 11], 14, "expected an absolute first time"],
    ["second absolute", [...timed, ...timed], timed.length + 14, "expected a gap after the first time"],
    ["wide gap", [...timed, ...good, TIMESTAMP_DELTA4, 11, 11, 11, 266], 37, "255 s in 4 bytes"],
    ["time beyond 2^53", [...good, TIMESTAMP_ABS, ...Array(8).fill(266)], 14, "at most 2^53-1 s"],
  ];
  for (const [name, tokens, position, message] of cases) {
    const error = assertThrows(() => decodeTokens(Uint16Array.from(tokens)), TokenError, message, name);
    assertEquals(error.position, position, name);
  }
});

Deno.test("TokenWriter keeps the bounds of gaps and times", () => {
  const roleOfGap = (gapS: number) => {
    const tokens = encode([measurement({ timeS: NOW_S }), measurement({ timeS: NOW_S + gapS })]);
    return { role: tokens[23 + 14], timeS: decodeTokens(tokens)[1].timeS };
  };
  assertEquals(roleOfGap(-5), { role: TIMESTAMP_DELTA1, timeS: NOW_S });
  assertEquals(roleOfGap(0), { role: TIMESTAMP_DELTA1, timeS: NOW_S });
  assertEquals(roleOfGap(255), { role: TIMESTAMP_DELTA1, timeS: NOW_S + 255 });
  assertEquals(roleOfGap(256), { role: TIMESTAMP_DELTA4, timeS: NOW_S + 256 });
  assertEquals(roleOfGap(2 ** 32 - 1), { role: TIMESTAMP_DELTA4, timeS: NOW_S + 2 ** 32 - 1 });
  assertThrows(() => roleOfGap(2 ** 32), RangeError, "gap");
  const latest = [measurement({ timeS: Number.MAX_SAFE_INTEGER })];
  assertEquals(decodeTokens(encode(latest))[0].timeS, Number.MAX_SAFE_INTEGER);
});

Deno.test("TokenWriter measures a gap from the last timestamped measurement, as its reader does", () => {
  const times = [NOW_S, null, NOW_S - 100, null, NOW_S + 200];
  const decoded = decodeTokens(encode(times.map((timeS) => measurement({ timeS }))));
  assertEquals(decoded.map((m) => m.timeS), [NOW_S, null, NOW_S, null, NOW_S + 200]);
});

Deno.test("TokenWriter refuses what has no tokens, and a full array", () => {
  const refused: Partial<TokenMeasurement>[] = [
    { source: new Uint8Array(5) },
    { rttCode: 0 },
    { rttCode: 2048 },
    { timeS: -1 },
    { timeS: 1.5 },
    { timeS: 2 ** 53 },
  ];
  for (const change of refused) assertThrows(() => encode([measurement(change)]), RangeError);
  assertThrows(() => new TokenWriter(new Uint16Array(13)).write(measurement(), ORDER), RangeError, "space");
  assertThrows(() => encode([measurement()], () => ["source", "result"]), Error, "order");
});

import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { UserError } from "../../../lib/errors.ts";
import {
  codesOf,
  DESTINATION_ORDER,
  type DestinationQuery,
} from "../../../lib/query/destinations/destination_prompt.ts";
import { sampleDestinations } from "../../../lib/query/destinations/destination_samples.ts";
import { type LikelyDestination, likelyDestinations } from "../../../lib/query/destinations/destinations.ts";
import { PingModel } from "../../../lib/query/ping_model.ts";
import { contextThatFits, encodeMeasurement } from "../../../lib/query/query_tokens.ts";
import { FIRST_BYTES, secondBytesOf } from "../../../lib/query/rtt/rtt_bytes.ts";
import { formatPrefix, type IpPrefix } from "../../../lib/addresses/ip_prefix.ts";
import { parseAddress } from "../../../lib/addresses/ip.ts";
import { decodeRttCode, encodeRttCode } from "../../../lib/tokens/rtt_code.ts";
import { BYTE_BASE, RTT_START, type TokenMeasurement } from "../../../lib/tokens/vocab_v2.ts";
import { nextLogProbabilities, TINY_CONFIG, withTinyModel } from "../tiny_model.ts";

function bytesOf(text: string): Uint8Array {
  const bytes = parseAddress(text);
  assert(bytes, text);
  return bytes;
}

const SOURCE = bytesOf("192.0.2.1");
const SOURCE6 = bytesOf("2001:db8::1");
const CONTEXT: TokenMeasurement[] = Array.from({ length: 3 }, (_, i) => ({
  source: SOURCE,
  destination: bytesOf(`198.51.100.${i}`),
  rttCode: i === 1 ? null : encodeRttCode(10 + i),
  timeS: 1_700_000_000 + 400 * i,
}));
const PLAIN: DestinationQuery = { source: SOURCE, rttMs: [20, 20], timeS: null, context: [] };
const QUERIES: DestinationQuery[] = [
  PLAIN,
  { source: SOURCE, rttMs: [20, 20], timeS: 1_700_001_000, context: CONTEXT },
  { source: SOURCE, rttMs: null, timeS: 1_700_001_000, context: CONTEXT },
];

/** The tokens before the destination's first byte, given one RTT code or none. */
function prefixOf(model: PingModel, query: DestinationQuery, rttCode: number | null): Uint16Array {
  const { source, timeS, context } = query;
  const { sequenceLength } = model.config;
  const whole = { source, destination: source, rttCode, timeS };
  return encodeMeasurement(whole, { context, order: DESTINATION_ORDER, sequenceLength }).slice(
    0,
    -source.length,
  );
}

/** P(byte) after sequences, each read as a prompt of its own. */
async function bytesAfter(model: PingModel, sequences: readonly Uint16Array[]): Promise<Float64Array[]> {
  return (await nextLogProbabilities(model, sequences)).map((logP) => {
    const values = Float64Array.from(logP.subarray(BYTE_BASE), (nats) => Math.exp(nats));
    const total = values.reduce((sum, value) => sum + value, 0);
    return values.map((value) => value / total);
  });
}

/** P of every two first bytes of a destination, (65536): all sequences of one byte read as prompts. */
async function allOf16Bits(
  model: PingModel,
  query: DestinationQuery,
  rttCode: number | null,
): Promise<Float64Array> {
  const prefix = prefixOf(model, query, rttCode);
  const [first] = await bytesAfter(model, [prefix]);
  const children = Array.from(first, (_, byte) => Uint16Array.from([...prefix, BYTE_BASE + byte]));
  const seconds = await bytesAfter(model, children);
  return Float64Array.from({ length: 65_536 }, (_, i) => first[i >> 8] * seconds[i >> 8][i & 255]);
}

/** Masses of the prefixes of a length of up to 16 bits, the greatest first. */
function rankPrefixes(of16Bits: Float64Array, length: number): { prefix: string; mass: number }[] {
  const masses = new Float64Array(2 ** length);
  of16Bits.forEach((mass, i) => masses[i >> (16 - length)] += mass);
  return [...masses].map((mass, i) => {
    const bits = i << (16 - length);
    return { prefix: formatPrefix({ bytes: Uint8Array.of(bits >> 8, bits & 255, 0, 0), length }), mass };
  }).sort((a, b) => b.mass - a.mass);
}

function assertSame(found: readonly LikelyDestination[], expected: { prefix: string; mass: number }[]): void {
  assertEquals(found.length, expected.length);
  found.forEach(({ probability }, i) =>
    assertAlmostEquals(probability / expected[i].mass, 1, 1e-4, `number ${i}`)
  );
  // Where two have the same mass but for rounding, either may stand first.
  const known = new Map(expected.map(({ prefix, mass }) => [prefix, mass]));
  for (const { prefix, probability } of found) {
    const mass = known.get(formatPrefix(prefix)) ?? expected[expected.length - 1].mass;
    assertAlmostEquals(probability / mass, 1, 1e-4, formatPrefix(prefix));
  }
}

Deno.test("likelyDestinations() gives the prefixes of greatest mass of the whole tree", () =>
  withTinyModel(async (model) => {
    for (const query of QUERIES) {
      const rttCode = query.rttMs ? encodeRttCode(query.rttMs[0]) : null;
      const all = await allOf16Bits(model, query, rttCode);
      for (const prefixLength of [0, 1, 7, 8, 9, 16]) {
        const answer = await likelyDestinations(model, query, { prefixLength, top: 25 });
        const expected = rankPrefixes(all, prefixLength).slice(0, 25);
        assertSame(answer.destinations, expected);
        assert(answer.isProven);
        const listed = expected.reduce((sum, { mass }) => sum + mass, 0);
        assertAlmostEquals(answer.unlistedProbability, 1 - listed, 1e-5);
        assertEquals(answer.destinations.every(({ standardError }) => standardError === 0), true);
      }
    }
  }, 4));

Deno.test("likelyDestinations() lists the whole tree with all mass where as many are wanted", () =>
  withTinyModel(async (model) => {
    for (const prefixLength of [1, 7, 9, 10]) {
      const { destinations, unlistedProbability, unlistedAtMost, isProven } = await likelyDestinations(
        model,
        PLAIN,
        {
          prefixLength,
          top: 5000,
        },
      );
      assertEquals([destinations.length, isProven, unlistedAtMost], [2 ** prefixLength, true, 0]);
      assertAlmostEquals(unlistedProbability, 0, 1e-9);
    }
  }, 2));

/** Masses of the prefixes that differ from one in its last byte at most, by reading each byte's prompt. */
async function massesBeside(
  model: PingModel,
  query: DestinationQuery,
  { bytes, length }: IpPrefix,
): Promise<Map<string, number>> {
  const start = prefixOf(model, query, encodeRttCode(20));
  const own = bytes.subarray(0, Math.ceil(length / 8));
  const path = Array.from(own, (byte) => BYTE_BASE + byte);
  const after = await bytesAfter(
    model,
    path.map((_, i) => Uint16Array.from([...start, ...path.slice(0, i)])),
  );
  const above = own.subarray(0, -1).reduce((mass, byte, i) => mass * after[i][byte], 1);
  const size = 2 ** (8 * own.length - length);
  const masses = new Map<string, number>();
  for (let byte = 0; byte < 256; byte += size) {
    const sibling = Uint8Array.from(bytes);
    sibling[own.length - 1] = byte;
    const share = after[own.length - 1].subarray(byte, byte + size).reduce((sum, p) => sum + p, 0);
    masses.set(formatPrefix({ bytes: sibling, length }), above * share);
  }
  return masses;
}

Deno.test("likelyDestinations() of long prefixes have the mass of their path, and none beside them more than is said", () =>
  withTinyModel(async (model) => {
    const asked = [[SOURCE, 24], [SOURCE, 29], [SOURCE, 32], [SOURCE6, 48], [SOURCE6, 128]] as const;
    for (const [source, prefixLength] of asked) {
      const query = { ...PLAIN, source };
      const options = { prefixLength, top: 5, maxExpansions: 300 };
      const { destinations, unlistedAtMost, isProven } = await likelyDestinations(model, query, options);
      assertEquals(destinations.length, 5);
      if (isProven) assert(unlistedAtMost <= destinations[4].probability);
      const listed = new Set(destinations.map(({ prefix }) => formatPrefix(prefix)));
      for (const { prefix, probability } of destinations) {
        const masses = await massesBeside(model, query, prefix);
        assertAlmostEquals(probability / (masses.get(formatPrefix(prefix)) ?? NaN), 1, 1e-4);
        for (const [other, mass] of masses) {
          assert(listed.has(other) || mass < unlistedAtMost * 1.0001, other);
        }
      }
    }
  }));

/** P(code) of a range by reading every prompt of one byte of the RTT. */
async function codeMasses(
  model: PingModel,
  query: DestinationQuery,
  codes: readonly number[],
): Promise<number[]> {
  const start = prefixOf(model, query, codes[0]).slice(0, -3);
  assertEquals(start.at(-1), RTT_START);
  const [first] = await bytesAfter(model, [start]);
  const firsts = [...new Set(codes.map((code) => code >> 8))];
  const seconds = await bytesAfter(
    model,
    firsts.map((byte) => Uint16Array.from([...start, BYTE_BASE + byte])),
  );
  assert(firsts.every((byte) => FIRST_BYTES.includes(byte)));
  const masses = codes.map((code) => {
    const given = seconds[firsts.indexOf(code >> 8)];
    const whole = secondBytesOf(code >> 8).reduce((sum, byte) => sum + given[byte], 0);
    return first[code >> 8] * given[code & 255] / whole;
  });
  const total = masses.reduce((sum, mass) => sum + mass, 0);
  return masses.map((mass) => mass / total);
}

Deno.test("likelyDestinations() of a small range of RTTs are the mixture over its codes, exactly", () =>
  withTinyModel(async (model) => {
    const range = [decodeRttCode(encodeRttCode(20) - 2), decodeRttCode(encodeRttCode(20) + 2)] as const;
    for (const query of [{ ...PLAIN, timeS: 1_700_000_000, rttMs: range }]) {
      const codes = codesOf(query).map(Number);
      assertEquals(codes.length, 5);
      const weights = await codeMasses(model, query, codes);
      const mixed = new Float64Array(65_536);
      for (const [i, code] of codes.entries()) {
        (await allOf16Bits(model, query, code)).forEach((mass, at) => mixed[at] += weights[i] * mass);
      }
      for (const prefixLength of [9, 16]) {
        const answer = await likelyDestinations(model, query, { prefixLength, top: 12 });
        assertSame(answer.destinations, rankPrefixes(mixed, prefixLength).slice(0, 12));
        assertEquals([answer.isProven, answer.codes], [true, { inRange: 5, used: 5 }]);
      }
    }
  }, 4));

Deno.test("likelyDestinations() of a wide range stand within a few standard errors of all its codes", () =>
  withTinyModel(async (model) => {
    const query = { ...PLAIN, rttMs: [20, 28] as const };
    const options = { prefixLength: 8, top: 256 };
    const exact = await likelyDestinations(model, query, { ...options, maxCodes: 1024 });
    assertEquals(exact.codes.inRange, exact.codes.used);
    assert(exact.codes.used > 500);
    const few = await likelyDestinations(model, query, { ...options, maxCodes: 32 });
    assertEquals(few.codes, { inRange: exact.codes.inRange, used: 32 });
    const byPrefix = new Map(
      exact.destinations.map(({ prefix, probability }) => [formatPrefix(prefix), probability]),
    );
    const deviates = few.destinations.map(({ prefix, probability, standardError }) =>
      (probability - (byPrefix.get(formatPrefix(prefix)) ?? NaN)) / standardError
    );
    const meanSquare = deviates.reduce((sum, z) => sum + z * z, 0) / deviates.length;
    assert(meanSquare > 0.01 && meanSquare < 2, `mean square deviate ${meanSquare}`);
  }, 4));

Deno.test("likelyDestinations() that are cut short say so", () =>
  withTinyModel(async (model) => {
    const { isProven, unlistedAtMost, destinations, numExpanded } = await likelyDestinations(model, PLAIN, {
      maxExpansions: 1,
    });
    assertEquals([isProven, numExpanded], [false, 4]);
    assert(destinations.length <= 20 && unlistedAtMost > destinations[0].probability);
  }, 1));

Deno.test("likelyDestinations() do not depend on the memory that the search may take", () =>
  withTinyModel(async (model) => {
    const small = PingModel.of(TINY_CONFIG, model.registry, {
      weights: model.weights,
      memoryLimitBytes: 3e6,
    });
    assert(small.decoders.continuationExtent.maxRows <= 64);
    const query = { ...PLAIN, rttMs: [20, 20.03] as const };
    const [a, b] = [
      await likelyDestinations(model, query, { top: 5, prefixLength: 16 }),
      await likelyDestinations(small, query, { top: 5, prefixLength: 16 }),
    ];
    assertEquals(b.destinations.map(({ prefix }) => prefix), a.destinations.map(({ prefix }) => prefix));
    a.destinations.forEach(({ probability }, i) =>
      assertAlmostEquals(b.destinations[i].probability / probability, 1, 1e-4)
    );
  }));

Deno.test("likelyDestinations() refuse what is no question", () =>
  withTinyModel(async (model) => {
    for (const [low, high] of [[-1, 5], [5, 4], [NaN, 4], [0, Infinity]]) {
      await assertRejects(
        () => likelyDestinations(model, { ...PLAIN, rttMs: [low, high] }),
        UserError,
        "at an RTT of",
      );
    }
    for (const prefixLength of [33, -1, 1.5, NaN]) {
      await assertRejects(
        () => likelyDestinations(model, PLAIN, { prefixLength }),
        UserError,
        "0 to 32 were wanted",
      );
    }
    const aborted = AbortSignal.abort(new UserError("stopped"));
    await assertRejects(() => likelyDestinations(model, PLAIN, { signal: aborted }), UserError, "stopped");
  }));

Deno.test("likelyDestinations() uses the newest measurements that fit", () =>
  withTinyModel(async (model) => {
    const context = Array.from(
      { length: 30 },
      (_, i) => ({ ...CONTEXT[i % 3], timeS: 1_700_000_000 + 60 * i }),
    );
    const query = { ...PLAIN, timeS: 1_700_009_000, context };
    const fitting = contextThatFits({ ...query, destination: query.source }, model.config.sequenceLength);
    assert(fitting.length >= 5 && fitting.length < 30);
    const [whole, cut] = [
      await likelyDestinations(model, query),
      await likelyDestinations(model, { ...query, context: fitting }),
    ];
    assertEquals(cut, whole);
  }));

/** Pearson's statistic as a standard normal deviate, by the Wilson-Hilferty transformation. */
function chiSquareDeviate(observed: readonly number[], expected: readonly number[]): number {
  const statistic = observed.reduce((sum, count, i) => sum + (count - expected[i]) ** 2 / expected[i], 0);
  const freedom = observed.length - 1;
  return (Math.cbrt(statistic / freedom) - 1 + 2 / (9 * freedom)) / Math.sqrt(2 / (9 * freedom));
}

Deno.test("sampleDestinations() follow the exact masses, by a chi-square test", () =>
  withTinyModel(async (model) => {
    const count = 10_000;
    for (const query of [PLAIN, { ...PLAIN, rttMs: [20, 20.1] as const }, { ...PLAIN, rttMs: null }]) {
      const { destinations } = await likelyDestinations(model, query, { prefixLength: 9, top: 512 });
      const drawn = await sampleDestinations(model, query, { count, seed: 5, prefixLength: 9, top: 512 });
      const shares = new Map(
        drawn.destinations.map(({ prefix, probability }) => [formatPrefix(prefix), probability]),
      );
      // What is expected less than 20 times is joined.
      const frequent = destinations.filter(({ probability }) => probability * count >= 20);
      assert(frequent.length > 10, `${frequent.length} prefixes`);
      const observed = frequent.map(({ prefix }) => count * (shares.get(formatPrefix(prefix)) ?? 0));
      const expected = frequent.map(({ probability }) => count * probability);
      const rest = (values: number[]) => count - values.reduce((sum, value) => sum + value, 0);
      const deviate = chiSquareDeviate([...observed, rest(observed)], [...expected, rest(expected)]);
      assert(Math.abs(deviate) < 4, `chi-square lies ${deviate} standard deviations off`);
      const [{ probability, standardError }] = drawn.destinations;
      assertAlmostEquals(standardError, Math.sqrt(probability * (1 - probability) / count), 1e-12);
    }
  }, 4));

Deno.test("sampleDestinations() are of the length asked for, the same for the same seed, however many at once", () =>
  withTinyModel(async (model) => {
    const small = PingModel.of(TINY_CONFIG, model.registry, {
      weights: model.weights,
      memoryLimitBytes: 3e6,
    });
    for (const prefixLength of [0, 7, 24, 29, 32]) {
      const options = { count: 100, seed: 1, prefixLength, top: 1000 };
      const drawn = await sampleDestinations(model, PLAIN, options);
      assertEquals(await sampleDestinations(small, PLAIN, options), drawn);
      assertAlmostEquals(drawn.unlistedProbability, 0, 1e-9);
      assertEquals(drawn.numDistinct, drawn.destinations.length);
      for (const { prefix } of drawn.destinations) {
        assertEquals([prefix.length, prefix.bytes.length], [prefixLength, 4]);
        const bits = [...prefix.bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
        assert(!bits.slice(prefixLength).includes("1"), formatPrefix(prefix));
      }
    }
    const other = await sampleDestinations(model, PLAIN, { count: 100, seed: 2 });
    assertEquals(other.destinations.length, 20);
    assert(other.unlistedProbability > 0);
  }, 4));

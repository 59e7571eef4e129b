import { assert, assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { UserError } from "../../lib/errors.ts";
import { Gpu } from "../../lib/gpu/device.ts";
import { KernelRegistry } from "../../lib/gpu/registry.ts";
import { parseModelConfig } from "../../lib/model/config.ts";
import { initialParameters } from "../../lib/model/parameters.ts";
import { PingModel, type RttQuery } from "../../lib/query/ping_model.ts";
import { parseAddress } from "../../lib/tokens/ip.ts";
import { CANONICAL_RTT_CODES, encodeRttCode } from "../../lib/tokens/rtt_code.ts";
import {
  BYTE_BASE,
  decodeTokens,
  FAILED,
  RTT_START,
  type TokenMeasurement,
} from "../../lib/tokens/vocab_v2.ts";

const CONFIG = parseModelConfig({
  numLayers: 2,
  width: 32,
  numHeads: 1,
  headDim: 32,
  mlpWidth: 64,
  sequenceLength: 128,
  vocabulary: "v2",
});

/** A model whose predictions are far from uniform: random weights, made larger. */
async function withModel(test: (model: PingModel) => Promise<void>): Promise<void> {
  using gpu = await Gpu.open();
  const weights = initialParameters(CONFIG, 7);
  for (const values of weights.values()) values.forEach((value, i) => values[i] = value * 12);
  await test(PingModel.of(CONFIG, new KernelRegistry(gpu), weights));
}

function bytesOf(text: string): Uint8Array {
  const bytes = parseAddress(text);
  assert(bytes, text);
  return bytes;
}

function measurement(dst: string, rttMs: number | null, timeS: number | null): TokenMeasurement {
  return {
    source: bytesOf("192.0.2.1"),
    destination: bytesOf(dst),
    rttCode: rttMs === null ? null : encodeRttCode(rttMs),
    timeS,
  };
}

const CONTEXT = [
  measurement("198.51.100.7", 12.5, 1_700_000_000),
  measurement("198.51.100.9", null, 1_700_000_100),
  measurement("203.0.113.4", 250, 1_700_009_000),
];
const QUERIES: RttQuery[] = [
  { source: bytesOf("192.0.2.1"), destination: bytesOf("198.51.100.7"), timeS: null, context: [] },
  {
    source: bytesOf("192.0.2.1"),
    destination: bytesOf("198.51.100.9"),
    timeS: 1_700_010_000,
    context: CONTEXT,
  },
  { source: bytesOf("2001:db8::1"), destination: bytesOf("2001:db8::2"), timeS: 1_700_010_000, context: [] },
];

function extended(prefix: Uint16Array, ...tokens: number[]): Uint16Array {
  return Uint16Array.from([...prefix, ...tokens]);
}

Deno.test("rttDistribution() equals the product of the model's own steps on codes one by one", () =>
  withModel(async (model) => {
    for (const query of QUERIES) {
      const distribution = await model.rttDistribution(query);
      const total = distribution.probabilities.reduce((sum, p) => sum + p, 0);
      assertAlmostEquals(total, 1, 1e-9);
      const prefix = model.encodeQuery(query);
      const [outcome, first] = await model.nextLogProbabilities([prefix, extended(prefix, RTT_START)]);
      const [failed, replied] = [Math.exp(outcome[FAILED]), Math.exp(outcome[RTT_START])];
      assertAlmostEquals(distribution.pFailed, failed / (failed + replied), 1e-6);
      const firstBytes = new Set([...CANONICAL_RTT_CODES].map((code) => code >> 8));
      const massOfFirst = [...firstBytes].reduce((sum, byte) => sum + Math.exp(first[BYTE_BASE + byte]), 0);
      for (const code of [1, 300, 2047, encodeRttCode(12.5), encodeRttCode(250), 65_535]) {
        const [byte1, byte2] = [code >> 8, code & 255];
        const [second] = await model.nextLogProbabilities([extended(prefix, RTT_START, BYTE_BASE + byte1)]);
        const siblings = [...CANONICAL_RTT_CODES].filter((other) => other >> 8 === byte1);
        const massOfSecond = siblings.reduce(
          (sum, other) => sum + Math.exp(second[BYTE_BASE + (other & 255)]),
          0,
        );
        const expected = Math.exp(first[BYTE_BASE + byte1]) / massOfFirst *
          Math.exp(second[BYTE_BASE + byte2]) / massOfSecond;
        const actual = distribution.probabilities[CANONICAL_RTT_CODES.indexOf(code)];
        assertAlmostEquals(actual / expected, 1, 1e-4, `code ${code}`);
      }
    }
  }));

Deno.test("medianRttsMs() of many queries equals the median of each whole distribution", () =>
  withModel(async (model) => {
    const medians = await model.medianRttsMs(QUERIES);
    for (const [i, query] of QUERIES.entries()) {
      assertEquals(medians[i], (await model.rttDistribution(query)).quantileMs(0.5));
    }
  }));

Deno.test("encodeQuery() writes the context, then the asked measurement up to its result", () =>
  withModel((model) => {
    const tokens = model.encodeQuery(QUERIES[1]);
    const decoded = decodeTokens(extended(tokens, FAILED));
    assertEquals(decoded.length, 4);
    assertEquals(decoded.map(({ rttCode }) => rttCode), [...CONTEXT.map(({ rttCode }) => rttCode), null]);
    assertEquals(decoded.map(({ timeS }) => timeS), [...CONTEXT.map(({ timeS }) => timeS), 1_700_010_000]);
    assertEquals(decoded[3].destination, QUERIES[1].destination);
    return Promise.resolve();
  }));

Deno.test("encodeQuery() keeps the newest context that fits and refuses mixed IP versions", () =>
  withModel(async (model) => {
    const long = Array.from({ length: 40 }, (_, i) => measurement("198.51.100.7", 10 + i, 1_700_000_000 + i));
    const query = { ...QUERIES[0], timeS: 1_700_000_100, context: long };
    const kept = model.contextThatFits(query);
    assertEquals(kept.at(-1), long.at(-1));
    assert(kept.length > 3 && kept.length < 40);
    const length = model.encodeQuery(query).length;
    assert(
      length + 2 <= CONFIG.sequenceLength && length + 2 > CONFIG.sequenceLength - 17,
      `${length} tokens`,
    );
    assertThrows(
      () => model.encodeQuery({ ...query, destination: bytesOf("::1") }),
      UserError,
      "one version",
    );
    await assertRejects(() => model.rttDistribution({ ...query, destination: bytesOf("::1") }), UserError);
  }));

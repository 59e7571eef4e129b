import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import { fieldOrders, measurementBits } from "../../../lib/query/score/likelihood.ts";
import { MeasurementGrammar } from "../../../lib/query/score/measurement_grammar.ts";
import type { PingModel } from "../../../lib/query/ping_model.ts";
import { LOG_RTT, WholeMeasurementWriter } from "../../../lib/data/tokens/vocab_v1.ts";
import {
  type Field,
  ROLE_NAMES,
  type TokenMeasurement,
  TokenWriter,
} from "../../../lib/data/tokens/vocab_v2.ts";
import { measured } from "../adapt/tiny_rows.ts";
import { nextLogProbabilities, TINY_CONFIG, withTinyModel } from "../tiny_model.ts";

const CONTEXT = [
  measured("192.0.2.1", "198.51.100.7", 12.5, 1_700_000_000),
  measured("192.0.2.1", "198.51.100.9", null, 1_700_000_100),
];
const MEASUREMENTS = [
  measured("192.0.2.1", "198.51.100.7", 31, 1_700_000_200),
  measured("192.0.2.1", "198.51.100.7", null, null),
  measured("2001:db8::1", "2001:db8::2", 3.5, 1_700_009_000),
];

/** Bits of each token after MeasurementStart, with one next-token question each. */
async function bruteForce(
  model: PingModel,
  { context, asked, order }: {
    context: TokenMeasurement[];
    asked: TokenMeasurement;
    order: readonly Field[];
  },
): Promise<number[]> {
  const out = new Uint16Array(200);
  const writer = new TokenWriter(out);
  for (const earlier of context) writer.write(earlier, ["source", "destination", "time", "result"]);
  const first = writer.at + 1;
  writer.write(asked, order);
  const ends = Array.from({ length: writer.at - first }, (_, i) => first + i);
  const next = await nextLogProbabilities(model, ends.map((end) => out.slice(0, end)));
  const grammar = new MeasurementGrammar(context.length > 0);
  return ends.map((end, i) => {
    // Whether it has a time is given.
    const allowed = grammar.allowed().filter((token) =>
      token !== 0 && (asked.timeS !== null || ROLE_NAMES[token]?.startsWith("Timestamp") !== true)
    );
    grammar.push(out[end]);
    const mass = allowed.reduce((sum, token) => sum + Math.exp(next[i][token]), 0);
    return (Math.log(mass) - next[i][out[end]]) / Math.LN2;
  });
}

/** All measurements, each after the same context. */
function after(context: readonly TokenMeasurement[]) {
  return MEASUREMENTS.map((measurement) => ({ measurement, context }));
}

Deno.test("measurementBits() equals the next-token probabilities, token by token, in different orders", () =>
  withTinyModel(async (model) => {
    for (const context of [[], CONTEXT]) {
      const bits = await measurementBits(model, after(context));
      assertEquals(bits.map(({ orders }) => orders.length), [24, 6, 24]);
      for (const [i, asked] of MEASUREMENTS.entries()) {
        const all = fieldOrders(asked.timeS !== null);
        for (const k of [0, all.length - 1]) {
          const expected = await bruteForce(model, { context, asked, order: all[k] });
          const { blocks, bits: total } = bits[i].orders[k];
          assertEquals(blocks.map(({ field }) => field), all[k]);
          const actual = blocks.flatMap(({ tokenBits }) => tokenBits);
          assertEquals(actual.length, expected.length);
          actual.forEach((each, j) => assertAlmostEquals(each, expected[j], 1e-4));
          assertAlmostEquals(total, expected.reduce((sum, each) => sum + each, 0), 1e-3);
          assertAlmostEquals(total, blocks.reduce((sum, block) => sum + block.bits, 0), 1e-9);
        }
      }
    }
  }));

Deno.test("measurementBits() with vocabulary v1 equals the next-token probabilities of the written RTT", () =>
  withTinyModel(
    async (model) => {
      const rttsMs = [31.0625, null, 3.5];
      const cases = MEASUREMENTS.map((measurement, i) => ({ measurement, rttMs: rttsMs[i], context: [] }));
      const bits = await measurementBits(model, cases);
      for (const [i, { measurement, rttMs }] of cases.entries()) {
        const all = fieldOrders(measurement.timeS !== null);
        for (const k of [0, all.length - 1]) {
          const out = new Uint16Array(55);
          const writer = new WholeMeasurementWriter(out, LOG_RTT);
          writer.writeFields({ ...measurement, rttMs }, all[k]);
          const ends = Array.from({ length: writer.at - 1 }, (_, i) => 1 + i);
          const next = await nextLogProbabilities(model, ends.map((end) => out.slice(0, end)));
          const { blocks } = bits[i].orders[k];
          assertEquals(blocks.map(({ field }) => field), all[k]);
          const actual = blocks.flatMap(({ tokenBits }) => tokenBits);
          assertEquals(actual.length, ends.length);
          ends.forEach((end, j) => assertAlmostEquals(actual[j], -next[j][out[end]] / Math.LN2, 1e-4));
        }
      }
    },
    12,
    { ...TINY_CONFIG, vocabulary: "v1", rttEncoding: "log" },
  ));

Deno.test("measurementBits() of many measurements equals the bits of each alone after its context", () =>
  withTinyModel(async (model) => {
    const longer = [...CONTEXT, measured("192.0.2.1", "198.51.100.9", 80, 1_700_000_150)];
    const contexts = [CONTEXT, longer, [], CONTEXT, longer.slice(1), CONTEXT];
    const cases = contexts.map((context, i) => ({ context, measurement: MEASUREMENTS[i % 3] }));
    const together = await measurementBits(model, cases);
    for (const [i, asked] of cases.entries()) {
      const [alone] = await measurementBits(model, [asked]);
      assertEquals(together[i].orders.length, alone.orders.length);
      together[i].orders.forEach(({ blocks }, k) => {
        const expected = alone.orders[k].blocks.flatMap(({ tokenBits }) => tokenBits);
        const actual = blocks.flatMap(({ tokenBits }) => tokenBits);
        assertEquals(actual.length, expected.length);
        actual.forEach((bits, j) => assertAlmostEquals(bits, expected[j], 1e-4));
      });
    }
  }));

Deno.test("measurementBits() summarises the orders by mean, spread and total probability", () =>
  withTinyModel(async (model) => {
    const [{ orders, meanBits, spreadBits, totalBits }] = await measurementBits(
      model,
      after([]).slice(1, 2),
    );
    const each = orders.map(({ bits }) => bits);
    const mean = each.reduce((sum, bits) => sum + bits, 0) / 6;
    assertAlmostEquals(meanBits, mean, 1e-9);
    assertAlmostEquals(spreadBits ** 2, each.reduce((sum, bits) => sum + (bits - mean) ** 2, 0) / 6, 1e-9);
    assertAlmostEquals(totalBits, -Math.log2(each.reduce((sum, bits) => sum + 2 ** -bits, 0)), 1e-9);
    assert(spreadBits > 0 && totalBits < Math.min(...each));
  }));

Deno.test("measurementBits() with one order uses only it, without the time of untimed measurements", () =>
  withTinyModel(async (model) => {
    const order: Field[] = ["time", "result", "destination", "source"];
    const bits = await measurementBits(model, after([]), { order });
    assertEquals(bits.map(({ orders }) => orders.map(({ blocks }) => blocks.map(({ field }) => field))), [
      [order],
      [order.slice(1)],
      [order],
    ]);
    assertAlmostEquals(bits[0].totalBits, bits[0].meanBits, 1e-9);
    assertEquals(bits[0].spreadBits, 0);
    const measurement = { ...MEASUREMENTS[0], destination: MEASUREMENTS[2].destination };
    const mixed = { measurement, context: [] };
    await assertRejects(() => measurementBits(model, [mixed]), UserError, "same version");
  }));

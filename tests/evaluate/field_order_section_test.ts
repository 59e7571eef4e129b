import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { contextOf, drawCases, type EvalCase } from "../../lib/evaluate/cases.ts";
import { evaluateFieldOrders } from "../../lib/evaluate/field_order_section.ts";
import { MemoryRowSource } from "../../lib/loader/row_source.ts";
import { fieldOrders, type MeasurementBits, measurementBits } from "../../lib/query/likelihood.ts";
import type { TokenMeasurement } from "../../lib/tokens/vocab_v2.ts";
import { syntheticRows } from "../loader/synthetic_rows.ts";
import { withTinyModel } from "../query/tiny_model.ts";

async function someCases(): Promise<EvalCase[]> {
  const rows = {
    heldOut: new MemoryRowSource(syntheticRows(2, 4, 20, { failed: 0.2 })),
    training: new MemoryRowSource(syntheticRows(2, 4, 20, { failed: 0.2 })),
    others: [],
    history: "all",
  } as const;
  return await drawCases(rows, { count: 12, maxContext: 3, seed: 1 });
}

Deno.test("evaluateFieldOrders() gives what the likelihoods of its measurements say, in all four settings", () =>
  withTinyModel(async (model) => {
    const cases = await someCases();
    const done: [number, number][] = [];
    const { numMeasurements, settings } = await evaluateFieldOrders(model, cases, {
      numMeasurements: 4,
      contextCount: 2,
      onProgress: (...at) => done.push(at),
    });
    assertEquals(numMeasurements, 4);
    assertEquals(done, [[4, 16], [8, 16], [12, 16], [16, 16]]);
    assertEquals(settings.map(({ hasTimes, contextCount }) => [hasTimes, contextCount]), [
      [true, 0],
      [true, 2],
      [false, 0],
      [false, 2],
    ]);
    for (const setting of settings) {
      const orders = fieldOrders(setting.hasTimes);
      assertEquals(setting.orders.map(({ order }) => order), orders.map((order) => order.join()));
      const timed = (each: TokenMeasurement) => setting.hasTimes ? each : { ...each, timeS: null };
      const alone: MeasurementBits[] = [];
      // The middles of four equal parts of the twelve cases.
      for (const drawn of [1, 4, 7, 10].map((i) => cases[i])) {
        const context = contextOf(drawn, setting.contextCount).map(timed);
        alone.push(...await measurementBits(model, [timed(drawn.measurement)], { context }));
      }
      const meanOf = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / 4;
      setting.orders.forEach(({ meanBits }, i) =>
        assertAlmostEquals(meanBits ?? NaN, meanOf(alone.map(({ orders }) => orders[i].bits)), 1e-3)
      );
      assertAlmostEquals(setting.meanBits ?? NaN, meanOf(alone.map(({ meanBits }) => meanBits)), 1e-3);
      assertAlmostEquals(setting.totalBits ?? NaN, meanOf(alone.map(({ totalBits }) => totalBits)), 1e-3);
      const spreads = alone.map(({ spreadBits }) => spreadBits);
      assertAlmostEquals(setting.meanSpreadBits ?? NaN, meanOf(spreads), 1e-3);
      assertAlmostEquals(setting.p90SpreadBits ?? NaN, Math.max(...spreads), 1e-3);
      assert(spreads.every((spread) => spread > 0));
    }
  }));

Deno.test("evaluateFieldOrders() finds no spread in a model of equal weights, and null where there are no cases", () =>
  withTinyModel(async (model) => {
    const { settings } = await evaluateFieldOrders(model, await someCases(), { contextCount: 0 });
    assertEquals(settings.length, 2);
    for (const { hasTimes, meanBits, totalBits, p90SpreadBits } of settings) {
      assert(meanBits !== null && totalBits !== null);
      assertAlmostEquals(p90SpreadBits ?? NaN, 0, 1e-3);
      assertAlmostEquals(totalBits, meanBits - Math.log2(hasTimes ? 24 : 6), 1e-3);
    }
    const none = await evaluateFieldOrders(model, [], {});
    assertEquals(none.numMeasurements, 0);
    for (const { meanBits, p90SpreadBits, orders } of none.settings) {
      assertEquals([meanBits, p90SpreadBits, orders[0].meanBits], [null, null, null]);
    }
  }, 0));

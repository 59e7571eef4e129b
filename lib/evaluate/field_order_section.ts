/**
 * Whether the model gives a measurement the same probability in every order of its fields, as a consistent joint model
 * does: the bits of each order, their spread, and those of the measurement whatever the order; with and without times,
 * with and without context.
 *
 * @module
 */
import {
  fieldOrders,
  type MeasurementBits,
  measurementBitsInContexts,
  type MeasurementInContext,
} from "../query/likelihood.ts";
import type { PingModel } from "../query/ping_model.ts";
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";
import { contextOf, type EvalCase, evenlySpread } from "./cases.ts";
import { meanOf } from "./means.ts";
import { quantileOfSample } from "./quantile.ts";

/** The bits of measurements in the orders of their fields; one entry per way of asking. */
export interface FieldOrderSection {
  numMeasurements: number;
  settings: FieldOrderBits[];
}

/** The bits of the same measurements asked for in one way; null where there are no measurements. */
export interface FieldOrderBits {
  /** Whether they and their contexts have their times. */
  hasTimes: boolean;
  /** Measurements of context, at most. */
  contextCount: number;
  /** Every order: 24 with times, 6 without. */
  orders: { order: string; meanBits: number | null }[];
  /** Mean bits in one order, over orders and measurements. */
  meanBits: number | null;
  /** Mean bits of a measurement whatever the order: -log2 of the sum of P over the orders. */
  totalBits: number | null;
  /** Standard deviation over the orders of a measurement, 0 for a consistent model: its mean over measurements. */
  meanSpreadBits: number | null;
  /** 90 % of the measurements have at most this standard deviation. */
  p90SpreadBits: number | null;
}

/** Which measurements are asked for. */
export interface FieldOrderOptions {
  /** How many, spread evenly over the cases; all if there are fewer (256). */
  numMeasurements?: number;
  /** How many measurements of context where there is one, at most what the cases were drawn with (10). */
  contextCount?: number;
  /** Told how many measurements are done, each once per setting. */
  onProgress?: ((done: number, total: number) => void) | undefined;
  signal?: AbortSignal;
}

/** Measurements that are computed at once: some 700 sequences in 24 orders. */
const MEASUREMENTS_PER_PART = 32;

/**
 * Computes the bits of cases in every order of their fields.
 *
 * @param cases The cases, in the order of the rows.
 * @throws {UserError} If one does not fit the model's sequence.
 */
export async function evaluateFieldOrders(
  model: PingModel,
  cases: readonly EvalCase[],
  options: FieldOrderOptions,
): Promise<FieldOrderSection> {
  const { numMeasurements = 256, contextCount = 10, onProgress, signal } = options;
  const chosen = evenlySpread(cases, numMeasurements);
  const counts = contextCount === 0 ? [0] : [0, contextCount];
  const settings = [true, false].flatMap((hasTimes) => counts.map((count) => ({ hasTimes, count })));
  const results: FieldOrderBits[] = [];
  let done = 0;
  for (const { hasTimes, count } of settings) {
    const bits: MeasurementBits[] = [];
    for (let start = 0; start < chosen.length; start += MEASUREMENTS_PER_PART) {
      signal?.throwIfAborted();
      const part = chosen.slice(start, start + MEASUREMENTS_PER_PART);
      bits.push(
        ...await measurementBitsInContexts(model, part.map((each) => asked(each, { hasTimes, count }))),
      );
      onProgress?.(done += part.length, settings.length * chosen.length);
    }
    results.push({ hasTimes, contextCount: count, ...summarize(bits, hasTimes) });
  }
  return { numMeasurements: chosen.length, settings: results };
}

function asked(
  drawn: EvalCase,
  { hasTimes, count }: { hasTimes: boolean; count: number },
): MeasurementInContext {
  const timed = (measurement: TokenMeasurement) => hasTimes ? measurement : { ...measurement, timeS: null };
  return { measurement: timed(drawn.measurement), context: contextOf(drawn, count).map(timed) };
}

function summarize(
  bits: readonly MeasurementBits[],
  hasTimes: boolean,
): Omit<FieldOrderBits, "hasTimes" | "contextCount"> {
  const spreads = bits.map(({ spreadBits }) => spreadBits);
  return {
    orders: fieldOrders(hasTimes).map((order, i) => ({
      order: order.join(),
      meanBits: meanOf(bits.map(({ orders }) => orders[i].bits)),
    })),
    meanBits: meanOf(bits.map(({ meanBits }) => meanBits)),
    totalBits: meanOf(bits.map(({ totalBits }) => totalBits)),
    meanSpreadBits: meanOf(spreads),
    p90SpreadBits: bits.length === 0 ? null : quantileOfSample(spreads, 0.9),
  };
}

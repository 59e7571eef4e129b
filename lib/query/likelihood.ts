/**
 * How probable given measurements are: bits of each token, each block and the whole, in every order of the fields.
 *
 * The tokens of a measurement state its fields and their order o: their probability is P(measurement, o). A model
 * that is consistent and trained on orders drawn evenly gives every order the same; the spread tells how far it is
 * from that. The sum over all orders is P(measurement), whatever the order. That a measurement comes at all
 * (MeasurementStart) is given. Bytes are not renormalised: mass on what is no measurement counts against the model.
 *
 * @module
 */
import {
  BYTE_BASE,
  type Field,
  FIELD_ORDERS,
  MEASUREMENT_START,
  type TokenMeasurement,
} from "../tokens/vocab_v2.ts";
import type { PingModel } from "./ping_model.ts";
import { encodeMeasurement } from "./query_tokens.ts";

/** The bits of one block of a measurement. */
export interface BlockBits {
  /** What the block is. */
  readonly field: Field;
  /** Of the block. */
  readonly bits: number;
  /** Of each token: the role, then the bytes. */
  readonly tokenBits: readonly number[];
}

/** The bits of a measurement in one order of its fields. */
export interface OrderBits {
  /** -log2 P(measurement, order). */
  readonly bits: number;
  /** In their order. */
  readonly blocks: readonly BlockBits[];
}

/** The bits of one measurement. */
export interface MeasurementBits {
  /** One for each order asked for. */
  readonly orders: readonly OrderBits[];
  /** Mean over the orders. */
  readonly meanBits: number;
  /** Standard deviation over the orders; 0 for a consistent model. */
  readonly spreadBits: number;
  /** -log2 of the sum of P(measurement, order) over the orders: with all of them, of P(measurement). */
  readonly totalBits: number;
}

/** The orders in which a measurement can stand: 24 with a time, 6 without. */
export function fieldOrders(hasTime: boolean): readonly (readonly Field[])[] {
  if (hasTime) return FIELD_ORDERS;
  return FIELD_ORDERS.filter((order) => order[3] === "time").map((order) => order.slice(0, 3));
}

/**
 * The bits of measurements, each by itself after the same context.
 *
 * @param options `context`: measurements made before, oldest first (none); `order`: the one order to use, of all
 *   four fields (default: every order).
 * @returns One result per measurement, in order.
 * @throws {UserError} If the addresses of one are of different versions or it does not fit the model's sequence.
 */
export async function measurementBits(
  model: PingModel,
  measurements: readonly TokenMeasurement[],
  options: { context?: readonly TokenMeasurement[]; order?: readonly Field[] | undefined } = {},
): Promise<MeasurementBits[]> {
  const { context = [] } = options;
  const { sequenceLength } = model.config;
  const written = measurements.map((measurement) =>
    ordersOf(measurement, options.order).map((order): Written => {
      const tokens = encodeMeasurement(measurement, { context, order, sequenceLength });
      return { order, tokens, numTokens: tokens.length - 1 - tokens.lastIndexOf(MEASUREMENT_START) };
    })
  );
  const bits = await bitsOf(model, written.flat());
  return written.map((orders) => summarize(orders.map((each) => blocksOf(each, bits.get(each) ?? []))));
}

/** A measurement in one order, after its context. */
interface Written {
  readonly order: readonly Field[];
  readonly tokens: Uint16Array;
  /** How many of the last tokens are the measurement's, without its MeasurementStart. */
  readonly numTokens: number;
}

function ordersOf(
  { timeS }: TokenMeasurement,
  order: readonly Field[] | undefined,
): readonly (readonly Field[])[] {
  if (!order) return fieldOrders(timeS !== null);
  return [timeS === null ? order.filter((field) => field !== "time") : order];
}

/** The bits of each token; sequences with as many tokens go to the GPU together. */
async function bitsOf(
  model: PingModel,
  written: readonly Written[],
): Promise<Map<Written, readonly number[]>> {
  const bits = new Map<Written, readonly number[]>();
  for (const [numTokens, alike] of Map.groupBy(written, (each) => each.numTokens)) {
    const logP = await model.tokenLogProbabilities(alike.map(({ tokens }) => tokens), numTokens);
    alike.forEach((each, i) => bits.set(each, Array.from(logP[i], (nats) => -nats / Math.LN2)));
  }
  return bits;
}

function blocksOf({ order, tokens, numTokens }: Written, bits: readonly number[]): OrderBits {
  const roles = [...tokens.subarray(-numTokens)].flatMap((token, i) => token < BYTE_BASE ? [i] : []);
  const blocks = order.map((field, i) => {
    const tokenBits = bits.slice(roles[i], roles[i + 1]);
    return { field, tokenBits, bits: sum(tokenBits) };
  });
  return { blocks, bits: sum(bits) };
}

function summarize(orders: readonly OrderBits[]): MeasurementBits {
  const each = orders.map(({ bits }) => bits);
  const meanBits = sum(each) / each.length;
  const spreadBits = Math.sqrt(sum(each.map((bits) => (bits - meanBits) ** 2)) / each.length);
  const least = Math.min(...each);
  const totalBits = least - Math.log2(sum(each.map((bits) => 2 ** (least - bits))));
  return { orders, meanBits, spreadBits, totalBits };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

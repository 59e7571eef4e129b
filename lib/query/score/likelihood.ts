/**
 * Computes how probable given measurements are, in bits per token, per block and in total, for every order of
 * the fields.
 *
 * The tokens of a measurement encode its fields and their order o, so their probability is P(measurement, o).
 * A consistent model trained on evenly drawn orders gives every order the same probability; the spread
 * measures its inconsistency. The sum over all orders is P(measurement), given that there is a measurement
 * (MeasurementStart) and whether it has a time. Each token's probability is normalised over the tokens
 * possible there, or over all tokens in vocabulary v1. A result in last position has the probability of the
 * model's pool, if any; all other fields have the network's. Vocabulary v1 has no context.
 *
 * @module
 */
import { ensure } from "../../base/errors.ts";
import { type ModelConfig, rttEncodingChoice } from "../../model/model_config.ts";
import { FIELD_GRAMMARS } from "../../data/tokens/field_grammar.ts";
import { chosenRttEncoding, fieldsLength, WholeMeasurementWriter } from "../../data/tokens/vocab_v1.ts";
import {
  BYTE_BASE,
  type Field,
  FIELD_ORDERS,
  MEASUREMENT_START,
  RTT_START,
  TIMESTAMP_ABS,
  TIMESTAMP_DELTA1,
  TIMESTAMP_DELTA4,
  type TokenMeasurement,
} from "../../data/tokens/vocab_v2.ts";
import type { PooledForecast } from "../../model/pool/pool.ts";
import type { PingModel } from "../ping_model.ts";
import { encodeMeasurement } from "../query_tokens.ts";
import {
  firstByteMasses,
  firstTokens,
  massOf,
  pooledLogProbabilities,
  pooledOutcome,
  secondTokens,
  withNetwork,
} from "../rtt/rtt_bytes.ts";
import { MeasurementGrammar } from "./measurement_grammar.ts";

const TIME_ROLES: ReadonlySet<number> = new Set([TIMESTAMP_ABS, TIMESTAMP_DELTA1, TIMESTAMP_DELTA4]);

export interface BlockBits {
  /** The field that the block encodes. */
  readonly field: Field;
  /** Sum over the block's tokens. */
  readonly bits: number;
  /** One number per token: the role, then the bytes. */
  readonly tokenBits: readonly number[];
}

interface OrderBits {
  /** -log2 P(measurement, order). */
  readonly bits: number;
  /** In the order of the fields. */
  readonly blocks: readonly BlockBits[];
}

export interface MeasurementBits {
  /** One element per computed order. */
  readonly orders: readonly OrderBits[];
  /** Mean over the orders. */
  readonly meanBits: number;
  /** Standard deviation over the orders; 0 for a consistent model. */
  readonly spreadBits: number;
  /** -log2 of the sum of P(measurement, order) over the orders; with all orders, -log2 P(measurement). */
  readonly totalBits: number;
}

/** All orders of a measurement's fields: 24 with a time, 6 without. */
export function fieldOrders(hasTime: boolean): readonly (readonly Field[])[] {
  if (hasTime) return FIELD_ORDERS;
  return FIELD_ORDERS.filter((order) => order[3] === "time").map((order) => order.slice(0, 3));
}

interface MeasurementInContext {
  readonly measurement: TokenMeasurement;
  /** The RTT of its `rttCode`, ms; null for no reply. Required by models of vocabulary v1. */
  readonly rttMs?: number | null;
  /** Earlier measurements, oldest first. The newest that fit in the model's sequence are used. */
  readonly context: readonly TokenMeasurement[];
}

/**
 * Computes how many bits each measurement takes, given its context. Contexts, and token prefixes shared by
 * orders, are computed once.
 *
 * @param options `order`: the only order to use, with all four fields (default: every order).
 * @throws {UserError} If the addresses of a measurement differ in version or it does not fit the model's
 *   sequence.
 */
export async function measurementBits(
  model: PingModel,
  measurements: readonly MeasurementInContext[],
  options: { order?: readonly Field[] | undefined } = {},
): Promise<MeasurementBits[]> {
  const written = measurements.map((each) => write(model, each, options.order));
  const bits = await bitsOf(model, written);
  return written.map(({ orders }) => summarize(orders.map((each) => blockBits(each, bits.get(each) ?? []))));
}

/** A measurement in several orders, after its context. */
interface Written {
  /** The context and MeasurementStart. */
  readonly prompt: Uint16Array;
  readonly orders: readonly WrittenOrder[];
}

interface WrittenOrder {
  /** Simple forecast of its RTT, if the RTT comes last. */
  readonly pool: PooledForecast | undefined;
  readonly rttCode: number | null;
  readonly order: readonly Field[];
  readonly lengths: readonly number[];
  readonly tokens: Uint16Array;
}

function write(
  model: PingModel,
  given: MeasurementInContext,
  order: readonly Field[] | undefined,
): Written {
  const { config } = model;
  const orders = ordersOf(given.measurement, order);
  const tokens = encode(given, orders[0], config);
  const first = tokens.lastIndexOf(MEASUREMENT_START) + 1;
  // All orders have the blocks of the first one, so the context is encoded once.
  const { opens } = FIELD_GRAMMARS[config.vocabulary];
  const starts = [...tokens.keys()].filter((i) => i >= first && opens(tokens[i]));
  const blocks = new Map(
    orders[0].map((field, i) => [field, [...tokens.subarray(starts[i], starts[i + 1])]] as const),
  );
  const { rttCode } = given.measurement;
  const pool = model.pooled({ ...given.measurement, context: given.context }, rttCode);
  return {
    prompt: tokens.subarray(0, first),
    orders: orders.map((order) => {
      const inOrder = order.map((field) => blocks.get(field) ?? []);
      return {
        pool: order[order.length - 1] === "result" ? pool : undefined,
        rttCode,
        order,
        lengths: inOrder.map(({ length }) => length),
        tokens: Uint16Array.from(inOrder.flat()),
      };
    }),
  };
}

/** Encodes a measurement after its context, in the model's vocabulary. */
function encode(
  { measurement, rttMs, context }: MeasurementInContext,
  order: readonly Field[],
  config: ModelConfig,
): Uint16Array {
  const choice = rttEncodingChoice(config);
  if (!choice) {
    return encodeMeasurement(measurement, { context, order, sequenceLength: config.sequenceLength });
  }
  ensure(rttMs !== undefined && context.length === 0, "vocabulary v1 takes RTTs, and no context");
  const whole = { ...measurement, rttMs };
  const tokens = new Uint16Array(fieldsLength(whole));
  new WholeMeasurementWriter(tokens, chosenRttEncoding(choice)).writeFields(whole, order);
  return tokens;
}

function ordersOf(
  { timeS }: TokenMeasurement,
  order: readonly Field[] | undefined,
): readonly (readonly Field[])[] {
  if (!order) return fieldOrders(timeS !== null);
  return [timeS === null ? order.filter((field) => field !== "time") : order];
}

/** Bits of each token. Measurements with the same prompt are computed together. */
async function bitsOf(
  model: PingModel,
  written: readonly Written[],
): Promise<Map<WrittenOrder, readonly number[]>> {
  const poolOf = new Map(written.flatMap(({ orders }) => orders.map(({ tokens, pool }) => [tokens, pool])));
  const alike = [...Map.groupBy(written, ({ prompt }) => prompt.join()).values()].map((group) => ({
    prompt: group[0].prompt,
    orders: group.flatMap(({ orders }) => orders),
  }));
  const orders = alike.flatMap(({ orders }) => orders);
  const pools = orders.map(({ pool }) => pool);
  // Probability mass of each mixture above the floor.
  const masses = orders.map(() => 1);
  const logP = await model.decoders.continuationLogProbabilities(
    alike.map(({ prompt, orders }) => ({ prompt, continuations: orders.map(({ tokens }) => tokens) })),
    model.config.vocabulary === "v2"
      ? (tokens, prompt) => allowedTokens(tokens, prompt, poolOf.get(tokens))
      : undefined,
    (logP, i, depth) => {
      const { tokens, rttCode } = orders[i];
      if (rttCode === null || depth !== tokens.length - 2) return;
      const pool = pools[i] = withNetwork(pools[i], logP);
      if (pool?.begin) masses[i] = massOf(firstByteMasses(logP, pool), pool);
    },
  );
  return new Map(orders.map((order, i) => {
    const nats = [...logP[i]];
    const { rttCode } = order;
    const pool = pools[i];
    if (pool) {
      const [outcome, first, second] = nats.splice(rttCode === null ? -1 : -3);
      nats.push(pooledOutcome(rttCode === null, pool, outcome));
      if (rttCode !== null) {
        const { ofFirst, ofCode } = pooledLogProbabilities(rttCode, pool, { first, second, mass: masses[i] });
        nats.push(ofFirst, ofCode - ofFirst);
      }
    }
    return [order, nats.map((each) => -each / Math.LN2)];
  }));
}

/**
 * The possible tokens at each index of a measurement that has the fields of `tokens`. @param pool If its
 * result comes last.
 */
function allowedTokens(
  tokens: Uint16Array,
  prompt: Uint16Array,
  pool: PooledForecast | undefined,
): (readonly number[])[] {
  const hasTime = tokens.some((token) => TIME_ROLES.has(token));
  const grammar = new MeasurementGrammar(prompt.some((token) => TIME_ROLES.has(token)));
  const canStand = (token: number) => token !== MEASUREMENT_START && (hasTime || !TIME_ROLES.has(token));
  return Array.from(tokens, (token, i) => {
    const allowed = grammar.allowed().filter(canStand);
    grammar.push(token);
    if (pool && i === tokens.length - 2 && tokens[i - 1] === RTT_START) return firstTokens(pool);
    if (pool?.begin && i === tokens.length - 1 && tokens[i - 2] === RTT_START) {
      return secondTokens(tokens[i - 1] - BYTE_BASE, pool);
    }
    return allowed;
  });
}

function blockBits({ order, lengths }: WrittenOrder, bits: readonly number[]): OrderBits {
  let end = 0;
  const blocks = order.map((field, i) => {
    const tokenBits = bits.slice(end, end += lengths[i]);
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

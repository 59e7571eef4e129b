/** A query as the tokens that the model reads: its context, then the measurement up to its result. @module */
import { UserError } from "../base/errors.ts";
import type { IpPrefix } from "../data/addresses/ip_prefix.ts";
import {
  type Field,
  measurementLength,
  QUERY_ORDER,
  type TokenMeasurement,
  TokenWriter,
} from "../data/tokens/vocab_v2.ts";
import { FAILED_RTT_MS, type MeasurementBatch } from "../data/formats/batch.ts";
import { addressBytes } from "../data/addresses/ip.ts";
import { encodeRttCode } from "../data/tokens/rtt_code.ts";

/** The longest gap between two times in vocabulary v2: 4 bytes. */
const MAX_GAP_S = 2 ** 32 - 1;

/** A query of an RTT distribution. */
export interface RttQuery {
  /** Source address, 4 or 16 bytes. */
  source: Uint8Array;
  /** Destination address, as long as the source. */
  destination: Uint8Array;
  /** When, Unix seconds, or null for any time. */
  timeS: number | null;
  /** Measurements made before, oldest first; the newest that fit the model's sequence are used. */
  context: readonly TokenMeasurement[];
  /**
   * The newest measurements of the pair, oldest first (default: those known from training, then those in the
   * context).
   */
  recent?: readonly TokenMeasurement[];
  /** Whether both addresses stand for the places that the model has of them: no measurement shows that these are wrong. */
  isOfPlaces?: boolean;
}

/** A query of an RTT between prefixes. */
export interface PrefixQuery {
  /** The source, or where it lies. */
  readonly source: IpPrefix;
  /** The destination, or where it lies; of the IP version of the source. */
  readonly destination: IpPrefix;
  /** When, Unix seconds, or null for any time. */
  readonly timeS: number | null;
  /** Measurements made before, oldest first; the newest that fit the model's sequence are used. */
  readonly context: readonly TokenMeasurement[];
}

/** The tokens up to where the result of the measurement begins. @throws {UserError} As {@link encodeMeasurement}. */
export function encodeQuery(query: RttQuery, sequenceLength: number): Uint16Array {
  const { source, destination, timeS, context } = query;
  const asked = { source, destination, rttCode: null, timeS };
  // Written as failed, whose result is the one token `Failed`, last.
  return encodeMeasurement(asked, { context, order: QUERY_ORDER, sequenceLength }).subarray(0, -1);
}

/**
 * A measurement after the newest ones of its context that fit.
 *
 * @param options `context`: oldest first; `order`: of the measurement's fields.
 * @throws {UserError} If the addresses are of different versions, the measurement does not fit, or the context
 *   is not before it.
 */
export function encodeMeasurement(
  measurement: TokenMeasurement,
  options: { context: readonly TokenMeasurement[]; order: readonly Field[]; sequenceLength: number },
): Uint16Array {
  const { context, order, sequenceLength } = options;
  const { source, destination } = measurement;
  if (source.length !== destination.length) {
    throw new UserError(
      `Cannot ask for an RTT from IPv${source.length === 4 ? 4 : 6} to IPv${
        destination.length === 4 ? 4 : 6
      }: expected two addresses of one version`,
    );
  }
  const out = new Uint16Array(sequenceLength + 1);
  const writer = new TokenWriter(out);
  const fitting = contextThatFits({ ...measurement, context }, sequenceLength);
  requireEarlier(fitting, measurement.timeS);
  for (const earlier of fitting) writer.write(earlier, QUERY_ORDER);
  writer.write(measurement, order);
  return out.subarray(0, writer.at);
}

/**
 * Checks that a context, oldest first, can stand before a time.
 *
 * @throws {UserError} If a measurement is later, or times are further apart than tokens can say.
 */
export function requireEarlier(context: readonly TokenMeasurement[], timeS: number | null): void {
  let previousS: number | null = null;
  for (const { timeS: next } of [...context, { timeS }]) {
    if (timeS !== null && next !== null && next > timeS) {
      throw new UserError(
        `Cannot ask about Unix time ${timeS}: found a measurement of ${next} in its context, expected none after it`,
      );
    }
    if (previousS !== null && next !== null && next - previousS > MAX_GAP_S) {
      throw new UserError(
        `Cannot ask about times ${
          next - previousS
        } s apart: expected at most ${MAX_GAP_S} s between two measurements`,
      );
    }
    previousS = next ?? previousS;
  }
}

/**
 * The newest measurements of a query's context that fit the model's sequence beside it.
 *
 * @throws {UserError} If the asked measurement alone does not fit.
 */
export function contextThatFits(query: RttQuery, sequenceLength: number): readonly TokenMeasurement[] {
  const { source, destination, timeS, context } = query;
  // The asked measurement counts as failed here; RttStart and byte 1 in place of Failed take one token more.
  const asked: TokenMeasurement = { source, destination, rttCode: null, timeS };
  const room = sequenceLength - 1;
  // No measurement is shorter than 11 tokens, so more than this many cannot fit.
  const oldest = Math.max(0, context.length - Math.ceil(room / 11));
  for (let start = oldest; start <= context.length; start++) {
    let previousTimeS: number | null = null;
    let length = 0;
    for (const measurement of [...context.slice(start), asked]) {
      length += measurementLength(measurement, previousTimeS);
      previousTimeS = measurement.timeS ?? previousTimeS;
    }
    if (length <= room) return context.slice(start);
  }
  throw new UserError(
    `Cannot ask: a measurement does not fit the model's sequence of ${sequenceLength} tokens; use a model with longer sequences`,
  );
}

/** A measurement of a file as tokens. */
export function tokenMeasurement(
  row: { source: Uint8Array; destination: Uint8Array; rttMs: number; eventTimeUs: number },
): TokenMeasurement {
  return {
    source: row.source,
    destination: row.destination,
    rttCode: row.rttMs === FAILED_RTT_MS ? null : encodeRttCode(row.rttMs),
    timeS: Math.floor(row.eventTimeUs / 1e6),
  };
}

export function tokenMeasurementAt(batch: MeasurementBatch, row: number): TokenMeasurement {
  return tokenMeasurement({
    source: addressBytes(batch.srcAddr[row]),
    destination: addressBytes(batch.dstAddr[row]),
    rttMs: batch.rttMs[row],
    eventTimeUs: batch.eventTimeUs[row],
  });
}

/** The measurements of a context, oldest first, that are not after a time. */
export function knownAt(
  context: readonly TokenMeasurement[],
  timeS: number | null,
): readonly TokenMeasurement[] {
  if (timeS === null) return context;
  let end = context.length;
  while (end > 0 && (context[end - 1].timeS ?? timeS) > timeS) end--;
  return end === context.length ? context : context.slice(0, end);
}

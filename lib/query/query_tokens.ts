/** Encodes a query as tokens for the model: its context, then the measurement up to its result. @module */
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

/** The longest gap between two times in vocabulary v2, which has 4 bytes. */
const MAX_GAP_S = 2 ** 32 - 1;

/** A query for an RTT distribution, at any time if `timeS` is null. The addresses are of the same length, 4 or 16 bytes. */
export interface RttQuery extends Pick<TokenMeasurement, "source" | "destination" | "timeS"> {
  /** Earlier measurements, oldest first. The newest that fit in the model's sequence are used. */
  context: readonly TokenMeasurement[];
  /** The pair's newest measurements, oldest first (default: those from training, then from the context). */
  recent?: readonly TokenMeasurement[];
  /** The probe that has the source's address (default: the one that training saw with it). */
  probe?: number;
  /** Whether the addresses represent places of the model, which measurements cannot contradict. */
  isOfPlaces?: boolean;
}

/** A query for an RTT between prefixes. */
export interface PrefixQuery {
  /** The source, or the prefix that contains it. */
  readonly source: IpPrefix;
  /** The destination, or the prefix that contains it; of the source's IP version. */
  readonly destination: IpPrefix;
  /** Unix seconds; null for any time. */
  readonly timeS: number | null;
  /** Earlier measurements, oldest first. The newest that fit in the model's sequence are used. */
  readonly context: readonly TokenMeasurement[];
  /** The probe that has the source's address. */
  readonly probe?: number;
}

/** The tokens before the result of the measurement. @throws {UserError} See {@link encodeMeasurement}. */
export function encodeQuery(query: RttQuery, sequenceLength: number): Uint16Array {
  const { source, destination, timeS, context } = query;
  const asked = { source, destination, rttCode: null, timeS };
  // Encodes a failed measurement, whose result is the single token `Failed`, and drops that token.
  return encodeMeasurement(asked, { context, order: QUERY_ORDER, sequenceLength }).subarray(0, -1);
}

/**
 * Encodes a measurement after the newest ones of its context that fit.
 *
 * @param options `context`: oldest first; `order`: of the measurement's fields.
 * @throws {UserError} If the addresses differ in version, the measurement does not fit, or the context is not
 *   before it.
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
      }: expected two addresses of the same version`,
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
 * Checks that a context, oldest first, can come before a time.
 *
 * @throws {UserError} If a measurement is later, or a gap between times is too long for its token.
 */
export function requireEarlier(context: readonly TokenMeasurement[], timeS: number | null): void {
  let previousS: number | null = null;
  for (const { timeS: next } of [...context, { timeS }]) {
    if (timeS !== null && next !== null && next > timeS) {
      throw new UserError(
        `Cannot ask about Unix time ${timeS}: its context has a later measurement, at ${next}`,
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
 * The newest measurements of a query's context that fit in the model's sequence with it.
 *
 * @throws {UserError} If the measurement asked about does not fit even without context.
 */
export function contextThatFits(query: RttQuery, sequenceLength: number): readonly TokenMeasurement[] {
  const { source, destination, timeS, context } = query;
  // The measurement counts as failed here; RttStart and byte 1 take one token more than Failed.
  const asked: TokenMeasurement = { source, destination, rttCode: null, timeS };
  const room = sequenceLength - 1;
  // No measurement is shorter than 11 tokens, so no more than this can fit.
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

/** Converts a row of a file, with the RTT as a code and the time in whole seconds. */
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

/** Drops the measurements of a context (oldest first) that are after a time. */
export function knownAt(
  context: readonly TokenMeasurement[],
  timeS: number | null,
): readonly TokenMeasurement[] {
  if (timeS === null) return context;
  let end = context.length;
  while (end > 0 && (context[end - 1].timeS ?? timeS) > timeS) end--;
  return end === context.length ? context : context.slice(0, end);
}

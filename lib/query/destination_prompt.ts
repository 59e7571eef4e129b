/**
 * A question for destinations as the tokens that the model reads: context, source, time, result, and then the
 * destination is what comes next.
 *
 * Of the orders that the model is trained on it is the one in which a range of RTTs needs nothing else: P(code |
 * source, time) is read off the same prompt, before the codes are appended to it.
 *
 * @module
 */
import { ensure, UserError } from "../errors.ts";
import { type ModelConfig, vocabSize } from "../model/model_config.ts";
import { CANONICAL_RTT_CODES, encodeRttCode } from "../tokens/rtt_code.ts";
import { BYTE_BASE, DST_IPV4, DST_IPV6, type Field, type TokenMeasurement } from "../tokens/vocab_v2.ts";
import type { Continuation } from "./byte_walks.ts";
import { contextThatFits, encodeMeasurement } from "./query_tokens.ts";
import { restricted, secondBytesOf } from "./rtt_bytes.ts";
import { rowOf } from "./token_rows.ts";

/** What destinations are asked for; they are of the source's IP version. */
export interface DestinationQuery {
  /** Source address, 4 or 16 bytes. */
  source: Uint8Array;
  /** The least and the greatest RTT, ms, both included; the same twice for one RTT code; null: no reply came. */
  rttMs: readonly [lowMs: number, highMs: number] | null;
  /** When, Unix seconds, or null for any time. */
  timeS: number | null;
  /** Measurements made before, oldest first; the newest that fit the model's sequence are used. */
  context: readonly TokenMeasurement[];
}

/** The order in which questions for destinations are written. */
export const DESTINATION_ORDER: readonly Field[] = ["source", "time", "result", "destination"];

/** The codes of the RTTs of a query, ascending; none where no reply came. @throws {UserError} If it has no RTT. */
export function codesOf({ rttMs }: Pick<DestinationQuery, "rttMs">): readonly number[] {
  if (!rttMs) return [];
  const [lowMs, highMs] = rttMs;
  if (!(lowMs >= 0 && lowMs <= highMs && highMs < Infinity)) {
    throw new UserError(
      `Cannot ask for destinations at an RTT of ${lowMs}..${highMs} ms: 0 or more, the lesser first, was wanted`,
    );
  }
  const [low, high] = [encodeRttCode(lowMs), encodeRttCode(highMs)];
  return [...CANONICAL_RTT_CODES.filter((code) => code >= low && code <= high)];
}

/** The context of a query that fits the model's sequence. @throws {UserError} If the query alone does not. */
export function destinationContextThatFits(
  query: DestinationQuery,
  sequenceLength: number,
): readonly TokenMeasurement[] {
  return contextThatFits({ ...query, destination: query.source }, sequenceLength);
}

/**
 * The tokens up to where the codes of a query part: the destination's bytes if it has one code or no reply, else
 * RttStart.
 */
export function encodeDestinationPrompt(query: DestinationQuery, sequenceLength: number): Uint16Array {
  const { source, timeS, context } = query;
  const codes = codesOf(query);
  const measurement = { source, destination: source, rttCode: codes[0] ?? null, timeS };
  const whole = encodeMeasurement(measurement, { context, order: DESTINATION_ORDER, sequenceLength });
  const numAfterResult = 1 + source.length;
  return whole.subarray(0, codes.length > 1 ? -numAfterResult - 2 : -source.length);
}

/** The tokens between the prompt of a query and the destination's bytes, for each of some codes. */
export function tailsOf(
  query: DestinationQuery,
  codes: readonly (number | null)[],
): readonly (readonly number[])[] {
  const role = query.source.length === 4 ? DST_IPV4 : DST_IPV6;
  if (codesOf(query).length <= 1) return codes.map(() => []);
  return codes.map((code) => {
    ensure(code !== null, "a range of RTTs has codes");
    return [BYTE_BASE + (code >> 8), BYTE_BASE + (code & 255), role];
  });
}

/** What follows the prompt of a query. */
export interface ReadPrompt {
  readonly decoder: Continuation;
  readonly config: ModelConfig;
  /** log P after the prompt, (V) nats. */
  readonly end: Float32Array;
}

/**
 * P(code | source, time, context) of each of the query's codes, up to a factor: byte 1, then byte 2.
 *
 * @returns One for each of {@link codesOf}; 1 for the only one.
 */
export async function codeProbabilities(query: DestinationQuery, prompt: ReadPrompt): Promise<Float64Array> {
  const codes = codesOf(query);
  if (codes.length <= 1) return Float64Array.from(codes, () => 1);
  const { decoder, config, end } = prompt;
  const V = vocabSize(config);
  const firsts = [...new Set(codes.map((code) => code >> 8))];
  decoder.fork([firsts.length]);
  const seconds = await decoder.step(firsts.map((byte) => BYTE_BASE + byte));
  const probabilities = new Map(
    firsts.flatMap((byte1, row) => {
      const bytes = secondBytesOf(byte1);
      const given = restricted(rowOf(seconds, row, V), bytes).probabilities;
      return bytes.map((byte2, i) => [byte1 << 8 | byte2, Math.exp(end[BYTE_BASE + byte1]) * given[i]]);
    }),
  );
  return Float64Array.from(codes, (code) => probabilities.get(code) ?? 0);
}

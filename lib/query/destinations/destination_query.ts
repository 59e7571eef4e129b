/** A question for destinations. @module */
import { UserError } from "../../base/errors.ts";
import { encodeRttCode } from "../../data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";

/** A question for destinations; they are of the source's IP version. */
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

/** The RTT codes of a range: the least and the greatest. @throws {UserError} If it is no range. */
export function codeRangeOf(
  [lowMs, highMs]: readonly [lowMs: number, highMs: number],
): readonly [low: number, high: number] {
  if (!(lowMs >= 0 && lowMs <= highMs && highMs < Infinity)) {
    throw new UserError(
      `Cannot ask for destinations at an RTT of ${lowMs}..${highMs} ms: expected 0 or more, the lesser first`,
    );
  }
  return [encodeRttCode(lowMs), encodeRttCode(highMs)];
}

/** The prefix length of a question. @throws {UserError} If it is invalid for the source's IP version. */
export function prefixLengthOf(
  { source }: Pick<DestinationQuery, "source">,
  length: number | undefined,
): number {
  const numBits = 8 * source.length;
  if (length === undefined) return numBits;
  if (Number.isInteger(length) && length >= 0 && length <= numBits) return length;
  throw new UserError(
    `Cannot ask for prefixes of ${length} bits: expected 0 to ${numBits} for the destinations of an IPv${
      numBits === 32 ? 4 : 6
    } source`,
  );
}

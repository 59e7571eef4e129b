/**
 * RTT distributions of many prompts on a model's decoders: whole, or where it matters.
 *
 * @module
 */
import type { TimedRtt } from "../../model/pair_history.ts";
import { BYTE_BASE, VOCAB_SIZE } from "../../tokens/vocab_v2.ts";
import type { ModelDecoders } from "../model_decoders.ts";
import { distributionOf, FIRST_BYTES, likelyFirstBytes } from "./rtt_bytes.ts";
import type { RttDistribution } from "./rtt_distribution.ts";
import { rowOf } from "../token_rows.ts";

const V = VOCAB_SIZE;
const FIRST_BYTE_TOKENS = FIRST_BYTES.map((byte) => BYTE_BASE + byte);

/** What RTT distributions are asked for, one entry each. */
export interface AskedRtts {
  /** Sequences that end with the role of an RTT. */
  readonly prompts: readonly Uint16Array[];
  /** The newest RTTs of their pairs, oldest first, where they are not those in the prompts. */
  readonly recents: readonly (readonly TimedRtt[] | undefined)[];
}

/**
 * Exact distributions.
 *
 * @param onProgress Told how many prompts are done.
 * @returns One distribution per prompt.
 */
export async function rttDistributions(
  decoders: ModelDecoders,
  { prompts, recents }: AskedRtts,
  onProgress: (done: number) => void,
): Promise<RttDistribution[]> {
  const results: RttDistribution[] = [];
  await decoders.withPrompts(prompts, FIRST_BYTES.length, async (decoder, group, begin) => {
    // Both are submitted before the first is awaited: a wait costs as much as the work of a few queries.
    const prefilled = decoder.prefill(group, { numLast: 2, recents: partOf(recents, group, begin) });
    decoder.fork(group.map(() => FIRST_BYTES.length));
    const stepped = decoder.step(group.flatMap(() => FIRST_BYTE_TOKENS));
    const [ends, seconds] = await Promise.all([prefilled, stepped]);
    const size = FIRST_BYTES.length * V;
    group.forEach((_, i) =>
      results.push(distributionOf({
        outcome: rowOf(ends, 2 * i, V),
        first: rowOf(ends, 2 * i + 1, V),
        seconds: seconds.subarray(i * size, (i + 1) * size),
      }))
    );
    onProgress(results.length);
  });
  return results;
}

/** What {@link likelyRttDistributions} may leave out, and who gets the distributions. */
export interface LikelyOptions {
  /** How much mass may be spread evenly within its first bytes. */
  maxSpreadMass: number;
  /** For each prompt the RTT code whose probability has to be exact, or null for none. */
  codes: readonly (number | null)[];
  /** Given each distribution in the order of the prompts; only a few are in memory at a time. */
  take: (distribution: RttDistribution, index: number) => void;
}

/** Distributions of which only the likeliest first bytes are continued. */
export async function likelyRttDistributions(
  decoders: ModelDecoders,
  { prompts, recents }: AskedRtts,
  { maxSpreadMass, codes, take }: LikelyOptions,
): Promise<void> {
  let done = 0;
  await decoders.withPrompts(prompts, FIRST_BYTES.length, async (decoder, group, begin) => {
    const ends = await decoder.prefill(group, { numLast: 2, recents: partOf(recents, group, begin) });
    const expanded = group.map((_, i) =>
      likelyFirstBytes(rowOf(ends, 2 * i + 1, V), { maxSpreadMass, code: codes[done + i] })
    );
    decoder.fork(expanded.map(({ length }) => length));
    const seconds = await decoder.step(expanded.flat().map((place) => FIRST_BYTE_TOKENS[place]));
    let row = 0;
    expanded.forEach((places, i) => {
      const rows = seconds.subarray(row * V, (row += places.length) * V);
      const [outcome, first] = [rowOf(ends, 2 * i, V), rowOf(ends, 2 * i + 1, V)];
      take(distributionOf({ outcome, first, expanded: places, seconds: rows }), done++);
    });
  });
}

function partOf<T>(values: readonly T[], group: readonly unknown[], begin: number): T[] {
  return values.slice(begin, begin + group.length);
}

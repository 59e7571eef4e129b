/**
 * RTT distributions of many prompts on a model's decoders: whole, or of the likeliest first bytes only.
 *
 * @module
 */
import type { TimedRtt } from "../../model/pair_history.ts";
import type { PooledForecast } from "../../model/pool/pool.ts";
import { BYTE_BASE, VOCAB_SIZE } from "../../data/tokens/vocab_v2.ts";
import { rowOf } from "../decoder_rows.ts";
import type { ModelDecoders } from "../model_decoders.ts";
import { distributionOf, FIRST_BYTES, firstBytesOfQuantiles, likelyFirstBytes } from "./rtt_bytes.ts";
import { RttArrays, type RttDistribution } from "./rtt_distribution.ts";

/** Of the distribution that is at hand: none is when something else runs. */
const arrays = new RttArrays();
const ALL_FIRST_BYTES = FIRST_BYTES.keys().toArray();

/** What RTT distributions are asked for, one entry each. */
export interface AskedRtts {
  /** Sequences that end with the role of an RTT. */
  readonly prompts: readonly Uint16Array[];
  /** The newest RTTs of their pairs, oldest first, where they are not those in the prompts. */
  readonly recents: readonly (readonly TimedRtt[] | undefined)[];
  /** What is known of each besides the model, where that counts. */
  readonly poolOf: (index: number) => PooledForecast | undefined;
}

/** Which first bytes are continued. The mass of the others is spread evenly within each of them. */
export type LikelyOptions = {
  /** The likeliest, but for so much mass together. */
  readonly maxSpreadMass: number;
  /** The RTT code of each prompt whose probability must be exact; null for none. */
  readonly codes: readonly (number | null)[];
} | {
  /** Those in which these quantiles of each prompt lie, from 0 to 1: these are exact, as is P(no reply). */
  readonly quantiles: (index: number) => readonly number[];
};

/**
 * Computes distributions.
 *
 * @param take Gets each distribution in the order of the prompts, which is valid until it returns.
 * @param likely Continues only the likeliest first bytes (default: all, which is exact).
 */
export async function rttDistributions(
  decoders: ModelDecoders,
  { prompts, recents, poolOf }: AskedRtts,
  take: (distribution: RttDistribution, index: number) => void,
  likely?: LikelyOptions,
): Promise<void> {
  const numQuantiles = likely && "quantiles" in likely
    ? Math.max(...prompts.map((_, i) => likely.quantiles(i).length))
    : Infinity;
  const numChildren = Math.min(2 * numQuantiles, FIRST_BYTES.length);
  await decoders.withPrompts(prompts, numChildren, function* (decoder, group, begin) {
    const ofGroup = recents.slice(begin, begin + group.length);
    const prefilled = decoder.prefill(group, { numLast: 2, recents: ofGroup });
    const pools = group.map((_, i) => poolOf(begin + i));
    let expanded = group.map(() => ALL_FIRST_BYTES);
    if (likely) {
      const [ends] = yield Promise.all([prefilled]);
      expanded = group.map((_, i) => {
        const first = rowOf(ends, 2 * i + 1);
        if ("quantiles" in likely) return firstBytesOfQuantiles(first, likely.quantiles(begin + i), pools[i]);
        const { maxSpreadMass, codes } = likely;
        return likelyFirstBytes(first, { maxSpreadMass, code: codes[begin + i] });
      });
    }
    decoder.fork(expanded.map(({ length }) => length));
    const stepped = decoder.step(expanded.flat().map((place) => BYTE_BASE + FIRST_BYTES[place]));
    const [ends, seconds] = yield Promise.all([prefilled, stepped]);
    let row = 0;
    expanded.forEach((places, i) => {
      const given = {
        outcome: rowOf(ends, 2 * i),
        first: rowOf(ends, 2 * i + 1),
        expanded: places,
        seconds: seconds.subarray(row * VOCAB_SIZE, (row += places.length) * VOCAB_SIZE),
      };
      take(distributionOf(given, { arrays, pool: pools[i] }), begin + i);
    });
    decoder.registry.gpu.recycle(ends, seconds);
  });
}

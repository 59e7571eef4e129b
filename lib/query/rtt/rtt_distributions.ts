/** Computes RTT distributions for many prompts, exactly or from their likeliest first bytes only. @module */
import type { TimedRtt } from "../../model/pair_history.ts";
import type { PooledForecast } from "../../model/pool/pool.ts";
import { BYTE_BASE, DST_IPV4, DST_IPV6, VOCAB_SIZE } from "../../data/tokens/vocab_v2.ts";
import type { Decoder } from "../../model/decoder.ts";
import { branchRows, rowOf } from "../decoder_rows.ts";
import type { ModelDecoders } from "../model_decoders.ts";
import { distributionOf, FIRST_BYTES, firstBytesOfQuantiles, likelyFirstBytes } from "./rtt_bytes.ts";
import { RttArrays, type RttDistribution } from "./rtt_distribution.ts";

/** Arrays of the current distribution, and of the same with another forecast. */
const [arrays, arraysOfOther] = [new RttArrays(), new RttArrays()];
/** The longest end of a prompt to read step by step: an IPv4 address and `RttStart`. */
const MAX_TAIL = 6;
const ALL_FIRST_BYTES = FIRST_BYTES.keys().toArray();

/** Prompts to compute RTT distributions for, with one entry each. */
interface AskedRtts {
  /** Sequences that end with the role token of an RTT. */
  readonly prompts: readonly Uint16Array[];
  /** The newest RTTs of their pairs, oldest first, if they differ from those in the prompts. */
  readonly recents: readonly (readonly TimedRtt[] | undefined)[];
  /** The simple forecast of each prompt, in a model with a pool. */
  readonly poolOf: (index: number) => PooledForecast | undefined;
}

/** Which first bytes to expand. The probability of each other one is spread evenly over its codes. */
export type LikelyOptions = {
  /** Maximum total probability of the first bytes that are not expanded; these are the least probable. */
  readonly maxSpreadMass: number;
  /** For each prompt, the RTT code whose probability must be exact; null for none. */
  readonly codes: readonly (number | null)[];
  /** Whether this also applies to the distributions without floors (false). */
  readonly withoutFloors?: boolean;
} | {
  /** Expands the first bytes that contain these quantiles of each prompt. They and P(no reply) are exact. */
  readonly quantilesOfEach: readonly (readonly number[])[];
};

/**
 * Receives a distribution, which is valid until it returns.
 *
 * @param mixedWith Computes the distribution with another forecast than that of the prompt, or with none.
 */
export type TakeDistribution = (
  distribution: RttDistribution,
  index: number,
  mixedWith: (change: ChangeForecast) => RttDistribution,
) => void;

export type ChangeForecast = (pool: PooledForecast | undefined) => PooledForecast | undefined;

/** Includes RTTs that are faster than light. */
export const withoutFloor: ChangeForecast = (pool) => pool && { ...pool, begin: 0, floorMs: 0 };

/**
 * Computes distributions in the order of the prompts. @param likely What to expand (default: all, which is
 * exact).
 */
export async function rttDistributions(
  decoders: ModelDecoders,
  { prompts, recents, poolOf }: AskedRtts,
  take: TakeDistribution,
  likely?: LikelyOptions,
): Promise<void> {
  const quantiles = likely && "quantilesOfEach" in likely ? likely.quantilesOfEach : undefined;
  const most = quantiles ? 2 * Math.max(...quantiles.map(({ length }) => length)) : Infinity;
  const numChildren = Math.min(most, FIRST_BYTES.length);
  const numTail = quantiles && recents.every((recent) => !recent) ? tailOf(prompts) : undefined;
  const by = { numChildren, ...(numTail !== undefined && { numTail }) };
  await decoders.withPrompts(prompts, by, function* (decoder, group, begin) {
    const ofGroup = recents.slice(begin, begin + group.length);
    const read = numTail === undefined
      ? readWhole(decoder, group, ofGroup)
      : readTree(decoder, group, numTail);
    const pools = group.map((_, i) => poolOf(begin + i));
    let expanded = group.map(() => ALL_FIRST_BYTES);
    if (likely) {
      const ends = yield read.ends;
      expanded = group.map((_, i) => {
        const { first } = read.rowsOf(ends, i);
        if ("quantilesOfEach" in likely) {
          return firstBytesOfQuantiles(first, likely.quantilesOfEach[begin + i], pools[i]);
        }
        const { maxSpreadMass, codes, withoutFloors } = likely;
        const asked = { maxSpreadMass, code: codes[begin + i] };
        const above = likelyFirstBytes(first, { ...asked, pool: pools[i] });
        if (!withoutFloors || !pools[i]?.begin) return above;
        return [...new Set([...likelyFirstBytes(first, asked), ...above])].sort((a, b) => a - b);
      });
    }
    const stepped = read.step(
      expanded.map((places) => places.map((place) => BYTE_BASE + FIRST_BYTES[place])),
    );
    const [seconds, ...ends] = yield Promise.all([stepped.logP, read.ends]).then((
      [each, ends],
    ) => [each, ...ends]);
    expanded.forEach((places, i) => {
      const row = stepped.firstRows[i];
      const given = {
        ...read.rowsOf(ends, i),
        expanded: places,
        seconds: seconds.subarray(row * VOCAB_SIZE, (row + places.length) * VOCAB_SIZE),
      };
      const pool = pools[i];
      const mixedWith = (change: ChangeForecast) =>
        distributionOf(given, { arrays: arraysOfOther, pool: change(pool) });
      take(distributionOf(given, { arrays, pool }), begin + i, mixedWith);
    });
    decoder.registry.gpu.recycle(...ends, seconds);
  });
}

/** Prompts read by a decoder, and the next step. */
interface ReadPrompts {
  /** The log-probabilities read back. */
  readonly ends: Promise<Float32Array[]>;
  /** A prompt's rows in `ends`: at the beginning of its result, and after `RttStart`. */
  rowsOf(ends: readonly Float32Array[], prompt: number): { outcome: Float32Array; first: Float32Array };
  /** Continues each prompt with some tokens. @returns Log-probabilities, and each prompt's first row. */
  step(tokens: readonly (readonly number[])[]): { logP: Promise<Float32Array>; firstRows: number[] };
}

function readWhole(
  decoder: Decoder,
  prompts: readonly Uint16Array[],
  recents: AskedRtts["recents"],
): ReadPrompts {
  return {
    ends: Promise.all([decoder.prefill(prompts, { numLast: 2, recents })]),
    rowsOf: ([ends], i) => ({ outcome: rowOf(ends, 2 * i), first: rowOf(ends, 2 * i + 1) }),
    step(tokens) {
      decoder.fork(tokens.map(({ length }) => length));
      let row = 0;
      const firstRows = tokens.map(({ length }) => (row += length) - length);
      return { logP: decoder.step(tokens.flat()), firstRows };
    },
  };
}

/**
 * Reads shared beginnings of prompts once, then the last tokens step by step, once per distinct prefix. For
 * one source with many destinations this is a quarter of the tokens.
 */
function readTree(decoder: Decoder, prompts: readonly Uint16Array[], numTail: number): ReadPrompts {
  const begins = prompts.map((prompt) => prompt.subarray(0, -numTail));
  const different = new Map(begins.map((begin) => [begin.join(), begin]));
  const places = new Map([...different.keys()].map((key, i) => [key, i]));
  const ends = [decoder.prefill([...different.values()])];
  decoder.fork([...different].map(() => 1));
  let rows: Uint32Array = Uint32Array.from(begins, (begin) => places.get(begin.join()) ?? 0);
  let outcomeRows = rows;
  for (let left = numTail; left > 0; left--) {
    outcomeRows = rows;
    const next = branchRows(rows, prompts.map((prompt) => prompt[prompt.length - left]));
    rows = next.rows;
    if (left > 2) decoder.append(next.tokens, next.parents);
    else ends.push(decoder.step(next.tokens, next.parents));
  }
  return {
    ends: Promise.all(ends),
    rowsOf: ([, outcomes, firsts], i) => ({
      outcome: rowOf(outcomes, outcomeRows[i]),
      first: rowOf(firsts, rows[i]),
    }),
    step(tokens) {
      const order = [...tokens.keys()].sort((a, b) => rows[a] - rows[b]);
      const firstRows = tokens.map(() => 0);
      let row = 0;
      for (const i of order) firstRows[i] = (row += tokens[i].length) - tokens[i].length;
      const parents = Uint32Array.from(order.flatMap((i) => tokens[i].map(() => rows[i])));
      return { logP: decoder.step(order.flatMap((i) => tokens[i]), parents), firstRows };
    },
  };
}

/** Number of tokens of each prompt from the destination on; undefined if it differs or is too large. */
function tailOf(prompts: readonly Uint16Array[]): number | undefined {
  if (prompts.length < 2) return undefined;
  const lengths = prompts.map((prompt) =>
    prompt.length - Math.max(prompt.lastIndexOf(DST_IPV4), prompt.lastIndexOf(DST_IPV6))
  );
  const isShort = lengths[0] <= MAX_TAIL && lengths.every((length) => length === lengths[0]);
  return isShort ? lengths[0] : undefined;
}

/**
 * Features of the newest RTTs of a pair, which predict its next RTT: the model looks up values instead of
 * memorising them, as in k-nearest-neighbour language models (Khandelwal et al., ICLR 2020).
 *
 * @module
 */

/** Maximum number of a pair's newest RTTs that are used. */
export const NUM_HISTORY_RTTS = 9;
/** The typical value is the median of this many newest RTTs: better than 3, 9 or 20 on real pairs. */
const NUM_TYPICAL = 5;

const NUM_COUNTS = 4;
const NUM_WIDTHS = 12;
export const NUM_SPREADS = NUM_COUNTS * NUM_WIDTHS;
/** Number of age classes: unknown, and powers of two of seconds, up to half a year. */
export const NUM_AGES = 26;

export interface RttHistory {
  /** The median of the newest RTTs' codes; the lower one if there are two middle ones. */
  readonly typicalCode: number;
  readonly newestCode: number;
  /** The class of the number of RTTs and their spread, 0..{@link NUM_SPREADS} - 1. */
  readonly spread: number;
  /** The class of the newest RTT's age, 0..{@link NUM_AGES} - 1; 0 for unknown. */
  readonly age: number;
}

/** Overwritten by each call of {@link rttHistoryOf}, which runs for every measurement in training. */
const SORTED_CODES = new Uint16Array(NUM_HISTORY_RTTS);

/**
 * @param codes RTT codes, newest first.
 * @param count Number of `codes`; codes after the first {@link NUM_HISTORY_RTTS} are ignored.
 * @param ageS Seconds between the newest RTT and the one to predict; null if unknown.
 * @returns Undefined if there are no RTTs.
 */
export function rttHistoryOf(
  codes: ArrayLike<number>,
  count: number,
  ageS: number | null,
): RttHistory | undefined {
  if (count === 0) return undefined;
  const sorted = SORTED_CODES;
  let typicalCode = codes[0];
  let size = 0;
  while (size < Math.min(count, NUM_HISTORY_RTTS)) {
    const code = codes[size];
    let at = size++;
    for (; at > 0 && sorted[at - 1] > code; at--) sorted[at] = sorted[at - 1];
    sorted[at] = code;
    if (size <= NUM_TYPICAL) typicalCode = sorted[(size - 1) >> 1];
  }
  // The interquartile range in codes, that is, in steps of at most 0.1 %.
  const width = sorted[Math.floor((3 * size - 1) / 4)] - sorted[Math.floor(size / 4)];
  const spread = Math.min(NUM_WIDTHS - 1, Math.ceil(Math.log2(1 + Math.max(0, width))));
  const age = ageS === null ? 0 : Math.min(NUM_AGES - 1, 1 + Math.floor(Math.log2(1 + Math.max(0, ageS))));
  const countClass = Math.floor(Math.log2(size));
  return { typicalCode, newestCode: codes[0], spread: countClass * NUM_WIDTHS + spread, age };
}

export const PACKED_HISTORY = 2;

/** Packs features into {@link PACKED_HISTORY} numbers, which are not all 0. */
export function packHistory(
  { typicalCode, newestCode, spread, age }: RttHistory,
  packed: Uint32Array,
  at: number,
): void {
  packed[at] = typicalCode << 16 | newestCode;
  packed[at + 1] = spread << 16 | age;
}

/** Unpacks the result of {@link packHistory}; undefined if all numbers are 0. */
export function unpackHistory(packed: Uint32Array, at: number): RttHistory | undefined {
  const [codes, classes] = [packed[at], packed[at + 1]];
  if (codes === 0) return undefined;
  return {
    typicalCode: codes >>> 16,
    newestCode: codes & 0xffff,
    spread: classes >>> 16,
    age: classes & 0xffff,
  };
}

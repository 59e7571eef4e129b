/**
 * What the newest RTTs of a pair say about its next one: what a model would have to learn by heart is recalled, as in
 * k-nearest-neighbour language models (Khandelwal et al., ICLR 2020).
 *
 * @module
 */

/** How many of a pair's RTTs are recalled at most, the newest ones. */
export const NUM_RECALLED = 9;
/** Of how many of them, the newest, the median is typical: of real pairs nearer to the next RTT than that of 3, 9 or 20. */
const NUM_TYPICAL = 5;

const NUM_COUNTS = 4;
const NUM_WIDTHS = 12;
/** How many spreads are told apart. */
export const NUM_SPREADS = NUM_COUNTS * NUM_WIDTHS;
/** How many ages are told apart: unknown, and powers of two of seconds, up to half a year. */
export const NUM_AGES = 26;

/** What is recalled of a pair. */
export interface RttRecall {
  /** The median of the newest RTTs' codes, the lower one of two. */
  readonly typicalCode: number;
  /** The code of the newest RTT. */
  readonly newestCode: number;
  /** How many RTTs there are and how far they lie from each other, 0..{@link NUM_SPREADS} - 1. */
  readonly spread: number;
  /** How old the newest one is, 0 if that is not known, ..{@link NUM_AGES} - 1. */
  readonly age: number;
}

/** Written anew by each call of {@link recallRtts}, which every measurement of the training takes. */
const SORTED_CODES = new Uint16Array(NUM_RECALLED);

/**
 * What is recalled of RTTs.
 *
 * @param codes RTT codes, the newest first.
 * @param count How many of `codes` there are; of more than {@link NUM_RECALLED} the older ones do not count.
 * @param ageS How long before the RTT that is asked for the newest one was measured; null if that is not known.
 * @returns Undefined without an RTT.
 */
export function recallRtts(
  codes: ArrayLike<number>,
  count: number,
  ageS: number | null,
): RttRecall | undefined {
  if (count === 0) return undefined;
  const sorted = SORTED_CODES;
  let typicalCode = codes[0];
  let size = 0;
  while (size < Math.min(count, NUM_RECALLED)) {
    const code = codes[size];
    let at = size++;
    for (; at > 0 && sorted[at - 1] > code; at--) sorted[at] = sorted[at - 1];
    sorted[at] = code;
    if (size <= NUM_TYPICAL) typicalCode = sorted[(size - 1) >> 1];
  }
  // The middle half's width: in codes, which are steps of 0.1 % at most.
  const width = sorted[Math.floor((3 * size - 1) / 4)] - sorted[Math.floor(size / 4)];
  const spread = Math.min(NUM_WIDTHS - 1, Math.ceil(Math.log2(1 + Math.max(0, width))));
  const age = ageS === null ? 0 : Math.min(NUM_AGES - 1, 1 + Math.floor(Math.log2(1 + Math.max(0, ageS))));
  const countClass = Math.floor(Math.log2(size));
  return { typicalCode, newestCode: codes[0], spread: countClass * NUM_WIDTHS + spread, age };
}

/** Numbers of a packed recall. */
export const PACKED_RECALL = 2;

/** Writes a recall as {@link PACKED_RECALL} numbers, which are not all 0. */
export function packRecall(
  { typicalCode, newestCode, spread, age }: RttRecall,
  packed: Uint32Array,
  at: number,
): void {
  packed[at] = typicalCode << 16 | newestCode;
  packed[at + 1] = spread << 16 | age;
}

/** Reads what {@link packRecall} wrote; undefined where there are zeros. */
export function unpackRecall(packed: Uint32Array, at: number): RttRecall | undefined {
  const [codes, classes] = [packed[at], packed[at + 1]];
  if (codes === 0) return undefined;
  return {
    typicalCode: codes >>> 16,
    newestCode: codes & 0xffff,
    spread: classes >>> 16,
    age: classes & 0xffff,
  };
}

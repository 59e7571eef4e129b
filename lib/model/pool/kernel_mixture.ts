/**
 * Mixtures of Laplace kernels in the logarithm of the RTT, as probabilities of RTT codes: kernel density
 * estimation (Silverman, "Density Estimation for Statistics and Data Analysis", 1986).
 *
 * The probability of a code is the kernel's mass between the edges of the code's bucket. Wide kernels are
 * evaluated only at the edges of blocks of {@link BLOCK_CODES} codes and are even within a block, which is
 * faster.
 *
 * @module
 */
import { getOrMake, partitionPoint } from "../../base/collections.ts";
import { CANONICAL_RTT_CODES, encodeRttCode, rttCodeBounds } from "../../data/tokens/rtt_code.ts";

export const NUM_CODES: number = CANONICAL_RTT_CODES.length;
/** Codes that a wide kernel does not distinguish; above 1.024 ms they span 0.4 to 0.8 %. */
const BLOCK_CODES = 8;
/** Kernels of at least this width are wide. */
const WIDE = 0.03;
/** Each code below this index is its own block, since its bucket is wide. */
const FIRST_BLOCK = 1023;
/** The index of the first code of each of the 132 first bytes, then the number of codes. */
export const FIRST_INDEXES: readonly number[] = [
  ...CANONICAL_RTT_CODES.keys().filter((i) =>
    i === 0 || CANONICAL_RTT_CODES[i - 1] >> 8 !== CANONICAL_RTT_CODES[i] >> 8
  ),
  NUM_CODES,
];
/** Tails of a kernel may be cut where less than this share of its mass is left. */
const NEGLIGIBLE = 1e-11;

/** Lower edges of the codes' buckets, ln ms, (codes + 1): from -Infinity to Infinity. */
const EDGES = Float64Array.from(
  { length: NUM_CODES + 1 },
  (_, i) => i < NUM_CODES ? Math.log(rttCodeBounds(CANONICAL_RTT_CODES[i]).lowMs) : Infinity,
);
/** The first code of each block, then the number of codes. */
const KNOTS = Uint32Array.from(
  { length: FIRST_BLOCK + (NUM_CODES - FIRST_BLOCK) / BLOCK_CODES + 1 },
  (_, i) => i < FIRST_BLOCK ? i : FIRST_BLOCK + (i - FIRST_BLOCK) * BLOCK_CODES,
);
const KNOT_EDGES = Float64Array.from(KNOTS, (code) => EDGES[code]);

/** The index of a code among the canonical codes. @param code A canonical code. */
export function indexOfCode(code: number): number {
  const exponent = code >> 11;
  return exponent === 0 ? code - 1 : 2047 + (exponent - 1) * 1024 + (code & 1023);
}

/** The index of the first code whose bucket begins at an RTT in ms or above it. */
export function indexFrom(rttMs: number): number {
  const code = encodeRttCode(rttMs);
  const index = indexOfCode(code);
  return Math.min(NUM_CODES - 1, rttCodeBounds(code).lowMs < rttMs ? index + 1 : index);
}

const LOGS = Float64Array.from(CANONICAL_RTT_CODES, (code) => {
  const { lowMs, highMs } = rttCodeBounds(code);
  return Math.log((lowMs + Math.min(highMs, 2 * lowMs || highMs)) / 2);
});

/** The middle of a code's bucket, ln ms. @param code A canonical code. */
export function logOfCode(code: number): number {
  return LOGS[indexOfCode(code)];
}

/** The same by the index of the code; the last code's for an index after it. */
export function logOfIndex(index: number): number {
  return LOGS[Math.min(index, NUM_CODES - 1)];
}

export interface Kernel {
  /** The centre, ln ms. */
  readonly log: number;
  /** The mean distance from the centre. */
  readonly width: number;
  readonly mass: number;
}

/** Kernels of one width, ascending, with the indexes of the codes that contain their centres. */
interface KernelGroup {
  readonly width: number;
  readonly kernels: readonly Kernel[];
  readonly codes: readonly number[];
}

/** Kernels within a range of codes, plus a probability that is even over the range. */
export class KernelMixture {
  readonly #kernels: readonly Kernel[];
  #groups: readonly KernelGroup[] | undefined;
  readonly #first: number;
  readonly #end: number;
  readonly #even: number;
  /** The share of the kernels' mass within the range; kernels are divided by it. */
  readonly #within: number;
  /** The kernels' mass below the range. */
  readonly #before: number;

  /**
   * @param kernels Centres outside the range are moved to its nearest edge. The masses and `even` sum to 1.
   * @param range Indexes of the first code that may occur and of the code after the last one. Other codes
   *   have the probability 0.
   * @param even A probability that the codes of the range share evenly.
   */
  constructor(kernels: readonly Kernel[], range: readonly [first: number, end: number], even = 0) {
    [this.#first, this.#end] = range;
    const [least, greatest] = [EDGES[this.#first], EDGES[this.#end]];
    this.#kernels = kernels.map((kernel) => {
      const log = Math.min(greatest, Math.max(least, kernel.log));
      return log === kernel.log ? kernel : { ...kernel, log };
    });
    this.#even = even;
    let mass = 0;
    let outside = 0;
    this.#before = 0;
    for (const kernel of this.#kernels) {
      const before = massBefore(this.#first, kernel);
      mass += kernel.mass;
      outside += kernel.mass * (before + massFrom(this.#end, kernel));
      this.#before += kernel.mass * before;
    }
    this.#within = mass > 0 ? 1 - outside / mass : 1;
  }

  /** P(first <= index of the code < end). @param first At most `end`. */
  massBetween(first: number, end: number): number {
    const from = Math.max(first, this.#first);
    const to = Math.min(end, this.#end);
    if (from >= to) return 0;
    const even = this.#even * (to - from) / (this.#end - this.#first);
    if (this.#kernels.length === 0) return even;
    const below = () => from === this.#first ? this.#before : this.#below(from);
    return even + (to === from + 1 ? this.#massAt(from) : this.#below(to) - below()) / this.#within;
  }

  /**
   * Adds the probability of codes, times `factor`, to an array.
   *
   * @param everywhere Added to every code in addition, including those outside the range.
   * @param codes Indexes of the first code and of the one after the last (default: all).
   */
  addTo(
    out: Float64Array,
    factor: number,
    everywhere = 0,
    [from, to]: readonly [from: number, to: number] = [0, NUM_CODES],
  ): void {
    const first = Math.min(to, Math.max(from, this.#first));
    const end = Math.max(first, Math.min(to, this.#end));
    const blocks = [blockOf(first), blockOf(end - 1) + 1] as const;
    BLOCKS.fill(0, ...blocks);
    for (const group of first < end ? this.#byWidth() : []) {
      if (group.width >= WIDE) addKernels(BLOCKS, WIDE_GRID, { ...group, range: blocks });
      else addKernels(out, CODE_GRID, { ...group, factor: factor / this.#within, range: [first, end] });
    }
    const even = everywhere + factor * this.#even / (this.#end - this.#first);
    for (let i = from; i < first; i++) out[i] += everywhere;
    for (let i = end; i < to; i++) out[i] += everywhere;
    const within = this.#within;
    for (let block = blockOf(first), i = first; i < end; block++) {
      const next = KNOTS[block + 1];
      const each = even + BLOCKS[block] * factor / within / (next - KNOTS[block]);
      if (next - i === BLOCK_CODES && next <= end) {
        // The usual case, except for the shortest RTTs; faster than a loop.
        out[i] += each;
        out[i + 1] += each;
        out[i + 2] += each;
        out[i + 3] += each;
        out[i + 4] += each;
        out[i + 5] += each;
        out[i + 6] += each;
        out[i + 7] += each;
        i = next;
      } else {
        for (const last = Math.min(end, next); i < last; i++) out[i] += each;
      }
    }
  }

  /**
   * Adds the probability of all codes of each first byte, times `factor`, to an array.
   *
   * @param out (first bytes).
   * @param everywhere Added for every code in addition, including those outside the range.
   */
  addToFirstBytes(out: Float64Array, factor: number, everywhere = 0): void {
    const inside = partitionPoint(out.length, (place) => FIRST_INDEXES[place] >= this.#first);
    const end = partitionPoint(out.length, (place) => FIRST_INDEXES[place + 1] > this.#end);
    for (const group of this.#byWidth()) {
      addKernels(out, BYTE_GRID, { ...group, factor: factor / this.#within, range: [inside, end] });
    }
    const even = factor * this.#even / (this.#end - this.#first);
    for (let place = 0; place < out.length; place++) {
      const [first, next] = [FIRST_INDEXES[place], FIRST_INDEXES[place + 1]];
      out[place] += everywhere * (next - first);
      if (place >= inside && place < end) out[place] += even * (next - first);
      else out[place] += factor * this.massBetween(first, next);
    }
  }

  #byWidth(): readonly KernelGroup[] {
    if (this.#groups) return this.#groups;
    const byWidth = new Map<number, Kernel[]>();
    for (const kernel of this.#kernels) getOrMake(byWidth, kernel.width, () => []).push(kernel);
    return this.#groups = Array.from(byWidth, ([width, kernels]) => {
      kernels.sort((a, b) => a.log - b.log);
      return { width, kernels, codes: kernels.map(({ log }) => indexOfLog(log)) };
    });
  }

  /** The kernels' mass in one code. A difference of cumulative masses would lose the digits of small ones. */
  #massAt(index: number): number {
    const block = blockOf(index);
    let sum = 0;
    for (const { log, width, mass } of this.#kernels) {
      sum += width >= WIDE
        ? mass * between(KNOT_EDGES[block], KNOT_EDGES[block + 1], log, width) /
          (KNOTS[block + 1] - KNOTS[block])
        : mass * between(EDGES[index], EDGES[index + 1], log, width);
    }
    return sum;
  }

  /** The kernels' mass below a code. */
  #below(index: number): number {
    let sum = 0;
    for (const kernel of this.#kernels) sum += kernel.mass * massBefore(index, kernel);
    return sum;
  }
}

/** The share of a kernel's mass below a code. */
function massBefore(index: number, { log, width }: Omit<Kernel, "mass">): number {
  if ((log - EDGES[index]) / width > FAR) return 0;
  if (width < WIDE) return below(EDGES[index], log, width);
  const block = blockOf(index);
  const share = (index - KNOTS[block]) / (KNOTS[block + 1] - KNOTS[block]);
  return below(KNOT_EDGES[block], log, width) +
    (share > 0 ? share * between(KNOT_EDGES[block], KNOT_EDGES[block + 1], log, width) : 0);
}

/** The share of a kernel's mass from a code on. */
function massFrom(index: number, { log, width }: Omit<Kernel, "mass">): number {
  return (EDGES[index] - log) / width > FAR ? 0 : 1 - massBefore(index, { log, width });
}

/** Distance from the centre, in widths, beyond which a kernel's mass is negligible: 3e-14. */
const FAR = 31;

/** Distance from the centre, in widths, beyond which 1 minus the tail is 1 in float64. */
const WHOLE = 38;

/** The block of a code; for the end of all codes the last block. */
function blockOf(index: number): number {
  return Math.min(
    KNOTS.length - 2,
    index < FIRST_BLOCK ? index : FIRST_BLOCK + Math.floor((index - FIRST_BLOCK) / BLOCK_CODES),
  );
}

/** The mass of a Laplace distribution below a value. */
function below(high: number, centre: number, width: number): number {
  if (high <= centre) return tail(centre - high, width);
  const distance = high - centre;
  return distance > WHOLE * width ? 1 : 1 - tail(distance, width);
}

/** The mass of a Laplace distribution between two values. */
function between(low: number, high: number, centre: number, width: number): number {
  if (low >= centre) return tail(low - centre, width) - tail(high - centre, width);
  if (high <= centre) return tail(centre - high, width) - tail(centre - low, width);
  return 1 - tail(centre - low, width) - tail(high - centre, width);
}

/** The mass of one tail, beyond a distance from the centre. */
function tail(distance: number, width: number): number {
  return 0.5 * Math.exp(-distance / width);
}

/** The index of the code whose bucket contains a logarithm of ms. */
function indexOfLog(log: number): number {
  const index = indexOfCode(encodeRttCode(Math.exp(log)));
  if (EDGES[index] > log) return index - 1;
  return EDGES[index + 1] <= log ? index + 1 : index;
}

/** Cell edges, ln ms, and for each kernel width the factor by which a tail falls across each cell. */
interface Grid {
  readonly edges: Float64Array;
  readonly falls: Map<number, Float64Array>;
  /** The cell of a code. */
  readonly cellOf: (index: number) => number;
}

/** For each code the place of its first byte in {@link FIRST_INDEXES}. */
const PLACES = new Uint8Array(NUM_CODES);
FIRST_INDEXES.slice(0, -1).forEach((first, place) => PLACES.fill(place, first, FIRST_INDEXES[place + 1]));

const CODE_GRID: Grid = { edges: EDGES, falls: new Map(), cellOf: (index) => index };
const WIDE_GRID: Grid = { edges: KNOT_EDGES, falls: new Map(), cellOf: blockOf };
const BYTE_GRID: Grid = {
  edges: Float64Array.from(FIRST_INDEXES, (code) => EDGES[code]),
  falls: new Map(),
  cellOf: (index) => PLACES[index],
};

/** The mass of each block; every mixture overwrites it. */
const BLOCKS = new Float64Array(KNOTS.length - 1);

/**
 * Adds kernels of one width to the cells of a grid. All their tails fall by the same factor from cell to
 * cell, so one pass upwards and one downwards carry the sum of all tails, for as long as it is not
 * negligible.
 */
function addKernels(
  out: Float64Array,
  { edges, falls, cellOf }: Grid,
  { width, kernels, codes, factor = 1, range: [first, end] }: KernelGroup & {
    readonly factor?: number;
    readonly range: readonly [number, number];
  },
): void {
  // There are few widths: see `kernelWidth`.
  const fall = getOrMake(
    falls,
    width,
    () =>
      Float64Array.from({ length: edges.length - 1 }, (_, i) => Math.exp((edges[i] - edges[i + 1]) / width)),
  );
  const cells = codes.map(cellOf);
  const least = NEGLIGIBLE * factor * kernels.reduce((sum, { mass }) => sum + mass, 0);
  let carried = 0;
  for (let i = cells[0], k = 0; i < end;) {
    let rest = carried * fall[i];
    let own = carried - rest;
    for (; cells[k] === i; k++) {
      const mass = factor * kernels[k].mass;
      const above = 0.5 * mass * Math.exp((kernels[k].log - edges[i + 1]) / width);
      own += mass - above - 0.5 * mass * Math.exp((edges[i] - kernels[k].log) / width);
      rest += above;
    }
    if (i >= first) out[i] += own;
    carried = rest;
    const next = k < cells.length ? Math.min(end, cells[k]) : end;
    i++;
    if (i < first) {
      const to = Math.min(first, next);
      carried *= Math.exp((edges[i] - edges[to]) / width);
      i = to;
    }
    for (; i < next && carried >= least; i++) {
      const rest = carried * fall[i];
      if (i >= first) out[i] += carried - rest;
      carried = rest;
    }
    if (carried < least) carried = 0;
    i = next;
  }
  carried = 0;
  for (let k = cells.length - 1, i = cells[k]; i >= first;) {
    let rest = carried * fall[i];
    if (i < end) out[i] += carried - rest;
    for (; cells[k] === i; k--) {
      rest += 0.5 * factor * kernels[k].mass * Math.exp((edges[i] - kernels[k].log) / width);
    }
    carried = rest;
    const next = k >= 0 ? Math.max(first - 1, cells[k]) : first - 1;
    i--;
    if (i >= end) {
      const to = Math.max(end - 1, next);
      carried *= Math.exp((edges[to + 1] - edges[i + 1]) / width);
      i = to;
    }
    for (; i > next && carried >= least; i--) {
      const rest = carried * fall[i];
      if (i < end) out[i] += carried - rest;
      carried = rest;
    }
    if (carried < least) carried = 0;
    i = next;
  }
}

/**
 * A kernel of any width, as kernels of the nearest half octaves below and above, so that there are few
 * different widths and the sum changes continuously with the width.
 *
 * @param kernel Its width is above 0.
 */
export function kernelsOfWidth({ log, width, mass }: Kernel): Kernel[] {
  const octaves = 2 * Math.log2(width);
  const below = Math.floor(octaves);
  const above = octaves - below;
  const narrow = { log, width: 2 ** (below / 2), mass: (1 - above) * mass };
  return above === 0 ? [narrow] : [narrow, { log, width: 2 ** ((below + 1) / 2), mass: above * mass }];
}

/** Rounds a width to half octaves, so that there are few different ones. @param width Above 0. */
export function kernelWidth(width: number): number {
  return 2 ** (Math.round(2 * Math.log2(width)) / 2);
}

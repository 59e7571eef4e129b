/**
 * Mixtures of Laplace kernels in the logarithm of the RTT, as probabilities of RTT codes: kernel density estimation
 * (Silverman, "Density Estimation for Statistics and Data Analysis", 1986).
 *
 * The mass of a code is the kernel's between the ends of the code's bucket. A wide kernel is evaluated at the ends of
 * {@link BLOCK_CODES} codes and is even among them, which is faster.
 *
 * @module
 */
import { getOrMake, partitionPoint } from "../../base/collections.ts";
import { CANONICAL_RTT_CODES, encodeRttCode, rttCodeBounds } from "../../data/tokens/rtt_code.ts";

export const NUM_CODES: number = CANONICAL_RTT_CODES.length;
/** Codes that a wide kernel does not tell apart; above 1.024 ms they span 0.4 to 0.8 %. */
export const BLOCK_CODES = 8;
/** Kernels of at least this width are wide. */
export const WIDE = 0.03;
/** Codes below this index are blocks of their own: their buckets are wide. */
const FIRST_BLOCK = 1023;
/** Mass that a kernel may lack at its ends. */
const NEGLIGIBLE = 1e-11;

/** Where the buckets of codes begin, ln ms, (codes + 1): from -Infinity to Infinity. */
const EDGES = Float64Array.from(
  { length: NUM_CODES + 1 },
  (_, i) => i < NUM_CODES ? Math.log(rttCodeBounds(CANONICAL_RTT_CODES[i]).lowMs) : Infinity,
);
/** The first code of each block, and the number of codes. */
const KNOTS = Uint32Array.from(
  { length: FIRST_BLOCK + (NUM_CODES - FIRST_BLOCK) / BLOCK_CODES + 1 },
  (_, i) => i < FIRST_BLOCK ? i : FIRST_BLOCK + (i - FIRST_BLOCK) * BLOCK_CODES,
);
const KNOT_EDGES = Float64Array.from(KNOTS, (code) => EDGES[code]);

/** The index among the canonical codes of a code. @param code A canonical code. */
export function indexOfCode(code: number): number {
  const exponent = code >> 11;
  return exponent === 0 ? code - 1 : 2047 + (exponent - 1) * 1024 + (code & 1023);
}

/** The index of the first code whose bucket begins at an RTT or later, ms. */
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

export interface Kernel {
  /** Its centre, ln ms. */
  readonly log: number;
  /** The mean distance from the centre. */
  readonly width: number;
  readonly mass: number;
}

/** Kernels within a range of codes, and an even mass over the range. */
export class KernelMixture {
  readonly #kernels: readonly Kernel[];
  readonly #first: number;
  readonly #end: number;
  readonly #even: number;
  /** The divisor of the kernels: the share of their mass within the range. */
  readonly #within: number;
  /** The kernels' mass of all codes before the range. */
  readonly #before: number;

  /**
   * @param kernels Kernels; a centre outside of the range counts as at its end. Their masses add to 1 with `even`.
   * @param range Indexes of the first code that may occur, and of the first after them; others have no mass.
   * @param even A mass that the codes of the range share evenly.
   */
  constructor(kernels: readonly Kernel[], range: readonly [first: number, end: number], even = 0) {
    [this.#first, this.#end] = range;
    const [least, greatest] = [EDGES[this.#first], EDGES[this.#end]];
    this.#kernels = kernels.map(({ log, width, mass }) => ({
      log: Math.min(greatest, Math.max(least, log)),
      width,
      mass,
    }));
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
   * Adds the probability of every code to an array.
   *
   * @param everywhere Added to every code in addition, also outside of the range.
   */
  addTo(out: Float64Array, factor: number, everywhere = 0): void {
    const range = [this.#first, this.#end] as const;
    BLOCKS.fill(0);
    for (const [width, kernels] of this.#byWidth()) {
      if (width >= WIDE) addKernels(BLOCKS, WIDE_GRID, { width, kernels });
      else addKernels(out, CODE_GRID, { width, kernels, factor: factor / this.#within, range });
    }
    const even = everywhere + factor * this.#even / (this.#end - this.#first);
    for (let i = 0; i < this.#first; i++) out[i] += everywhere;
    for (let i = this.#end; i < out.length; i++) out[i] += everywhere;
    const [end, within] = [this.#end, this.#within];
    for (let block = blockOf(this.#first), i = this.#first; i < end; block++) {
      const next = KNOTS[block + 1];
      const each = even + BLOCKS[block] * factor / within / (next - KNOTS[block]);
      if (next - i === BLOCK_CODES && next <= end) {
        // Faster than a loop: all blocks but the shortest RTTs'.
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

  #byWidth(): Map<number, Kernel[]> {
    const byWidth = new Map<number, Kernel[]>();
    for (const kernel of this.#kernels) getOrMake(byWidth, kernel.width, () => []).push(kernel);
    return byWidth;
  }

  /** The kernels' mass of one code. A difference of distribution functions would lose the digits of a small one. */
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

  /** The kernels' mass of all codes before one. */
  #below(index: number): number {
    let sum = 0;
    for (const kernel of this.#kernels) sum += kernel.mass * massBefore(index, kernel);
    return sum;
  }
}

/** The share of a kernel's mass before a code. */
function massBefore(index: number, { log, width }: Omit<Kernel, "mass">): number {
  if ((log - EDGES[index]) / width > FAR) return 0;
  if (width < WIDE) return between(-Infinity, EDGES[index], log, width);
  const block = blockOf(index);
  const share = (index - KNOTS[block]) / (KNOTS[block + 1] - KNOTS[block]);
  return between(-Infinity, KNOT_EDGES[block], log, width) +
    (share > 0 ? share * between(KNOT_EDGES[block], KNOT_EDGES[block + 1], log, width) : 0);
}

/** The share from a code on. */
function massFrom(index: number, { log, width }: Omit<Kernel, "mass">): number {
  return (EDGES[index] - log) / width > FAR ? 0 : 1 - massBefore(index, { log, width });
}

/** Widths from a centre beyond which a kernel has no mass to speak of, 3e-14. */
const FAR = 31;

/** The block of a code, or the last one for the end of all. */
function blockOf(index: number): number {
  return Math.min(
    KNOTS.length - 2,
    index < FIRST_BLOCK ? index : FIRST_BLOCK + Math.floor((index - FIRST_BLOCK) / BLOCK_CODES),
  );
}

/** The mass of a Laplace distribution between two values. */
function between(low: number, high: number, centre: number, width: number): number {
  if (low >= centre) return tail(low - centre, width) - tail(high - centre, width);
  if (high <= centre) return tail(centre - high, width) - tail(centre - low, width);
  return 1 - tail(centre - low, width) - tail(high - centre, width);
}

/** The mass beyond a distance from the centre, on one side. */
function tail(distance: number, width: number): number {
  return 0.5 * Math.exp(-distance / width);
}

/** Where cells begin, ln ms, and by width of the kernel the factor by which its tail falls within each cell. */
interface Grid {
  readonly edges: Float64Array;
  readonly falls: Map<number, Float64Array>;
}

const CODE_GRID: Grid = { edges: EDGES, falls: new Map() };
const WIDE_GRID: Grid = { edges: KNOT_EDGES, falls: new Map() };

/** The mass of blocks; overwritten by each mixture. */
const BLOCKS = new Float64Array(KNOTS.length - 1);

/**
 * Adds kernels of one width to the cells of a grid. The tails of all of them fall alike from cell to cell, so one pass
 * upwards and one downwards carry them, as far as there is any.
 */
function addKernels(
  out: Float64Array,
  { edges, falls }: Grid,
  { width, kernels, factor = 1, range: [first, end] = [0, out.length] }: {
    width: number;
    kernels: Kernel[];
    factor?: number;
    range?: readonly [number, number];
  },
): void {
  // Widths are few: see `kernelWidth`.
  const fall = getOrMake(
    falls,
    width,
    () =>
      Float64Array.from({ length: edges.length - 1 }, (_, i) => Math.exp((edges[i] - edges[i + 1]) / width)),
  );
  kernels.sort((a, b) => a.log - b.log);
  const cells = kernels.map(({ log }) => partitionPoint(edges.length, (i) => edges[i] > log) - 1);
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
    for (i++; i < next && carried >= least; i++) {
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
    for (i--; i > next && carried >= least; i--) {
      const rest = carried * fall[i];
      if (i < end) out[i] += carried - rest;
      carried = rest;
    }
    if (carried < least) carried = 0;
    i = next;
  }
}

/** A width near the given one, of few: half octaves. @param width Above 0. */
export function kernelWidth(width: number): number {
  return 2 ** (Math.round(2 * Math.log2(width)) / 2);
}

/**
 * Packs contexts into sequences of a fixed length, with less than 1 % padding.
 *
 * Most rows are far shorter than a sequence: with one context per sequence, four fifths would be padding. So
 * contexts share sequences. The longest context goes first, into the first sequence where it fits (first-fit
 * decreasing: Johnson, "Near-Optimal Bin Packing Algorithms", MIT 1973). The gap at the end is filled by
 * cutting a waiting context between two measurements; the last placed context may give up a few measurements
 * to allow this. The rest of a cut context waits as a separate context, so no measurement is lost.
 *
 * @module
 */
import { getOrMake, partitionPoint } from "../../base/collections.ts";
import { ensure } from "../../base/errors.ts";
import { type Context, cutContext, MIN_MEASUREMENT_TOKENS } from "../tokens/contexts.ts";
import { prefixLengths } from "../tokens/vocab_v2.ts";

/** A gap of at most this share of the sequence is accepted: half of the 1 % padding aimed at. */
const TOLERATED_SHARE = 0.005;
/** ASSUMPTION: how many measurements the last context may give up to make others fit. */
const MAX_GIVEN_UP = 8;
/** ASSUMPTION: how many waiting contexts are tried for a cut. */
const MAX_CANDIDATES = 16;
/** Maximum number of attempts to narrow a gap, and of consecutive extra contexts that fail to narrow it. */
const MAX_ATTEMPTS = 4;

export interface Sequence {
  contexts: Context[];
  numTokens: number;
}

/**
 * Packs contexts into sequences.
 *
 * @param contexts At most `maxTokens` tokens each.
 * @param drawExtra Draws one more context for the last sequence when no others are left; undefined if there
 *   is none.
 * @returns The sequences. The order of contexts and sequences is not random.
 */
export function packContexts(
  contexts: readonly Context[],
  maxTokens: number,
  drawExtra: () => Context | undefined,
): Sequence[] {
  const pool = new ContextPool(maxTokens);
  for (const context of contexts) pool.add(context);
  const sequences: Sequence[] = [];
  while (pool.size > 0) {
    const filler = new SequenceFiller(maxTokens, pool);
    filler.fill();
    if (pool.size === 0) filler.fillWith(drawExtra);
    sequences.push(filler.sequence);
    if (filler.usedExtra) break;
  }
  return sequences;
}

class SequenceFiller {
  readonly sequence: Sequence = { contexts: [], numTokens: 0 };
  usedExtra = false;
  readonly #toleratedTokens: number;

  constructor(readonly maxTokens: number, readonly pool: ContextPool) {
    this.#toleratedTokens = Math.floor(maxTokens * TOLERATED_SHARE);
  }

  get gap(): number {
    return this.maxTokens - this.sequence.numTokens;
  }

  /** Places the contexts that fit, longest first, then closes the gap by cutting. */
  fill(): void {
    this.#placeWhole();
    for (let attempt = 0; attempt < MAX_ATTEMPTS && this.gap > this.#toleratedTokens; attempt++) {
      if (!this.#narrowGap()) return;
      this.#placeWhole();
    }
  }

  /** Fills the rest with extra contexts. Parts of them that do not fit are dropped. */
  fillWith(drawExtra: () => Context | undefined): void {
    let numFailed = 0;
    while (this.gap >= MIN_MEASUREMENT_TOKENS && this.gap > this.#toleratedTokens) {
      const extra = drawExtra();
      if (!extra) return;
      this.usedExtra = true;
      const gapBefore = this.gap;
      this.pool.add(extra);
      this.fill();
      if (this.gap < gapBefore) numFailed = 0;
      else if (++numFailed === MAX_ATTEMPTS) return;
    }
  }

  #placeWhole(): void {
    for (;;) {
      const context = this.pool.largest(this.gap);
      if (!context) return;
      this.pool.take(context);
      this.#place(context);
    }
  }

  #place(context: Context): void {
    this.sequence.contexts.push(context);
    this.sequence.numTokens += context.numTokens;
  }

  /** Makes the cut that leaves the smallest gap. @returns Whether the gap became smaller. */
  #narrowGap(): boolean {
    const { gap, pool } = this;
    const last = this.sequence.contexts.at(-1)?.measurements ?? [];
    const lengths = prefixLengths(last);
    const candidates = pool.someLongerThan(gap, MAX_CANDIDATES).map((context) => ({
      context,
      lengths: pool.prefixLengthsOf(context),
    }));
    let best: Cut = { gap, givenUp: 0, context: undefined, numFirst: 0 };
    for (let givenUp = 0; givenUp <= Math.min(MAX_GIVEN_UP, last.length - 1); givenUp++) {
      const room = gap + lengths[last.length] - lengths[last.length - givenUp];
      const whole = pool.largest(room);
      if (whole && room - whole.numTokens < best.gap) {
        best = { gap: room - whole.numTokens, givenUp, context: whole, numFirst: whole.measurements.length };
      }
      for (const { context, lengths } of candidates) {
        const numFirst = numThatFit(lengths, room);
        if (numFirst > 0 && room - lengths[numFirst] < best.gap) {
          best = { gap: room - lengths[numFirst], givenUp, context, numFirst };
        }
      }
      if (best.gap <= this.#toleratedTokens) break;
    }
    if (!best.context) return false;
    this.#make(best, best.context);
    return true;
  }

  #make(cut: Cut, context: Context): void {
    // Taken before the cut parts go back to the pool, because one of them could have the same length.
    this.pool.take(context);
    this.#giveUp(cut.givenUp);
    if (cut.numFirst === context.measurements.length) {
      this.#place(context);
      return;
    }
    const [head, tail] = cutContext(context, cut.numFirst);
    this.#place(head);
    this.pool.add(tail);
  }

  /** Returns the last measurements of the last context to the pool. */
  #giveUp(givenUp: number): void {
    const last = this.sequence.contexts.at(-1);
    if (givenUp === 0 || !last) return;
    const [head, tail] = cutContext(last, last.measurements.length - givenUp);
    this.sequence.contexts[this.sequence.contexts.length - 1] = head;
    this.sequence.numTokens -= last.numTokens - head.numTokens;
    this.pool.add(tail);
  }
}

interface Cut {
  gap: number;
  /** How many measurements the last placed context gives up. */
  givenUp: number;
  context: Context | undefined;
  /** How many measurements of the context to place. */
  numFirst: number;
}

function numThatFit(lengths: Uint32Array, room: number): number {
  return partitionPoint(lengths.length, (count) => lengths[count] > room) - 1;
}

/** Waiting contexts by length in tokens. Among contexts of equal length, the last added comes first. */
class ContextPool {
  size = 0;
  readonly #byLength: Context[][];
  /** Prefix lengths of waiting contexts, cached because a context is a candidate many times. */
  readonly #prefixLengths = new Map<Context, Uint32Array>();

  constructor(maxTokens: number) {
    this.#byLength = Array.from({ length: maxTokens + 1 }, () => []);
  }

  add(context: Context): void {
    this.#byLength[context.numTokens].push(context);
    this.size++;
  }

  /** The longest context with at most `maxTokens` tokens. */
  largest(maxTokens: number): Context | undefined {
    for (let length = Math.min(maxTokens, this.#byLength.length - 1); length > 0; length--) {
      const context = this.#byLength[length].at(-1);
      if (context) return context;
    }
    return undefined;
  }

  /** Up to `count` contexts with more than `numTokens` tokens, one per length, shortest first. */
  someLongerThan(numTokens: number, count: number): Context[] {
    const found: Context[] = [];
    for (let length = numTokens + 1; length < this.#byLength.length && found.length < count; length++) {
      const context = this.#byLength[length].at(-1);
      if (context) found.push(context);
    }
    return found;
  }

  /** Cached {@link prefixLengths} of a waiting context. */
  prefixLengthsOf(context: Context): Uint32Array {
    const { measurements, numTokens } = context;
    // A single measurement is not cut, whatever the vocabulary.
    const make = () => measurements.length === 1 ? Uint32Array.of(0, numTokens) : prefixLengths(measurements);
    return getOrMake(this.#prefixLengths, context, make);
  }

  /** Removes a context returned by {@link largest} or {@link someLongerThan}. */
  take(context: Context): void {
    const taken = this.#byLength[context.numTokens].pop();
    ensure(taken === context, "the pool changed between choosing and removing a context");
    this.#prefixLengths.delete(context);
    this.size--;
  }
}

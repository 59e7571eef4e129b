/**
 * The newest RTTs of each pair in the training data, and what is typical of them: what a model would have to learn by
 * heart, row by row, is looked up, as in k-nearest-neighbour language models (Khandelwal et al., ICLR 2020).
 *
 * A pair's typical RTT selects learned rows by its code's bytes, so that the model learns once, for all pairs, how an RTT
 * follows from those before. In training the RTT that is to be predicted is left out.
 *
 * @module
 */
import { ensure } from "../errors.ts";

/** Rows that a typical RTT selects from, after one another: by what they say. */
const FIRST_BYTE = 0;
const SECOND_BYTE = 256;
const SECOND_BYTE_IN_BIN = 512;
/** The typical RTT's first byte is less or more than the one that is given, by one or by more. */
const OUTSIDE_BIN = 768;
const SPREAD = 772;
const NUM_COUNTS = 5;
const NUM_SPREADS = 12;

/** How many rows {@link TypicalRtt} selects from. */
export const NUM_TYPICAL_ROWS = SPREAD + NUM_COUNTS * NUM_SPREADS;

/** What is typical of a pair's RTTs. */
export interface TypicalRtt {
  /** The median of the RTT codes, the lower one of two. */
  readonly code: number;
  /** The row for how many there are and how far they lie from each other. */
  readonly spreadRow: number;
}

/** The newest RTT codes of every pair. */
export class PairHistory {
  /** (pairs, length), 0 where there is none; the newest at `#next` - 1. */
  readonly #codes: Uint16Array;
  readonly #next: Uint8Array;
  readonly #sorted: Uint16Array;

  /** @param numPairs Pairs. @param length How many codes of each are kept, 1 to 255. */
  constructor(numPairs: number, readonly length: number) {
    this.#codes = new Uint16Array(numPairs * length);
    this.#next = new Uint8Array(numPairs);
    this.#sorted = new Uint16Array(length);
  }

  /** Adds the newest RTT of a pair; the oldest of a full history goes. */
  add(pair: number, code: number): void {
    this.#codes[pair * this.length + this.#next[pair]] = code;
    this.#next[pair] = (this.#next[pair] + 1) % this.length;
  }

  /**
   * What is typical of a pair.
   *
   * @param without A code to be left out once; 0 for none.
   * @returns Undefined if no RTT is known.
   */
  typical(pair: number, without = 0): TypicalRtt | undefined {
    const sorted = this.#sorted;
    let count = 0;
    let isLeftOut = without === 0;
    for (let i = pair * this.length; i < (pair + 1) * this.length; i++) {
      const code = this.#codes[i];
      if (code === 0) continue;
      if (!isLeftOut && code === without) {
        isLeftOut = true;
        continue;
      }
      let at = count++;
      for (; at > 0 && sorted[at - 1] > code; at--) sorted[at] = sorted[at - 1];
      sorted[at] = code;
    }
    if (count === 0) return undefined;
    // Half the middle half's width: in codes, which are steps of 0.1 % at most.
    const width = sorted[Math.floor((3 * count - 1) / 4)] - sorted[Math.floor(count / 4)];
    const spread = Math.min(NUM_SPREADS - 1, Math.ceil(Math.log2(1 + Math.max(0, width))));
    const numKnown = Math.min(NUM_COUNTS - 1, Math.floor(Math.log2(count + 0.5)));
    return { code: sorted[(count - 1) >> 1], spreadRow: SPREAD + numKnown * NUM_SPREADS + spread };
  }

  /** The codes as a checkpoint has them, (pairs, length), the oldest first, 0 for none. */
  save(): Float32Array {
    const { length } = this;
    return Float32Array.from(this.#codes, (_, i) => {
      const pair = Math.floor(i / length);
      return this.#codes[pair * length + (this.#next[pair] + i) % length];
    });
  }

  /** Takes the codes that {@link save} wrote. */
  load(codes: Float32Array): void {
    ensure(codes.length === this.#codes.length, `${codes.length} codes of pairs`);
    this.#codes.set(codes);
    this.#next.fill(0);
  }
}

/** The rows that a typical RTT selects where the first byte of an RTT's code is predicted. */
export function rowsBeforeFirstByte({ code, spreadRow }: TypicalRtt): readonly [number, number, number] {
  return [FIRST_BYTE + (code >> 8), SECOND_BYTE + (code & 255), spreadRow];
}

/** Those where the second byte is predicted, after a first one. */
export function rowsBeforeSecondByte(
  { code, spreadRow }: TypicalRtt,
  firstByte: number,
): readonly [number, number] {
  const distance = (code >> 8) - firstByte;
  const place = distance === 0
    ? SECOND_BYTE_IN_BIN + (code & 255)
    : OUTSIDE_BIN + (distance > 0 ? 2 : 0) + (Math.abs(distance) > 1 ? 1 : 0);
  return [place, spreadRow];
}

/** Whether a row, and which byte, is one of a byte's value: its initial vector is that of the byte. */
export function byteOfTypicalRow(row: number): { table: number; byte: number } | undefined {
  return row < OUTSIDE_BIN ? { table: row >> 8, byte: row & 255 } : undefined;
}

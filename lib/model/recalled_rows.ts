/**
 * The learned rows that a recall of a pair's newest RTTs selects, by the bytes of their codes: the model learns once,
 * for all pairs, how an RTT follows from those before.
 *
 * @module
 */
import { NUM_AGES, NUM_SPREADS, type RttRecall } from "../tokens/rtt_recall.ts";

// The rows of one code, after one another: by what they say.
const FIRST_BYTE = 0;
const SECOND_BYTE = 256;
const SECOND_BYTE_IN_BIN = 512;
/** The code's first byte is less or more than the one that is given, by one or by more. */
const OUTSIDE_BIN = 768;
const ROWS_OF_CODE = 772;

const TYPICAL = 0;
const NEWEST = ROWS_OF_CODE;
const SPREADS = 2 * ROWS_OF_CODE;
const AGES = SPREADS + NUM_SPREADS;

/** How many rows recalls select from. */
export const NUM_RECALLED_ROWS = AGES + NUM_AGES;

/** The rows where the first byte of an RTT's code is predicted. */
export function rowsBeforeFirstByte({ typicalCode, newestCode, spread, age }: RttRecall): readonly number[] {
  const ofCode = (first: number, code: number) => [
    first + FIRST_BYTE + (code >> 8),
    first + SECOND_BYTE + (code & 255),
  ];
  return [...ofCode(TYPICAL, typicalCode), ...ofCode(NEWEST, newestCode), SPREADS + spread, AGES + age];
}

/** Those where the second byte is predicted, after a first one. */
export function rowsBeforeSecondByte(
  { typicalCode, newestCode, spread, age }: RttRecall,
  firstByte: number,
): readonly number[] {
  const ofCode = (first: number, code: number) => {
    const distance = (code >> 8) - firstByte;
    if (distance === 0) return first + SECOND_BYTE_IN_BIN + (code & 255);
    return first + OUTSIDE_BIN + (distance > 0 ? 2 : 0) + (Math.abs(distance) > 1 ? 1 : 0);
  };
  return [ofCode(TYPICAL, typicalCode), ofCode(NEWEST, newestCode), SPREADS + spread, AGES + age];
}

/** The byte whose value a row stands for, and in which of several tables; its initial vector is that of the byte. */
export function byteOfRecalledRow(row: number): { table: number; byte: number } | undefined {
  const place = row % ROWS_OF_CODE;
  if (row >= SPREADS || place >= OUTSIDE_BIN) return undefined;
  return { table: 3 * Math.floor(row / ROWS_OF_CODE) + (place >> 8), byte: place & 255 };
}

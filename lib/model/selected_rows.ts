/**
 * The learned rows that RTT codes select by their bytes: those of a recall of the pair's newest RTTs, or, where there is
 * none, that of an estimate by coordinates. The model learns once, for all pairs, how an RTT follows from them.
 *
 * @module
 */
import { encodeRttCode } from "../tokens/rtt_code.ts";
import { NUM_AGES, NUM_SPREADS, type RttRecall } from "../tokens/rtt_recall.ts";

/** An RTT by coordinates, and by how much its logarithm may be off. */
export interface RttEstimate {
  readonly rttMs: number;
  readonly error: number;
  /** Whether both ends have coordinates: else one is taken for a typical address. */
  readonly isOfBoth: boolean;
}

/** What is known of an RTT that is to be predicted. */
export type KnownRtt = RttRecall | RttEstimate;

// The rows of one code, after one another: by what they say.
const FIRST_BYTE = 0;
const SECOND_BYTE = 256;
const SECOND_BYTE_IN_BIN = 512;
/** The code's first byte is less or more than the one that is given, by one or by more. */
const OUTSIDE_BIN = 768;
const ROWS_OF_CODE = 772;

const TYPICAL = 0;
const NEWEST = ROWS_OF_CODE;
const ESTIMATE = 2 * ROWS_OF_CODE;
const SPREADS = 3 * ROWS_OF_CODE;
const AGES = SPREADS + NUM_SPREADS;
const ERRORS = AGES + NUM_AGES;
/** Errors are told apart by half octaves, from this one on. */
const LEAST_ERROR = 2 ** -10;
const NUM_ERRORS = 22;

/** How many rows codes select from. */
export const NUM_SELECTED_ROWS = ERRORS + NUM_ERRORS;

/** The rows where the first byte of an RTT's code is predicted. */
export function rowsBeforeFirstByte(known: KnownRtt): readonly number[] {
  return rowsOf(known, (code) => [FIRST_BYTE + (code >> 8), SECOND_BYTE + (code & 255)]);
}

/** Those where the second byte is predicted, after a first one. */
export function rowsBeforeSecondByte(known: KnownRtt, firstByte: number): readonly number[] {
  return rowsOf(known, (code) => {
    const distance = (code >> 8) - firstByte;
    if (distance === 0) return [SECOND_BYTE_IN_BIN + (code & 255)];
    return [OUTSIDE_BIN + (distance > 0 ? 2 : 0) + (Math.abs(distance) > 1 ? 1 : 0)];
  });
}

/** @param ofCode The rows of a code, from 0. */
function rowsOf(known: KnownRtt, ofCode: (code: number) => number[]): readonly number[] {
  if ("rttMs" in known) {
    const octaves = Math.log2(Math.max(known.error, LEAST_ERROR) / LEAST_ERROR);
    const error = Math.min(NUM_ERRORS - 1, Math.floor(2 * octaves));
    return [...ofCode(encodeRttCode(known.rttMs)).map((row) => ESTIMATE + row), ERRORS + error];
  }
  const { typicalCode, newestCode, spread, age } = known;
  return [
    ...ofCode(typicalCode).map((row) => TYPICAL + row),
    ...ofCode(newestCode).map((row) => NEWEST + row),
    ...[SPREADS + spread, AGES + age],
  ];
}

/**
 * The byte whose value a row stands for, and in which of several tables; its initial vector is that of the byte, and where
 * that byte is likely to come next (`isNext`) the one that the head knows it by.
 */
export function byteOfSelectedRow(
  row: number,
): { table: number; byte: number; isNext: boolean } | undefined {
  const place = row % ROWS_OF_CODE;
  if (row >= SPREADS || place >= OUTSIDE_BIN) return undefined;
  const table = 3 * Math.floor(row / ROWS_OF_CODE) + (place >> 8);
  return { table, byte: place & 255, isNext: place < SECOND_BYTE || place >= SECOND_BYTE_IN_BIN };
}

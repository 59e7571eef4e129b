/**
 * The embeddings that RTT codes select by their bytes. The codes come from the history features of the pair's
 * newest RTTs, or else from an estimate by coordinates. So the model learns once for all pairs how to predict
 * an RTT from these.
 *
 * @module
 */
import { encodeRttCode } from "../data/tokens/rtt_code.ts";
import { NUM_AGES, NUM_SPREADS, type RttHistory } from "../data/tokens/rtt_history.ts";

/** An RTT estimated by coordinates, and the error of its logarithm. */
export interface RttEstimate {
  readonly rttMs: number;
  readonly error: number;
  /** Whether both endpoints have coordinates; otherwise one or both count as a typical address. */
  readonly isOfBoth: boolean;
}

/** What is known about an RTT to predict. */
export type KnownRtt = RttHistory | RttEstimate;

// First row of each group of rows of one code.
const FIRST_BYTE = 0;
const SECOND_BYTE = 256;
const SECOND_BYTE_IN_BIN = 512;
/** The code's first byte is above or below the byte already read, by one or by more. */
const OUTSIDE_BIN = 768;
const ROWS_OF_CODE = 772;

const TYPICAL = 0;
const NEWEST = ROWS_OF_CODE;
const ESTIMATE = 2 * ROWS_OF_CODE;
const SPREADS = 3 * ROWS_OF_CODE;
const AGES = SPREADS + NUM_SPREADS;
const ERRORS = AGES + NUM_AGES;
/** The end of the first class of errors; the following classes are half octaves. */
const LEAST_ERROR = 2 ** -10;
const NUM_ERRORS = 22;

export const NUM_SELECTED_ROWS = ERRORS + NUM_ERRORS;

/** The rows of the token that predicts the first byte of an RTT code. */
export function rowsBeforeFirstByte(known: KnownRtt): readonly number[] {
  return rowsOf(known, (code) => [FIRST_BYTE + (code >> 8), SECOND_BYTE + (code & 255)]);
}

/** The rows of the token that predicts the second byte. */
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
    SPREADS + spread,
    AGES + age,
  ];
}

/**
 * The byte of a row, and the row's table; undefined for rows without a byte. The row is initialised with the
 * byte's vector, from the head if that byte is likely to come next (`isNext`).
 */
export function byteOfSelectedRow(
  row: number,
): { table: number; byte: number; isNext: boolean } | undefined {
  const place = row % ROWS_OF_CODE;
  if (row >= SPREADS || place >= OUTSIDE_BIN) return undefined;
  const table = 3 * Math.floor(row / ROWS_OF_CODE) + (place >> 8);
  return { table, byte: place & 255, isNext: place < SECOND_BYTE || place >= SECOND_BYTE_IN_BIN };
}

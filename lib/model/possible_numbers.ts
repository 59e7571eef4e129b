/**
 * Numbers that are possible in tensors of a checkpoint, and rules for their rows.
 *
 * @module
 */
import { END_TIME_US, MIN_TIME_US } from "../data/formats/batch.ts";
import { type ArrayType, type TensorArray, tensorOf, type Tensors } from "../base/safetensors_header.ts";
import { isCanonicalRttCode } from "../data/tokens/rtt_code.ts";
import { keyOfHashes } from "./embedding_table.ts";
import { faultAt } from "./finite.ts";

/** The numbers that are possible in a column. */
export interface Allowed {
  /** For the user, after "expected". */
  readonly wanted: string;
  readonly least: number;
  readonly most: number;
  readonly isWhole: boolean;
  /** Whether 0 is also possible, meaning no value. */
  readonly hasNone: boolean;
  /** A further condition. */
  readonly also: ((value: number) => boolean) | undefined;
}

export function real(least: number, most: number): Allowed {
  const wanted = most === Infinity ? `a number of at least ${least}` : `a number from ${least} to ${most}`;
  return { wanted, least, most, isWhole: false, hasNone: false, also: undefined };
}

export function whole(least: number, most: number): Allowed {
  return { ...real(least, most), wanted: `a whole number from ${least} to ${most}`, isWhole: true };
}

export function orNone(allowed: Allowed): Allowed {
  return { ...allowed, wanted: `0 or ${allowed.wanted}`, hasNone: true };
}

export const ANY: Allowed = real(-Infinity, Infinity);
export const HASHES: readonly Allowed[] = [ANY, ANY];
export const COUNT: Allowed = whole(0, 2 ** 32);
export const SHARE: Allowed = real(0, 1);
export const CODE: Allowed = { ...whole(1, 2 ** 16 - 1), wanted: "an RTT code", also: isCanonicalRttCode };
/** The first and the last possible Unix time, in seconds. */
const [LEAST_S, END_S] = [MIN_TIME_US / 1e6, END_TIME_US / 1e6 - 1];
export const TIME: Allowed = { ...whole(LEAST_S, END_S), wanted: "a time from 1990 to 2099" };
/** The logarithm of an RTT, ln ms: codes span 29. */
export const LOG: Allowed = real(-64, 64);
/** The largest difference between logarithms of RTTs. */
export const MOST_LOG = 1024;

/** A tensor's name, the possible numbers of its rows and their type (default: F32). */
export type Tensor = readonly [name: string, columns: readonly Allowed[], type?: ArrayType];

export class Rows {
  readonly count: number;

  /** @throws {FormatError} If the tensor is missing. */
  static of(tensors: Tensors, [name, columns, type = "F32"]: Tensor): Rows {
    return new Rows(name, tensorOf(tensors, name, type), columns.length);
  }

  constructor(readonly name: string, readonly values: TensorArray, readonly width: number) {
    this.count = values.length / width;
  }

  at(row: number, column: number): number {
    return this.values[row * this.width + column];
  }

  column(column: number): number[] {
    return Array.from({ length: this.count }, (_, row) => this.at(row, column));
  }

  /** Yields the fault of the first invalid row. */
  *where(
    column: number,
    wanted: string | ((row: number) => string),
    isWrong: (row: number) => boolean,
  ): Generator<string> {
    for (let row = 0; row < this.count; row++) {
      if (!isWrong(row)) continue;
      const text = typeof wanted === "string" ? wanted : wanted(row);
      return yield faultAt(this.name, this.values, row * this.width + column, text);
    }
  }

  /** Rows are found by the hashes that they begin with. */
  *ascending(): Generator<string> {
    let before = -1;
    yield* this.where(0, "rows in ascending order of their hashes", (row) => {
      const key = keyOfHashes({ hash1: this.at(row, 0), hash2: this.at(row, 1) });
      const isWrong = key <= before;
      before = key;
      return isWrong;
    });
  }

  /** Requires one row for each row of another tensor. */
  *asManyAs(others: Rows): Generator<string> {
    if (this.count === others.count) return;
    yield `tensor ${this.name} has ${this.count} rows, expected ${others.count}, as many as ${others.name}`;
  }

  /** Requires counts that add up to the number of rows of another tensor. */
  *counting(first: number, others: Rows): Generator<string> {
    let sum = 0;
    for (let row = 0; row < this.count; row++) {
      for (let column = first; column < this.width; column++) sum += this.at(row, column);
    }
    if (sum === others.count) return;
    yield `the counts of tensor ${this.name} add up to ${sum}, expected ${others.count}, the number of rows of ${others.name}`;
  }
}

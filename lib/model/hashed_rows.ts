import { partitionPoint } from "../base/collections.ts";
import type { TensorArray } from "../base/safetensors_header.ts";
import { type Hashes, keyOfHashes } from "./embedding_table.ts";
import { HASHES } from "./possible_numbers.ts";

/** Rows sorted by the hashes of their keys: two hashes, then the number of values of each part. */
export class HashedRows {
  readonly #rows: Uint32Array;
  readonly #width: number;
  readonly #keys: Float64Array;
  /** Index of the first value of each part of each row. */
  readonly #starts: Uint32Array;

  constructor(rows: Uint32Array, width: number) {
    this.#rows = rows;
    this.#width = width;
    const length = rows.length / width;
    this.#keys = Float64Array.from(
      { length },
      (_, i) => keyOfHashes({ hash1: rows[i * width], hash2: rows[i * width + 1] }),
    );
    const numParts = width - HASHES.length;
    this.#starts = new Uint32Array(length * numParts + 1);
    for (let i = 0; i < length * numParts; i++) {
      this.#starts[i + 1] = this.#starts[i] + this.countOf(Math.floor(i / numParts), i % numParts);
    }
  }

  /** The keys' hashes, in the order of the rows. */
  get hashes(): Hashes[] {
    return Array.from({ length: this.#keys.length }, (_, row) => ({
      hash1: this.#rows[row * this.#width],
      hash2: this.#rows[row * this.#width + 1],
    }));
  }

  /** Finds the row of a key; -1 if there is none. */
  find(hashes: Hashes): number {
    const key = keyOfHashes(hashes);
    const row = partitionPoint(this.#keys.length, (i) => this.#keys[i] >= key);
    return this.#keys[row] === key ? row : -1;
  }

  countOf(row: number, part: number): number {
    return this.#rows[row * this.#width + HASHES.length + part];
  }

  /** The index of the first value of a part of a row. */
  startOf(row: number, part: number): number {
    return this.#starts[row * (this.#width - HASHES.length) + part];
  }
}

/** A tensor of rows that are found by hashes, each followed by its numbers; none without rows. */
export function savedRows(
  name: string,
  rows: readonly { readonly hashes: Hashes; readonly numbers: readonly number[] }[],
): Map<string, TensorArray> {
  const sorted = rows.toSorted((a, b) => keyOfHashes(a.hashes) - keyOfHashes(b.hashes));
  const words = sorted.flatMap(({ hashes: { hash1, hash2 }, numbers }) => [hash1, hash2, ...numbers]);
  return new Map(rows.length > 0 ? [[name, Uint32Array.from(words)]] : []);
}

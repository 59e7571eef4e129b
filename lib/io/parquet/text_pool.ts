/**
 * Codes for the distinct texts of text columns, so that a function of a text is computed once per distinct
 * text instead of once per row.
 *
 * @module
 */
import { decodeUtf8 } from "./encodings.ts";

/** Numbers texts 0, 1, 2, … in order of first appearance. */
export class TextPool {
  /** Changes whenever {@link trim} removes the texts. Codes of earlier generations are invalid. */
  generation = 0;
  /** Texts by code. */
  readonly texts: string[] = [];
  readonly #codes = new Map<string, number>();

  /** The code of a text. A new text gets a new code. */
  codeOf(text: string): number {
    let code = this.#codes.get(text);
    if (code === undefined) {
      code = this.texts.push(text) - 1;
      this.#codes.set(text, code);
    }
    return code;
  }

  /** The code of a text encoded as UTF-8. */
  codeOfUtf8(bytes: Uint8Array, from: number, end: number): number {
    return this.codeOf(decodeUtf8(bytes.subarray(from, end)));
  }

  /** Removes all texts if there are more than `maxTexts`. */
  trim(maxTexts: number): void {
    if (this.texts.length <= maxTexts) return;
    this.texts.length = 0;
    this.#codes.clear();
    this.generation++;
  }
}

/** A number for each code of a pool, computed on first use. */
export class PerText<A extends Uint8Array | Int32Array> {
  readonly #find: (text: string) => number;
  readonly #make: (length: number) => A;
  #values: A;
  /** 1 for values already computed. */
  #isKnown = new Uint8Array(0);
  #generation = -1;

  /** @param make Makes an array. @param find Computes the value for a text. */
  constructor(make: (length: number) => A, find: (text: string) => number) {
    this.#make = make;
    this.#find = find;
    this.#values = make(0);
  }

  /** Returns the values by code, after computing those of `codes`. */
  of(pool: TextPool, codes: Int32Array): A {
    if (this.#generation !== pool.generation) this.clear();
    this.#generation = pool.generation;
    if (this.#isKnown.length < pool.texts.length) this.#grow(pool.texts.length);
    const isKnown = this.#isKnown;
    for (let i = 0; i < codes.length; i++) {
      const code = codes[i];
      if (isKnown[code] === 1) continue;
      this.#values[code] = this.#find(pool.texts[code]);
      isKnown[code] = 1;
    }
    return this.#values;
  }

  clear(): void {
    this.#isKnown.fill(0);
  }

  #grow(numTexts: number): void {
    const values = this.#make(2 * numTexts);
    values.set(this.#values);
    this.#values = values;
    const isKnown = new Uint8Array(2 * numTexts);
    isKnown.set(this.#isKnown);
    this.#isKnown = isKnown;
  }
}

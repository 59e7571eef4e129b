/**
 * The keys that the rows of a decoder see: those of their prompt, and those appended since, by themselves or by the
 * rows that they branched off. The keys themselves are on the GPU.
 *
 * @module
 */
import { ensure } from "../errors.ts";
import type { DecodeTile } from "../gpu/ops/attention_decode.ts";

/** The keys of a prompt in the cache of all prompts, from `firstKey` to before `endKey`. */
export interface PromptKeys {
  readonly firstKey: number;
  readonly endKey: number;
}

/** Rows that continue prompts, in the order of the prompts. */
export class DecodedRows {
  #prompts: readonly PromptKeys[] = [];
  /** The number of each prompt's last tokens that its rows do not see. */
  #numDropped = 0;
  #children: DecodeTile[] = [];
  #numRows = 0;
  /** For each step and row, the key that the row sees. */
  #suffixRows: Uint32Array[] = [];

  /** For each prompt the keys that its rows see and the rows themselves. */
  get children(): readonly DecodeTile[] {
    return this.#children;
  }

  /** The number of rows. */
  get numRows(): number {
    return this.#numRows;
  }

  /** The number of tokens appended to every row. */
  get numSteps(): number {
    return this.#suffixRows.length;
  }

  /** Begins with new prompts without rows. */
  begin(prompts: readonly PromptKeys[]): void {
    this.#prompts = prompts;
    this.#children = [];
    this.#numRows = 0;
  }

  /**
   * Gives every prompt rows with nothing appended.
   *
   * @param numChildren The number of rows of each prompt.
   * @param numDropped The number of a prompt's last tokens that its rows do not see; fewer than any prompt has.
   */
  fork(numChildren: readonly number[], numDropped: number): void {
    ensure(numChildren.length === this.#prompts.length, `${numChildren.length} numbers of children`);
    this.#numDropped = numDropped;
    this.#suffixRows = [];
    this.#layOut(numChildren);
  }

  /** Replaces the rows. @param parents For each new row the row that it continues, ascending. */
  branch(parents: Uint32Array): void {
    const isAscending = parents.every((parent, i) => i === 0 || parents[i - 1] <= parent);
    ensure(isAscending && parents[parents.length - 1] < this.#numRows, `parents ${parents}`);
    const numChildren = this.#children.map(({ firstRow, endRow }) =>
      parents.reduce((count, parent) => parent >= firstRow && parent < endRow ? count + 1 : count, 0)
    );
    this.#layOut(numChildren);
    this.#suffixRows = this.#suffixRows.map((appended) => parents.map((parent) => appended[parent]));
  }

  /** The position of the next token of each row. @param length Length of the result, which is padded with 0. */
  nextPositions(length: number): Uint32Array {
    const positions = new Uint32Array(length);
    for (const { firstKey, endKey, firstRow, endRow } of this.#children) {
      positions.fill(endKey - firstKey + this.numSteps, firstRow, endRow);
    }
    return positions;
  }

  /**
   * The key before the next one of each row: before the first step its prompt's last, else the last it appended.
   *
   * @param length Length of the result, which is padded with 0.
   */
  previousKeys(length: number): Uint32Array {
    const previous = new Uint32Array(length);
    const appended = this.#suffixRows.at(-1);
    if (appended) {
      previous.set(appended);
    } else {
      for (const { endKey, firstRow, endRow } of this.#children) previous.fill(endKey - 1, firstRow, endRow);
    }
    return previous;
  }

  /** Records that every row appended a key. @param firstKey The first row's; the others follow. */
  append(firstKey: number): void {
    this.#suffixRows.push(Uint32Array.from({ length: this.#numRows }, (_, row) => firstKey + row));
  }

  /** The keys of each row as `addAttentionDecode` takes them, (1 + steps, length), the rest of it 0. */
  rowKeys(length: number): Uint32Array {
    const keys = new Uint32Array((1 + this.numSteps) * length);
    for (const { endKey, firstRow, endRow } of this.#children) keys.fill(endKey, firstRow, endRow);
    this.#suffixRows.forEach((appended, step) => keys.set(appended, (1 + step) * length));
    return keys;
  }

  #layOut(numChildren: readonly number[]): void {
    const numDropped = this.#numDropped;
    let firstRow = 0;
    this.#children = this.#prompts.map(({ firstKey, endKey }, i) => {
      ensure(numDropped < endKey - firstKey, `a prompt has no ${numDropped} tokens and one before`);
      const endRow = firstRow + numChildren[i];
      const tile = { firstKey, endKey: endKey - numDropped, firstRow, endRow };
      firstRow = endRow;
      return tile;
    });
    this.#numRows = firstRow;
  }
}

/**
 * For each position a row that sees its prompt up to that position.
 *
 * @param positions Rows of a prefill, ascending.
 */
export function rowsOfPositions(prompts: readonly PromptKeys[], positions: readonly number[]): DecodeTile[] {
  let prompt = 0;
  return positions.map((position, row) => {
    while (position >= prompts[prompt].endKey) prompt++;
    return { firstKey: prompts[prompt].firstKey, endKey: position + 1, firstRow: row, endRow: row + 1 };
  });
}

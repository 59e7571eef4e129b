/**
 * The learned rows of the tokens that a decoder reads: those of its prompts, and those of appended tokens.
 *
 * @module
 */
import type { Gpu } from "../gpu/device.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { type AddressRows, ROWS_PER_TOKEN, type RowUse } from "./address_rows.ts";
import type { TimedRtt } from "./pair_history.ts";
import { RowCursor } from "./row_cursor.ts";
import { NO_ROW } from "./row_table.ts";

/** For each prompt the newest RTTs of its pair, if given. */
type Recents = readonly (readonly TimedRtt[] | undefined)[];

/** Finds the learned rows of tokens and uploads them. */
export class DecoderTokenRows {
  readonly #gpu: Gpu;
  readonly #addressRows: AddressRows;
  readonly #tensor: Tensor;
  #prompts: readonly Uint16Array[] = [];
  #recents: Recents = [];
  #ends: readonly (readonly number[])[] = [];
  /** For each row the cursor after its last token. */
  #cursors: RowCursor[] = [];

  /** @param tensor The target of uploads, (rows, ROWS_PER_TOKEN) u32. */
  constructor(gpu: Gpu, addressRows: AddressRows, tensor: Tensor) {
    this.#gpu = gpu;
    this.#addressRows = addressRows;
    this.#tensor = tensor;
  }

  /** Reads the keys and histories of a checkpoint. */
  load(weights: ReadonlyMap<string, Float32Array>): void {
    this.#addressRows.load(weights);
  }

  /** Uploads the rows of prompts, one prompt after the other. @param numRows Tokens of the program, padding included. */
  writePrompts(
    prompts: readonly Uint16Array[],
    numRows: number,
    { recents = [], ends }: { recents?: Recents | undefined; ends: readonly (readonly number[])[] },
  ): void {
    this.#prompts = prompts;
    this.#ends = ends;
    this.#recents = recents;
    const rows = new Uint32Array(numRows * ROWS_PER_TOKEN).fill(NO_ROW);
    let at = 0;
    prompts.forEach((prompt, index) => {
      const cursor = new RowCursor(this.#addressRows);
      for (let i = 0; i < prompt.length; i++, at += ROWS_PER_TOKEN) {
        cursor.read(prompt[i], rows, at, this.#useAt(index, i));
      }
    });
    this.#gpu.write(this.#tensor, rows);
  }

  /** Gives every end of every prompt new rows, without its last `numDropped` tokens. */
  fork(numChildren: readonly number[], numDropped: number): void {
    const unread = new Uint32Array(ROWS_PER_TOKEN);
    let child = 0;
    this.#cursors = this.#prompts.flatMap((prompt, index) => {
      const cursor = new RowCursor(this.#addressRows);
      let i = 0;
      return this.#ends[index].flatMap((end) => {
        for (; i < end - numDropped; i++) cursor.read(prompt[i], unread, 0, this.#useAt(index, i));
        return Array.from({ length: numChildren[child++] }, () => cursor.clone());
      });
    });
  }

  /** Continues rows. @param parents For each new row the row that it continues. */
  branch(parents: Uint32Array): void {
    this.#cursors = Array.from(parents, (parent) => this.#cursors[parent].clone());
  }

  /** Uploads the rows of one more token of each row. @param numRows Tokens of the program, padding included. */
  writeStep(tokens: ArrayLike<number>, numRows: number): void {
    const rows = new Uint32Array(numRows * ROWS_PER_TOKEN).fill(NO_ROW);
    this.#cursors.forEach((cursor, i) => cursor.read(tokens[i], rows, i * ROWS_PER_TOKEN));
    this.#gpu.write(this.#tensor, rows);
  }

  /** The options of reading a prompt's token: the given RTTs are for the last one. */
  #useAt(index: number, at: number): RowUse | undefined {
    const recent = this.#recents[index];
    const isEnd = at === this.#prompts[index].length - 1;
    return recent && isEnd ? { isTraining: false, context: 0, recent } : undefined;
  }
}

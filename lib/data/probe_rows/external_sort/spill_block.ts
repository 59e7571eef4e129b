/**
 * The columns of rows that are spilled to disk, and a block of them as bytes.
 *
 * Keys (of addresses or probes) are ids into a table while rows wait to be written. On disk a block has a
 * dictionary of its own: 2 bytes per row and 17 per distinct key instead of 17 per row, so rows of few sources to
 * the same destinations take less than half the space, and a reader looks each key up once per block.
 *
 * Block: f64 offset of the partition's previous block (-1: none), f64 number of rows, f64 number of distinct keys;
 * then the columns, each padded to 8 bytes, those of keys as u16 indexes; then four u32 words per key and a u8 kind
 * per key. All values are in this machine's byte order.
 *
 * @module
 */
import { IdNumbers, type KeyTable } from "./key_table.ts";

/** A column: its name, and the type of its values; keys are ids. */
export interface SpillColumn {
  readonly name: string;
  readonly type: "f64" | "f32" | "key";
}

/** The values of a column. */
export type ColumnData = Float64Array | Float32Array | Uint32Array;

/** The keys of ids. */
export interface SpillKeys {
  /** Four u32 per id. */
  readonly words: Uint32Array;
  /** The kind of key per id. */
  readonly kinds: Uint8Array;
  /** Changes when ids get other keys. */
  readonly generation: number;
}

/** The header before a block's columns. */
export interface BlockHeader {
  /** The offset of the partition's previous block, or -1. */
  previousOffset: number;
  numRows: number;
  /** Distinct keys. */
  numKeys: number;
}

/** The destination of a block's rows. */
export interface BlockTarget {
  /** Columns with enough space. */
  into: ColumnData[];
  /** The first row of `into` to write. */
  at: number;
  /** Gives the ids of key columns. */
  keys: KeyTable;
}

/** Bytes of a block's header. */
export const HEADER_BYTES = 3 * 8;

const CONSTRUCTORS = { f64: Float64Array, f32: Float32Array, key: Uint32Array } as const;
/** Bytes of a value on disk. */
const STORED_BYTES = { f64: 8, f32: 4, key: 2 } as const;
/** Four words and a kind. */
const KEY_BYTES = 17;

/** Makes an array for `numRows` rows of a column. */
export function makeColumn({ type }: SpillColumn, numRows: number): ColumnData {
  return new CONSTRUCTORS[type](numRows);
}

/** Bytes of a row in the arrays of its columns. */
export function columnBytes(schema: readonly SpillColumn[]): number {
  return schema.reduce((sum, { type }) => sum + CONSTRUCTORS[type].BYTES_PER_ELEMENT, 0);
}

/** The largest number of bytes of a row in memory, if no other row has its keys. */
export function rowBytes(schema: readonly SpillColumn[]): number {
  return columnBytes(schema) + KEY_BYTES * numKeyColumns(schema);
}

function numKeyColumns(schema: readonly SpillColumn[]): number {
  return schema.filter(({ type }) => type === "key").length;
}

function storedBytes({ type }: SpillColumn, numRows: number): number {
  return Math.ceil(STORED_BYTES[type] * numRows / 8) * 8;
}

/** Encodes and decodes blocks of a schema, and reuses its buffer. */
export class BlockFormat {
  readonly #numKeyColumns: number;
  readonly #dictionary = new BlockDictionary();
  #buffer = new ArrayBuffer(0);

  constructor(readonly schema: readonly SpillColumn[]) {
    this.#numKeyColumns = numKeyColumns(schema);
  }

  /**
   * The bytes of a block.
   *
   * @param columns The rows; ids in key columns.
   * @param header Its header; the number of rows must be such that keys have u16 indexes.
   * @param keys The keys of the ids.
   * @returns A view, valid until the next call.
   */
  encode(
    columns: readonly ColumnData[],
    { previousOffset, numRows }: Omit<BlockHeader, "numKeys">,
    { words, kinds }: SpillKeys,
  ): Uint8Array {
    const maxKeys = this.#numKeyColumns * numRows;
    const buffer = this.#reserve(HEADER_BYTES + this.#bodyBytes({ numRows, numKeys: maxKeys }));
    const dictionary = this.#dictionary;
    dictionary.begin(maxKeys);
    let at = HEADER_BYTES;
    for (const [c, column] of this.schema.entries()) {
      const values = columns[c].subarray(0, numRows);
      if (column.type === "key") {
        dictionary.index(values as Uint32Array, new Uint16Array(buffer, at, numRows));
      } else new CONSTRUCTORS[column.type](buffer, at, numRows).set(values);
      at += storedBytes(column, numRows);
    }
    const { ids, numKeys } = dictionary;
    const ownWords = new Uint32Array(buffer, at, 4 * numKeys);
    const ownKinds = new Uint8Array(buffer, at + ownWords.byteLength, numKeys);
    for (let i = 0; i < numKeys; i++) {
      const from = 4 * ids[i];
      ownWords[4 * i] = words[from];
      ownWords[4 * i + 1] = words[from + 1];
      ownWords[4 * i + 2] = words[from + 2];
      ownWords[4 * i + 3] = words[from + 3];
      ownKinds[i] = kinds[ids[i]];
    }
    new Float64Array(buffer, 0, 3).set([previousOffset, numRows, numKeys]);
    return new Uint8Array(buffer, 0, HEADER_BYTES + this.#bodyBytes({ numRows, numKeys }));
  }

  /** Decodes a block's header. @param bytes {@link HEADER_BYTES} of them. */
  decodeHeader(bytes: Uint8Array<ArrayBuffer>): BlockHeader {
    const [previousOffset, numRows, numKeys] = new Float64Array(bytes.buffer, 0, 3);
    return { previousOffset, numRows, numKeys };
  }

  /** Space for the bytes of a block after its header, valid until the next call. */
  reserveBody(header: BlockHeader): Uint8Array<ArrayBuffer> {
    const sizeBytes = this.#bodyBytes(header);
    return new Uint8Array(this.#reserve(sizeBytes), 0, sizeBytes);
  }

  /** Writes the rows of a block into columns. @param body From {@link reserveBody}, filled. */
  decode(
    { buffer, byteLength }: Uint8Array<ArrayBuffer>,
    { numRows, numKeys }: BlockHeader,
    { into, at, keys }: BlockTarget,
  ): void {
    const kinds = new Uint8Array(buffer, byteLength - Math.ceil(numKeys / 8) * 8, numKeys);
    const words = new Uint32Array(buffer, kinds.byteOffset - 16 * numKeys, 4 * numKeys);
    const ids = new Uint32Array(numKeys);
    for (let i = 0; i < numKeys; i++) ids[i] = keys.idOf(words, 4 * i, kinds[i]);
    let from = 0;
    for (const [c, column] of this.schema.entries()) {
      if (column.type === "key") gather(ids, new Uint16Array(buffer, from, numRows), into[c], at);
      else into[c].set(new CONSTRUCTORS[column.type](buffer, from, numRows), at);
      from += storedBytes(column, numRows);
    }
  }

  #bodyBytes({ numRows, numKeys }: Pick<BlockHeader, "numRows" | "numKeys">): number {
    const columnsBytes = this.schema.reduce((sum, column) => sum + storedBytes(column, numRows), 0);
    return columnsBytes + 16 * numKeys + Math.ceil(numKeys / 8) * 8;
  }

  #reserve(sizeBytes: number): ArrayBuffer {
    if (sizeBytes > this.#buffer.byteLength) this.#buffer = new ArrayBuffer(Math.ceil(sizeBytes / 8) * 8);
    return this.#buffer;
  }
}

/** Numbers the distinct ids of a block. */
class BlockDictionary {
  /** The distinct ids, in the order of appearance. */
  ids = new Uint32Array(0);
  numKeys = 0;
  readonly #numbers = new IdNumbers();

  /** Starts a new block. */
  begin(maxKeys: number): void {
    this.#numbers.clear();
    this.numKeys = 0;
    if (this.ids.length < maxKeys) this.ids = new Uint32Array(maxKeys);
  }

  /** Writes each id's number to `indexes`. */
  index(ids: Uint32Array, indexes: Uint16Array): void {
    for (let row = 0; row < ids.length; row++) {
      const id = ids[row];
      let number = this.#numbers.get(id);
      if (number < 0) {
        number = this.#numbers.set(id, this.numKeys);
        this.ids[this.numKeys++] = id;
      }
      indexes[row] = number;
    }
  }
}

/** Puts the numbers at some indexes into another array, one after the other. @param at Where the first goes. */
export function gather(
  from: ColumnData,
  indexes: Uint16Array | Uint32Array,
  into: ColumnData,
  at: number,
): void {
  for (let i = 0; i < indexes.length; i++) into[at + i] = from[indexes[i]];
}

/**
 * The columns of rows that are spilled to disk, and a block of them as bytes.
 *
 * Keys (of addresses or probes) are ids into a table while rows wait to be written. On disk a block has a
 * dictionary of its own: 2 bytes per row and 17 per distinct key instead of 17 per row, so rows of few sources to
 * the same destinations take less than half of the room, and a reader looks each key up once per block.
 *
 * Block: f64 offset of the partition's previous block (-1: none), f64 number of rows, f64 number of keys of each
 * key column; then the columns. A key column is a u16 index per row, four u32 words per key and a u8 kind per key;
 * these, and other columns, are each padded to 8 bytes. All is in this machine's byte order.
 *
 * @module
 */
import { ensure } from "../errors.ts";
import type { KeyTable } from "./key_table.ts";

/** Columns of ids, by what they are ids of. */
export type KeyType = "address" | "group";

/** A column: its element type, and how many elements a row has. */
export interface SpillColumn {
  readonly name: string;
  readonly type: "f64" | "f32" | "u32" | "u8" | KeyType;
  /** 1 for keys. */
  readonly width: number;
}

/** The values of a column. */
export type ColumnData = Float64Array | Float32Array | Uint32Array | Uint8Array;

/** What ids mean. */
export interface SpillKeys {
  /** Four u32 per id. */
  readonly words: Uint32Array;
  /** The kind of key per id. */
  readonly kinds: Uint8Array;
  /** Another number once ids mean something else. */
  readonly generation: number;
}

/** The keys of the columns of each type. */
export type KeysByType = Readonly<Record<KeyType, SpillKeys>>;

/** What stands before a block's columns. */
export interface BlockHeader {
  /** Where the partition's previous block begins, or -1. */
  previousOffset: number;
  numRows: number;
  /** Keys of each key column. */
  numKeys: number[];
}

/** Where the rows of a block go. */
export interface BlockTarget {
  /** Columns with room for them. */
  into: ColumnData[];
  /** The row of `into` where they begin. */
  at: number;
  /** Gives the ids of key columns. */
  keys: KeyTable;
}

const CONSTRUCTORS = {
  f64: Float64Array,
  f32: Float32Array,
  u32: Uint32Array,
  u8: Uint8Array,
  address: Uint32Array,
  group: Uint32Array,
} as const;
/** Four words and a kind. */
const KEY_BYTES = 17;

/** Makes an array for `numRows` rows of a column. */
export function makeColumn(column: SpillColumn, numRows: number): ColumnData {
  return new CONSTRUCTORS[column.type](column.width * numRows);
}

/** Bytes of a row in the arrays of its columns. */
export function columnBytes(schema: readonly SpillColumn[]): number {
  return schema.reduce((sum, { type, width }) => sum + CONSTRUCTORS[type].BYTES_PER_ELEMENT * width, 0);
}

/** Bytes of a row in memory at most: with keys that no other row has. */
export function rowBytes(schema: readonly SpillColumn[]): number {
  return columnBytes(schema) + KEY_BYTES * schema.filter(isKeyColumn).length;
}

function isKeyColumn(column: SpillColumn): column is SpillColumn & { type: KeyType } {
  return column.type === "address" || column.type === "group";
}

function padded(numBytes: number): number {
  return Math.ceil(numBytes / 8) * 8;
}

/** Encodes and decodes blocks of a schema; keeps its buffer. */
export class BlockFormat {
  /** Bytes of a block's header. */
  readonly headerBytes: number;
  readonly #numKeyColumns: number;
  readonly #dictionary = new BlockDictionary();
  #buffer = new ArrayBuffer(0);

  constructor(readonly schema: readonly SpillColumn[]) {
    this.#numKeyColumns = schema.filter(isKeyColumn).length;
    this.headerBytes = 8 * (2 + this.#numKeyColumns);
  }

  /**
   * The bytes of a block.
   *
   * @param columns The rows; ids in key columns.
   * @param keys What the ids mean; not needed without key columns.
   * @returns A view that changes with the next call.
   */
  encode(
    columns: readonly ColumnData[],
    { previousOffset, numRows }: Omit<BlockHeader, "numKeys">,
    keys: KeysByType | undefined,
  ): Uint8Array {
    const header = [previousOffset, numRows];
    const buffer = this.#reserve(
      this.#sizeBytes({ previousOffset, numRows, numKeys: new Array(this.#numKeyColumns).fill(numRows) }),
    );
    let at = this.headerBytes;
    for (const [c, column] of this.schema.entries()) {
      const values = columns[c].subarray(0, column.width * numRows);
      if (!isKeyColumn(column)) {
        new CONSTRUCTORS[column.type](buffer, at, values.length).set(values);
        at += padded(values.byteLength);
        continue;
      }
      ensure(keys, "rows with ids came without keys");
      const ids = this.#dictionary.encode(values as Uint32Array, new Uint16Array(buffer, at, numRows));
      at += padded(2 * numRows);
      copyKeys(keys[column.type], ids, new Uint32Array(buffer, at, 4 * ids.length));
      at += 16 * ids.length;
      copyKinds(keys[column.type], ids, new Uint8Array(buffer, at, ids.length));
      at += padded(ids.length);
      header.push(ids.length);
    }
    new Float64Array(buffer, 0, header.length).set(header);
    return new Uint8Array(buffer, 0, at);
  }

  /** What a block's header says. @param bytes `headerBytes` of them, at a multiple of 8. */
  decodeHeader(bytes: Uint8Array): BlockHeader {
    const [previousOffset, numRows, ...numKeys] = new Float64Array(
      bytes.buffer,
      bytes.byteOffset,
      2 + this.#numKeyColumns,
    );
    return { previousOffset, numRows, numKeys };
  }

  /** Room for the bytes of a block after its header; they change with the next call. */
  reserveBody(header: BlockHeader): Uint8Array<ArrayBuffer> {
    const sizeBytes = this.#sizeBytes(header) - this.headerBytes;
    return new Uint8Array(this.#reserve(sizeBytes), 0, sizeBytes);
  }

  /** Writes the rows of a block into columns. @param body From {@link reserveBody}, filled. */
  decode(
    body: Uint8Array<ArrayBuffer>,
    { numRows, numKeys }: BlockHeader,
    { into, at, keys }: BlockTarget,
  ): void {
    const { buffer } = body;
    let from = 0;
    let nextKeys = 0;
    for (const [c, column] of this.schema.entries()) {
      if (!isKeyColumn(column)) {
        const values = new CONSTRUCTORS[column.type](buffer, from, column.width * numRows);
        into[c].set(values, at * column.width);
        from += padded(values.byteLength);
        continue;
      }
      const length = numKeys[nextKeys++];
      const indexes = new Uint16Array(buffer, from, numRows);
      from += padded(2 * numRows);
      const words = new Uint32Array(buffer, from, 4 * length);
      from += 16 * length;
      const kinds = new Uint8Array(buffer, from, length);
      from += padded(length);
      pick(idsOf(words, kinds, keys), indexes, into[c] as Uint32Array, at);
    }
  }

  #sizeBytes({ numRows, numKeys }: BlockHeader): number {
    let nextKeys = 0;
    return this.schema.reduce((sum, column) => {
      if (!isKeyColumn(column)) return sum + padded(columnBytes([column]) * numRows);
      const length = numKeys[nextKeys++];
      return sum + padded(2 * numRows) + 16 * length + padded(length);
    }, this.headerBytes);
  }

  #reserve(sizeBytes: number): ArrayBuffer {
    if (sizeBytes > this.#buffer.byteLength) this.#buffer = new ArrayBuffer(padded(sizeBytes));
    return this.#buffer;
  }
}

/** Numbers the distinct ids of a block. */
class BlockDictionary {
  /** By id: its number, if `#stamps` says that it is of this block. */
  #indexes = new Uint16Array(1024);
  #stamps = new Uint32Array(1024);
  #stamp = 0;
  #ids = new Uint32Array(0);

  /** Writes each id's number to `indexes`; returns the distinct ids, which change with the next call. */
  encode(ids: Uint32Array, indexes: Uint16Array): Uint32Array {
    const stamp = ++this.#stamp;
    if (this.#ids.length < ids.length) this.#ids = new Uint32Array(ids.length);
    let length = 0;
    for (let row = 0; row < ids.length; row++) {
      const id = ids[row];
      if (id >= this.#stamps.length) this.#grow(id);
      if (this.#stamps[id] !== stamp) {
        this.#stamps[id] = stamp;
        this.#indexes[id] = length;
        this.#ids[length++] = id;
      }
      indexes[row] = this.#indexes[id];
    }
    return this.#ids.subarray(0, length);
  }

  #grow(id: number): void {
    const indexes = new Uint16Array(2 * id);
    indexes.set(this.#indexes);
    this.#indexes = indexes;
    const stamps = new Uint32Array(2 * id);
    stamps.set(this.#stamps);
    this.#stamps = stamps;
  }
}

function copyKeys({ words }: SpillKeys, ids: Uint32Array, into: Uint32Array): void {
  for (let i = 0; i < ids.length; i++) {
    const from = 4 * ids[i];
    into[4 * i] = words[from];
    into[4 * i + 1] = words[from + 1];
    into[4 * i + 2] = words[from + 2];
    into[4 * i + 3] = words[from + 3];
  }
}

function copyKinds({ kinds }: SpillKeys, ids: Uint32Array, into: Uint8Array): void {
  for (let i = 0; i < ids.length; i++) into[i] = kinds[ids[i]];
}

function idsOf(words: Uint32Array, kinds: Uint8Array, keys: KeyTable): Uint32Array {
  const ids = new Uint32Array(kinds.length);
  for (let i = 0; i < ids.length; i++) ids[i] = keys.idOf(words, 4 * i, kinds[i]);
  return ids;
}

function pick(ids: Uint32Array, indexes: Uint16Array, into: Uint32Array, at: number): void {
  for (let row = 0; row < indexes.length; row++) into[at + row] = ids[indexes[row]];
}

/**
 * Divides rows among partitions on disk: the map side of the group-by.
 *
 * A spill file consists of blocks, each with rows of one partition in order of arrival:
 *
 * - f64 offset of the partition's previous block (-1: none), f64 number of rows, f64 number of distinct keys;
 * - the columns, each padded to 8 bytes; key columns (ids into a table while rows are buffered) are stored as
 *   u16 indexes;
 * - the distinct keys: four u32 words per key, then a u8 kind per key.
 *
 * So the index is one offset and one count per partition, rows take 2 bytes per key instead of 17, and a
 * reader looks up each key once per block. All values are in native byte order, because spill files are
 * temporary. Threads write separate files, which are read as one.
 *
 * @module
 */
import { ensure, FormatError } from "../../../base/errors.ts";
import { ByteFile } from "../../../io/files/byte_file.ts";
import { IdNumbering, type KeyTable } from "./keys.ts";

/** A column's name and the type of its values; keys are ids. */
export interface SpillColumn {
  readonly name: string;
  readonly type: "f64" | "f32" | "key";
}

export type ColumnData = Float64Array | Float32Array | Uint32Array;

interface SpillKeys {
  /** Four u32 per id. */
  readonly words: Uint32Array;
  readonly kinds: Uint8Array;
  /** Changes when ids get other keys. */
  readonly generation: number;
}

interface BlockHeader {
  /** Offset of the partition's previous block; -1 if there is none. */
  previousOffset: number;
  numRows: number;
  numKeys: number;
}

interface BlockTarget {
  /** Columns with enough space. */
  into: ColumnData[];
  /** First row of `into` to write. */
  at: number;
  /** Assigns the ids in key columns. */
  keys: KeyTable;
}

const HEADER_BYTES = 3 * 8;

const CONSTRUCTORS = { f64: Float64Array, f32: Float32Array, key: Uint32Array } as const;
const STORED_BYTES = { f64: 8, f32: 4, key: 2 } as const;
/** Four words and a kind. */
const KEY_BYTES = 17;

export function makeColumn({ type }: SpillColumn, numRows: number): ColumnData {
  return new CONSTRUCTORS[type](numRows);
}

/** Bytes per row in the column arrays. */
function columnBytes(schema: readonly SpillColumn[]): number {
  return schema.reduce((sum, { type }) => sum + CONSTRUCTORS[type].BYTES_PER_ELEMENT, 0);
}

/** Maximum memory per row, reached if the row shares no keys with others. */
export function rowBytes(schema: readonly SpillColumn[]): number {
  return columnBytes(schema) + KEY_BYTES * numKeyColumns(schema);
}

function numKeyColumns(schema: readonly SpillColumn[]): number {
  return schema.filter(({ type }) => type === "key").length;
}

function storedBytes({ type }: SpillColumn, numRows: number): number {
  return Math.ceil(STORED_BYTES[type] * numRows / 8) * 8;
}

/** Encodes and decodes blocks of a schema, reusing its buffer. */
class BlockFormat {
  readonly #numKeyColumns: number;
  readonly #dictionary = new IdNumbering();
  #buffer = new ArrayBuffer(0);

  constructor(readonly schema: readonly SpillColumn[]) {
    this.#numKeyColumns = numKeyColumns(schema);
  }

  /**
   * Encodes a block.
   *
   * @param header The number of rows must be small enough for u16 indexes of keys.
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
    dictionary.clear();
    let at = HEADER_BYTES;
    for (const [c, column] of this.schema.entries()) {
      const values = columns[c].subarray(0, numRows);
      if (column.type === "key") {
        const indexes = new Uint16Array(buffer, at, numRows);
        for (let row = 0; row < numRows; row++) indexes[row] = dictionary.numberOf(values[row]);
      } else new CONSTRUCTORS[column.type](buffer, at, numRows).set(values);
      at += storedBytes(column, numRows);
    }
    const { ids } = dictionary;
    const numKeys = ids.length;
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

  /** @param bytes {@link HEADER_BYTES} bytes. */
  decodeHeader(bytes: Uint8Array<ArrayBuffer>): BlockHeader {
    const [previousOffset, numRows, numKeys] = new Float64Array(bytes.buffer, 0, 3);
    return { previousOffset, numRows, numKeys };
  }

  /** Returns a buffer for the part of a block after its header, valid until the next call. */
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

/** Copies the numbers at the indexes to consecutive elements of an array, starting at element `at`. */
function gather(
  from: ColumnData,
  indexes: Uint16Array | Uint32Array,
  into: ColumnData,
  at: number,
): void {
  for (let i = 0; i < indexes.length; i++) into[at + i] = from[indexes[i]];
}

/** Rows as columns, in the order of the schema. */
interface SpillRows {
  numRows: number;
  columns: readonly ColumnData[];
  keys: SpillKeys;
}

export interface StoredBlock {
  readonly numRows: number;
  read(to: BlockTarget): void;
}

/** What a reader needs in addition to the file; plain data, stored as JSON. */
export interface SpillIndex {
  /** Offset of each partition's last block; -1 if it has none. */
  lastOffsets: number[];
  /** Rows per partition. */
  numRows: number[];
  sizeBytes: number;
}

/** Minimum number of rows buffered per partition, so that a block is worth a disk access. */
const MIN_BUFFER_ROWS = 64;
const MAX_BUFFER_ROWS = 4096;

/** Divides rows among the partitions of a new file. */
export class SpillWriter {
  readonly #file: ByteFile;
  readonly #buffers: (ColumnData[] | undefined)[];
  readonly #fill: Uint32Array;
  readonly #index: SpillIndex;
  readonly #bufferRows: number;
  readonly #format: BlockFormat;
  #keys: SpillKeys | undefined;
  #isOpen = true;

  /**
   * Makes the file, replacing any older file of the same name.
   *
   * @param options `numPartitions`; `bufferBytes`: memory for rows not yet written.
   */
  constructor(
    readonly path: string,
    readonly schema: readonly SpillColumn[],
    { numPartitions, bufferBytes }: { numPartitions: number; bufferBytes: number },
  ) {
    this.#buffers = new Array(numPartitions);
    this.#fill = new Uint32Array(numPartitions);
    this.#index = {
      lastOffsets: new Array(numPartitions).fill(-1),
      numRows: new Array(numPartitions).fill(0),
      sizeBytes: 0,
    };
    this.#format = new BlockFormat(schema);
    const rows = Math.floor(bufferBytes / (numPartitions * columnBytes(schema)));
    this.#bufferRows = Math.max(MIN_BUFFER_ROWS, Math.min(MAX_BUFFER_ROWS, rows));
    this.#file = ByteFile.write(path, "new");
  }

  /**
   * Appends rows.
   *
   * @param rows If the generation of their keys has changed, `words` and `kinds` must be new arrays.
   * @param partitionOf The partition of each row; the number of partitions for a row to skip.
   */
  append(rows: SpillRows, partitionOf: Uint32Array): void {
    const numPartitions = this.#fill.length;
    const { starts, order } = bucketRows(partitionOf, rows.numRows, numPartitions + 1);
    for (let partition = 0; partition < numPartitions; partition++) {
      this.appendTo(partition, rows, order.subarray(starts[partition], starts[partition + 1]));
    }
  }

  /** Appends rows to one partition. @param order Indexes of the rows in the order to write them. */
  appendTo(partition: number, { columns, keys }: Omit<SpillRows, "numRows">, order: Uint32Array): void {
    this.#useKeys(keys);
    for (let from = 0; from < order.length;) {
      const at = this.#fill[partition];
      const rows = order.subarray(from, from + this.#bufferRows - at);
      const buffer = this.#bufferOf(partition);
      columns.forEach((values, c) => gather(values, rows, buffer[c], at));
      from += rows.length;
      this.#fill[partition] += rows.length;
      if (this.#fill[partition] === this.#bufferRows) this.flush(partition);
    }
  }

  /** Writes the buffered rows, flushes the file to disk and closes it. */
  finish(): SpillIndex {
    this.#flushAll();
    this.#file.flush();
    this.#close();
    return this.#index;
  }

  /** Deletes the file; does nothing after {@link finish}. */
  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#close();
    Deno.removeSync(this.path);
  }

  #close(): void {
    this.#isOpen = false;
    this.#file[Symbol.dispose]();
    this.#buffers.fill(undefined);
  }

  #bufferOf(partition: number): ColumnData[] {
    return this.#buffers[partition] ??= this.schema.map((column) => makeColumn(column, this.#bufferRows));
  }

  #useKeys({ words, kinds, generation }: SpillKeys): void {
    if (this.#keys && this.#keys.generation !== generation) this.#flushAll();
    // Keeps the current arrays, because their owner may replace them.
    this.#keys = { words, kinds, generation };
  }

  #flushAll(): void {
    for (let partition = 0; partition < this.#fill.length; partition++) this.flush(partition);
  }

  flush(partition: number): void {
    const numRows = this.#fill[partition];
    if (numRows === 0 || !this.#keys) return;
    const index = this.#index;
    const offset = index.sizeBytes;
    const header = { previousOffset: index.lastOffsets[partition], numRows };
    const bytes = this.#format.encode(this.#bufferOf(partition), header, this.#keys);
    this.#file.write(bytes);
    index.sizeBytes += bytes.length;
    index.lastOffsets[partition] = offset;
    index.numRows[partition] += numRows;
    this.#fill[partition] = 0;
  }
}

export interface SpillPart {
  path: string;
  index: SpillIndex;
}

/** Reads partitions from spill files written by several threads. */
export class SpillReader implements Disposable {
  /** Rows per partition. */
  readonly numRows: readonly number[];
  readonly #files: ByteFile[] = [];
  readonly #format: BlockFormat;

  /**
   * @param parts In the order of their rows.
   * @throws {UserError} If a file does not exist or its size differs from its index.
   */
  constructor(readonly parts: readonly SpillPart[], readonly schema: readonly SpillColumn[]) {
    this.#format = new BlockFormat(schema);
    this.numRows = parts[0].index.numRows.map((_, partition) =>
      parts.reduce((sum, { index }) => sum + index.numRows[partition], 0)
    );
    try {
      for (const { path, index } of parts) {
        this.#files.push(ByteFile.open(path));
        const sizeBytes = this.#files[this.#files.length - 1].sizeBytes;
        if (sizeBytes === index.sizeBytes) continue;
        throw new FormatError(
          `it has ${sizeBytes} bytes, expected ${index.sizeBytes}; run with --overwrite`,
          { path },
        );
      }
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** The partition's blocks in the order they were written, file after file. */
  blocks(partition: number): StoredBlock[] {
    return this.parts.flatMap(({ index }, i) => this.#blocksIn(this.#files[i], index, partition));
  }

  [Symbol.dispose](): void {
    for (const file of this.#files) file[Symbol.dispose]();
  }

  #blocksIn(file: ByteFile, index: SpillIndex, partition: number): StoredBlock[] {
    const blocks: StoredBlock[] = [];
    const bytes = new Uint8Array(HEADER_BYTES);
    let numRows = 0;
    for (let offset = index.lastOffsets[partition]; offset >= 0;) {
      file.readAt(offset, bytes);
      const header = this.#format.decodeHeader(bytes);
      const bodyOffset = offset + HEADER_BYTES;
      const read = (to: BlockTarget) => {
        const body = this.#format.reserveBody(header);
        file.readAt(bodyOffset, body);
        this.#format.decode(body, header, to);
      };
      blocks.push({ numRows: header.numRows, read });
      numRows += header.numRows;
      offset = header.previousOffset;
    }
    ensure(numRows === index.numRows[partition], `${file.path} lacks rows of partition ${partition}`);
    return blocks.reverse();
  }
}

/**
 * Groups rows by bucket, keeping their order (a counting sort).
 *
 * @returns `order`: row numbers, bucket after bucket; `starts`: where each bucket starts in `order`, followed
 *   by the end.
 */
export function bucketRows(
  bucketOf: Uint32Array,
  numRows: number,
  numBuckets: number,
): { starts: Uint32Array; order: Uint32Array } {
  const starts = new Uint32Array(numBuckets + 1);
  for (let row = 0; row < numRows; row++) starts[bucketOf[row] + 1]++;
  for (let bucket = 0; bucket < numBuckets; bucket++) starts[bucket + 1] += starts[bucket];
  const next = starts.slice();
  const order = new Uint32Array(numRows);
  for (let row = 0; row < numRows; row++) order[next[bucketOf[row]]++] = row;
  return { starts, order };
}

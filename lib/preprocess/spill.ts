/**
 * Rows divided over partitions on disk: the map side of the group-by (design 08-cluster).
 *
 * One file of blocks; a block holds rows of one partition in columns, in the order in which they came. A block
 * begins with the offset of its partition's previous block, so the index is one offset and one count per
 * partition, whatever the number of rows. Reads and writes are those of this machine (native byte order):
 * spill files are temporary.
 *
 * Block: f64 offset of the partition's previous block (-1: none), f64 number of rows, then the columns, each
 * padded to 8 bytes.
 *
 * @module
 */
import { ensure, explainFileError, FormatError } from "../errors.ts";

/** A column: its element type, and how many elements a row has (4 words of an address). */
export interface SpillColumn {
  readonly name: string;
  readonly type: "f64" | "f32" | "u32" | "u8";
  readonly width: number;
}

/** The values of a column. */
export type ColumnData = Float64Array | Float32Array | Uint32Array | Uint8Array;

/** Rows in columns, in the order of the schema. */
export interface SpillBlock {
  numRows: number;
  columns: ColumnData[];
}

/** What a reader needs beside the file: plain data, kept as JSON. */
export interface SpillIndex {
  /** Offset of each partition's last block in bytes, -1 if it has none. */
  lastOffsets: number[];
  /** Rows of each partition. */
  numRows: number[];
  /** Size of the file in bytes. */
  sizeBytes: number;
}

const CONSTRUCTORS = { f64: Float64Array, f32: Float32Array, u32: Uint32Array, u8: Uint8Array } as const;
const HEADER_BYTES = 16;
/** A block is worth a disk access: at least this many rows are buffered per partition. */
const MIN_BUFFER_ROWS = 64;
const MAX_BUFFER_ROWS = 4096;

/** Makes an array for `numRows` rows of a column. */
export function makeColumn(column: SpillColumn, numRows: number): ColumnData {
  return new CONSTRUCTORS[column.type](column.width * numRows);
}

/** Bytes of a row in memory and (but for padding) on disk. */
export function rowBytes(schema: readonly SpillColumn[]): number {
  return schema.reduce((sum, { type, width }) => sum + CONSTRUCTORS[type].BYTES_PER_ELEMENT * width, 0);
}

function paddedBytes(column: SpillColumn, numRows: number): number {
  return Math.ceil(CONSTRUCTORS[column.type].BYTES_PER_ELEMENT * column.width * numRows / 8) * 8;
}

/** Divides rows over the partitions of one new file. */
export class SpillWriter {
  readonly #file: Deno.FsFile;
  readonly #buffers: (ColumnData[] | undefined)[];
  readonly #fill: Uint32Array;
  readonly #index: SpillIndex;
  readonly #bufferRows: number;
  #isOpen = true;

  private constructor(
    readonly path: string,
    readonly schema: readonly SpillColumn[],
    numPartitions: number,
    bufferBytes: number,
  ) {
    this.#buffers = new Array(numPartitions);
    this.#fill = new Uint32Array(numPartitions);
    this.#index = {
      lastOffsets: new Array(numPartitions).fill(-1),
      numRows: new Array(numPartitions).fill(0),
      sizeBytes: 0,
    };
    const rows = Math.floor(bufferBytes / (numPartitions * rowBytes(schema)));
    // A multiple of 8, so that the padding of a column lies within its buffer.
    this.#bufferRows = Math.max(MIN_BUFFER_ROWS, Math.min(MAX_BUFFER_ROWS, rows & ~7));
    try {
      this.#file = Deno.openSync(path, { write: true, create: true, truncate: true });
    } catch (error) {
      throw explainFileError(error, `write ${path}`);
    }
  }

  /**
   * Makes the file, over an older one of the same name.
   *
   * @param path The spill file.
   * @param schema The columns.
   * @param options `numPartitions`; `bufferBytes`: memory for rows not yet written.
   * @throws {UserError} If the file cannot be made.
   */
  static create(
    path: string,
    schema: readonly SpillColumn[],
    options: { numPartitions: number; bufferBytes: number },
  ): SpillWriter {
    return new SpillWriter(path, schema, options.numPartitions, options.bufferBytes);
  }

  /**
   * Appends rows.
   *
   * @param block The rows.
   * @param partitionOf The partition of each row, or the number of partitions for a row to leave out.
   * @throws {UserError} If the disk is full.
   */
  append(block: SpillBlock, partitionOf: Uint32Array): void {
    const numPartitions = this.#fill.length;
    const { starts, order } = bucketRows(partitionOf, block.numRows, numPartitions + 1);
    for (let partition = 0; partition < numPartitions; partition++) {
      this.appendTo(partition, block.columns, order.subarray(starts[partition], starts[partition + 1]));
    }
  }

  /**
   * Appends rows to one partition.
   *
   * @param partition Which one.
   * @param columns Where the rows are.
   * @param order Which rows, in the order in which they are to be written.
   * @throws {UserError} If the disk is full.
   */
  appendTo(partition: number, columns: readonly ColumnData[], order: Uint32Array): void {
    for (let from = 0; from < order.length;) {
      const at = this.#fill[partition];
      const rows = order.subarray(from, from + this.#bufferRows - at);
      const buffer = this.#bufferOf(partition);
      this.schema.forEach(({ width }, c) => gather(columns[c], rows, width, buffer[c], at));
      from += rows.length;
      this.#fill[partition] += rows.length;
      if (this.#fill[partition] === this.#bufferRows) this.#flush(partition);
    }
  }

  /**
   * Writes what is buffered, flushes to the disk and closes.
   *
   * @throws {UserError} If the disk is full.
   */
  finish(): SpillIndex {
    for (let partition = 0; partition < this.#fill.length; partition++) this.#flush(partition);
    try {
      this.#file.syncSync();
    } catch (error) {
      throw explainFileError(error, `write ${this.path}`);
    }
    this.#close();
    return this.#index;
  }

  /** Deletes the file; does nothing after {@link finish}. */
  abort(): void {
    if (!this.#isOpen) return;
    this.#close();
    Deno.removeSync(this.path);
  }

  [Symbol.dispose](): void {
    this.abort();
  }

  #close(): void {
    this.#isOpen = false;
    this.#file.close();
    this.#buffers.fill(undefined);
  }

  #bufferOf(partition: number): ColumnData[] {
    return this.#buffers[partition] ??= this.#makeBuffer();
  }

  /** The columns of a full block, one after the other in one buffer as on disk, after room for its header. */
  #makeBuffer(): ColumnData[] {
    const numRows = this.#bufferRows;
    const sizeBytes = this.schema.reduce((sum, column) => sum + paddedBytes(column, numRows), HEADER_BYTES);
    const buffer = new ArrayBuffer(sizeBytes);
    let at = HEADER_BYTES;
    return this.schema.map((column) => {
      const data = new CONSTRUCTORS[column.type](buffer, at, column.width * numRows);
      at += paddedBytes(column, numRows);
      return data;
    });
  }

  #flush(partition: number): void {
    const numRows = this.#fill[partition];
    if (numRows === 0) return;
    const index = this.#index;
    const offset = index.sizeBytes;
    const columns = this.#bufferOf(partition);
    const { buffer } = columns[0];
    new Float64Array(buffer, 0, 2).set([index.lastOffsets[partition], numRows]);
    if (numRows === this.#bufferRows) this.#write(new Uint8Array(buffer));
    else {
      this.#write(new Uint8Array(buffer, 0, HEADER_BYTES));
      this.schema.forEach((column, c) =>
        this.#write(new Uint8Array(buffer, columns[c].byteOffset, paddedBytes(column, numRows)))
      );
    }
    index.lastOffsets[partition] = offset;
    index.numRows[partition] += numRows;
    this.#fill[partition] = 0;
  }

  #write(bytes: Uint8Array): void {
    try {
      for (let done = 0; done < bytes.length;) done += this.#file.writeSync(bytes.subarray(done));
    } catch (error) {
      throw explainFileError(error, `write ${this.path}`);
    }
    this.#index.sizeBytes += bytes.length;
  }
}

/** Rows on disk by partition. */
export interface SpilledRows {
  readonly schema: readonly SpillColumn[];
  readonly index: { readonly numRows: readonly number[] };
  /** The partition's blocks in the order in which they were written. */
  blocks(partition: number): Generator<SpillBlock>;
  /** Reads a whole partition; see {@link SpillReader.readPartition}. */
  readPartition(partition: number, into: ColumnData[]): number;
}

/** Reads the partitions of a spill file. */
export class SpillReader implements SpilledRows {
  readonly #file: Deno.FsFile;

  private constructor(
    readonly path: string,
    readonly schema: readonly SpillColumn[],
    readonly index: SpillIndex,
  ) {
    try {
      this.#file = Deno.openSync(path);
    } catch (error) {
      throw explainFileError(error, `read ${path}`);
    }
    const { size } = this.#file.statSync();
    if (size !== index.sizeBytes) {
      this.#file.close();
      throw new FormatError(`it has ${size} bytes, ${index.sizeBytes} were wanted; run with --overwrite`, {
        path,
      });
    }
  }

  /**
   * Opens a finished spill file.
   *
   * @throws {UserError} If the file does not exist or has another size than the index says.
   */
  static open(path: string, schema: readonly SpillColumn[], index: SpillIndex): SpillReader {
    return new SpillReader(path, schema, index);
  }

  /** The partition's blocks in the order in which they were written. */
  *blocks(partition: number): Generator<SpillBlock> {
    for (const { offset, numRows } of this.#chain(partition)) {
      const columns = this.schema.map((column) => makeColumn(column, numRows));
      this.#readColumns(offset, numRows, columns, 0);
      yield { numRows, columns };
    }
  }

  /**
   * Reads a whole partition.
   *
   * @param partition Which one.
   * @param into Columns with room for all its rows.
   * @param first The row of `into` where they begin.
   * @returns The number of rows.
   */
  readPartition(partition: number, into: ColumnData[], first = 0): number {
    let at = first;
    for (const { offset, numRows } of this.#chain(partition)) {
      this.#readColumns(offset, numRows, into, at);
      at += numRows;
    }
    return at - first;
  }

  /** Closes the file. */
  close(): void {
    this.#file.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #chain(partition: number): { offset: number; numRows: number }[] {
    const chain: { offset: number; numRows: number }[] = [];
    const header = new Float64Array(HEADER_BYTES / 8);
    let numRows = 0;
    for (let offset = this.index.lastOffsets[partition]; offset >= 0; offset = header[0]) {
      this.#read(offset, new Uint8Array(header.buffer));
      chain.push({ offset, numRows: header[1] });
      numRows += header[1];
    }
    ensure(numRows === this.index.numRows[partition], `${this.path} lacks rows of partition ${partition}`);
    return chain.reverse();
  }

  #readColumns(offset: number, numRows: number, into: ColumnData[], at: number): void {
    let position = offset + HEADER_BYTES;
    this.schema.forEach((column, c) => {
      const data = into[c];
      const elementBytes = data.BYTES_PER_ELEMENT * column.width;
      this.#read(
        position,
        new Uint8Array(data.buffer, data.byteOffset + at * elementBytes, numRows * elementBytes),
      );
      position += paddedBytes(column, numRows);
    });
  }

  #read(offset: number, into: Uint8Array): void {
    this.#file.seekSync(offset, Deno.SeekMode.Start);
    for (let done = 0; done < into.length;) {
      const count = this.#file.readSync(into.subarray(done));
      if (count === null) {
        throw new FormatError("it ends too early; run with --overwrite", { path: this.path });
      }
      done += count;
    }
  }
}

/**
 * The rows of each bucket, in their order (a counting sort).
 *
 * @param bucketOf The bucket of each row.
 * @returns `order`: row numbers, bucket after bucket; `starts`: where each bucket begins in it, and the end.
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

function gather(from: ColumnData, rows: Uint32Array, width: number, to: ColumnData, at: number): void {
  if (width === 1) {
    for (let i = 0; i < rows.length; i++) to[at + i] = from[rows[i]];
    return;
  }
  for (let i = 0; i < rows.length; i++) {
    const source = rows[i] * width;
    const target = (at + i) * width;
    for (let j = 0; j < width; j++) to[target + j] = from[source + j];
  }
}

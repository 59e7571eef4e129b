/**
 * Divides rows over partitions on disk: the map side of the group-by.
 *
 * A file of blocks (spill_block.ts); a block holds rows of one partition, in the order of arrival. A
 * block begins with the offset of its partition's previous block, so the index is one offset and one count per
 * partition, whatever the number of rows. Spill files are temporary: they are read by the machine that wrote them.
 * Threads write separate files, which are read as one.
 *
 * @module
 */
import { ensure, FormatError } from "../../../base/errors.ts";
import { ByteFile } from "../../../io/files/byte_file.ts";
import {
  BlockFormat,
  type BlockTarget,
  columnBytes,
  type ColumnData,
  gather,
  HEADER_BYTES,
  makeColumn,
  type SpillColumn,
  type SpillKeys,
} from "./spill_block.ts";

/** Rows in columns, in the order of the schema. */
export interface SpillRows {
  numRows: number;
  columns: readonly ColumnData[];
  /** The keys of the ids in key columns. */
  keys: SpillKeys;
}

/** A block on disk. */
export interface StoredBlock {
  readonly numRows: number;
  /** Reads its rows. */
  read(to: BlockTarget): void;
}

/** The data that a reader needs besides the file, plain and kept as JSON. */
export interface SpillIndex {
  /** Offset of each partition's last block in bytes, -1 if it has none. */
  lastOffsets: number[];
  /** Rows of each partition. */
  numRows: number[];
  /** Size of the file in bytes. */
  sizeBytes: number;
}

/** The least number of rows buffered per partition, so that a block is worth a disk access. */
const MIN_BUFFER_ROWS = 64;
const MAX_BUFFER_ROWS = 4096;

/** Divides rows over the partitions of one new file. */
export class SpillWriter {
  readonly #file: ByteFile;
  readonly #buffers: (ColumnData[] | undefined)[];
  readonly #fill: Uint32Array;
  readonly #index: SpillIndex;
  readonly #bufferRows: number;
  readonly #format: BlockFormat;
  /** The keys of the buffered rows. */
  #keys: SpillKeys | undefined;
  #isOpen = true;

  /**
   * Makes the file; replaces an older one of the same name.
   *
   * @param path The spill file.
   * @param schema The columns.
   * @param options `numPartitions`; `bufferBytes`: memory for rows not yet written.
   * @throws {UserError} If the file cannot be made.
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
   * @param rows The rows. If the generation of their keys has changed, `words` and `kinds` must be new arrays.
   * @param partitionOf The partition of each row, or the number of partitions for a row to skip.
   * @throws {UserError} If the disk is full.
   */
  append(rows: SpillRows, partitionOf: Uint32Array): void {
    const numPartitions = this.#fill.length;
    const { starts, order } = bucketRows(partitionOf, rows.numRows, numPartitions + 1);
    for (let partition = 0; partition < numPartitions; partition++) {
      this.appendTo(partition, rows, order.subarray(starts[partition], starts[partition + 1]));
    }
  }

  /**
   * Appends rows to one partition.
   *
   * @param rows Holds the rows; see {@link append}.
   * @param order The indexes of the rows, in the order of writing.
   * @throws {UserError} If the disk is full.
   */
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

  /**
   * Writes the buffered rows, flushes to the disk and closes.
   *
   * @throws {UserError} If the disk is full.
   */
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
    // The present arrays: their owner may replace them.
    this.#keys = { words, kinds, generation };
  }

  #flushAll(): void {
    for (let partition = 0; partition < this.#fill.length; partition++) this.flush(partition);
  }

  /**
   * Writes the buffered rows of a partition.
   *
   * @throws {UserError} If the disk is full.
   */
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

/** A finished spill file. */
export interface SpillPart {
  path: string;
  index: SpillIndex;
}

/** Reads the partitions of spill files that threads wrote. */
export class SpillReader implements Disposable {
  /** Rows of each partition. */
  readonly numRows: readonly number[];
  readonly #files: ByteFile[] = [];
  readonly #format: BlockFormat;

  /**
   * Opens the files.
   *
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

  /** The partition's blocks in the order in which they were written, file after file. */
  blocks(partition: number): StoredBlock[] {
    return this.parts.flatMap(({ index }, i) => this.#blocksIn(this.#files[i], index, partition));
  }

  /** Closes the files. */
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
 * The rows of each bucket, in their order (a counting sort).
 *
 * @param bucketOf The bucket of each row.
 * @returns `order`: row numbers, bucket after bucket; `starts`: the begin of each bucket in it, and the end.
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

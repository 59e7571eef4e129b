/**
 * A Parquet file opened for reading column by column, row group by row group; every fault of its bytes becomes
 * a {@link FormatError} that names the file.
 *
 * Format: https://parquet.apache.org/docs/file-format/ ; decoding is hyparquet's.
 *
 * @module
 */
import { zstdDecompressSync } from "node:zlib";
import {
  type AsyncBuffer,
  type Compressors,
  type DecodedArray,
  type FileMetaData,
  parquetMetadataAsync,
  type ParquetParsers,
  parquetScan,
  type SchemaElement,
} from "hyparquet";
import { compressors as otherCompressors } from "hyparquet-compressors";
import { explainFileError, FormatError, UserError } from "../errors.ts";

const MAGIC = [0x50, 0x41, 0x52, 0x31]; // "PAR1"
const SMALLEST_FILE_BYTES = 12;

const compressors: Compressors = {
  ...otherCompressors,
  ZSTD: (page, numBytes) => zstdDecompressSync(page, { maxOutputLength: Math.max(1, numBytes) }),
};

/** Timestamps as microseconds since 1970 in a number (exact below 2^53), without a Date in between. */
const parsers: Partial<ParquetParsers> = {
  timestampFromMilliseconds: (ms) => Number(ms) * 1000,
  timestampFromMicroseconds: (us) => Number(us),
  timestampFromNanoseconds: (ns) => Math.floor(Number(ns / 1000n)),
};

/** One row group: which rows of the file it holds. */
export interface RowGroupRange {
  firstRow: number;
  numRows: number;
}

/** A Parquet file opened for reading. */
export class ParquetFile {
  readonly #columns: Map<string, SchemaElement>;
  /** The row groups that have rows, in file order. */
  readonly rowGroups: readonly RowGroupRange[];

  private constructor(
    readonly path: string,
    readonly file: FileBuffer,
    readonly metadata: FileMetaData,
  ) {
    this.#columns = flatColumns(metadata);
    let firstRow = 0;
    this.rowGroups = metadata.row_groups.map((group) => {
      const range = { firstRow, numRows: Number(group.num_rows) };
      firstRow += range.numRows;
      return range;
    }).filter(({ numRows }) => numRows > 0);
  }

  /**
   * Opens a file and reads its footer.
   *
   * @throws {FormatError} If it is no Parquet file, is truncated or its footer is damaged.
   * @throws {UserError} If it cannot be read.
   */
  static async open(path: string): Promise<ParquetFile> {
    const file = FileBuffer.open(path);
    try {
      checkMagic(file);
      const metadata = await parquetMetadataAsync(file, { parsers, geoparquet: false });
      return new ParquetFile(path, file, metadata);
    } catch (error) {
      file[Symbol.dispose]();
      throw asFormatError(error, path, "its footer is damaged");
    }
  }

  /** The number of rows, as the footer says. */
  get numRows(): number {
    return Number(this.metadata.num_rows);
  }

  /** The schema element of a column that is not nested, or undefined if the file has none of that name. */
  column(name: string): SchemaElement | undefined {
    return this.#columns.get(name);
  }

  /** The names of the columns that are not nested. */
  get columnNames(): string[] {
    return [...this.#columns.keys()];
  }

  /**
   * Reads one column of one row group; nulls are null or undefined.
   *
   * @throws {FormatError} If the bytes are not what the footer says.
   */
  async readColumn(name: string, { firstRow, numRows }: RowGroupRange): Promise<DecodedArray> {
    try {
      const scan = await parquetScan({
        file: this.file,
        metadata: this.metadata,
        columns: [name],
        rowStart: firstRow,
        rowEnd: firstRow + numRows,
        compressors,
        parsers,
        useOffsetIndex: false,
      });
      const values = await scan.readColumn({ column: name, rowStart: firstRow, rowEnd: firstRow + numRows });
      if (values.length !== numRows) {
        throw new Error(`${values.length} of ${numRows} values are there`);
      }
      return values;
    } catch (error) {
      throw asFormatError(
        error,
        this.path,
        `column ${name}, rows ${firstRow}..${firstRow + numRows - 1} are damaged`,
      );
    }
  }

  [Symbol.dispose](): void {
    this.file[Symbol.dispose]();
  }
}

/** Random access to a file's bytes, as hyparquet wants it. */
class FileBuffer implements AsyncBuffer {
  readonly #file: Deno.FsFile;

  private constructor(readonly path: string, file: Deno.FsFile, readonly byteLength: number) {
    this.#file = file;
  }

  static open(path: string): FileBuffer {
    try {
      const file = Deno.openSync(path);
      return new FileBuffer(path, file, file.statSync().size);
    } catch (error) {
      throw explainFileError(error, `read ${path}`);
    }
  }

  slice(start: number, end = this.byteLength): ArrayBuffer {
    if (!(start >= 0 && start <= end && end <= this.byteLength)) {
      throw new FormatError(
        `bytes ${start}..${end} are wanted and the file has ${this.byteLength}; it is truncated or damaged`,
        { path: this.path },
      );
    }
    try {
      const bytes = new Uint8Array(end - start);
      this.#file.seekSync(start, Deno.SeekMode.Start);
      for (let done = 0; done < bytes.length;) {
        const count = this.#file.readSync(bytes.subarray(done));
        if (count === null) throw new FormatError("it became shorter while it was read", { path: this.path });
        done += count;
      }
      return bytes.buffer;
    } catch (error) {
      throw explainFileError(error, `read ${this.path}`);
    }
  }

  [Symbol.dispose](): void {
    try {
      this.#file.close();
    } catch { /* closed already */ }
  }
}

function checkMagic(file: FileBuffer): void {
  const { path, byteLength } = file;
  const isMagic = (bytes: ArrayBuffer) => {
    const found = new Uint8Array(bytes);
    return MAGIC.every((byte, i) => found[i] === byte);
  };
  if (byteLength < SMALLEST_FILE_BYTES || !isMagic(file.slice(0, 4))) {
    throw new FormatError(
      `it is no Parquet file (it does not start with PAR1), a Parquet file was wanted; ` +
        `convert Atlas results with import first`,
      { path, offsetBytes: 0 },
    );
  }
  if (!isMagic(file.slice(byteLength - 4))) {
    throw new FormatError(
      "it does not end with PAR1, so it is truncated or damaged; fetch or make it again",
      {
        path,
        offsetBytes: byteLength - 4,
      },
    );
  }
}

function flatColumns({ schema }: FileMetaData): Map<string, SchemaElement> {
  const columns = new Map<string, SchemaElement>();
  for (let i = 1; i < schema.length; i = skipElement(schema, i)) {
    if (!schema[i].num_children && schema[i].repetition_type !== "REPEATED") {
      columns.set(schema[i].name, schema[i]);
    }
  }
  return columns;
}

function skipElement(schema: SchemaElement[], at: number): number {
  let next = at + 1;
  for (let child = 0; child < (schema[at].num_children ?? 0) && next < schema.length; child++) {
    next = skipElement(schema, next);
  }
  return next;
}

function asFormatError(error: unknown, path: string, what: string): UserError {
  if (error instanceof UserError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new FormatError(`${what} (${message}); fetch or make it again`, { path, cause: error });
}

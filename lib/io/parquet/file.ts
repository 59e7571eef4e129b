/**
 * A Parquet file open for reading: its footer, read by hyparquet, and the offsets of its row groups' columns
 * (https://parquet.apache.org/docs/file-format/). Every fault in its bytes is a {@link FormatError} that
 * names the file. The pages are read by our own code, because a single flipped byte can keep hyparquet from
 * ever returning.
 *
 * @module
 */
import {
  type ColumnChunk,
  type ColumnMetaData,
  type FileMetaData,
  parquetMetadataAsync,
  type SchemaElement,
} from "hyparquet";
import { FormatError, UserError } from "../../base/errors.ts";
import { FileWindow } from "../files/byte_file.ts";
import type { ColumnChunkRange } from "./column.ts";
import { CompactReader } from "./thrift_reader.ts";

const MAGIC = [0x50, 0x41, 0x52, 0x31]; // "PAR1"
const SMALLEST_FILE_BYTES = 12;
/** Footer length and magic. */
const FOOTER_END_BYTES = 8;
// A parsed value takes about 70 bytes of memory. A footer has 20 to 40 values for each column of a row group,
// so files with 20,000 row groups can be read.
const MAX_FOOTER_VALUES = 2 ** 23;
const MAX_FOOTER_BYTES = 2 ** 26;
/** Keeps the statistics of time columns as stored integers, because a Date would lose the microseconds. */
const STORED_TIMES = {
  timestampFromMilliseconds: (value: bigint) => value,
  timestampFromMicroseconds: (value: bigint) => value,
  timestampFromNanoseconds: (value: bigint) => value,
};

export interface RowGroupRange {
  /** Counted from 0. */
  index: number;
  firstRow: number;
  numRows: number;
}

export class ParquetFile {
  readonly #columns: Map<string, SchemaElement>;
  /** The non-empty row groups, in file order. */
  readonly rowGroups: readonly RowGroupRange[];

  private constructor(
    readonly path: string,
    readonly source: FileWindow,
    readonly metadata: FileMetaData,
  ) {
    this.#columns = flatColumns(metadata);
    let firstRow = 0;
    this.rowGroups = metadata.row_groups.map((group, index) => {
      const range = { index, firstRow, numRows: Number(group.num_rows) };
      firstRow += range.numRows;
      return range;
    }).filter(({ numRows }) => numRows > 0);
    if (firstRow !== this.numRows) {
      throw new FormatError(
        `its row groups have ${firstRow} rows, its footer states ${this.numRows}; make it again`,
        { path },
      );
    }
  }

  /**
   * Opens a file and reads its footer.
   *
   * @throws {FormatError} If it is not a Parquet file, is truncated, or its footer is damaged.
   * @throws {UserError} If it cannot be read.
   */
  static async open(path: string): Promise<ParquetFile> {
    const file = new FileWindow(path);
    try {
      checkMagic(file);
      const metadata = await parquetMetadataAsync(readFooter(file), {
        geoparquet: false,
        parsers: STORED_TIMES,
      });
      return new ParquetFile(path, file, metadata);
    } catch (error) {
      file[Symbol.dispose]();
      throw asFormatError(error, path, "its footer is damaged");
    }
  }

  /** As stated in the footer. */
  get numRows(): number {
    return Number(this.metadata.num_rows);
  }

  /** The schema element of a flat column; undefined if the file has no such column. */
  column(name: string): SchemaElement | undefined {
    return this.#columns.get(name);
  }

  get columnNames(): string[] {
    return [...this.#columns.keys()];
  }

  /**
   * The byte range and encoding of a column in a row group.
   *
   * @throws {FormatError} If the footer lacks them.
   */
  chunk(name: string, { index, numRows }: RowGroupRange): ColumnChunkRange {
    const element = this.#columns.get(name);
    const found = this.#columnOf(name, index);
    const metaData = found?.file_path ? undefined : found?.meta_data;
    const range = metaData && chunkBytes(metaData);
    if (!element || !metaData || !range || range.startBytes < 4 || range.endBytes > this.source.sizeBytes) {
      throw new FormatError(
        `the footer does not contain the offset of column ${name}; fetch or make the file again`,
        {
          path: this.path,
        },
      );
    }
    return { name, element, ...range, codec: metaData.codec, numRows };
  }

  /** The minimum and maximum of an integer column in a row group, if the footer contains them. */
  integerRange(name: string, { index }: RowGroupRange): [least: bigint, greatest: bigint] | undefined {
    const { min_value, max_value } = this.#columnOf(name, index)?.meta_data?.statistics ?? {};
    const isInteger = (value: unknown) => typeof value === "bigint" || Number.isSafeInteger(value);
    if (!isInteger(min_value) || !isInteger(max_value)) return undefined;
    return [BigInt(min_value as bigint), BigInt(max_value as bigint)];
  }

  [Symbol.dispose](): void {
    this.source[Symbol.dispose]();
  }

  #columnOf(name: string, rowGroup: number): ColumnChunk | undefined {
    return this.metadata.row_groups[rowGroup].columns.find(({ meta_data }) =>
      meta_data?.path_in_schema.length === 1 && meta_data.path_in_schema[0] === name
    );
  }
}

function checkMagic(file: FileWindow): void {
  const { path, sizeBytes } = file;
  const isMagicAt = (offsetBytes: number) => {
    const found = file.read(offsetBytes, MAGIC.length);
    return MAGIC.every((byte, i) => found[i] === byte);
  };
  if (sizeBytes < SMALLEST_FILE_BYTES || !isMagicAt(0)) {
    throw new FormatError(
      `it does not start with PAR1, expected a Parquet file; ` +
        `convert other measurement files with import first`,
      { path, offsetBytes: 0 },
    );
  }
  if (!isMagicAt(sizeBytes - MAGIC.length)) {
    throw new FormatError(
      "it does not end with PAR1, so it is truncated or damaged; fetch or make it again",
      { path, offsetBytes: sizeBytes - MAGIC.length },
    );
  }
}

/** Reads the footer with its length and magic. hyparquet trusts its sizes, so they are checked first. */
function readFooter(file: FileWindow): ArrayBuffer {
  const { path } = file;
  const offsetBytes = file.sizeBytes - FOOTER_END_BYTES;
  const end = file.read(offsetBytes, FOOTER_END_BYTES).slice();
  const sizeBytes = new DataView(end.buffer).getUint32(0, true);
  const tooLarge = (found: string, wanted: string) =>
    new FormatError(`its footer has ${found}, expected at most ${wanted}; write it with fewer row groups`, {
      path,
      offsetBytes,
    });
  if (sizeBytes > offsetBytes) {
    throw new FormatError(
      `its footer is damaged (it states a size of ${sizeBytes} bytes); fetch or make it again`,
      {
        path,
        offsetBytes,
      },
    );
  }
  if (sizeBytes > MAX_FOOTER_BYTES) throw tooLarge(`${sizeBytes} bytes`, `${MAX_FOOTER_BYTES}`);
  const bytes = file.read(offsetBytes - sizeBytes, sizeBytes + FOOTER_END_BYTES).slice();
  const reader = new CompactReader(bytes.subarray(0, sizeBytes));
  reader.struct();
  if (reader.numValues > MAX_FOOTER_VALUES) {
    throw tooLarge(`${reader.numValues} values`, `${MAX_FOOTER_VALUES}`);
  }
  return bytes.buffer;
}

/** The byte range of a column chunk; undefined if the footer contains no valid one. */
function chunkBytes(metaData: ColumnMetaData): { startBytes: number; endBytes: number } | undefined {
  const dictionaryBytes = Number(metaData.dictionary_page_offset ?? 0);
  const dataBytes = Number(metaData.data_page_offset);
  const startBytes = dictionaryBytes > 0 ? Math.min(dictionaryBytes, dataBytes) : dataBytes;
  const endBytes = startBytes + Number(metaData.total_compressed_size);
  return Number.isSafeInteger(endBytes) && startBytes <= endBytes ? { startBytes, endBytes } : undefined;
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
  // hyparquet does not check its input: its TypeError describes a symptom instead of the fault.
  const isClear = error instanceof Error && !(error instanceof TypeError);
  const message = isClear ? error.message : "a field is missing or of another type";
  return new FormatError(`${what} (${message}); fetch or make it again`, { path, cause: error });
}

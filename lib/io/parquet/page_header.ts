/**
 * The header of a Parquet page (https://parquet.apache.org/docs/file-format/data-pages/).
 *
 * @module
 */
import { CompactReader, ThriftError, type ThriftStruct } from "./thrift_reader.ts";

/** The kinds of pages a column chunk has. */
export type PageKind = "data" | "dictionary" | "dataV2" | "index";

/** A page header; sizes in bytes. */
export interface PageHeader {
  kind: PageKind;
  uncompressedBytes: number;
  compressedBytes: number;
  /** CRC-32 of the page as stored, if the writer stored it. */
  crc: number | undefined;
  numValues: number;
  /** Number of nulls of a version 2 data page; undefined for other pages. */
  numNulls: number | undefined;
  /** The encoding's number in the format's Encoding enum. */
  encoding: number;
  /** Size of the repetition levels of a version 2 data page; 0 for other pages. */
  repetitionBytes: number;
  /** Size of its definition levels; 0 for other pages. */
  definitionBytes: number;
  /** Whether its values are compressed; true for other pages. */
  isCompressed: boolean;
}

const KINDS: readonly PageKind[] = ["data", "index", "dictionary", "dataV2"];

/**
 * Reads a page header.
 *
 * @param bytes The bytes that begin with it.
 * @returns The header and its own length in bytes.
 * @throws {ThriftError} If the bytes are not a page header, or end inside it.
 */
export function readPageHeader(bytes: Uint8Array): { header: PageHeader; headerBytes: number } {
  const reader = new CompactReader(bytes);
  const fields = reader.struct();
  const kind = KINDS[numberOf(fields, 1)];
  if (!kind) throw new ThriftError(`page type ${fields.get(1)}`);
  const detail = structOf(
    fields,
    kind === "data" ? 5 : kind === "dictionary" ? 7 : kind === "dataV2" ? 8 : 6,
  );
  const isV2 = kind === "dataV2";
  const header: PageHeader = {
    kind,
    uncompressedBytes: numberOf(fields, 2),
    compressedBytes: numberOf(fields, 3),
    crc: fields.has(4) ? numberOf(fields, 4) >>> 0 : undefined,
    numValues: kind === "index" ? 0 : numberOf(detail, 1),
    numNulls: isV2 ? numberOf(detail, 2) : undefined,
    encoding: kind === "index" ? 0 : numberOf(detail, isV2 ? 4 : 2),
    definitionBytes: isV2 ? numberOf(detail, 5) : 0,
    repetitionBytes: isV2 ? numberOf(detail, 6) : 0,
    isCompressed: isV2 ? detail.get(7) !== false : true,
  };
  const sizes = [
    header.uncompressedBytes,
    header.compressedBytes,
    header.numValues,
    header.definitionBytes,
    header.repetitionBytes,
  ];
  if (sizes.some((size) => size < 0)) throw new ThriftError("a negative size");
  return { header, headerBytes: reader.at };
}

function numberOf(fields: ThriftStruct, id: number): number {
  const value = fields.get(id);
  if (typeof value !== "number") throw new ThriftError(`field ${id} is missing`);
  return value;
}

function structOf(fields: ThriftStruct, id: number): ThriftStruct {
  const value = fields.get(id);
  if (!(value instanceof Map)) throw new ThriftError(`field ${id} is missing`);
  return value;
}

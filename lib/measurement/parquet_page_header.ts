/**
 * The header of a Parquet page: a Thrift struct in the compact protocol.
 *
 * Every size is checked against what the column chunk can hold, so that a damaged header ends in an error and not
 * in a huge allocation. Formats: https://parquet.apache.org/docs/file-format/data-pages/ and
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md .
 *
 * @module
 */

/** The kinds of pages a column chunk has. */
export type PageKind = "data" | "dictionary" | "dataV2" | "index";

/** A page header; sizes in bytes. */
export interface PageHeader {
  kind: PageKind;
  uncompressedBytes: number;
  compressedBytes: number;
  /** CRC-32 of the page as stored, if the writer gave it. */
  crc: number | undefined;
  numValues: number;
  /** Of version 2 data pages; undefined for others. */
  numNulls: number | undefined;
  /** Number in the format's Encoding enum. */
  encoding: number;
  /** Of version 2 data pages; 0 and true for others. */
  repetitionBytes: number;
  definitionBytes: number;
  isCompressed: boolean;
}

const KINDS: readonly PageKind[] = ["data", "index", "dictionary", "dataV2"];
const MAX_DEPTH = 8;

/** Thrown for bytes that are no page header. */
export class PageHeaderError extends Error {
  override name = "PageHeaderError";
}

/**
 * Reads a page header.
 *
 * @param bytes The bytes that begin with it.
 * @returns The header and its own length in bytes.
 * @throws {PageHeaderError} If the bytes are none, or end inside it.
 */
export function readPageHeader(bytes: Uint8Array): { header: PageHeader; headerBytes: number } {
  const reader = new CompactReader(bytes);
  const fields = reader.struct();
  const kind = KINDS[numberOf(fields, 1)];
  if (!kind) throw new PageHeaderError(`page type ${fields.get(1)}`);
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
  if (sizes.some((size) => size < 0)) throw new PageHeaderError("a negative size");
  return { header, headerBytes: reader.at };
}

type Field = number | boolean | Fields | undefined;
type Fields = Map<number, Field>;

function numberOf(fields: Fields, id: number): number {
  const value = fields.get(id);
  if (typeof value !== "number") throw new PageHeaderError(`field ${id} is missing`);
  return value;
}

function structOf(fields: Fields, id: number): Fields {
  const value = fields.get(id);
  if (!(value instanceof Map)) throw new PageHeaderError(`field ${id} is missing`);
  return value;
}

/** Reads Thrift structs; strings and lists are stepped over, no page header needs theirs. */
class CompactReader {
  at = 0;

  constructor(readonly bytes: Uint8Array) {}

  struct(depth = 0): Fields {
    if (depth > MAX_DEPTH) throw new PageHeaderError("structs nested too deeply");
    const fields: Fields = new Map();
    for (let id = 0;;) {
      const head = this.#byte();
      const type = head & 15;
      if (type === 0) return fields;
      id = head >> 4 ? id + (head >> 4) : zigzag(this.#varint());
      fields.set(id, this.#value(type, depth));
    }
  }

  #value(type: number, depth: number): Field {
    switch (type) {
      case 1:
      case 2:
        return type === 1;
      case 3:
        return this.#byte();
      case 4:
      case 5:
      case 6:
        return zigzag(this.#varint());
      case 7:
        return this.#skip(8);
      case 8:
        return this.#skip(this.#varint());
      case 9:
      case 10:
        return this.#list(depth);
      case 12:
        return this.struct(depth + 1);
      default:
        throw new PageHeaderError(`Thrift type ${type}`);
    }
  }

  #list(depth: number): undefined {
    const head = this.#byte();
    const size = head >> 4 === 15 ? this.#varint() : head >> 4;
    if (size > this.bytes.length - this.at) throw new PageHeaderError("a list longer than the page");
    for (let i = 0; i < size; i++) this.#value(Math.max(3, head & 15), depth + 1); // a boolean in a list is a byte
    return undefined;
  }

  #skip(numBytes: number): undefined {
    this.at += numBytes;
    if (this.at > this.bytes.length) throw new PageHeaderError("it ends too early");
    return undefined;
  }

  #byte(): number {
    if (this.at >= this.bytes.length) throw new PageHeaderError("it ends too early");
    return this.bytes[this.at++];
  }

  /** An unsigned LEB128 number; exact below 2^53. */
  #varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 70; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new PageHeaderError("a number of more than 10 bytes");
  }
}

function zigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

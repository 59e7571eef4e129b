/**
 * Reads structs of Thrift's compact protocol, in which Parquet's footer and page headers are written.
 *
 * Every size is checked against the available bytes, so that damaged ones cause an error and not a huge
 * allocation. Format: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md .
 *
 * @module
 */

const MAX_DEPTH = 8;

/** Thrown for bytes that are not a struct. */
export class ThriftError extends Error {
  override name = "ThriftError";
}

type Field = number | boolean | ThriftStruct | undefined;
/** A struct's fields by their numbers; strings and lists are undefined. */
export type ThriftStruct = Map<number, Field>;

/** Reads structs; strings and lists are skipped, because none of those in page headers are needed. */
export class CompactReader {
  /** Index of the next byte. */
  at = 0;
  /** Number of fields and of elements of lists that were read. */
  numValues = 0;

  /** @param bytes The bytes, beginning with the struct. */
  constructor(readonly bytes: Uint8Array) {}

  /** Reads a struct. @throws {ThriftError} If the bytes are not a struct, or end inside it. */
  struct(depth = 0): ThriftStruct {
    const fields: ThriftStruct = new Map();
    for (let id = 0;;) {
      const head = this.#byte();
      const type = head & 15;
      if (type === 0) return fields;
      id = head >> 4 ? id + (head >> 4) : zigzag(this.varint());
      fields.set(id, this.#value(type, depth));
    }
  }

  /** An unsigned LEB128 number; exact below 2^53. @throws {ThriftError} If the bytes are not one. */
  varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 70; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new ThriftError("a number of more than 10 bytes");
  }

  #value(type: number, depth: number): Field {
    if (depth > MAX_DEPTH) throw new ThriftError("values nested too deeply");
    this.numValues++;
    switch (type) {
      case 1:
      case 2:
        return type === 1;
      case 3:
        return this.#byte();
      case 4:
      case 5:
      case 6:
        return zigzag(this.varint());
      case 7:
        return this.#skip(8);
      case 8:
        return this.#skip(this.varint());
      case 9:
      case 10:
        return this.#list(depth);
      case 12:
        return this.struct(depth + 1);
      default:
        throw new ThriftError(`Thrift type ${type}`);
    }
  }

  #list(depth: number): undefined {
    const head = this.#byte();
    const size = head >> 4 === 15 ? this.varint() : head >> 4;
    if (size > this.bytes.length - this.at) throw new ThriftError("a list longer than the bytes");
    for (let i = 0; i < size; i++) this.#value(Math.max(3, head & 15), depth + 1); // a boolean in a list is a byte
    return undefined;
  }

  #skip(numBytes: number): undefined {
    this.at += numBytes;
    if (this.at > this.bytes.length) throw new ThriftError("it ends too early");
    return undefined;
  }

  #byte(): number {
    if (this.at >= this.bytes.length) throw new ThriftError("it ends too early");
    return this.bytes[this.at++];
  }
}

function zigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

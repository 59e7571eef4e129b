/**
 * Reads structs in Thrift's compact protocol, which Parquet uses for footers and page headers
 * (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
 *
 * @module
 */

import { ByteCursor, EncodingError } from "./byte_cursor.ts";

const MAX_DEPTH = 8;

type Field = number | boolean | ThriftStruct | undefined;
/** A struct's fields by number; strings and lists are undefined. */
export type ThriftStruct = Map<number, Field>;

/** Reads structs. Strings and lists are skipped, because page headers are read without them. */
export class CompactReader extends ByteCursor {
  /** Number of fields and list elements read so far. */
  numValues = 0;

  /** Reads a struct. @throws {EncodingError} If the bytes are not a struct or end inside it. */
  struct(depth = 0): ThriftStruct {
    const fields: ThriftStruct = new Map();
    for (let id = 0;;) {
      const head = this.byte();
      const type = head & 15;
      if (type === 0) return fields;
      id = head >> 4 ? id + (head >> 4) : this.#integer();
      fields.set(id, this.#value(type, depth));
    }
  }

  #value(type: number, depth: number): Field {
    if (depth > MAX_DEPTH) throw new EncodingError("values nested too deeply");
    this.numValues++;
    switch (type) {
      case 1:
      case 2:
        return type === 1;
      case 3:
        return this.byte();
      case 4:
      case 5:
      case 6:
        return this.#integer();
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
        throw new EncodingError(`Thrift type ${type}`);
    }
  }

  #list(depth: number): undefined {
    const head = this.byte();
    const size = head >> 4 === 15 ? this.varint() : head >> 4;
    if (size > this.left) throw new EncodingError("a list longer than the bytes");
    for (let i = 0; i < size; i++) this.#value(Math.max(3, head & 15), depth + 1); // booleans in lists take a byte
    return undefined;
  }

  #skip(numBytes: number): undefined {
    this.take(numBytes);
    return undefined;
  }

  /** A signed number, rounded from 2^53 on. */
  #integer(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}

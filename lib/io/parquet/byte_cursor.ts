/**
 * A cursor over encoded bytes that never moves past their end, so that damaged sizes cause an error instead
 * of a huge allocation.
 *
 * @module
 */

/** Thrown for bytes that violate their encoding. */
export class EncodingError extends Error {
  override name = "EncodingError";
}

/** Reads bytes and LEB128 numbers in order. Throws an {@link EncodingError} at the end of the bytes. */
export class ByteCursor {
  at = 0;

  constructor(readonly bytes: Uint8Array) {}

  get left(): number {
    return this.bytes.length - this.at;
  }

  byte(): number {
    if (this.at >= this.bytes.length) throw new EncodingError("the bytes end too early");
    return this.bytes[this.at++];
  }

  /** Returns the next bytes as a view. */
  take(numBytes: number): Uint8Array {
    if (!(numBytes >= 0 && numBytes <= this.left)) throw new EncodingError("the bytes end too early");
    return this.bytes.subarray(this.at, this.at += numBytes);
  }

  /** Reads an unsigned number; exact below 2^53. */
  varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 70; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new EncodingError("a number of more than 10 bytes");
  }

  /** Reads a zigzag-encoded signed 64-bit number. */
  zigzag(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value >> 1n ^ -(value & 1n);
    }
    throw new EncodingError("a number of more than 10 bytes");
  }
}

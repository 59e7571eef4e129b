/** Converts text that arrives in pieces to UTF-8. @module */
import { concat } from "@std/bytes";

/** Converts UTF-16 text with a byte order mark to UTF-8. Other bytes pass unchanged. */
export class ToUtf8 {
  #utf16: TextDecoder | undefined;
  /** Bytes received so far, until there are two. */
  #first: Uint8Array | undefined = new Uint8Array(0);

  /** @param isEnd Whether the text ends with these bytes. */
  push(chunk: Uint8Array, isEnd = false): Uint8Array {
    let bytes = chunk;
    if (this.#first) {
      bytes = concat([this.#first, chunk]);
      this.#first = bytes;
      if (bytes.length < 2 && !isEnd) return new Uint8Array(0);
      const mark = bytes[0] << 8 | bytes[1];
      if (mark === 0xfffe) this.#utf16 = new TextDecoder("utf-16le");
      if (mark === 0xfeff) this.#utf16 = new TextDecoder("utf-16be");
      this.#first = undefined;
    }
    return this.#utf16 ? new TextEncoder().encode(this.#utf16.decode(bytes, { stream: !isEnd })) : bytes;
  }
}

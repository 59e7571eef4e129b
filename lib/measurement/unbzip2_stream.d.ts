/** Types of the part of unbzip2-stream that is in use (https://github.com/regular/unbzip2-stream). */

/** A `through` stream: `write` and `end` emit `data`, `end` and `error` before they return. */
export interface Unbzip2Stream {
  on(event: "data", listener: (bytes: Uint8Array) => void): void;
  on(event: "error", listener: (error: Error) => void): void;
  write(bytes: Uint8Array): void;
  end(): void;
}

/** Makes a decompressor; several bzip2 streams one after another are one text. */
export default function unbzip2Stream(): Unbzip2Stream;

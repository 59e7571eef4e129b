/** Types of the parts of unbzip2-stream that are in use (https://github.com/regular/unbzip2-stream). */

/** Reads bits, the highest of a byte first; `null` goes on to the next whole byte. */
export interface BitReader {
  (numBits: number | null): number;
  /** Bytes of which at least one bit was read. */
  readonly bytesRead: number;
}

/** The block decoder (`lib/bzip2.js`); it has one state for all streams, reset by each `header`. */
export interface BlockDecoder {
  /**
   * Reads a stream's header.
   *
   * @returns The level: a block has up to `100000 * level` bytes.
   * @throws If it is no header.
   */
  header(bits: BitReader): number;
  /**
   * Decodes a block.
   *
   * @param put Takes each decoded byte.
   * @param buffer Has `100000 * level` numbers of any values.
   * @param checksum Of the stream's blocks so far.
   * @returns The new checksum; null if this was the stream's end instead of a block.
   * @throws If it is damaged.
   */
  decompress(
    bits: BitReader,
    put: (byte: number) => void,
    buffer: Int32Array,
    bufferLength: number,
    checksum: number,
  ): number | null;
}

declare const blockDecoder: BlockDecoder;
export default blockDecoder;

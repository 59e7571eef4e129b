/**
 * Writes Arrow IPC messages of a fixed schema by filling numbers into a message that was encoded once: the
 * metadata of two batches with the same schema differ only in lengths and offsets.
 *
 * Format: https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format; fields as in
 * Message.fbs.
 *
 * @module
 */
import { ensure } from "../../base/errors.ts";
import { FlatTable } from "./flat_table.ts";

/** The continuation marker and metadata size before each message. */
const PREFIX_BYTES = 8;
const MESSAGE = { headerType: 1, header: 2, bodyLength: 3 };
const DICTIONARY_BATCH = { headerType: 2, data: 1 };
const RECORD_BATCH = { headerType: 3, length: 0, nodes: 1, buffers: 2 };
/** A FieldNode is (length, null_count), a Buffer (offset, length): two 64-bit integers each. */
const PAIR_BYTES = 16;

/** Size of a buffer in a message's body, padded to 8. */
export function paddedBytes(numBytes: number): number {
  return (numBytes + 7) & ~7;
}

/** Splits an Arrow IPC stream into its messages: metadata with prefix, without bodies. */
export function splitStream(stream: Uint8Array): Uint8Array[] {
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  const messages: Uint8Array[] = [];
  for (let at = 0;;) {
    const sizeBytes = view.getInt32(at + 4, true);
    if (sizeBytes === 0) return messages;
    const end = at + PREFIX_BYTES + sizeBytes;
    messages.push(stream.slice(at, end));
    const table = FlatTable.root(
      new DataView(stream.buffer, stream.byteOffset + at + PREFIX_BYTES, sizeBytes),
    );
    at = end + table.int64(MESSAGE.bodyLength);
  }
}

/** The message of a record or dictionary batch, with numbers to be filled in. */
export class BatchTemplate {
  /** Size of the metadata with its prefix, a multiple of 8. */
  readonly sizeBytes: number;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #lengthAt: number;
  readonly #bodyLengthAt: number;
  readonly #nodes: { at: number; length: number };
  readonly #buffers: { at: number; length: number };

  /** @param message A message from {@link splitStream} without zero counts or nulls. */
  constructor(message: Uint8Array) {
    this.#bytes = message.slice();
    this.sizeBytes = message.length;
    this.#view = new DataView(this.#bytes.buffer, PREFIX_BYTES);
    const root = FlatTable.root(this.#view);
    const header = root.table(MESSAGE.header);
    const isDictionary = root.uint8(MESSAGE.headerType) === DICTIONARY_BATCH.headerType;
    const batch = isDictionary ? header?.table(DICTIONARY_BATCH.data) : header;
    ensure(batch, "an Arrow message has no batch");
    this.#lengthAt = batch.positionOf(RECORD_BATCH.length);
    this.#bodyLengthAt = root.positionOf(MESSAGE.bodyLength);
    ensure(this.#lengthAt > 0 && this.#bodyLengthAt > 0, "an Arrow message omits a length");
    this.#nodes = batch.vectorPosition(RECORD_BATCH.nodes, PAIR_BYTES);
    this.#buffers = batch.vectorPosition(RECORD_BATCH.buffers, PAIR_BYTES);
  }

  /**
   * Writes the metadata for a batch without nulls; the body must follow.
   *
   * @param length Rows of the batch, at least 1.
   * @param bufferBytes Bytes of each buffer of the body, without padding; not all 0.
   */
  write(length: number, bufferBytes: readonly number[], out: Uint8Array, at: number): void {
    ensure(length > 0 && bufferBytes.length === this.#buffers.length, "a batch does not match its schema");
    this.#put(this.#lengthAt, length);
    for (let i = 0; i < this.#nodes.length; i++) this.#put(this.#nodes.at + PAIR_BYTES * i, length);
    let bodyBytes = 0;
    for (let i = 0; i < bufferBytes.length; i++) {
      const position = this.#buffers.at + PAIR_BYTES * i;
      const size = paddedBytes(bufferBytes[i]);
      this.#put(position, bodyBytes);
      this.#put(position + 8, size);
      bodyBytes += size;
    }
    this.#put(this.#bodyLengthAt, bodyBytes);
    out.set(this.#bytes, at);
  }

  /** Writes a 64-bit integer below 2^31: records have at most 1 GiB. */
  #put(at: number, value: number): void {
    this.#view.setInt32(at, value, true);
  }
}

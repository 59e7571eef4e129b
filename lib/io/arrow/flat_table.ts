/**
 * Reads tables of FlatBuffers, the encoding of Arrow's metadata (https://flatbuffers.dev/internals/), with
 * bounds checks on every access. Arrow's own library trusts vector lengths, so a few damaged bytes make it
 * allocate without limit.
 *
 * @module
 */

const decoder = new TextDecoder();
/** Maximum text length. Many fields can share one text, so their sum could far exceed the buffer. */
const MAX_TEXT_BYTES = 2 ** 16;

/** A table whose fields are identified by their index in the schema. Reads past the end throw RangeError. */
export class FlatTable {
  readonly #view: DataView;
  readonly #at: number;
  readonly #vtable: number;
  readonly #vtableSizeBytes: number;

  private constructor(view: DataView, at: number) {
    this.#view = view;
    this.#at = at;
    this.#vtable = at - view.getInt32(at, true);
    this.#vtableSizeBytes = view.getUint16(this.#vtable, true);
  }

  /** The root table of a buffer. @throws {RangeError} If it lies outside the buffer. */
  static root(view: DataView): FlatTable {
    return new FlatTable(view, view.getUint32(0, true));
  }

  /** An unsigned byte or boolean; 0 if the field is absent. */
  uint8(field: number): number {
    const at = this.positionOf(field);
    return at === 0 ? 0 : this.#view.getUint8(at);
  }

  /** A 16-bit integer; 0 if the field is absent. */
  int16(field: number): number {
    const at = this.positionOf(field);
    return at === 0 ? 0 : this.#view.getInt16(at, true);
  }

  /** A 32-bit integer; 0 if the field is absent. */
  int32(field: number): number {
    const at = this.positionOf(field);
    return at === 0 ? 0 : this.#view.getInt32(at, true);
  }

  /** A 64-bit integer, rounded above 2^53; 0 if the field is absent. */
  int64(field: number): number {
    const at = this.positionOf(field);
    return at === 0 ? 0 : readInt64(this.#view, at);
  }

  table(field: number): FlatTable | undefined {
    const at = this.positionOf(field);
    return at === 0 ? undefined : new FlatTable(this.#view, this.#follow(at));
  }

  /** A text; empty if the field is absent. @throws {RangeError} If it extends past the end or is too long. */
  text(field: number): string {
    const vector = this.vectorPosition(field, 1);
    if (vector.length > MAX_TEXT_BYTES) throw new RangeError(`a text of ${vector.length} bytes`);
    const { buffer, byteOffset } = this.#view;
    return decoder.decode(new Uint8Array(buffer, byteOffset + vector.at, vector.length));
  }

  /** A vector of tables. @throws {RangeError} If it extends past the end. */
  tables(field: number): FlatTable[] {
    const { at, length } = this.vectorPosition(field, 4);
    return Array.from({ length }, (_, i) => new FlatTable(this.#view, this.#follow(at + 4 * i)));
  }

  /** A 64-bit integer at a position from {@link vectorPosition}, rounded above 2^53. */
  int64At(at: number): number {
    return readInt64(this.#view, at);
  }

  /** The position of a field's value in the buffer; 0 if the field is absent. */
  positionOf(field: number): number {
    const entry = 4 + 2 * field;
    if (entry >= this.#vtableSizeBytes) return 0;
    const offset = this.#view.getUint16(this.#vtable + entry, true);
    return offset === 0 ? 0 : this.#at + offset;
  }

  #follow(at: number): number {
    return at + this.#view.getUint32(at, true);
  }

  /** The position of a vector's first element. @throws {RangeError} If the vector extends past the end. */
  vectorPosition(field: number, elementBytes: number): { at: number; length: number } {
    const slot = this.positionOf(field);
    if (slot === 0) return { at: 0, length: 0 };
    const at = this.#follow(slot);
    const length = this.#view.getUint32(at, true);
    if (at + 4 + length * elementBytes > this.#view.byteLength) {
      throw new RangeError(`a vector of ${length} elements passes the end of its buffer`);
    }
    return { at: at + 4, length };
  }
}

/** Reads a signed 64-bit little-endian integer, rounded above 2^53. */
function readInt64(view: DataView, at: number): number {
  return view.getInt32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
}

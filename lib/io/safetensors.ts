/**
 * safetensors files of float32 and float16 tensors, the format of checkpoints, which PyTorch can open directly.
 *
 * Layout: u64 little-endian length N of the header; N bytes of JSON that start with `{` and may end in spaces,
 * name -> {dtype, shape, data_offsets [begin, end)} relative to byte 8 + N, and `__metadata__` (text to text);
 * then the tensors, little-endian, row-major, without gaps.
 * https://github.com/huggingface/safetensors#format
 *
 * @module
 */
import { createHash, type Hash } from "node:crypto";
import { ensure, named } from "../base/errors.ts";
import { AtomicFile } from "./files/atomic.ts";
import { ByteFile } from "./files/byte_file.ts";
import {
  decodeHeader,
  elementsOf,
  encodeHeader,
  headerLengthBytes,
  LENGTH_BYTES,
  numElements,
  type SafetensorsHeader,
  sortedNames,
} from "../base/safetensors_header.ts";

/** Tensors of one file by name, each a flat row-major array. */
export interface SafetensorsContent {
  /** Extents, outermost first, of every tensor. */
  shapes: Map<string, number[]>;
  /** Elements of every tensor. */
  tensors: Map<string, Float32Array>;
  /** Free text to text. */
  metadata: Record<string, string>;
}

/** The facts of a finished file. */
export interface SafetensorsFile {
  /** Length of the whole file, header included. */
  sizeBytes: number;
  /** SHA-256 of its bytes, hexadecimal. */
  sha256: string;
}

/** Options of writing a file. */
interface SafetensorsOptions {
  metadata?: Record<string, string>;
  halves?: ReadonlySet<string>;
}

/** The number of bytes hashed and written in one call. */
const CHUNK_BYTES = 1 << 24;

/**
 * Writes tensors one after the other, so that only one is in memory; the file appears when closed.
 *
 * Equal content gives equal bytes: tensors are in the order of their names, as the reference implementation
 * writes them.
 */
export class SafetensorsWriter {
  readonly #file: AtomicFile;
  readonly #hash: Hash = createHash("sha256");
  readonly #shapes: Map<string, readonly number[]>;
  readonly #halves: ReadonlySet<string>;
  /** The names in the order of writing. */
  readonly names: readonly string[];
  #numWritten = 0;

  private constructor(
    file: AtomicFile,
    shapes: Map<string, readonly number[]>,
    halves: ReadonlySet<string>,
  ) {
    this.#file = file;
    this.#shapes = shapes;
    this.#halves = halves;
    this.names = sortedNames(shapes.keys());
  }

  /**
   * Starts a file.
   *
   * @param path Its name once closed.
   * @param shapes The extents of every tensor.
   * @param options `metadata`: free text to text for the header; `halves`: the tensors to store as float16 (none).
   * @throws {UserError} If the file cannot be made.
   */
  static create(
    path: string,
    shapes: Map<string, readonly number[]>,
    { metadata = {}, halves = new Set() }: SafetensorsOptions = {},
  ): SafetensorsWriter {
    const header = encodeHeader(shapes, metadata, halves);
    const writer = new SafetensorsWriter(AtomicFile.create(path), shapes, halves);
    writer.#write(header);
    return writer;
  }

  /**
   * Appends the next tensor; the calls follow {@link names}.
   *
   * @param data Its elements, row-major, as many as its shape has.
   * @throws {UserError} If the disk is full.
   */
  write(name: string, data: Float32Array): void {
    ensure(name === this.names[this.#numWritten], `tensor ${name} is out of order`);
    ensure(
      data.length === numElements(this.#shapes.get(name) ?? []),
      `tensor ${name} differs from its shape`,
    );
    this.#numWritten++;
    const { buffer, byteOffset, byteLength } = this.#halves.has(name) ? new Float16Array(data) : data;
    this.#write(new Uint8Array(buffer, byteOffset, byteLength));
  }

  /** Flushes the file and gives it its name. */
  close(): SafetensorsFile {
    ensure(this.#numWritten === this.names.length, "tensors of a safetensors file are missing");
    this.#file.commit();
    return { sizeBytes: this.#file.offsetBytes, sha256: this.#hash.digest("hex") };
  }

  /** Deletes the unfinished file; does nothing after {@link close}. */
  abort(): void {
    this.#file.abort();
  }

  [Symbol.dispose](): void {
    this.abort();
  }

  #write(bytes: Uint8Array): void {
    for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
      const chunk = bytes.subarray(start, start + CHUNK_BYTES);
      this.#hash.update(chunk);
      this.#file.writeSync(chunk);
    }
  }
}

/**
 * Writes a whole file.
 *
 * @param path The file.
 * @param content Shapes, elements and metadata; the same names in both maps. `halves`: the tensors to store as float16.
 * @throws {UserError} If it cannot be written.
 */
export function writeSafetensors(
  path: string,
  content: SafetensorsContent & { halves?: ReadonlySet<string> },
): SafetensorsFile {
  using writer = SafetensorsWriter.create(path, content.shapes, content);
  for (const name of writer.names) {
    writer.write(name, named(content.tensors, name));
  }
  return writer.close();
}

/**
 * Reads a whole file and checks all rules of the format.
 *
 * @param path The file.
 * @throws {UserError} If it cannot be opened.
 * @throws {FormatError} If it is truncated or damaged, or holds a tensor that is neither float32 nor float16.
 */
export function readSafetensors(path: string): SafetensorsContent {
  using file = ByteFile.open(path);
  const { entries, metadata, dataOffsetBytes } = readHeader(file);
  const tensors = new Map<string, Float32Array>();
  const shapes = new Map<string, number[]>();
  for (const [name, { shape, dtype, begin, end }] of entries) {
    const bytes = new Uint8Array(end - begin);
    file.readAt(dataOffsetBytes + begin, bytes);
    tensors.set(name, elementsOf(bytes, dtype));
    shapes.set(name, shape);
  }
  return { shapes, tensors, metadata };
}

/** Reads names, shapes and metadata without the tensors; the arguments and errors of {@link readSafetensors}. */
export function readSafetensorsHeader(path: string): Omit<SafetensorsContent, "tensors"> {
  using file = ByteFile.open(path);
  const { entries, metadata } = readHeader(file);
  return { shapes: new Map([...entries].map(([name, { shape }]) => [name, shape])), metadata };
}

function readHeader(file: ByteFile): SafetensorsHeader & { dataOffsetBytes: number } {
  const { path, sizeBytes } = file;
  const start = new Uint8Array(LENGTH_BYTES);
  if (sizeBytes >= LENGTH_BYTES) file.readAt(0, start);
  const text = new Uint8Array(headerLengthBytes(start, { path, sizeBytes }));
  file.readAt(LENGTH_BYTES, text);
  return { ...decodeHeader(text, { path, sizeBytes }), dataOffsetBytes: LENGTH_BYTES + text.length };
}

/** The SHA-256 of names and bytes of tensors, in the order of their names, hexadecimal. */
export function sha256OfTensors(tensors: ReadonlyMap<string, Float32Array>): string {
  const hash = createHash("sha256");
  for (const [name, values] of [...tensors].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(name).update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }
  return hash.digest("hex");
}

/**
 * safetensors files of float32 tensors: what checkpoints are made of, so that PyTorch opens them as they are.
 *
 * Layout: u64 little-endian length N of the header; N bytes of JSON that start with `{` and may end in spaces,
 * name -> {dtype, shape, data_offsets [begin, end)} relative to byte 8 + N, and `__metadata__` (text to text);
 * then the tensors, little-endian, row-major, without holes.
 * https://github.com/huggingface/safetensors#format
 *
 * @module
 */
import { createHash, type Hash } from "node:crypto";
import { ensure, FormatError, named } from "../errors.ts";
import { AtomicFile } from "../files/atomic.ts";
import { FileWindow } from "../files/file_window.ts";
import {
  decodeHeader,
  encodeHeader,
  LENGTH_BYTES,
  MAX_HEADER_BYTES,
  numElements,
  type SafetensorsHeader,
  sortedNames,
} from "./safetensors_header.ts";

/** Tensors of one file by name, each a flat row-major array. */
export interface SafetensorsContent {
  /** Extents, outermost first, of every tensor. */
  shapes: Map<string, number[]>;
  /** Elements of every tensor. */
  tensors: Map<string, Float32Array>;
  /** Free text to text. */
  metadata: Record<string, string>;
}

/** What a finished file is. */
export interface SafetensorsFile {
  /** Length of the whole file, header included. */
  sizeBytes: number;
  /** SHA-256 of its bytes, hexadecimal. */
  sha256: string;
}

/** How much is hashed and written, or read, in one call. */
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
  /** The names in the order in which they are to be written. */
  readonly names: readonly string[];
  #numWritten = 0;

  private constructor(file: AtomicFile, shapes: Map<string, readonly number[]>) {
    this.#file = file;
    this.#shapes = shapes;
    this.names = sortedNames(shapes.keys());
  }

  /**
   * Starts a file.
   *
   * @param path Its name once closed.
   * @param shapes The extents of every tensor.
   * @param options `metadata`: free text to text for the header.
   * @throws {UserError} If the file cannot be made.
   */
  static create(
    path: string,
    shapes: Map<string, readonly number[]>,
    options: { metadata?: Record<string, string> } = {},
  ): SafetensorsWriter {
    const header = encodeHeader(shapes, options.metadata ?? {});
    const writer = new SafetensorsWriter(AtomicFile.create(path), shapes);
    writer.#write(header);
    return writer;
  }

  /**
   * Appends the next tensor; the calls follow {@link names}.
   *
   * @param name Its name.
   * @param data Its elements, row-major, as many as its shape says.
   * @throws {UserError} If the disk is full.
   */
  write(name: string, data: Float32Array): void {
    ensure(name === this.names[this.#numWritten], `tensor ${name} is out of order`);
    ensure(
      data.length === numElements(this.#shapes.get(name) ?? []),
      `tensor ${name} differs from its shape`,
    );
    this.#numWritten++;
    this.#write(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
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
 * @param content Shapes, elements and metadata; the same names in both maps.
 * @throws {UserError} If it cannot be written.
 */
export function writeSafetensors(path: string, content: SafetensorsContent): SafetensorsFile {
  using writer = SafetensorsWriter.create(path, content.shapes, { metadata: content.metadata });
  for (const name of writer.names) {
    writer.write(name, named(content.tensors, name));
  }
  return writer.close();
}

/**
 * Reads a whole file, checking all that the format promises.
 *
 * @param path The file.
 * @throws {UserError} If it cannot be opened.
 * @throws {FormatError} If it is truncated or damaged, or holds a tensor that is not float32.
 */
export function readSafetensors(path: string): SafetensorsContent {
  using file = FileWindow.open(path);
  const { entries, metadata, dataOffsetBytes } = readHeader(file);
  const tensors = new Map<string, Float32Array>();
  const shapes = new Map<string, number[]>();
  for (const [name, { shape, begin, end }] of entries) {
    const data = new Float32Array(numElements(shape));
    const bytes = new Uint8Array(data.buffer);
    ensure(bytes.length === end - begin, `range of ${name} was not checked`);
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      const lengthBytes = Math.min(CHUNK_BYTES, bytes.length - at);
      bytes.set(file.read(dataOffsetBytes + begin + at, lengthBytes), at);
    }
    tensors.set(name, data);
    shapes.set(name, shape);
  }
  return { shapes, tensors, metadata };
}

/** Reads names, shapes and metadata without the tensors; the arguments and errors of {@link readSafetensors}. */
export function readSafetensorsHeader(path: string): Omit<SafetensorsContent, "tensors"> {
  using file = FileWindow.open(path);
  const { entries, metadata } = readHeader(file);
  return { shapes: new Map([...entries].map(([name, { shape }]) => [name, shape])), metadata };
}

function readHeader(file: FileWindow): SafetensorsHeader & { dataOffsetBytes: number } {
  const { path, sizeBytes } = file;
  if (sizeBytes < LENGTH_BYTES) {
    throw new FormatError(`the file ends, ${LENGTH_BYTES} bytes of header length were wanted`, {
      path,
      offsetBytes: sizeBytes,
    });
  }
  const length = new DataView(file.read(0, LENGTH_BYTES).slice().buffer).getBigUint64(0, true);
  if (length > BigInt(Math.min(MAX_HEADER_BYTES, sizeBytes - LENGTH_BYTES))) {
    const found = `the header is said to have ${length} bytes, the file has ${sizeBytes}`;
    throw new FormatError(`${found}; it is truncated or no safetensors file`, { path, offsetBytes: 0 });
  }
  const text = file.read(LENGTH_BYTES, Number(length));
  return { ...decodeHeader(text, { path, sizeBytes }), dataOffsetBytes: LENGTH_BYTES + text.length };
}

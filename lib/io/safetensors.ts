/**
 * safetensors files, the format of checkpoints, which PyTorch can open directly.
 *
 * Layout: the header's length N as a little-endian u64; N bytes of JSON that start with `{` and may end with
 * spaces, name -> {dtype, shape, data_offsets [begin, end)} relative to byte 8 + N, and `__metadata__` (text
 * to text); then the tensors, little-endian, row-major, without gaps.
 * https://github.com/huggingface/safetensors#format
 *
 * @module
 */
import { createHash } from "node:crypto";
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
  storedOrder,
  type TensorArray,
  type Tensors,
  typeOf,
} from "../base/safetensors_header.ts";

/** The tensors of one file by name, each a flat row-major array. */
export interface SafetensorsContent {
  /** Extents of every tensor, outermost first. */
  shapes: Map<string, number[]>;
  tensors: Map<string, TensorArray>;
  /** Free-form texts by key. */
  metadata: Record<string, string>;
}

export interface SafetensorsFile {
  /** Size of the whole file including the header. */
  sizeBytes: number;
  /** SHA-256 of the file, hexadecimal. */
  sha256: string;
}

/** Number of bytes to hash and write in one call. */
const CHUNK_BYTES = 1 << 24;

/**
 * Writes a file atomically. Equal content yields equal bytes, those of the reference implementation.
 *
 * @param content Shapes, elements and metadata, with the same names in both maps. `halves`: tensors to store
 *   as float16.
 * @throws {UserError} If it cannot be written.
 */
export function writeSafetensors(
  path: string,
  { shapes, tensors, metadata, halves }: SafetensorsContent & { halves?: ReadonlySet<string> },
): SafetensorsFile {
  const entries = new Map([...shapes].map(([name, shape]) => {
    const values = named(tensors, name);
    ensure(values.length === numElements(shape), `tensor ${name} differs from its shape`);
    return [name, { shape, dtype: halves?.has(name) ? "F16" as const : typeOf(values) }];
  }));
  const hash = createHash("sha256");
  using file = AtomicFile.create(path);
  const write = (bytes: Uint8Array) => {
    for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
      const chunk = bytes.subarray(start, start + CHUNK_BYTES);
      hash.update(chunk);
      file.writeSync(chunk);
    }
  };
  write(encodeHeader(entries, metadata));
  for (const name of storedOrder(entries)) {
    const values = named(tensors, name);
    const { buffer, byteOffset, byteLength } = halves?.has(name) ? new Float16Array(values) : values;
    write(new Uint8Array(buffer, byteOffset, byteLength));
  }
  file.commit();
  return { sizeBytes: file.offsetBytes, sha256: hash.digest("hex") };
}

/**
 * Reads a whole file and checks all rules of the format.
 *
 * @throws {UserError} If it cannot be opened.
 * @throws {FormatError} If it is truncated or damaged, or contains a tensor of an unknown type.
 */
export function readSafetensors(path: string): SafetensorsContent {
  using file = ByteFile.open(path);
  const { entries, metadata, dataOffsetBytes } = readHeader(file);
  const tensors = new Map<string, TensorArray>();
  const shapes = new Map<string, number[]>();
  for (const [name, { shape, dtype, begin, end }] of entries) {
    const bytes = new Uint8Array(end - begin);
    file.readAt(dataOffsetBytes + begin, bytes);
    tensors.set(name, elementsOf(bytes, dtype));
    shapes.set(name, shape);
  }
  return { shapes, tensors, metadata };
}

/** Reads names, shapes and metadata without the tensors. Throws like {@link readSafetensors}. */
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

/** SHA-256 over the names and bytes of tensors in the order of their names, hexadecimal. */
export function sha256OfTensors(tensors: Tensors): string {
  const hash = createHash("sha256");
  for (const [name, values] of [...tensors].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(name).update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }
  return hash.digest("hex");
}

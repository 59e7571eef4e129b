/**
 * Encodes, decodes and checks the header of a safetensors file (names, shapes and ranges of its tensors), and
 * decodes a whole file in memory. See lib/io/safetensors.ts for the format.
 *
 * @module
 */
import * as z from "zod";
import { ensure, FormatError, named } from "./errors.ts";

/** Size of the header's length at the start of a file. */
export const LENGTH_BYTES = 8;
/** The reference implementation's bound on the header (MAX_HEADER_SIZE in safetensors/src/tensor.rs). */
export const MAX_HEADER_BYTES = 100_000_000;
const METADATA_KEY = "__metadata__";

const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(z.number().int().nonnegative()),
  data_offsets: z.tuple([z.number().int().nonnegative(), z.number().int().nonnegative()]),
});
const metadataSchema = z.record(z.string(), z.string());

/** Row-major arrays by element type. */
interface Arrays {
  F32: Float32Array;
  U32: Uint32Array;
  U8: Uint8Array;
}
const ARRAYS = { F32: Float32Array, U32: Uint32Array, U8: Uint8Array };
export type ArrayType = keyof Arrays;
/** The elements of a tensor, row-major. */
export type TensorArray = Float32Array | Uint32Array | Uint8Array;
export type Tensors = ReadonlyMap<string, TensorArray>;

/** The element types of tensors in files, and their sizes in bytes. F16 is read as F32. */
const ELEMENT_BYTES = { F32: 4, U32: 4, F16: 2, U8: 1 } as const;
type ElementType = keyof typeof ELEMENT_BYTES;

export function zeros(type: ArrayType, length: number): TensorArray {
  return new ARRAYS[type](length);
}

export function typeOf(values: TensorArray): ArrayType {
  return values instanceof Float32Array ? "F32" : values instanceof Uint32Array ? "U32" : "U8";
}

/** Looks up a tensor. @throws {Error} If it is missing or has another type. */
export function tensorOf<T extends ArrayType>(tensors: Tensors, name: string, type: T): Arrays[T] {
  const values = named(tensors, name);
  ensure(typeOf(values) === type, `tensor ${name} is ${typeOf(values)}, expected ${type}`);
  return values as Arrays[T];
}

/** A tensor's shape and range. */
export interface Entry {
  shape: number[];
  dtype: ElementType;
  /** The tensor's first byte and the byte after its last, relative to the start of the data. */
  begin: number;
  end: number;
}

export interface SafetensorsHeader {
  /** Tensors by name, in the order of their ranges. */
  entries: Map<string, Entry>;
  metadata: Record<string, string>;
}

/**
 * Encodes the length and the header of a file whose tensors follow in {@link storedOrder}.
 *
 * @returns The bytes before the first tensor, a multiple of 8.
 */
export function encodeHeader(
  tensors: ReadonlyMap<string, { shape: readonly number[]; dtype: ElementType }>,
  metadata: Record<string, string>,
): Uint8Array {
  const header: [string, unknown][] = [];
  if (Object.keys(metadata).length > 0) header.push([METADATA_KEY, metadata]);
  let offsetBytes = 0;
  for (const name of storedOrder(tensors)) {
    const { shape, dtype } = named(tensors, name);
    ensure(name !== METADATA_KEY, `a tensor is called ${METADATA_KEY}`);
    const end = offsetBytes + ELEMENT_BYTES[dtype] * numElements(shape);
    header.push([name, { dtype, shape, data_offsets: [offsetBytes, end] }]);
    offsetBytes = end;
  }
  const json = `{${
    header.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")
  }}`;
  const text = new TextEncoder().encode(json);
  // The reference implementation pads with spaces so that the data start at a multiple of 8.
  const length = Math.ceil(text.length / 8) * 8;
  ensure(length <= MAX_HEADER_BYTES, "the header of a safetensors file is too long");
  const bytes = new Uint8Array(LENGTH_BYTES + length).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
  bytes.set(text, LENGTH_BYTES);
  return bytes;
}

/** Checks that all tensors are float32. @throws {FormatError} If one is not. */
export function floatsOf(tensors: Tensors, path: string): Map<string, Float32Array> {
  return new Map([...tensors].map(([name, values]) => {
    if (values instanceof Float32Array) return [name, values];
    throw new FormatError(`tensor ${name} is ${typeOf(values)}, expected F32`, { path });
  }));
}

/** A file, as described in errors and needed by checks. */
export interface TensorFile {
  path: string;
  sizeBytes: number;
}

/**
 * Reads the header's length. @param start The first bytes of the file. @throws {FormatError} If it is
 * invalid.
 */
export function headerLengthBytes(start: Uint8Array, { path, sizeBytes }: TensorFile): number {
  if (sizeBytes < LENGTH_BYTES) {
    throw new FormatError(`the file ends before the ${LENGTH_BYTES} bytes of the header's length`, {
      path,
      offsetBytes: sizeBytes,
    });
  }
  const length = new DataView(start.buffer, start.byteOffset).getBigUint64(0, true);
  if (length > BigInt(Math.min(MAX_HEADER_BYTES, sizeBytes - LENGTH_BYTES))) {
    const found = `the header states a size of ${length} bytes, but the file has ${sizeBytes}`;
    throw new FormatError(`${found}; it is truncated or not a safetensors file`, { path, offsetBytes: 0 });
  }
  return Number(length);
}

/** Decodes the elements of a tensor. @param bytes Must start a buffer or be aligned to the elements. */
export function elementsOf(bytes: Uint8Array, dtype: ElementType): TensorArray {
  const { buffer, byteOffset, byteLength } = bytes;
  const length = byteLength / ELEMENT_BYTES[dtype];
  if (dtype === "F16") return Float32Array.from(new Float16Array(buffer, byteOffset, length));
  return new ARRAYS[dtype](buffer as ArrayBuffer, byteOffset, length);
}

/**
 * Decodes a whole file in memory. Aligned tensors other than F16 share its memory.
 *
 * @param bytes Must start at the beginning of their buffer.
 * @param path For errors.
 * @returns Tensors by name, each a flat row-major array, and the header's metadata.
 * @throws {FormatError} As {@link decodeHeader}.
 */
export function decodeSafetensors(
  bytes: Uint8Array,
  path: string,
): { tensors: Map<string, TensorArray>; shapes: Map<string, number[]>; metadata: Record<string, string> } {
  const file = { path, sizeBytes: bytes.length };
  const start = LENGTH_BYTES + headerLengthBytes(bytes, file);
  const { entries, metadata } = decodeHeader(bytes.subarray(LENGTH_BYTES, start), file);
  const tensors = new Map([...entries].map(([name, { dtype, begin, end }]) => {
    const isAligned = (start + begin) % ELEMENT_BYTES[dtype] === 0;
    const part = isAligned
      ? bytes.subarray(start + begin, start + end)
      : bytes.slice(start + begin, start + end);
    return [name, elementsOf(part, dtype)];
  }));
  const shapes = new Map([...entries].map(([name, { shape }]) => [name, shape]));
  return { tensors, shapes, metadata };
}

/**
 * Decodes a header and checks it against the file's size.
 *
 * @param text The header without its length.
 * @param file The file's path and size in bytes.
 * @throws {FormatError} If it is not a header, or a tensor has an unknown type, overlaps another, or leaves a gap.
 */
export function decodeHeader(text: Uint8Array, file: TensorFile): SafetensorsHeader {
  const header = parseHeader(text, file.path);
  checkRanges(header.entries, { ...file, dataOffsetBytes: LENGTH_BYTES + text.length });
  return header;
}

function parseHeader(text: Uint8Array, path: string): SafetensorsHeader {
  const at = { path, offsetBytes: LENGTH_BYTES };
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(text));
  } catch (cause) {
    throw new FormatError("the header is not JSON; it is damaged or not a safetensors file", {
      ...at,
      cause,
    });
  }
  if (text[0] !== 0x7b || typeof header !== "object" || header === null) {
    throw new FormatError("the header does not start with {, expected a JSON object", at);
  }
  const { [METADATA_KEY]: rawMetadata = {}, ...rest } = header as Record<string, unknown>;
  const metadata = metadataSchema.safeParse(rawMetadata);
  if (!metadata.success) throw new FormatError(`${METADATA_KEY} must map texts to texts`, at);
  const entries = Object.entries(rest).map(([name, value]): [string, Entry] => [
    name,
    parseEntry(name, value, at),
  ]);
  entries.sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
  return { entries: new Map(entries), metadata: metadata.data };
}

function parseEntry(name: string, value: unknown, at: { path: string; offsetBytes: number }): Entry {
  const parsed = entrySchema.safeParse(value);
  if (!parsed.success) {
    throw new FormatError(`tensor ${name} has an invalid or missing dtype, shape or data_offsets`, at);
  }
  const { dtype, shape, data_offsets: [begin, end] } = parsed.data;
  if (!isElementType(dtype)) {
    const known = Object.keys(ELEMENT_BYTES).join(", ");
    throw new FormatError(`tensor ${name} is ${dtype}, expected one of ${known}; convert it`, at);
  }
  const wanted = ELEMENT_BYTES[dtype] * numElements(shape);
  if (end - begin !== wanted) {
    const found = `tensor ${name} of shape [${shape}] has ${end - begin} bytes`;
    throw new FormatError(`${found}, expected ${wanted}`, at);
  }
  return { shape, dtype, begin, end };
}

function isElementType(dtype: string): dtype is ElementType {
  return Object.hasOwn(ELEMENT_BYTES, dtype);
}

/** Checks that the ranges cover all of the data without overlaps or gaps. */
function checkRanges(
  entries: Map<string, Entry>,
  { path, dataOffsetBytes, sizeBytes }: { path: string; dataOffsetBytes: number; sizeBytes: number },
): void {
  let covered = 0;
  for (const [name, { begin, end }] of entries) {
    if (begin !== covered) {
      const found = begin < covered ? "overlaps the tensor before it" : "leaves a gap before it";
      throw new FormatError(`tensor ${name} ${found}`, { path, offsetBytes: dataOffsetBytes + begin });
    }
    covered = end;
  }
  if (dataOffsetBytes + covered !== sizeBytes) {
    const wanted = dataOffsetBytes + covered;
    const reason = wanted > sizeBytes ? "it is truncated" : "it has bytes that belong to no tensor";
    throw new FormatError(`the file has ${sizeBytes} bytes, expected ${wanted}; ${reason}`, {
      path,
      offsetBytes: Math.min(wanted, sizeBytes),
    });
  }
}

/** The number of elements; 1 for a scalar. */
export function numElements(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}

/**
 * Sorts names in the order in which the reference implementation stores tensors: by type, the largest
 * elements first, so that each tensor is aligned to its elements, as PyTorch requires; then by name. Names
 * are ASCII, for which JavaScript compares texts as Rust does.
 */
export function storedOrder(tensors: ReadonlyMap<string, { dtype: ElementType }>): string[] {
  const types = Object.keys(ELEMENT_BYTES);
  const sorted = [...tensors].sort(([a, { dtype: ofA }], [b, { dtype: ofB }]) =>
    types.indexOf(ofA) - types.indexOf(ofB) || (a < b ? -1 : 1)
  );
  return sorted.map(([name]) => name);
}

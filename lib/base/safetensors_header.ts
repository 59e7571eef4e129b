/**
 * Encodes and decodes the header of a safetensors file (names, shapes and ranges of its tensors) with checks; and
 * decodes a whole file in memory. See lib/io/safetensors.ts for the format.
 *
 * @module
 */
import * as z from "zod";
import { ensure, FormatError } from "./errors.ts";

/** Bytes of the header's length at the start of a file. */
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

/** The element types of tensors, and their sizes in bytes. */
const ELEMENT_BYTES = { F32: 4, F16: 2 } as const;
/** See {@link ELEMENT_BYTES}. */
export type ElementType = keyof typeof ELEMENT_BYTES;

/** A tensor's shape and range. */
export interface Entry {
  shape: number[];
  dtype: ElementType;
  /** First byte and byte after the last, from the start of the data. */
  begin: number;
  end: number;
}

/** The content of a header. */
export interface SafetensorsHeader {
  /** Tensors by name, in the order of their ranges. */
  entries: Map<string, Entry>;
  metadata: Record<string, string>;
}

/**
 * Encodes length and header of a file whose tensors follow in the order of their names.
 *
 * @param halves The tensors that are float16; the others are float32.
 * @returns The bytes before the first tensor, a multiple of 8.
 */
export function encodeHeader(
  shapes: Map<string, readonly number[]>,
  metadata: Record<string, string>,
  halves: ReadonlySet<string> = new Set(),
): Uint8Array {
  const header: [string, unknown][] = [];
  if (Object.keys(metadata).length > 0) header.push([METADATA_KEY, metadata]);
  let offsetBytes = 0;
  for (const name of sortedNames(shapes.keys())) {
    const shape = shapes.get(name) ?? [];
    ensure(name !== METADATA_KEY, `a tensor is called ${METADATA_KEY}`);
    const dtype: ElementType = halves.has(name) ? "F16" : "F32";
    const end = offsetBytes + ELEMENT_BYTES[dtype] * numElements(shape);
    header.push([name, { dtype, shape, data_offsets: [offsetBytes, end] }]);
    offsetBytes = end;
  }
  const json = `{${
    header.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")
  }}`;
  const text = new TextEncoder().encode(json);
  // The reference implementation pads with spaces so that the data starts at a multiple of 8.
  const length = Math.ceil(text.length / 8) * 8;
  ensure(length <= MAX_HEADER_BYTES, "the header of a safetensors file is too long");
  const bytes = new Uint8Array(LENGTH_BYTES + length).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
  bytes.set(text, LENGTH_BYTES);
  return bytes;
}

/** The facts about a file that errors and checks of its header need. */
export interface TensorFile {
  path: string;
  sizeBytes: number;
}

/** The length of the header. @param start The first bytes of the file. @throws {FormatError} If it is invalid. */
export function headerLengthBytes(start: Uint8Array, { path, sizeBytes }: TensorFile): number {
  if (sizeBytes < LENGTH_BYTES) {
    throw new FormatError(`the file ends, expected ${LENGTH_BYTES} bytes of header length`, {
      path,
      offsetBytes: sizeBytes,
    });
  }
  const length = new DataView(start.buffer, start.byteOffset).getBigUint64(0, true);
  if (length > BigInt(Math.min(MAX_HEADER_BYTES, sizeBytes - LENGTH_BYTES))) {
    const found = `the header's stated size is ${length} bytes, the file has ${sizeBytes}`;
    throw new FormatError(`${found}; it is truncated or not a safetensors file`, { path, offsetBytes: 0 });
  }
  return Number(length);
}

/** The elements of a tensor as float32. @param bytes Begin at the start of a buffer, or are aligned to the elements. */
export function elementsOf(bytes: Uint8Array, dtype: ElementType): Float32Array {
  const { buffer, byteOffset, byteLength } = bytes;
  const length = byteLength / ELEMENT_BYTES[dtype];
  if (dtype === "F16") return Float32Array.from(new Float16Array(buffer, byteOffset, length));
  return new Float32Array(buffer, byteOffset, length);
}

/**
 * Decodes a whole file in memory. Tensors of float32 share its memory where they are aligned.
 *
 * @param bytes Begin at the start of their buffer.
 * @param path The file's name, for errors.
 * @returns Tensors by name, each a flat row-major array, and the header's metadata.
 * @throws {FormatError} As {@link decodeHeader}.
 */
export function decodeSafetensors(
  bytes: Uint8Array,
  path: string,
): { tensors: Map<string, Float32Array>; metadata: Record<string, string> } {
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
  return { tensors, metadata };
}

/**
 * Decodes a header and checks it against the file's size.
 *
 * @param text The header without its length.
 * @param file The file's path and size in bytes.
 * @throws {FormatError} If it is not a header, or a tensor is not of floats, overlaps another, or leaves a gap.
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
  if (!metadata.success) throw new FormatError(`${METADATA_KEY} is not text to text`, at);
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
  if (dtype !== "F32" && dtype !== "F16") {
    throw new FormatError(`tensor ${name} is ${dtype}, expected F32 or F16; convert it`, at);
  }
  const wanted = ELEMENT_BYTES[dtype] * numElements(shape);
  if (end - begin !== wanted) {
    const found = `tensor ${name} of shape [${shape}] has ${end - begin} bytes`;
    throw new FormatError(`${found}, expected ${wanted}`, at);
  }
  return { shape, dtype, begin, end };
}

/** Checks that the ranges cover the data from its first to its last byte, without overlap or gap. */
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
    const reason = wanted > sizeBytes ? "it is truncated" : "it has bytes that no tensor owns";
    throw new FormatError(`the file has ${sizeBytes} bytes, expected ${wanted}; ${reason}`, {
      path,
      offsetBytes: Math.min(wanted, sizeBytes),
    });
  }
}

/** The number of elements of a shape; 1 for a scalar. */
export function numElements(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}

/** Names by code point, as Rust compares text; only ASCII names occur, for which JavaScript's order is the same. */
export function sortedNames(names: Iterable<string>): string[] {
  return [...names].sort((a, b) => a < b ? -1 : a > b ? 1 : 0);
}

/**
 * The header of a safetensors file: names, shapes and places of its tensors, as bytes and back, checked.
 * See safetensors.ts for the format.
 *
 * @module
 */
import * as z from "zod";
import { ensure, FormatError } from "../errors.ts";

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

/** A tensor's shape and place. */
export interface Entry {
  shape: number[];
  /** First byte and byte after the last, from the start of the data. */
  begin: number;
  end: number;
}

/** What a header says. */
export interface SafetensorsHeader {
  /** Tensors by name, in the order of their places. */
  entries: Map<string, Entry>;
  metadata: Record<string, string>;
}

/**
 * Encodes length and header of a file whose tensors follow in the order of their names.
 *
 * @returns The bytes before the first tensor, a multiple of 8.
 */
export function encodeHeader(
  shapes: Map<string, readonly number[]>,
  metadata: Record<string, string>,
): Uint8Array {
  const header: [string, unknown][] = [];
  if (Object.keys(metadata).length > 0) header.push([METADATA_KEY, metadata]);
  let offsetBytes = 0;
  for (const name of sortedNames(shapes.keys())) {
    const shape = shapes.get(name) ?? [];
    ensure(name !== METADATA_KEY, `a tensor is called ${METADATA_KEY}`);
    const end = offsetBytes + 4 * numElements(shape);
    header.push([name, { dtype: "F32", shape, data_offsets: [offsetBytes, end] }]);
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

/**
 * Decodes a header and checks it against the file's size.
 *
 * @param text The header without its length.
 * @param file The file's path and size in bytes.
 * @throws {FormatError} If it is no header, or a tensor is not float32, overlaps another, or leaves a hole.
 */
export function decodeHeader(text: Uint8Array, file: { path: string; sizeBytes: number }): SafetensorsHeader {
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
    throw new FormatError("the header is no JSON; it is damaged or no safetensors file", { ...at, cause });
  }
  if (text[0] !== 0x7b || typeof header !== "object" || header === null) {
    throw new FormatError("the header does not start with {, a JSON object was wanted", at);
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
    throw new FormatError(`tensor ${name} lacks a valid dtype, shape or data_offsets`, at);
  }
  const { dtype, shape, data_offsets: [begin, end] } = parsed.data;
  if (dtype !== "F32") throw new FormatError(`tensor ${name} is ${dtype}, F32 was wanted; convert it`, at);
  if (end - begin !== 4 * numElements(shape)) {
    const found = `tensor ${name} of shape [${shape}] has ${end - begin} bytes`;
    throw new FormatError(`${found}, ${4 * numElements(shape)} were wanted`, at);
  }
  return { shape, begin, end };
}

/** The ranges cover the data from its first to its last byte, without overlap or hole. */
function checkRanges(
  entries: Map<string, Entry>,
  { path, dataOffsetBytes, sizeBytes }: { path: string; dataOffsetBytes: number; sizeBytes: number },
): void {
  let covered = 0;
  for (const [name, { begin, end }] of entries) {
    if (begin !== covered) {
      const found = begin < covered ? "overlaps the tensor before it" : "leaves a hole before it";
      throw new FormatError(`tensor ${name} ${found}`, { path, offsetBytes: dataOffsetBytes + begin });
    }
    covered = end;
  }
  if (dataOffsetBytes + covered !== sizeBytes) {
    const wanted = dataOffsetBytes + covered;
    const reason = wanted > sizeBytes ? "it is truncated" : "it has bytes that no tensor owns";
    throw new FormatError(`the file has ${sizeBytes} bytes, ${wanted} were wanted; ${reason}`, {
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

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
import { z } from "zod";
import { ensure, explainFileError, FormatError } from "../errors.ts";
import { AtomicFile } from "../files/atomic.ts";

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
  sizeBytes: number;
  /** SHA-256 of its bytes, hexadecimal. */
  sha256: string;
}

const LENGTH_BYTES = 8;
/** The reference implementation's bound on the header (MAX_HEADER_SIZE in safetensors/src/tensor.rs). */
const MAX_HEADER_BYTES = 100_000_000;
const METADATA_KEY = "__metadata__";
/** How much is hashed and written, or read, in one call. */
const CHUNK_BYTES = 1 << 24;

const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(z.number().int().nonnegative()),
  data_offsets: z.tuple([z.number().int().nonnegative(), z.number().int().nonnegative()]),
});
const metadataSchema = z.record(z.string(), z.string());

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
    const data = content.tensors.get(name);
    ensure(data, `tensor ${name} has a shape and no elements`);
    writer.write(name, data);
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
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(path);
  } catch (error) {
    throw explainFileError(error, `read ${path}`);
  }
  using _closing = file;
  const { entries, metadata, dataOffsetBytes } = readHeader(file, path);
  const tensors = new Map<string, Float32Array>();
  const shapes = new Map<string, number[]>();
  for (const [name, { shape, begin, end }] of entries) {
    const data = new Float32Array(numElements(shape));
    const bytes = new Uint8Array(data.buffer);
    ensure(bytes.length === end - begin, `range of ${name} was not checked`);
    readExactly(file, bytes, { path, offsetBytes: dataOffsetBytes + begin });
    tensors.set(name, data);
    shapes.set(name, shape);
  }
  return { shapes, tensors, metadata };
}

/** Reads names, shapes and metadata without the tensors; the arguments and errors of {@link readSafetensors}. */
export function readSafetensorsHeader(path: string): Omit<SafetensorsContent, "tensors"> {
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(path);
  } catch (error) {
    throw explainFileError(error, `read ${path}`);
  }
  using _closing = file;
  const { entries, metadata } = readHeader(file, path);
  return { shapes: new Map([...entries].map(([name, { shape }]) => [name, shape])), metadata };
}

interface Entry {
  shape: number[];
  /** First byte and byte after the last, from the start of the data. */
  begin: number;
  end: number;
}

function encodeHeader(shapes: Map<string, readonly number[]>, metadata: Record<string, string>): Uint8Array {
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

function readHeader(
  file: Deno.FsFile,
  path: string,
): { entries: Map<string, Entry>; metadata: Record<string, string>; dataOffsetBytes: number } {
  const sizeBytes = statSize(file, path);
  const lengthBytes = new Uint8Array(LENGTH_BYTES);
  if (sizeBytes < LENGTH_BYTES) {
    throw new FormatError(`the file ends, ${LENGTH_BYTES} bytes of header length were wanted`, {
      path,
      offsetBytes: sizeBytes,
    });
  }
  readExactly(file, lengthBytes, { path, offsetBytes: 0 });
  const length = new DataView(lengthBytes.buffer).getBigUint64(0, true);
  if (length > BigInt(Math.min(MAX_HEADER_BYTES, sizeBytes - LENGTH_BYTES))) {
    const found = `the header is said to have ${length} bytes, the file has ${sizeBytes}`;
    throw new FormatError(`${found}; it is truncated or no safetensors file`, { path, offsetBytes: 0 });
  }
  const text = new Uint8Array(Number(length));
  readExactly(file, text, { path, offsetBytes: LENGTH_BYTES });
  const dataOffsetBytes = LENGTH_BYTES + text.length;
  const { metadata, entries } = parseHeader(text, path);
  checkRanges(entries, { path, dataOffsetBytes, sizeBytes });
  return { entries, metadata, dataOffsetBytes };
}

function parseHeader(
  text: Uint8Array,
  path: string,
): { entries: Map<string, Entry>; metadata: Record<string, string> } {
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

function statSize(file: Deno.FsFile, path: string): number {
  const info = file.statSync();
  if (info.isDirectory) {
    throw explainFileError(new Deno.errors.IsADirectory("is a directory"), `read ${path}`);
  }
  return info.size;
}

function readExactly(
  file: Deno.FsFile,
  bytes: Uint8Array,
  { path, offsetBytes }: { path: string; offsetBytes: number },
): void {
  try {
    file.seekSync(offsetBytes, Deno.SeekMode.Start);
    for (let done = 0; done < bytes.length;) {
      const count = file.readSync(bytes.subarray(done, done + CHUNK_BYTES));
      if (count === null) {
        throw new FormatError("the file ends here", { path, offsetBytes: offsetBytes + done });
      }
      done += count;
    }
  } catch (error) {
    throw explainFileError(error, `read ${path}`);
  }
}

function numElements(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}

/** By code point, as Rust compares text; only ASCII names occur, for which JavaScript's order is the same. */
function sortedNames(names: Iterable<string>): string[] {
  return [...names].sort((a, b) => a < b ? -1 : a > b ? 1 : 0);
}

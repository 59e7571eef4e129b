/**
 * Input files as byte streams, decompressed according to their first bytes: gzip (RFC 1952), bzip2, Zstandard
 * (RFC 8878), or not at all. Archives with several members or frames are read to their end.
 *
 * @module
 */
import { concat } from "@std/bytes";
import { Readable } from "node:stream";
import { constants, createGunzip, gunzipSync } from "node:zlib";
import { FormatError } from "../../base/errors.ts";
import { explainFileError } from "../files/file_errors.ts";
import { openRegularFile } from "../files/byte_file.ts";
import { decompressBzip2 } from "./bzip2_blocks.ts";
import { decompressZstd } from "./zstd_decoder.ts";

const CHUNK_BYTES = 1 << 18;
/** Files up to this size, and results up to eight times as large, are read at once. */
const MAX_SMALL_BYTES = 1 << 20;
/** How many first bytes tell the compression. */
const MAGIC_BYTES = 4;

/** The path that means standard input. */
export const STANDARD_INPUT = "-";

type Compression = "none" | "gzip" | "bzip2" | "zstd";

export interface InputStream {
  compression: Compression;
  /** The decompressed bytes. Each chunk belongs to the consumer. */
  chunks: AsyncGenerator<Uint8Array>;
}

/**
 * Opens a file, or standard input for `-`, and detects its compression from the first bytes.
 *
 * @param options `onBytes`: called after each read with the number of (compressed) bytes; `raw`: the bytes,
 *   if the caller reads them.
 * @throws {UserError} If the file cannot be opened. Later reads throw a {@link FormatError} that names the
 *   file and the byte where compressed data is damaged or ends too early.
 */
export async function openInput(
  path: string,
  options: { onBytes?: (numBytes: number) => void; raw?: AsyncGenerator<Uint8Array> } = {},
): Promise<InputStream> {
  const small = options.raw ? undefined : await readSmall(path);
  if (small) options.onBytes?.(small.numBytes);
  if (small) return small;
  const raw = options.raw ?? readRaw(path, options.onBytes);
  const head = await takeHead(raw, MAGIC_BYTES);
  const compression = detectCompression(head);
  return { compression, chunks: decompress(compression, prepend(head, raw), path) };
}

/** Reads and decompresses a file. @throws As {@link openInput}. */
export async function readWhole(path: string): Promise<Uint8Array<ArrayBuffer>> {
  return concat(await Array.fromAsync((await openInput(path)).chunks));
}

/**
 * Decompresses a small gzip or uncompressed file at once, which is faster than a stream.
 *
 * @param bytes The whole file, or with `isHead` its beginning, which is then decompressed as far as possible.
 * @param maxBytes Maximum length of the result.
 * @returns Undefined if the file uses another compression, is damaged or is longer: {@link openInput} reports
 *   the reason.
 */
export function decompressWhole(
  bytes: Uint8Array<ArrayBuffer>,
  maxBytes: number,
  { isHead = false } = {},
): Uint8Array<ArrayBuffer> | undefined {
  const compression = detectCompression(bytes);
  if (compression === "none") return bytes.length <= maxBytes ? bytes : undefined;
  if (compression !== "gzip") return undefined;
  try {
    const finishFlush = isHead ? { finishFlush: constants.Z_SYNC_FLUSH } : {};
    return new Uint8Array(gunzipSync(bytes, { maxOutputLength: maxBytes, ...finishFlush }));
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

/** Reads a small file at once, which is faster; undefined if that fails: a stream says why. */
async function readSmall(path: string): Promise<InputStream & { numBytes: number } | undefined> {
  try {
    const { isFile, size } = Deno.statSync(path);
    if (!isFile || size > MAX_SMALL_BYTES) return undefined;
    const bytes = await Deno.readFile(path);
    const text = decompressWhole(bytes, 8 * MAX_SMALL_BYTES);
    return text && { compression: detectCompression(bytes), numBytes: bytes.length, chunks: prepend(text) };
  } catch {
    return undefined;
  }
}

function detectCompression(head: Uint8Array): Compression {
  const startsWith = (...bytes: number[]) => bytes.every((byte, i) => head[i] === byte);
  if (startsWith(0x1f, 0x8b)) return "gzip";
  if (startsWith(0x42, 0x5a, 0x68)) return "bzip2";
  if (startsWith(0x28, 0xb5, 0x2f, 0xfd)) return "zstd";
  return "none";
}

function decompress(
  compression: Compression,
  chunks: AsyncGenerator<Uint8Array>,
  path: string,
): AsyncGenerator<Uint8Array> {
  if (compression === "gzip") return decompressGzip(chunks, path);
  if (compression === "bzip2") return decompressBzip2(chunks, path);
  if (compression === "zstd") return decompressZstd(chunks, path);
  return chunks;
}

async function* decompressGzip(
  chunks: AsyncGenerator<Uint8Array>,
  path: string,
): AsyncGenerator<Uint8Array> {
  let offsetBytes = 0;
  let sourceError: unknown;
  async function* counted() {
    try {
      for await (const chunk of chunks) {
        yield chunk;
        offsetBytes += chunk.length;
      }
    } catch (error) {
      sourceError = error;
    }
  }
  try {
    yield* Readable.from(counted()).pipe(createGunzip({ chunkSize: CHUNK_BYTES }));
    if (sourceError) throw sourceError;
  } catch (error) {
    if (sourceError || !(error instanceof Error)) throw sourceError ?? error;
    const what = "code" in error && error.code === "Z_BUF_ERROR"
      ? "the gzip data ends too early, the file is truncated"
      : `the gzip data is damaged (${error.message})`;
    throw new FormatError(`${what}; fetch the file again`, { path, offsetBytes, cause: error });
  }
}

async function* readRaw(path: string, onBytes?: (numBytes: number) => void): AsyncGenerator<Uint8Array> {
  try {
    using file = path === STANDARD_INPUT ? undefined : openRegularFile(path);
    const source = file ?? Deno.stdin;
    while (true) {
      const buffer = new Uint8Array(CHUNK_BYTES);
      const numBytes = await source.read(buffer);
      if (numBytes === null) return;
      onBytes?.(numBytes);
      yield buffer.subarray(0, numBytes);
    }
  } catch (error) {
    throw explainFileError(error, `read ${path}`);
  }
}

/** The first bytes, at least `numBytes` unless the stream is shorter. */
export async function takeHead(raw: AsyncGenerator<Uint8Array>, numBytes: number): Promise<Uint8Array> {
  let head: Uint8Array = new Uint8Array(0);
  while (head.length < numBytes) {
    const next = await raw.next();
    if (next.done) break;
    head = concat([head, next.value]);
  }
  return head;
}

export async function* prepend(
  head: Uint8Array,
  rest: AsyncIterable<Uint8Array> | Iterable<Uint8Array> = [],
): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  yield* rest;
}

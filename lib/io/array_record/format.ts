/**
 * The format of ArrayRecord files: Riegeli files, which are chunks of records interrupted by block headers,
 * with an index of the chunks at the end.
 *
 * Every 64 KiB a 24-byte block header interrupts the chunk at that position, so that a reader can find the
 * next chunk from anywhere. A chunk has a 40-byte header followed by its data. The data of a simple chunk are
 * its records, one after the other, optionally compressed. Names and formulas follow Riegeli's
 * `records/block.h` and https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
 * (sections "Block header", "Conventions", "Chunk", "Simple chunk with records"). All positions are bytes
 * from the start of the file.
 *
 * @module
 */
import { getOrMakeAtMost } from "../../base/collections.ts";
import { concat, equals } from "@std/bytes";
import { WasmHighwayHash } from "highwayhasher";
import { brotliCompressSync, brotliDecompressSync, constants, zstdCompressSync } from "node:zlib";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { compressors } from "hyparquet-compressors";
import { ensure } from "../../base/errors.ts";
import { decompressZstdFrame } from "../compression/zstd_decoder.ts";

/** Riegeli/records file format, section "Chunks". */
const KEY = new TextEncoder().encode("Riegeli/records\nRiegeli/records\n");

/**
 * Computes the 8 checksum bytes as stored in files: HighwayHash-64 (J. Alakuijala, B. Cox, J. Wassenberg,
 * "Fast keyed hash/pseudo-random function using SIMD multiply and permute", 2016) with a fixed key.
 */
export type RiegeliHash = (bytes: Uint8Array) => Uint8Array;

/** Loads the hash function; required before the first read or write of a file. */
export async function loadRiegeliHash(): Promise<RiegeliHash> {
  const module = await WasmHighwayHash.loadModule();
  return (bytes) => module.hash64(KEY, bytes);
}

/** Distance between the starts of block headers. */
export const BLOCK_SIZE_BYTES = 1 << 16;
/** Hash, previous_chunk and next_chunk, 8 bytes each. */
const BLOCK_HEADER_SIZE_BYTES = 24;
export const CHUNK_HEADER_SIZE_BYTES = 40;

/** Bytes of content per block. */
export const USABLE_BLOCK_SIZE_BYTES = BLOCK_SIZE_BYTES - BLOCK_HEADER_SIZE_BYTES;

function isBlockBoundary(position: number): boolean {
  return position % BLOCK_SIZE_BYTES === 0;
}

/** Number of bytes up to the next block boundary; 0 at a boundary. */
export function remainingInBlock(position: number): number {
  return (BLOCK_SIZE_BYTES - position % BLOCK_SIZE_BYTES) % BLOCK_SIZE_BYTES;
}

/** Whether a chunk can begin at the position: neither inside a block header nor right after one. */
export function isPossibleChunkBoundary(position: number): boolean {
  return remainingInBlock(position) < USABLE_BLOCK_SIZE_BYTES;
}

/** Number of block headers within `sizeBytes` of content laid out from `position` on. */
function overheadBlocks(position: number, sizeBytes: number): number {
  return Math.floor(
    (sizeBytes + (position + USABLE_BLOCK_SIZE_BYTES - 1) % BLOCK_SIZE_BYTES) / USABLE_BLOCK_SIZE_BYTES,
  );
}

/** The end of `sizeBytes` of content laid out from `position` on, with block headers. */
export function addWithOverhead(position: number, sizeBytes: number): number {
  return position + sizeBytes + overheadBlocks(position, sizeBytes) * BLOCK_HEADER_SIZE_BYTES;
}

/** The first position at or after `position` where a chunk can begin. */
function roundUpToPossibleChunkBoundary(position: number): number {
  return position + Math.max(0, remainingInBlock(position) - (USABLE_BLOCK_SIZE_BYTES - 1));
}

/** The end of a chunk. A chunk takes at least one byte per record, so that positions can identify records. */
export function chunkEnd(begin: number, dataSizeBytes: number, numRecords: number): number {
  return Math.max(
    addWithOverhead(begin, CHUNK_HEADER_SIZE_BYTES + dataSizeBytes),
    roundUpToPossibleChunkBoundary(begin + numRecords),
  );
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Writes an unsigned 64-bit little-endian number below 2^53. */
function writeU64(bytes: Uint8Array, offsetBytes: number, value: number): void {
  viewOf(bytes).setBigUint64(offsetBytes, BigInt(value), true);
}

/** Reads an unsigned 64-bit little-endian number; the result is rounded above 2^53. */
function readU64(bytes: Uint8Array, offsetBytes: number): number {
  return Number(viewOf(bytes).getBigUint64(offsetBytes, true));
}

/**
 * Lays out the content of a chunk as the bytes from `begin` to its {@link chunkEnd}, with a block header at
 * the beginning of each block and zeros after the content.
 */
export function layOutChunk(
  hash: RiegeliHash,
  begin: number,
  end: number,
  content: readonly Uint8Array[],
): Uint8Array {
  const bytes = new Uint8Array(end - begin);
  let position = begin;
  const writeBlockHeader = () => {
    const header = bytes.subarray(position - begin, position - begin + BLOCK_HEADER_SIZE_BYTES);
    writeU64(header, 8, position - begin);
    writeU64(header, 16, end - position);
    header.set(hash(header.subarray(8)));
    position += BLOCK_HEADER_SIZE_BYTES;
  };
  for (const part of content) {
    for (let done = 0; done < part.length;) {
      if (isBlockBoundary(position)) writeBlockHeader();
      const piece = part.subarray(done, done + remainingInBlock(position));
      bytes.set(piece, position - begin);
      position += piece.length;
      done += piece.length;
    }
  }
  while (position < end) {
    if (isBlockBoundary(position)) writeBlockHeader();
    else position = Math.min(end, position + remainingInBlock(position));
  }
  return bytes;
}

/**
 * Removes and checks the block headers in a part of a chunk.
 *
 * @param at `position` of the first byte of `raw`; the chunk's `begin` and, if known, its `end`.
 * @param onError Called with the fault and the position of the block header; must throw.
 * @returns The content; a view of `raw` if it contains no block headers.
 */
export function stripBlockHeaders(
  hash: RiegeliHash,
  raw: Uint8Array,
  at: { position: number; begin: number; end?: number | undefined },
  onError: (message: string, offsetBytes: number) => never,
): Uint8Array {
  const { position, begin, end } = at;
  const first = remainingInBlock(position);
  if (first >= raw.length && !(first === 0 && raw.length > 0)) return raw;
  const pieces = [raw.subarray(0, first)];
  for (let i = first; i < raw.length; i += BLOCK_SIZE_BYTES) {
    const header = raw.subarray(i, i + BLOCK_HEADER_SIZE_BYTES);
    const boundary = position + i;
    if (header.length < BLOCK_HEADER_SIZE_BYTES) onError("a block header is truncated", boundary);
    if (!equals(header.subarray(0, 8), hash(header.subarray(8)))) {
      onError("a block header has a wrong checksum", boundary);
    }
    if (readU64(header, 8) !== boundary - begin) {
      onError("a block header names a different chunk from the one it is in", boundary);
    }
    if (end !== undefined && readU64(header, 16) !== end - boundary) {
      onError("a block header names a different chunk end from the chunk's own header", boundary);
    }
    pieces.push(raw.subarray(i + BLOCK_HEADER_SIZE_BYTES, i + BLOCK_SIZE_BYTES));
  }
  return concat(pieces);
}

export type Compression = "zstd" | "brotli" | "none";

/** Chunk types, by the character in their header. */
export const CHUNK_TYPES = {
  signature: 0x73,
  simple: 0x72,
  padding: 0x70,
  transposed: 0x74,
  metadata: 0x6d,
} as const;

export interface ChunkHeader {
  /** One of {@link CHUNK_TYPES}. */
  type: number;
  /** Length of the stored, possibly compressed data. */
  dataSizeBytes: number;
  /** Checksum of the stored data. */
  dataHash: Uint8Array;
  numRecords: number;
  decodedSizeBytes: number;
}

/** Thrown for chunk data that violate the format. The reader adds the file and the offset. */
export class ChunkError extends Error {
  override name = "ChunkError";
}

const LETTER: Record<Compression, number> = { none: 0, zstd: 0x7a, brotli: 0x62 };
const SNAPPY = 0x73;
// Google's writer: zstd level 3 with a window of 2^20 bytes; brotli quality 6 (array_record's defaults).
const ZSTD_LEVEL = 3;
const ZSTD_WINDOW_LOG = 20;
const BROTLI_QUALITY = 6;
// ASSUMPTION: no valid chunk is larger. The limit bounds the allocation for a forged header.
const MAX_DECODED_BYTES = 2 ** 30;
const MAX_RECORDS = 2 ** 23; // each takes about 100 bytes in addition to its content
/** Maximum number of cached encoded sizes of single records, about 200 bytes each. */
const MAX_LONE_SIZES = 4096;

/** Names of compressions in the options string written by array_record. */
export const COMPRESSION_OPTION: Record<Compression, string> = {
  none: "uncompressed",
  zstd: `zstd:${ZSTD_LEVEL},window_log:${ZSTD_WINDOW_LOG}`,
  brotli: `brotli:${BROTLI_QUALITY}`,
};

export function encodeChunkHeader(
  hash: RiegeliHash,
  data: Uint8Array,
  chunk: Pick<ChunkHeader, "type" | "numRecords" | "decodedSizeBytes">,
): Uint8Array {
  const header = new Uint8Array(CHUNK_HEADER_SIZE_BYTES);
  writeU64(header, 8, data.length);
  header.set(hash(data), 16);
  // The type takes one byte and the count seven bytes of a 64-bit word.
  writeU64(header, 24, chunk.numRecords * 256 + chunk.type);
  writeU64(header, 32, chunk.decodedSizeBytes);
  header.set(hash(header.subarray(8)));
  return header;
}

/** @throws {ChunkError} If its checksum is wrong or its sizes exceed the limits. */
export function decodeChunkHeader(hash: RiegeliHash, header: Uint8Array): ChunkHeader {
  if (header.length < CHUNK_HEADER_SIZE_BYTES) throw new ChunkError("a chunk header is truncated");
  if (!equals(header.subarray(0, 8), hash(header.subarray(8, CHUNK_HEADER_SIZE_BYTES)))) {
    throw new ChunkError("a chunk header has a wrong checksum");
  }
  const typeAndCount = header.slice(24, 32);
  const type = typeAndCount[0];
  typeAndCount[0] = 0;
  const chunk = {
    type,
    dataSizeBytes: readU64(header, 8),
    dataHash: header.slice(16, 24),
    numRecords: readU64(typeAndCount, 0) / 256,
    decodedSizeBytes: readU64(header, 32),
  };
  if (chunk.decodedSizeBytes > MAX_DECODED_BYTES || chunk.numRecords > MAX_RECORDS) {
    throw new ChunkError(
      `a chunk states ${chunk.numRecords} records of ${chunk.decodedSizeBytes} bytes, ` +
        `expected at most ${MAX_RECORDS} of ${MAX_DECODED_BYTES}`,
    );
  }
  return chunk;
}

export function encodeSimpleChunk(records: readonly Uint8Array[], compression: Compression): Uint8Array {
  const sizes = records.length === 1
    ? loneSize(records[0].length, compression)
    : encodeSizes(records.map(({ length }) => length), compression);
  const values = compress(records.length === 1 ? records[0] : concat(records), compression);
  return concat([sizes, ...values]);
}

/** The compression's letter, the length of the compressed record sizes, and those sizes. */
function encodeSizes(sizesBytes: readonly number[], compression: Compression): Uint8Array {
  const sizes = new BinaryWriter();
  for (const sizeBytes of sizesBytes) sizes.uint32(sizeBytes);
  const compressed = compress(sizes.finish(), compression);
  const numBytes = compressed.reduce((sum, part) => sum + part.length, 0);
  return concat([Uint8Array.of(LETTER[compression]), encodeVarint(numBytes), ...compressed]);
}

const loneSizes = new Map<string, Uint8Array>();

/** Caches {@link encodeSizes}: compressing two bytes takes as long as compressing a small record. */
function loneSize(sizeBytes: number, compression: Compression): Uint8Array {
  const key = `${compression} ${sizeBytes}`;
  return getOrMakeAtMost(MAX_LONE_SIZES, loneSizes, key, () => encodeSizes([sizeBytes], compression));
}

/**
 * Decodes the data of a simple chunk whose checksum has been verified.
 *
 * @returns The records, views of one array.
 * @throws {ChunkError} If the data contradict the header or violate the format.
 */
export function decodeSimpleChunk(
  data: Uint8Array,
  header: Pick<ChunkHeader, "numRecords" | "decodedSizeBytes">,
): Uint8Array[] {
  if (data.length < 2) throw new ChunkError("a chunk has no data");
  const letter = data[0];
  const reader = new BinaryReader(data.subarray(1));
  const sizesLength = readVarint(reader);
  const sizesBegin = 1 + reader.pos;
  if (sizesLength > data.length - sizesBegin) throw new ChunkError("the sizes of the records are truncated");
  const values = decompress(data.subarray(sizesBegin + sizesLength), letter, header.decodedSizeBytes);
  if (values.length !== header.decodedSizeBytes) {
    throw new ChunkError(
      `a chunk has ${values.length} bytes of records, expected ${header.decodedSizeBytes}`,
    );
  }
  // The size of a single record is already known, and decompressing it would take as long as the record.
  if (header.numRecords === 1 && letter !== LETTER.none) return [values];
  // A size takes at most 10 bytes, the longest varint.
  const sizes = new BinaryReader(
    decompress(data.subarray(sizesBegin, sizesBegin + sizesLength), letter, 10 * header.numRecords),
  );
  const records: Uint8Array[] = [];
  let begin = 0;
  for (let i = 0; i < header.numRecords; i++) {
    const end = begin + readVarint(sizes);
    if (end > values.length) throw new ChunkError("the record sizes extend past the end of their chunk");
    records.push(values.subarray(begin, end));
    begin = end;
  }
  if (begin !== values.length || sizes.pos !== sizes.len) {
    throw new ChunkError("the sizes of the records do not add up to their chunk");
  }
  return records;
}

/** The decoded size, unless uncompressed, followed by the compressed bytes. */
function compress(bytes: Uint8Array, compression: Compression): Uint8Array[] {
  if (compression === "none") return [bytes];
  const compressed = compression === "zstd"
    ? zstdCompressSync(bytes, zstdOptions(bytes.length))
    : brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } });
  return [encodeVarint(bytes.length), compressed];
}

function encodeVarint(value: number): Uint8Array {
  const bytes: number[] = [];
  for (; value > 127; value >>>= 7) bytes.push(value & 127 | 128);
  bytes.push(value);
  return Uint8Array.from(bytes);
}

function zstdOptions(lengthBytes: number) {
  return {
    // If the size is given beforehand, the frame states it, as in files of Google's writer.
    pledgedSrcSize: lengthBytes,
    // Above ZSTD_compressBound: with a smaller buffer Deno 2.9 calls zstd once too often and appends an empty
    // second frame, which Riegeli's readers reject.
    chunkSize: lengthBytes + (lengthBytes >> 7) + 1024,
    params: {
      [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL,
      [constants.ZSTD_c_windowLog]: ZSTD_WINDOW_LOG,
    },
  };
}

function decompress(bytes: Uint8Array, letter: number, maxBytes: number): Uint8Array {
  if (letter === LETTER.none) return bytes;
  const reader = new BinaryReader(bytes);
  const length = readVarint(reader);
  if (length > maxBytes) {
    throw new ChunkError(`a compressed part states ${length} bytes, expected at most ${maxBytes}`);
  }
  const body = bytes.subarray(reader.pos);
  let decoded: Uint8Array;
  try {
    decoded = decompressBody(body, letter, length);
  } catch (cause) {
    if (cause instanceof ChunkError) throw cause;
    throw new ChunkError("a compressed part cannot be decompressed", { cause });
  }
  if (decoded.length !== length) {
    throw new ChunkError(`a compressed part has ${decoded.length} bytes, expected ${length}`);
  }
  return decoded;
}

function decompressBody(body: Uint8Array, letter: number, length: number): Uint8Array {
  if (letter === LETTER.zstd) return decompressZstdFrame(body, length);
  // One output buffer of the right size. node:zlib needs at least 64 bytes.
  const options = { maxOutputLength: Math.max(1, length), chunkSize: Math.max(64, length) };
  if (letter === LETTER.brotli) return plainBytes(brotliDecompressSync(body, options));
  if (letter !== SNAPPY) {
    throw new ChunkError(
      `a chunk is compressed with ${JSON.stringify(String.fromCharCode(letter))}, which is unknown`,
    );
  }
  if (readVarint(new BinaryReader(body)) !== length) throw new ChunkError("Snappy data has a wrong length");
  ensure(compressors.SNAPPY, "hyparquet-compressors has Snappy");
  return compressors.SNAPPY(body, length); // one WebAssembly instance for all chunks
}

/** A Buffer's bytes as a plain array, because `slice` of a Buffer would not copy. */
function plainBytes(buffer: Uint8Array): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

function readVarint(reader: BinaryReader): number {
  try {
    return reader.uint32();
  } catch (cause) {
    throw new ChunkError("a size is truncated", { cause });
  }
}

/** From layout.proto. */
const POSTSCRIPT_MAGIC = 0x71930e704fdae05en;
const LAYOUT_VERSION = 1;
const POSTSCRIPT_COPIES = 3;

/** The footer's entry for a data chunk. */
export interface ChunkEntry {
  offsetBytes: number;
  decodedSizeBytes: number;
  numRecords: number;
}

/**
 * The footer of a file. Its messages are defined in `array_record/cpp/layout.proto`
 * (https://github.com/google/array_record).
 */
export interface ArrayRecordFooter {
  numRecords: number;
  /** The writer's options as text, for example `group_size:1,…,zstd:3`. */
  writerOptions: string;
  chunks: ChunkEntry[];
}

export function encodeFooter(footer: ArrayRecordFooter): Uint8Array[] {
  const metadata = new BinaryWriter().tag(1, WireType.LengthDelimited).fork()
    .tag(1, WireType.Varint).uint32(LAYOUT_VERSION)
    .tag(2, WireType.Varint).uint64(footer.chunks.length)
    .tag(3, WireType.Varint).uint64(footer.numRecords)
    .tag(4, WireType.LengthDelimited).string(footer.writerOptions)
    .join().finish();
  const entries = footer.chunks.map((chunk) =>
    new BinaryWriter()
      .tag(1, WireType.Varint).uint64(chunk.offsetBytes)
      .tag(2, WireType.Varint).uint64(chunk.decodedSizeBytes)
      .tag(3, WireType.Varint).uint64(chunk.numRecords)
      .finish()
  );
  return [metadata, ...entries];
}

/** @throws {Error} If the records cannot be decoded or contradict each other. */
export function decodeFooter(records: readonly Uint8Array[]): ArrayRecordFooter {
  const outer = readFields(records[0] ?? new Uint8Array(0));
  const metadata = readFields(bytesField(outer, 1));
  const version = numberField(metadata, 1);
  if (version !== LAYOUT_VERSION) throw new Error(`layout version ${version} is unknown`);
  const chunks = records.slice(1).map((record) => {
    const fields = readFields(record);
    return {
      offsetBytes: numberField(fields, 1),
      decodedSizeBytes: numberField(fields, 2),
      numRecords: numberField(fields, 3),
    };
  });
  const footer = {
    numRecords: numberField(metadata, 3),
    writerOptions: new TextDecoder().decode(bytesField(metadata, 4)),
    chunks,
  };
  const sum = chunks.reduce((total, chunk) => total + chunk.numRecords, 0);
  if (chunks.length !== numberField(metadata, 2) || sum !== footer.numRecords) {
    throw new Error(`${footer.numRecords} records are stated but ${sum} listed`);
  }
  return footer;
}

export function encodePostscript(footerOffsetBytes: number): Uint8Array[] {
  const record = new BinaryWriter()
    .tag(1, WireType.Varint).uint64(footerOffsetBytes)
    .tag(2, WireType.Varint).uint64(POSTSCRIPT_MAGIC)
    .finish();
  return new Array(POSTSCRIPT_COPIES).fill(record);
}

/** @returns The offset of the footer chunk. @throws {Error} If the records cannot be decoded. */
export function decodePostscript(records: readonly Uint8Array[]): number {
  const fields = readFields(records[0] ?? new Uint8Array(0));
  if (fields.get(2) !== POSTSCRIPT_MAGIC) throw new Error("the magic number is missing");
  return numberField(fields, 1);
}

type Fields = Map<number, bigint | Uint8Array>;

function readFields(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields: Fields = new Map();
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (wireType === WireType.Varint) fields.set(number, BigInt(reader.uint64()));
    else if (wireType === WireType.LengthDelimited) fields.set(number, reader.bytes());
    else reader.skip(wireType, number);
  }
  return fields;
}

function numberField(fields: Fields, number: number): number {
  const value = fields.get(number) ?? 0n;
  if (typeof value !== "bigint") throw new Error(`field ${number} is not a number`);
  return Number(value);
}

function bytesField(fields: Fields, number: number): Uint8Array {
  const value = fields.get(number) ?? new Uint8Array(0);
  if (typeof value === "bigint") throw new Error(`field ${number} is a number`);
  return value;
}

/**
 * Block arithmetic of Riegeli files: every 64 KiB a 24-byte block header interrupts the chunk there,
 * so that a reader can find the next chunk from anywhere.
 *
 * Names and formulas follow Riegeli's `records/block.h` and
 * https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md (sections "Block header",
 * "Conventions"). All positions are bytes from the start of the file.
 *
 * @module
 */
import { WasmHighwayHash } from "highwayhasher";

// The checksum of Riegeli files: HighwayHash-64 under a fixed key.
//
// The hash is computed by WebAssembly that is part of the package: no file, network or FFI access is needed.
// Reference: J. Alakuijala, B. Cox, J. Wassenberg, "Fast keyed hash/pseudo-random function using SIMD
// multiply and permute" (2016); key: Riegeli/records file format, section "Chunks".

const KEY = new TextEncoder().encode("Riegeli/records\nRiegeli/records\n");

/** Computes the 8 bytes of the checksum as files store them. */
export type RiegeliHash = (bytes: Uint8Array) => Uint8Array;

/** Loads the hash function; must come before the first read or write of a file. */
export async function loadRiegeliHash(): Promise<RiegeliHash> {
  const module = await WasmHighwayHash.loadModule();
  return (bytes) => module.hash64(KEY, bytes);
}

/** Whether the 8 bytes of `stored` at `offsetBytes` are the checksum `hash`. */
export function isSameHash(stored: Uint8Array, offsetBytes: number, hash: Uint8Array): boolean {
  for (let i = 0; i < 8; i++) if (stored[offsetBytes + i] !== hash[i]) return false;
  return true;
}

/** Distance between block headers, bytes. */
export const BLOCK_SIZE_BYTES = 1 << 16;
/** Length of a block header: hash, previous_chunk, next_chunk, 8 bytes each. */
export const BLOCK_HEADER_SIZE_BYTES = 24;
/** Length of a chunk header. */
export const CHUNK_HEADER_SIZE_BYTES = 40;

/** The content of a block, bytes. */
export const USABLE_BLOCK_SIZE_BYTES = BLOCK_SIZE_BYTES - BLOCK_HEADER_SIZE_BYTES;

/** Whether a block header is at the position. */
export function isBlockBoundary(position: number): boolean {
  return position % BLOCK_SIZE_BYTES === 0;
}

/** Bytes up to the next block boundary; 0 at one. */
export function remainingInBlock(position: number): number {
  return (BLOCK_SIZE_BYTES - position % BLOCK_SIZE_BYTES) % BLOCK_SIZE_BYTES;
}

/** Whether a chunk can begin at the position: not inside a block header and not right after one. */
export function isPossibleChunkBoundary(position: number): boolean {
  return remainingInBlock(position) < USABLE_BLOCK_SIZE_BYTES;
}

/** The number of block headers met when `sizeBytes` of content are laid out from `position` on. */
export function overheadBlocks(position: number, sizeBytes: number): number {
  return Math.floor(
    (sizeBytes + (position + USABLE_BLOCK_SIZE_BYTES - 1) % BLOCK_SIZE_BYTES) / USABLE_BLOCK_SIZE_BYTES,
  );
}

/** The end of `sizeBytes` of content when they are laid out from `position` on, block headers included. */
export function addWithOverhead(position: number, sizeBytes: number): number {
  return position + sizeBytes + overheadBlocks(position, sizeBytes) * BLOCK_HEADER_SIZE_BYTES;
}

/** The first position from `position` on where a chunk can begin. */
export function roundUpToPossibleChunkBoundary(position: number): number {
  return position + Math.max(0, remainingInBlock(position) - (USABLE_BLOCK_SIZE_BYTES - 1));
}

/** The end of a chunk: a chunk takes at least one byte per record, so that positions can identify records. */
export function chunkEnd(begin: number, dataSizeBytes: number, numRecords: number): number {
  return Math.max(
    addWithOverhead(begin, CHUNK_HEADER_SIZE_BYTES + dataSizeBytes),
    roundUpToPossibleChunkBoundary(begin + numRecords),
  );
}

/** Writes an unsigned 64-bit little-endian number below 2^53. */
export function writeU64(bytes: Uint8Array, offsetBytes: number, value: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  view.setUint32(offsetBytes, value % 2 ** 32, true);
  view.setUint32(offsetBytes + 4, Math.floor(value / 2 ** 32), true);
}

/** Reads an unsigned 64-bit little-endian number; above 2^53 the result is rounded. */
export function readU64(bytes: Uint8Array, offsetBytes: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return view.getUint32(offsetBytes, true) + view.getUint32(offsetBytes + 4, true) * 2 ** 32;
}

/**
 * Lays out the content of a chunk as the file's bytes: with a block header at the beginning of each block and zeros
 * up to the chunk's end.
 *
 * @param begin The chunk's offset.
 * @param end Its end, by {@link chunkEnd}.
 * @param content The chunk's header and data.
 * @returns The bytes from `begin` to `end`.
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
 * Removes the block headers from a part of a chunk and checks each.
 *
 * @param raw The file's bytes from `position` on.
 * @param at `position` of the first byte; the chunk's `begin` and `end`, the latter if it is known.
 * @param onError Called with the fault and the position of the block header; must throw.
 * @returns The content without block headers; a view of `raw` if it has none.
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
  const content = new Uint8Array(raw.length);
  content.set(raw.subarray(0, first));
  let length = first;
  for (let i = first; i < raw.length; i += BLOCK_SIZE_BYTES) {
    const header = raw.subarray(i, i + BLOCK_HEADER_SIZE_BYTES);
    const boundary = position + i;
    if (header.length < BLOCK_HEADER_SIZE_BYTES) onError("a block header is truncated", boundary);
    if (!isSameHash(header, 0, hash(header.subarray(8)))) {
      onError("a block header has a wrong checksum", boundary);
    }
    if (readU64(header, 8) !== boundary - begin) {
      onError("a block header names another chunk than the one it is in", boundary);
    }
    if (end !== undefined && readU64(header, 16) !== end - boundary) {
      onError("a block header names another chunk end than the chunk's own header", boundary);
    }
    const piece = raw.subarray(i + BLOCK_HEADER_SIZE_BYTES, i + BLOCK_SIZE_BYTES);
    content.set(piece, length);
    length += piece.length;
  }
  return content.subarray(0, length);
}

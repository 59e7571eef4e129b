import fc from "fast-check";
import { assertEquals, assertThrows } from "@std/assert";
import {
  BLOCK_SIZE_BYTES,
  CHUNK_HEADER_SIZE_BYTES,
  CHUNK_TYPES,
  chunkEnd,
  ChunkError,
  type Compression,
  decodeChunkHeader,
  decodeSimpleChunk,
  encodeChunkHeader,
  encodeSimpleChunk,
  isPossibleChunkBoundary,
  layOutChunk,
  loadRiegeliHash,
  stripBlockHeaders,
} from "../../../lib/io/array_record/format.ts";

const hash = await loadRiegeliHash();
const fail = (message: string, offsetBytes: number): never => {
  throw new Error(`${message} at ${offsetBytes}`);
};

Deno.test("stripBlockHeaders() inverts layOutChunk() at any alignment", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 3 * BLOCK_SIZE_BYTES }),
      fc.integer({ min: 0, max: 150_000 }),
      fc.integer({ min: 0, max: 100_000 }),
      (position, size, numRecords) => {
        const begin = chunkEnd(0, position, 0);
        const end = chunkEnd(begin, size, numRecords);
        const content = Uint8Array.from({ length: CHUNK_HEADER_SIZE_BYTES + size }, (_, i) => i % 251 + 1);
        const raw = layOutChunk(hash, begin, end, [content.subarray(0, 40), content.subarray(40)]);
        const stripped = stripBlockHeaders(hash, raw, { position: begin, begin, end }, fail);
        assertEquals(raw.length, end - begin);
        assertEquals(isPossibleChunkBoundary(end), true);
        assertEquals(stripped.subarray(0, content.length), content);
        assertEquals(stripped.subarray(content.length).every((byte) => byte === 0), true);
      },
    ),
    { numRuns: 100, seed: 2 },
  );
});

Deno.test("stripBlockHeaders() reads a stretch that begins at a block boundary, and rejects other block headers", () => {
  const end = chunkEnd(BLOCK_SIZE_BYTES, 70_000, 0);
  const content = new Uint8Array(70_040).fill(7);
  const raw = layOutChunk(hash, BLOCK_SIZE_BYTES, end, [content]);
  const at = { position: BLOCK_SIZE_BYTES, begin: BLOCK_SIZE_BYTES, end };
  const strip = (bytes: Uint8Array, changes: Partial<typeof at> = {}) =>
    stripBlockHeaders(hash, bytes, { ...at, ...changes }, fail);
  assertEquals(strip(raw), content);
  assertEquals(strip(new Uint8Array(0)).length, 0);
  assertThrows(() => strip(raw.subarray(0, 20)), Error, "truncated");
  assertThrows(() => strip(raw, { begin: at.begin - 1 }), Error, "a different chunk");
  assertThrows(() => strip(raw, { end: end + 1 }), Error, "different chunk end");
});

const COMPRESSIONS: Compression[] = ["none", "zstd", "brotli"];
const sizeOf = (records: Uint8Array[]) => ({
  numRecords: records.length,
  decodedSizeBytes: records.reduce((sum, record) => sum + record.length, 0),
});

Deno.test("decodeChunkHeader() rejects a header that is truncated or of absurd size", () => {
  const header = (numRecords: number, decodedSizeBytes: number) =>
    encodeChunkHeader(hash, new Uint8Array(9), { type: CHUNK_TYPES.simple, numRecords, decodedSizeBytes });
  assertThrows(() => decodeChunkHeader(hash, header(3, 7).subarray(0, 39)), ChunkError, "truncated");
  for (const [numRecords, decodedSizeBytes] of [[2 ** 40, 2 ** 45], [2 ** 23 + 1, 0], [0, 2 ** 30 + 1]]) {
    assertThrows(
      () => decodeChunkHeader(hash, header(numRecords, decodedSizeBytes)),
      ChunkError,
      `states ${numRecords} records of ${decodedSizeBytes} bytes, expected at most 8388608 of 1073741824`,
    );
  }
});

for (const compression of COMPRESSIONS) {
  Deno.test(`decodeSimpleChunk() returns records or throws a ChunkError for damaged data (${compression})`, () => {
    const records = [
      new Uint8Array(0),
      new Uint8Array(50).fill(1),
      Uint8Array.from({ length: 90 }, (_, i) => i),
    ];
    const data = encodeSimpleChunk(records, compression);
    const attempt = (bytes: Uint8Array) => {
      try {
        assertEquals(decodeSimpleChunk(bytes, sizeOf(records)).length, records.length);
      } catch (error) {
        if (!(error instanceof ChunkError)) throw error;
      }
    };
    // Deno's brotli also complains to standard error about every damaged part; a few of them suffice.
    const step = compression === "brotli" ? 13 : 1;
    for (let length = 0; length < data.length; length += step) {
      assertThrows(() => decodeSimpleChunk(data.subarray(0, length), sizeOf(records)), ChunkError);
    }
    for (let i = 0; i < data.length; i += step) {
      for (const change of [1, 0x80, 0xff]) {
        const damaged = data.slice();
        damaged[i] ^= change;
        attempt(damaged);
      }
    }
    fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (noise) => attempt(noise)), {
      numRuns: compression === "brotli" ? 5 : 200,
    });
  });
}

Deno.test("encodeSimpleChunk() writes one zstd frame that states its size, whatever the compressed size", () => {
  let state = 1;
  const noise = Uint8Array.from({ length: 200_000 }, (_, i) => {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    return i % 3 ? state >> 16 : 65;
  });
  for (const size of [1000, 20_000, 30_000, 65_511, 100_000, 200_000]) {
    const data = encodeSimpleChunk([noise.subarray(0, size)], "zstd");
    const frames = [...data.keys()].filter((i) =>
      data[i] === 0x28 && data[i + 1] === 0xb5 && data[i + 2] === 0x2f && data[i + 3] === 0xfd
    );
    assertEquals(frames.length, 2, `frames (sizes and values) of ${size} bytes`);
    // RFC 8878, 3.1.1.1.1: a frame states its content size by the size flag or as a single segment.
    for (const frame of frames) assertEquals((data[frame + 4] & 0xe0) > 0, true, `size of ${size} bytes`);
  }
});

Deno.test("decodeSimpleChunk() rejects an unknown compression and an excessive decompressed size", () => {
  const wanted = { numRecords: 1, decodedSizeBytes: 3 };
  const data = encodeSimpleChunk([Uint8Array.of(1, 2, 3)], "none");
  data[0] = 0x58;
  assertThrows(() => decodeSimpleChunk(data, wanted), ChunkError, '"X"');
  const bomb = encodeSimpleChunk([new Uint8Array(1 << 20)], "zstd");
  assertThrows(() => decodeSimpleChunk(bomb, wanted), ChunkError, "expected at most 3");
});

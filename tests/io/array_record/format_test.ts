import fc from "fast-check";
import { assertEquals, assertThrows } from "@std/assert";
import {
  addWithOverhead,
  BLOCK_HEADER_SIZE_BYTES,
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
  readU64,
  roundUpToPossibleChunkBoundary,
  stripBlockHeaders,
} from "../../../lib/io/array_record/format.ts";

const hash = await loadRiegeliHash();
const fail = (message: string, offsetBytes: number): never => {
  throw new Error(`${message} at ${offsetBytes}`);
};

Deno.test("addWithOverhead() agrees with a byte-by-byte model at every alignment", () => {
  // At each alignment, sizes that end just before, at and behind the two next block boundaries.
  for (let begin = 0; begin < BLOCK_SIZE_BYTES; begin++) {
    if (!isPossibleChunkBoundary(begin)) continue;
    const room = begin === 0 ? BLOCK_SIZE_BYTES - BLOCK_HEADER_SIZE_BYTES : BLOCK_SIZE_BYTES - begin;
    for (const size of [1, room - 1, room, room + 1, room + 65511, room + 65512, room + 65513]) {
      if (size < 0) continue;
      let wanted = begin + size;
      if (begin === 0 && size > 0) wanted += BLOCK_HEADER_SIZE_BYTES;
      if (size > room) wanted += BLOCK_HEADER_SIZE_BYTES;
      if (size > room + 65512) wanted += BLOCK_HEADER_SIZE_BYTES;
      if (addWithOverhead(begin, size) !== wanted) {
        assertEquals(addWithOverhead(begin, size), wanted, `${begin}`);
      }
    }
  }
});

Deno.test("roundUpToPossibleChunkBoundary() goes to the nearest position not inside or right after a block header", () => {
  for (const block of [0, BLOCK_SIZE_BYTES]) {
    assertEquals(roundUpToPossibleChunkBoundary(block), block);
    for (let k = 1; k <= BLOCK_HEADER_SIZE_BYTES; k++) {
      assertEquals(roundUpToPossibleChunkBoundary(block + k), block + BLOCK_HEADER_SIZE_BYTES + 1);
      assertEquals(isPossibleChunkBoundary(block + k), false);
    }
    for (const k of [25, 26, 40000, 65535]) {
      assertEquals(roundUpToPossibleChunkBoundary(block + k), block + k);
      assertEquals(isPossibleChunkBoundary(block + k), true);
    }
  }
});

Deno.test("chunkEnd() leaves a byte for every record", () => {
  assertEquals(chunkEnd(64, 10, 1), 64 + 40 + 10);
  assertEquals(chunkEnd(64, 10, 1000), 1064);
  assertEquals(chunkEnd(64, 10, BLOCK_SIZE_BYTES - 60), BLOCK_SIZE_BYTES + BLOCK_HEADER_SIZE_BYTES + 1);
});

Deno.test("stripBlockHeaders() gives back what layOutChunk() laid out, at any alignment", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 3 * BLOCK_SIZE_BYTES }),
      fc.integer({ min: 0, max: 150_000 }),
      fc.integer({ min: 0, max: 100_000 }),
      (position, size, numRecords) => {
        const begin = roundUpToPossibleChunkBoundary(position);
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

Deno.test("stripBlockHeaders() refuses a block header with any bit flipped", () => {
  const begin = BLOCK_SIZE_BYTES - 100;
  const end = chunkEnd(begin, 200, 0);
  const raw = layOutChunk(hash, begin, end, [new Uint8Array(240)]);
  for (let bit = 0; bit < 8 * BLOCK_HEADER_SIZE_BYTES; bit++) {
    const damaged = raw.slice();
    damaged[100 + (bit >> 3)] ^= 1 << (bit & 7);
    assertThrows(
      () => stripBlockHeaders(hash, damaged, { position: begin, begin, end }, fail),
      Error,
      `at ${BLOCK_SIZE_BYTES}`,
    );
  }
  assertThrows(
    () => stripBlockHeaders(hash, raw, { position: begin, begin: begin - 1, end }, fail),
    Error,
    "another chunk",
  );
  assertThrows(
    () => stripBlockHeaders(hash, raw, { position: begin, begin, end: end + 1 }, fail),
    Error,
    "another chunk end",
  );
});

Deno.test("stripBlockHeaders() reads a stretch that begins or ends at a block boundary", () => {
  const end = chunkEnd(BLOCK_SIZE_BYTES, 70_000, 0);
  const content = new Uint8Array(70_040).fill(7);
  const raw = layOutChunk(hash, BLOCK_SIZE_BYTES, end, [content]);
  assertEquals(readU64(raw, 8), 0);
  assertEquals(readU64(raw, 16), end - BLOCK_SIZE_BYTES);
  const at = { position: BLOCK_SIZE_BYTES, begin: BLOCK_SIZE_BYTES, end };
  assertEquals(stripBlockHeaders(hash, raw, at, fail), content);
  assertThrows(() => stripBlockHeaders(hash, raw.subarray(0, 20), at, fail), Error, "truncated");
  assertEquals(stripBlockHeaders(hash, new Uint8Array(0), at, fail).length, 0);
});

const COMPRESSIONS: Compression[] = ["none", "zstd", "brotli"];
const sizeOf = (records: Uint8Array[]) => ({
  numRecords: records.length,
  decodedSizeBytes: records.reduce((sum, record) => sum + record.length, 0),
});

Deno.test("loadRiegeliHash() gives the checksums of a file written by Riegeli", () => {
  // The first 64 bytes of every Riegeli file, riegeli_records_file_format.md, section "File signature".
  const blockHeader = new Uint8Array(16);
  blockHeader[8] = 64;
  assertEquals([...hash(blockHeader)], [0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f]);
  const header = encodeChunkHeader(hash, new Uint8Array(0), {
    type: CHUNK_TYPES.signature,
    numRecords: 0,
    decodedSizeBytes: 0,
  });
  assertEquals([...header.subarray(0, 8)], [0x91, 0xba, 0xc2, 0x3c, 0x92, 0x87, 0xe1, 0xa9]);
  assertEquals([...header.subarray(16, 25)], [0xe1, 0x9f, 0x13, 0xc0, 0xe9, 0xb1, 0xc3, 0x72, 0x73]);
});

Deno.test("loadRiegeliHash() hashes more than its 64 KiB buffer like the parts of one stream", () => {
  const long = Uint8Array.from({ length: 200_001 }, (_, i) => i * 31 & 255);
  const before = hash(long);
  hash(new Uint8Array(10));
  assertEquals(hash(long.slice()), before);
  long[150_000] ^= 1;
  assertEquals(hash(long).every((byte, i) => byte === before[i]), false);
});

Deno.test("decodeChunkHeader() gives back what encodeChunkHeader() was given", () => {
  fc.assert(fc.property(
    fc.constantFrom(...Object.values(CHUNK_TYPES)),
    fc.integer({ min: 0, max: 2 ** 23 }),
    fc.integer({ min: 0, max: 2 ** 30 }),
    fc.uint8Array({ maxLength: 100 }),
    (type, numRecords, decodedSizeBytes, data) => {
      const header = encodeChunkHeader(hash, data, { type, numRecords, decodedSizeBytes });
      assertEquals(decodeChunkHeader(hash, header), {
        type,
        numRecords,
        decodedSizeBytes,
        dataSizeBytes: data.length,
        dataHash: hash(data),
      });
    },
  ));
});

Deno.test("decodeChunkHeader() refuses a header with any bit flipped, cut off or of absurd size", () => {
  const header = encodeChunkHeader(hash, new Uint8Array(9), {
    type: CHUNK_TYPES.simple,
    numRecords: 3,
    decodedSizeBytes: 7,
  });
  for (let bit = 0; bit < 8 * header.length; bit++) {
    const damaged = header.slice();
    damaged[bit >> 3] ^= 1 << (bit & 7);
    assertThrows(() => decodeChunkHeader(hash, damaged), ChunkError, "checksum");
  }
  assertThrows(() => decodeChunkHeader(hash, header.subarray(0, 39)), ChunkError, "truncated");
  for (const [numRecords, decodedSizeBytes] of [[2 ** 40, 2 ** 45], [2 ** 23 + 1, 0], [0, 2 ** 30 + 1]]) {
    const absurd = { type: CHUNK_TYPES.simple, numRecords, decodedSizeBytes };
    assertThrows(
      () => decodeChunkHeader(hash, encodeChunkHeader(hash, new Uint8Array(0), absurd)),
      ChunkError,
      `states ${numRecords} records of ${decodedSizeBytes} bytes, expected at most 8388608 of 1073741824`,
    );
  }
});

for (const compression of COMPRESSIONS) {
  Deno.test(`decodeSimpleChunk() gives back what encodeSimpleChunk() was given (${compression})`, () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 }), (records) => {
        const data = encodeSimpleChunk(records, compression);
        assertEquals(decodeSimpleChunk(data, sizeOf(records)), records);
      }),
      { numRuns: 50 },
    );
  });

  Deno.test(`decodeSimpleChunk() gives records or a ChunkError for damaged data (${compression})`, () => {
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
    // Deno's brotli also complains on standard error about every damaged part; a few of them suffice.
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
    // RFC 8878, 3.1.1.1.1: a frame states its content's size by the size flag or as a single segment.
    for (const frame of frames) assertEquals((data[frame + 4] & 0xe0) > 0, true, `size of ${size} bytes`);
  }
});

Deno.test("decodeSimpleChunk() refuses an unknown compression and a compressed part that says too much", () => {
  const wanted = { numRecords: 1, decodedSizeBytes: 3 };
  const data = encodeSimpleChunk([Uint8Array.of(1, 2, 3)], "none");
  data[0] = 0x58;
  assertThrows(() => decodeSimpleChunk(data, wanted), ChunkError, '"X"');
  const bomb = encodeSimpleChunk([new Uint8Array(1 << 20)], "zstd");
  assertThrows(() => decodeSimpleChunk(bomb, wanted), ChunkError, "expected at most 3");
});

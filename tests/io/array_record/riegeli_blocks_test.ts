import fc from "fast-check";
import { assertEquals, assertThrows } from "@std/assert";
import {
  addWithOverhead,
  BLOCK_HEADER_SIZE_BYTES,
  BLOCK_SIZE_BYTES,
  CHUNK_HEADER_SIZE_BYTES,
  chunkEnd,
  isBlockBoundary,
  isPossibleChunkBoundary,
  layOutChunk,
  loadRiegeliHash,
  overheadBlocks,
  readU64,
  remainingInBlock,
  roundUpToPossibleChunkBoundary,
  stripBlockHeaders,
  writeU64,
} from "../../../lib/io/array_record/riegeli.ts";

const hash = await loadRiegeliHash();
const fail = (message: string, offsetBytes: number): never => {
  throw new Error(`${message} at ${offsetBytes}`);
};

/** The plain model: lay the content out byte by byte, with a header wherever a block begins. */
function endByModel(begin: number, sizeBytes: number): number {
  let position = begin;
  for (let i = 0; i < sizeBytes; i++) {
    if (position % BLOCK_SIZE_BYTES === 0) position += BLOCK_HEADER_SIZE_BYTES;
    position++;
  }
  return position;
}

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

Deno.test("addWithOverhead() agrees with the model at random positions and sizes", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1 << 20 }), fc.integer({ min: 0, max: 200_000 }), (begin, size) => {
      fc.pre(isPossibleChunkBoundary(begin));
      assertEquals(addWithOverhead(begin, size), endByModel(begin, size));
      assertEquals((addWithOverhead(begin, size) - begin - size) / 24, overheadBlocks(begin, size));
    }),
    { numRuns: 300, seed: 1 },
  );
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

Deno.test("readU64() reads what writeU64() wrote, up to 2^53", () => {
  const bytes = new Uint8Array(11);
  for (const value of [0, 1, 255, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 3, Number.MAX_SAFE_INTEGER]) {
    writeU64(bytes, 3, value);
    assertEquals(readU64(bytes, 3), value);
    assertEquals(new DataView(bytes.buffer).getBigUint64(3, true), BigInt(value));
  }
});

Deno.test("isBlockBoundary() and remainingInBlock() agree", () => {
  for (const position of [0, 1, 65535, 65536, 65537, 131072]) {
    assertEquals(isBlockBoundary(position), remainingInBlock(position) === 0);
    assertEquals(isBlockBoundary(position + remainingInBlock(position)), true);
  }
});

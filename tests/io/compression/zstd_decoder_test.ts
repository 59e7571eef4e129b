import fc from "fast-check";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { zstdCompressSync } from "node:zlib";
import { decompressZstdFrame, ZstdDecoder } from "../../../lib/io/compression/zstd_decoder.ts";

const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.tuple(fc.nat(255), fc.nat(200_000)).map(([byte, length]) => new Uint8Array(length).fill(byte)),
);
/** A frame in a separate buffer, so that damage does not spread. */
const compress = (bytes: Uint8Array) => new Uint8Array(zstdCompressSync(bytes));

Deno.test("decompressZstdFrame() returns what was compressed, frame after frame", () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      assertEquals(decompressZstdFrame(compress(bytes), bytes.length), bytes);
    }),
    { numRuns: 300 },
  );
});

Deno.test("decompressZstdFrame() returns bytes that the next call does not overwrite", () => {
  const [a, b] = [new Uint8Array(100).fill(1), new Uint8Array(100).fill(2)];
  const first = decompressZstdFrame(compress(a), 100);
  decompressZstdFrame(compress(b), 100);
  assertEquals(first, a);
  assertEquals(first.byteLength, first.buffer.byteLength);
});

Deno.test("decompressZstdFrame() never exceeds the stated size, and recovers from damaged frames", () => {
  const good = crypto.getRandomValues(new Uint8Array(500)).map((byte) => byte & 15);
  const frame = compress(good);
  assertThrows(() => decompressZstdFrame(frame, 499));
  assertEquals(decompressZstdFrame(frame, 500), good);
  let numThrown = 0;
  for (let cut = 0; cut < frame.length; cut++) {
    const damaged = cut % 2 === 0
      ? frame.slice(0, cut)
      : frame.map((byte, i) => i === cut ? byte ^ 255 : byte);
    try {
      assert(decompressZstdFrame(damaged, 500).length <= 500);
    } catch (error) {
      assert(error instanceof Error);
      numThrown++;
    }
    assertEquals(decompressZstdFrame(frame, 500), good, `after damage at ${cut}`);
  }
  assert(numThrown > 0);
});

const compressText = (text: string) => compress(new TextEncoder().encode(text));

Deno.test("ZstdDecoder finds its handle in this runtime, and decodes frames cut anywhere", () => {
  const decoder = ZstdDecoder.open();
  assert(
    decoder,
    "node:zlib has another handle under its zstd stream: see lib/io/README.md",
  );
  const bytes = Uint8Array.from([...compressText("one"), ...compressText(""), ...compressText("two")]);
  const output = new Uint8Array(10);
  let size = 0;
  for (const byte of bytes) {
    const { inputLeft, outputLeft } = decoder.decode(Uint8Array.of(byte), output.subarray(size));
    assertEquals(inputLeft, 0);
    size = output.length - outputLeft;
  }
  assertEquals(new TextDecoder().decode(output.subarray(0, size)), "onetwo");
});

Deno.test("ZstdDecoder throws for damaged frames and works again after a reset", () => {
  const decoder = ZstdDecoder.open();
  assertThrows(() => decoder?.decode(Uint8Array.of(1, 2, 3, 4, 5), new Uint8Array(9)), Error, "frame");
  decoder?.reset();
  assertEquals(decoder?.decode(compressText("three"), new Uint8Array(5)), { inputLeft: 0, outputLeft: 0 });
});

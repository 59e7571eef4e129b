import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { concat, equals } from "@std/bytes";
import { constants, gzipSync, zstdCompressSync } from "node:zlib";
import { FormatError, UserError } from "../../../lib/base/errors.ts";
import { openInput } from "../../../lib/io/compression/decompress.ts";
import { withFolder } from "../files/temporary_folder.ts";

const text = new TextEncoder().encode(
  Array.from({ length: 40_000 }, (_, i) => `{"id":${i},"x":${Math.sin(i)}}\n`).join(""),
);
/** `hello bzip2` and a newline, compressed with libbzip2 1.0.8, block size 9. */
const BZIP2 = Uint8Array.fromBase64(
  "QlpoOTFBWSZTWatrofEAAALZgAAQQAAQABJkwBAgADEA000EAB6j705RogeLuSKcKEhVtdD4gA==",
);

async function read(path: string): Promise<{ compression: string; bytes: Uint8Array }> {
  const { compression, chunks } = await openInput(path);
  return { compression, bytes: concat(await Array.fromAsync(chunks)) };
}

const zstd = (bytes: Uint8Array, checksum = 1) =>
  new Uint8Array(zstdCompressSync(bytes, { params: { [constants.ZSTD_c_checksumFlag]: checksum } }));
const gzip = (bytes: Uint8Array) => new Uint8Array(gzipSync(bytes));

Deno.test("openInput() reads plain, gzip and zstd files by their first bytes", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f`;
    for (
      const [compression, bytes] of [["none", text], ["gzip", gzip(text)], ["zstd", zstd(text)], [
        "zstd",
        zstd(text, 0),
      ]] as const
    ) {
      Deno.writeFileSync(path, bytes);
      const found = await read(path);
      assertEquals(found.compression, compression);
      assert(equals(found.bytes, text), compression);
    }
  }));

Deno.test("openInput() reads every member of a multi-member file", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f`;
    const [a, b] = [text.subarray(0, 1000), text.subarray(1000, 300_000)];
    const skippable = Uint8Array.of(0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9);
    const empty = new Uint8Array(0);
    for (
      const bytes of [
        concat([gzip(a), gzip(empty), gzip(b)]),
        concat([zstd(a), skippable, zstd(empty), zstd(b)]),
      ]
    ) {
      Deno.writeFileSync(path, bytes);
      assertEquals((await read(path)).bytes, text.subarray(0, 300_000));
    }
    Deno.writeFileSync(path, concat([BZIP2, BZIP2, BZIP2]));
    const hello = await read(path);
    assertEquals(hello.compression, "bzip2");
    assertEquals(new TextDecoder().decode(hello.bytes), "hello bzip2\n".repeat(3));
  }));

Deno.test("openInput() reports the byte at which a compressed file was cut off", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f`;
    for (const whole of [gzip(text), zstd(text), BZIP2]) {
      for (const share of [0.3, 0.6, 0.95]) {
        const size = Math.floor(whole.length * share);
        Deno.writeFileSync(path, whole.subarray(0, size));
        const error = await assertRejects(() => read(path), FormatError);
        assertStringIncludes(error.message, "ends too early, the file is truncated");
        assert(error.offsetBytes !== undefined && error.offsetBytes <= size, error.message);
        assertStringIncludes(error.message, `Cannot read ${path} at byte ${error.offsetBytes}`);
      }
    }
  }));

Deno.test("openInput() turns damaged compressed bytes into a FormatError", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f`;
    for (const whole of [gzip(text), zstd(text), BZIP2]) {
      for (const share of [0.4, 0.7]) {
        const damaged = whole.slice();
        damaged[Math.floor(whole.length * share)] ^= 0x55;
        Deno.writeFileSync(path, damaged);
        await assertRejects(() => read(path), FormatError, "damaged");
      }
      Deno.writeFileSync(path, concat([whole, new TextEncoder().encode("no such member")]));
      await assertRejects(() => read(path), FormatError);
    }
  }));

Deno.test("openInput() names a missing file, and reads an empty one as no bytes", () =>
  withFolder(async (folder) => {
    await assertRejects(
      () => openInput(`${folder}/none`),
      UserError,
      `Cannot read ${folder}/none: no such file`,
    );
    Deno.writeFileSync(`${folder}/empty`, new Uint8Array(0));
    assertEquals((await read(`${folder}/empty`)).bytes.length, 0);
  }));

/**
 * 150 million spaces, compressed with libbzip2 1.0.8 at block size 9: 152 bytes. A block of text is 46 MB.
 */
const BZIP2_BOMB = Uint8Array.fromBase64(
  "QlpoOTFBWSZTWbUiZb8BX44QAMAAAAggADCATUZCoCWpCoCXMUFZJlNZtSJlvwFfjhAAwAAACCAAMIBNRkKgJakKgJcxQVkmU1m1ImW/" +
    "AV+OEADAAAAIIAAwgE1GQqAlqQqAlzFBWSZTWVoQ6lUAXjoUAMAAAIAACCAAMMwJqmmpCoLakhUF4u5IpwoSCbnTRSA=",
);

Deno.test("openInput() yields a bzip2 file that expands a millionfold in small pieces", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f`;
    Deno.writeFileSync(path, concat([BZIP2_BOMB, BZIP2]));
    let numBytes = 0;
    let numPieces = 0;
    let last = new Uint8Array(0);
    const before = Deno.memoryUsage();
    let mostBytes = 0;
    for await (const piece of (await openInput(path)).chunks) {
      assert(piece.length <= 1 << 18, `a piece of ${piece.length} bytes`);
      numBytes += piece.length;
      last = new Uint8Array(piece);
      if (numPieces++ % 100 !== 0) continue;
      const { heapTotal, external } = Deno.memoryUsage();
      mostBytes = Math.max(mostBytes, heapTotal + external - before.heapTotal - before.external);
    }
    assertEquals(numBytes, 150_000_000 + "hello bzip2\n".length);
    assertEquals(new TextDecoder().decode(last), "hello bzip2\n");
    assert(mostBytes < 400e6, `${mostBytes} bytes of memory`);
  }));

import { assert, assertEquals, assertThrows } from "@std/assert";
import { zstdCompressSync } from "node:zlib";
import { ZstdDecoder } from "../../../lib/io/compression/zstd_decoder.ts";

const compress = (text: string) => new Uint8Array(zstdCompressSync(new TextEncoder().encode(text)));

Deno.test("ZstdDecoder uses a handle that this runtime has, for frames cut anywhere", () => {
  const decoder = ZstdDecoder.open();
  assert(
    decoder,
    "node:zlib has another handle under its zstd stream: see lib/io/README.md",
  );
  const bytes = Uint8Array.from([...compress("one"), ...compress(""), ...compress("two")]);
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
  assertEquals(decoder?.decode(compress("three"), new Uint8Array(5)), { inputLeft: 0, outputLeft: 0 });
});

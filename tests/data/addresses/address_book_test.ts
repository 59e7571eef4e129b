import { assertEquals, assertStrictEquals } from "@std/assert";
import { readAddress } from "../../../lib/data/addresses/address_book.ts";

Deno.test("readAddress() says what an address is, once per text", () => {
  const address = readAddress("2001:7FD:0::1");
  assertEquals([address.canonical, address.isPublic, address.bytes?.length], ["2001:7fd::1", true, 16]);
  assertStrictEquals(readAddress("2001:7FD:0::1"), address);
  assertEquals(readAddress("10.0.0.1").isPublic, false);
  const none = readAddress("example.net");
  assertEquals([none.text, none.bytes, none.canonical, none.isPublic], ["example.net", undefined, "", false]);
});

Deno.test("readAddress() tells more texts apart than it remembers", () => {
  for (let i = 0; i < 200_000; i++) {
    const text = `${i >> 16}.${i >> 8 & 255}.${i & 255}.9`;
    assertStrictEquals(readAddress(text).canonical, text);
  }
});

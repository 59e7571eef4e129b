import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { AddressBook } from "../../lib/measurement/address_book.ts";

const find = (book: AddressBook, text: string) => {
  const bytes = new TextEncoder().encode(`"${text}"`);
  return book.find(bytes, 1, bytes.length - 1);
};

Deno.test("AddressBook.find() says what an address is, once per text", () => {
  const book = new AddressBook();
  const address = find(book, "2001:7FD:0::1");
  assertEquals([address.canonical, address.isPublic, address.bytes?.length], ["2001:7fd::1", true, 16]);
  assertStrictEquals(find(book, "2001:7FD:0::1"), address);
  assertEquals(find(book, "10.0.0.1").isPublic, false);
  const none = find(book, "example.net");
  assertEquals([none.text, none.bytes, none.canonical, none.isPublic], ["example.net", undefined, "", false]);
});

Deno.test("AddressBook.find() tells more texts apart than it holds", () => {
  const book = new AddressBook();
  for (let i = 0; i < 200_000; i++) {
    const text = `${i >> 16}.${i >> 8 & 255}.${i & 255}.9`;
    assert(find(book, text).canonical === text);
    if (i % 1000 === 0) assert(find(book, "193.0.14.129").canonical === "193.0.14.129");
  }
});

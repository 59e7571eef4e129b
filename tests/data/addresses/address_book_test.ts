import { assertEquals, assertStrictEquals } from "@std/assert";
import { isPublicAddress, readAddress } from "../../../lib/data/addresses/address_book.ts";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";

Deno.test("readAddress() parses and classifies an address, once per text", () => {
  const address = readAddress("2001:7FD:0::1");
  assertEquals([address.canonical, address.isPublic, address.bytes?.length], ["2001:7fd::1", true, 16]);
  assertStrictEquals(readAddress("2001:7FD:0::1"), address);
  assertEquals(readAddress("10.0.0.1").isPublic, false);
  const none = readAddress("example.net");
  assertEquals([none.text, none.bytes, none.canonical, none.isPublic], ["example.net", undefined, "", false]);
});

Deno.test("readAddress() distinguishes more texts than its cache holds", () => {
  for (let i = 0; i < 200_000; i++) {
    const text = `${i >> 16}.${i >> 8 & 255}.${i & 255}.9`;
    assertStrictEquals(readAddress(text).canonical, text);
  }
});

/** Addresses at the edges of the special-purpose prefixes and just outside. */
const SPECIAL = `0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.249.100 100.127.255.255
  127.0.0.1 169.254.0.1 172.16.0.0 172.31.255.255 192.0.0.1 192.0.0.255 192.0.2.1 192.168.0.0 192.168.255.255
  198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.255 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
  :: ::1 ::ffff:10.0.0.1 64:ff9b:1::1 100::1 2001::1 2001:2::1 2001:10::1 2001:db8::1
  2001:db8:0:20:eade:27ff:fec9:71f0 2002:808:808::1 3fff::1 3fff:fff::1 4000::1 5f00::1
  fc00::1 fdff::1 fe80::1 febf::1 fec0::1 ff02::1`.split(/\s+/);
const PUBLIC = `1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
  169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.0.9 192.0.0.10 192.0.1.0 192.0.3.0
  192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 203.0.112.255 203.0.114.0 223.255.255.255 193.0.14.129
  2000::1 2001:1::1 2001:3::1 2001:4:112::1 2001:20::1 2001:30::1 2001:200::1 2001:7fd::1 2001:db7::1 2001:db9::1
  2001:ffff::1 2003::1 2a00:1450::1 3ffe::1 64:ff9b::808:808`.split(/\s+/);

Deno.test("isPublicAddress() distinguishes special from public addresses", () => {
  for (const text of SPECIAL) assertEquals(isPublicAddress(addressBytes(text)), false, text);
  for (const text of PUBLIC) assertEquals(isPublicAddress(addressBytes(text)), true, text);
});

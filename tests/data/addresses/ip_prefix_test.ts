import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { UserError } from "../../../lib/base/errors.ts";
import { addressBytes, formatAddress } from "../../../lib/data/addresses/ip.ts";
import {
  byteRange,
  formatPrefix,
  hasHostBits,
  isAddress,
  parsePrefix,
  prefixContains,
  prefixOfAddress,
} from "../../../lib/data/addresses/ip_prefix.ts";

Deno.test("parsePrefix() reads prefixes of any length and clears the bits after them", () => {
  const cases: [string, string, boolean][] = [
    ["10.2.0.0/16", "10.2.0.0/16", false],
    ["10.2.3.4/16", "10.2.0.0/16", true],
    ["10.2.255.0/19", "10.2.224.0/19", true],
    ["0.0.0.0/0", "0.0.0.0/0", false],
    ["192.0.2.1/32", "192.0.2.1", false],
    ["192.0.2.1", "192.0.2.1", false],
    ["2001:db8:8000::/33", "2001:db8:8000::/33", false],
    ["2001:db8:c000::1/33", "2001:db8:8000::/33", true],
    ["::/0", "::/0", false],
    ["2001:db8::1/128", "2001:db8::1", false],
    ["::ffff:10.2.3.4", "10.2.3.4", false],
    ["::ffff:10.2.3.4/128", "10.2.3.4", false],
    ["::ffff:a02:304/112", "10.2.0.0/16", true],
    ["::ffff:0:0/96", "0.0.0.0/0", false],
  ];
  for (const [text, written, isCut] of cases) {
    assertEquals(formatPrefix(parsePrefix(text)), written);
    assertEquals(hasHostBits(text), isCut, text);
    assertEquals(isAddress(parsePrefix(text)), !written.includes("/"));
  }
  assertEquals(parsePrefix("::1"), prefixOfAddress(addressBytes("::1")));
});

Deno.test("parsePrefix() rejects invalid addresses and invalid or excessive lengths", () => {
  for (const length of ["33", "", "-1", "08", "1e1", "8/8"]) {
    assertThrows(() => parsePrefix(`10.2.0.0/${length}`), UserError, "expected 0 to 32");
  }
  assertThrows(() => parsePrefix("::/129"), UserError, "expected 0 to 128");
  assertThrows(() => parsePrefix("::ffff:10.2.0.0/95"), UserError, "its length is 95, expected 96 to 128");
  assertThrows(() => parsePrefix("10.2.0.0/33"), UserError, "its length is 33, expected 0 to 32");
  for (const text of ["", "10.2/16", "example.org", "/16", "fe80::1%eth0/64"]) {
    assertThrows(() => parsePrefix(text), UserError, "expected an IPv4 or IPv6 address or prefix");
  }
});

Deno.test("byteRange() and prefixContains() cover exactly the addresses that share the prefix's bits", () => {
  const bitsOf = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  fc.assert(fc.property(
    fc.constantFrom(4, 16).chain((n) =>
      fc.tuple(
        fc.uint8Array({ minLength: n, maxLength: n }),
        fc.nat(n * 8),
        fc.uint8Array({ minLength: n, maxLength: n }),
        fc.boolean(),
      )
    ),
    ([bytes, length, other, isNear]) => {
      const prefix = parsePrefix(`${formatAddress(bytes)}/${length}`);
      // Sometimes shares bits with the prefix.
      const address = isNear ? other.map((byte, i) => i < length >> 3 ? bytes[i] : byte) : other;
      const isInside = bitsOf(address).slice(0, length) === bitsOf(bytes).slice(0, length);
      assertEquals(prefixContains(prefix, address), isInside);
      const numAddresses = [...bytes.keys()].reduce((product, i) => {
        const { first, last } = byteRange(prefix, i);
        return product * BigInt(last - first + 1);
      }, 1n);
      assertEquals(numAddresses, 1n << BigInt(bytes.length * 8 - length));
    },
  ));
  assert(!prefixContains(parsePrefix("0.0.0.0/0"), addressBytes("::1")));
  assertEquals(byteRange(parsePrefix("10.2.224.0/19"), 2), { first: 224, last: 255 });
});

Deno.test("parsePrefix() explains what to enter instead of a host name or an AS number", () => {
  for (const name of ["example.com", "a-b.example.org.", "localhost"]) {
    assertThrows(() => parsePrefix(name), UserError, "host name: resolve it and give its address");
  }
  assertThrows(() => parsePrefix("AS3333"), UserError, "AS number: give one of its prefixes");
  for (const text of ["", "1.2.3", "1.2.3.256", "2001:db8::g", "10.0.0.0/x"]) {
    const error = assertThrows(() => parsePrefix(text), UserError);
    assert(!error.message.includes("host name"), error.message);
  }
});

import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { formatAddress, parseAddress } from "../../../lib/data/addresses/ip.ts";

const hex = (bytes: Uint8Array | undefined) => bytes?.toHex();

Deno.test("parseAddress() reads IPv4 and every form of IPv6", () => {
  const forms: [string, string][] = [
    ["192.0.2.1", "c0000201"],
    ["0.0.0.0", "00000000"],
    ["255.255.255.255", "ffffffff"],
    ["::", "0".repeat(32)],
    ["::1", "0".repeat(31) + "1"],
    ["1::", "0001" + "0".repeat(28)],
    ["2001:DB8::8:800:200c:417a", "20010db80000000000080800200c417a"],
    ["2001:db8:0:0:8:800:200C:417A", "20010db80000000000080800200c417a"],
    ["1:2:3:4:5:6:7::", "00010002000300040005000600070000"],
    ["::2:3:4:5:6:7:8", "00000002000300040005000600070008"],
    ["::ffff:192.0.2.1", "c0000201"],
    ["0:0:0:0:0:FFFF:c000:201", "c0000201"],
    ["::1:ffff:192.0.2.1", "00000000000000000001ffffc0000201"],
    ["::192.0.2.1", "000000000000000000000000c0000201"],
    ["64:ff9b::192.0.2.33", "0064ff9b0000000000000000c0000221"],
    ["1:2:3:4:5:6:192.0.2.1", "000100020003000400050006c0000201"],
  ];
  for (const [text, bytes] of forms) assertEquals(hex(parseAddress(text)), bytes, text);
});

Deno.test("parseAddress() rejects invalid addresses", () => {
  const refused =
    `1.2.3 1.2.3.4.5 1.2.3. 1..3.4 .1.2.3 256.1.1.1 01.2.3.4 1.2.3.00 1.2.3.1000 1.2.3.-4 1.2.3.4a
    0x1.2.3.4 1,2,3,4 ٣.2.3.4 : ::: 1:::2 :1::2 1::2: 1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 1:2:3:4:5:6:7:8::
    ::1:2:3:4:5:6:7:8 1::2::3 12345:: g:: fe80::1%eth0 ::1/64 1:2:3:4:5:6:7:1.2.3.4 1:2:3:4:5:1.2.3.4 ::1.2.3
    ::1.2.3.256 ::1.2.3.4:5 1.2.3.4:: [::1]`.split(/\s+/);
  for (const text of [...refused, "", " ", "1.2.3.4 ", " 1.2.3.4", "::1 ", "not an address"]) {
    assertEquals(parseAddress(text), undefined, text);
  }
});

Deno.test("formatAddress() follows RFC 5952, sections 4 and 5", () => {
  const forms: [string, string][] = [
    ["2001:0db8::0001", "2001:db8::1"],
    ["2001:db8:0:0:0:0:2:1", "2001:db8::2:1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["2001:DB8::ABCD", "2001:db8::abcd"],
    ["0:0:0:0:0:0:0:0", "::"],
    ["1:0:0:0:0:0:0:0", "1::"],
    ["::ffff:c000:201", "192.0.2.1"],
    ["::c000:201", "::c000:201"],
    ["192.0.2.1", "192.0.2.1"],
  ];
  for (const [text, written] of forms) {
    assertEquals(formatAddress(parseAddress(text) ?? new Uint8Array(1)), written);
  }
  assertThrows(() => formatAddress(new Uint8Array(5)), RangeError);
});

Deno.test("parseAddress() reads back what formatAddress() writes", () => {
  const byte = fc.oneof(fc.constant(0), fc.constant(255), fc.integer({ min: 0, max: 255 }));
  const address = fc.oneof(
    fc.array(byte, { minLength: 4, maxLength: 4 }),
    fc.array(byte, { minLength: 16, maxLength: 16 }),
  );
  fc.assert(
    fc.property(address, (bytes) => {
      const address = Uint8Array.from(bytes);
      assertEquals(hex(parseAddress(formatAddress(address))), hex(address));
    }),
    { numRuns: 1000 },
  );
});

Deno.test("parseAddress() returns an address or undefined for any text", () => {
  const character = fc.constantFrom(..."0123456789abcF:::...%g ");
  fc.assert(
    fc.property(fc.array(character, { maxLength: 24 }), (characters) => {
      const bytes = parseAddress(characters.join(""));
      // Formatting a parsed address and parsing it again returns the same address.
      if (bytes) assertEquals(hex(parseAddress(formatAddress(bytes))), hex(bytes));
    }),
    { numRuns: 5000 },
  );
});

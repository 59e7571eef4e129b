import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type AtlasObject, fieldsOfObject } from "../../lib/measurement/ping_fields.ts";
import { PingReader } from "../../lib/measurement/ping_reader.ts";
import { ping } from "./ping_result.ts";

const reader = new PingReader();

/** Reads a text as the scanner offers it: among other bytes, with a byte 0 at the end. */
function read(text: string) {
  const fields = reader.read(new TextEncoder().encode(`, ${text} `.slice(0, -1) + "\0"), 2);
  if (fields) assertEquals(reader.end, 2 + new TextEncoder().encode(text).length, text);
  return fields;
}

/** What is read must be what `JSON.parse` reads. */
function assertSame(text: string): void {
  const fields = read(text);
  assert(fields, `not read: ${text}`);
  assertEquals(fields, fieldsOfObject(JSON.parse(text)), text);
}

const BLANKS = ["", " ", "\n    ", "\r\n\t"];

Deno.test("PingReader.read() gives the fields that JSON.parse gives, whatever the order and the blanks", () => {
  const rtt = fc.oneof(fc.double({ min: 0, max: 1e5, noNaN: true }), fc.nat(400), fc.constant(-1));
  const simple = fc.constantFrom<unknown>("*", "connect failed: No route", 3, -2.5, true, false, null, "");
  const reply = fc.record({ rtt, x: simple, dup: simple, late: simple, error: simple, ttl: simple }, {
    requiredKeys: [],
  });
  const address = fc.constantFrom("", "193.0.14.129", "10.0.0.1", "2001:7FD:0::1", "2001:67c::5", "host.net");
  const count = fc.oneof(fc.nat(5), fc.constantFrom(-1, 0.5, 2 ** 53, 123456789012));
  const result = fc.record({
    ...{ msm_id: count, prb_id: count, af: count, size: count, sent: count, rcvd: count },
    ...{ min: rtt, max: rtt, avg: rtt, result: fc.array(reply, { maxLength: 4 }) },
    ...{ from: address, src_addr: address, dst_addr: address, addr: address },
    ...{ fw: simple, msm_name: simple, group_id: simple, step: simple, x: simple, rtt: simple, hop: simple },
  }, { requiredKeys: [] });
  fc.assert(
    fc.property(result, fc.nat(), fc.constantFrom(...BLANKS), (fields, turn, blank) => {
      const entries = Object.entries({ ...fields, type: "ping", timestamp: 1_600_000_000 });
      const at = turn % entries.length;
      const turned = Object.fromEntries([...entries.slice(at), ...entries.slice(0, at)]);
      const text = JSON.stringify(turned, null, blank === "" ? 0 : 1);
      if (/\de[+-]?\d/.test(text)) return;
      assertSame(blank === "" ? text : text.replaceAll(/\n */g, blank));
    }),
    { numRuns: 500 },
  );
});

Deno.test("PingReader.read() reads numbers as JSON.parse does", () => {
  const numbers = ["0", "-0", "7", "179.801394", "27.300999999999998", "0.1", "123456789012345", "0.000001"];
  numbers.push("12345678901234567890", "40.234000000000002", "999999999999999.9", "4503599627370497.5");
  for (const text of numbers) {
    assertSame(`{"type":"ping","timestamp":1600000000,"result":[{"rtt":${text}}],"avg":${text}}`);
  }
});

Deno.test("PingReader.read() leaves what is not plain to JSON.parse", () => {
  const plain = JSON.stringify(ping());
  assert(read(plain));
  const changes: Record<string, unknown>[] = [
    { type: "traceroute" },
    { type: undefined },
    { timestamp: undefined },
    { timestamp: "1600000000" },
    { rcvd: "1" },
    { rcvd: null },
    { from: null },
    { from: "193.0.14.1\n" },
    { from: "é" },
    { from: "1".repeat(65) },
    { msm_name: 'a "quote"' },
    { note: {} },
    { note: [] },
    { note: 1e-7 },
    { result: undefined, results: [] },
    { result: {} },
    { result: [1] },
    { result: [{ rtt: "5" }] },
    { result: [{ hop: 1 }] },
    { result: [{ rtt: 5, note: [] }] },
  ];
  for (const change of changes) {
    assertEquals(read(JSON.stringify(ping(change))), undefined, JSON.stringify(change));
  }
});

Deno.test("PingReader.read() reads no damaged or unfinished result", () => {
  const text = JSON.stringify(
    ping({ result: [{ rtt: 5.25 }, { x: "*" }], note: [true, false, null][1] }),
    null,
    1,
  );
  for (let length = 1; length < text.length; length++) assertEquals(read(text.slice(0, length)), undefined);
  const bytes = new TextEncoder().encode(text);
  const position = fc.integer({ min: 1, max: bytes.length - 1 });
  const byte = fc.oneof(fc.constantFrom(...new TextEncoder().encode(`{}[]",:\\ .-0e1`)), fc.nat(255));
  fc.assert(
    fc.property(fc.array(fc.tuple(position, byte), { minLength: 1, maxLength: 3 }), (mutations) => {
      const mutated = new Uint8Array(bytes.length + 1);
      mutated.set(bytes);
      for (const [at, value] of mutations) mutated[at] = value;
      const fields = reader.read(mutated, 0);
      if (!fields) return;
      const object: AtlasObject = JSON.parse(new TextDecoder().decode(mutated.subarray(0, reader.end)));
      assertEquals(fields, fieldsOfObject(object));
    }),
    { numRuns: 5000 },
  );
});

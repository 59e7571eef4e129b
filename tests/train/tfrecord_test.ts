import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { crc32c, decodeTfRecords, encodeTfRecord } from "../../lib/train/event_log.ts";

Deno.test("crc32c() has the published values", () => {
  // RFC 3720, appendix B.4, and the customary check value.
  assertEquals(crc32c(new TextEncoder().encode("123456789")), 0xe3069283);
  assertEquals(crc32c(new Uint8Array(32)), 0x8a9136aa);
  assertEquals(crc32c(new Uint8Array(32).fill(255)), 0x62a8ab43);
  assertEquals(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i)), 0x46dd794e);
  assertEquals(crc32c(new Uint8Array(0)), 0);
});

Deno.test("decodeTfRecords() gives back what encodeTfRecord() was given, and what is whole of a torn file", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }), fc.nat(), (datas, cut) => {
      const records = datas.map(encodeTfRecord);
      const bytes = Uint8Array.from(records.flatMap((record) => [...record]));
      assertEquals([...decodeTfRecords(bytes)].map(({ data }) => data), datas);
      const length = cut % (bytes.length + 1);
      let end = 0;
      const whole = datas.filter((_, i) => (end += records[i].length) <= length);
      assertEquals([...decodeTfRecords(bytes.subarray(0, length))].map(({ data }) => data), whole);
    }),
  );
});

Deno.test("decodeTfRecords() ends at a length that reaches beyond the file", () => {
  const bytes = encodeTfRecord(new Uint8Array(4));
  const huge = encodeTfRecord(new Uint8Array(0));
  new DataView(huge.buffer).setBigUint64(0, 2n ** 63n, true);
  assertEquals([...decodeTfRecords(Uint8Array.from([...bytes, ...huge]))].length, 1);
});

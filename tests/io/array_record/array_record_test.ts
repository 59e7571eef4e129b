import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { gunzipSync } from "node:zlib";
import { UserError } from "../../../lib/base/errors.ts";
import { ArrayRecordReader } from "../../../lib/io/array_record/reader.ts";
import { ArrayRecordWriter } from "../../../lib/io/array_record/writer.ts";
import { withFolder } from "../files/temporary_folder.ts";
import { writeRecords } from "./write_records.ts";

const GOLDEN = new URL("../../golden/array_record/", import.meta.url);
const DATA = new URL("../../data/array_record/", import.meta.url);
// Sizes of the records in the golden files; see make.py there.
const SIZES = [0, 1, 65511, 65512, 65513, 100, 0, 0, 0, 131005, 7, 65496, 3, 300000, 0, 12];

const goldenRecord = (index: number, size: number) =>
  Uint8Array.from({ length: size }, (_, k) => 7 * index + k);
const goldenRecords = SIZES.map((size, i) => goldenRecord(i, size));

function readGolden(name: string): Uint8Array {
  return new Uint8Array(gunzipSync(Deno.readFileSync(new URL(`${name}.array_record.gz`, GOLDEN))));
}

// assertEquals() is slow for large arrays; this reports the position instead.
function assertSameBytes(actual: Uint8Array, expected: Uint8Array, what: string) {
  assertEquals(actual.length, expected.length, `length of ${what}`);
  const at = actual.findIndex((byte, i) => byte !== expected[i]);
  assertEquals(at, -1, `${what} differs first at byte ${at}`);
}

for (const compression of ["uncompressed", "zstd", "brotli", "snappy"]) {
  for (const groupSize of [1, 7]) {
    Deno.test(
      `ArrayRecordReader reads what Google's writer wrote (${compression}, group size ${groupSize})`,
      () =>
        withFolder(async (folder) => {
          const path = join(folder, "a");
          Deno.writeFileSync(path, readGolden(`${compression}-${groupSize}`));
          using reader = await ArrayRecordReader.open(path);
          assertEquals(reader.numRecords, SIZES.length);
          assertEquals(reader.numChunks, Math.ceil(SIZES.length / groupSize));
          assertEquals(reader.decodedSizeBytes, SIZES.reduce((a, b) => a + b));
          [...reader].forEach((record, i) => assertSameBytes(record, goldenRecords[i], `record ${i}`));
          for (const i of [15, 0, 7, 6, 13, 3]) {
            assertSameBytes(reader.read(i), goldenRecords[i], `record ${i}`);
          }
          assertThrows(() => reader.read(16), Error, "record 16 of 16");
          assertThrows(() => reader.read(-1), Error, "Internal error");
        }),
    );
  }
}

for (
  const [name, records, groupSize] of [
    ["uncompressed-1", goldenRecords, 1],
    ["uncompressed-7", goldenRecords, 7],
    ["empty", [], 1],
    ["two_thousand", Array.from({ length: 2000 }, (_, i) => goldenRecord(i, i % 5)), 1],
  ] as const
) {
  Deno.test(
    `ArrayRecordWriter writes the bytes that Google's writer wrote (${name})`,
    () =>
      withFolder(async (folder) => {
        const path = join(folder, "a");
        const { numRecords, numBytes } = await writeRecords(path, [...records], {
          compression: "none",
          groupSize,
        });
        const ours = Deno.readFileSync(path);
        assertEquals({ numRecords, numBytes }, { numRecords: records.length, numBytes: ours.length });
        assertSameBytes(ours, readGolden(name), name);
      }),
  );
}

Deno.test(
  "ArrayRecordReader reads the reference files of Google's writer with every checksum verified",
  () =>
    withFolder(async (folder) => {
      let expected = 0;
      for (const part of [0, 1]) {
        const name = `digits.array_record-0000${part}-of-00002`;
        const path = `${folder}/${name}`;
        Deno.writeFileSync(path, new Uint8Array(gunzipSync(Deno.readFileSync(new URL(`${name}.gz`, DATA)))));
        using reader = await ArrayRecordReader.open(path);
        assertEquals(reader.numRecords, 5);
        for (const record of reader) assertEquals(new TextDecoder().decode(record), String(expected++));
      }
      assertEquals(expected, 10);
    }),
);

for (const compression of ["none", "zstd", "brotli"] as const) {
  for (const groupSize of [1, 7]) {
    Deno.test(
      `ArrayRecordReader reads back what ArrayRecordWriter wrote (${compression}, group size ${groupSize})`,
      () =>
        withFolder(async (folder) => {
          const noise = new Uint8Array(8_000_000);
          for (let i = 0; i < noise.length; i += 65536) crypto.getRandomValues(noise.subarray(i, i + 40_000));
          const sets = [
            [],
            [new Uint8Array(0)],
            [0, 1, 65511, 65512, 65513, 8_000_000, 0, 0, 5].map((size) => noise.subarray(0, size)),
            Array.from({ length: 10_000 }, (_, i) => noise.subarray(i, i + i % 40)),
          ];
          for (const records of sets) {
            const path = join(folder, "a");
            await writeRecords(path, records, { compression, groupSize });
            using reader = await ArrayRecordReader.open(path);
            assertEquals(reader.numRecords, records.length);
            let index = 0;
            for (const record of reader) assertSameBytes(record, records[index], `record ${index++}`);
            assertEquals(index, records.length);
          }
        }),
    );
  }
}

Deno.test(
  "ArrayRecordWriter pads to the end of the block, wherever the index ends",
  () =>
    withFolder(async (folder) => {
      const path = join(folder, "a");
      const overheads = new Set<number>();
      // The index ends at, before and after the block's end, and where no padding chunk's header fits.
      for (let size = 65_230; size < 65_290; size++) {
        const record = goldenRecord(1, size);
        const { numBytes } = await writeRecords(path, [record], { compression: "none" });
        using reader = await ArrayRecordReader.open(path);
        assertSameBytes(reader.read(0), record, `record of ${size} bytes`);
        assertEquals(numBytes % 65536, 0);
        overheads.add(numBytes / 65536);
      }
      assertEquals(overheads, new Set([2, 3]));
    }),
);

Deno.test(
  "ArrayRecordWriter leaves no file behind when aborted, and does not retain the caller's array",
  () =>
    withFolder(async (folder) => {
      const path = join(folder, "a");
      {
        using writer = await ArrayRecordWriter.create(path);
        writer.write(new Uint8Array(3));
      }
      assertEquals([...Deno.readDirSync(folder)], []);
      const buffer = new Uint8Array(1);
      const writer = await ArrayRecordWriter.create(path, { groupSize: 3 });
      for (let i = 0; i < 5; i++) {
        buffer[0] = i;
        writer.write(buffer);
      }
      assertEquals(writer.numRecords, 5);
      writer.close();
      using reader = await ArrayRecordReader.open(path);
      assertEquals([...reader].map((record) => record[0]), [0, 1, 2, 3, 4]);
    }),
);

Deno.test(
  "ArrayRecordReader and ArrayRecordWriter report an unusable path",
  () =>
    withFolder(async (folder) => {
      await assertRejects(() => ArrayRecordReader.open(join(folder, "none")), UserError, "no such file");
      await assertRejects(() => ArrayRecordReader.open(folder), UserError, "directory");
      Deno.writeTextFileSync(join(folder, "file"), "");
      await assertRejects(
        () => ArrayRecordWriter.create(join(folder, "file", "a")),
        UserError,
        "Cannot write",
      );
    }),
);

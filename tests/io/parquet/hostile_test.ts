/** Parquet files whose sizes and numbers are meant to do harm. */
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import type { CompressionCodec, Encoding, SchemaElement } from "hyparquet";
import { ByteWriter, parquetWriteBuffer } from "hyparquet-writer";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import { zstdCompressSync } from "node:zlib";
import { FormatError } from "../../../lib/base/errors.ts";
import { NumberCursor, TextCursor } from "../../../lib/io/parquet/column.ts";
import { END_RTT_MS } from "../../../lib/data/tokens/rtt_code.ts";
import { readAll } from "../../data/measurement_files/batches.ts";
import { withFolder } from "../files/temporary_folder.ts";

const TIME_S = 1_750_000_000n;
const text: Partial<SchemaElement> = { type: "BYTE_ARRAY", converted_type: "UTF8" };

/** Rows with two addresses and additional columns, each of a different type. */
function writeRows(
  path: string,
  columns: Record<string, { data: (number | bigint | null)[]; schema: Partial<SchemaElement> }>,
  options: { rowGroupSize?: number; codec?: CompressionCodec } = {},
): void {
  const n = Object.values(columns)[0].data.length;
  const all: Record<string, { data: (number | bigint | string | null)[]; schema: Partial<SchemaElement> }> = {
    event_time: { data: Array.from({ length: n }, (_, i) => TIME_S + BigInt(i)), schema: { type: "INT64" } },
    src_addr: { data: new Array(n).fill("192.0.2.1"), schema: text },
    dst_addr: { data: new Array(n).fill("192.0.2.2"), schema: text },
    rtt: { data: new Array(n).fill(1.5), schema: { type: "DOUBLE" } },
    ...columns,
  };
  const names = Object.keys(all);
  const schema = [
    { name: "root", num_children: names.length },
    ...names.map((name) => ({ name, repetition_type: "OPTIONAL", ...all[name].schema })),
  ] as SchemaElement[];
  const columnData = names.map((name) => ({ name, data: all[name].data }));
  Deno.writeFileSync(path, new Uint8Array(parquetWriteBuffer({ columnData, schema, ...options })));
}

Deno.test("readMeasurements() rejects RTTs beyond the last code", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    const data = [END_RTT_MS - 1, END_RTT_MS, 5e9, 1e39, 1e300];
    writeRows(path, { rtt: { data, schema: { type: "DOUBLE" } } });
    const { batches, rejects } = await readAll([path]);
    assertEquals([...batches[0].rttMs], [END_RTT_MS - 1]);
    assertEquals(rejects.counts, { invalidRtt: 4 });
    assertEquals(rejects.snapshot().rows[2].detail, "rtt 1e+39");
  }));

const integer = (bitWidth: number, isSigned: boolean): Partial<SchemaElement> => ({
  type: bitWidth === 64 ? "INT64" : "INT32",
  logical_type: { type: "INTEGER", bitWidth, isSigned },
});
const INTEGERS: [string, Partial<SchemaElement>, number | bigint, number][] = [
  ["uint32", integer(32, false), 2 ** 32 - 1, 2 ** 32 - 1],
  ["UINT_32", { type: "INT32", converted_type: "UINT_32" }, 2 ** 31, 2 ** 31],
  ["int32", integer(32, true), -1, -1],
  ["INT_32", { type: "INT32", converted_type: "INT_32" }, -1, -1],
  ["INT32", { type: "INT32" }, -1, -1],
  ["int64", integer(64, true), -1n, -1],
  ["uint64", integer(64, false), 2n ** 53n - 1n, 2 ** 53 - 1],
  ["UINT_64", { type: "INT64", converted_type: "UINT_64" }, 2n ** 40n, 2 ** 40],
];
Deno.test("readMeasurements() reads integers as signed or unsigned, as declared", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    for (const [name, schema, stored, value] of INTEGERS) {
      writeRows(path, { prb_id: { data: [stored, stored, null], schema } });
      const { batches } = await readAll([path]);
      assertEquals([...batches[0].prbId ?? []], [value, value, NaN], name);
    }
  }));

Deno.test("readMeasurements() does not read an unsigned RTT of all ones as a lost packet", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    writeRows(path, { rtt: { data: [2 ** 32 - 1, 7], schema: integer(32, false) } });
    assertEquals([...(await readAll([path])).batches[0].rttMs], [2 ** 32 - 1, 7]);
    writeRows(path, { rtt: { data: [2n ** 64n - 1n, 7n], schema: integer(64, false) } });
    const { batches, rejects } = await readAll([path]);
    assertEquals([...batches[0].rttMs], [7]);
    assertEquals(rejects.counts, { invalidRtt: 1 });
  }));

Deno.test("readMeasurements() rejects ids that a double cannot hold, and fractions", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    const ids = [1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 53n - 1n, -(2n ** 63n)];
    for (const [name, key] of [["msm_id", "msmId"], ["prb_id", "prbId"]] as const) {
      writeRows(path, { [name]: { data: ids, schema: { type: "INT64" } } });
      const { batches, rejects } = await readAll([path]);
      assertEquals([...batches[0][key] ?? []], [1, 2 ** 53 - 1]);
      assertEquals(rejects.counts, { invalidInteger: 3 });
      assertEquals(rejects.snapshot().rows[0].detail, `${name} 9007199254740992`);
    }
    writeRows(path, { prb_id: { data: [1.5, 2, 1e300, NaN], schema: { type: "DOUBLE" } } });
    const { batches, rejects } = await readAll([path]);
    assertEquals([...batches[0].prbId ?? []], [2, NaN]);
    assertEquals(rejects.counts, { invalidInteger: 2 });
  }));

Deno.test("readMeasurements() reads any number of row groups with one WebAssembly instance", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    const data = Array.from({ length: 300 }, (_, i) => i + 1);
    writeRows(path, { rtt: { data, schema: { type: "DOUBLE" } } }, { rowGroupSize: 1, codec: "SNAPPY" });
    const { Instance } = WebAssembly;
    let numInstances = 0;
    WebAssembly.Instance = class extends Instance {
      constructor(...args: ConstructorParameters<typeof Instance>) {
        super(...args);
        numInstances++;
      }
    };
    try {
      const { batches } = await readAll([path]);
      assertEquals(batches.map(({ rttMs }) => rttMs[0]), data);
    } finally {
      WebAssembly.Instance = Instance;
    }
    assert(numInstances <= 1, `${numInstances} instances`);
  }));

Deno.test("readMeasurements() lists the columns of a wide file briefly", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    const wide = Array.from({ length: 3000 }, (_, i) => ({ name: `column_${i}`, data: [1] }));
    Deno.writeFileSync(path, new Uint8Array(parquetWriteBuffer({ columnData: wide })));
    const error = await assertRejects(() => readAll([path]), FormatError, "column event_time is missing");
    assert(error.message.length < 400, error.message);
  }));

/** An unsigned LEB128 number. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push(value % 128 + 128);
  return [...bytes, value];
}

interface PageSizes {
  isDictionary?: boolean;
  uncompressedBytes: number;
  compressedBytes: number;
  numValues: number;
  encoding: Encoding;
}

function pageHeader(
  { isDictionary, uncompressedBytes, compressedBytes, numValues, encoding }: PageSizes,
): Uint8Array {
  const writer = new ByteWriter();
  const values = { num_values: numValues, encoding };
  const levels = { definition_level_encoding: "RLE", repetition_level_encoding: "RLE" } as const;
  writePageHeader(writer, {
    type: isDictionary ? "DICTIONARY_PAGE" : "DATA_PAGE",
    uncompressed_page_size: uncompressedBytes,
    compressed_page_size: compressedBytes,
    ...(isDictionary ? { dictionary_page_header: values } : { data_page_header: { ...values, ...levels } }),
  });
  return writer.getBytes();
}

/** A column chunk of one page that states how many rows the row group has. */
function chunkOf(sizes: PageSizes, page: Uint8Array, numRows: number, element: Partial<SchemaElement>) {
  const bytes = Uint8Array.from([...pageHeader(sizes), ...page]);
  const source = {
    path: "bomb.parquet",
    read: (at: number, length: number) => bytes.subarray(at, at + length),
  };
  const codec: CompressionCodec = sizes.compressedBytes === sizes.uncompressedBytes ? "UNCOMPRESSED" : "ZSTD";
  const full: SchemaElement = { name: "x", repetition_type: "REQUIRED", ...element };
  return {
    source,
    chunk: { name: "x", element: full, startBytes: 0, endBytes: bytes.length, codec, numRows },
  };
}

Deno.test("a page that claims to be larger than any writer's is rejected before anything is allocated", () => {
  const zeros = new Uint8Array(zstdCompressSync(new Uint8Array(80_000_000)));
  assert(zeros.length < 50_000);
  const run = Uint8Array.of(1, ...varint(2 * 2 ** 28), 0); // bit width 1; the same value 2^28 times
  const plain = { encoding: "PLAIN" } as const;
  const cases: [PageSizes, Uint8Array][] = [
    [{ ...plain, uncompressedBytes: 8e7, compressedBytes: zeros.length, numValues: 1e7 }, zeros],
    [{ ...plain, uncompressedBytes: 2 ** 30, compressedBytes: 0, numValues: 1 }, new Uint8Array(0)],
    [{ ...plain, uncompressedBytes: run.length, compressedBytes: run.length, numValues: 2 ** 28 }, run],
    [
      { ...plain, isDictionary: true, uncompressedBytes: 8e7, compressedBytes: zeros.length, numValues: 1e7 },
      zeros,
    ],
  ];
  for (const [sizes, page] of cases) {
    const { source, chunk } = chunkOf(sizes, page, 2 ** 30, { type: "DOUBLE" });
    const cursor = new NumberCursor(source, chunk, "number");
    const error = assertThrows(() => cursor.read(10), FormatError);
    const most = sizes.isDictionary ? 2 ** 20 : 2 ** 23;
    assertEquals(
      error.message,
      `Cannot read bomb.parquet at byte 0: column x is damaged (a page of ${sizes.uncompressedBytes} bytes and ` +
        `${sizes.numValues} values, expected at most 67108864 and ${most}); fetch or make the file again`,
    );
  }
});

Deno.test("Snappy data that state another length than the page's header are rejected", () => {
  const page = Uint8Array.of(...varint(1 << 20), 0, 0);
  const sizes = {
    uncompressedBytes: 16,
    compressedBytes: page.length,
    numValues: 2,
    encoding: "PLAIN",
  } as const;
  const { source, chunk } = chunkOf(sizes, page, 2, { type: "DOUBLE" });
  const cursor = new NumberCursor(source, { ...chunk, codec: "SNAPPY" }, "number");
  assertThrows(() => cursor.read(2), FormatError, "a page of 1048576 bytes, expected 16");
});

/** DELTA_BINARY_PACKED: `first` and `numValues - 1` increments of `delta`. */
function deltas(numValues: number, first: number, delta: number): number[] {
  const numBlocks = Math.ceil((numValues - 1) / 128);
  const block = [...varint(2 * delta), 0, 0, 0, 0];
  return [
    ...varint(128),
    4,
    ...varint(numValues),
    ...varint(2 * first),
    ...new Array(numBlocks).fill(block).flat(),
  ];
}

Deno.test("TextCursor reads no more of a text than an address can have, however few bytes encode it", () => {
  // Prefixes 0, 1, 2, ... and suffixes of one byte each: the texts have n^2 / 2 bytes in total.
  const n = 60_000;
  const page = Uint8Array.from([...deltas(n, 0, 1), ...deltas(n, 1, 0), ...new Array(n).fill(0x61)]);
  const sizes = { uncompressedBytes: page.length, compressedBytes: page.length, numValues: n };
  const { source, chunk } = chunkOf({ ...sizes, encoding: "DELTA_BYTE_ARRAY" }, page, n, {
    type: "BYTE_ARRAY",
  });
  const { values } = new TextCursor(source, chunk).read(n);
  assertEquals(values.slice(0, 3), ["a", "aa", "aaa"]);
  assertEquals(new Set(values.slice(64)).size, 1);
  assertEquals(values.at(-1)?.length, 64);
});

Deno.test("ParquetFile.open() checks the sizes in a footer before using them", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    const write = (footer: number[], sizeBytes = footer.length) => {
      const magic = [0x50, 0x41, 0x52, 0x31];
      const end = [0, 8, 16, 24].map((shift) => sizeBytes >>> shift & 255);
      Deno.writeFileSync(path, Uint8Array.from([...magic, ...footer, ...end, ...magic]));
    };
    const list = [0xf9, ...varint(2 ** 25)]; // a list of 2^25 lists
    const cases: [number[], string][] = [
      [[0x19, ...new Array(12).fill(list).flat()], "a list longer than the bytes"],
      [[0x19, ...new Array(40).fill(0x19), 0, 0], "nested too deeply"],
      [[0x1c, ...new Array(40).fill(0x1c), 0], "nested too deeply"],
    ];
    for (const [footer, found] of cases) {
      write(footer);
      const error = await assertRejects(() => readAll([path]), FormatError, found);
      assertStringIncludes(error.message, `Cannot read ${path}: its footer is damaged (`);
    }
    write([0], 2 ** 31);
    await assertRejects(() => readAll([path]), FormatError, "it states a size of 2147483648 bytes");
    const numValues = 9_000_000;
    write([0x19, 0xf3, ...varint(numValues), ...new Uint8Array(numValues), 0]);
    await assertRejects(
      () => readAll([path]),
      FormatError,
      `its footer has ${numValues + 1} values, expected at most`,
    );
  }));

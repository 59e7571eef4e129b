import fc from "fast-check";
import { assert, assertEquals, assertThrows } from "@std/assert";
import type { Encoding, SchemaElement } from "hyparquet";
import { parquetWriteBuffer } from "hyparquet-writer";
import { NumberCursor, TextCursor } from "../../../lib/io/parquet/column.ts";
import { EncodingError } from "../../../lib/io/parquet/byte_cursor.ts";
import { decodeNumbers, ENCODING } from "../../../lib/io/parquet/encodings.ts";
import { decodeHybrid, encodeHybrid } from "../../../lib/io/parquet/hybrid.ts";
import { ParquetFile } from "../../../lib/io/parquet/file.ts";
import { withFolder } from "../files/temporary_folder.ts";

/** Writes a column with the encoder of another library and reads it in pieces. */
async function roundTrip<T extends string | number | bigint>(
  folder: string,
  data: (T | null)[],
  { element, encoding, pieceRows }: {
    element: Partial<SchemaElement>;
    encoding: Encoding;
    pieceRows: number;
  },
): Promise<unknown[]> {
  const path = `${folder}/column.parquet`;
  const schema: SchemaElement[] = [
    { name: "root", num_children: 1 },
    { name: "x", repetition_type: data.includes(null) ? "OPTIONAL" : "REQUIRED", ...element },
  ];
  const columnData = [{ name: "x", data, encoding }];
  Deno.writeFileSync(
    path,
    new Uint8Array(parquetWriteBuffer({ columnData, schema, pageSize: 300, rowGroupSize: 150 })),
  );
  using file = await ParquetFile.open(path);
  const read: unknown[] = [];
  for (const group of file.rowGroups) {
    const chunk = file.chunk("x", group);
    const cursor = element.type === "BYTE_ARRAY"
      ? new TextCursor(file.source, chunk)
      : new NumberCursor(file.source, chunk, "number");
    for (let from = 0; from < group.numRows; from += pieceRows) {
      const { values, isNull } = cursor.read(Math.min(pieceRows, group.numRows - from));
      for (let i = 0; i < values.length; i++) read.push(isNull?.[i] ? null : values[i]);
    }
  }
  return read;
}

const text = fc.stringMatching(/^[0-9a-f.:]{0,20}$/);
const int64 = fc.bigInt({ min: -(2n ** 53n) + 1n, max: 2n ** 53n - 1n });
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const double = fc.double({ noNaN: true });

const cases: [string, fc.Arbitrary<string | number | bigint>, Partial<SchemaElement>, Encoding[]][] = [
  ["texts", text, { type: "BYTE_ARRAY", converted_type: "UTF8" }, [
    "PLAIN",
    "RLE_DICTIONARY",
    "DELTA_LENGTH_BYTE_ARRAY",
    "DELTA_BYTE_ARRAY",
  ]],
  ["int64", int64, { type: "INT64" }, [
    "PLAIN",
    "RLE_DICTIONARY",
    "DELTA_BINARY_PACKED",
    "BYTE_STREAM_SPLIT",
  ]],
  ["int32", int32, { type: "INT32" }, [
    "PLAIN",
    "RLE_DICTIONARY",
    "DELTA_BINARY_PACKED",
    "BYTE_STREAM_SPLIT",
  ]],
  ["doubles", double, { type: "DOUBLE" }, ["PLAIN", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"]],
];

for (const [name, arbitrary, element, encodings] of cases) {
  for (const encoding of encodings) {
    Deno.test(`NumberCursor and TextCursor read ${name} in ${encoding}, with and without nulls`, () =>
      withFolder((folder) =>
        fc.assert(
          fc.asyncProperty(
            fc.array(arbitrary, { minLength: 1, maxLength: 400 }),
            fc.nat(20),
            fc.integer({ min: 1, max: 90 }),
            async (data, nullEvery, pieceRows) => {
              const withNulls = data.map((value, i) => nullEvery > 1 && i % nullEvery === 1 ? null : value);
              const read = await roundTrip(folder, withNulls, { element, encoding, pieceRows });
              assertEquals(read, withNulls.map((value) => typeof value === "bigint" ? Number(value) : value));
            },
          ),
          { numRuns: 20 },
        )
      ));
  }
}

Deno.test("decodeHybrid() decodes the specification's bit-packed example", () => {
  const out = new Int32Array(8); // the numbers 0 to 7, 3 bits each: parquet-format, Encodings.md
  decodeHybrid(Uint8Array.of(3, 0b10001000, 0b11000110, 0b11111010), 3, out);
  assertEquals(Array.from(out), [0, 1, 2, 3, 4, 5, 6, 7]);
});

Deno.test("decodeHybrid() unpacks values of every bit width", () => {
  for (let bitWidth = 1; bitWidth <= 32; bitWidth++) {
    const values = Array.from({ length: 24 }, (_, i) => Math.imul(i + 1, 0x9e3779b9) >>> (32 - bitWidth));
    let bits = 0n;
    values.forEach((value, i) => bits |= BigInt(value) << BigInt(i * bitWidth));
    const packed = Uint8Array.from({ length: 3 * bitWidth }, (_, i) => Number(bits >> BigInt(8 * i) & 255n));
    const out = new Int32Array(24);
    decodeHybrid(Uint8Array.of(3 << 1 | 1, ...packed), bitWidth, out);
    assertEquals(Array.from(out, (value) => value >>> 0), values, `${bitWidth} bits`);
  }
});

Deno.test("decodeHybrid() writes no more than requested, whatever the run length", () => {
  const out = new Int32Array(5);
  decodeHybrid(Uint8Array.of(0xfe, 0xff, 0xff, 0xff, 0x7f, 9), 4, out);
  assertEquals(Array.from(out), [9, 9, 9, 9, 9]);
});

Deno.test("decodeHybrid() and decodeNumbers() throw an EncodingError for any invalid bytes", () => {
  const element = { name: "x", type: "INT64" } as const;
  const deltas = { element, encoding: ENCODING.deltaBinaryPacked, kind: "number" } as const;
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(40), fc.nat(1000), (bytes, bitWidth, numValues) => {
      for (
        const decode of [
          () => decodeHybrid(bytes, bitWidth, new Int32Array(numValues)),
          () => decodeNumbers(bytes, numValues, deltas),
        ]
      ) {
        try {
          decode();
        } catch (error) {
          assert(error instanceof EncodingError, String(error));
        }
      }
    }),
  );
  assertThrows(() => decodeHybrid(new Uint8Array(0), 1, new Int32Array(1)), EncodingError, "end too early");
});

Deno.test("encodeHybrid() round-trips through decodeHybrid(), for runs and for noise", () => {
  const runs = fc.integer({ min: 1, max: 24 }).chain((bitWidth) =>
    fc.record({
      bitWidth: fc.constant(bitWidth),
      runs: fc.array(
        fc.tuple(fc.nat(2 ** bitWidth - 1), fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 40 }))),
        { maxLength: 60 },
      ),
    })
  );
  fc.assert(
    fc.property(runs, ({ bitWidth, runs }) => {
      const values = Int32Array.from(runs.flatMap(([value, length]) => Array<number>(length).fill(value)));
      const decoded = new Int32Array(values.length);
      decodeHybrid(encodeHybrid(values, bitWidth), bitWidth, decoded);
      assertEquals(decoded, values);
    }),
    { numRuns: 300 },
  );
});

Deno.test("encodeHybrid() packs like the format's example, and stores a run of one value once", () => {
  // Encodings.md: the numbers 0 to 7 with bit width 3 are packed as 88 c6 fa; the header says one group.
  const packed = encodeHybrid(Int32Array.of(0, 1, 2, 3, 4, 5, 6, 7), 3);
  assertEquals([...packed], [0b11, 0x88, 0xc6, 0xfa]);
  const run = encodeHybrid(new Int32Array(1000).fill(0x123), 10, [7]);
  assertEquals([...run], [7, 0xd0, 0x0f, 0x23, 0x01]); // 1000 << 1, then two bytes of value
});

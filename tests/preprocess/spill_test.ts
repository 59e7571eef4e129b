import { assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import fc from "fast-check";
import { UserError } from "../../lib/errors.ts";
import { KeyTable } from "../../lib/preprocess/key_table.ts";
import { bucketRows, SpillReader, SpillWriter } from "../../lib/preprocess/spill.ts";
import { columnBytes, makeColumn, rowBytes, type SpillColumn } from "../../lib/preprocess/spill_block.ts";

const SCHEMA: readonly SpillColumn[] = [
  { name: "a", type: "f64", width: 1 },
  { name: "b", type: "f32", width: 1 },
  { name: "c", type: "u32", width: 4 },
  { name: "d", type: "u8", width: 1 },
];

const KEY_SCHEMA: readonly SpillColumn[] = [
  { name: "src", type: "address", width: 1 },
  { name: "time", type: "f64", width: 1 },
  { name: "dst", type: "address", width: 1 },
  { name: "probe", type: "group", width: 1 },
];

/** All rows of a partition. */
function readAll(
  reader: SpillReader,
  partition: number,
  { keys = new KeyTable(), schema = SCHEMA }: { keys?: KeyTable; schema?: readonly SpillColumn[] } = {},
) {
  const blocks = reader.blocks(partition);
  const numRows = blocks.reduce((sum, block) => sum + block.numRows, 0);
  const into = schema.map((column) => makeColumn(column, numRows));
  let at = 0;
  for (const block of blocks) {
    block.read({ into, at, keys });
    at += block.numRows;
  }
  return into;
}

/** Rows whose values tell their number. */
function numbered(first: number, numRows: number) {
  const columns = SCHEMA.map((column) => makeColumn(column, numRows));
  for (let row = 0; row < numRows; row++) {
    SCHEMA.forEach(({ width }, c) => {
      for (let i = 0; i < width; i++) columns[c][row * width + i] = first + row + i;
    });
  }
  return { numRows, columns };
}

Deno.test("SpillReader gives back each partition's rows in the order in which SpillWriter took them", () => {
  const folder = Deno.makeTempDirSync();
  const path = join(folder, "rows.bin");
  const batches = fc.array(fc.array(fc.nat(5), { maxLength: 300, size: "max" }), { maxLength: 6 });
  fc.assert(
    fc.property(batches, fc.integer({ min: 0, max: 100_000 }), (partitions, bufferBytes) => {
      const writer = SpillWriter.create(path, SCHEMA, { numPartitions: 5, bufferBytes });
      const wanted: number[][] = [[], [], [], [], []];
      let first = 0;
      for (const partitionOf of partitions) {
        writer.append(numbered(first, partitionOf.length), Uint32Array.from(partitionOf));
        // Partition 5 is one too many: its rows are left out.
        partitionOf.forEach((partition, row) => wanted[partition]?.push(first + row));
        first += partitionOf.length;
      }
      const index = JSON.parse(JSON.stringify(writer.finish()));
      using reader = SpillReader.open(path, SCHEMA, index);
      wanted.forEach((rows, partition) => {
        const all = readAll(reader, partition);
        assertEquals(Array.from(all[0]), rows);
        assertEquals(Array.from(all[1]), rows);
        assertEquals(Array.from(all[2]), rows.flatMap((row) => [row, row + 1, row + 2, row + 3]));
        assertEquals(Array.from(all[3]), rows.map((row) => row % 256));
      });
    }),
    { numRuns: 60 },
  );
  Deno.removeSync(folder, { recursive: true });
});

Deno.test("SpillWriter.abort() leaves no file and SpillReader.open() refuses another size", () => {
  const folder = Deno.makeTempDirSync();
  const path = join(folder, "rows.bin");
  {
    using writer = SpillWriter.create(path, SCHEMA, { numPartitions: 2, bufferBytes: 0 });
    writer.append(numbered(0, 100), new Uint32Array(100));
  }
  assertEquals([...Deno.readDirSync(folder)], []);
  const writer = SpillWriter.create(path, SCHEMA, { numPartitions: 2, bufferBytes: 0 });
  writer.append(numbered(0, 100), new Uint32Array(100));
  const index = writer.finish();
  Deno.truncateSync(path, index.sizeBytes - 1);
  assertThrows(() => SpillReader.open(path, SCHEMA, index), UserError, "run with --overwrite");
  Deno.removeSync(path);
  assertThrows(() => SpillReader.open(path, SCHEMA, index), UserError, "no such file");
  Deno.removeSync(folder, { recursive: true });
});

Deno.test("SpillReader gives back keys, whatever ids they had, after the ids changed their meaning", () => {
  const folder = Deno.makeTempDirSync();
  const path = join(folder, "rows.bin");
  const row = fc.record({
    src: fc.nat(40),
    dst: fc.nat(2 ** 32 - 1),
    probe: fc.nat(3),
    partition: fc.nat(1),
  });
  const batches = fc.array(fc.array(row, { maxLength: 200, size: "max" }), { maxLength: 5 });
  fc.assert(
    fc.property(batches, fc.integer({ min: 0, max: 20_000 }), (read, bufferBytes) => {
      const writer = SpillWriter.create(path, KEY_SCHEMA, { numPartitions: 2, bufferBytes });
      const wanted: [number[], number[]] = [[], []];
      for (const [i, rows] of read.entries()) {
        const address = new KeyTable();
        const group = new KeyTable();
        address.generation = group.generation = i >> 1;
        const idOf = (table: KeyTable, value: number, kind: number) =>
          table.idOf(Uint32Array.of(value, 0, 7, value), 0, kind);
        const columns = KEY_SCHEMA.map((column) => makeColumn(column, rows.length));
        // In pairs of batches ids mean the same.
        for (const { src, dst } of [...read[i - i % 2], ...rows]) {
          idOf(address, src, 4);
          idOf(address, dst, 6);
        }
        rows.forEach(({ src, dst, probe, partition }, at) => {
          columns[0][at] = idOf(address, src, 4);
          columns[1][at] = dst;
          columns[2][at] = idOf(address, dst, 6);
          columns[3][at] = probe;
          wanted[partition].push(src, 4, dst, 6, probe, 0);
        });
        for (let probe = 0; probe < 4; probe++) idOf(group, probe, 0);
        const keys = { address, group };
        writer.append(
          { numRows: rows.length, columns, keys },
          Uint32Array.from(rows, ({ partition }) => partition),
        );
      }
      using reader = SpillReader.open(path, KEY_SCHEMA, writer.finish());
      const keys = new KeyTable();
      wanted.forEach((values, partition) => {
        const [src, time, dst, probe] = readAll(reader, partition, { keys, schema: KEY_SCHEMA });
        const found: number[] = [];
        for (let at = 0; at < src.length; at++) {
          for (const id of [src[at], dst[at], probe[at]]) found.push(keys.words[4 * id + 3], keys.kinds[id]);
          assertEquals(keys.words[4 * dst[at]], time[at]);
        }
        assertEquals(found, values);
      });
    }),
    { numRuns: 60 },
  );
  Deno.removeSync(folder, { recursive: true });
});

Deno.test("rowBytes() adds the widths and room for keys", () => {
  assertEquals(columnBytes(SCHEMA), 8 + 4 + 16 + 1);
  assertEquals(rowBytes(SCHEMA), 8 + 4 + 16 + 1);
  assertEquals(columnBytes(KEY_SCHEMA), 8 + 3 * 4);
  assertEquals(rowBytes(KEY_SCHEMA), 8 + 3 * (4 + 17));
});

Deno.test("bucketRows() lists the rows of each bucket in order", () => {
  const { starts, order } = bucketRows(Uint32Array.of(2, 0, 2, 0, 1), 5, 4);
  assertEquals(Array.from(order), [1, 3, 4, 0, 2]);
  assertEquals(Array.from(starts), [0, 2, 3, 5, 5]);
});

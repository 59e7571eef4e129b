import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { TemporaryFolder } from "../../../io/files/temporary_folder.ts";
import { UserError } from "../../../../lib/base/errors.ts";
import { KeyTable } from "../../../../lib/data/probe_rows/external_sort/keys.ts";
import {
  makeColumn,
  type SpillColumn,
  SpillReader,
  SpillWriter,
} from "../../../../lib/data/probe_rows/external_sort/spill.ts";

const SCHEMA: readonly SpillColumn[] = [
  { name: "a", type: "f64" },
  { name: "b", type: "f32" },
];

const KEY_SCHEMA: readonly SpillColumn[] = [
  { name: "src", type: "key" },
  { name: "time", type: "f64" },
  { name: "dst", type: "key" },
  { name: "probe", type: "key" },
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
  for (const column of columns) for (let row = 0; row < numRows; row++) column[row] = first + row;
  return { numRows, columns, keys: new KeyTable() };
}

Deno.test("SpillReader gives back each partition's rows in the order in which SpillWriter took them", () => {
  using folder = new TemporaryFolder();
  const path = folder.at("rows.bin");
  const batches = fc.array(fc.array(fc.nat(5), { maxLength: 300, size: "max" }), { maxLength: 6 });
  fc.assert(
    fc.property(batches, fc.integer({ min: 0, max: 100_000 }), (partitions, bufferBytes) => {
      const writer = new SpillWriter(path, SCHEMA, { numPartitions: 5, bufferBytes });
      const wanted: number[][] = [[], [], [], [], []];
      let first = 0;
      for (const partitionOf of partitions) {
        writer.append(numbered(first, partitionOf.length), Uint32Array.from(partitionOf));
        // Partition 5 is one too many: its rows are left out.
        partitionOf.forEach((partition, row) => wanted[partition]?.push(first + row));
        first += partitionOf.length;
      }
      const index = JSON.parse(JSON.stringify(writer.finish()));
      using reader = new SpillReader([{ path, index }], SCHEMA);
      wanted.forEach((rows, partition) => {
        const all = readAll(reader, partition);
        assertEquals(Array.from(all[0]), rows);
        assertEquals(Array.from(all[1]), rows);
      });
    }),
    { numRuns: 60 },
  );
});

Deno.test("SpillReader reads files that were written side by side as one, file after file", () => {
  using folder = new TemporaryFolder();
  const parts = [0, 1].map((file) => {
    const path = folder.at(`rows-${file}.bin`);
    const writer = new SpillWriter(path, SCHEMA, { numPartitions: 2, bufferBytes: 0 });
    writer.append(numbered(1000 * file, 200), Uint32Array.from({ length: 200 }, (_, row) => row % 2));
    return { path, index: writer.finish() };
  });
  using reader = new SpillReader(parts, SCHEMA);
  assertEquals(reader.numRows, [200, 200]);
  const odd = Array.from({ length: 100 }, (_, i) => 2 * i + 1);
  assertEquals(Array.from(readAll(reader, 1)[0]), [...odd, ...odd.map((row) => 1000 + row)]);
});

Deno.test("A SpillWriter that is not finished leaves no file and SpillReader refuses another size", () => {
  using folder = new TemporaryFolder();
  const path = folder.at("rows.bin");
  {
    using writer = new SpillWriter(path, SCHEMA, { numPartitions: 2, bufferBytes: 0 });
    writer.append(numbered(0, 100), new Uint32Array(100));
  }
  assertEquals([...Deno.readDirSync(folder.path)], []);
  const writer = new SpillWriter(path, SCHEMA, { numPartitions: 2, bufferBytes: 0 });
  writer.append(numbered(0, 100), new Uint32Array(100));
  const index = writer.finish();
  Deno.truncateSync(path, index.sizeBytes - 1);
  assertThrows(() => new SpillReader([{ path, index }], SCHEMA), UserError, "run with --overwrite");
  Deno.removeSync(path);
  assertThrows(() => new SpillReader([{ path, index }], SCHEMA), UserError, "no such file");
});

Deno.test("SpillReader gives back keys, whatever ids they had, after the ids changed their meaning", () => {
  using folder = new TemporaryFolder();
  const path = folder.at("rows.bin");
  const row = fc.record({
    src: fc.nat(40),
    dst: fc.nat(2 ** 32 - 1),
    probe: fc.nat(3),
    partition: fc.nat(1),
  });
  const batches = fc.array(fc.array(row, { maxLength: 200, size: "max" }), { maxLength: 5 });
  fc.assert(
    fc.property(batches, fc.integer({ min: 0, max: 20_000 }), (read, bufferBytes) => {
      const writer = new SpillWriter(path, KEY_SCHEMA, { numPartitions: 2, bufferBytes });
      const wanted: [number[], number[]] = [[], []];
      for (const [i, rows] of read.entries()) {
        const keys = new KeyTable();
        keys.generation = i >> 1;
        const idOf = (value: number, kind: number) => keys.idOf(Uint32Array.of(value, 0, 7, value), 0, kind);
        const columns = KEY_SCHEMA.map((column) => makeColumn(column, rows.length));
        // In pairs of batches ids mean the same.
        for (const { src, dst, probe } of [...read[i - i % 2], ...rows]) {
          idOf(src, 4);
          idOf(dst, 6);
          idOf(probe, 0);
        }
        rows.forEach(({ src, dst, probe, partition }, at) => {
          columns[0][at] = idOf(src, 4);
          columns[1][at] = dst;
          columns[2][at] = idOf(dst, 6);
          columns[3][at] = idOf(probe, 0);
          wanted[partition].push(src, 4, dst, 6, probe, 0);
        });
        writer.append(
          { numRows: rows.length, columns, keys },
          Uint32Array.from(rows, ({ partition }) => partition),
        );
      }
      using reader = new SpillReader([{ path, index: writer.finish() }], KEY_SCHEMA);
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
});

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
  { name: "src", type: "key" },
  { name: "time", type: "f64" },
  { name: "dst", type: "key" },
  { name: "row", type: "f32" },
];

function readAll(reader: SpillReader, partition: number, keys = new KeyTable()) {
  const blocks = reader.blocks(partition);
  const numRows = blocks.reduce((sum, block) => sum + block.numRows, 0);
  const into = SCHEMA.map((column) => makeColumn(column, numRows));
  let at = 0;
  for (const block of blocks) {
    block.read({ into, at, keys });
    at += block.numRows;
  }
  return into;
}

/** Rows whose values identify the row. */
function numbered(first: number, numRows: number) {
  const columns = SCHEMA.map((column) => makeColumn(column, numRows));
  for (const column of [columns[1], columns[3]]) {
    for (let row = 0; row < numRows; row++) column[row] = first + row;
  }
  return { numRows, columns, keys: new KeyTable() };
}

Deno.test("SpillReader reads files written in parallel as one, file after file", () => {
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
  assertEquals(Array.from(readAll(reader, 1)[3]), [...odd, ...odd.map((row) => 1000 + row)]);
});

Deno.test("an unfinished SpillWriter leaves no file, and SpillReader rejects a file of another size", () => {
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

Deno.test("SpillReader returns each partition's rows in order and with their keys, whatever their ids", () => {
  using folder = new TemporaryFolder();
  const path = folder.at("rows.bin");
  // Partition 2 does not exist: its rows are left out.
  const row = fc.record({ src: fc.nat(40), dst: fc.nat(2 ** 32 - 1), partition: fc.nat(2) });
  const batches = fc.array(fc.array(row, { maxLength: 300, size: "max" }), { maxLength: 6 });
  fc.assert(
    fc.property(batches, fc.integer({ min: 0, max: 40_000 }), (read, bufferBytes) => {
      const writer = new SpillWriter(path, SCHEMA, { numPartitions: 2, bufferBytes });
      const wanted: number[][] = [[], []];
      let number = 0;
      for (const [i, rows] of read.entries()) {
        const keys = new KeyTable();
        keys.generation = i >> 1;
        const idOf = (value: number, kind: number) => keys.idOf(Uint32Array.of(value, 0, 7, value), 0, kind);
        const columns = SCHEMA.map((column) => makeColumn(column, rows.length));
        // In pairs of batches, equal ids mean the same key.
        for (const { src, dst } of [...read[i - i % 2], ...rows]) [idOf(src, 4), idOf(dst, 6)];
        rows.forEach(({ src, dst, partition }, at) => {
          [idOf(src, 4), dst, idOf(dst, 6), number].forEach((value, c) => columns[c][at] = value);
          wanted[partition]?.push(src, 4, dst, 6, dst, number++);
        });
        const partitionOf = Uint32Array.from(rows, ({ partition }) => partition);
        writer.append({ numRows: rows.length, columns, keys }, partitionOf);
      }
      const index = JSON.parse(JSON.stringify(writer.finish()));
      using reader = new SpillReader([{ path, index }], SCHEMA);
      const keys = new KeyTable();
      wanted.forEach((values, partition) => {
        const [src, time, dst, row] = readAll(reader, partition, keys);
        const wordOf = (id: number) => [keys.words[4 * id + 3], keys.kinds[id]];
        const found = Array.from(src, (id, at) => [...wordOf(id), ...wordOf(dst[at]), time[at], row[at]]);
        assertEquals(found.flat(), values);
      });
    }),
    { numRuns: 100 },
  );
});

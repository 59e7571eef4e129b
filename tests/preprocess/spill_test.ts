import { assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import fc from "fast-check";
import { UserError } from "../../lib/errors.ts";
import {
  bucketRows,
  makeColumn,
  rowBytes,
  type SpillColumn,
  SpillReader,
  SpillWriter,
} from "../../lib/preprocess/spill.ts";

const SCHEMA: readonly SpillColumn[] = [
  { name: "a", type: "f64", width: 1 },
  { name: "b", type: "f32", width: 1 },
  { name: "c", type: "u32", width: 4 },
  { name: "d", type: "u8", width: 1 },
];

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
        const all = SCHEMA.map((column) => makeColumn(column, rows.length));
        assertEquals(reader.readPartition(partition, all), rows.length);
        assertEquals(Array.from(all[0]), rows);
        assertEquals(Array.from(all[1]), rows);
        assertEquals(Array.from(all[2]), rows.flatMap((row) => [row, row + 1, row + 2, row + 3]));
        assertEquals(Array.from(all[3]), rows.map((row) => row % 256));
        assertEquals([...reader.blocks(partition)].flatMap(({ columns }) => Array.from(columns[0])), rows);
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

Deno.test("rowBytes() adds the widths", () => assertEquals(rowBytes(SCHEMA), 8 + 4 + 16 + 1));

Deno.test("bucketRows() lists the rows of each bucket in order", () => {
  const { starts, order } = bucketRows(Uint32Array.of(2, 0, 2, 0, 1), 5, 4);
  assertEquals(Array.from(order), [1, 3, 4, 0, 2]);
  assertEquals(Array.from(starts), [0, 2, 3, 5, 5]);
});

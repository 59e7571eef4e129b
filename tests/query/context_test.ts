import { assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { knownAt } from "../../lib/query/query_tokens.ts";
import { readContext } from "../../lib/query/files/measurement_files.ts";
import { makeBatch, writeParquet } from "../data/measurement_files/batches.ts";
import { withFolder } from "../io/files/temporary_folder.ts";

Deno.test("readContext() gives the newest measurements, oldest first, and says if the file was not so", () =>
  withFolder(async (folder) => {
    const path = join(folder, "context.parquet");
    writeParquet(path, [makeBatch(5000)]);
    const inOrder = await readContext(path);
    assertEquals([inOrder.isSorted, inOrder.measurements.length], [true, 4096]);
    writeParquet(path, [makeBatch(2500, 2500), makeBatch(2500)]);
    const sorted = await readContext(path);
    assertEquals(sorted.isSorted, false);
    assertEquals(sorted.measurements, inOrder.measurements);
    // Rows 0, 7, … have no reply; the first that is left is row 904.
    assertEquals(
      sorted.measurements.slice(0, 7).map(({ rttCode }) => rttCode === null),
      Array.from({ length: 7 }, (_, i) => (904 + i) % 7 === 0),
    );
  }));

Deno.test("readContext() leaves out what is after a time and counts it, and knownAt() does the same later", () =>
  withFolder(async (folder) => {
    const path = join(folder, "context.parquet");
    writeParquet(path, [makeBatch(5000)]);
    const { measurements: all } = await readContext(path);
    const untilS = all[100].timeS;
    const { measurements, numLater } = await readContext(path, untilS);
    assertEquals(measurements.at(-1)?.timeS, untilS);
    assertEquals(numLater + measurements.length, 5000);
    assertEquals(knownAt(all, untilS), measurements.slice(-101));
    assertEquals(knownAt(all, null), all);
    assertEquals(knownAt(all, 0), []);
  }));

Deno.test("readContext() refuses a file that is not there or is no Parquet", () =>
  withFolder(async (folder) => {
    const path = join(folder, "context.parquet");
    await assertRejects(() => readContext(path), UserError);
    Deno.writeTextFileSync(path, "not Parquet");
    await assertRejects(() => readContext(path), UserError);
  }));

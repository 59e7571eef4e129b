import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { FormatError, UserError } from "../../../lib/base/errors.ts";
import { writeJsonAtomic } from "../../../lib/io/files/atomic.ts";
import { newManifest } from "../../../lib/io/files/manifest.ts";
import { BatchLoader } from "../../../lib/data/loader/batches.ts";
import { openProbeRows } from "../../../lib/data/loader/row_source.ts";
import { syntheticRows, writeProbeRows } from "./synthetic_rows.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";

const ROWS = syntheticRows(1, 12, 20);

/** Runs a test in a folder with the rows in two train shards and an empty shard between them. */
async function withProbeRows(test: (folder: string) => Promise<void>): Promise<void> {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  await writeProbeRows(join(folder, "train", "train-00000-of-00003.arrayrecord"), ROWS.slice(0, 5));
  await writeProbeRows(join(folder, "train", "train-00001-of-00003.arrayrecord"), []);
  await writeProbeRows(join(folder, "train", "train-00002-of-00003.arrayrecord"), ROWS.slice(5));
  await test(folder);
}

Deno.test("openProbeRows() reads rows by index over the shards", () =>
  withProbeRows(async (folder) => {
    using source = await openProbeRows(folder, "train");
    assertEquals(source.numRows, 12);
    assertEquals(source.files.length, 3);
    for (const index of [11, 0, 4, 5, 6, 0]) {
      assertEquals(source.row(index).rttMs, ROWS[index].rttMs);
      assertEquals(source.row(index).srcId, ROWS[index].srcId);
      assertEquals(source.numMeasurements(index), ROWS[index].rttMs.length);
    }
  }));

Deno.test("openProbeRows() rejects a missing folder, a missing split and an unfinished run", () =>
  withProbeRows(async (folder) => {
    const missing = join(folder, "nowhere");
    await assertRejects(() => openProbeRows(missing, "train"), UserError, missing);
    await assertRejects(() => openProbeRows(folder, "val"), UserError, join(folder, "val"));
    const manifest = newManifest({ stage: "probe-rows", inputs: [], options: {} });
    writeJsonAtomic(join(folder, "manifest.json"), manifest);
    await assertRejects(() => openProbeRows(folder, "train"), UserError, "did not finish");
    writeJsonAtomic(join(folder, "manifest.json"), { ...manifest, complete: true });
    (await openProbeRows(folder, "train")).close();
  }));

Deno.test("openProbeRows() throws at a damaged row, or skips and counts it", () =>
  withProbeRows(async (folder) => {
    const path = join(folder, "train", "train-00000-of-00003.arrayrecord");
    const bytes = Deno.readFileSync(path);
    // The first data chunk begins after the signature's 64 bytes; byte 200 is in its data.
    bytes[200] ^= 1;
    Deno.writeFileSync(path, bytes);
    using strict = await openProbeRows(folder, "train");
    assertThrows(() => strict.row(0), FormatError, path);
    using lenient = await openProbeRows(folder, "train", { onCorrupt: "skip" });
    assertEquals(lenient.row(0).rttMs.length, 0);
    assertEquals(lenient.numMeasurements(0), 0);
    assertEquals(lenient.row(1).rttMs, ROWS[1].rttMs);
    assertEquals(lenient.numCorruptChunks, 1);
    await BatchLoader.open(lenient, { seed: 1, sequenceLength: 256, batchSize: 8 }).next();
  }));

import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { ConfigError, UserError } from "../../../lib/base/errors.ts";
import {
  type Batch,
  BatchLoader,
  type DataPosition,
  type LoaderOptions,
} from "../../../lib/data/loader/batches.ts";
import { type ArrayRecordRowSource, openProbeRows } from "../../../lib/data/loader/row_source.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { syntheticRows, writeProbeRows } from "./synthetic_rows.ts";

const OPTIONS: LoaderOptions = { seed: 5, sequenceLength: 256, batchSize: 4, blockRows: 7 };
const NUM_BATCHES = 60;

const folder = new TemporaryFolder();
let source: ArrayRecordRowSource;
let campaigns: ArrayRecordRowSource;

Deno.test.beforeAll(async () => {
  source = await writeAndOpen("whole");
  const path = join(folder.at("small"), "train", "train-00000-of-00001.arrayrecord");
  await writeProbeRows(path, syntheticRows(2, 9, 25));
  campaigns = await openProbeRows([folder.at("small"), folder.at("whole")], "train");
});
Deno.test.afterAll(() => {
  source.close();
  campaigns.close();
  folder[Symbol.dispose]();
});

/** 60 rows in a separate file. */
async function writeAndOpen(
  name: string,
  change: (bytes: Uint8Array) => void = () => {},
): Promise<ArrayRecordRowSource> {
  const path = join(folder.at(name), "train", "train-00000-of-00001.arrayrecord");
  await writeProbeRows(path, syntheticRows(1, 60, 25));
  const bytes = Deno.readFileSync(path);
  change(bytes);
  Deno.writeFileSync(path, bytes);
  return await openProbeRows(folder.at(name), "train");
}

const open = (numWorkers: number, change: Partial<LoaderOptions> = {}, rows = source) =>
  BatchLoader.openWithWorkers(rows, { ...OPTIONS, ...change, numWorkers });

async function take(
  loader: BatchLoader,
  numBatches: number,
): Promise<{ batch: Batch; after: DataPosition }[]> {
  return await Array.fromAsync(
    { length: numBatches },
    async () => ({ batch: await loader.next(), after: loader.position }),
  );
}

const V1: Partial<LoaderOptions> = { rttEncoding: { name: "float64", clipMs: 100 } };

for (
  const [numWorkers, kind] of [[1, "v2"], [3, "v2"], [2, "v1"], [2, "v2 of two campaigns"]] as const
) {
  const change = kind === "v1" ? V1 : {};
  Deno.test({
    name:
      `openWithWorkers() returns the same batches and positions with ${numWorkers} workers as with none, in ${kind}`,
    sanitizeOps: true,
    sanitizeResources: true,
    async fn() {
      const rows = kind.endsWith("campaigns") ? campaigns : source;
      const wanted = await take(BatchLoader.open(rows, { ...OPTIONS, ...change }), NUM_BATCHES);
      assert((wanted.at(-1)?.after.epoch ?? 0) >= 2);
      {
        using loader = await open(numWorkers, change, rows);
        assertEquals(loader.position, { epoch: 0, block: 0, sequence: 0 });
        assertEquals(loader.blockRows, 7);
        assertEquals(await take(loader, NUM_BATCHES), wanted);
      }
      const half = NUM_BATCHES / 2;
      using resumed = await open(numWorkers, { ...change, position: wanted[half - 1].after }, rows);
      assertEquals(resumed.position, wanted[half - 1].after);
      assertEquals(await take(resumed, half), wanted.slice(half));
    },
  });
}

Deno.test("openWithWorkers() chooses the same number of rows per block", async () => {
  const { blockRows: _, ...options } = OPTIONS;
  const inThread = BatchLoader.open(source, options);
  using loader = await BatchLoader.openWithWorkers(source, { ...options, numWorkers: 2 });
  assertEquals(loader.blockRows, inThread.blockRows);
  assertEquals(await take(loader, 5), await take(inThread, 5));
});

Deno.test("openWithWorkers() accepts zero workers, and rejects negative counts and positions out of range", async () => {
  using loader = await open(0);
  assertEquals(await take(loader, 3), await take(BatchLoader.open(source, OPTIONS), 3));
  await assertRejects(() => open(-1), ConfigError, "numWorkers");
  const position = { epoch: 0, block: 99, sequence: 0 };
  await assertRejects(() => open(2, { position }), UserError, "Cannot resume");
  using late = await open(2, { position: { epoch: 0, block: 0, sequence: 10_000 } });
  await assertRejects(() => late.next(), UserError, "Cannot resume");
});

Deno.test("next() throws the error of a damaged row in a worker where it would without workers", async () => {
  using damaged = await writeAndOpen("damaged", (bytes) => bytes[bytes.length >> 2] ^= 1);
  const untilError = async (loader: BatchLoader) => {
    for (let numBatches = 0;; numBatches++) {
      try {
        await loader.next();
      } catch (error) {
        assert(error instanceof UserError);
        return { numBatches, message: error.message };
      }
    }
  };
  const options = { ...OPTIONS, batchSize: 1, blockRows: 3 };
  const wanted = await untilError(BatchLoader.open(damaged, options));
  assert(wanted.numBatches > 0 && wanted.message.includes(damaged.path), wanted.message);
  for (const numWorkers of [1, 2]) {
    using loader = await BatchLoader.openWithWorkers(damaged, { ...options, numWorkers });
    assertEquals(await untilError(loader), wanted);
  }
});

Deno.test("openWithWorkers() skips damaged chunks in the workers too", async () => {
  using damaged = await writeAndOpen("skipping", (bytes) => bytes[bytes.length >> 2] ^= 1);
  using lenient = await openProbeRows(folder.at("skipping"), "train", { onCorrupt: "skip" });
  using loader = await BatchLoader.openWithWorkers(lenient, { ...OPTIONS, numWorkers: 2 });
  assertEquals(await take(loader, 10), await take(BatchLoader.open(lenient, OPTIONS), 10));
  assertEquals(damaged.numCorruptChunks, 0);
});

Deno.test("openWithWorkers() fails with the error of a worker whose file is gone", async () => {
  using gone = await writeAndOpen("gone");
  Deno.removeSync(join(gone.path, "train-00000-of-00001.arrayrecord"));
  const options = { ...OPTIONS, numWorkers: 2 };
  await assertRejects(() => BatchLoader.openWithWorkers(gone, options), UserError, "no such file");
});

import { assertEquals } from "@std/assert";
import type { SchemaElement } from "hyparquet";
import { parquetWriteBuffer } from "hyparquet-writer";
import { readTimeRangeUs } from "../../../lib/data/probe_rows/sharded_stage.ts";
import { makeBatch, writeParquet } from "../measurement_files/batches.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

/** Not a whole number of milliseconds. */
const FIRST_US = 1_750_000_000_123_457n;
const LAST_US = FIRST_US + 86_400_000_001n;
const times = [FIRST_US + 5n, LAST_US, FIRST_US, FIRST_US + 7n];

interface TimeFile {
  values: unknown[];
  type?: Partial<SchemaElement>;
  statistics?: boolean;
}

/** The range over two row groups of two times each. */
async function rangeOf({ values, type = {}, statistics = true }: TimeFile): Promise<number[] | undefined> {
  let range: number[] | undefined;
  await withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    const schema = [
      { name: "root", num_children: 1 },
      { name: "event_time", repetition_type: "OPTIONAL", type: "INT64", ...type } as SchemaElement,
    ];
    const columnData = [{ name: "event_time", data: values }];
    Deno.writeFileSync(
      path,
      new Uint8Array(parquetWriteBuffer({ columnData, schema, rowGroupSize: 2, statistics })),
    );
    range = await readTimeRangeUs([path], () => Promise.resolve());
  });
  return range;
}

Deno.test("readTimeRangeUs() finds the same to the microsecond with statistics and without", async () => {
  const micros = { converted_type: "TIMESTAMP_MICROS" } as const;
  const nanos = { logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "NANOS" } } as const;
  for (const statistics of [true, false]) {
    const wanted = [Number(FIRST_US), Number(LAST_US)];
    assertEquals(await rangeOf({ values: times, type: micros, statistics }), wanted);
    const nanoTimes = times.map((timeUs) => 1000n * timeUs + 999n);
    assertEquals(await rangeOf({ values: nanoTimes, type: nanos, statistics }), wanted);
    const millis = { converted_type: "TIMESTAMP_MILLIS" } as const;
    assertEquals(
      await rangeOf({ values: times.map((timeUs) => timeUs / 1000n), type: millis, statistics }),
      [FIRST_US, LAST_US].map((timeUs) => 1000 * Number(timeUs / 1000n)),
    );
    assertEquals(
      await rangeOf({ values: times.map((timeUs) => timeUs / 1_000_000n), statistics }),
      [FIRST_US, LAST_US].map((timeUs) => 1e6 * Number(timeUs / 1_000_000n)),
    );
  }
});

Deno.test("readTimeRangeUs() leaves out nulls and times that rows are rejected for", async () => {
  const type = { converted_type: "TIMESTAMP_MICROS" } as const;
  for (const statistics of [true, false]) {
    const values = [null, FIRST_US, 0n, LAST_US];
    assertEquals(await rangeOf({ values, type, statistics }), [Number(FIRST_US), Number(LAST_US)]);
    assertEquals(await rangeOf({ values: [null, null, 0n], type, statistics }), undefined);
  }
});

Deno.test("readTimeRangeUs() reads what MeasurementParquetWriter wrote, over several files", () =>
  withFolder(async (folder) => {
    const batch = makeBatch(1000);
    writeParquet(`${folder}/a.parquet`, [batch]);
    writeParquet(`${folder}/b.parquet`, [{
      ...batch,
      eventTimeUs: batch.eventTimeUs.map((time) => time + 7),
    }]);
    writeParquet(`${folder}/c.parquet`, []);
    const paths = ["a", "b", "c"].map((name) => `${folder}/${name}.parquet`);
    const range = await readTimeRangeUs(paths, () => Promise.resolve());
    assertEquals(range, [Math.min(...batch.eventTimeUs), Math.max(...batch.eventTimeUs) + 7]);
  }));

import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import type { SchemaElement } from "hyparquet";
import { parquetWriteBuffer } from "hyparquet-writer";
import { UserError } from "../../../lib/base/errors.ts";
import type { SplitRatios } from "../../../lib/data/probe_rows/splits.ts";
import { findTimeCuts, noteOnFarTimes } from "../../../lib/data/probe_rows/time_cuts.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";
import { cutsOf } from "./sample_parquet.ts";

const RATIOS: SplitRatios = [0.8, 0.1, 0.1];
const MICROS = { converted_type: "TIMESTAMP_MICROS" } as const;
const HOUR_US = 3600e6;
const START_US = 1_750_000_000_123_457;

const cutsIn = (paths: readonly string[], ratios = RATIOS) =>
  findTimeCuts(paths, ratios, () => Promise.resolve());

/** The time cuts; each file has two row groups. */
async function cutsOfFiles(
  files: readonly (readonly unknown[])[],
  { ratios = RATIOS, type = MICROS }: { ratios?: SplitRatios; type?: Partial<SchemaElement> } = {},
) {
  let cuts: Awaited<ReturnType<typeof cutsIn>> | undefined;
  await withFolder(async (folder) => {
    const schema = [
      { name: "root", num_children: 1 },
      { name: "event_time", repetition_type: "OPTIONAL", type: "INT64", ...type } as SchemaElement,
    ];
    const paths = files.map((data, i) => {
      const path = `${folder}/${i}.parquet`;
      const columnData = [{ name: "event_time", data: [...data] }];
      const rowGroupSize = Math.ceil(data.length / 2);
      // Every other file has statistics.
      const statistics = i % 2 === 0;
      Deno.writeFileSync(
        path,
        new Uint8Array(parquetWriteBuffer({ columnData, schema, rowGroupSize, statistics })),
      );
      return path;
    });
    cuts = await cutsIn(paths, ratios);
  });
  assert(cuts);
  return cuts;
}

const every = (numRows: number, intervalUs: number) =>
  Array.from({ length: numRows }, (_, i) => BigInt(START_US + i * intervalUs));

Deno.test("findTimeCuts() cuts at the rows' quantiles, exact to the microsecond", async () => {
  const times = every(1000, 7);
  const { valUs, testUs, rangeUs, mostUs } = await cutsOfFiles([times]);
  assertEquals([valUs, testUs], [800, 900].map((row) => Number(times[row])));
  assertEquals(rangeUs, [Number(times[0]), Number(times[999])]);
  assertEquals(mostUs, [Number(times[10]), Number(times[990])]);
});

Deno.test("findTimeCuts() finds the same cuts in other units, and in any order of files and rows", async () => {
  const times = every(300, HOUR_US);
  const wanted = await cutsOfFiles([times]);
  const parts = [times.slice(200).reverse(), times.slice(0, 100), times.slice(100, 200)];
  assertEquals(await cutsOfFiles(parts), wanted);
  const nanos = { logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "NANOS" } } as const;
  assertEquals(await cutsOfFiles([times.map((timeUs) => 1000n * timeUs + 999n)], { type: nanos }), wanted);
  const seconds = await cutsOfFiles([times.map((timeUs) => timeUs / 1_000_000n)], { type: {} });
  assertEquals(seconds.valUs, 1e6 * Math.floor(wanted.valUs / 1e6));
});

Deno.test("a single wrong clock does not shift the cuts", async () => {
  const times = every(2000, HOUR_US);
  const wanted = await cutsOfFiles([times]);
  assertEquals(noteOnFarTimes(wanted), undefined);
  for (const wrongUs of [BigInt(Date.UTC(1995, 0, 1) * 1000), BigInt(START_US) + 10n ** 15n / 40n]) {
    const cuts = await cutsOfFiles([[...times, wrongUs]]);
    assert(Math.abs(cuts.valUs - wanted.valUs) <= HOUR_US);
    assert(Math.abs(cuts.testUs - wanted.testUs) <= HOUR_US);
  }
});

Deno.test("findTimeCuts() ignores nulls and times that rows are rejected for, future ones included", async () => {
  const times = every(100, HOUR_US);
  const unusable = [null, 0n, BigInt(Date.now() + 90_000_000) * 1000n, BigInt(Date.UTC(2034, 0)) * 1000n];
  assertEquals(await cutsOfFiles([[...unusable, ...times]]), await cutsOfFiles([times]));
  for (
    const [found, message] of [
      [[null, 0n], "found no rows"],
      [[null, ...Array(5).fill(BigInt(START_US))], "every row has the time 2025-06-15T15:06:40.123Z"],
    ] as const
  ) {
    await assertRejects(() => cutsOfFiles([found]), UserError, message);
  }
});

Deno.test("the shares are as close to the ratios as times allow, and train and test are not empty", async () => {
  const time = fc.oneof(fc.nat(5), fc.nat(1000), fc.nat(1e15 / 50));
  const times = fc.array(time, { minLength: 2, maxLength: 60 }).filter((all) => new Set(all).size > 1);
  const ratios = fc.constantFrom<SplitRatios[]>(RATIOS, [0.5, 0.2, 0.3], [0.7, 0.3, 0], [0.7, 0, 0.3], [
    0,
    0.7,
    0.3,
  ]);
  await fc.assert(
    fc.asyncProperty(times, ratios, async (all, ratios) => {
      const timesUs = all.map((timeUs) => START_US + timeUs);
      const found = await cutsOfFiles([timesUs.map(BigInt)], { ratios });
      const wanted = cutsOf(timesUs, ratios);
      // A cut is anywhere between two times.
      const splitOf = ({ valUs, testUs }: typeof wanted) =>
        timesUs.map((timeUs) => timeUs < valUs ? 0 : timeUs < testUs ? 1 : 2);
      const share = (splits: number[], split: number) => splits.filter((each) => each === split).length;
      const [ours, theirs] = [splitOf(found), splitOf(wanted)];
      for (const [i, ratio] of [ratios[0], ratios[2]].entries()) {
        const split = 2 * i;
        const distance = (splits: number[]) => Math.abs(share(splits, split) / all.length - ratio);
        assert(Math.abs(distance(ours) - distance(theirs)) < 1e-9, `${ours} ${theirs}`);
        assertEquals(share(ours, split) > 0, ratio > 0);
      }
    }),
  );
});

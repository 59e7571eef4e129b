import { assertEquals, assertThrows } from "@std/assert";
import { UsageError } from "../../lib/base/errors.ts";
import {
  type MeasurementSurvey,
  parseSplits,
  ratiosOf,
  splitsFor,
  surveyMeasurements,
} from "../../lib/eval/split_plan.ts";
import { MeasurementParquetWriter } from "../../lib/data/measurement_files/parquet_writer.ts";
import { parseRatios } from "../../lib/data/probe_rows/splits.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { makeBatch, realData, writeParquet } from "../data/measurement_files/batches.ts";

const SURVEY: MeasurementSurvey = {
  numRows: 10_000,
  numSources: 50,
  numDestinations: 20,
  numBoth: 0,
  hasTimeSpan: true,
  groupBy: "prb_id",
};

/** The splits planned for a survey with these changes, as `--splits` takes them. */
function splitsOf(survey: Partial<MeasurementSurvey>): string {
  return splitsFor({ ...SURVEY, ...survey }).map(({ mode, heldOutPercent }) => `${mode}=${heldOutPercent}`)
    .join(",");
}

Deno.test("splitsFor() holds out sources, destinations, pairs and the end of any time span", () => {
  assertEquals(splitsOf({}), "probe=10,destination=10,pair=10,time=10");
  assertEquals(splitsOf({ hasTimeSpan: false }), "probe=10,destination=10,pair=10");
  assertEquals(splitsOf({ numBoth: 10 }), "probe=10,destination=10,pair=10,time=10");
});

Deno.test("splitsFor() holds out nothing of which there are few", () => {
  assertEquals(splitsOf({ numSources: 1 }), "destination=10,pair=10,time=10");
  assertEquals(splitsOf({ numSources: 2, numDestinations: 2 }), "time=10");
  assertEquals(splitsOf({ numSources: 1, numDestinations: 1, hasTimeSpan: false }), "row=10");
});

Deno.test("splitsFor() holds out most pairs of a mesh, and time only if the matrix was measured repeatedly", () => {
  const mesh = { numSources: 50, numDestinations: 50, numBoth: 50 };
  assertEquals(splitsOf({ ...mesh, numRows: 2450 }), "pair=70");
  assertEquals(splitsOf({ ...mesh, numRows: 9 * 2450 }), "pair=70,time=10");
  assertEquals(splitsOf({ ...mesh, numRows: 9 * 2450, hasTimeSpan: false }), "pair=70");
  assertEquals(splitsOf({ ...mesh, numBoth: 20 }), "probe=10,destination=10,pair=10,time=10");
});

Deno.test("splitsFor() recognises real matrices as meshes", async () => {
  const data = realData("mesh");
  for (
    const [name, splits] of [["planetlab-03", "pair=70"], ["seattle-001-040", "pair=70,time=10"]] as const
  ) {
    assertEquals(splitsOf(await surveyMeasurements([`${data}/${name}.parquet`])), splits);
  }
});

Deno.test("surveyMeasurements() counts addresses over all files and groups by prb_id only if all rows have it", async () => {
  using folder = new TemporaryFolder();
  const [a, b, c] = ["a", "b", "c"].map((name) => folder.at(`${name}.parquet`));
  const batch = makeBatch(60);
  writeParquet(a, batch);
  writeParquet(b, { ...batch, prbId: batch.prbId.with(7, NaN) });
  using writer = MeasurementParquetWriter.create(c, { optionalColumns: ["msmId"] });
  writer.append(batch);
  writer.close();
  const [sources, destinations] = [new Set(batch.srcAddr), new Set(batch.dstAddr)];
  const seen: [number, number][] = [];
  const survey = await surveyMeasurements([a, c], {
    onProgress: (_, done, total) => seen.push([done, total]),
  });
  assertEquals(survey, {
    numRows: 120,
    numSources: sources.size,
    numDestinations: destinations.size,
    numBoth: [...sources].filter((address) => destinations.has(address)).length,
    hasTimeSpan: true,
    groupBy: "src_addr",
  });
  assertEquals(seen, [[60, 120], [120, 120]]);
  assertEquals((await surveyMeasurements([a])).groupBy, "prb_id");
  assertEquals((await surveyMeasurements([a, b])).groupBy, "src_addr");
});

Deno.test("parseSplits() reads the format of splitsFor() and rejects anything else", () => {
  assertEquals(parseSplits("node=5, time=12.5"), [
    { mode: "node", heldOutPercent: 5 },
    { mode: "time", heldOutPercent: 12.5 },
  ]);
  for (
    const text of ["", "pair", "pair=", "pair=0", "pair=100", "pair=1e1", "pair=5=5", "pairs=5", "pair=5,"]
  ) {
    assertThrows(() => parseSplits(text), UsageError, "--splits");
  }
  assertThrows(() => parseSplits("pair=5,time=5,pair=6"), UsageError, "each mode at most once");
});

Deno.test("ratiosOf() leaves the rest to training, and a little of the held-out share to validation", () => {
  const of = (heldOutPercent: number) => ratiosOf({ mode: "pair", heldOutPercent });
  assertEquals([10, 70, 5].map(of), [[90, 2, 8], [30, 2, 68], [95, 1, 4]]);
  for (const percent of [0.01, 3, 99.9]) {
    assertEquals(parseRatios(of(percent).join(",")).every((share) => share > 0), true);
  }
});

import fc from "fast-check";
import { assert, assertAlmostEquals, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { UsageError, UserError } from "../../../lib/base/errors.ts";
import type { MeasurementBatch } from "../../../lib/data/measurement/batch.ts";
import { SourceKeys } from "../../../lib/data/probe_rows/external_sort/keys.ts";
import {
  type KeyedBatch,
  parseRatios,
  SPLIT_MODES,
  SplitAssigner,
  type SplitMode,
  type SplitRatios,
} from "../../../lib/data/probe_rows/splits.ts";
import { FIRST_TIME_US, sampleBatch } from "./sample_parquet.ts";
import type { SchemaElement } from "hyparquet";
import { parquetWriteBuffer } from "hyparquet-writer";
import { readTimeRangeUs } from "../../../lib/data/probe_rows/sharded_stage.ts";
import { makeBatch, writeParquet } from "../measurement_files/batches.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

const RATIOS: SplitRatios = [0.8, 0.1, 0.1];
const ROWS = sampleBatch({ numRows: 20_000, numProbes: 900, numDestinations: 60 });
const RANGE_US = [Math.min(...ROWS.eventTimeUs), Math.max(...ROWS.eventTimeUs)] as const;

function keyOf(batch: MeasurementBatch, seed = 0): KeyedBatch {
  const keys = new SourceKeys(seed);
  const srcId = Uint32Array.from(batch.srcAddr, (text) => keys.idOfAddress(text));
  const dstId = Uint32Array.from(batch.dstAddr, (text) => keys.idOfAddress(text));
  return { batch, keys, srcId, dstId, groupId: srcId };
}

function assign(
  batch: MeasurementBatch,
  mode: SplitMode,
  options: { seed?: number; ratios?: SplitRatios } = {},
) {
  const { seed = 0, ratios = RATIOS } = options;
  const plan = { mode, ratios, seed, timeRangeUs: RANGE_US };
  return new SplitAssigner(plan).assign(keyOf(batch, seed));
}

/** The same rows in another order. */
function permute(batch: MeasurementBatch, order: readonly number[]): MeasurementBatch {
  const pick = (values: Float64Array | undefined) => Float64Array.from(order, (row) => (values ?? [])[row]);
  return {
    numRows: order.length,
    eventTimeUs: pick(batch.eventTimeUs),
    srcAddr: order.map((row) => batch.srcAddr[row]),
    dstAddr: order.map((row) => batch.dstAddr[row]),
    ipVersion: Uint8Array.from(order, (row) => batch.ipVersion[row]),
    rttMs: pick(batch.rttMs),
    msmId: pick(batch.msmId),
    prbId: pick(batch.prbId),
  };
}

/** Asserts that rows with equal names are in the same split; returns the number of names per split. */
function assertTogether(names: string[], splits: Uint8Array): number[] {
  const splitOf = new Map<string, number>();
  names.forEach((name, row) => {
    assertEquals(splitOf.get(name) ?? splits[row], splits[row], `${name} is in two splits`);
    splitOf.set(name, splits[row]);
  });
  return [0, 1, 2].map((split) => [...splitOf.values()].filter((value) => value === split).length);
}

/** Asserts that counts are as likely as the ratios: each within five standard deviations. */
function assertShares(counts: number[], ratios: SplitRatios): void {
  const total = counts.reduce((sum, count) => sum + count, 0);
  counts.forEach((count, split) => {
    const deviation = Math.sqrt(total * ratios[split] * (1 - ratios[split]));
    assertAlmostEquals(count, total * ratios[split], 5 * deviation, `split ${split} of ${total}`);
  });
}

Deno.test("SplitAssigner.assign() keeps a source in one split and near the ratios when the mode is probe", () => {
  const splits = assign(ROWS, "probe");
  assertShares(assertTogether(ROWS.srcAddr, splits), RATIOS);
  const uneven: SplitRatios = [0.5, 0.2, 0.3];
  assertShares(assertTogether(ROWS.srcAddr, assign(ROWS, "probe", { ratios: uneven })), uneven);
});

Deno.test("SplitAssigner.assign() keeps a probe in one split when the groups are probes", () => {
  const prbId = ROWS.prbId ?? new Float64Array(0);
  const byAddress = keyOf(ROWS);
  const groupId = Uint32Array.from(prbId, (id) => byAddress.keys.idOfProbe(id));
  const keyed = { ...byAddress, groupId };
  const splits = new SplitAssigner({ mode: "probe", ratios: RATIOS, seed: 0 }).assign(keyed);
  assertShares(assertTogether(Array.from(prbId, String), splits), RATIOS);
});

Deno.test("SplitAssigner.assign() keeps a pair in one split in both directions when the mode is pair", () => {
  const reversed = { ...ROWS, srcAddr: ROWS.dstAddr, dstAddr: ROWS.srcAddr };
  const splits = assign(ROWS, "pair");
  assertEquals(assign(reversed, "pair"), splits);
  const names = ROWS.srcAddr.map((src, row) => [src, ROWS.dstAddr[row]].sort().join(" "));
  assertShares(assertTogether(names, splits), RATIOS);
});

Deno.test("SplitAssigner.assign() keeps (msm_id, event_time) in one split when the mode is row", () => {
  const names = Array.from(ROWS.eventTimeUs, (timeUs, row) => `${ROWS.msmId?.[row]} ${timeUs}`);
  const splits = assign(ROWS, "row");
  assertShares(assertTogether(names, splits), RATIOS);
  const sourcesInTest = new Set(ROWS.srcAddr.filter((_, row) => splits[row] === 2));
  assert(sourcesInTest.size > 500, "a split by row does not keep sources together");
});

Deno.test("SplitAssigner.assign() keeps (src_addr, dst_addr, event_time) in one split when the mode is row without msm_id", () => {
  const { msmId: _, ...rows } = ROWS;
  const splits = assign(rows, "row");
  const names = ROWS.srcAddr.map((src, row) => `${src} ${ROWS.dstAddr[row]} ${ROWS.eventTimeUs[row]}`);
  assertShares(assertTogether(names, splits), RATIOS);
  // One time, one pair or one direction does not decide.
  const several = (changes: Partial<MeasurementBatch>) =>
    assertNotEquals(assign({ ...rows, ...changes }, "row"), splits);
  several({ srcAddr: ROWS.dstAddr, dstAddr: ROWS.srcAddr });
  several({ eventTimeUs: ROWS.eventTimeUs.map((timeUs) => timeUs + 1e6) });
});

Deno.test("SplitAssigner.assign() keeps a destination in one split when the mode is destination", () => {
  const reversed = { ...ROWS, srcAddr: ROWS.dstAddr, dstAddr: ROWS.srcAddr };
  const splits = assign(reversed, "destination");
  assertShares(assertTogether(ROWS.srcAddr, splits), RATIOS);
  const sourcesInTest = new Set(ROWS.dstAddr.filter((_, row) => splits[row] === 2));
  assert(sourcesInTest.size > 50, "a split by destination does not keep sources together");
});

Deno.test("SplitAssigner.assign() holds addresses out at both ends when the mode is node", () => {
  const ratios: SplitRatios = [0.6, 0.2, 0.2];
  const nodes = Array.from({ length: 120 }, (_, i) => `198.51.100.${i}`);
  const pairs = nodes.flatMap((src) => nodes.filter((dst) => dst !== src).map((dst) => [src, dst]));
  const rows = permute(ROWS, pairs.map((_, i) => i));
  const all = { ...rows, srcAddr: pairs.map(([src]) => src), dstAddr: pairs.map(([, dst]) => dst) };
  const splits = assign(all, "node", { ratios });
  const splitOfNode = new Map(nodes.map((node) => [node, 2]));
  pairs.forEach((pair, row) => {
    for (const node of pair) splitOfNode.set(node, Math.min(splitOfNode.get(node) ?? 2, splits[row]));
  });
  assertShares(
    [0, 1, 2].map((split) => [...splitOfNode.values()].filter((of) => of === split).length),
    ratios,
  );
  const wanted = pairs.map((pair) => Math.max(...pair.map((node) => splitOfNode.get(node) ?? -1)));
  assertEquals(Array.from(splits), wanted);
});

Deno.test("SplitAssigner.assign() puts the end of the time span into test when the mode is time", () => {
  const splits = assign(ROWS, "time");
  const spanUs = RANGE_US[1] - RANGE_US[0];
  for (let row = 0; row < ROWS.numRows; row++) {
    const fraction = (ROWS.eventTimeUs[row] - FIRST_TIME_US - (RANGE_US[0] - FIRST_TIME_US)) / spanUs;
    assertEquals(splits[row], fraction < 0.8 ? 0 : fraction < 0.8 + 0.1 ? 1 : 2);
  }
  const lastOf = (split: number) => Math.max(...ROWS.eventTimeUs.filter((_, row) => splits[row] === split));
  const firstOf = (split: number) => Math.min(...ROWS.eventTimeUs.filter((_, row) => splits[row] === split));
  assert(lastOf(0) < firstOf(1) && lastOf(1) < firstOf(2));
});

Deno.test("SplitAssigner.assign() does not depend on the order of the rows", () => {
  const small = permute(ROWS, Array.from({ length: 200 }, (_, i) => i * 7));
  const orders = fc.shuffledSubarray(Array.from({ length: 200 }, (_, i) => i), { minLength: 1 });
  for (const mode of SPLIT_MODES) {
    const whole = assign(small, mode);
    fc.assert(
      fc.property(orders, (order) => {
        assertEquals(assign(permute(small, order), mode), Uint8Array.from(order, (row) => whole[row]));
      }),
      { numRuns: 20 },
    );
  }
});

Deno.test("SplitAssigner.assign() gives another split when the seed is another, except by time", () => {
  for (const mode of SPLIT_MODES.filter((name) => name !== "time")) {
    assertNotEquals(assign(ROWS, mode), assign(ROWS, mode, { seed: 1 }));
  }
  assertEquals(assign(ROWS, "time"), assign(ROWS, "time", { seed: 1 }));
});

Deno.test("SplitAssigner.assign() leaves a split empty when its ratio is 0", () => {
  for (const mode of SPLIT_MODES) {
    const splitsWith = (...ratios: SplitRatios) => [...new Set(assign(ROWS, mode, { ratios }))].sort();
    assertEquals([splitsWith(1, 0, 0), splitsWith(0, 1, 0), splitsWith(0, 0, 1)], [[0], [1], [2]]);
    const pairs = [splitsWith(0.7, 0.3, 0), splitsWith(0.7, 0, 0.3), splitsWith(0, 0.7, 0.3)];
    assertEquals(pairs, [[0, 1], [0, 2], [1, 2]]);
  }
});

Deno.test("SplitAssigner.assign() keeps two spellings of an address together", () => {
  const rows = { ...permute(ROWS, [0, 0]), srcAddr: ["2001:DB8:0:0::1", "2001:db8::1"] };
  const { srcId } = keyOf(rows);
  assertEquals(srcId[0], srcId[1]);
  const splits = assign(rows, "pair");
  assertEquals(splits[0], splits[1]);
});

Deno.test("SplitAssigner() throws when the mode is time and there is no span", () => {
  const plan = { mode: "time", ratios: RATIOS, seed: 0 } as const;
  assertThrows(() => new SplitAssigner(plan), UserError, "found no rows");
  assertThrows(() => new SplitAssigner({ ...plan, timeRangeUs: [5, 5] }), UserError, "1970-01-01");
  const splits = new SplitAssigner({ ...plan, ratios: [0, 1, 0], timeRangeUs: [5, 5] }).assign(keyOf(ROWS));
  assertEquals(new Set(splits), new Set([1]));
});

/** Their sum would be infinite, or lose the smaller of them. */
const HUGE = ["1e308,1e308,1e308", "1e308,1,1", "1,1e308,1", "1000001,1,1"];

Deno.test("parseRatios() normalizes three numbers and refuses anything else", () => {
  assertEquals(parseRatios("80,10,10"), [0.8, 0.1, 0.1]);
  assertEquals(parseRatios(" 1, 1 ,2"), [0.25, 0.25, 0.5]);
  assertEquals(parseRatios("1000000,1e6,0"), [0.5, 0.5, 0]);
  assertEquals(parseRatios("0,0,100"), [0, 0, 1]);
  for (const text of ["", "1,2", "1,2,3,4", "a,1,1", "0,0,0", "-1,1,1", "1,,1", "1,Infinity,1", ...HUGE]) {
    assertThrows(() => parseRatios(text), UsageError, "Cannot use --ratios");
  }
});

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

import fc from "fast-check";
import { assert, assertAlmostEquals, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { UsageError } from "../../../lib/base/errors.ts";
import type { MeasurementBatch } from "../../../lib/data/formats/batch.ts";
import { SourceKeys } from "../../../lib/data/probe_rows/external_sort/keys.ts";
import {
  assignSplits,
  type KeyedBatch,
  parseRatios,
  SPLIT_MODES,
  type SplitMode,
  type SplitRatios,
} from "../../../lib/data/probe_rows/splits.ts";
import { cutsOf, sampleBatch } from "./sample_parquet.ts";

const RATIOS: SplitRatios = [0.8, 0.1, 0.1];
const ROWS = sampleBatch({ numRows: 20_000, numProbes: 900, numDestinations: 60 });

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
  const plan = { mode, ratios, seed, timeCuts: cutsOf(ROWS.eventTimeUs, ratios) };
  return assignSplits(plan, keyOf(batch, seed));
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

/** Asserts that rows with equal names are in the same split. Returns the number of names per split. */
function assertTogether(names: string[], splits: Uint8Array): number[] {
  const splitOf = new Map<string, number>();
  names.forEach((name, row) => {
    assertEquals(splitOf.get(name) ?? splits[row], splits[row], `${name} is in two splits`);
    splitOf.set(name, splits[row]);
  });
  return [0, 1, 2].map((split) => [...splitOf.values()].filter((value) => value === split).length);
}

/** Asserts that each count is within five standard deviations of its ratio. */
function assertShares(counts: number[], ratios: SplitRatios): void {
  const total = counts.reduce((sum, count) => sum + count, 0);
  counts.forEach((count, split) => {
    const deviation = Math.sqrt(total * ratios[split] * (1 - ratios[split]));
    assertAlmostEquals(count, total * ratios[split], 5 * deviation, `split ${split} of ${total}`);
  });
}

const REVERSED = { ...ROWS, srcAddr: ROWS.dstAddr, dstAddr: ROWS.srcAddr };
const { msmId: _, ...WITHOUT_MSM_ID } = ROWS;

/** What each mode keeps in one split. */
const TOGETHER: [mode: SplitMode, rows: MeasurementBatch, name: (row: number) => string][] = [
  ["probe", ROWS, (row) => ROWS.srcAddr[row]],
  ["pair", ROWS, (row) => [ROWS.srcAddr[row], ROWS.dstAddr[row]].sort().join(" ")],
  ["row", ROWS, (row) => `${ROWS.msmId?.[row]} ${ROWS.eventTimeUs[row]}`],
  ["row", WITHOUT_MSM_ID, (row) => `${ROWS.srcAddr[row]} ${ROWS.dstAddr[row]} ${ROWS.eventTimeUs[row]}`],
  ["destination", REVERSED, (row) => REVERSED.dstAddr[row]],
];

Deno.test("assignSplits() keeps the groups of each mode in one split, near the ratios", () => {
  for (const ratios of [RATIOS, [0.5, 0.2, 0.3]] as const) {
    for (const [mode, rows, name] of TOGETHER) {
      const names = Array.from({ length: rows.numRows }, (_, row) => name(row));
      assertShares(assertTogether(names, assign(rows, mode, { ratios })), ratios);
    }
  }
  const prbId = ROWS.prbId ?? new Float64Array(0);
  const byAddress = keyOf(ROWS);
  const groupId = Uint32Array.from(prbId, (id) => byAddress.keys.idOfProbe(id));
  const byProbe = assignSplits({ mode: "probe", ratios: RATIOS, seed: 0 }, { ...byAddress, groupId });
  assertShares(assertTogether(Array.from(prbId, String), byProbe), RATIOS);
  assertEquals(assign(REVERSED, "pair"), assign(ROWS, "pair"));
  // The other modes do not keep sources together.
  for (const mode of ["row", "destination"] as const) {
    const splits = assign(ROWS, mode);
    const sourcesInTest = new Set(ROWS.srcAddr.filter((_, row) => splits[row] === 2));
    assert(sourcesInTest.size > 50, mode);
  }
});

Deno.test("assignSplits() identifies a row by time and both addresses without an msm_id", () => {
  const splits = assign(WITHOUT_MSM_ID, "row");
  // Imports from other formats have a column without values.
  assertEquals(assign({ ...ROWS, msmId: new Float64Array(ROWS.numRows).fill(NaN) }, "row"), splits);
  const later = ROWS.eventTimeUs.map((timeUs) => timeUs + 1e6);
  for (const change of [{ srcAddr: ROWS.dstAddr, dstAddr: ROWS.srcAddr }, { eventTimeUs: later }]) {
    assertNotEquals(assign({ ...WITHOUT_MSM_ID, ...change }, "row"), splits);
  }
});

Deno.test("assignSplits() holds out addresses at both ends in node mode", () => {
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

Deno.test("assignSplits() puts the latest rows into test in time mode", () => {
  for (const ratios of [RATIOS, [0.5, 0.2, 0.3]] as const) {
    const splits = assign(ROWS, "time", { ratios });
    const shares = [0, 1, 2].map((split) => splits.filter((each) => each === split).length / splits.length);
    // Rows with equal times stay together.
    shares.forEach((share, split) => assertAlmostEquals(share, ratios[split], 1e-3));
    const timesOf = (split: number) => ROWS.eventTimeUs.filter((_, row) => splits[row] === split);
    const lastOf = (split: number) => Math.max(...timesOf(split));
    const firstOf = (split: number) => Math.min(...timesOf(split));
    assert(lastOf(0) < firstOf(1) && lastOf(1) < firstOf(2));
  }
});

Deno.test("assignSplits() does not depend on the order of the rows", () => {
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

Deno.test("assignSplits() returns another split for another seed, except by time", () => {
  for (const mode of SPLIT_MODES.filter((name) => name !== "time")) {
    assertNotEquals(assign(ROWS, mode), assign(ROWS, mode, { seed: 1 }));
  }
  assertEquals(assign(ROWS, "time"), assign(ROWS, "time", { seed: 1 }));
});

Deno.test("assignSplits() keeps two spellings of an address together", () => {
  const rows = { ...permute(ROWS, [0, 0]), srcAddr: ["2001:DB8:0:0::1", "2001:db8::1"] };
  const { srcId } = keyOf(rows);
  assertEquals(srcId[0], srcId[1]);
  const splits = assign(rows, "pair");
  assertEquals(splits[0], splits[1]);
});

/** Their sum would be infinite, or lose the smaller numbers. */
const HUGE = ["1e308,1e308,1e308", "1e308,1,1", "1,1e308,1", "1000001,1,1"];

Deno.test("parseRatios() normalizes three numbers and rejects anything else", () => {
  assertEquals(parseRatios("80,10,10"), [0.8, 0.1, 0.1]);
  assertEquals(parseRatios(" 1, 1 ,2"), [0.25, 0.25, 0.5]);
  assertEquals(parseRatios("1000000,1e6,0"), [0.5, 0.5, 0]);
  assertEquals(parseRatios("0,0,100"), [0, 0, 1]);
  for (const text of ["", "1,2", "1,2,3,4", "a,1,1", "0,0,0", "-1,1,1", "1,,1", "1,Infinity,1", ...HUGE]) {
    assertThrows(() => parseRatios(text), UsageError, "Cannot use --ratios");
  }
});

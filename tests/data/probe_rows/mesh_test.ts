/** Splits of an all-pairs matrix, which only has event_time, src_addr, dst_addr and rtt. @module */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { openEvalRows } from "../../../lib/eval/eval_rows.ts";
import { buildProbeRows } from "../../../lib/data/probe_rows/probe_rows.ts";
import { shardMeasurements } from "../../../lib/data/probe_rows/shard.ts";
import {
  listSplitInputs,
  SPLIT_MODES,
  SPLIT_NAMES,
  type SplitMode,
} from "../../../lib/data/probe_rows/splits.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { joinBatches, makeBatch, readAll, realData, writeParquet } from "../measurement_files/batches.ts";
import { PROBE_ROWS_OPTIONS, SHARD_OPTIONS } from "./stage_fixtures.ts";

const NUM_ROWS = 25_440;
const SHARDS = { ...SHARD_OPTIONS, numShards: [2, 1, 2] } as const;

type Row = readonly [src: string, dst: string, timeUs: number];
const SRC = ([src]: Row) => [src];
const DST = ([, dst]: Row) => [dst];
const PAIR = ([src, dst]: Row) => [[src, dst].sort().join(" ")];

/** The values in test that each mode keeps out of train. */
const HELD_OUT: Record<SplitMode, (row: Row) => string[]> = {
  probe: SRC,
  time: ([, , timeUs]) => [String(timeUs)],
  row: ([src, dst, timeUs]) => [`${src} ${dst} ${timeUs}`],
  pair: PAIR,
  destination: DST,
  node: PAIR,
};

async function rowsIn(folder: string): Promise<Row[]> {
  const batch = joinBatches((await readAll([0, 1].map((i) => `${folder}/shard-0000${i}.parquet`))).batches);
  return batch.srcAddr.map((src, row) => [src, batch.dstAddr[row], batch.eventTimeUs[row]]);
}

Deno.test("shard and probe-rows split an all-pairs matrix in every mode, without leakage from test to train", async () => {
  const data = realData("mesh");
  using folder = new TemporaryFolder();
  const inputs = [`${data}/planetlab-03.parquet`];
  for (const splitBy of SPLIT_MODES) {
    const output = folder.at(splitBy);
    await shardMeasurements({ ...SHARDS, inputs, output, splitBy, ratios: [0.3, 0, 0.7] });
    const [train, test] = [await rowsIn(`${output}/train`), await rowsIn(`${output}/test`)];
    assertEquals(train.length + test.length, NUM_ROWS);
    const share = splitBy === "node" ? 0.3 ** 2 : 0.3;
    assertAlmostEquals(train.length / NUM_ROWS, share, 0.05, splitBy);
    const known = new Set(train.flatMap(HELD_OUT[splitBy]));
    assertEquals(test.flatMap(HELD_OUT[splitBy]).filter((name) => known.has(name)), [], splitBy);
    if (splitBy === "node") {
      const nodes = new Set([...train.flatMap(SRC), ...train.flatMap(DST)]);
      assert(test.every(([src, dst]) => !nodes.has(src) || !nodes.has(dst)));
    }
    const { files, splitOfFile = new Map() } = listSplitInputs([output]);
    const rows = folder.at(`${splitBy}-rows`);
    const splits = { splitOfFile };
    const made = await buildProbeRows({ ...PROBE_ROWS_OPTIONS, inputs: files, output: rows, splits });
    const counts = SPLIT_NAMES.map((split) => made.splits[split].measurements);
    assertEquals(counts, [train.length, 0, test.length]);
    using opened = await openEvalRows(rows, { split: "test" });
    const isPairUnseen = ["pair", "destination", "node"].includes(splitBy);
    assertEquals([opened.splitBy, opened.history], [splitBy, isPairUnseen ? "train" : "all"]);
  }
});

Deno.test("probe-rows writes test-only sets, which are evaluated with another set's training rows", async () => {
  using folder = new TemporaryFolder();
  const { numRows, eventTimeUs, srcAddr, dstAddr, ipVersion, rttMs } = makeBatch(500);
  const batch = { numRows, eventTimeUs, srcAddr, dstAddr, ipVersion, rttMs };
  // Rows with a single time cannot be divided by time.
  writeParquet(folder.at("in.parquet"), { ...batch, eventTimeUs: eventTimeUs.fill(eventTimeUs[0]) });
  for (const mode of SPLIT_MODES) {
    const make = async (ratios: readonly [number, number, number]) => {
      const [inputs, output] = [[folder.at("in.parquet")], folder.at(`${mode}-${ratios}`)];
      const splits = { plan: { mode, ratios, seed: 0 } };
      const { splits: made } = await buildProbeRows({ ...PROBE_ROWS_OPTIONS, inputs, output, splits });
      assertEquals(SPLIT_NAMES.map((split) => made[split].measurements), ratios.map((ratio) => 500 * ratio));
      return output;
    };
    const trainDir = await make([1, 0, 0]);
    await make([0, 1, 0]);
    using rows = await openEvalRows(await make([0, 0, 1]), { split: "test", trainDir });
    assert(rows.heldOut.numRows > 0 && rows.heldOut.numRows === rows.training.numRows);
    assertEquals(rows.others.map(({ numRows }) => numRows), [0]);
  }
});

/**
 * The map side of the group-by for a share of the rows: every usable row of the share is read once and put into
 * a spill file with the rows of its partition; rejected rows are counted and listed.
 *
 * @module
 */
import { RejectLog, type RejectSnapshot } from "../measurement/rejects.ts";
import { readKeyed } from "./keyed_reader.ts";
import { ShardLayout } from "./shard_layout.ts";
import type { ShardedStage } from "./sharded_stage_definition.ts";
import { type SpillIndex, SpillWriter } from "../external_sort/spill.ts";
import { makeColumn } from "../external_sort/spill_block.ts";
import { type KeyedBatch, SPLIT_NAMES, SplitAssigner, type SplitName } from "./splits.ts";
import { Breather, type StageHooks } from "../threads/stage_hooks.ts";

/** One thread's part of the work: plain data. */
export interface PartitionShare {
  /** The range of rows, counted over all inputs; the end is excluded. */
  rowRange: readonly [first: number, end: number];
  spillPath: string;
  /** Partitions of a shard. */
  subdivisions: number;
  /** Memory for rows waiting to be written. */
  bufferBytes: number;
  timeRangeUs: [number, number] | undefined;
}

/** The result of a share: plain data. */
export interface ShareResult {
  index: SpillIndex;
  /** Rows by split. */
  rows: Record<SplitName, number>;
  numRowsRead: number;
  rejects: RejectSnapshot;
}

/**
 * Divides the rows of a share over its spill file.
 *
 * @param hooks `onProgress` gets the rows read of this share.
 * @throws {UserError} If the input cannot be used or the disk is full.
 */
export async function partitionShare(
  stage: ShardedStage,
  share: PartitionShare,
  hooks: StageHooks,
): Promise<ShareResult> {
  const breather = new Breather(hooks);
  const rejects = new RejectLog();
  const splitOf = makeSplitter(stage, share.timeRangeUs);
  const layout = new ShardLayout(stage.numShards, share.subdivisions, stage.ownShards);
  using spill = new SpillWriter(share.spillPath, stage.schema, {
    numPartitions: layout.numPartitions,
    bufferBytes: share.bufferBytes,
  });
  const rows: Record<SplitName, number> = { train: 0, val: 0, test: 0 };
  let numRowsRead = 0;
  const { inputs, groupBy, seed, columns, splits } = stage;
  const splitMode = "plan" in splits ? splits.plan.mode : undefined;
  const read = { groupBy, seed, columns, splitMode, rejects, rowRange: share.rowRange };
  for await (const keyed of readKeyed(inputs, read)) {
    const { batch, keys, groupId } = keyed;
    const split = splitOf(keyed, batch.path);
    const partitionOf = new Uint32Array(batch.numRows);
    for (let row = 0; row < batch.numRows; row++) {
      const partition = layout.partitionOf(split[row], keys.hashes[4 * groupId[row]]);
      partitionOf[row] = partition;
      if (partition < layout.numPartitions) rows[SPLIT_NAMES[split[row]]]++;
    }
    const spilled = stage.schema.map((column) => makeColumn(column, batch.numRows));
    stage.fill(keyed, spilled);
    spill.append({ numRows: batch.numRows, columns: spilled, keys }, partitionOf);
    numRowsRead += batch.numRowsRead;
    hooks.onProgress?.("reading", numRowsRead, share.rowRange[1] - share.rowRange[0]);
    await breather.breathe();
  }
  return { index: spill.finish(), rows, numRowsRead, rejects: rejects.snapshot() };
}

function makeSplitter(
  { splits }: ShardedStage,
  timeRangeUs: [number, number] | undefined,
): (keyed: KeyedBatch, path: string) => Uint8Array {
  if ("splitOfFile" in splits) {
    const { splitOfFile } = splits;
    return ({ batch }, path) =>
      new Uint8Array(batch.numRows).fill(SPLIT_NAMES.indexOf(splitOfFile.get(path) ?? "train"));
  }
  const assigner = new SplitAssigner({ ...splits.plan, ...(timeRangeUs ? { timeRangeUs } : {}) });
  return (keyed) => assigner.assign(keyed);
}

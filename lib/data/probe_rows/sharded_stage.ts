/**
 * The common part of `shard` and `probe-rows`: rows are divided over a spill file, then shard after shard is written
 * from it, with a manifest from which an interrupted run continues.
 *
 * @module
 */
import { join } from "@std/path";
import { ONLY_TASK, shareOf, taskSuffix } from "../../io/files/array_task.ts";
import { fingerprint } from "../../io/files/inputs.ts";
import { Output } from "../../io/files/output.ts";
import { type InputSurvey, surveyInputs } from "../measurement_files/parquet_reader.ts";
import { RejectLog } from "../measurement_files/rejects.ts";
import { SpillFolder, type SpillState } from "./spill_folder.ts";
import { PeakMemory } from "../../io/threads/peak_memory.ts";
import { type Shard, ShardLayout, shardsWithin } from "./shard_layout.ts";
import { type ShardedStage, type ShardQueue, StageThreads } from "./stage_threads.ts";
import { SPLIT_NAMES, sumBySplit } from "./splits.ts";
import { EventLoopPacer, type StageHooks } from "../../io/threads/stage_hooks.ts";
import { findTimeCuts, type TimeCuts } from "./time_cuts.ts";

/** The rows that a thread reads in the 0.1 s that another thread needs to start. */
const MIN_ROWS_PER_THREAD = 50_000;
/** Share of the memory limit for rows waiting to be written, over all threads. */
const SPILL_BUFFER_SHARE = 1 / 8;

/** The result of a run; `splits` has the sums of the shards' counts with `shards` and `bytes`. */
export interface StageSummary {
  splits: Record<string, Record<string, number>>;
  rejected: Record<string, number>;
  inputRows: number;
  /** Present if the split is by time. */
  timeCuts?: TimeCuts;
  seconds: number;
  rowsPerSecond: number;
  peakMemoryBytes: number;
  /** Whether all outputs already existed; `rowsPerSecond` is then 0. */
  wasComplete: boolean;
}

/**
 * Runs a stage to its end, from where an earlier run of the same work ended.
 *
 * @throws {UserError} If the input or output cannot be used.
 */
export async function runShardedStage(stage: ShardedStage, hooks: StageHooks): Promise<StageSummary> {
  const startMs = performance.now();
  using memory = new PeakMemory();
  using output = Output.openFolder(stage.output, {
    stage: stage.stage,
    inputs: stage.inputs.map(fingerprint),
    inputManifests: stage.inputManifests?.map(fingerprint),
    options: stage.identity,
    overwrite: stage.overwrite,
  }, stage.task);
  const { manifest } = output;
  const sums = () => sumBySplit(manifest.outputs, ["shards", ...stage.counted], SPLIT_NAMES);
  const wasComplete = output.isComplete;
  if (!wasComplete) {
    const watched: StageHooks = {
      ...hooks,
      onProgress(phase, done, total) {
        memory.sample();
        hooks.onProgress?.(phase, done, total);
      },
    };
    try {
      await writeShards(stage, output, watched);
    } catch (error) {
      const spill = new SpillFolder(output);
      if (!spill.read()) {
        spill.remove();
        output.discardIfEmpty();
      }
      throw error;
    }
    output.checkInputs();
    manifest.counts.splits = sums();
    output.publish();
  }
  const seconds = (performance.now() - startMs) / 1000;
  const { counts } = manifest;
  const inputRows = Number(counts.inputRows ?? 0);
  return {
    splits: sums(),
    rejected: manifest.rejected,
    inputRows,
    ...(counts.timeCuts ? { timeCuts: counts.timeCuts as TimeCuts } : {}),
    seconds,
    rowsPerSecond: wasComplete ? 0 : inputRows / seconds,
    peakMemoryBytes: memory.peakBytes,
    wasComplete,
  };
}

async function writeShards(stage: ShardedStage, output: Output, hooks: StageHooks): Promise<void> {
  const { inputs, numShards, ownShards, shardName, workers = 1 } = stage;
  const isFinished = (shard: Shard) => output.finished(shardName(shard)) !== undefined;
  if (shardsWithin(numShards, ownShards).every(isFinished)) return;
  const survey = await surveyInputs(inputs);
  const [first, end] = shareOf(stage.rowShare, survey.numRows);
  const numThreads = Math.max(1, Math.min(workers, Math.floor((end - first) / MIN_ROWS_PER_THREAD)));
  using threads = new StageThreads(numThreads, stage);
  const spill = new SpillFolder(output);
  const state = spill.read() ?? await partitionRows(stage, spill, { survey, threads, hooks });
  const layout = new ShardLayout(numShards, state.subdivisions, ownShards);
  const queue: ShardQueue = {
    folder: output.folder,
    spill: state.indexes.map((index, i) => ({ path: spill.rowsPath(i), index })),
    columns: state.columns,
    shards: layout.shards().filter((shard) => !isFinished(shard)),
    numTaken: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
  };
  await threads.run({
    work: Array.from(
      { length: numThreads },
      (_, i) => ({ kind: "write", queue, runsPath: spill.runsPath(i) }),
    ),
    onShard: (shard) => output.add(shard),
    phase: "writing",
    total: queue.shards.flatMap(({ partitions }) => partitions).reduce(
      (sum, partition) => sum + state.indexes.reduce((rows, { numRows }) => rows + numRows[partition], 0),
      0,
    ),
  }, hooks);
}

/** Divides the rows of the task over spill files; each thread reads consecutive rows into its own file. */
async function partitionRows(
  stage: ShardedStage,
  spill: SpillFolder,
  { survey, threads, hooks }: { survey: InputSurvey; threads: StageThreads; hooks: StageHooks },
): Promise<SpillState> {
  const { output } = spill;
  spill.begin();
  const timeCuts = await timeCutsOf(stage, hooks);
  const [first, end] = shareOf(stage.rowShare, survey.numRows);
  const subdivisions = stage.subdivisions(end - first);
  const numShares = threads.numThreads;
  const boundary = (i: number) => first + Math.floor((end - first) * i / numShares);
  const shares = Array.from({ length: numShares }, (_, i) => ({
    rowRange: [boundary(i), boundary(i + 1)] as const,
    spillPath: spill.rowsPath(i),
    subdivisions,
    bufferBytes: stage.memoryLimitBytes * SPILL_BUFFER_SHARE / numShares,
    timeCuts,
  }));
  const round = {
    work: shares.map((share) => ({ kind: "partition" as const, share })),
    phase: "reading",
    total: end - first,
  };
  const results = (await threads.run(round, hooks)).filter((result) => result !== undefined);
  const rejects = new RejectLog();
  for (const result of results) rejects.merge(result.rejects);
  const numRowsRead = results.reduce((sum, result) => sum + result.numRowsRead, 0);
  const rejectsName = `rejects${taskSuffix(stage.task ?? ONLY_TASK)}.jsonl`;
  if (rejects.write(join(output.folder, rejectsName))) await output.record(rejectsName);
  rejects.check(numRowsRead, stage.maxRejectRatio);
  output.checkInputs();
  const columns = stage.columns.filter((column) => survey.columns.includes(column)).sort();
  const state = { indexes: results.map(({ index }) => index), subdivisions, columns };
  const rows = Object.fromEntries(
    SPLIT_NAMES.map((split) => [split, results.reduce((sum, result) => sum + result.rows[split], 0)]),
  );
  output.manifest.counts = { inputRows: numRowsRead, rows, ...(timeCuts ? { timeCuts } : {}) };
  output.manifest.rejected = rejects.counts;
  spill.finish(state);
  return state;
}

async function timeCutsOf(
  { splits, inputs }: ShardedStage,
  hooks: StageHooks,
): Promise<TimeCuts | undefined> {
  if (!("plan" in splits) || splits.plan.mode !== "time" || splits.plan.ratios.includes(1)) return undefined;
  const pacer = new EventLoopPacer(hooks);
  return await findTimeCuts(inputs, splits.plan.ratios, () => pacer.yieldToEventLoop());
}

/**
 * What `shard` and `probe-rows` have in common: they divide rows among partitions of a spill file, then write
 * the shards from it one after another, with a manifest from which an interrupted run continues.
 *
 * @module
 */
import { join } from "@std/path";
import { ONLY_TASK, shareOf, taskSuffix } from "../../io/files/array_task.ts";
import { writeJsonAtomic } from "../../io/files/atomic.ts";
import { exists, fingerprint, readText } from "../../io/files/inputs.ts";
import { Output } from "../../io/files/output.ts";
import { PeakMemory } from "../../io/threads/peak_memory.ts";
import { EventLoopPacer, type StageHooks } from "../../io/threads/stage_hooks.ts";
import { type InputSurvey, surveyInputs } from "../measurement_files/parquet_reader.ts";
import { RejectLog } from "../measurement_files/rejects.ts";
import type { SpillIndex } from "./external_sort/spill.ts";
import { type Shard, ShardLayout, shardsWithin } from "./shard_layout.ts";
import { SPLIT_NAMES, sumBySplit } from "./splits.ts";
import {
  runRound,
  type ShardedStage,
  type ShardQueue,
  type StagePool,
  startWorkers,
} from "./stage_threads.ts";
import { findTimeCuts, type TimeCuts } from "./time_cuts.ts";

/** Number of rows that a thread reads in the 0.1 s that another thread needs to start. */
const MIN_ROWS_PER_THREAD = 50_000;
/** The share of the memory limit for rows waiting to be written, over all threads. */
const SPILL_BUFFER_SHARE = 1 / 8;

/** The result of a run. `splits` contains the sums of the shards' counts, and `shards` and `bytes`. */
export interface StageSummary {
  splits: Record<string, Record<string, number>>;
  rejected: Record<string, number>;
  inputRows: number;
  /** Only for splits by time. */
  timeCuts?: TimeCuts;
  seconds: number;
  rowsPerSecond: number;
  peakMemoryBytes: number;
  /** Whether all outputs already existed; `rowsPerSecond` is then 0. */
  wasComplete: boolean;
}

/** Runs a stage to completion, continuing where an earlier run of the same work ended. */
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
      if (!readSpill(output)) {
        removeSpill(output);
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
  using pool = startWorkers(stage, numThreads);
  const threads = Array.from({ length: numThreads }, (_, thread) => thread);
  const state = readSpill(output) ?? await partitionRows(stage, output, { survey, threads, pool, hooks });
  const layout = new ShardLayout(numShards, state.subdivisions, ownShards);
  const queue: ShardQueue = {
    folder: output.folder,
    spill: state.indexes.map((index, i) => ({ path: rowsPath(output, i), index })),
    columns: state.columns,
    shards: layout.shards().filter((shard) => !isFinished(shard)),
    numTaken: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
  };
  const rowsIn = (partition: number) =>
    state.indexes.reduce((sum, { numRows }) => sum + numRows[partition], 0);
  const runsPath = (thread: number) => output.workPath(`spill/runs-${thread}.bin`);
  await runRound(stage, pool, {
    work: threads.map((thread) => ({ kind: "write", queue, runsPath: runsPath(thread) })),
    onShard: (shard) => output.add(shard),
    phase: "writing",
    total: queue.shards.flatMap(({ partitions }) => partitions).reduce((sum, each) => sum + rowsIn(each), 0),
  }, hooks);
}

/**
 * Content of `spill/index.json`. If it exists, the rows are divided, and a rerun does not read the input
 * again.
 */
interface SpillState {
  /** The index of each thread's spill file, in row order. */
  indexes: SpillIndex[];
  /** Partitions per shard. They depend on the memory limit of the run that wrote the spill files. */
  subdivisions: number;
  /** Names of the optional columns found. */
  columns: string[];
}

const SPILL_INDEX = "spill/index.json";

function rowsPath(output: Output, thread: number): string {
  return output.workPath(`spill/rows-${thread}.bin`);
}

/** Reads the state of complete spill files, from this run or an earlier run of the same work. */
function readSpill(output: Output): SpillState | undefined {
  const path = output.workPath(SPILL_INDEX);
  return exists(path) ? JSON.parse(readText(path)) : undefined;
}

function removeSpill(output: Output): void {
  // The index goes first, because the files that it describes are no longer complete.
  for (const path of [SPILL_INDEX, "spill"].map((name) => output.workPath(name))) {
    if (exists(path)) Deno.removeSync(path, { recursive: true });
  }
}

/** Divides the task's rows among spill files. Each thread reads consecutive rows into its own file. */
async function partitionRows(
  stage: ShardedStage,
  output: Output,
  { survey, threads, pool, hooks }: {
    survey: InputSurvey;
    threads: readonly number[];
    pool: StagePool;
    hooks: StageHooks;
  },
): Promise<SpillState> {
  removeSpill(output);
  Deno.mkdirSync(output.workPath("spill"), { recursive: true });
  const timeCuts = await timeCutsOf(stage, hooks);
  const [first, end] = shareOf(stage.rowShare, survey.numRows);
  const subdivisions = stage.subdivisions(end - first);
  const boundary = (i: number) => first + Math.floor((end - first) * i / threads.length);
  const work = threads.map((thread) => ({
    kind: "partition" as const,
    share: {
      rowRange: [boundary(thread), boundary(thread + 1)] as const,
      spillPath: rowsPath(output, thread),
      subdivisions,
      bufferBytes: stage.memoryLimitBytes * SPILL_BUFFER_SHARE / threads.length,
      timeCuts,
    },
  }));
  const round = { work, phase: "reading", total: end - first };
  const results = (await runRound(stage, pool, round, hooks)).filter((result) => result !== undefined);
  const rejects = new RejectLog();
  for (const result of results) rejects.merge(result.rejects);
  const numRowsRead = results.reduce((sum, result) => sum + result.numRowsRead, 0);
  const rejectsName = `rejects${taskSuffix(stage.task ?? ONLY_TASK)}.jsonl`;
  if (rejects.write(join(output.folder, rejectsName))) await output.record(rejectsName);
  rejects.check(numRowsRead, stage.maxRejectRatio);
  output.checkInputs();
  const rows = Object.fromEntries(
    SPLIT_NAMES.map((split) => [split, results.reduce((sum, result) => sum + result.rows[split], 0)]),
  );
  output.manifest.counts = { inputRows: numRowsRead, rows, ...(timeCuts ? { timeCuts } : {}) };
  output.manifest.rejected = rejects.counts;
  output.save();
  const columns = stage.columns.filter((column) => survey.columns.includes(column)).sort();
  const state = { indexes: results.map(({ index }) => index), subdivisions, columns };
  writeJsonAtomic(output.workPath(SPILL_INDEX), state);
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

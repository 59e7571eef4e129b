/**
 * The common part of `shard` and `probe-rows`: rows are divided over a spill file, then shard after shard is written
 * from it, with a manifest from which an interrupted run continues.
 *
 * @module
 */
import { join } from "@std/path";
import { shareOf } from "../../io/files/array_task.ts";
import { type InputSurvey, surveyInputs, timeColumn } from "../measurement_files/parquet_reader.ts";
import { RejectLog } from "../measurement_files/rejects.ts";
import { OutputRun, type SpillState } from "./output_run.ts";
import { PeakMemory } from "../../io/threads/peak_memory.ts";
import { type Shard, ShardLayout, shardsWithin } from "./shard_layout.ts";
import { type ShardedStage, type ShardQueue, StageThreads } from "./stage_threads.ts";
import { SPLIT_NAMES } from "./splits.ts";
import { EventLoopPacer, type StageHooks } from "../../io/threads/stage_hooks.ts";
import { NumberCursor } from "../../io/parquet/column.ts";
import { ParquetFile, type RowGroupRange } from "../../io/parquet/file.ts";
import type { NumberKind } from "../../io/parquet/encodings.ts";
import { END_TIME_US, MIN_TIME_US } from "../measurement/batch.ts";

// The first and last time of measurements in Parquet, the range that a split by time divides.
//
// Row groups whose footer has statistics of `event_time` are not read; of others only that column is read. Times that
// are null or outside 1990..2100 do not count; rows that are rejected for another reason do.

const BATCH_ROWS = 65_536;

/** The first and the last time, µs since 1970. */
export type TimeRangeUs = [firstUs: number, lastUs: number];

/**
 * Finds the range of event_time over all files.
 *
 * @param paths The files.
 * @param onStep Called now and then, so that the caller can yield to the event loop.
 * @returns The range, or undefined if there are no times.
 * @throws {FormatError} If a file is not Parquet, is damaged or lacks the column.
 */
export async function readTimeRangeUs(
  paths: readonly string[],
  onStep: () => Promise<void>,
): Promise<TimeRangeUs | undefined> {
  let range: TimeRangeUs | undefined;
  for (const path of paths) {
    using file = await ParquetFile.open(path);
    for (const group of file.rowGroups) {
      range = joined(range, statedRangeUs(file, group) ?? await scannedRangeUs(file, group, onStep));
    }
    await onStep();
  }
  return range;
}

/** The footer's range of a row group, if it is valid for the usable times. */
function statedRangeUs(file: ParquetFile, group: RowGroupRange): TimeRangeUs | undefined {
  const { name, kind } = timeColumn(file);
  const stated = file.integerRange(name, group);
  if (!stated) return undefined;
  const range: TimeRangeUs = [toMicros(stated[0], kind), toMicros(stated[1], kind)];
  return range.every(isUsable) ? range : undefined;
}

async function scannedRangeUs(
  file: ParquetFile,
  group: RowGroupRange,
  onStep: () => Promise<void>,
): Promise<TimeRangeUs | undefined> {
  const { name, kind } = timeColumn(file);
  const cursor = new NumberCursor(file.source, file.chunk(name, group), kind);
  let range: TimeRangeUs | undefined;
  for (let from = 0; from < group.numRows; from += BATCH_ROWS) {
    const { values, isNull } = cursor.read(Math.min(BATCH_ROWS, group.numRows - from));
    for (let row = 0; row < values.length; row++) {
      if (isNull?.[row] || !isUsable(values[row])) continue;
      range = joined(range, [values[row], values[row]]);
    }
    await onStep();
  }
  return range;
}

/** Converts like the values of the column, see parquet/encodings.ts. */
function toMicros(value: bigint, kind: NumberKind): number {
  if (kind === "nanos") return Number(value / 1000n);
  return Number(value) * (kind === "seconds" ? 1e6 : kind === "millis" ? 1e3 : 1);
}

function isUsable(timeUs: number): boolean {
  return timeUs >= MIN_TIME_US && timeUs < END_TIME_US;
}

function joined(a: TimeRangeUs | undefined, b: TimeRangeUs | undefined): TimeRangeUs | undefined {
  if (!a || !b) return a ?? b;
  return [Math.min(a[0], b[0]), Math.max(a[1], b[1])];
}

/** The rows that a thread reads in the 0.1 s that another thread needs to start. */
const MIN_ROWS_PER_THREAD = 50_000;
/** Share of the memory limit for rows waiting to be written, over all threads. */
const SPILL_BUFFER_SHARE = 1 / 8;

/** The result of a run; `splits` has the sums of the shards' counts with `shards` and `bytes`. */
export interface StageSummary {
  splits: Record<string, Record<string, number>>;
  rejected: Record<string, number>;
  inputRows: number;
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
  using run = new OutputRun(stage.output, { ...stage, options: stage.identity });
  const sumBySplit = () => run.sumBySplit("shards", stage.counted, SPLIT_NAMES);
  const wasComplete = run.output.isComplete;
  if (!wasComplete) {
    const watched: StageHooks = {
      ...hooks,
      onProgress(phase, done, total) {
        memory.sample();
        hooks.onProgress?.(phase, done, total);
      },
    };
    try {
      await writeShards(stage, run, watched);
    } catch (error) {
      run.discardIfUseless();
      throw error;
    }
    run.finish(sumBySplit());
  }
  const seconds = (performance.now() - startMs) / 1000;
  const inputRows = Number(run.output.manifest.counts.inputRows ?? 0);
  return {
    splits: sumBySplit(),
    rejected: run.output.manifest.rejected,
    inputRows,
    seconds,
    rowsPerSecond: wasComplete ? 0 : inputRows / seconds,
    peakMemoryBytes: memory.peakBytes,
    wasComplete,
  };
}

async function writeShards(stage: ShardedStage, run: OutputRun, hooks: StageHooks): Promise<void> {
  const { inputs, numShards, ownShards, shardName, workers = 1 } = stage;
  const isFinished = (shard: Shard) => run.output.finished(shardName(shard)) !== undefined;
  if (shardsWithin(numShards, ownShards).every(isFinished)) return;
  const survey = await surveyInputs(inputs);
  const [first, end] = shareOf(stage.rowShare, survey.numRows);
  const numThreads = Math.max(1, Math.min(workers, Math.floor((end - first) / MIN_ROWS_PER_THREAD)));
  using threads = new StageThreads(numThreads, stage);
  const state = run.earlierSpill() ?? await partitionRows(stage, run, { survey, threads, hooks });
  const layout = new ShardLayout(numShards, state.subdivisions, ownShards);
  const queue: ShardQueue = {
    folder: run.output.folder,
    spill: state.indexes.map((index, i) => ({ path: run.spillPath(i), index })),
    columns: state.columns,
    shards: layout.shards().filter((shard) => !isFinished(shard)),
    numTaken: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
  };
  await threads.run({
    work: Array.from({ length: numThreads }, (_, i) => ({ kind: "write", queue, runsPath: run.runsPath(i) })),
    onShard: (output) => run.add(output),
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
  run: OutputRun,
  { survey, threads, hooks }: { survey: InputSurvey; threads: StageThreads; hooks: StageHooks },
): Promise<SpillState> {
  run.beginSpill();
  const timeRangeUs = await timeRangeOf(stage, hooks);
  const [first, end] = shareOf(stage.rowShare, survey.numRows);
  const subdivisions = stage.subdivisions(end - first);
  const numShares = threads.numThreads;
  const boundary = (i: number) => first + Math.floor((end - first) * i / numShares);
  const shares = Array.from({ length: numShares }, (_, i) => ({
    rowRange: [boundary(i), boundary(i + 1)] as const,
    spillPath: run.spillPath(i),
    subdivisions,
    bufferBytes: stage.memoryLimitBytes * SPILL_BUFFER_SHARE / numShares,
    timeRangeUs,
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
  if (rejects.write(join(run.output.folder, run.rejectsName))) await run.record(run.rejectsName);
  rejects.check(numRowsRead, stage.maxRejectRatio);
  run.checkInputs();
  const columns = stage.columns.filter((column) => survey.columns.includes(column)).sort();
  const state = { indexes: results.map(({ index }) => index), subdivisions, columns };
  const rows = Object.fromEntries(
    SPLIT_NAMES.map((split) => [split, results.reduce((sum, result) => sum + result.rows[split], 0)]),
  );
  const counts = { inputRows: numRowsRead, rows, ...(timeRangeUs ? { timeRangeUs } : {}) };
  run.finishSpill(state, { counts, rejected: rejects.counts });
  return state;
}

async function timeRangeOf(stage: ShardedStage, hooks: StageHooks): Promise<[number, number] | undefined> {
  if (!("plan" in stage.splits) || stage.splits.plan.mode !== "time") return undefined;
  const pacer = new EventLoopPacer(hooks);
  return await readTimeRangeUs(stage.inputs, () => pacer.yieldToEventLoop());
}

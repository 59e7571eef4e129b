/**
 * Adds scores to the rows of measurement files.
 *
 * Rows are scored in the order of sources and times, as contexts require, in chunks that depend only on the
 * rows. Scores are stored in input order. An interrupted run resumes after its last saved chunk and writes
 * the same bytes. At the end the input is read again and written with the score columns.
 *
 * @module
 */
import { writeJsonAtomic } from "../../io/files/atomic.ts";
import { exists, fingerprint, type InputFingerprint, readText } from "../../io/files/inputs.ts";
import { type Score, type ScoreCase, type ScoredModel, scoreResults } from "../score/score_results.ts";
import { LossRuns } from "../score/loss_runs.ts";
import { NormalPValues } from "../score/normal_p_values.ts";
import { createHash } from "node:crypto";
import { SourceHistory } from "../../data/tokens/source_history.ts";
import { FAILED_RTT_MS } from "../../data/formats/batch.ts";
import { UserError } from "../../base/errors.ts";
import { parseAddress } from "../../data/addresses/ip.ts";
import { surveyInputs } from "../../data/measurement_files/parquet_reader.ts";
import { MeasurementParquetWriter } from "../../data/measurement_files/parquet_writer.ts";
import { RejectLog, rejectsPathBeside } from "../../data/measurement_files/rejects.ts";
import type { GroupKey } from "../../data/probe_rows/external_sort/probe_columns.ts";
import type { SpillIndex } from "../../data/probe_rows/external_sort/spill.ts";
import { EventLoopPacer, type StageHooks } from "../../io/threads/stage_hooks.ts";
import { WorkerPool } from "../../io/threads/worker_pool.ts";
import type { PingModel } from "../ping_model.ts";
import { NumberCursor } from "../../io/parquet/column.ts";
import { ParquetFile } from "../../io/parquet/file.ts";
import { NumberTable } from "./number_table.ts";
import { orderRows, readOrdered, readRows } from "./ordered_rows.ts";
import { type ScoreFindings, ScoreTally } from "./score_findings.ts";

export const SCORE_COLUMNS: readonly string[] = ["log_likelihood", "p_value", "loss_run_p_value"];

/** Rows per chunk: a few seconds on two cores. A chunk's contexts of one pair are read in one pass. */
const CHUNK_ROWS = 2048;
const MAX_WORKERS = 4;
/** Resident memory without workers, and per worker except for its weights, which are on the GPU too. */
const [RUNTIME_BYTES, WORKER_BYTES] = [4e8, 5e8];
const CHUNKS_PER_WORKER = 2;
const WORKER = new URL("./score_worker.ts", import.meta.url);
const COMMIT_MS = 1000;

export interface ScoreFileOptions {
  /** Sorted Parquet files. */
  inputs: readonly string[];
  /** Parquet files with further measurements, which are known when later ones are scored. */
  history: readonly string[];
  output: string;
  maxContext: number;
  groupBy: GroupKey;
  /** Seed of the random share of equally probable results in p-values. */
  seed: number;
  /** Corrects p-values (default: no correction). */
  normal?: NormalPValues | undefined;
  /** Folder for unfinished work on the same files, model and options; created if missing. */
  workFolder: string;
  maxRejectRatio: number;
  memoryLimitBytes: number;
  /** Threads that score, each with its own device (default: this thread). Scores do not depend on it. */
  workers?: { readonly count: number; readonly model: ScoredModel };
}

interface ScoreSummary {
  rows: number;
  /** Mean of -log2 P(result | source, destination, time, context). */
  meanBits: number;
  findings: ScoreFindings;
  /** Number of input rows left out, by reason. */
  rejected: Record<string, number>;
  /** Rows scored by an earlier, interrupted run. */
  rowsResumed: number;
}

/** Hexadecimal SHA-256 of a model's configuration and weights. */
export function digestOfModel({ config, weights }: Pick<PingModel, "config" | "weights">): string {
  const hash = createHash("sha256").update(JSON.stringify(config));
  for (const [name, values] of [...weights].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(name).update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }
  return hash.digest("hex");
}

/**
 * Scores files, resuming an earlier run with the same work folder.
 *
 * @throws {UserError} If the input or output cannot be used, or too many rows are rejected.
 */
export async function scoreFile(
  model: PingModel,
  options: ScoreFileOptions,
  hooks: StageHooks = {},
): Promise<ScoreSummary> {
  const { workFolder: folder } = options;
  const order = await orderOnce(folder, options, hooks);
  // The scores on disk, in input order.
  using table = new NumberTable(`${folder}/scores.bin`, SCORE_COLUMNS.length);
  const rowsResumed = table.numDone;
  await scoreOrdered(model, { folder, order, table }, { ...options, hooks });
  const isMisplaced = (text: string) => {
    const address = parseAddress(text);
    return address !== undefined && model.isMisplaced(address);
  };
  const written = await writeScored(table, order, { ...options, hooks, isMisplaced });
  return { ...written, rowsResumed };
}

/**
 * Reads the p-values of measurements that are assumed to be normal.
 *
 * @param path An output of `score`.
 * @throws {UserError} If it has no p-values.
 */
export async function readNormal(path: string): Promise<NormalPValues> {
  using file = await ParquetFile.open(path);
  const columns: [pValues: number[], rttsMs: number[]] = [[], []];
  for (const group of file.column("p_value")?.type === "DOUBLE" && file.column("rtt") ? file.rowGroups : []) {
    ["p_value", "rtt"].forEach((name, at) => {
      const cursor = new NumberCursor(file.source, file.chunk(name, group), "number");
      for (const value of cursor.read(group.numRows).values) columns[at].push(value);
    });
  }
  const [pValues, rttsMs] = columns;
  if (pValues.length > 0 && pValues.every((p) => p > 0 && p <= 1)) {
    return new NormalPValues(Float64Array.from(pValues), (i) => rttsMs[i] === FAILED_RTT_MS);
  }
  const found = pValues.length > 0 ? "p-values that are not in (0, 1]" : "no p-values";
  throw new UserError(
    `Cannot correct p-values by ${path}: found ${found}, expected an output of score; score normal measurements first`,
  );
}

interface Order {
  index: SpillIndex;
  numRows: number;
  /** Fingerprints of the files when their rows were sorted. */
  files: InputFingerprint[];
}

/** Sorts the rows unless an earlier run did. */
async function orderOnce(folder: string, options: ScoreFileOptions, hooks: StageHooks): Promise<Order> {
  const path = `${folder}/sorted.json`;
  if (exists(path)) return JSON.parse(readText(path));
  const { inputs, history, groupBy, memoryLimitBytes, maxRejectRatio } = options;
  Deno.mkdirSync(folder, { recursive: true });
  const files = inputs.map((input) => fingerprint(input));
  const { numRows: numAll } = await surveyInputs([...inputs, ...history]);
  const rejects = new RejectLog();
  try {
    const { index, numRows, numRowsRead } = await orderRows(
      { inputs, history, groupBy },
      { folder, memoryLimitBytes, rejects, numRows: numAll, hooks },
    );
    rejects.check(numRowsRead, maxRejectRatio);
    const order: Order = { index, numRows, files };
    writeJsonAtomic(path, order);
    return order;
  } catch (error) {
    Deno.removeSync(folder, { recursive: true });
    throw error;
  }
}

async function scoreOrdered(
  model: PingModel,
  { folder, order, table }: { folder: string; order: Order; table: NumberTable },
  options: ScoreFileOptions & { hooks: StageHooks },
): Promise<void> {
  const { maxContext, hooks } = options;
  using scorers = scorersOf(model, order.numRows - table.numDone, options);
  const history = new SourceHistory(maxContext, model.config.sequenceLength);
  const pacer = new EventLoopPacer(hooks);
  let chunk: ScoreCase[] = [];
  let rows: ScoredPlace[] = [];
  let numSources = 0;
  let numSeen = 0;
  const numDone = table.numDone;
  let numScored = numDone;
  // The first chunk is saved at once.
  let committedMs = -Infinity;
  const runs = new LossRuns();
  const coming: { rows: ScoredPlace[]; scores: Promise<Score[]> }[] = [];
  const askChunk = () => {
    const scores = scorers.score(chunk);
    scores.catch(() => {}); // Thrown where they are taken.
    coming.push({ rows, scores });
    chunk = [];
    rows = [];
  };
  const takeChunk = async () => {
    const { rows, scores } = coming[0];
    (await scores).forEach(({ logLikelihood, pValue }, i) => {
      const { number, pair, isLost } = rows[i];
      const ofRun = runs.add(pair, isLost, logLikelihood);
      table.write(number, Float64Array.of(logLikelihood, pValue, ofRun));
    });
    coming.shift();
    numScored += rows.length;
    hooks.onProgress?.("scoring", numScored, order.numRows);
    if (performance.now() - committedMs < COMMIT_MS && !hooks.signal?.aborted) return;
    table.commit(numScored);
    committedMs = performance.now();
    hooks.signal?.throwIfAborted();
  };
  hooks.onProgress?.("scoring", numScored, order.numRows);
  for (const { number, isFirstOfSource, timeUs, pair, measurement } of readOrdered(folder, order.index)) {
    if (isFirstOfSource) {
      history.clear();
      numSources++;
    }
    // Rows that are already scored still need their context, which later rows extend.
    const context = number === undefined ? [] : history.growingContextOf(pair, timeUs, measurement);
    const place = { pair: `${numSources} ${pair}`, isLost: measurement.rttCode === null };
    if (number !== undefined && numSeen++ < numDone) {
      runs.add(place.pair, place.isLost, table.read(number, 1)[0]);
    } else if (number !== undefined) {
      chunk.push({ measurement, context, number });
      rows.push({ number, ...place });
      if (chunk.length >= CHUNK_ROWS) askChunk();
      while (coming.length >= scorers.numAhead) await takeChunk();
    }
    history.add(pair, timeUs, measurement);
    await pacer.yieldToEventLoop();
  }
  if (chunk.length > 0) askChunk();
  while (coming.length > 0) await takeChunk();
  table.commit(numScored);
}

interface ScoredPlace {
  readonly number: number;
  /** Identifies the pair, separately for each source. */
  readonly pair: string;
  readonly isLost: boolean;
}

/** Scores chunks of rows; up to `numAhead` of them may be in flight. */
interface Scorers extends Disposable {
  readonly numAhead: number;
  score(cases: ScoreCase[]): Promise<Score[]>;
}

/** Workers, or this thread if there are few rows. */
function scorersOf(
  model: PingModel,
  numRows: number,
  { seed, workers, memoryLimitBytes, hooks: { signal } }: ScoreFileOptions & { hooks: StageHooks },
): Scorers {
  const weightBytes = [...model.weights.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
  const numInMemory = Math.floor((memoryLimitBytes - RUNTIME_BYTES) / (WORKER_BYTES + 2 * weightBytes));
  const numChunks = Math.ceil(numRows / CHUNK_ROWS);
  const numWorkers = Math.min(workers?.count ?? 1, MAX_WORKERS, numInMemory, numChunks);
  if (!workers || numWorkers < 2) {
    const score = async (cases: ScoreCase[]) => (await scoreResults(model, cases, { seed })).scores;
    return { numAhead: 1, score, [Symbol.dispose]: () => {} };
  }
  const { engine } = model.gpu.info;
  const pool = new WorkerPool<ScoreCase[], Score[]>({ ...workers.model, engine, seed }, {
    name: "score",
    module: WORKER,
    numWorkers,
    signal,
  });
  let numAsked = 0;
  return {
    numAhead: CHUNKS_PER_WORKER * numWorkers,
    score: (cases) => pool.ask(numAsked++ % numWorkers, cases),
    [Symbol.dispose]: () => pool[Symbol.dispose](),
  };
}

async function writeScored(
  table: NumberTable,
  { numRows, files }: Order,
  options: ScoreFileOptions & { hooks: StageHooks; isMisplaced: (address: string) => boolean },
): Promise<Omit<ScoreSummary, "rowsResumed">> {
  const { inputs, output, groupBy, normal, hooks } = options;
  const pacer = new EventLoopPacer(hooks);
  const rejects = new RejectLog();
  const { columns } = await surveyInputs(inputs);
  using writer = MeasurementParquetWriter.create(output, {
    optionalColumns: columns,
    numberColumns: SCORE_COLUMNS,
  });
  let sumNats = 0;
  const tally = new ScoreTally(undefined, options.isMisplaced);
  for await (const { batch } of readRows(inputs, { groupBy, columns }, rejects)) {
    if (writer.numRows + batch.numRows > numRows) break;
    const scores = table.read(writer.numRows, batch.numRows);
    const added = SCORE_COLUMNS.map((_, at) => scores.filter((_, i) => i % SCORE_COLUMNS.length === at));
    const [logLikelihood, pValue, lossRunPValue] = added;
    if (normal) {
      pValue.forEach((p, i) => pValue[i] = normal.corrected(p, batch.rttMs[i] === FAILED_RTT_MS));
    }
    for (const nats of logLikelihood) sumNats -= nats;
    for (let i = 0; i < batch.numRows; i++) {
      tally.add({
        src: batch.srcAddr[i],
        dst: batch.dstAddr[i],
        timeUs: batch.eventTimeUs[i],
        rttMs: batch.rttMs[i],
        logLikelihood: logLikelihood[i],
        pValue: pValue[i],
        lossRunPValue: lossRunPValue[i],
      });
    }
    writer.append(batch, added);
    hooks.onProgress?.("writing", writer.numRows, numRows);
    await pacer.yieldToEventLoop();
  }
  checkUnchanged(files, writer.numRows === numRows);
  rejects.write(rejectsPathBeside(output));
  const { rows } = writer.close();
  const meanBits = sumNats / Math.LN2 / Math.max(1, rows);
  return { rows, meanBits, findings: tally.findings(), rejected: rejects.counts };
}

/** @throws {UserError} If an input changed after its rows were sorted. */
function checkUnchanged(files: readonly InputFingerprint[], hasSameRows: boolean): void {
  const changed = files.find(({ path, sizeBytes, mtimeMs }) => {
    const now = fingerprint(path);
    return now.sizeBytes !== sizeBytes || now.mtimeMs !== mtimeMs;
  });
  if (!changed && hasSameRows) return;
  const { path } = changed ?? files[0];
  throw new UserError(
    `Cannot score ${path}: it changed while it was being read; run again when it is complete`,
  );
}

/**
 * The rows of measurement files with their scores as one more file.
 *
 * Rows are scored in the order of sources and time, because their contexts are of that order, in chunks that depend
 * on nothing but the rows; their scores are put at their places of the input's order (score_table.ts). So a run
 * that was killed goes on after its last safe chunk and ends with the same bytes. Last the input is read again and
 * written with the two columns.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { SourceHistory } from "../context/source_history.ts";
import { UserError } from "../errors.ts";
import { writeJsonAtomic } from "../files/atomic.ts";
import { exists, fingerprint, type InputFingerprint, readText } from "../files/inputs.ts";
import { surveyInputs } from "../measurement/parquet_reader.ts";
import { MeasurementParquetWriter } from "../measurement/parquet_writer.ts";
import { RejectLog, rejectsPathBeside } from "../measurement/rejects.ts";
import type { GroupKey } from "../external_sort/probe_columns.ts";
import type { SpillIndex } from "../external_sort/spill.ts";
import { Breather, type StageHooks } from "../threads/stage_hooks.ts";
import type { PingModel } from "../query/ping_model.ts";
import { type OrderedRowsInput, orderRows, readOrdered, readRows } from "./ordered_rows.ts";
import { type ScoreCase, scoreResults } from "./score_results.ts";
import { ScoreTable } from "./score_table.ts";

/** The columns that are added, in their order. */
export const SCORE_COLUMNS: readonly string[] = ["log_likelihood", "p_value"];

/** A chunk has as many measurements, those of contexts included: some 30,000 tokens; a few seconds on two cores. */
const CHUNK_MEASUREMENTS = 2048;
/** Scores are made safe at least so often, where a chunk takes less. */
const COMMIT_MS = 1000;

/** What is scored, and how. */
export interface ScoreFileOptions {
  /** Parquet files, sorted. */
  inputs: readonly string[];
  /** Parquet files with further measurements that are known when later ones are scored. */
  history: readonly string[];
  /** The Parquet file to write. */
  output: string;
  /** How many measurements of context at most. */
  maxContext: number;
  /** What tells sources apart. */
  groupBy: GroupKey;
  /** Of the draws that share out ties of p-values. */
  seed: number;
  /** Where the work is kept until it is done; it is of the same files, model and options, or not there. */
  workFolder: string;
  /** Largest share of rows that may be rejected. */
  maxRejectRatio: number;
  memoryLimitBytes: number;
}

/** What was scored. */
export interface ScoreSummary {
  /** Rows of the output. */
  rows: number;
  /** Mean of -log2 P(result | source, destination, time, context). */
  meanBits: number;
  /** Rows of the input that were left out, by reason. */
  rejected: Record<string, number>;
  /** How many rows were scored by an earlier run that did not end. */
  rowsResumed: number;
}

/** The SHA-256 of a model's configuration and weights, in hexadecimal digits. */
export function digestOfModel({ config, weights }: Pick<PingModel, "config" | "weights">): string {
  const hash = createHash("sha256").update(JSON.stringify(config));
  for (const [name, values] of [...weights].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(name).update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }
  return hash.digest("hex");
}

/**
 * Scores files; goes on where an earlier run with the same work folder ended.
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
  using table = ScoreTable.open(`${folder}/scores.bin`);
  const rowsResumed = table.numDone;
  await scoreOrdered(model, { folder, order, table }, { ...options, hooks });
  const written = await writeScored(table, order, { ...options, hooks });
  return { ...written, rowsResumed };
}

interface Order {
  index: SpillIndex;
  numRows: number;
  /** The files, as they were when their rows were put in order. */
  files: InputFingerprint[];
}

/** Puts the rows in order, unless an earlier run did. */
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
      { inputs, history, groupBy, columns: [] },
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

/** Rows that are scored together. */
class Chunk {
  cases: ScoreCase[] = [];
  #numMeasurements = 0;

  get isFull(): boolean {
    return this.#numMeasurements >= CHUNK_MEASUREMENTS;
  }

  add(next: ScoreCase): void {
    this.cases.push(next);
    this.#numMeasurements += 1 + next.context.length;
  }
}

async function scoreOrdered(
  model: PingModel,
  { folder, order, table }: { folder: string; order: Order; table: ScoreTable },
  { maxContext, seed, hooks }: { maxContext: number; seed: number; hooks: StageHooks },
): Promise<void> {
  const history = new SourceHistory(maxContext);
  const breather = new Breather(hooks);
  let chunk = new Chunk();
  let [numSeen, numScored, committedMs] = [0, table.numDone, performance.now()];
  const scoreChunk = async () => {
    const { scores } = await scoreResults(model, chunk.cases, { seed });
    table.write(chunk.cases.map(({ number }) => number), scores);
    numScored += chunk.cases.length;
    chunk = new Chunk();
    hooks.onProgress?.("scoring", numScored, order.numRows);
    if (performance.now() - committedMs < COMMIT_MS && !hooks.signal?.aborted) return;
    table.commit(numScored);
    committedMs = performance.now();
    hooks.signal?.throwIfAborted();
  };
  hooks.onProgress?.("scoring", numScored, order.numRows);
  for (const { number, isFirstOfSource, timeUs, pair, measurement } of readOrdered(folder, order.index)) {
    if (isFirstOfSource) history.clear();
    // What is scored already is history only.
    if (number !== undefined && numSeen++ >= numScored + chunk.cases.length) {
      chunk.add({ measurement, context: history.contextOf(pair, timeUs), number });
      if (chunk.isFull) await scoreChunk();
    }
    history.add(pair, timeUs, measurement);
    await breather.breathe();
  }
  if (chunk.cases.length > 0) await scoreChunk();
  table.commit(numScored);
}

async function writeScored(
  table: ScoreTable,
  { numRows, files }: Order,
  options: ScoreFileOptions & { hooks: StageHooks },
): Promise<Omit<ScoreSummary, "rowsResumed">> {
  const { inputs, output, groupBy, hooks } = options;
  const breather = new Breather(hooks);
  const rejects = new RejectLog();
  const { columns } = await surveyInputs(inputs);
  using writer = MeasurementParquetWriter.create(output, {
    optionalColumns: columns,
    numberColumns: SCORE_COLUMNS,
  });
  let sumNats = 0;
  const input: Pick<OrderedRowsInput, "groupBy" | "columns"> = { groupBy, columns };
  for await (const { batch } of readRows(inputs, input, rejects)) {
    if (writer.numRows + batch.numRows > numRows) break;
    const { logLikelihood, pValue } = table.read(writer.numRows, batch.numRows);
    for (const nats of logLikelihood) sumNats -= nats;
    writer.append(batch, [logLikelihood, pValue]);
    hooks.onProgress?.("writing", writer.numRows, numRows);
    await breather.breathe();
  }
  checkUnchanged(files, writer.numRows === numRows);
  rejects.write(rejectsPathBeside(output));
  const { rows } = writer.close();
  return { rows, meanBits: sumNats / Math.LN2 / Math.max(1, rows), rejected: rejects.counts };
}

/** @throws {UserError} If an input is another than when its rows were put in order. */
function checkUnchanged(files: readonly InputFingerprint[], hasSameRows: boolean): void {
  const changed = files.find(({ path, sizeBytes, mtimeMs }) => {
    const now = fingerprint(path);
    return now.sizeBytes !== sizeBytes || now.mtimeMs !== mtimeMs;
  });
  if (!changed && hasSameRows) return;
  throw new UserError(
    `Cannot score ${
      (changed ?? files[0]).path
    }: it changed while it was read, an unchanging file was wanted; ` +
      "run again when it is complete",
  );
}

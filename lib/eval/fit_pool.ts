/**
 * Fits a checkpoint's pool: builds tables of the pairs and addresses in its training data, and chooses the
 * weights of the model and of the simple forecasts on measurements of validation splits.
 *
 * @module
 */
import { join } from "@std/path";
import { named, UserError } from "../base/errors.ts";
import type { ProbeRowSource } from "../data/loader/row_source.ts";
import { probeOf } from "../data/probe_rows/probe_row.ts";
import { FAILED_RTT_MS } from "../data/formats/batch.ts";
import { addressBytes } from "../data/addresses/ip.ts";
import type { KnownAddresses } from "../data/addresses/known_addresses.ts";
import { encodeRttCode } from "../data/tokens/rtt_code.ts";
import type { CheckedOutputs } from "../io/files/checked_outputs.ts";
import { exists } from "../io/files/inputs.ts";
import { EventLoopPacer, type StageHooks } from "../io/threads/stage_hooks.ts";
import { AddressEmbeddings } from "../model/address_embeddings.ts";
import type { PlaceOf } from "../model/pool/forecast.ts";
import { type FailureCase, fitFailures } from "../model/pool/no_reply.ts";
import type { IdentityCounts } from "../model/pool/identities.ts";
import { indexOfCode } from "../model/pool/kernel_mixture.ts";
import { MOVED } from "../model/pool/moved_places.ts";
import { Pool, pooledProbability } from "../model/pool/pool.ts";
import type { PoolWeights } from "../model/pool/forecasts.ts";
import { fitPool, type PoolCase, probabilitiesOf } from "../model/pool/pool_fit.ts";
import { type PoolTableOptions, PoolTables } from "../model/pool/pool_tables.ts";
import { PingModel } from "../query/ping_model.ts";
import { contextThatFits, type RttQuery } from "../query/query_tokens.ts";
import { loadCheckpoint } from "../train/checkpoint.ts";
import { POOL_FILE, writePool } from "../train/checkpoint_files.ts";
import { drawCases, type EvalCase, queryOf, withContexts } from "./cases.ts";
import { type EvalRows, openEvalRows, splitModeOf } from "./eval_rows.ts";
import { forecastRtts } from "./sections/rtt_forecasts.ts";

/** Context sizes of the questions, in rotation. */
const CONTEXTS = [0, 1, 2, 5, 10, 20];
/** Probability that may be spread over unlikely codes rather than computed; the measured code's is exact. */
const MAX_SPREAD_MASS = 0.05;
/** Cases whose queries are in memory at a time. */
const CASES_AT_ONCE = 512;

export interface FitPoolOptions {
  /** One checkpoint's folder. */
  readonly checkpoint: string;
  /** Probe rows whose `train` split it was trained on, or one folder per campaign. */
  readonly dataDir: string | readonly string[];
  /** Probe rows whose `val` split chooses the weights; folders without one are skipped. */
  readonly validationDirs: readonly string[];
  /** Manifests of the rows (default: read from the folders). */
  readonly checked?: CheckedOutputs | undefined;
  /** How damaged chunks are treated (error). */
  readonly onCorrupt?: "error" | "skip" | undefined;
  /** Maximum number of measurements that the weights are chosen on. */
  readonly maxMeasurements: number;
  /** The size of the remembered measurements, MB (64). */
  readonly memoryMb?: number | undefined;
  readonly seed: number;
}

export interface FittedPool {
  readonly numMeasurements: number;
  /** Mean -log2 P(code | a reply) over these questions, by the model and by the pool. */
  readonly modelBits: number;
  readonly poolBits: number;
  readonly identities: IdentityCounts;
  /** Addresses whose RTTs show that they are elsewhere than the database says. */
  readonly numMoved: number;
}

/**
 * Fits the pool of a checkpoint and writes it into its folder.
 *
 * @returns Undefined if the checkpoint already has a pool, its vocabulary is v1, or there is nothing to fit
 *   to.
 * @throws {UserError} If the checkpoint or the rows cannot be used, or the checkpoint is adapted.
 */
export async function fitPoolOf(
  options: FitPoolOptions,
  hooks: StageHooks = {},
): Promise<FittedPool | undefined> {
  if (exists(join(options.checkpoint, POOL_FILE))) return undefined;
  const checkpoint = loadCheckpoint(options.checkpoint);
  if (checkpoint.config.model.vocabulary === "v1") return undefined;
  if (checkpoint.adapted) {
    throw new UserError(
      `Cannot fit a pool to ${options.checkpoint}: it is adapted, expected a checkpoint of a run; use its base`,
    );
  }
  const during = (phase: string) => (done: number, total: number) => hooks.onProgress?.(phase, done, total);
  const embeddings = new AddressEmbeddings(checkpoint.config.model);
  embeddings.load(checkpoint.weights);
  const placeOf = (address: string) => embeddings.placeOf(addressBytes(address));
  const drawn: EvalCase[] = [];
  let tables: PoolTables | undefined;
  for await (const { rows, draw } of validationSplits(options, hooks)) {
    tables ??= await rememberedOf(
      rows.training,
      placeOf,
      { seed: options.seed, memoryMb: options.memoryMb, onProgress: during("learning from pairs") },
      {
        ...hooks,
        onRow: during("remembering RTTs"),
      },
    );
    drawn.push(...await draw());
  }
  if (!tables || tables.isEmpty) return undefined;
  const all = [...answered(drawn), ...drawn.filter(({ rttMs }) => rttMs === null)];
  const asked = asMeasured(all, checkpoint.trainingData.known);
  using model = await PingModel.from(checkpoint, { noPool: true });
  const unfitted = new Pool(model.config, { weights: model.weights, pool: tables.save(fitPool([])) });
  const { cases, failures } = await casesOf(model, unfitted, asked, {
    onProgress: during("fitting the pool"),
    signal: hooks.signal,
  });
  if (cases.length === 0) return undefined;
  const fitted = fitPool(cases);
  const saved = tables.save(fitted, fitFailures(failures));
  writePool(checkpoint.directory, saved, checkpoint.state.files.model.sha256);
  const [moved, { length: width }] = MOVED;
  return {
    numMeasurements: cases.length,
    identities: tables.identities.counts(),
    numMoved: (saved.get(moved)?.length ?? 0) / width,
    ...bitsOf(cases, fitted),
  };
}

/**
 * Scores a checkpoint, with its pool if it has one, on validation splits: the mean continuous ranked
 * probability score in ms, by what a split holds out, such as `pair`.
 */
export async function validationErrors(
  options: FitPoolOptions,
  hooks: StageHooks = {},
): Promise<Record<string, number>> {
  using model = await PingModel.from(loadCheckpoint(options.checkpoint));
  const errors: Record<string, number> = {};
  for await (const { name, draw } of validationSplits(options, hooks)) {
    const cases = answered(await draw());
    const { crpsMs } = await forecastRtts(model, cases, {
      contexts: CONTEXTS,
      maxSpreadMass: MAX_SPREAD_MASS,
      onProgress: (done, total) => hooks.onProgress?.(`validating ${name}`, done, total),
      signal: hooks.signal,
    });
    const sum = crpsMs.reduce((sum, each) => sum + each, 0);
    if (sum > 0) errors[name] = sum / crpsMs.length;
  }
  return errors;
}

/** Opens the validation splits one after the other; `draw` draws their share of the measurements. */
async function* validationSplits(
  { dataDir, validationDirs, checked, onCorrupt, maxMeasurements, seed }: FitPoolOptions,
  { signal }: StageHooks,
): AsyncGenerator<{ name: string; rows: EvalRows; draw: () => Promise<EvalCase[]> }> {
  const dirs = validationDirs.filter((dir) => exists(join(dir, "val")));
  const modes = dirs.map((dir) => splitModeOf(dir));
  for (const [i, dir] of dirs.entries()) {
    const mode = modes[i];
    const isOnly = modes.indexOf(mode) === modes.lastIndexOf(mode);
    using rows = await openEvalRows(dir, {
      split: "val",
      trainDir: dataDir,
      checked,
      onCorrupt,
      history: mode ? undefined : "all",
      // The test split must not be read.
      withoutOthers: true,
    });
    const count = Math.ceil(maxMeasurements / dirs.length);
    const draw = () => drawCases(rows, { count, maxContext: Math.max(...CONTEXTS), seed, signal });
    yield { name: mode && isOnly ? mode : dir, rows, draw };
  }
}

async function rememberedOf(
  rows: ProbeRowSource,
  placeOf: PlaceOf,
  options: PoolTableOptions,
  hooks: Pick<StageHooks, "signal"> & { onRow: (done: number, total: number) => void },
): Promise<PoolTables> {
  const tables = new PoolTables(placeOf, options);
  const pacer = new EventLoopPacer(hooks);
  for (let r = 0; r < rows.numRows; r++) {
    const row = rows.row(r);
    const { srcAddrs, srcIndex, dstAddrs, dstIndex, rttMs, eventTimeUs } = row;
    const [sources, destinations] = [srcAddrs, dstAddrs].map((names) =>
      names.map((name) => PoolTables.endOf(addressBytes(name)))
    );
    const probe = probeOf(row);
    if (probe !== undefined) { for (const { hashes } of sources) tables.identities.add(hashes, probe); }
    for (let i = 0; i < rttMs.length; i++) {
      const rttCode = rttMs[i] === FAILED_RTT_MS ? null : encodeRttCode(rttMs[i]);
      tables.add(sources[srcIndex[i]], destinations[dstIndex[i]], rttCode, Math.floor(eventTimeUs[i] / 1e6));
    }
    hooks.onRow(r + 1, rows.numRows);
    await pacer.yieldToEventLoop();
  }
  return tables;
}

function answered(drawn: readonly EvalCase[]): EvalCase[] {
  return drawn.filter(({ rttMs }) => rttMs !== null);
}

interface Asked {
  readonly query: RttQuery;
  /** Null for no reply. */
  readonly rttCode: number | null;
  /** The addresses that are unknown; the pair if both are known. */
  readonly subject: string;
}

/** Largest total weight of questions about one subject: one unknown address may not represent others. */
const MAX_OF_SUBJECT = 4;

/** Asks half of the questions as users do: with the RTTs of the pair that the checkpoint remembers. */
function asMeasured(drawn: readonly EvalCase[], known: KnownAddresses): Asked[] {
  return withContexts(drawn.length, { contexts: CONTEXTS }).map(({ index, context }) => {
    const { recent, ...query } = queryOf(drawn[index], context);
    const isGiven = recent && Math.floor(index / CONTEXTS.length) % 2 === 0;
    const isUnknown = [query.source, query.destination].map((address) => !known.address(address));
    return {
      query: isGiven ? { ...query, recent } : query,
      rttCode: drawn[index].measurement.rttCode,
      subject: subjectOf(drawn[index], isUnknown),
    };
  });
}

/** @param isUnknown Whether the source and the destination are unknown. */
function subjectOf({ srcAddr, dstAddr }: EvalCase, isUnknown: readonly boolean[]): string {
  const ends = [srcAddr, dstAddr];
  return isUnknown.some(Boolean) ? ends.map((end, i) => isUnknown[i] ? end : "").join(">") : ends.join(">");
}

/** A case, and the probability that the model alone gives to its code. */
interface PooledAnswer extends PoolCase {
  readonly probability: number;
}

async function casesOf(
  model: PingModel,
  pool: Pool,
  asked: readonly Asked[],
  { onProgress, signal }: {
    onProgress: (done: number, total: number) => void;
    signal: AbortSignal | undefined;
  },
): Promise<{ cases: PooledAnswer[]; failures: FailureCase[] }> {
  const cases: PooledAnswer[] = [];
  const failures: FailureCase[] = [];
  // Subjects of RTTs count replies; subjects of failures count all questions.
  const counts = new Map<string, number>();
  const count = (subject: string) => counts.set(subject, (counts.get(subject) ?? 0) + 1);
  for (const { subject, rttCode } of asked) {
    count(`tried ${subject}`);
    if (rttCode !== null) count(subject);
  }
  const weightOf = (subject: string) => Math.min(1, MAX_OF_SUBJECT / named(counts, subject));
  for (let first = 0; first < asked.length; first += CASES_AT_ONCE) {
    const part = asked.slice(first, first + CASES_AT_ONCE);
    const options = { maxSpreadMass: MAX_SPREAD_MASS, codes: part.map(({ rttCode }) => rttCode) };
    await model.likelyRttDistributions(part.map(({ query }) => query), ({ pFailed, probabilities }, i) => {
      const { query, rttCode, subject } = part[i];
      const question = { ...query, context: contextThatFits(query, model.config.sequenceLength) };
      const ofFailures = pool.failureCaseOf(question, pFailed);
      if (ofFailures) {
        failures.push({
          ...ofFailures,
          isFailed: rttCode === null,
          weight: weightOf(`tried ${subject}`),
        });
      }
      if (rttCode !== null) {
        cases.push({
          ...pool.caseOf(question, probabilities, rttCode),
          weight: weightOf(subject),
          probability: probabilities[indexOfCode(rttCode)],
        });
      }
      onProgress(first + i + 1, asked.length);
    }, options);
    signal?.throwIfAborted();
  }
  return { cases, failures };
}

/** Mean -log2 of the probabilities that the model and the pool give to the codes. */
function bitsOf(
  cases: readonly PooledAnswer[],
  weights: PoolWeights,
): Pick<FittedPool, "modelBits" | "poolBits"> {
  let [ofModel, ofPool] = [0, 0];
  for (const each of cases) {
    ofModel -= Math.log2(each.probability);
    const { near, others } = probabilitiesOf(each, each.events[0], weights);
    ofPool -= Math.log2(pooledProbability(near + others, 1));
  }
  return { modelBits: ofModel / cases.length, poolBits: ofPool / cases.length };
}

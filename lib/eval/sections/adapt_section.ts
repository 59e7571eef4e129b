/**
 * The section on new addresses, which are not in the training set: how well their RTTs are predicted after
 * the model is adapted to a few measurements of each, compared with baselines that learn from the same
 * measurements.
 *
 * Up to 64 addresses are drawn. The given replies are to or from known addresses. The predicted ones are the
 * same for every number of given replies, and have no context. The baselines are trained again for every
 * number.
 *
 * @module
 */
import { UsageError } from "../../base/errors.ts";
import type { SplitMode } from "../../data/probe_rows/splits.ts";
import type { RunConfig } from "../../train/run_config.ts";
import type { Baseline, BaselineMeasurement, Tuning } from "../baselines/baseline.ts";
import type { EvalRows } from "../eval_rows.ts";
import { ClusterBootstrap } from "../metrics/bootstrap.ts";
import { type ErrorMetrics, scoreErrors } from "../metrics/forecast_errors.ts";
import { MeasurementTable } from "../baselines/measurement_table.ts";
import type { RttComparison } from "../metrics/rtt_comparison.ts";
import {
  type BaselineMetrics,
  compareForecasts,
  type Resampling,
  resamplingOf,
  type RttMetrics,
  type RttSection,
} from "./rtt_section.ts";
import { type BaselineForecasts, forecastsOf, merged } from "../baselines/baseline_forecasts.ts";
import { canonicalText, casesOf, type EvalCase } from "../cases.ts";
import { tuningRows } from "../baselines/tuned.ts";
import { ADAPT_DEFAULTS } from "../../query/adapt/adapt_defaults.ts";
import { PingModel } from "../../query/ping_model.ts";
import type { LoadedCheckpoint } from "../../train/checkpoint_files.ts";
import { forecastRtts, joinForecasts, type RttForecasts } from "./rtt_forecasts.ts";
import type { ProbeRowSource } from "../../data/loader/row_source.ts";
import { FAILED_RTT_MS } from "../../data/formats/batch.ts";
import { EventLoopPacer } from "../../io/threads/stage_hooks.ts";
import { drawDistinct, RandomStream } from "../../base/random.ts";
import type { ProbeRow } from "../../data/probe_rows/probe_row.ts";

/** The split modes that hold out addresses. */
export const ADAPTABLE_SPLITS: readonly SplitMode[] = ["destination", "node", "probe"];
/** Enough to estimate a method's error to a tenth. */
const MAX_ADDRESSES = 64;

interface AdaptedForecasts {
  numGiven: number;
  model: RttMetrics;
  /** Scores of the model's likeliest RTTs as point forecasts. */
  likeliest: ErrorMetrics;
  baselines: (Pick<BaselineMetrics, "name" | "settings" | "coverage"> & ErrorMetrics)[];
  comparisons: RttComparison[];
  /** The model's errors for pairs with a given measurement, and for pairs that none of the counts measures. */
  givenPairs: ErrorMetrics;
  otherPairs: ErrorMetrics;
  fit: AdaptFit;
}

export interface AdaptSection {
  counts: number[];
  /** New addresses with a reply to or from a known one; those with enough replies; those drawn. */
  numUnseen: number;
  numUsable: number;
  numAddresses: number;
  /** Measurements predicted for each of the counts, all with a reply. */
  numMeasurements: number;
  /** New addresses and measurements of the validation split that the baselines were tuned on. */
  numTuningAddresses: number;
  numTuningMeasurements: number;
  resampling: Resampling;
  /** In the order of the counts; empty if no address has enough replies. */
  byCount: AdaptedForecasts[];
}

interface AdaptSectionOptions {
  /** Given measurements per address, ascending. */
  readonly counts: readonly number[];
  readonly maxMeasurements: number;
  readonly seed: number;
  /** Makes untrained baselines by name, and the maximum number of training measurements for them. */
  readonly baselines: () => ReadonlyMap<string, Baseline>;
  readonly maxBaselineMeasurements: number;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (phase: string, done: number, total: number) => void;
}

export function canAdapt({ model }: Pick<RunConfig, "model">): boolean {
  return (model.prefixVectors?.rows ?? 0) > 0;
}

/**
 * Rejects an adaptation that is not possible.
 *
 * @param splitBy How the rows were held out, if known.
 * @throws {UsageError} If the model has no address embeddings, or the split holds out no addresses.
 */
export function requireAdaptable(
  config: Pick<RunConfig, "model">,
  splitBy?: SplitMode,
): void {
  if (!canAdapt(config)) {
    throw new UsageError(
      "Cannot use --adapt: the model has no address embeddings; leave it out, or train one " +
        "with --set 'model.prefixVectors={\"rows\":65536}'",
    );
  }
  if (splitBy && !ADAPTABLE_SPLITS.includes(splitBy)) {
    throw new UsageError(
      `Cannot use --adapt: the rows were split by ${splitBy}, expected ` +
        `${ADAPTABLE_SPLITS.join(" | ")}, which hold out addresses; leave it out`,
    );
  }
}

/**
 * Adapts the model to a few measurements of each unseen address, anew for each of the counts, and predicts
 * others.
 *
 * @param asked The trained model, and the rows.
 * @throws {UserError} If a row cannot be read, or the fit fails.
 */
export async function evaluateAdapted(
  asked: Pick<AdaptedModels, "model" | "checkpoint"> & { rows: EvalRows },
  options: AdaptSectionOptions,
): Promise<AdaptSection> {
  const { counts, seed } = options;
  const { rows } = asked;
  const { unseen, validation } = await drawAll(rows, options);
  const section = sectionOf(unseen, validation, options);
  if (unseen.judged.length === 0) return section;
  const { signal } = options;
  const training = await MeasurementTable.read([rows.training], {
    maxMeasurements: options.maxBaselineMeasurements,
    seed,
    signal,
  });
  for (const numGiven of counts) {
    const onProgress = (phase: string, done: number, total: number) =>
      options.onProgress?.(`${phase} after ${numGiven} measurements per address`, done, total);
    const hooks = { onProgress, signal };
    const { forecasts, fit } = await forecastAdapted({ ...asked, unseen }, numGiven, hooks);
    const baselines = options.baselines();
    let numDone = 0;
    const onDone = () => onProgress("training baselines", ++numDone, baselines.size);
    const fitting = { baselines, training, numGiven, validation, onDone, signal };
    const ofBaselines = await forecastUnseen(unseen, fitting);
    const { rtt } = await compareForecasts(forecasts, unseen.judged, {
      contexts: [],
      baselines: ofBaselines,
      seed,
      signal,
      onScored: (done, total) => onProgress("scoring methods", done, total),
      clusters: { by: "address", ofCase: unseen.addressOf, count: unseen.addresses.length },
    });
    const ofPairs = errorsByPair(forecasts, unseen, { numGiven, seed });
    section.byCount.push(resultOf(rtt, { numGiven, fit, ...ofPairs }));
  }
  return section;
}

/** Draws the measurements to predict and, from the validation split, those that baselines are tuned on. */
async function drawAll(
  { heldOut, training, validation }: EvalRows,
  { counts, maxMeasurements, seed, signal, onProgress }: AdaptSectionOptions,
): Promise<{ unseen: UnseenCases; validation?: UnseenCases }> {
  const tuning = validation ? [validation] : [];
  const sources = [heldOut, ...tuning];
  const total = training.numRows + sources.reduce((sum, { numRows }) => sum + 3 * numRows, 0);
  let done = 0;
  const hooks = {
    onRow: () => onProgress?.("looking for unseen addresses", ++done, total),
    signal,
  };
  const addresses = await unseenAddresses(sources, training, hooks);
  const drawn = {
    maxGiven: Math.max(...counts),
    maxAddresses: MAX_ADDRESSES,
    maxJudged: maxMeasurements,
    seed,
  };
  const unseen = await drawUnseen(heldOut, addresses, { ...drawn, ...hooks });
  if (tuning.length === 0) return { unseen };
  return { unseen, validation: await drawUnseen(tuning[0], addresses, { ...drawn, ...hooks }) };
}

function sectionOf(
  { numUnseen, numUsable, addresses, judged }: UnseenCases,
  validation: UnseenCases | undefined,
  { counts }: AdaptSectionOptions,
): AdaptSection {
  return {
    counts: [...counts],
    numUnseen,
    numUsable,
    numAddresses: addresses.length,
    numMeasurements: judged.length,
    numTuningAddresses: validation?.addresses.length ?? 0,
    numTuningMeasurements: validation?.judged.length ?? 0,
    resampling: resamplingOf({ by: "address", count: addresses.length }),
    byCount: [],
  };
}

function resultOf(
  { model, likeliest, baselines, comparisons }: RttSection,
  given: Omit<AdaptedForecasts, "model" | "likeliest" | "baselines" | "comparisons">,
): AdaptedForecasts {
  return {
    model: model.overall,
    likeliest: likeliest.overall,
    baselines: baselines.map(({ overall, byContext: _, errorCdf: __, ...named }) => ({
      ...named,
      ...overall,
    })),
    comparisons,
    ...given,
  };
}

function errorsByPair(
  { caseIndex, predictedMs, crpsMs }: RttForecasts,
  { given, judged, addressOf }: UnseenCases,
  { numGiven, seed }: { numGiven: number; seed: number },
): Pick<AdaptedForecasts, "givenPairs" | "otherPairs"> {
  const bootstrap = new ClusterBootstrap(caseIndex.map((i) => addressOf[i]), { seed });
  const pairOf = ({ srcAddr, dstAddr }: EvalCase) => [srcAddr, dstAddr].sort().join();
  const measured = new Set(given.flatMap((ofAddress) => ofAddress.slice(0, numGiven).map(pairOf)));
  const ever = new Set(given.flat().map(pairOf));
  const scored = (isWanted: (pair: string) => boolean) => {
    const places = [...caseIndex.keys()].filter((place) => isWanted(pairOf(judged[caseIndex[place]])));
    const at = (valueOf: (place: number) => number) => Float64Array.from(places, valueOf);
    const forecasts = {
      predictedMs: at((place) => predictedMs[place]),
      measuredMs: at((place) => judged[caseIndex[place]].rttMs ?? NaN),
      crpsMs: at((place) => crpsMs[place]),
    };
    return scoreErrors(forecasts, bootstrap, places).metrics;
  };
  return { givenPairs: scored((pair) => measured.has(pair)), otherPairs: scored((pair) => !ever.has(pair)) };
}

// Forecasts of baselines for new addresses. Baselines learn from the same measurements as the model: the
// whole training set, and a few of each address.
//
// The baselines are trained again for each number of given measurements. Their settings and distributions are
// chosen in the same situation: on new addresses of the validation split, with the same number of given
// measurements. Without such addresses a share of the training measurements is used.

interface AdaptBaselineOptions {
  /** Untrained, by name. */
  readonly baselines: ReadonlyMap<string, Baseline>;
  readonly training: MeasurementTable;
  readonly numGiven: number;
  readonly validation?: UnseenCases | undefined;
  /** Called after each baseline. */
  readonly onDone: () => void;
  readonly signal?: AbortSignal | undefined;
}

/** @param unseen Forecasts are for its judged measurements. */
async function forecastUnseen(
  unseen: UnseenCases,
  { baselines, training, numGiven, validation, onDone, signal }: AdaptBaselineOptions,
): Promise<BaselineForecasts> {
  const methods = await forecastsOf(baselines, unseen.judged, {
    training: both(training, givenOf(unseen, numGiven)),
    tuning: tuningOf(training, validation, numGiven),
    known: () => [],
    onDone,
    signal,
  });
  return {
    methods,
    numTraining: training.numSeen,
    numTrainingUsed: training.length,
    numObservable: 0,
    numObserved: 0,
    pFailed: new Map(),
  };
}

function tuningOf(
  table: MeasurementTable,
  validation: UnseenCases | undefined,
  numGiven: number,
): Tuning {
  const heldOut = (validation?.judged ?? []).map(measurementOf);
  const tuning = tuningRows(table, { validation: heldOut, history: "train" });
  if (!validation || heldOut.length === 0) return tuning;
  return { training: both(tuning.training, givenOf(validation, numGiven)), heldOut, known: [] };
}

/** The given measurements of all addresses, oldest first. */
function givenOf({ given }: UnseenCases, numGiven: number): BaselineMeasurement[] {
  return given.flatMap((ofAddress) => ofAddress.slice(0, numGiven)).map(measurementOf)
    .sort((a, b) => a.timeS - b.timeS);
}

function measurementOf({ srcAddr, dstAddr, rttMs, measurement: { timeS } }: EvalCase) {
  return { source: srcAddr, destination: dstAddr, timeS, rttMs: rttMs ?? NaN };
}

function both(
  training: Iterable<BaselineMeasurement>,
  given: readonly BaselineMeasurement[],
): Iterable<BaselineMeasurement> {
  return { [Symbol.iterator]: () => merged(training, given) };
}

// Forecasts of the model for new addresses, after it was adapted to a few measurements of each.
//
// The addresses are fitted together, as `adapt` fits those of a file. The given measurements have a known
// address at the other end, so the rows of each address depend only on its own measurements. Fitting each
// address alone would still give different numbers: measured pairs of one address are neighbours of pairs of
// others (`lib/model/pool/pair_neighbours.ts`), a row starts from the mean of the known addresses that any of
// them was measured with, and sums are rounded in another order. An address for which no row is free is fitted
// in a further round, which starts from the trained model again.

interface AdaptFit {
  numMeasurements: number;
  /** Number of rounds until every address had a row. */
  numRounds: number;
  /** Addresses without a free row after all rounds. Their forecasts use the rows of shorter prefixes only. */
  numWithoutRow: number;
  /** Mean loss of an RTT's two bytes before and after the fit, nats; null if nothing was fitted. */
  lossBefore: number | null;
  lossAfter: number | null;
}

interface AdaptedModels {
  /** The trained model, which is not changed. */
  readonly model: PingModel;
  readonly checkpoint: LoadedCheckpoint;
  readonly unseen: UnseenCases;
}

interface AdaptHooks {
  readonly onProgress: (phase: string, done: number, total: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Forecasts the judged measurements, without context.
 *
 * @param numGiven Measurements of each address that the model is adapted to.
 * @throws {UserError} If a fit fails.
 */
async function forecastAdapted(
  { model, checkpoint, unseen }: AdaptedModels,
  numGiven: number,
  { onProgress, signal }: AdaptHooks,
): Promise<{ forecasts: RttForecasts; fit: AdaptFit }> {
  const { addresses, given, judged, addressOf } = unseen;
  const parts: RttForecasts[] = [];
  let numDone = 0;
  const ask = async (asked: PingModel, left: ReadonlySet<string>) => {
    const places = judged.keys().toArray().filter((place) => left.has(addresses[addressOf[place]]));
    const forecasts = await forecastRtts(asked, places.map((place) => judged[place]), {
      contexts: [0],
      signal,
      onProgress: (done) => onProgress("predicting RTTs", numDone + done, judged.length),
    });
    numDone += places.length;
    parts.push({ ...forecasts, caseIndex: forecasts.caseIndex.map((i) => places[i]) });
  };
  const fit: AdaptFit = {
    numMeasurements: 0,
    numRounds: 0,
    numWithoutRow: 0,
    lossBefore: null,
    lossAfter: null,
  };
  let left = new Set(addresses);
  if (numGiven === 0) await ask(model, left);
  while (numDone < judged.length) {
    // On its own GPU device, so that its memory is freed with it.
    using adapted = await PingModel.from(checkpoint);
    const measurements = given.flatMap((ofAddress, i) =>
      left.has(addresses[i]) ? ofAddress.slice(0, numGiven) : []
    );
    const { withoutRow, lossBefore, lossAfter } = await adapted.adapt(
      measurements.map(({ measurement }) => measurement),
      {
        addresses: [...left],
        signal,
        onProgress: (steps) => onProgress("fitting rows", steps, ADAPT_DEFAULTS.steps),
      },
    );
    if (fit.numRounds++ === 0) {
      Object.assign(fit, { numMeasurements: measurements.length, lossBefore, lossAfter });
    }
    const isStuck = withoutRow.length === left.size;
    if (isStuck) fit.numWithoutRow = left.size;
    const next = new Set(isStuck ? [] : withoutRow);
    await ask(adapted, left.difference(next));
    left = next;
  }
  return { forecasts: joinForecasts(parts), fit };
}

// Measurements of new addresses: a few of each address to learn from, and others to judge forecasts by.
//
// Only replies between a new and a known address count.

/** Called for each probe row, and the signal to stop. */
interface RowHooks {
  readonly onRow?: () => void;
  readonly signal?: AbortSignal | undefined;
}

interface UnseenOptions extends RowHooks {
  /** Measurements of each address to learn from. An address without further replies is left out. */
  readonly maxGiven: number;
  readonly maxAddresses: number;
  /** Measurements to judge forecasts by. Each address has at most an equal share. */
  readonly maxJudged: number;
  readonly seed: number;
}

export interface UnseenCases {
  /** New addresses with a reply to or from a known one. */
  readonly numUnseen: number;
  /** Those with more replies than are given. */
  readonly numUsable: number;
  /** The drawn addresses, as `formatAddress` writes them. */
  readonly addresses: readonly string[];
  /** Given measurements of each address, in order: the first 2 are among the first 8. */
  readonly given: readonly (readonly EvalCase[])[];
  /** The judged measurements of all addresses, in the order of the rows; none of them is given. */
  readonly judged: readonly EvalCase[];
  /** The index in `addresses` of each judged measurement. */
  readonly addressOf: Uint32Array;
}

/**
 * The addresses of some rows that no training measurement contains, as `formatAddress` writes them. Memory
 * grows with the number of distinct addresses of these rows.
 *
 * @throws {FormatError} If a row cannot be read.
 */
export async function unseenAddresses(
  rows: readonly ProbeRowSource[],
  training: ProbeRowSource,
  hooks: RowHooks = {},
): Promise<Set<string>> {
  const unseen = new Set<string>();
  for (const source of rows) {
    await eachRow(source, hooks, ({ srcAddrs, dstAddrs }) => {
      for (const address of [...srcAddrs, ...dstAddrs]) unseen.add(canonicalText(address));
    });
  }
  await eachRow(training, hooks, ({ srcAddrs, dstAddrs }) => {
    for (const address of [...srcAddrs, ...dstAddrs]) unseen.delete(canonicalText(address));
  });
  return unseen;
}

/**
 * Draws unseen addresses, and measurements of each. Memory grows with what is drawn and with the unseen
 * addresses.
 *
 * @param unseen All new addresses of the rows.
 * @throws {FormatError} If a row cannot be read.
 */
export async function drawUnseen(
  rows: ProbeRowSource,
  unseen: ReadonlySet<string>,
  options: UnseenOptions,
): Promise<UnseenCases> {
  const counts = new Map<string, number>();
  await eachRow(rows, options, (row) => {
    for (const address of unseenEnds(row, unseen)) {
      if (address !== undefined) counts.set(address, (counts.get(address) ?? 0) + 1);
    }
  });
  const usable = [...counts].filter(([, count]) => count > options.maxGiven).map(([address]) => address)
    .sort();
  const numDrawn = Math.min(usable.length, options.maxAddresses, options.maxJudged);
  const random = new RandomStream(options.seed, "evaluate/unseen-addresses");
  const addresses = [...drawDistinct(usable.length, numDrawn, random)].map((place) => usable[place]).sort();
  const plans = new Map(addresses.map((address, index) => {
    const count = counts.get(address) ?? 0;
    return [address, { index, ranks: drawRanks(address, count, { ...options, numDrawn }), numMet: 0 }];
  }));
  const given = addresses.map((): EvalCase[] => []);
  const judged: { drawn: EvalCase; index: number }[] = [];
  for (let row = 0; row < rows.numRows; row++) {
    const wanted = new Map<number, { index: number; rank: number }>();
    unseenEnds(rows.row(row), unseen).forEach((address, place) => {
      const plan = address === undefined ? undefined : plans.get(address);
      const rank = plan?.ranks.get(plan.numMet++);
      if (plan && rank !== undefined) wanted.set(place, { index: plan.index, rank });
    });
    const cases = wanted.size === 0 ? [] : casesOf(rows, { row, indexes: [...wanted.keys()], maxContext: 0 });
    [...wanted.values()].forEach(({ index, rank }, i) => {
      const drawn = { ...cases[i], history: [] };
      if (rank < options.maxGiven) given[index][rank] = drawn;
      else judged.push({ drawn, index });
    });
    options.onRow?.();
    options.signal?.throwIfAborted();
  }
  return {
    numUnseen: counts.size,
    numUsable: usable.length,
    addresses,
    given,
    judged: judged.map(({ drawn }) => drawn),
    addressOf: Uint32Array.from(judged, ({ index }) => index),
  };
}

/** Drawn replies of an address: the index among all its replies, and the rank. Low ranks are given. */
function drawRanks(
  address: string,
  count: number,
  { maxGiven, maxJudged, numDrawn, seed }: UnseenOptions & { numDrawn: number },
): Map<number, number> {
  const numTaken = Math.min(count, maxGiven + Math.floor(maxJudged / numDrawn));
  const random = new RandomStream(seed, `evaluate/unseen-measurements/${address}`);
  return new Map([...drawDistinct(count, numTaken, random)].map((place, rank) => [place, rank]));
}

/** The new endpoint of each measurement of a row; undefined unless it has a reply and one new endpoint. */
function unseenEnds(row: ProbeRow, unseen: ReadonlySet<string>): (string | undefined)[] {
  const { srcAddrs, srcIndex, dstAddrs, dstIndex, rttMs } = row;
  const [sources, destinations] = [srcAddrs, dstAddrs].map((addresses) =>
    addresses.map(canonicalText).map((address) => unseen.has(address) ? address : undefined)
  );
  return Array.from(rttMs, (ms, i) => {
    const [source, destination] = [sources[srcIndex[i]], destinations[dstIndex[i]]];
    const hasOne = (source === undefined) !== (destination === undefined);
    return hasOne && ms !== FAILED_RTT_MS ? source ?? destination : undefined;
  });
}

async function eachRow(
  rows: ProbeRowSource,
  { onRow, signal }: RowHooks,
  visit: (row: ProbeRow) => void,
): Promise<void> {
  const pacer = new EventLoopPacer({ signal });
  for (let row = 0; row < rows.numRows; row++) {
    visit(rows.row(row));
    onRow?.();
    await pacer.yieldToEventLoop();
  }
}

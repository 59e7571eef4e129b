/**
 * `adapt`: fits the embeddings of addresses that a model does not know to a few measurements, with everything
 * else frozen; with `--follow`, repeatedly to the measurements on standard input.
 *
 * @module
 */
import { join, relative } from "@std/path";
import { type Adaptation, AdaptedModel, type AdaptOptions, requireRows } from "../lib/query/adapt/adapt.ts";
import { ADAPT_DEFAULTS } from "../lib/query/adapt/adapt_defaults.ts";
import { addressesOf, unknownAddresses, usesAddress } from "../lib/query/adapt/free_rows.ts";
import { formatLoss, formatSeconds } from "../lib/base/text.ts";
import type { OptionsOf } from "../lib/cli/command.ts";
import { defineStage, serveStage, snakeKeys, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import { shortened, UsageError } from "../lib/base/errors.ts";
import { CHECKPOINTS } from "../lib/io/files/checkpoint_folder.ts";
import { fingerprint } from "../lib/io/files/inputs.ts";
import { refuseOverlap } from "../lib/io/files/real_path.ts";
import { Output } from "../lib/io/files/output.ts";
import { Gpu } from "../lib/tensor/device.ts";
import { KernelRegistry } from "../lib/tensor/registry.ts";
import { ArrivingMeasurements } from "../lib/query/files/arriving.ts";
import { readMeasurementFiles } from "../lib/query/files/measurement_files.ts";
import type { ReadingOptions } from "../lib/data/formats/format.ts";
import { listMeasurementFiles } from "../lib/data/measurement_files/input_files.ts";
import type { Readings } from "../lib/data/formats/reading.ts";
import { identityOf, logLeftOut, openReading } from "./reading.ts";
import { addressBytes, formatAddress } from "../lib/data/addresses/ip.ts";
import { proposalsFor } from "../lib/query/destinations/advise.ts";
import { baseOf, isAdapted, UPDATE_FILE, writeAdapted } from "../lib/train/adapted_checkpoint.ts";
import {
  checkpointDirectory,
  loadCheckpoint,
  loadResumable,
  modelFilesOf,
  saveCheckpoint,
} from "../lib/train/checkpoint.ts";
import { type AdaptedFrom, checkpointFiles } from "../lib/train/checkpoint_files.ts";
import type { RunConfig } from "../lib/train/run_config.ts";
import { withGeo } from "../lib/train/run_places.ts";
import { checkInputs, madeText } from "./stage_files.ts";
import { addressOf } from "./query_options.ts";
import { adaptCommand } from "./adapt.command.ts";
import { STANDARD_INPUT } from "../lib/io/compression/decompress.ts";
import type { TokenMeasurement } from "../lib/data/tokens/vocab_v2.ts";
import { PhaseProgress } from "../lib/cli/progress.ts";
import { MAX_STEP_MEASUREMENTS } from "../lib/query/adapt/fit.ts";

/** The most addresses to name in a log line. */
const MAX_NAMED = 3;
/** Approximate speed of a fit step on two cores. */
const MEASUREMENTS_PER_SECOND = 900;

export const adaptStage = defineStage(adaptCommand, async (options, stage): Promise<StageResult> => {
  const { input, output, follow, merge, geo, checkpoint: path } = options;
  if (follow === (input.length > 0)) {
    throw new UsageError(
      follow
        ? "Cannot use --input with --follow: it reads standard input; leave one out"
        : "Cannot run: --input PATH is missing; add it, or --follow",
    );
  }
  if (geo.length > 0 && !merge) {
    throw new UsageError(
      `Cannot use --geo ${geo[0]}: changed embeddings alone do not contain places; add --merge`,
    );
  }
  if (follow && merge) throw new UsageError("Cannot use --merge with --follow: leave one out");
  const addresses = givenAddresses(options.addresses);
  const { reading, readings } = await openReading(options, stage.log);
  refuseOverlap(output, [checkpointDirectory(path), ...input, ...geo]);
  await checkInputs(input, { verify: options.verify }, stage);
  const hasBegun = follow && !options.overwrite && isAdapted(output);
  const stored = loadCheckpoint(hasBegun ? output : path, { onNote: stage.log });
  const loaded = await withGeo(stored, geo, stage.log);
  const model = new AdaptedModel(loaded.config.model, loaded.weights, loaded);
  requireRows(model);
  const base = baseOf(stored);
  const { steps, learningRate, maxDrift, maxMeasurements, overwrite } = options;
  const fit = { steps, learningRate, maxDrift, ...(addresses ? { addresses } : {}) };
  const start = {
    stage: "adapt",
    inputs: [...(follow ? [] : listMeasurementFiles(input, { reading })), ...modelFilesOf(path), ...geo].map((
      file,
    ) => fingerprint(file)),
    options: { ...base, ...fit, ...identityOf(reading), maxMeasurements, merge, follow },
    overwrite,
  };
  using staged = Output.openFolder(output, start);
  if (follow) {
    const result = await followLines(model, { ...options, base, fit, reading }, { staged, stage });
    readings.end();
    return { ...result, json: { ...result.json, ...snakeKeys({ reading: readings.list }, true) } };
  }
  const begunMs = performance.now();
  const wasComplete = staged.isComplete;
  if (!wasComplete) {
    await make(model, { ...options, base, fit, reading, config: loaded.config, readings }, { staged, stage });
  }
  const seconds = wasComplete ? 0 : (performance.now() - begunMs) / 1000;
  const { counts, outputs } = staged.manifest;
  return {
    text: `${madeText(output, { isDone: wasComplete, seconds })}: ${describeCounts(counts)}`,
    json: {
      stage: "adapt",
      ...snakeKeys(counts, true),
      base: base.base,
      seconds,
      done_already: wasComplete,
      outputs: outputs.map(({ path }) => join(output, path)),
    },
  };
});

async function make(
  model: AdaptedModel,
  { checkpoint, output, config, base, input, maxMeasurements, merge, fit, reading, readings }:
    & Pick<Options, "checkpoint" | "input" | "merge">
    & FitOptions
    & { config: RunConfig; readings: Readings },
  { staged, stage }: { staged: Output; stage: StageContext },
): Promise<void> {
  const asked = fit.addresses && new Set(fit.addresses);
  const { measurements, numRead, ...leftOut } = await readMeasurementFiles(input, {
    most: maxMeasurements,
    reading,
    isWanted: (measurement) => !asked || usesAddress(measurement, asked),
  });
  readings.end();
  logLeftOut(leftOut, stage.log);
  if (numRead > measurements.length) {
    stage.log(`using the newest ${measurements.length} of ${numRead} measurements (--max-measurements)`);
  }
  noteEstimate(measurements.length, fit.steps ?? ADAPT_DEFAULTS.steps, stage.log);
  using gpu = await Gpu.open();
  using progress = adaptProgress(stage, fit.steps ?? ADAPT_DEFAULTS.steps);
  const adaptation = await model.fit(new KernelRegistry(gpu), measurements, {
    ...fit,
    signal: stage.signal,
    ...progress.options,
  });
  noteAdaptation(adaptation, stage.log);
  noteProposals(model, adaptation.addresses, output, stage.log);
  if (merge) await saveMerged(model, { checkpoint, config, base }, staged);
  else {
    writeAdapted(staged.folder, model, base);
    await staged.record(UPDATE_FILE);
  }
  staged.manifest.counts = { ...countsOf(adaptation, model), reading: readings.list };
  staged.publish();
}

/** Writes a checkpoint with all weights and the optimizer state of the base. */
async function saveMerged(
  { weights, trainingData, pool }: AdaptedModel,
  { checkpoint, config, base: { base } }: { checkpoint: string; config: RunConfig; base: AdaptedFrom },
  staged: Output,
): Promise<void> {
  const { state, optimizer } = loadResumable(base);
  const { state: { files: _, ...kept } } = loadCheckpoint(checkpoint);
  const content = { state: { ...state, ...kept, config }, weights, optimizer, trainingData, pool };
  const folder = saveCheckpoint(join(staged.folder, CHECKPOINTS), content, { keep: 1 });
  for (const path of [...checkpointFiles(folder), join(folder, "../latest")]) {
    await staged.record(relative(staged.folder, path));
  }
}

function givenAddresses(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  const parts = text.split(",").map((part) => part.trim()).filter((part) => part !== "");
  if (parts.length === 0) {
    throw new UsageError(`Cannot use --addresses ${shortened(text)}: expected addresses separated by commas`);
  }
  return parts.map((part) => formatAddress(addressOf("addresses", part))).sort();
}

type Options = OptionsOf<typeof adaptCommand>;

interface FitOptions extends Pick<Options, "output" | "maxMeasurements"> {
  base: AdaptedFrom;
  fit: Omit<AdaptOptions, "adapted">;
  reading: ReadingOptions;
}

type FollowOptions = FitOptions & Pick<Options, "everyLines" | "everySeconds">;

/**
 * Follows standard input to its end. A killed run loses the measurements after the last published checkpoint,
 * from which the same command continues.
 *
 * @throws {InterruptedError} On a signal, after everything is saved.
 */
async function followLines(
  model: AdaptedModel,
  options: FollowOptions,
  { staged, stage }: { staged: Output; stage: StageContext },
): Promise<StageResult> {
  const { output, base, maxMeasurements, fit } = options;
  using gpu = await Gpu.open();
  const registry = new KernelRegistry(gpu);
  const arrivals = new Arrivals(options, stage);
  let kept: TokenMeasurement[] = [];
  let numPublished = 0;
  const publish = async (counts: Record<string, unknown>) => {
    staged.begin();
    writeAdapted(staged.folder, model, base);
    await staged.record(UPDATE_FILE);
    staged.manifest.counts = { ...counts, measurements: arrivals.numTaken };
    staged.publish();
    numPublished++;
  };
  if (!isAdapted(output)) await publish({ rows: model.rows.size });
  for await (const fresh of arrivals.groups()) {
    kept = [...kept, ...fresh].slice(-maxMeasurements);
    const named = new Set(fit.addresses ?? unknownAddresses(model, fresh, model.rows));
    const addresses = [...addressesOf(fresh).keys()].filter((address) => named.has(address));
    if (addresses.length === 0 && !model.pool) continue;
    const adaptation = await model.fit(registry, kept, { ...fit, addresses });
    noteAdaptation(adaptation, stage.log);
    await publish(countsOf(adaptation, model));
    const { lossAfter } = adaptation;
    const loss = lossAfter === null ? "unknown" : formatLoss(lossAfter);
    stage.log(`published ${output}: ${addresses.length} addresses, loss of an RTT ${loss}`);
  }
  stage.signal.throwIfAborted();
  const { numTaken: measurements, numBad } = arrivals;
  return {
    text:
      `${output} is current: ${measurements} measurements, ${numBad} other lines, published ${numPublished} times`,
    json: {
      stage: "adapt",
      measurements,
      num_bad: numBad,
      num_published: numPublished,
      rows: model.rows.size,
      base: base.base,
    },
  };
}

class Arrivals {
  numTaken = 0;
  readonly #arriving: ArrivingMeasurements;

  constructor(
    readonly options: Pick<FollowOptions, "everyLines" | "everySeconds" | "reading">,
    readonly stage: StageContext,
  ) {
    const { reading } = options;
    const { signal, log } = stage;
    this.#arriving = new ArrivingMeasurements([STANDARD_INPUT], { isFollowing: true, reading, signal, log });
  }

  get numBad(): number {
    return this.#arriving.numBad;
  }

  /** Yields `everyLines` measurements or those of `everySeconds`; reads one measurement ahead. */
  async *groups(): AsyncGenerator<TokenMeasurement[]> {
    const { everyLines, everySeconds } = this.options;
    const { signal } = this.stage;
    let wake = () => {};
    signal.addEventListener("abort", () => wake());
    const arriving = this.#arriving.measurements();
    let next = arriving.next();
    for (let isOver = false; !isOver && !signal.aborted;) {
      const group: TokenMeasurement[] = [];
      using timers = new DisposableStack();
      while (group.length < everyLines) {
        const awoken = Promise.withResolvers<undefined>();
        wake = () => awoken.resolve(undefined);
        const came = await Promise.race([next, awoken.promise]);
        isOver = came?.done === true;
        if (!came || came.done) break;
        next = arriving.next();
        const { source, destination, rttCode, timeS } = came.value;
        if (group.push({ source, destination, rttCode, timeS }) === 1) {
          timers.adopt(setTimeout(() => wake(), 1000 * everySeconds), clearTimeout);
        }
      }
      this.numTaken += group.length;
      if (group.length > 0) yield group;
    }
  }
}

/** Logs the estimated time of a fit if it exceeds a few seconds. */
export function noteEstimate(numMeasurements: number, steps: number, log: (line: string) => void): void {
  const perStep = Math.min(numMeasurements, MAX_STEP_MEASUREMENTS);
  const seconds = (steps + 2) * perStep / MEASUREMENTS_PER_SECOND;
  if (seconds < 5) return;
  log(
    `fitting ${numMeasurements} measurements in ${steps} steps of some ${perStep}: about ` +
      `${formatSeconds(seconds)} on two cores, less on a GPU`,
  );
}

/** Shows the located addresses, then the finished steps. */
export function adaptProgress(
  stage: StageContext,
  numSteps: number,
): Disposable & { options: Required<Pick<AdaptOptions, "onLocated" | "onProgress">> } {
  const located = new PhaseProgress(stage, "addresses");
  const fitted = new PhaseProgress(stage, "steps");
  return {
    options: {
      onLocated: (done, total) => located.update("locating", done, total),
      onProgress(steps) {
        located[Symbol.dispose]();
        fitted.update("fitting", steps, numSteps);
      },
    },
    [Symbol.dispose]() {
      located[Symbol.dispose]();
      fitted[Symbol.dispose]();
    },
  };
}

function countsOf(
  { addresses, withoutRow, numMeasurements, numFailed, lossBefore, lossAfter }: Adaptation,
  { rows }: AdaptedModel,
): Record<string, unknown> {
  return {
    addresses: addresses.length,
    withoutRow: withoutRow.length,
    measurements: numMeasurements,
    numFailed,
    rows: rows.size,
    lossBefore,
    lossAfter,
  };
}

function describeCounts(
  { addresses, measurements, rows, lossBefore, lossAfter }: Record<string, unknown>,
): string {
  const loss = typeof lossBefore === "number" && typeof lossAfter === "number"
    ? `, loss of an RTT ${formatLoss(lossBefore)} -> ${formatLoss(lossAfter)}`
    : "";
  return `${addresses} addresses fitted to ${measurements} measurements, ${rows} embeddings differ from the base${loss}`;
}

/** Logs which addresses could not be fitted, or that there was none to fit. */
export function noteAdaptation(
  { addresses, withoutRow, numFailed }: Adaptation,
  log: (line: string) => void,
): void {
  if (withoutRow.length > 0) {
    const named = withoutRow.slice(0, MAX_NAMED).join(", ") + (withoutRow.length > MAX_NAMED ? ", …" : "");
    log(`${withoutRow.length} addresses have no embedding, because the model's table is full: ${named}`);
  }
  if (numFailed > 0) log(`embeddings are not fitted to ${numFailed} measurements without a reply`);
  if (addresses.length === 0) {
    log(
      "no address was fitted: all of them were in the training data; answers about measured pairs use the new " +
        "measurements, and --addresses also fits known addresses",
    );
  }
}

/** Addresses with fewer measured pairs are worth measuring with more. */
const FEW_PAIRS = 8;

/** Logs what else to measure for the first addresses with few measured pairs. */
function noteProposals(
  model: AdaptedModel,
  addresses: readonly string[],
  output: string,
  log: (line: string) => void,
): void {
  for (const text of addresses.slice(0, MAX_NAMED)) {
    const address = addressBytes(text);
    const { numMeasured, proposed } = proposalsFor(model, address, MAX_NAMED);
    if (numMeasured >= FEW_PAIRS || proposed.length === 0) continue;
    const pairs = proposed.map((pair) =>
      `${formatAddress(pair.source)} to ${formatAddress(pair.destination)}`
    );
    const best = pairs.join(", ");
    log(
      `${text} has few measurements; those that would tell the most about its other RTTs: ${best}; for other ` +
        `candidates: query advise --checkpoint ${output} --src ${text} --candidates FILE`,
    );
  }
}

if (import.meta.main) serveStage(adaptStage);

/**
 * The evaluation of a model on held-out measurements, as `eval` runs it, and the folder of its reports.
 *
 * @module
 */
import type { CheckedOutputs } from "../io/files/checked_outputs.ts";
import { SyntheticTruth } from "../data/synth/truth.ts";
import type { StageHooks } from "../io/threads/stage_hooks.ts";
import { modelShapes } from "../model/model_config.ts";
import { UserError } from "../base/errors.ts";
import type { SplitName } from "../data/probe_rows/splits.ts";
import { PingModel } from "../query/ping_model.ts";
import { loadCheckpoint, modelFilesOf } from "../train/checkpoint.ts";
import type { LoadedCheckpoint } from "../train/checkpoint_files.ts";
import { dataFingerprint } from "../train/run_data.ts";
import { VERSION } from "../base/version.ts";
import { evaluateAdapted } from "./sections/adapt_section.ts";
import { forecastInThread, forecastsBetween, forecastWithBaselines } from "./baselines/baseline_forecasts.ts";
import { chosenBaselines } from "./baselines/standard.ts";
import type { PlaceOf } from "../model/pool/forecast.ts";
import { evaluatePlaces, placeLookup } from "./sections/place_section.ts";
import { type DrawnRankings, drawRankings, evaluateRankings } from "./sections/ranking_section.ts";
import { evaluateBits } from "./sections/bits_section.ts";
import { calibrationSection, learnCalibration } from "./sections/calibration_section.ts";
import { drawCasesAnd, type EvalCase } from "./cases.ts";
import { evenlySpread } from "../base/collections.ts";
import { clustersOf } from "./metrics/bootstrap.ts";
import { evaluateDestinations } from "./sections/destination_section.ts";
import { findTruthFile, type HistoryMode, type OpenEvalRows, openEvalRows } from "./eval_rows.ts";
import { countMeasurements } from "./baselines/measurement_table.ts";
import type { EvalReport, EvalRun } from "./report.ts";
import { evaluateRtt } from "./sections/rtt_section.ts";
import { evaluateParts } from "./sections/parts_section.ts";
import { evaluateTruth } from "./sections/truth_section.ts";
import { join } from "@std/path";
import { FormatError } from "../base/errors.ts";
import { writeFileAtomic, writeJsonAtomic } from "../io/files/atomic.ts";
import { fingerprint, listInputs, readText } from "../io/files/inputs.ts";
import { Output } from "../io/files/output.ts";
import { refuseOverlap } from "../io/files/real_path.ts";
import { chartCsv, renderPicture } from "../base/report/charts.ts";
import { evalFigures, evalPage } from "./page/eval_page.ts";

/** Limit of training measurements, and of held-out ones, for baselines (0.5 GB). Larger sets are sampled. */
const MAX_BASELINE_MEASUREMENTS = 20_000_000;

/** Measurements per context in the bits section, and the maximum number of contexts. */
const MEASUREMENTS_PER_CONTEXT = 8;
const MAX_CONTEXTS = 256;
/** Measurements per one whose destination is guessed, which takes as long as eight RTTs; the maximum of these. */
const MEASUREMENTS_PER_GUESS = 8;
const MAX_GUESSED = 250;
/** Measurements of the validation split for calibration: the ends of 90 % intervals are known to 0.7 %. */
const MAX_CALIBRATION_MEASUREMENTS = 1000;
/** Maximum number of measurements compared with the truth, evenly spread. */
const MAX_TRUTH_CASES = 2000;

interface EvaluateOptions {
  /** One checkpoint's folder. */
  checkpoint: string;
  /** Probe rows with the split to predict. */
  dataDir: string;
  /** Probe rows whose `train` split the model was trained on, or one folder per campaign (`dataDir`). */
  trainDir?: string | readonly string[] | undefined;
  /** Manifests of the rows (default: read from the folders). */
  checked?: CheckedOutputs | undefined;
  split: SplitName;
  /** See {@link openEvalRows}. */
  history?: HistoryMode | undefined;
  maxMeasurements: number;
  /** Context sizes, ascending. */
  contexts: readonly number[];
  /** Whether every measurement is predicted with each context size instead of one of them. */
  isEveryContext: boolean;
  /** Evaluates the network alone, without the checkpoint's pool (false). */
  noPool?: boolean | undefined;
  /** Files with places of addresses, for baselines and tables (default: the checkpoint's places, if any). */
  geo?: readonly string[] | undefined;
  /** Names of the baselines; those that need places are left out if there are none. */
  baselines: readonly string[];
  /** Maximum number of measurements that are also predicted by parts of the model; 0 for none (none). */
  parts?: number | undefined;
  seed: number;
  /** Numbers of measurements of each unseen address to adapt the model to, ascending; absent for none. */
  adapt?: readonly number[] | undefined;
}

/** Callbacks, and how many threads may be used (1). */
interface EvaluateHooks extends StageHooks {
  readonly numThreads?: number;
}

/**
 * Evaluates a model. For models of vocabulary v1 only bits are evaluated.
 *
 * @param hooks Progress by section, the signal to stop, and threads, on which the report does not depend.
 * @throws {UserError} If the checkpoint or the rows cannot be used.
 */
export async function evaluate(options: EvaluateOptions, hooks: EvaluateHooks = {}): Promise<EvalReport> {
  const startMs = performance.now();
  using rows = await openEvalRows(options.dataDir, options);
  const checkpoint = loadCheckpoint(options.checkpoint);
  using model = await PingModel.from(checkpoint, { anyVocabulary: true, noPool: options.noPool ?? false });
  const rankings = await drawRankings(rows.heldOut, { seed: options.seed, signal: hooks.signal });
  const places = rankings.groups.flatMap((group) => group.places);
  const { cases, others } = await drawCasesAnd(rows, places, {
    count: options.maxMeasurements,
    maxContext: Math.max(...options.contexts),
    seed: options.seed,
    onProgress: phaseOf(hooks, "reading probe rows"),
    signal: hooks.signal,
  });
  if (cases.length === 0) {
    throw new UserError(
      `Cannot evaluate on ${options.dataDir}: its ${options.split} split has no measurements; ` +
        "choose another --split, or split the measurements by row or time (--split-by)",
    );
  }
  const placeOf = await placeLookup(checkpoint, options.geo);
  const evaluated = { options, rows, model, cases, rankings, candidates: others, checkpoint, placeOf };
  const run = await describeRun(evaluated);
  const sections = await computeSections(evaluated, hooks);
  return { ...sections, run: { ...run, seconds: (performance.now() - startMs) / 1000 } };
}

interface Evaluated {
  options: EvaluateOptions;
  rows: OpenEvalRows;
  model: PingModel;
  cases: readonly EvalCase[];
  /** Choices among destinations, and the cases of their candidates. */
  rankings: DrawnRankings;
  candidates: readonly EvalCase[];
  checkpoint: LoadedCheckpoint;
  placeOf: PlaceOf | undefined;
}

async function computeSections(
  evaluated: Evaluated,
  hooks: EvaluateHooks,
): Promise<Omit<EvalReport, "run">> {
  const { options, rows, model, cases, candidates, checkpoint, placeOf } = evaluated;
  const { contexts, isEveryContext: everyContext, seed, adapt, maxMeasurements } = options;
  const { splitBy } = rows;
  const baselineOptions = { seed, maxMeasurements: MAX_BASELINE_MEASUREMENTS };
  const makeBaselines = () => chosenBaselines(options.baselines, seed, placeOf);
  const hasThread = (hooks.numThreads ?? 1) > 1 && model.config.vocabulary === "v2";
  // The manifests are already checked; the thread reads them again.
  const job = { ...options, ...baselineOptions, names: options.baselines, checked: undefined };
  using thread = hasThread ? forecastInThread([...cases, ...candidates], job, hooks.signal) : undefined;
  const during = (phase: string) => ({ onProgress: phaseOf(hooks, phase), signal: hooks.signal });
  const bits = await evaluateBits(model, rows.heldOut, {
    numContexts: Math.ceil(Math.min(MAX_CONTEXTS, cases.length / MEASUREMENTS_PER_CONTEXT)),
    seed,
    sampling: checkpoint.config.data,
    ...during("computing bits"),
  });
  if (model.config.vocabulary === "v1") return { bits };
  const learned = options.split === "val" ? undefined : await learnCalibration(model, {
    ...options,
    everyContext,
    count: Math.min(MAX_CALIBRATION_MEASUREMENTS, maxMeasurements),
    ...during("calibrating on the validation split"),
  });
  const destinations = await evaluateDestinations(model, cases, {
    training: rows.training,
    maxContext: Math.max(...contexts),
    maxCases: Math.ceil(Math.min(MAX_GUESSED, cases.length / MEASUREMENTS_PER_GUESS)),
    splitBy,
    seed,
    ...during("guessing destinations"),
  });
  const training = during("training baselines");
  const all = await (thread?.take(training.onProgress) ??
    forecastWithBaselines(rows, [...cases, ...candidates], {
      ...baselineOptions,
      baselines: makeBaselines(),
      ...training,
    }));
  const baselines = forecastsBetween(all, 0, cases.length);
  const clusters = clustersOf(cases, splitBy);
  const { rtt, failures, forecasts } = await evaluateRtt(model, cases, {
    contexts,
    everyContext,
    baselines,
    seed,
    clusters,
    onScored: phaseOf(hooks, "scoring methods"),
    ...during("predicting RTTs"),
  });
  const report: Omit<EvalReport, "run"> = { rtt, failures, bits, destinations };
  if (checkpoint.pool && !options.noPool && options.parts) {
    const parts = await evaluateParts(model, cases, {
      pool: checkpoint.pool,
      count: options.parts,
      ofCase: clusters.ofCase,
      contexts,
      seed,
      ...during("predicting with parts of the model"),
    });
    if (parts) report.parts = parts;
  }
  if (placeOf) {
    report.places = evaluatePlaces(checkpoint, forecasts, cases, { placeOf, baselines, clusters, seed });
  }
  const ranking = await evaluateRankings(model, candidates, {
    drawn: evaluated.rankings,
    baselines: forecastsBetween(all, cases.length, cases.length + candidates.length),
    maxContext: Math.max(...contexts),
    seed,
    ...during("ranking destinations"),
  });
  if (ranking) report.ranking = ranking;
  const truthPath = findTruthFile(options.dataDir);
  if (truthPath !== undefined) {
    report.truth = await evaluateTruth(model, evenlySpread(cases, MAX_TRUTH_CASES), {
      truth: SyntheticTruth.load(truthPath),
      contexts,
      calibration: learned?.calibration,
      ...during("comparing with the truth"),
    });
  }
  if (adapt !== undefined) {
    report.adapted = await evaluateAdapted(evaluated, {
      counts: adapt,
      maxMeasurements,
      seed,
      baselines: makeBaselines,
      maxBaselineMeasurements: MAX_BASELINE_MEASUREMENTS,
      ...hooks,
    });
  }
  if (learned) report.calibration = calibrationSection(learned, forecasts, contexts);
  return report;
}

function phaseOf({ onProgress }: StageHooks, phase: string): (done: number, total: number) => void {
  return (done, total) => onProgress?.(phase, done, total);
}

async function describeRun(
  { options, rows, model, cases, checkpoint }: Evaluated,
): Promise<Omit<EvalRun, "seconds">> {
  const { dataDir, trainDir = dataDir } = options;
  return {
    version: VERSION,
    checkpoint: options.checkpoint,
    step: model.step,
    modelSha256: checkpoint.state.files.model.sha256,
    isPooled: checkpoint.pool !== undefined && !options.noPool,
    numParameters: modelShapes(model.config).numParameters,
    sequenceLength: model.config.sequenceLength,
    data: dataDir,
    dataFingerprint: await dataFingerprint(dataDir),
    split: options.split,
    splitBy: rows.splitBy ?? null,
    train: [trainDir].flat().join(", "),
    trainFingerprint: await dataFingerprint(trainDir),
    modelFingerprint: checkpoint.state.dataFingerprint,
    history: rows.history,
    seed: options.seed,
    numHeldOut: countMeasurements(rows.heldOut),
    numMeasurements: cases.length,
    contexts: [...options.contexts],
    isEveryContext: options.isEveryContext,
    adapter: model.gpu.info.name,
    engine: model.gpu.info.engine,
  };
}

// The folder of an evaluation: `report.json`, `report.html`, `manifest.json`. They are published together at
// the end. An interrupted evaluation starts again. A second folder can contain the figures.

const JSON_NAME = "report.json";
const HTML_NAME = "report.html";

/** The folder is locked for this process until it is disposed of. */
export class EvalFolder implements Disposable {
  readonly jsonPath: string;
  readonly htmlPath: string;
  readonly #output: Output;
  readonly #plots: Output | undefined;

  private constructor(path: string, output: Output, plots: Output | undefined) {
    this.jsonPath = join(path, JSON_NAME);
    this.htmlPath = join(path, HTML_NAME);
    this.#output = output;
    this.#plots = plots;
  }

  /**
   * Opens the folder for an evaluation, making it if needed.
   *
   * @param options `checkpoint` is one checkpoint's folder; `overwrite`: replace the reports of another
   *   evaluation; `plots`: the folder for {@link writePlots}.
   * @throws {UserError} If one of them contains another run's files, or the checkpoint or the rows are missing.
   */
  static open(
    path: string,
    { overwrite, plots, ...options }: EvaluateOptions & { overwrite: boolean; plots?: string | undefined },
  ): EvalFolder {
    if (plots !== undefined) refuseOverlap(plots, [path], "output");
    const rows = [...new Set([options.dataDir, ...[options.trainDir ?? []].flat()])];
    const files = listInputs(rows, { extensions: [".arrayrecord"], wanted: "probe rows" });
    const places = (options.geo ?? []).map((path) => fingerprint(path));
    const start = {
      inputs: [
        ...[...modelFilesOf(options.checkpoint), ...files].map((file) => fingerprint(file)),
        ...places,
      ],
      // Undefined values are absent from a manifest that was read again.
      options: Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
      overwrite,
    };
    using opened = new DisposableStack();
    const figures = plots === undefined
      ? undefined
      : opened.use(Output.openFolder(plots, { ...start, stage: "eval --plots" }));
    const output = opened.use(Output.openFolder(path, { ...start, stage: "eval" }));
    opened.move();
    return new EvalFolder(path, output, figures);
  }

  /** The report of the same evaluation, if it is complete. */
  earlier(): EvalReport | undefined {
    if (!this.#output.isComplete) return undefined;
    try {
      return JSON.parse(readText(this.jsonPath));
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      const path = this.jsonPath;
      throw new FormatError("it is not a report; run eval again with --overwrite", { path, cause });
    }
  }

  async write(report: EvalReport): Promise<void> {
    const { folder, manifest } = this.#output;
    writeJsonAtomic(join(folder, JSON_NAME), report);
    writeFileAtomic(join(folder, HTML_NAME), await evalPage(report));
    for (const name of [JSON_NAME, HTML_NAME]) await this.#output.record(name);
    manifest.counts = { measurements: report.run.numMeasurements };
    this.#output.publish();
  }

  /** Writes each figure of the report as `NAME.svg` and `NAME.csv`, unless they are complete. */
  async writePlots(report: EvalReport): Promise<void> {
    const output = this.#plots;
    if (!output || output.isComplete) return;
    for (const { name, chart } of evalFigures(report)) {
      for (
        const [file, text] of [[`${name}.svg`, await renderPicture(chart)], [`${name}.csv`, chartCsv(chart)]]
      ) {
        writeFileAtomic(join(output.folder, file), text);
        await output.record(file);
      }
    }
    output.publish();
  }

  [Symbol.dispose](): void {
    this.#plots?.[Symbol.dispose]();
    this.#output[Symbol.dispose]();
  }
}

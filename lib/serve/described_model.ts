/** Reads a model with its description from disk, for servers and exported sites. @module */
import * as z from "zod";
import { dirname, join } from "@std/path";
import { dataJson } from "../data/addresses/known_addresses.ts";
import type { ModelInfo } from "./api/schemas.ts";
import { FormatError } from "../base/errors.ts";
import { parseAs } from "../base/schema_fault.ts";
import { runOfCheckpoint } from "../io/files/checkpoint_folder.ts";
import { exists, readText } from "../io/files/inputs.ts";
import type { LoadedCheckpoint } from "../train/checkpoint_files.ts";
import { type MetricsRecord, readMetrics } from "../train/metrics.ts";
import { modelShapes } from "../model/model_config.ts";
import { tokensPerStep } from "../train/run_config.ts";
import { VERSION } from "../base/version.ts";
import { requireQueryable } from "../query/ping_model.ts";
import type { QuantileCalibration } from "../query/rtt/quantile_calibration.ts";
import { withGeo } from "../train/run_places.ts";
import { loadCheckpoint } from "../train/checkpoint.ts";
import { readCalibration } from "../query/files/load_model.ts";

interface ModelFiles {
  checkpoint: string;
  /** See `readCalibration`; absent for an uncalibrated model. */
  calibration?: string | undefined;
  /** See `readEvaluation`. */
  report?: string | undefined;
  /** Whether to answer without the pool (false). */
  noPool?: boolean;
  /** Files with the places of addresses, which replace those of the checkpoint (none). */
  geo?: readonly string[];
}

/** A model that has not been loaded onto a GPU. */
interface DescribedModel {
  checkpoint: LoadedCheckpoint;
  calibration: QuantileCalibration | undefined;
  info: ModelInfo;
}

/**
 * Reads a model. All faults of its files are found here, before a GPU is opened.
 *
 * @throws {UserError} If a file cannot be read or belongs to another model, or the model cannot answer.
 */
export async function readDescribedModel(
  files: ModelFiles,
  onNote: (line: string) => void,
): Promise<DescribedModel> {
  const checkpoint = await withGeo(loadCheckpoint(files.checkpoint, { onNote }), files.geo ?? [], onNote);
  requireQueryable(checkpoint);
  const calibration = files.calibration === undefined ? undefined : readCalibration(files.calibration);
  calibration?.requireOf(checkpoint, checkpoint.pool !== undefined && !files.noPool);
  const evaluation = readEvaluation(files.report, checkpoint);
  const info = modelInfo(checkpoint, { isCalibrated: calibration !== undefined, evaluation });
  return { checkpoint, calibration, info };
}

/** Maximum points of each training curve: more than a page has pixels for. */
const MAX_POINTS = 100;

/** Facts that are not in the checkpoint. */
interface ModelInfoOptions {
  isCalibrated: boolean;
  evaluation: ModelInfo["evaluation"];
}

/** Describes a model without a GPU. @throws {FormatError} If the run's metrics are damaged. */
export function modelInfo(checkpoint: LoadedCheckpoint, options: ModelInfoOptions): ModelInfo {
  const { config, state, trainingData } = checkpoint;
  const run = runFolderOf(checkpoint);
  const metricsPath = run && join(run, "metrics.jsonl");
  const records = metricsPath && exists(metricsPath) ? readMetrics(metricsPath) : [];
  return {
    version: VERSION,
    step: state.step,
    num_parameters: modelShapes(config.model).numParameters,
    vocabulary: config.model.vocabulary,
    model_sha256: state.files.model.sha256,
    data_fingerprint: state.dataFingerprint,
    trained_tokens: state.step * tokensPerStep(config),
    config: { ...config },
    is_calibrated: options.isCalibrated,
    data: dataJson(trainingData),
    training_curve: trainingCurve(records.filter(({ step }) => step <= state.step)),
    evaluation: options.evaluation,
  };
}

/** Evenly spaced points of both curves by step, losses in bits per token. */
function trainingCurve(records: readonly MetricsRecord[]): ModelInfo["training_curve"] {
  const bitsOf = (nats: number | null | undefined) => typeof nats === "number" ? nats / Math.LN2 : null;
  const points = records.map((record) => ({
    step: record.step,
    train_loss: bitsOf(record["train/loss"]),
    eval_loss: bitsOf(record["eval/loss"]),
  }));
  const shown = new Set([
    ...evenly(points.filter((point) => point.train_loss !== null)),
    ...evenly(points.filter((point) => point.eval_loss !== null)),
  ]);
  return points.filter((point) => shown.has(point));
}

/** At most {@link MAX_POINTS} of the items, including the first and the last. */
function evenly<T>(all: readonly T[]): readonly T[] {
  if (all.length <= MAX_POINTS) return all;
  return Array.from(
    { length: MAX_POINTS },
    (_, i) => all[Math.round(i * (all.length - 1) / (MAX_POINTS - 1))],
  );
}

const methodSchema = z.object({
  medianAbsoluteMs: z.number(),
  meanAbsoluteMs: z.number(),
  crpsMs: z.number().nullable(),
});
const reportSchema = z.object({
  run: z.object({ modelSha256: z.string(), numMeasurements: z.int(), split: z.string() }),
  rtt: z.object({
    numTraining: z.int(),
    model: z.object({ overall: methodSchema }),
    baselines: z.array(z.object({ name: z.string(), overall: methodSchema })),
  }).optional(),
});

/**
 * The evaluation of a model; null if there is none.
 *
 * @param named Path of a `report.json`; by default, the report in the run or next to it, if of this model.
 * @throws {UserError} If the named report cannot be read.
 * @throws {FormatError} If it is not an evaluation report or is of another model.
 */
export function readEvaluation(
  named: string | undefined,
  checkpoint: LoadedCheckpoint,
): ModelInfo["evaluation"] {
  const path = named ?? evaluationPath(checkpoint);
  const evaluation = path === undefined ? null : evaluationOf(path, checkpoint);
  if (evaluation !== undefined) return evaluation;
  if (named === undefined) return null;
  const fault = `it is the report of another model; run eval on ${checkpoint.directory}`;
  throw new FormatError(fault, { path: named });
}

/** Null if the report has no section on RTTs, undefined if it is of another model. */
function evaluationOf(
  path: string,
  { state }: Pick<LoadedCheckpoint, "state">,
): ModelInfo["evaluation"] | undefined {
  const fault = "it is not the report.json of an eval; run eval again";
  const { run, rtt } = parseAs(reportSchema, readText(path), fault, path);
  if (run.modelSha256 !== state.files.model.sha256) return undefined;
  if (!rtt) return null;
  const methods = [{ name: "model", ...rtt.model }, ...rtt.baselines];
  return {
    num_measurements: run.numMeasurements,
    split: run.split,
    num_training: rtt.numTraining,
    methods: methods.map(({ name, overall }) => ({
      name,
      median_absolute_ms: overall.medianAbsoluteMs,
      mean_absolute_ms: overall.meanAbsoluteMs,
      crps_ms: overall.crpsMs,
    })),
  };
}

/**
 * The default path of a model's evaluation: in its run, or next to it. Of several splits, as in `demo`, that of
 * known pairs, else of pairs.
 */
function evaluationPath(checkpoint: LoadedCheckpoint): string | undefined {
  const run = runFolderOf(checkpoint);
  if (run === undefined) return undefined;
  return [run, dirname(run)].flatMap((folder) =>
    [".", "row", "time", "pair"].map((split) => join(folder, "eval", split, "report.json"))
  ).find(exists);
}

/** The run of a checkpoint or of its base; undefined for a checkpoint outside a run. */
function runFolderOf({ directory, adapted }: LoadedCheckpoint): string | undefined {
  return runOfCheckpoint(adapted?.base ?? directory);
}

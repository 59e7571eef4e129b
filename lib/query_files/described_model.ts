/**
 * A model from disk with its description, as a server and an exported site need it.
 *
 * @module
 */
import type { ModelInfo } from "../api/schemas.ts";
import { requireQueryable } from "../query/ping_model.ts";
import type { QuantileCalibration } from "../query/rtt/quantile_calibration.ts";
import { loadCheckpoint } from "../train/checkpoint.ts";
import type { LoadedCheckpoint } from "../train/checkpoint_files.ts";
import { readCalibration } from "./calibration_file.ts";
import { modelInfo, readEvaluation } from "./model_info.ts";

/** The path of the checkpoint. */
export interface ModelFiles {
  /** See `loadModel`. */
  checkpoint: string;
  /** See `readCalibration`; none if absent. */
  calibration?: string | undefined;
  /** See `readEvaluation`. */
  report?: string | undefined;
}

/** A model that is not on a GPU yet. */
export interface DescribedModel {
  checkpoint: LoadedCheckpoint;
  calibration: QuantileCalibration | undefined;
  info: ModelInfo;
}

/**
 * Reads a model. All faults of its files are found here, before a GPU is opened.
 *
 * @param onNote See `loadCheckpoint`.
 * @throws {UserError} If a file cannot be read, is of another model, or the model cannot answer.
 */
export function readDescribedModel(files: ModelFiles, onNote: (line: string) => void): DescribedModel {
  const checkpoint = loadCheckpoint(files.checkpoint, { onNote });
  requireQueryable(checkpoint);
  const calibration = files.calibration === undefined ? undefined : readCalibration(files.calibration);
  calibration?.requireOf(checkpoint);
  const evaluation = readEvaluation(files.report, checkpoint);
  const info = modelInfo(checkpoint, { isCalibrated: calibration !== undefined, evaluation });
  return { checkpoint, calibration, info };
}

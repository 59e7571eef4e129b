/**
 * Loads a model from a checkpoint on disk.
 *
 * @module
 */
import { PingModel, type PingModelOptions } from "../ping_model.ts";
import { loadCheckpoint } from "../../train/checkpoint.ts";
import { readText } from "../../io/files/inputs.ts";
import { QuantileCalibration } from "../rtt/quantile_calibration.ts";

/**
 * Loads a checkpoint and opens the GPU.
 *
 * @param path A run directory, its `checkpoints`, one `step-…` directory, or that of an adapted checkpoint.
 * @param options The resources that the model may use.
 * @throws {UserError} If there is no usable checkpoint or no GPU.
 */
export async function loadModel(path: string, options: PingModelOptions = {}): Promise<PingModel> {
  return await PingModel.from(loadCheckpoint(path), options);
}

/**
 * The calibration in an evaluation's `report.json`.
 *
 * @param path The file.
 * @throws {UserError} If it cannot be read.
 * @throws {FormatError} See `QuantileCalibration.parse`.
 */
export function readCalibration(path: string): QuantileCalibration {
  return QuantileCalibration.parse(readText(path), path);
}

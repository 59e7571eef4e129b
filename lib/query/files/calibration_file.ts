/**
 * Reads a calibration of a model from disk.
 *
 * @module
 */
import { readText } from "../../io/files/inputs.ts";
import { QuantileCalibration } from "../rtt/quantile_calibration.ts";

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

/** Loads a model from a checkpoint on disk. @module */
import { openNames } from "../../data/addresses/places/open_names.ts";
import { PingModel, type PingModelOptions } from "../ping_model.ts";
import { loadCheckpoint } from "../../train/checkpoint.ts";
import { withGeo } from "../../train/run_places.ts";
import { readText } from "../../io/files/inputs.ts";
import { QuantileCalibration } from "../rtt/quantile_calibration.ts";

/** Options for {@link loadModel}. */
export interface LoadOptions extends Omit<PingModelOptions, "calibration" | "names"> {
  /** The `report.json` of an evaluation of this model, whose calibration corrects RTTs (none). */
  calibration?: string | undefined;
  /** Files with the places of addresses, which replace what the checkpoint knows (none). */
  geo?: readonly string[];
  /** Files with the names of addresses, as for `--names` (none). */
  names?: readonly string[];
  /** Receives log lines, for example that a damaged checkpoint was skipped. */
  onLog?: (line: string) => void;
}

/**
 * Loads a checkpoint and opens the GPU.
 *
 * @param path A run directory, its `checkpoints`, a `step-…` directory, or an adapted checkpoint.
 * @throws {UserError} If there is no usable checkpoint or no GPU, or a file cannot be read.
 */
export async function loadModel(
  path: string,
  { geo = [], names = [], onLog = () => {}, calibration, ...options }: LoadOptions = {},
): Promise<PingModel> {
  const corrects = calibration === undefined ? undefined : readCalibration(calibration);
  const opened = await openNames(names);
  const checkpoint = await withGeo(loadCheckpoint(path, { onNote: onLog }), geo, onLog);
  return await PingModel.from(checkpoint, { ...options, calibration: corrects, names: opened });
}

/** Reads the calibration in an evaluation's `report.json`. @throws {UserError} If there is none. */
export function readCalibration(path: string): QuantileCalibration {
  return QuantileCalibration.parse(readText(path), path);
}

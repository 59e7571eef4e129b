/** Loads a model from a checkpoint on disk. @module */
import { openNames } from "../../data/addresses/places/open_names.ts";
import { PingModel, type PingModelOptions } from "../ping_model.ts";
import { loadCheckpoint } from "../../train/checkpoint.ts";
import { withGeo } from "../../train/run_places.ts";
import { readText } from "../../io/files/inputs.ts";
import { QuantileCalibration } from "../rtt/quantile_calibration.ts";

/**
 * Loads a checkpoint and opens the GPU.
 *
 * @param path A run directory, its `checkpoints`, a `step-…` directory, or an adapted checkpoint.
 * @param options `geo`: see `withGeo`; `onLog`: see also `loadCheckpoint`; `names`: see `openNames`.
 * @throws {UserError} If there is no usable checkpoint or no GPU, or a file cannot be read.
 */
export async function loadModel(
  path: string,
  { geo = [], names = [], onLog = () => {}, ...options }: Omit<PingModelOptions, "names"> & {
    geo?: readonly string[];
    names?: readonly string[];
    onLog?: (line: string) => void;
  } = {},
): Promise<PingModel> {
  const opened = await openNames(names);
  const checkpoint = await withGeo(loadCheckpoint(path, { onNote: onLog }), geo, onLog);
  return await PingModel.from(checkpoint, { ...options, names: opened });
}

/** Reads the calibration in an evaluation's `report.json`. @throws {UserError} If there is none. */
export function readCalibration(path: string): QuantileCalibration {
  return QuantileCalibration.parse(readText(path), path);
}

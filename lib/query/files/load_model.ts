/**
 * Loads a model from a checkpoint on disk.
 *
 * @module
 */
import { PingModel, type PingModelOptions } from "../ping_model.ts";
import { loadCheckpoint } from "../../train/checkpoint.ts";

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

/** A checkpoint of the tiny model with address embeddings. @module */
import { join } from "@std/path";
import { loadConfig } from "../../../lib/train/run_config.ts";
import { writeUntrainedRun } from "../../train/untrained_run.ts";
import { knownData, tinyRowModel } from "./tiny_rows.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";

/** Writes a checkpoint as a run. @param run The run's folder. @param step Identifies the checkpoint. */
export function writeRowCheckpoint(
  run: string,
  step = 3,
  { config: model, weights } = tinyRowModel(),
): void {
  const config = loadConfig(
    "demo",
    Object.entries(model).map(([key, value]) => `model.${key}=${JSON.stringify(value)}`),
  );
  if (step !== 3) weights.get("wte.weight")?.fill(step, 0, 1);
  writeUntrainedRun(run, { config, weights, step, trainingData: knownData() });
}

/** Runs a test in a folder that contains such a run as `run`. */
export async function withRowCheckpoint(
  test: (at: (name: string) => string) => Promise<void> | void,
  model = tinyRowModel(),
): Promise<void> {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  writeRowCheckpoint(join(folder, "run"), 3, model);
  await test((name) => join(folder, name));
}

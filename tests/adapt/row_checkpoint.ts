/** A checkpoint of the tiny model with rows of addresses. @module */
import { join } from "@std/path";
import { parameterShapes } from "../../lib/model/model_config.ts";
import { saveCheckpoint } from "../../lib/train/checkpoint.ts";
import { loadConfig } from "../../lib/train/run_config.ts";
import { tinyRowModel } from "./tiny_rows.ts";

/** Writes it, or another model, as a run. @param run The run's folder. @param step Whose number tells it from others. */
export function writeRowCheckpoint(
  run: string,
  step = 3,
  { config: model, weights } = tinyRowModel(),
): void {
  const config = loadConfig(
    "demo",
    Object.entries(model).map(([key, value]) => `model.${key}=${JSON.stringify(value)}`),
  );
  const state = {
    version: "0.0.0",
    step,
    seed: 0,
    config,
    dataFingerprint: "none",
    losses: [],
    evalLoss: null,
    position: { epoch: 0, block: 0, sequence: 0, blockRows: 8 },
    numSkippedSteps: 0,
    numSkippedInRow: 0,
  };
  const zeros = [...parameterShapes(config.model)].flatMap(([name, [rows, columns]]) =>
    ["exp_avg", "exp_avg_sq"].map((kind) => [`${name}.${kind}`, new Float32Array(rows * columns)] as const)
  );
  if (step !== 3) weights.get("wte.weight")?.fill(step, 0, 1);
  saveCheckpoint(join(run, "checkpoints"), { state, weights, optimizer: new Map(zeros) }, { keep: 1 });
}

/** Runs a test with a folder that has such a run in it, `run`. */
export async function withRowCheckpoint(
  test: (at: (name: string) => string) => Promise<void> | void,
  model = tinyRowModel(),
): Promise<void> {
  const folder = Deno.makeTempDirSync();
  try {
    writeRowCheckpoint(join(folder, "run"), 3, model);
    await test((name) => join(folder, name));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

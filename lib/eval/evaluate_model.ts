/**
 * An evaluation for programs: the summary that `eval` prints.
 *
 * @module
 */
import { checkpointDirectory } from "../train/checkpoint.ts";
import { PLACE_BASELINES, standardBaselines } from "./baselines/standard.ts";
import { evaluate } from "./evaluate.ts";
import { answersOf, type EvalAnswer, summaryLines } from "./page/summary.ts";

/** Model, rows and settings of {@link evaluateModel}. */
export interface ModelEvaluation {
  /** A run directory or one of its checkpoints. */
  checkpoint: string;
  /** A folder of probe rows. */
  dataDir: string;
  /** The split to predict ("test"). */
  split?: "test" | "val";
  /** Earlier measurements that may be known: all or only the training set (default: depends on the split). */
  history?: "all" | "train";
  /** Measurements to predict, drawn at random (2,000). */
  maxMeasurements?: number;
  /** Context sizes, in rotation ([20]). */
  contexts?: readonly number[];
  /** Seed of the random draws (0). */
  seed?: number;
  /** Stops the evaluation. */
  signal?: AbortSignal;
}

/** The summary of an evaluation. */
export interface EvalSummary {
  /** The lines that `eval` prints. */
  lines: string[];
  /** The model against the best baseline on at most five questions, the most important first. */
  answers: EvalAnswer[];
}

/**
 * Predicts held-out measurements with a model and with baselines, as `eval` does.
 *
 * @throws {UserError} If the checkpoint or the rows cannot be used.
 */
export async function evaluateModel(
  { checkpoint, dataDir, split = "test", history, maxMeasurements = 2000, contexts = [20], seed = 0, signal }:
    ModelEvaluation,
): Promise<EvalSummary> {
  const report = await evaluate({
    checkpoint: checkpointDirectory(checkpoint),
    dataDir,
    split,
    history,
    maxMeasurements,
    contexts,
    isEveryContext: false,
    baselines: [...standardBaselines(seed).keys(), ...PLACE_BASELINES],
    seed,
  }, signal && { signal });
  return { lines: summaryLines(report), answers: answersOf(report) };
}

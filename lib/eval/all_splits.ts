/**
 * The report of one model on several splits, as one JSON object.
 *
 * @module
 */
import type { EvalAnswer } from "./page/summary.ts";
import type { EvalReport } from "./report.ts";
import type { PlannedSplit } from "./split_plan.ts";

export interface SplitCounts {
  train: number;
  val: number;
  test: number;
}

/** A split that does not hold out any measurements. */
interface EmptySplit extends PlannedSplit {
  counts: SplitCounts;
}

export interface SplitResult extends EmptySplit {
  /** Folder of the split's own report and page, relative to that of this report. */
  folder: string;
  /** Summary of the split's report: the model against the best baseline. */
  answers: EvalAnswer[];
}

export interface AllSplitsReport {
  run: Pick<EvalReport["run"], "version" | "checkpoint" | "step" | "numParameters" | "seed"> & {
    measurements: string[];
    groupBy: string;
    /** Measurements that the model was trained on. */
    numTraining: number;
    train: string;
    trainFingerprint: string;
  };
  splits: SplitResult[];
  empty: EmptySplit[];
}

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

/** A split that holds out no measurement. */
export interface EmptySplit extends PlannedSplit {
  counts: SplitCounts;
}

export interface SplitResult extends EmptySplit {
  /** The folder of its own report and page, within that of this report. */
  folder: string;
  /** The summary of its report: the model beside the best simple method. */
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

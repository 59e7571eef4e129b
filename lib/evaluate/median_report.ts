/**
 * A short evaluation: the model's RTTs beside the medians of what was measured before.
 *
 * @module
 */
import type { PingModel } from "../query/ping_model.ts";
import { forecastWithBaselines } from "./baseline_forecasts.ts";
import { standardBaselines } from "./baselines/standard.ts";
import { drawCases, type EvalCase } from "./cases.ts";
import { clustersOf } from "./clusters.ts";
import { openEvalRows } from "./eval_rows.ts";
import type { ErrorMetrics } from "./forecast_errors.ts";
import { evaluateRtt } from "./rtt_section.ts";

/** Errors of one method; null where nothing had a reply. */
export interface MedianReportErrors {
  medianAbsoluteMs: number | null;
  meanAbsoluteMs: number | null;
  /** 90 % of the relative errors |predicted - measured| / measured are at most this. */
  p90Relative: number | null;
}

/** Errors of the model's predictive median and of the medians of histories on the same answered measurements. */
export interface MedianReport {
  numMeasurements: number;
  model: MedianReportErrors;
  globalMedian: MedianReportErrors;
  sourceMedian: MedianReportErrors;
  pairMedian: MedianReportErrors;
}

/** What is compared. */
export interface MedianReportOptions {
  /** How many measurements of the test split are drawn; those without a reply are left out afterwards. */
  count: number;
  /** How many earlier measurements the model is given. */
  maxContext: number;
  seed: number;
  onProgress?: (done: number) => void;
  signal?: AbortSignal;
}

/** Measurements that the medians are of, at most: 24 MB. */
const MAX_MEASUREMENTS = 1_000_000;

/**
 * Predicts measurements of the test split, all earlier ones being known, and compares.
 *
 * @param rowsDir The folder of probe rows the model was trained on, with `train` and `test`.
 * @returns The report, and the measurements it is about.
 * @throws {UserError} If there are no rows.
 */
export async function reportBesideMedians(
  model: PingModel,
  rowsDir: string,
  options: MedianReportOptions,
): Promise<{ report: MedianReport; cases: EvalCase[] }> {
  const { seed, maxContext, onProgress } = options;
  const hooks = options.signal ? { signal: options.signal } : {};
  using rows = await openEvalRows(rowsDir, { split: "test", history: "all" });
  const cases = await drawCases(rows, { count: options.count, maxContext, seed, ...hooks });
  const names = ["global median", "source median", "pair median"];
  const medians = new Map([...standardBaselines(seed)].filter(([name]) => names.includes(name)));
  const reading = { seed, maxMeasurements: MAX_MEASUREMENTS, baselines: medians, ...hooks };
  const { rtt } = await evaluateRtt(model, cases, {
    ...{ contexts: [maxContext], seed, clusters: clustersOf(cases, rows.splitBy) },
    baselines: await forecastWithBaselines(rows, cases, reading),
    onProgress,
    ...hooks,
  });
  const [globalMedian, sourceMedian, pairMedian] = rtt.baselines.map(({ overall }) => errorsOf(overall));
  const { overall } = rtt.model;
  return {
    cases,
    report: {
      numMeasurements: overall.numMeasurements,
      model: errorsOf(overall),
      ...{ globalMedian, sourceMedian, pairMedian },
    },
  };
}

function errorsOf({ medianAbsoluteMs, meanAbsoluteMs, relative }: ErrorMetrics): MedianReportErrors {
  return { medianAbsoluteMs, meanAbsoluteMs, p90Relative: relative.p90 };
}

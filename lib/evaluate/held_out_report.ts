/**
 * How well a model predicts held-out RTTs, beside what the same history says without a model.
 *
 * @module
 */
import { openProbeRows } from "../loader/row_source.ts";
import type { PingModel } from "../query/ping_model.ts";
import { collectTrainingRtts, drawHeldOut, type HeldOutMeasurement } from "./held_out.ts";
import { medianBaselinesMs, modelMediansMs, type RttErrors, rttErrors } from "./rtt_error.ts";

/** Errors of the model's predictive median and of the baselines on the same held-out measurements. */
export interface HeldOutReport {
  numMeasurements: number;
  model: RttErrors;
  globalMedian: RttErrors;
  sourceMedian: RttErrors;
  pairMedian: RttErrors;
}

/** The report and the measurements it is about. */
export interface HeldOutEvaluation {
  report: HeldOutReport;
  heldOut: HeldOutMeasurement[];
}

/**
 * Predicts measurements of the test split and compares.
 *
 * @param model The model.
 * @param rowsDir The folder of probe rows the model was trained on, with `train` and `test`.
 * @param options `count`: how many measurements; `maxContext`: how many earlier held-out ones of the same source
 *   each predictor may see.
 * @throws {UserError} If there are no rows.
 */
export async function evaluateHeldOut(
  model: PingModel,
  rowsDir: string,
  options: { count: number; maxContext: number; seed: number; onProgress?: (done: number) => void },
): Promise<HeldOutEvaluation> {
  using test = await openProbeRows(rowsDir, "test");
  using training = await openProbeRows(rowsDir, "train");
  const heldOut = drawHeldOut(test, options);
  const measuredMs = heldOut.map(({ rttMs }) => rttMs);
  const baselines = medianBaselinesMs(collectTrainingRtts(training, heldOut), heldOut);
  const predictedMs = await modelMediansMs(model, heldOut, options.onProgress);
  return {
    heldOut,
    report: {
      numMeasurements: heldOut.length,
      model: rttErrors(predictedMs, measuredMs),
      globalMedian: rttErrors(baselines.globalMedian, measuredMs),
      sourceMedian: rttErrors(baselines.sourceMedian, measuredMs),
      pairMedian: rttErrors(baselines.pairMedian, measuredMs),
    },
  };
}

/** Messages and counts of `adapt`. @module */
import { PhaseProgress } from "../lib/cli/progress.ts";
import type { StageContext } from "../lib/cli/stage.ts";
import { formatSeconds } from "../lib/base/text.ts";
import type { Adaptation, AdaptOptions } from "../lib/query/adapt/adapt.ts";
import { MAX_STEP_MEASUREMENTS } from "../lib/query/adapt/fit.ts";
import type { AdaptedModel } from "../lib/query/adapt/adapted_model.ts";

/** The largest number of addresses named in a line. */
const MAX_NAMED = 3;

/** The approximate number of measurements per second of a step, on two cores. */
const MEASUREMENTS_PER_SECOND = 900;

/** Logs the estimated time of a fit, if it is more than a few seconds. */
export function noteEstimate(numMeasurements: number, steps: number, log: (line: string) => void): void {
  const perStep = Math.min(numMeasurements, MAX_STEP_MEASUREMENTS);
  const seconds = (steps + 2) * perStep / MEASUREMENTS_PER_SECOND;
  if (seconds < 5) return;
  log(
    `fitting ${numMeasurements} measurements in ${steps} steps of some ${perStep}: about ${
      formatSeconds(seconds)
    } on two cores, less on a GPU`,
  );
}

/** Shows the progress: located addresses, then finished steps. */
export function adaptProgress(
  stage: StageContext,
  numSteps: number,
): Disposable & { options: Required<Pick<AdaptOptions, "onLocated" | "onProgress">> } {
  const located = new PhaseProgress(stage, "addresses");
  const fitted = new PhaseProgress(stage, "steps");
  return {
    options: {
      onLocated: (done, total) => located.update("locating", done, total),
      onProgress(steps) {
        located[Symbol.dispose]();
        fitted.update("fitting", steps, numSteps);
      },
    },
    [Symbol.dispose]() {
      located[Symbol.dispose]();
      fitted[Symbol.dispose]();
    },
  };
}

/** The counts of a fit, for the manifest and `--json`. */
export function countsOf(
  { addresses, withoutRow, numMeasurements, numFailed, lossBefore, lossAfter }: Adaptation,
  { rows }: AdaptedModel,
): Record<string, unknown> {
  return {
    addresses: addresses.length,
    withoutRow: withoutRow.length,
    measurements: numMeasurements,
    numFailed,
    rows: rows.size,
    lossBefore,
    lossAfter,
  };
}

/** The counts of a fit as text. */
export function describeCounts(
  { addresses, measurements, rows, lossBefore, lossAfter }: Record<string, unknown>,
): string {
  const loss = typeof lossBefore === "number" && typeof lossAfter === "number"
    ? `, loss of an RTT ${lossBefore.toFixed(2)} -> ${lossAfter.toFixed(2)} nats`
    : "";
  return `${addresses} addresses fitted to ${measurements} measurements, ${rows} embeddings differ from the base${loss}`;
}

/** Logs the addresses that could not be fitted, and whether there were any to fit. */
export function noteAdaptation(
  { addresses, withoutRow, numFailed }: Adaptation,
  log: (line: string) => void,
): void {
  if (withoutRow.length > 0) {
    const named = withoutRow.slice(0, MAX_NAMED).join(", ") + (withoutRow.length > MAX_NAMED ? ", …" : "");
    log(`${withoutRow.length} addresses have no embedding, because the model's table is full: ${named}`);
  }
  if (numFailed > 0) log(`${numFailed} measurements without a reply were skipped`);
  if (addresses.length === 0) {
    log("no address was fitted: all of them were in the training data; name known ones with --addresses");
  }
}

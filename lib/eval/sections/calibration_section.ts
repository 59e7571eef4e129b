/**
 * The section on calibration. Distributions are corrected by where the validation split's measurements lie in
 * their distributions; the section reports the coverage of the corrected intervals.
 *
 * @module
 */
import { join } from "@std/path";
import { exists } from "../../io/files/inputs.ts";
import type { PingModel } from "../../query/ping_model.ts";
import { type MassRanges, QuantileCalibration } from "../../query/rtt/quantile_calibration.ts";
import { type Coverage, coverages } from "../metrics/calibration.ts";
import { drawCases } from "../cases.ts";
import { type EvalRowsOptions, openEvalRows } from "../eval_rows.ts";
import { type ForecastOptions, forecastRtts, type RttForecasts } from "./rtt_forecasts.ts";

export interface CalibrationSection {
  /** Measurements of the validation split behind the correction: predicted ones, and those with a reply. */
  numDrawn: number;
  numMeasurements: number;
  /** The correction: the share of these below each of `CALIBRATION_LEVELS` of their distributions. */
  shares: number[];
  /** Coverage of the predicted measurements by corrected central intervals. */
  coverage: Coverage[];
  byContext: { numContext: number; coverage: Coverage[] }[];
}

interface LearnedCalibration extends Pick<CalibrationSection, "numDrawn" | "numMeasurements"> {
  calibration: QuantileCalibration;
}

/** How to forecast the cases and, in the same way, the validation split. */
interface LearnOptions extends Omit<EvalRowsOptions, "split">, ForecastOptions {
  dataDir: string;
  count: number;
  seed: number;
}

/** With fewer, the ends of 90 % intervals would be known to 3 % at best. */
const MIN_MEASUREMENTS = 50;

/**
 * Learns a correction from the validation split.
 *
 * @returns Undefined if the split has too few measurements.
 * @throws {UserError} If it cannot be read.
 */
export async function learnCalibration(
  model: PingModel,
  options: LearnOptions,
): Promise<LearnedCalibration | undefined> {
  const { dataDir, count, seed, contexts, signal } = options;
  if (!exists(join(dataDir, "val"))) return undefined;
  using rows = await openEvalRows(dataDir, { ...options, split: "val" });
  const maxContext = Math.max(...contexts);
  const cases = await drawCases(rows, { count, maxContext, seed, signal });
  const places = answeredOf(await forecastRtts(model, cases, options));
  const numMeasurements = places.below.length;
  if (numMeasurements < MIN_MEASUREMENTS) return undefined;
  return { calibration: QuantileCalibration.of(places), numDrawn: cases.length, numMeasurements };
}

export function calibrationSection(
  { calibration, numDrawn, numMeasurements }: LearnedCalibration,
  forecasts: RttForecasts,
  contexts: readonly number[],
): CalibrationSection {
  const coverageOf = (numContext?: number) =>
    coverages(correct(answeredOf(forecasts, numContext), calibration));
  return {
    numDrawn,
    numMeasurements,
    shares: [...calibration.shares],
    coverage: coverageOf(),
    byContext: contexts.map((numContext) => ({ numContext, coverage: coverageOf(numContext) })),
  };
}

/** The ranges of measurements with a reply. @param numContext Only those predicted with this context size. */
function answeredOf({ below, upTo, numContext: of }: RttForecasts, numContext?: number): MassRanges {
  const isWanted = (_: number, i: number) =>
    !Number.isNaN(below[i]) && (numContext === undefined || of[i] === numContext);
  return { below: below.filter(isWanted), upTo: upTo.filter(isWanted) };
}

function correct({ below, upTo }: MassRanges, calibration: QuantileCalibration): MassRanges {
  const share = (level: number) => calibration.shareBelow(level);
  return { below: below.map(share), upTo: upTo.map(share) };
}

/**
 * Quantile calibration: corrects a model's distributions by where held-out measurements fell in them.
 *
 * Let R(p) be the share of held-out measurements below the p-quantiles of their predicted distributions; it
 * equals p for a calibrated model. The corrected distribution of a prediction F is R(F). This preserves the
 * order of RTTs and makes intervals wider where the model was overconfident and narrower where it was
 * underconfident. A single R serves all predictions, so it corrects average errors only.
 *
 * RTT codes are discrete, so a measurement covers a range of its distribution and counts as spread evenly
 * over it: Czado, Gneiting, Held, "Predictive Model Assessment for Count Data", Biometrics 65 (2009), section
 * 2.1.
 *
 * Source: Kuleshov, Fenner, Ermon, Accurate Uncertainties for Deep Learning Using Calibrated Regression, ICML
 * 2018.
 *
 * @module
 */
import * as z from "zod";
import { ensure, FormatError } from "../../base/errors.ts";
import { parseAs } from "../../base/schema_fault.ts";
import { RttArrays, RttDistribution } from "./rtt_distribution.ts";

/** The levels at which R is known; it is linear in between. They are finer in the tails of distributions. */
export const CALIBRATION_LEVELS: readonly number[] = [
  ...[0, 0.01, 0.025],
  ...Array.from({ length: 19 }, (_, i) => Math.round(5 * (i + 1)) / 100),
  ...[0.975, 0.99, 1],
];

interface ReportedModel {
  readonly path: string;
  readonly checkpoint: string;
  readonly step: number;
  /** SHA-256 of the checkpoint's weights. */
  readonly sha256: string;
  /** Whether the evaluation used the model's pool; undefined if the report does not say. */
  readonly isPooled: boolean;
}

export interface CheckpointIdentity {
  /** Where it comes from, for error messages. */
  readonly directory: string;
  /** Training steps, and a hash that identifies the weights. */
  readonly state: { readonly step: number; readonly files: { readonly model: { readonly sha256: string } } };
}

/** R: the share of measurements below a level of their predicted distributions. */
export class QuantileCalibration {
  readonly #model: ReportedModel | undefined;

  /** Takes R at each of {@link CALIBRATION_LEVELS}. @param model The model that it corrects, if known. */
  constructor(readonly shares: readonly number[], model?: ReportedModel) {
    ensure(isRising(shares), "shares of a calibration rise from 0 to 1");
    this.#model = model;
  }

  /**
   * Estimates R from at least one held-out measurement. An additional one, spread evenly over all levels,
   * keeps R strictly increasing.
   */
  static of(ranges: MassRanges): QuantileCalibration {
    const count = ranges.below.length;
    ensure(count > 0, "a calibration needs measurements");
    return new QuantileCalibration(CALIBRATION_LEVELS.map((level, k) => {
      if (k === 0 || k === CALIBRATION_LEVELS.length - 1) return level;
      const inside = sharesWithin(ranges, [0, level]).reduce((sum, share) => sum + share, 0);
      return (level + inside) / (count + 1);
    }));
  }

  /**
   * Reads the calibration in an evaluation's `report.json`. @param path Path of the file, for error messages.
   *
   * @throws {FormatError} If there is none, or its numbers are not an R.
   */
  static parse(text: string, path: string): QuantileCalibration {
    const { calibration: { shares }, run } = parseAs(reportSchema, text, NO_CALIBRATION, path);
    if (!isRising(shares)) {
      const wanted = `expected ${CALIBRATION_LEVELS.length} numbers that rise from 0 to 1`;
      throw new FormatError(`its calibration is damaged, ${wanted}; run eval again with --overwrite`, {
        path,
      });
    }
    const { checkpoint, step, modelSha256: sha256, isPooled } = run;
    return new QuantileCalibration(shares, { path, checkpoint, step, sha256, isPooled });
  }

  /**
   * Checks that it is for the given model. A calibration that was not read from a report fits any model.
   *
   * @param isPooled Whether the model's pool is used.
   * @throws {FormatError} If the report is for other weights, or differs in whether the pool is used.
   */
  requireOf({ directory, state }: CheckpointIdentity, isPooled: boolean): void {
    if (!this.#model) return;
    const { sha256 } = state.files.model;
    const { path, checkpoint, step } = this.#model;
    if (this.#model.sha256 === sha256) {
      if (this.#model.isPooled === isPooled) return;
      const [found, wanted] = isPooled
        ? ["the network alone", "the pool"]
        : ["the pool", "the network alone"];
      throw new FormatError(
        `it corrects ${found}, expected ${wanted}; run eval again ${isPooled ? "without" : "with"} --no-pool`,
        { path },
      );
    }
    const found = `it is for the model ${checkpoint} (step ${step}, SHA-256 ${
      this.#model.sha256.slice(0, 12)
    }…)`;
    throw new FormatError(
      `${found}, expected one for ${directory} (step ${state.step}, ${
        sha256.slice(0, 12)
      }…); run eval on that one`,
      { path },
    );
  }

  /** R(level). */
  shareBelow(level: number): number {
    return interpolate(CALIBRATION_LEVELS, this.shares, level);
  }

  /** The level below which a share of the measurements fall; the inverse of R. */
  levelOf(share: number): number {
    return interpolate(this.shares, CALIBRATION_LEVELS, share);
  }

  /** Corrected probability of a range of RTTs. @param range Its probability and that of all lower RTTs. */
  massOf({ below, within }: { below: number; within: number }): number {
    const upTo = Math.min(1, below + within);
    const next = CALIBRATION_LEVELS.findIndex((level, i) =>
      level > below || i === CALIBRATION_LEVELS.length - 1
    );
    if (upTo > CALIBRATION_LEVELS[next]) return this.shareBelow(upTo) - this.shareBelow(below);
    // R is linear here, so this stays accurate for ranges far too improbable for a difference.
    const [low, high] = [CALIBRATION_LEVELS[next - 1], CALIBRATION_LEVELS[next]];
    return within * (this.shares[next] - this.shares[next - 1]) / (high - low);
  }

  /** The corrected distribution; P(no reply) is unchanged. @param arrays The memory of the result. */
  apply(predicted: RttDistribution, arrays: RttArrays = new RttArrays()): RttDistribution {
    const { pFailed, probabilities, canonicalMass, spreadMass, floorMs } = predicted;
    const { probabilities: corrected, cumulative } = arrays;
    let upTo = 0;
    let shareBelow = 0;
    for (let i = 0; i < probabilities.length; i++) {
      upTo += probabilities[i];
      const share = this.shareBelow(Math.min(1, upTo));
      corrected[i] = share - shareBelow;
      shareBelow = share;
    }
    return new RttDistribution(pFailed, corrected, canonicalMass, { spreadMass, floorMs, cumulative });
  }
}

const NO_CALIBRATION =
  "it contains no calibration, expected the report.json of an eval whose data has a validation split; run eval";
const reportSchema = z.object({
  run: z.object({
    checkpoint: z.string(),
    step: z.int(),
    modelSha256: z.string(),
    isPooled: z.boolean(),
  }),
  calibration: z.object({ shares: z.array(z.number()) }),
});

export function isRising(shares: readonly number[]): boolean {
  return shares.length === CALIBRATION_LEVELS.length && shares[0] === 0 && shares.at(-1) === 1 &&
    shares.every((share, i) => i === 0 || share > shares[i - 1]);
}

/** Interpolates linearly between points with increasing `xs`. */
function interpolate(xs: readonly number[], ys: readonly number[], x: number): number {
  let i = 1;
  while (i < xs.length - 1 && xs[i] < x) i++;
  return ys[i - 1] + (x - xs[i - 1]) / (xs[i] - xs[i - 1]) * (ys[i] - ys[i - 1]);
}

/** Where measurements fall in their forecast distributions: from P(less) to P(less or equal). */
export interface MassRanges {
  readonly below: Float64Array;
  readonly upTo: Float64Array;
}

/** Share of each measurement's range within [low, high]. A range of zero width is a point, high excluded. */
export function sharesWithin(
  { below, upTo }: MassRanges,
  [low, high]: readonly [number, number],
): Float64Array {
  return below.map((start, i) => {
    const width = upTo[i] - start;
    if (width > 0) return Math.max(0, Math.min(high, upTo[i]) - Math.max(low, start)) / width;
    return start >= low && (start < high || high === 1) ? 1 : 0;
  });
}

/**
 * Quantiles that hold what they say: a model's distributions, corrected by where measurements that it was not trained
 * on fell in them.
 *
 * With R(p) the share of such measurements below the p-quantiles of their predicted distributions, which is p for a
 * calibrated model, the corrected distribution of a prediction F is R(F). It has the same order of RTTs and the same
 * best guesses among measurements that are alike; its intervals are wider where the model was too sure and narrower
 * where it was not sure enough. One R serves all predictions, so it mends what is wrong on average only.
 *
 * Source: Kuleshov, Fenner, Ermon, Accurate Uncertainties for Deep Learning Using Calibrated Regression, ICML 2018.
 *
 * @module
 */
import { z } from "zod";
import { ensure, FormatError } from "../errors.ts";
import { readText } from "../files/inputs.ts";
import { type MassRanges, sharesWithin } from "./mass_ranges.ts";
import { RttDistribution } from "./rtt_distribution.ts";

/** Where R is known; straight in between. Finer at the ends, where intervals end. */
export const CALIBRATION_LEVELS: readonly number[] = [
  ...[0, 0.01, 0.025],
  ...Array.from({ length: 19 }, (_, i) => Math.round(5 * (i + 1)) / 100),
  ...[0.975, 0.99, 1],
];

/** R: what share of measurements lies below a level of their predicted distributions. */
export class QuantileCalibration {
  readonly #shares: readonly number[];

  /**
   * Takes R as it is.
   *
   * @param shares R at each of {@link CALIBRATION_LEVELS}: from 0 to 1, strictly rising.
   */
  constructor(shares: readonly number[]) {
    ensure(isRising(shares), "shares of a calibration rise from 0 to 1");
    this.#shares = shares;
  }

  /**
   * Learns from measurements that the model was not trained on.
   *
   * One more, spread evenly over everything, keeps R rising where there is none.
   *
   * @param ranges Of at least one measurement.
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
   * Reads the one in an evaluation's `report.json`.
   *
   * @throws {FormatError} If the file has none.
   */
  static read(path: string): QuantileCalibration {
    const text = readText(path);
    const wanted = "the report.json of an eval whose data has a validation split was wanted";
    try {
      return new QuantileCalibration(reportSchema.parse(JSON.parse(text)).calibration.shares);
    } catch (cause) {
      throw new FormatError(`it holds no calibration, ${wanted}`, { path, cause });
    }
  }

  /** R at each of {@link CALIBRATION_LEVELS}. */
  get shares(): readonly number[] {
    return this.#shares;
  }

  /** R(level). @param level From 0 to 1. */
  shareBelow(level: number): number {
    return interpolate(CALIBRATION_LEVELS, this.#shares, level);
  }

  /** The level below which a share of the measurements lies: R turned round. @param share From 0 to 1. */
  levelOf(share: number): number {
    return interpolate(this.#shares, CALIBRATION_LEVELS, share);
  }

  /** The corrected distribution; whether a reply comes is as predicted. */
  apply({ pFailed, probabilities, canonicalMass, spreadMass }: RttDistribution): RttDistribution {
    const corrected = new Float64Array(probabilities.length);
    let [upTo, shareBelow] = [0, 0];
    for (let i = 0; i < probabilities.length; i++) {
      upTo += probabilities[i];
      const share = this.shareBelow(Math.min(1, upTo));
      corrected[i] = share - shareBelow;
      shareBelow = share;
    }
    return new RttDistribution(pFailed, corrected, canonicalMass, spreadMass);
  }
}

const shares = z.array(z.number()).refine(isRising);
const reportSchema = z.object({ calibration: z.object({ shares }) });

function isRising(shares: readonly number[]): boolean {
  return shares.length === CALIBRATION_LEVELS.length && shares[0] === 0 && shares.at(-1) === 1 &&
    shares.every((share, i) => i === 0 || share > shares[i - 1]);
}

/** The value at x of the line through points with rising abscissae. */
function interpolate(xs: readonly number[], ys: readonly number[], x: number): number {
  let i = 1;
  while (i < xs.length - 1 && xs[i] < x) i++;
  return ys[i - 1] + (x - xs[i - 1]) / (xs[i] - xs[i - 1]) * (ys[i] - ys[i - 1]);
}

/**
 * The section on the truth of a synthetic Internet: the excess of the model's bits over those of the true distributions,
 * and how far its intervals and quantiles are from the true ones.
 *
 * The mean of -log2 P(RTT code | source, destination, time) cannot be below the conditional entropy. The excess over it
 * is left to learn. It is computed per measurement against the truth's -log2 P of the same code, so the noise that both
 * share cancels out.
 *
 * @module
 */
import { UserError } from "../../errors.ts";
import type { RttLaw } from "../../synth/law.ts";
import { codeProbability } from "../../synth/rtt_codes.ts";
import type { SyntheticTruth } from "../../synth/truth.ts";
import type { PingModel } from "../../query/ping_model.ts";
import type { QuantileCalibration } from "../../query/rtt/quantile_calibration.ts";
import { COVERAGE_LEVELS } from "../metrics/calibration.ts";
import { type EvalCase, queryOf, withContexts } from "../cases.ts";
import { meanOf, type MeanWithError, meanWithError, medianOf } from "../metrics/sample_statistics.ts";
import { outcomeExcessBits, type ReplyScore, scoreReply, TRUTH_QUANTILES } from "./truth_scores.ts";

/** Mass of a predicted distribution that may be spread evenly over first bytes which the model finds unlikely. */
const MAX_SPREAD_MASS = 1e-3;

/** Some predictions against the truth. */
export interface TruthScores {
  /** Predictions, and how many of them were of measurements with a reply. */
  numMeasurements: number;
  numReplies: number;
  /** -log2 P(RTT code | a reply came) of the truth: an estimate of the conditional entropy. */
  trueBits: MeanWithError;
  /** The same of the model, less that of the truth. */
  excessBits: MeanWithError;
  /** The same for whether a reply comes. */
  outcomeExcessBits: MeanWithError;
  /** Mean true probability of the model's central intervals; `share` is null of no replies. */
  coverage: { level: number; share: number | null }[];
  /** |predicted - true| of quantiles of the RTT, in ms and as a share of the true one; null of no replies. */
  quantiles: {
    q: number;
    meanAbsoluteMs: number | null;
    medianAbsoluteMs: number | null;
    medianRelative: number | null;
  }[];
}

/** The same of predictions that were corrected. */
export type CalibratedScores = Pick<TruthScores, "excessBits" | "coverage">;

/** Predictions against the truth, all of them and by group. */
export interface TruthSection extends TruthScores {
  byContext: (TruthScores & { context: number })[];
  byIpVersion: (TruthScores & { ipVersion: 4 | 6 })[];
  /** Of all, with distributions corrected by the validation split; absent without one. */
  calibrated?: CalibratedScores;
}

/** How predictions are compared with the truth. */
export interface TruthSectionOptions {
  truth: SyntheticTruth;
  /** A correction of the predictions, to be compared too. */
  calibration?: QuantileCalibration | undefined;
  /** Numbers of context measurements; each case gets one of them, in rotation. */
  contexts: readonly number[];
  /** Predict each case with every number of context measurements instead. */
  isEveryContext?: boolean;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** One prediction. */
interface TruthSample {
  context: number;
  ipVersion: 4 | 6;
  outcomeExcessBits: number;
  /** Absent if there was no reply. */
  reply?: ReplyScore;
  /** The same of the corrected prediction. */
  calibrated?: ReplyScore;
}

/**
 * Compares a model with the truth of a synthetic Internet.
 *
 * @param cases Held-out measurements of that Internet.
 * @throws {UserError} If a measurement is not of that Internet.
 */
export async function evaluateTruth(
  model: PingModel,
  cases: readonly EvalCase[],
  options: TruthSectionOptions,
): Promise<TruthSection> {
  const { contexts, isEveryContext, calibration, onProgress } = options;
  const laws = cases.map((drawn) => lawOf(options.truth, drawn));
  const asked = withContexts(cases.length, { contexts, everyContext: isEveryContext });
  const samples: TruthSample[] = [];
  await model.likelyRttDistributions(
    asked.map(({ index, context }) => queryOf(cases[index], context)),
    (predicted, i) => {
      const { index, context } = asked[i];
      const { source, rttCode } = cases[index].measurement;
      const law = laws[index];
      const sample: TruthSample = {
        context,
        ipVersion: source.length === 4 ? 4 : 6,
        outcomeExcessBits: outcomeExcessBits(law, predicted.pFailed, rttCode === null),
      };
      if (rttCode !== null) {
        sample.reply = scoreReply(law, predicted, rttCode);
        if (calibration) sample.calibrated = scoreReply(law, calibration.apply(predicted), rttCode);
      }
      samples.push(sample);
      onProgress?.(samples.length, asked.length);
    },
    {
      maxSpreadMass: MAX_SPREAD_MASS,
      codes: asked.map(({ index }) => cases[index].measurement.rttCode),
    },
  );
  const corrected = samples.flatMap(({ calibrated }) => calibrated ? [calibrated] : []);
  const summariseIf = (isWanted: (sample: TruthSample) => boolean) => summarise(samples.filter(isWanted));
  const section: TruthSection = {
    ...summarise(samples),
    byContext: contexts.map((context) => ({
      context,
      ...summariseIf((sample) => sample.context === context),
    })),
    byIpVersion: ([4, 6] as const).map((ipVersion) => ({
      ipVersion,
      ...summariseIf((sample) => sample.ipVersion === ipVersion),
    })),
  };
  if (corrected.length > 0) section.calibrated = summariseBits(corrected);
  return section;
}

/** The true distribution of a case, which it can come from. */
function lawOf(truth: SyntheticTruth, { srcAddr, dstAddr, rttMs, measurement }: EvalCase): RttLaw {
  const { timeS, rttCode } = measurement;
  const law = truth.has(srcAddr) && truth.has(dstAddr) ? truth.law(srcAddr, dstAddr, timeS) : undefined;
  const p = !law ? 0 : rttCode === null ? law.pFailed : codeProbability(law, rttCode);
  if (law && p > 0) return law;
  const found = rttMs === null ? "no reply" : `${rttMs} ms`;
  throw new UserError(
    `Cannot compare with the truth: found ${found} from ${srcAddr} to ${dstAddr} at ${timeS} s, which cannot come from ` +
      "this synthetic Internet; name the truth file that synth wrote with these measurements",
  );
}

function summarise(samples: readonly TruthSample[]): TruthScores {
  const replies = samples.flatMap(({ reply }) => reply ? [reply] : []);
  return {
    numMeasurements: samples.length,
    numReplies: replies.length,
    trueBits: meanWithError(replies.map(({ trueBits }) => trueBits)),
    outcomeExcessBits: meanWithError(samples.map((sample) => sample.outcomeExcessBits)),
    ...summariseBits(replies),
    quantiles: TRUTH_QUANTILES.map((q, i) => {
      const errorsMs = replies.map(({ predictedMs, trueMs }) => Math.abs(predictedMs[i] - trueMs[i]));
      return {
        q,
        meanAbsoluteMs: meanOf(errorsMs),
        medianAbsoluteMs: medianOf(errorsMs),
        medianRelative: medianOf(errorsMs.map((errorMs, k) => errorMs / replies[k].trueMs[i])),
      };
    }),
  };
}

function summariseBits(replies: readonly ReplyScore[]): CalibratedScores {
  return {
    excessBits: meanWithError(replies.map(({ excessBits }) => excessBits)),
    coverage: COVERAGE_LEVELS.map((level, i) => ({
      level,
      share: meanOf(replies.map(({ coverage }) => coverage[i])),
    })),
  };
}

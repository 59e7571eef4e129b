/**
 * The section on the truth of a synthetic Internet: the excess of the model's bits over those of the true
 * distributions, and how far its intervals and quantiles are from the true ones.
 *
 * The mean of -log2 P(RTT code | source, destination, time) cannot be below the conditional entropy. The
 * excess over it is what remains to be learned. It is computed per measurement against the truth's -log2 P of
 * the same code, so the shared noise cancels out.
 *
 * @module
 */
import type { LatencyModel } from "../../data/synth/latency_model.ts";
import { codeProbability, type SyntheticTruth } from "../../data/synth/truth.ts";
import type { RttDistribution } from "../../query/rtt/rtt_distribution.ts";
import { encodeRttCode, rttCodeBounds } from "../../data/tokens/rtt_code.ts";
import { COVERAGE_LEVELS } from "../metrics/calibration.ts";
import { UserError } from "../../base/errors.ts";
import type { PingModel } from "../../query/ping_model.ts";
import type { QuantileCalibration } from "../../query/rtt/quantile_calibration.ts";
import { type EvalCase, queryOf, withContexts } from "../cases.ts";
import { meanOf, type MeanWithError, meanWithError, medianOf } from "../../base/sample_statistics.ts";

// RTT codes are discrete, so a predicted quantile lies somewhere within a code. The code's mass is spread
// evenly over it on both sides of the comparison, so a prediction that equals the truth has exactly the
// nominal coverage.

export const TRUTH_QUANTILES: readonly number[] = [0.05, 0.25, 0.5, 0.75, 0.95];

interface ReplyScore {
  /** -log2 P(measured code | a reply came) of the truth; its mean is the conditional entropy. */
  trueBits: number;
  /** The prediction's bits minus `trueBits`; the mean is the excess over the conditional entropy. */
  excessBits: number;
  /** The true probability of the predicted central interval for each of {@link COVERAGE_LEVELS}. */
  coverage: number[];
  /** At each of {@link TRUTH_QUANTILES}. */
  predictedMs: number[];
  trueMs: number[];
}

/**
 * Compares a prediction with the truth.
 *
 * @param model The true distribution.
 * @param predicted The prediction, exact at the measured code.
 * @param rttCode The measured code, which must be possible under the truth.
 */
export function scoreReply(model: LatencyModel, predicted: RttDistribution, rttCode: number): ReplyScore {
  const trueBits = -Math.log2(codeProbability(model, rttCode));
  const { lowMs } = rttCodeBounds(rttCode);
  return {
    trueBits,
    excessBits: -Math.log2(predicted.probabilityOf(lowMs)) - trueBits,
    coverage: COVERAGE_LEVELS.map((level) =>
      trueProbabilityBelow(model, predicted, 0.5 + level / 2) -
      trueProbabilityBelow(model, predicted, 0.5 - level / 2)
    ),
    predictedMs: TRUTH_QUANTILES.map((q) => predicted.quantileMs(q)),
    trueMs: TRUTH_QUANTILES.map((q) => model.quantile(q)),
  };
}

/** The excess bits of the prediction of whether a reply comes. */
export function outcomeExcessBits(model: LatencyModel, pFailed: number, isFailed: boolean): number {
  return isFailed ? Math.log2(model.pFailed / pFailed) : Math.log2((1 - model.pFailed) / (1 - pFailed));
}

/** The true probability of an RTT below the predicted q-quantile. */
function trueProbabilityBelow(model: LatencyModel, predicted: RttDistribution, q: number): number {
  const quantileMs = predicted.quantileMs(q);
  const p = predicted.probabilityOf(quantileMs);
  const shareBelow = (q - (predicted.cdf(quantileMs) - p)) / p;
  const { lowMs, highMs } = rttCodeBounds(encodeRttCode(quantileMs));
  return model.probabilityBetween(0, lowMs) + shareBelow * model.probabilityBetween(lowMs, highMs);
}

/** Probability that may be spread over unlikely first bytes instead of being computed. */
const MAX_SPREAD_MASS = 1e-3;

export interface TruthScores {
  /** Predictions, and those of measurements with a reply. */
  numMeasurements: number;
  numReplies: number;
  /** -log2 P(RTT code | a reply came) of the truth: an estimate of the conditional entropy. */
  trueBits: MeanWithError;
  /** The model's bits minus the truth's. */
  excessBits: MeanWithError;
  /** The excess for whether a reply comes. */
  outcomeExcessBits: MeanWithError;
  /** Mean true probability of the model's central intervals; `share` is null without replies. */
  coverage: { level: number; share: number | null }[];
  /** |predicted - true| of quantiles of the RTT, in ms and relative to the true one; null without replies. */
  quantiles: {
    q: number;
    meanAbsoluteMs: number | null;
    medianAbsoluteMs: number | null;
    medianRelative: number | null;
  }[];
}

export type CalibratedScores = Pick<TruthScores, "excessBits" | "coverage">;

/** Predictions against the truth: all of them, and by group. */
export interface TruthSection extends TruthScores {
  byContext: (TruthScores & { context: number })[];
  byIpVersion: (TruthScores & { ipVersion: 4 | 6 })[];
  /** With distributions corrected by the validation split; absent without one. */
  calibrated?: CalibratedScores;
}

interface TruthSectionOptions {
  truth: SyntheticTruth;
  /** A correction of the predictions, which is also scored. */
  calibration?: QuantileCalibration | undefined;
  /** Context sizes; each case gets one of them, in rotation. */
  contexts: readonly number[];
  onProgress?: ((done: number, total: number) => void) | undefined;
}

interface TruthSample {
  context: number;
  ipVersion: 4 | 6;
  outcomeExcessBits: number;
  /** Absent without a reply. */
  reply?: ReplyScore;
  /** Score of the corrected prediction. */
  calibrated?: ReplyScore;
}

/**
 * Compares a model with the truth of a synthetic Internet.
 *
 * @param cases Held-out measurements of that Internet.
 * @throws {UserError} If a measurement is not from that Internet.
 */
export async function evaluateTruth(
  model: PingModel,
  cases: readonly EvalCase[],
  options: TruthSectionOptions,
): Promise<TruthSection> {
  const { contexts, calibration, onProgress } = options;
  const models = cases.map((drawn) => latencyModelOf(options.truth, drawn));
  const asked = withContexts(cases.length, { contexts });
  const samples: TruthSample[] = [];
  await model.likelyRttDistributions(
    asked.map(({ index, context }) => queryOf(cases[index], context)),
    (predicted, i) => {
      const { index, context } = asked[i];
      const { source, rttCode } = cases[index].measurement;
      const model = models[index];
      const sample: TruthSample = {
        context,
        ipVersion: source.length === 4 ? 4 : 6,
        outcomeExcessBits: outcomeExcessBits(model, predicted.pFailed, rttCode === null),
      };
      if (rttCode !== null) {
        sample.reply = scoreReply(model, predicted, rttCode);
        if (calibration) sample.calibrated = scoreReply(model, calibration.apply(predicted), rttCode);
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

/** The true distribution that a case was drawn from. */
function latencyModelOf(
  truth: SyntheticTruth,
  { srcAddr, dstAddr, rttMs, measurement }: EvalCase,
): LatencyModel {
  const { timeS, rttCode } = measurement;
  const model = truth.has(srcAddr) && truth.has(dstAddr)
    ? truth.latencyModel(srcAddr, dstAddr, timeS)
    : undefined;
  const p = !model ? 0 : rttCode === null ? model.pFailed : codeProbability(model, rttCode);
  if (model && p > 0) return model;
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

/**
 * The findings of an evaluation in words: how good the model is, and where it is better or worse than which baseline.
 *
 * @module
 */
import type { AdaptSection } from "../sections/adapt_section.ts";
import type { BitsSection } from "../sections/bits_section.ts";
import type { Coverage } from "../metrics/calibration.ts";
import type { FailureSection } from "../sections/failure_section.ts";
import type { EvalReport } from "../report.ts";
import type { ComparedMetric, Verdict } from "../metrics/rtt_comparison.ts";
import type { RttSection } from "../sections/rtt_section.ts";
import { noneText } from "./adapt_part.ts";
import {
  capital,
  countText,
  fixedText,
  intervalText,
  METRIC_NAMES,
  metricText,
  msText,
  percentIntervalText,
  percentText,
  ratioText,
  rivalText,
  scoreText,
  VERDICTS,
} from "./quantities.ts";
import { SHOWN_METRICS } from "./rtt_part.ts";

/** The metrics whose verdicts by number of context measurements are shown. */
const SHOWN_BY_CONTEXT: readonly ComparedMetric[] = ["medianAbsoluteMs", "likeliestAbsoluteMs", "crpsMs"];

/** A finding; with a mark where the model was compared. */
type Finding = { text: string } & Partial<typeof VERDICTS[Verdict]>;

/** The findings as lines of text. */
export function headlineLines(report: EvalReport): string[] {
  return findingsOf(report).map(({ text, mark }) => mark ? `${mark} ${text}` : text);
}

/** The findings of a report, the most important first. */
export function findingsOf({ rtt, adapted, calibration, failures, bits }: EvalReport): Finding[] {
  const findings: Finding[] = [];
  if (!rtt && bits) findings.push(likelihoodOf(bits));
  if (rtt && rtt.model.overall.numMeasurements > 0) {
    findings.push(accuracyOf(rtt), ...overallOf(rtt), ...byContextOf(rtt, "of context measurements"));
    findings.push(...coverageOf(rtt, calibration?.coverage));
  }
  if (adapted) findings.push(...adaptedOf(adapted));
  if (failures && failures.brier !== null) findings.push(foresightOf(failures));
  return findings;
}

/** Of a model of vocabulary v1, for which there are no other sections. */
function likelihoodOf({ withTimes: { bitsPerMeasurement, bitsPerToken } }: BitsSection): Finding {
  const bits = `${fixedText(bitsPerMeasurement)} bits, ${fixedText(bitsPerToken, 3)} a token`;
  return {
    text: `A measurement takes ${bits}; a model of vocabulary v1 is asked for nothing else, other sections ` +
      "need one of v2.",
  };
}

function foresightOf(failures: FailureSection): Finding {
  const { numMeasurements, numFailed, trainingShareBrier, verdict } = failures;
  if (numFailed === 0) {
    const all = `All ${countText(numMeasurements)} measurements had a reply`;
    return { text: `${all}, so nothing tells whether the model foresees that none comes.` };
  }
  const score = scoreText(failures.brier) + intervalText(failures.brierInterval, scoreText);
  const foreseen = `Whether a reply comes is foreseen with a Brier score of ${score}`;
  if (trainingShareBrier === null) return { text: `${foreseen}.` };
  const text = `${foreseen}; the share of failures in training scores ${scoreText(trainingShareBrier)}.`;
  return { text, ...VERDICTS[verdict] };
}

function accuracyOf({ model: { overall } }: RttSection): Finding {
  const { medianAbsoluteMs, meanAbsoluteMs, relative, intervals } = overall;
  const median = msText(medianAbsoluteMs) + intervalText(intervals.medianAbsoluteMs);
  const mean = msText(meanAbsoluteMs) + intervalText(intervals.meanAbsoluteMs);
  return {
    text:
      `Half of ${countText(overall.numMeasurements)} predicted RTTs are off by at most ${median}; the mean ` +
      `error is ${mean}, and nine of ten predictions are within ${percentText(relative.p90, 0)} of the ` +
      "measured RTT.",
  };
}

function overallOf({ comparisons }: RttSection): Finding[] {
  const shown = comparisons.filter(({ numContext, metric }) =>
    numContext === null && SHOWN_METRICS.includes(metric)
  );
  return shown.map((comparison) => {
    const { metric, model, ratio, verdict } = comparison;
    const size = ratio === null ? "" : `${ratioText(ratio)} `;
    const error = `${capital(METRIC_NAMES[metric])} ${metricText(metric, model)}`;
    const rival = rivalText(comparison, ", ");
    return { text: `${error}, ${size}against the best baseline (${rival}).`, ...VERDICTS[verdict] };
  });
}

/** The errors of the adapted model, and after how many measurements it is better and worse. */
function adaptedOf(section: AdaptSection): Finding[] {
  const { counts, byCount, numAddresses } = section;
  if (byCount.length === 0) return [{ text: noneText(section) }];
  const medians = byCount.map(({ numGiven, model, comparisons }) => {
    const best = comparisons.find(({ metric }) => metric === "medianAbsoluteMs");
    const beside = best ? ` (${best.bestBaseline}: ${msText(best.baseline)})` : "";
    return `${msText(model.medianAbsoluteMs)} after ${numGiven}${beside}`;
  });
  const comparisons = byCount.flatMap(({ numGiven, comparisons }) =>
    comparisons.map((each) => ({ ...each, numContext: numGiven }))
  );
  const addresses = `${countText(numAddresses)} addresses never seen`;
  return [
    { text: `Median absolute error of ${addresses}, by measurements of their own: ${medians.join(", ")}.` },
    ...byContextOf({ comparisons, contexts: counts }, "of measurements of addresses never seen"),
  ];
}

/** The numbers of measurements with which the model is better and worse. @param what They are numbers of. */
function byContextOf(
  { comparisons, contexts }: Pick<RttSection, "comparisons" | "contexts">,
  what: string,
): Finding[] {
  if (contexts.length < 2) return [];
  return SHOWN_BY_CONTEXT.flatMap((metric): Finding[] => {
    const of = comparisons.filter((each) => each.metric === metric && each.numContext !== null);
    const byVerdict = Map.groupBy(of, ({ verdict }) => verdict);
    const shown = (["better", "worse", "none"] as const).filter((verdict) => byVerdict.has(verdict));
    if (shown.every((verdict) => verdict === "none")) return [];
    const parts = shown.map((verdict) =>
      `${BY_CONTEXT[verdict]} ${byVerdict.get(verdict)?.map(({ numContext }) => numContext).join(", ")}`
    );
    const text = `${capital(METRIC_NAMES[metric])} by the number ${what}: ${parts.join("; ")}.`;
    return [shown.length === 1 ? { text, ...VERDICTS[shown[0]] } : { text }];
  });
}

const BY_CONTEXT = {
  better: "better than every baseline with",
  worse: "worse than the best with",
  none: "no difference shown with",
};

function coverageOf(
  { model: { overall } }: RttSection,
  corrected: readonly Coverage[] | undefined,
): Finding[] {
  const at = (coverage: readonly Coverage[] = []) => coverage.find(({ level }) => level === 0.9);
  const { share, interval } = at(overall.coverage) ?? { share: null };
  if (share === null) return [];
  const correctedShare = at(corrected)?.share ?? null;
  const after = correctedShare === null
    ? ""
    : `, corrected by the validation split ${percentText(correctedShare)}`;
  const held = percentText(share) + percentIntervalText(interval);
  return [{ text: `Its 90 % intervals hold ${held} of the measurements${after}.` }];
}

/**
 * All findings of an evaluation in words: how good the model is, and where it is better or worse than which baseline.
 *
 * @module
 */
import type { AdaptSection } from "../sections/adapt_section.ts";
import type { BitsSection } from "../sections/bits_section.ts";
import type { DestinationScores } from "../sections/destination_section.ts";
import type { Coverage } from "../metrics/calibration.ts";
import type { FailureSection } from "../sections/failure_section.ts";
import type { EvalReport } from "../report.ts";
import {
  casesToShow,
  type ComparedMetric,
  REVERSED,
  type RttComparison,
  type Verdict,
  verdictOf,
} from "../metrics/rtt_comparison.ts";
import { type ChoiceScores, isOfModel, type RankingSection } from "../sections/ranking_section.ts";
import type { RttSection } from "../sections/rtt_section.ts";
import { noneText } from "./adapt_part.ts";
import {
  capital,
  countText,
  fixedText,
  intervalText,
  METRIC_NAMES,
  metricIntervalText,
  metricText,
  msText,
  percentIntervalText,
  percentText,
  ratioText,
  scoreText,
  VERDICTS,
} from "./quantities.ts";
import { SHOWN_METRICS } from "./rtt_part.ts";

/** The metrics whose verdicts by number of context measurements are shown. */
const SHOWN_BY_CONTEXT: readonly ComparedMetric[] = ["medianAbsoluteMs", "likeliestAbsoluteMs", "crpsMs"];

/** A finding; with a mark where the model was compared. */
type Finding = { text: string } & Partial<typeof VERDICTS[Verdict]>;

/** The findings of a report, the most important first. */
export function findingsOf(report: EvalReport): Finding[] {
  const { rtt, adapted, calibration, failures, bits } = report;
  const findings: Finding[] = [];
  if (!rtt && bits) findings.push(likelihoodOf(bits));
  if (rtt && rtt.model.overall.numMeasurements > 0) {
    findings.push(accuracyOf(rtt), ...coverageOf(rtt, calibration?.coverage));
  }
  if (adapted) findings.push(mediansOf(adapted));
  if (failures && failures.brier !== null) findings.push(foresightOf(failures));
  return [...findings, ...verdictsOf(report)];
}

/**
 * At most three findings, then the terms they use: in what the model is better than the best method without a model, in
 * what it is level with it, and in what it is worse. Nothing where nothing was compared.
 */
function verdictsOf(report: EvalReport): Finding[] {
  const compared = comparedOf(report);
  const byVerdict = Map.groupBy(compared, ({ verdict }) => verdict);
  const findings = (["better", "none", "worse"] as const).flatMap((verdict): Finding[] => {
    const parts = byVerdict.get(verdict)?.map(({ text }) => text) ?? [];
    return parts.length === 0 ? [] : [{ text: `${parts.join("; ")}.`, ...VERDICTS[verdict] }];
  });
  return findings.length === 0 ? [] : [...findings, { text: termsOf(compared) }];
}

/** The model beside the best other method in one thing. */
interface Compared {
  verdict: Verdict;
  text: string;
  /** Terms that the text uses. */
  terms: readonly (keyof typeof TERMS)[];
}

/** The verdicts' terms, in plain words. */
const TERMS = {
  absolute: "absolute error: the distance of the predicted RTT from the measured one, in ms",
  likeliest:
    "likeliest RTT: the RTT that the model holds for the most probable, instead of the median of all",
  relative: "relative error: the absolute error as a share of the measured RTT",
  crps: "CRPS: the error of the whole predicted distribution, in ms; for a single number the absolute error",
  brier: "Brier score: the mean squared error of the probability that no reply comes",
  regret: "regret: how much longer the RTT of the chosen destination is than that of the nearest candidate",
  firstGuess:
    "first guess: how often the destination that is named first for a source, a time and an RTT is right",
  cases:
    "cases that would show a difference: so many show one of this size, if it is real, four times in five",
} as const;

const TERMS_OF: Partial<Record<ComparedMetric, readonly (keyof typeof TERMS)[]>> = {
  medianAbsoluteMs: ["absolute"],
  likeliestAbsoluteMs: ["absolute", "likeliest"],
  meanAbsoluteMs: ["absolute"],
  p90Relative: ["relative"],
  crpsMs: ["crps"],
};

function termsOf(compared: readonly Compared[]): string {
  const used = new Set(compared.flatMap(({ terms }) => terms));
  const words = (Object.keys(TERMS) as (keyof typeof TERMS)[]).filter((term) => used.has(term));
  return "In brackets: the best method without a model in that measure, and the 95 % interval of the model's value " +
    "minus that method's. No difference is shown where that interval contains 0: chance alone may make so much. " +
    `Smaller is better everywhere but in first guesses${used.has("regret") ? " and right choices" : ""}. ${
      capital(words.map((term) => TERMS[term]).join("; "))
    }.`;
}

/**
 * Everything the model is compared in: each shown metric over all predictions; by the number of context measurements
 * only where a difference is shown that the whole does not show; addresses never seen; missing replies; and guesses of
 * destinations.
 */
function comparedOf({ rtt, adapted, failures, ranking, destinations }: EvalReport): Compared[] {
  const compared: Compared[] = [];
  if (rtt && rtt.model.overall.numMeasurements > 0) {
    const { comparisons, model: { overall } } = rtt;
    const whole = comparisons.filter(({ numContext, metric }) =>
      numContext === null && SHOWN_METRICS.includes(metric)
    );
    compared.push(...whole.map((each) => comparedIn(each, "", overall.numMeasurements)));
    // Where such a method is the best of all, this was said already.
    const ofPlaces = (rtt.placeComparisons ?? []).filter(({ metric, bestBaseline }) =>
      SHOWN_BY_CONTEXT.includes(metric) &&
      whole.every((each) => each.metric !== metric || each.bestBaseline !== bestBaseline)
    );
    const beside = " beside methods that know places";
    compared.push(...ofPlaces.map((each) => comparedIn(each, beside, overall.numMeasurements)));
    const differing = comparisons.filter(({ metric, numContext, verdict }) =>
      numContext !== null && SHOWN_BY_CONTEXT.includes(metric) && verdict !== "none" &&
      whole.some((each) => each.metric === metric && each.verdict !== verdict)
    );
    compared.push(...byCountOf(differing, (counts) => ` with ${counts} context measurements`));
  }
  if (adapted) {
    const comparisons = adapted.byCount.flatMap(({ numGiven, comparisons }) =>
      comparisons.filter(({ metric }) => SHOWN_BY_CONTEXT.includes(metric))
        .map((each) => ({ ...each, numContext: numGiven }))
    );
    const where = (counts: string) => ` of addresses never seen after ${counts} measurements of their own`;
    compared.push(...byCountOf(comparisons, where));
  }
  if (failures && failures.differenceInterval && failures.brier !== null) {
    const { brier, trainingShareBrier, differenceInterval: interval, verdict, numMeasurements } = failures;
    const rival = `the share of failures in training ${scoreText(trainingShareBrier)}`;
    const value = `Brier score of missing replies ${scoreText(brier)}`;
    const difference = { model: brier, baseline: trainingShareBrier ?? NaN, differenceInterval: interval };
    const more = verdict === "none" ? moreText(casesToShow(difference, numMeasurements)) : "";
    const text = `${value} (${rival}; difference${intervalText(interval, scoreText)}${more})`;
    compared.push({ verdict, text, terms: more ? ["brier", "cases"] : ["brier"] });
  }
  if (ranking) compared.push(...choicesOf(ranking));
  return [...compared, ...(destinations?.scores ?? []).flatMap(guessesOf)];
}

/** Choices of the nearest destination by the model's median beside the best method without a model. */
function choicesOf({ numChoices, methods }: RankingSection): Compared[] {
  const [model, ...others] = methods;
  const rivals = others.filter(({ method }) => !isOfModel(method));
  const compared = (metric: keyof ChoiceScores, name: string): Compared => {
    const isRegret = metric === "regretMs";
    const best = rivals.toSorted((a, b) => isRegret ? a[metric] - b[metric] : b[metric] - a[metric])[0];
    const interval = best.modelMinusThis?.[metric] ?? null;
    const found = verdictOf(interval);
    const verdict = isRegret ? found : REVERSED[found];
    const difference = { model: model[metric], baseline: best[metric], differenceInterval: interval };
    const more = verdict === "none" ? moreText(casesToShow(difference, numChoices)) : "";
    const [textOf, ofInterval] = isRegret
      ? [msText, intervalText] as const
      : [percentText, percentIntervalText] as const;
    const text =
      `${name} of destinations ${textOf(model[metric])} (${best.method} ${textOf(best[metric])}, ` +
      `difference${ofInterval(interval)}${more})`;
    return {
      verdict,
      text,
      terms: [...isRegret ? ["regret" as const] : [], ...more ? ["cases" as const] : []],
    };
  };
  return rivals.length === 0
    ? []
    : [compared("regretMs", "regret of the first choice"), compared("rightShare", "right first choices")];
}

/** First guesses of destinations beside the best method without a model; a larger share is better. */
function guessesOf(
  { version, numContext, numCases, methods: [model, ...others] }: DestinationScores,
): Compared[] {
  const best = others.toSorted((a, b) => b.top1Exact - a.top1Exact).at(0);
  if (!best) return [];
  const interval = best.modelMinusThis?.top1Exact ?? null;
  const verdict = REVERSED[verdictOf(interval)];
  const difference = { model: model.top1Exact, baseline: best.top1Exact, differenceInterval: interval };
  const more = verdict === "none" ? moreText(casesToShow(difference, numCases)) : "";
  const context = numContext === 0 ? "no" : `up to ${numContext}`;
  const text = `first guess of IPv${version} destinations with ${context} context measurements ${
    percentText(model.top1Exact)
  } (${best.method} ${percentText(best.top1Exact)}, difference${percentIntervalText(interval)}${more})`;
  return [{ verdict, text, terms: ["firstGuess"] }];
}

/** A comparison in words. @param numCases The predictions it rests on. */
function comparedIn(comparison: RttComparison, where: string, numCases: number): Compared {
  const { metric, model, ratio, verdict, bestBaseline, baseline, differenceInterval: interval } = comparison;
  const size = ratio === null ? "" : `, ${ratioText(ratio)}`;
  const difference = interval ? `, difference${metricIntervalText(metric, interval)}` : "";
  const more = verdict === "none" ? moreText(casesToShow(comparison, numCases)) : "";
  const text = `${METRIC_NAMES[metric]}${where} ${metricText(metric, model)}${size} ` +
    `(${bestBaseline} ${metricText(metric, baseline)}${difference}${more})`;
  return { verdict, text, terms: [...TERMS_OF[metric] ?? [], ...more ? ["cases" as const] : []] };
}

/** How many cases would show a difference, see {@link casesToShow}. */
function moreText(numCases: number | null): string {
  return numCases === null ? "" : `, about ${countText(numCases)} cases would show it`;
}

/** One item for each metric and verdict, with the counts at which it holds. */
function byCountOf(comparisons: readonly RttComparison[], whereOf: (counts: string) => string): Compared[] {
  const groups = Map.groupBy(comparisons, ({ metric, verdict }) => `${metric} ${verdict}`);
  return [...groups.values()].map((group) => {
    const [{ metric, verdict }] = group;
    const where = whereOf(group.map(({ numContext }) => numContext).join(", "));
    return { verdict, text: `${METRIC_NAMES[metric]}${where}`, terms: TERMS_OF[metric] ?? [] };
  });
}

/** The finding about a model of vocabulary v1, for which there are no other sections. */
function likelihoodOf({ withTimes: { bitsPerMeasurement, bitsPerToken } }: BitsSection): Finding {
  const bits = `${fixedText(bitsPerMeasurement)} bits, ${fixedText(bitsPerToken, 3)} a token`;
  return {
    text: `A measurement takes ${bits}; a model of vocabulary v1 is asked for nothing else, other sections ` +
      "need one of v2.",
  };
}

function foresightOf(failures: FailureSection): Finding {
  const { numMeasurements, numFailed } = failures;
  if (numFailed === 0) {
    const all = `All ${countText(numMeasurements)} measurements had a reply`;
    return { text: `${all}, so nothing tells whether the model foresees that none comes.` };
  }
  const score = scoreText(failures.brier) + intervalText(failures.brierInterval, scoreText);
  const held = `${countText(numFailed)} of ${countText(numMeasurements)} measurements had no reply`;
  return { text: `${held}; the model foresees that with a Brier score of ${score}.` };
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

/** The errors of the adapted model. */
function mediansOf(section: AdaptSection): Finding {
  const { byCount, numAddresses } = section;
  if (byCount.length === 0) return { text: noneText(section) };
  const medians = byCount.map(({ numGiven, model, comparisons }) => {
    const best = comparisons.find(({ metric }) => metric === "medianAbsoluteMs");
    const beside = best ? ` (${best.bestBaseline}: ${msText(best.baseline)})` : "";
    return `${msText(model.medianAbsoluteMs)} after ${numGiven}${beside}`;
  });
  const addresses = `${countText(numAddresses)} addresses never seen`;
  return {
    text: `Median absolute error of ${addresses}, by measurements of their own: ${medians.join(", ")}.`,
  };
}

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

/**
 * What an evaluation comes to, in words: how good the model is, and where it loses to which method by how much.
 *
 * @module
 */
import { escapeHtml } from "../../plot/page.ts";
import type { AdaptSection } from "../adapt_section.ts";
import type { BitsSection } from "../bits_section.ts";
import type { Coverage } from "../calibration.ts";
import type { CalibrationSection } from "../calibration_section.ts";
import type { FailureSection } from "../failure_section.ts";
import type { EvalReport } from "../report.ts";
import type { ComparedMetric, RttComparison, Verdict } from "../rtt_comparison.ts";
import type { RttSection } from "../rtt_section.ts";
import {
  comparedText,
  countText,
  fixedText,
  intervalText,
  msText,
  percentIntervalText,
  percentText,
  scoreText,
} from "./quantities.ts";
import { noneText } from "./adapt_part.ts";
import { METRIC_NAMES, metricIntervalText, metricText, TOLD_METRICS } from "./rtt_part.ts";

/** The metrics that the verdict by number of context measurements is told for. */
const TOLD_BY_CONTEXT: readonly ComparedMetric[] = ["medianAbsoluteMs", "likeliestAbsoluteMs", "crpsMs"];

/** Something that was found, and what it shows where the model was compared. */
interface Finding {
  text: string;
  verdict?: Verdict;
}

/** The list of findings, as HTML. */
export function headlineOf(report: EvalReport): string {
  const items = findingsOf(report).map(({ text, verdict }) => {
    const mark = verdict ? `<span class="${KINDS[verdict]}">${VERDICTS[verdict]}</span> ` : "";
    return `<li>${mark}${escapeHtml(text)}</li>`;
  });
  return `<ul class="headline">\n${items.join("\n")}\n</ul>`;
}

/** The findings as lines of text. */
export function headlineLines(report: EvalReport): string[] {
  return findingsOf(report).map(({ text, verdict }) => verdict ? `${VERDICTS[verdict]} ${text}` : text);
}

const KINDS = { better: "wins", worse: "loses", none: "same" };
const VERDICTS = { better: "Better:", worse: "Worse:", none: "No difference shown:" };

function findingsOf({ rtt, adapted, calibration, failures, bits }: EvalReport): Finding[] {
  return [
    ...(!rtt && bits ? [likelihoodOf(bits)] : []),
    ...(rtt && rtt.model.overall.numMeasurements > 0
      ? [accuracyOf(rtt), ...overallOf(rtt), ...byContextOf(rtt), ...coverageOf(rtt, calibration)]
      : []),
    ...(adapted ? adaptedOf(adapted) : []),
    ...(failures && failures.brier !== null ? [foresightOf(failures)] : []),
  ];
}

/** Of a model that tells nothing else. */
function likelihoodOf({ withTimes: { bitsPerMeasurement, bitsPerToken } }: BitsSection): Finding {
  return {
    text:
      `A measurement takes ${fixedText(bitsPerMeasurement)} bits, ${
        fixedText(bitsPerToken, 3)
      } a token; a model ` +
      "of vocabulary v1 is asked for nothing else, other sections need one of v2.",
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
  return {
    text: `${foreseen}; the share of failures in training scores ${scoreText(trainingShareBrier)}.`,
    verdict,
  };
}

function accuracyOf({ model: { overall } }: RttSection): Finding {
  const { medianAbsoluteMs, meanAbsoluteMs, relative, intervals } = overall;
  return {
    text: `Half of ${countText(overall.numMeasurements)} predicted RTTs are off by at most ` +
      `${msText(medianAbsoluteMs)}${intervalText(intervals.medianAbsoluteMs)}; the mean error is ${
        msText(meanAbsoluteMs)
      }${intervalText(intervals.meanAbsoluteMs)}, and nine of ten ` +
      `predictions are within ${percentText(relative.p90, 0)} of the measured RTT.`,
  };
}

function overallOf({ comparisons }: RttSection): Finding[] {
  const told = comparisons.filter(({ numContext, metric }) =>
    numContext === null && TOLD_METRICS.includes(metric)
  );
  return told.map((comparison) => {
    const { metric, model, baseline, bestBaseline, ratio, differenceInterval, verdict } = comparison;
    const size = ratio === null ? "above" : comparedText(ratio);
    const difference = differenceInterval
      ? `; difference${metricIntervalText(metric, differenceInterval)}`
      : "";
    return {
      text:
        `${capital(METRIC_NAMES[metric])} ${metricText(metric, model)}, ${size} that of the best baseline ` +
        `(${bestBaseline}, ${metricText(metric, baseline)}${difference}).`,
      verdict,
    };
  });
}

/** What comes of the model where it is adapted, and after how many measurements it is better and worse. */
function adaptedOf(section: AdaptSection): Finding[] {
  const { counts, byCount, numAddresses } = section;
  if (byCount.length === 0) return [{ text: noneText(section) }];
  const told = byCount.map(({ numGiven, model, comparisons }) => {
    const best = comparisons.find(({ metric }) => metric === "medianAbsoluteMs");
    const beside = best ? ` (${best.bestBaseline}: ${msText(best.baseline)})` : "";
    return `${msText(model.medianAbsoluteMs)} after ${numGiven}${beside}`;
  });
  const comparisons = byCount.flatMap(({ numGiven, comparisons }) =>
    comparisons.map((each) => ({ ...each, numContext: numGiven }))
  );
  const of = "of measurements of addresses never seen";
  return [
    {
      text: `Median absolute error of ${
        countText(numAddresses)
      } addresses never seen, by measurements of their own: ${told.join(", ")}.`,
    },
    ...byContextOf({ comparisons, contexts: counts }, of),
  ];
}

/** With which numbers of context measurements, or others, the model is better and worse. @param what Is counted. */
function byContextOf(
  { comparisons, contexts }: Pick<RttSection, "comparisons" | "contexts">,
  what = "of context measurements",
): Finding[] {
  if (contexts.length < 2) return [];
  return TOLD_BY_CONTEXT.flatMap((metric): Finding[] => {
    const of = comparisons.filter((each) => each.metric === metric && each.numContext !== null);
    const { better = [], worse = [], none = [] } = Object.groupBy(of, ({ verdict }) => verdict);
    if (better.length + worse.length === 0) return [];
    const name = capital(METRIC_NAMES[metric]);
    if (better.length === of.length) {
      return [{
        text: `${name}: below every baseline with any number ${what}.`,
        verdict: "better",
      }];
    }
    const parts = [
      ...(better.length > 0 ? [`better than every baseline with ${listOf(better)}`] : []),
      ...(worse.length > 0 ? [`worse with ${listOf(worse)} (${worstOf(metric, worse)})`] : []),
      ...(none.length > 0 ? [`no difference shown with ${listOf(none)}`] : []),
    ];
    const text = `${name} by the number ${what}: ${parts.join("; ")}.`;
    return [worse.length === of.length ? { text, verdict: "worse" } : { text }];
  });
}

/** The comparison that is lost by most. */
function worstOf(metric: ComparedMetric, worse: readonly RttComparison[]): string {
  const worst = worse.reduce((a, b) => (b.ratio ?? Infinity) > (a.ratio ?? Infinity) ? b : a);
  const { numContext, model, baseline, bestBaseline } = worst;
  const most = worse.length === 1 ? "" : `most with ${numContext}: `;
  return `${most}${metricText(metric, model)} against ${metricText(metric, baseline)} of ${bestBaseline}`;
}

function coverageOf(
  { model: { overall } }: RttSection,
  corrected: Pick<CalibrationSection, "coverage"> | undefined,
): Finding[] {
  const shareOf = (coverage: readonly Coverage[] = []) =>
    coverage.find(({ level }) => level === 0.9)?.share ?? null;
  const [share, correctedShare] = [shareOf(overall.coverage), shareOf(corrected?.coverage)];
  if (share === null) return [];
  const { interval } = overall.coverage.find(({ level }) => level === 0.9) ?? {};
  const after = correctedShare === null
    ? ""
    : `, corrected by the validation split ${percentText(correctedShare)}`;
  return [{
    text: `Its 90 % intervals hold ${percentText(share)}${
      percentIntervalText(interval)
    } of the measurements${after}.`,
  }];
}

function listOf(comparisons: readonly RttComparison[]): string {
  const counts = comparisons.map(({ numContext }) => String(numContext));
  return counts.length === 1 ? counts[0] : `${counts.slice(0, -1).join(", ")} and ${counts.at(-1)}`;
}

function capital(text: string): string {
  return text[0].toUpperCase() + text.slice(1);
}

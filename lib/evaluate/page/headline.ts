/**
 * What an evaluation comes to, in words: how good the model is, and where it loses to which method by how much.
 *
 * @module
 */
import { escapeHtml } from "../../plot/page.ts";
import type { Coverage } from "../calibration.ts";
import type { CalibrationSection } from "../calibration_section.ts";
import type { EvalReport } from "../report.ts";
import type { ComparedMetric, RttComparison } from "../rtt_comparison.ts";
import type { RttSection } from "../rtt_section.ts";
import { comparedText, countText, fixedText, msText, percentText } from "./quantities.ts";
import { METRIC_NAMES, metricText } from "./rtt_part.ts";

/** The metrics that the verdict by number of context measurements is told for. */
const TOLD_BY_CONTEXT: readonly ComparedMetric[] = ["medianAbsoluteMs", "likeliestAbsoluteMs", "crpsMs"];

/** Something that was found; whether the model wins or loses where it was compared. */
interface Finding {
  text: string;
  verdict?: "wins" | "loses";
}

/** The list of findings, as HTML. */
export function headlineOf(report: EvalReport): string {
  const items = findingsOf(report).map(({ text, verdict }) => {
    const mark = verdict ? `<span class="${verdict}">${VERDICTS[verdict]}</span> ` : "";
    return `<li>${mark}${escapeHtml(text)}</li>`;
  });
  return `<ul class="headline">\n${items.join("\n")}\n</ul>`;
}

/** The findings as lines of text. */
export function headlineLines(report: EvalReport): string[] {
  return findingsOf(report).map(({ text, verdict }) => verdict ? `${VERDICTS[verdict]} ${text}` : text);
}

const VERDICTS = { wins: "Better:", loses: "Worse:" };

function findingsOf({ rtt, calibration, failures }: EvalReport): Finding[] {
  return [
    ...(rtt && rtt.model.overall.numMeasurements > 0
      ? [accuracyOf(rtt), ...overallOf(rtt), ...byContextOf(rtt), ...coverageOf(rtt, calibration)]
      : []),
    ...(failures?.brier === undefined || failures.brier === null ? [] : [{
      text:
        `Whether a reply comes is foreseen with a Brier score of ${
          fixedText(failures.brier, 4)
        }; the share of failures ` +
        `in training scores ${fixedText(failures.trainingShareBrier, 4)}.`,
      ...verdictOf(failures.brier, failures.trainingShareBrier),
    }]),
  ];
}

function accuracyOf({ model: { overall } }: RttSection): Finding {
  return {
    text: `Half of ${countText(overall.numMeasurements)} predicted RTTs are off by at most ` +
      `${msText(overall.medianAbsoluteMs)}; the mean error is ${
        msText(overall.meanAbsoluteMs)
      }, and nine of ten ` +
      `predictions are within ${percentText(overall.relative.p90, 0)} of the measured RTT.`,
  };
}

function overallOf({ comparisons }: RttSection): Finding[] {
  return comparisons.filter(({ numContext }) => numContext === null).map((comparison) => {
    const { metric, model, baseline, bestBaseline, ratio } = comparison;
    const size = ratio === null ? "above" : comparedText(ratio);
    return {
      text:
        `${capital(METRIC_NAMES[metric])} ${metricText(metric, model)}, ${size} that of the best baseline ` +
        `(${bestBaseline}, ${metricText(metric, baseline)}).`,
      ...verdictOf(model, baseline),
    };
  });
}

/** With which numbers of context measurements the model wins and loses. */
function byContextOf({ comparisons, contexts }: RttSection): Finding[] {
  if (contexts.length < 2) return [];
  return TOLD_BY_CONTEXT.flatMap((metric): Finding[] => {
    const of = comparisons.filter((each) => each.metric === metric && each.numContext !== null);
    const lost = of.filter(({ model, baseline }) => model > baseline);
    if (of.length === 0) return [];
    if (lost.length === 0) {
      return [{
        text: `${
          capital(METRIC_NAMES[metric])
        }: below every baseline with any number of context measurements.`,
        verdict: "wins",
      }];
    }
    const won = of.filter(({ model, baseline }) => model <= baseline);
    const wins = won.length === 0 ? "with none is it" : `with ${listOf(won)} it is`;
    const worst = lost.reduce((a, b) => (b.ratio ?? Infinity) > (a.ratio ?? Infinity) ? b : a);
    return [{
      text: `${capital(METRIC_NAMES[metric])} loses with ${listOf(lost)} context measurements (most with ` +
        `${worst.numContext}: ${metricText(metric, worst.model)} against ${
          metricText(metric, worst.baseline)
        } of ` +
        `${worst.bestBaseline}); ${wins} the best.`,
      verdict: "loses",
    }];
  });
}

function coverageOf(
  { model: { overall } }: RttSection,
  corrected: Pick<CalibrationSection, "coverage"> | undefined,
): Finding[] {
  const shareOf = (coverage: readonly Coverage[] = []) =>
    coverage.find(({ level }) => level === 0.9)?.share ?? null;
  const [share, correctedShare] = [shareOf(overall.coverage), shareOf(corrected?.coverage)];
  if (share === null) return [];
  const after = correctedShare === null
    ? ""
    : `, corrected by the validation split ${percentText(correctedShare)}`;
  return [{ text: `Its 90 % intervals hold ${percentText(share)} of the measurements${after}.` }];
}

function verdictOf(model: number, other: number | null): { verdict?: "wins" | "loses" } {
  if (other === null || model === other) return {};
  return { verdict: model < other ? "wins" : "loses" };
}

function listOf(comparisons: readonly RttComparison[]): string {
  const counts = comparisons.map(({ numContext }) => String(numContext));
  return counts.length === 1 ? counts[0] : `${counts.slice(0, -1).join(", ")} and ${counts.at(-1)}`;
}

function capital(text: string): string {
  return text[0].toUpperCase() + text.slice(1);
}

/**
 * The part of the page about new addresses: how well they are predicted after a few measurements of each.
 *
 * @module
 */
import { formatShare } from "../../base/text.ts";
import { type ChartCurve, lineChart, rankOf } from "../../base/report/charts.ts";
import { type Block, element, type TableCell, tableOf } from "../../base/report/page.ts";
import type { AdaptSection } from "../sections/adapt_section.ts";
import type { ErrorMetrics } from "../metrics/forecast_errors.ts";
import type { ComparedMetric } from "../metrics/rtt_comparison.ts";
import { comparedCell, countText, insideCell, METRIC_NAMES } from "./quantities.ts";

export const ADAPTED_HEADING = "Unseen addresses, after K measurements of each";
const ADAPTED_METRICS: readonly ComparedMetric[] = ["medianAbsoluteMs", "p90Relative", "nmae", "crpsMs"];
/** Baselines in the figure: those with the smallest median errors after the most measurements. */
const NUM_DRAWN = 3;

export function adaptPart(section: AdaptSection): Block[] {
  const { counts, byCount, numUnseen } = section;
  const heading = element("h2", ADAPTED_HEADING);
  if (byCount.length === 0) return [heading, element("p", noneText(section))];
  return [
    heading,
    element("p", introduction(section)),
    adaptedTable([{ name: `${countText(numUnseen)} addresses`, section }]),
    ...(counts.length > 1 ? [errorFigure(section)] : []),
  ];
}

export function noneText({ counts, numUnseen }: AdaptSection): string {
  return `None of the ${countText(numUnseen)} unseen addresses has more than ${Math.max(...counts)} ` +
    "replies to or from known ones, so none could be predicted after that many.";
}

export function adaptedTable(parts: readonly { name: string; section: AdaptSection }[]): string {
  const metricNames = ADAPTED_METRICS.map((metric) => METRIC_NAMES[metric]);
  const cells = parts.flatMap(({ name, section: { byCount, numAddresses } }) =>
    byCount.map(({ numGiven, model, comparisons, baselines, givenPairs, otherPairs }, i): TableCell[] => [
      i === 0 ? name : "",
      String(numGiven),
      ...ADAPTED_METRICS.map((metric) => comparedCell(metric, model, comparisons)),
      ...[givenPairs, otherPairs].map((errors) => comparedCell("crpsMs", errors, [])),
      insideCell(model.coverage, { baselines }),
      countText(numAddresses),
      countText(model.numMeasurements),
    ])
  );
  return tableOf(
    [
      "",
      "K",
      ...metricNames,
      "CRPS of given pairs",
      "CRPS of other pairs",
      "in 90 % intervals",
      "addresses",
      "predictions",
    ],
    cells,
    "numbers",
  );
}

function introduction(section: AdaptSection): string {
  const { numUnseen, numUsable, numAddresses, numTuningAddresses, numTuningMeasurements } = section;
  const { numResamples, confidence } = section.resampling;
  const tuned = numTuningMeasurements === 0
    ? "a share of the training rows"
    : `${countText(numTuningMeasurements)} measurements of ${countText(numTuningAddresses)} addresses ` +
      "unseen in the validation split, after as many of each";
  const numWithoutRow = Math.max(...section.byCount.map(({ fit }) => fit.numWithoutRow));
  const without = numWithoutRow === 0
    ? ""
    : ` Addresses for which the model's table had no free row: ${countText(numWithoutRow)}.`;
  return `Not in the training set: ${countText(numUnseen)} addresses with replies to or from known ones; ` +
    `${countText(numUsable)} of these have enough, of which ${countText(numAddresses)} were drawn. ` +
    "The model is adapted to K of each address's replies, fitting only the address embeddings. Then it " +
    "predicts other replies, without context, the same for every K. Given pairs are those with one of the K " +
    "replies, other pairs those that are given at no K. Each cell shows the model's number with its 95 % interval, " +
    "with the best baseline's below it, coloured if the difference is significant. Baselines are trained again " +
    `for every K, with the same replies; their settings were chosen on ${tuned}. The intervals contain ` +
    `${formatShare(confidence, 0)} of ${countText(numResamples)} resamples of whole addresses.${without}`;
}

/** The median errors of the model and of the baselines that are best after the most measurements. */
function errorFigure({ counts, byCount }: AdaptSection): Block {
  const best = byCount[byCount.length - 1].baselines.toSorted((a, b) =>
    (a.medianAbsoluteMs ?? Infinity) - (b.medianAbsoluteMs ?? Infinity)
  );
  const curveOf = (label: string, rank: number, errors: readonly ErrorMetrics[]): ChartCurve => ({
    label,
    points: errors.map(({ medianAbsoluteMs }, at) => ({ x: counts[at], y: medianAbsoluteMs })),
    rank: rankOf(rank),
    style: "marked",
  });
  const ofBaseline = (name: string) =>
    byCount.flatMap(({ baselines }) => baselines.filter((baseline) => baseline.name === name));
  return {
    name: "error-by-given",
    caption:
      "Median absolute error of new addresses by the number of given measurements of each, with the baselines " +
      "that are best after the most measurements.",
    chart: lineChart({
      curves: [
        curveOf("model", 0, byCount.map(({ model }) => model)),
        ...best.slice(0, NUM_DRAWN).map(({ name }, i) => curveOf(name, i + 1, ofBaseline(name))),
      ],
      x: { title: "measurements per address", scale: "ordinal" },
      y: { title: `${METRIC_NAMES.medianAbsoluteMs}, ms` },
    }),
  };
}

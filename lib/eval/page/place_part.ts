/** Errors by place, what embeddings know of geography, and choices of the nearest destination. @module */
import { type Block, element, type TableCell, tableOf } from "../../base/report/page.ts";
import { type ComparedMetric, REVERSED, type Verdict, verdictOf } from "../metrics/rtt_comparison.ts";
import { PLACE_GROUPINGS, type PlaceGroup, type PlaceSection } from "../sections/place_section.ts";
import { type RankingMethod, type RankingSection } from "../sections/ranking_section.ts";
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
  rivalText,
  valueCell,
  VERDICTS,
} from "./quantities.ts";

/** The metrics of a group that are shown. */
const METRICS = ["medianAbsoluteMs", "crpsMs"] as const satisfies readonly ComparedMetric[];

export function placePart({ numMeasurements, numPlaced, groups, alignments }: PlaceSection): Block[] {
  const headings = [
    ...METRICS.map((metric) => METRIC_NAMES[metric]),
    "in 90 % intervals",
    "predictions",
  ];
  return [
    element("h2", "Where predictions are off"),
    element(
      "p",
      `By great-circle distance, country and AS of both ends, of the largest groups. ${
        countText(numPlaced)
      } of ` +
        `${
          countText(numMeasurements)
        } predictions are between addresses with a position. Below the numbers: the best ` +
        "method without a model, and the interval of the difference to it. Coloured where a difference is shown.",
    ),
    ...PLACE_GROUPINGS.flatMap((by) => {
      const rows = groups.filter((group) => group.by === by).map(rowOf);
      return rows.length === 0 ? [] : [tableOf([capital(by), ...headings], rows, "numbers")];
    }),
    ...alignments.length === 0 ? [] : [
      element("h3", "Whether places line up with geography"),
      element(
        "p",
        "Spearman's rank correlation, over pairs of places of the training data, of the great-circle distance and of one " +
          "minus the cosine of their embeddings, or of the RTT that their coordinates estimate: 1 where places are the " +
          "more alike the nearer they are, 0 where nothing is known of it. Intervals are from resamples of the places.",
      ),
      tableOf(
        ["", "correlation", "places"],
        alignments.map(({ of, by, correlation, interval, numPlaces }) => [
          `${by} of ${of === "cells" ? "cells of 5 degrees" : of}`,
          valueCell(signedText(correlation), intervalText(interval, signedText)),
          countText(numPlaces),
        ]),
        "numbers",
      ),
    ],
  ];
}

function signedText(value: number): string {
  return fixedText(value).replace("-", "−");
}

function rowOf({ name, model, coverage, comparisons }: PlaceGroup): TableCell[] {
  return [
    name,
    ...METRICS.map((metric): TableCell => {
      const text = metricText(metric, model[metric]) + metricIntervalText(metric, model.intervals[metric]);
      const comparison = comparisons.find((each) => each.metric === metric);
      if (!comparison) return text;
      return { text, note: rivalText(comparison, ": "), kind: VERDICTS[comparison.verdict].kind };
    }),
    percentText(coverage.find(({ level }) => level === 0.9)?.share ?? null),
    countText(model.numMeasurements),
  ];
}

/** The section on rankings. */
export function rankingPart(
  { windowS, numChoices, numSources, meanCandidates, numContext, methods }: RankingSection,
): Block[] {
  const window = windowS === null ? "at all" : `within ${windowS === 3600 ? "an hour" : "a day"}`;
  return [
    element("h2", "Whether it finds the nearest destination"),
    element(
      "p",
      `${countText(numChoices)} choices of ${countText(numSources)} sources among ${
        fixedText(meanCandidates, 1)
      } ` +
        `destinations on average that they measured ${window}, each predicted before it was measured, by the model with at ` +
        `most ${numContext} context measurements. The regret is how much longer the RTT of the first choice is than the ` +
        "shortest one. Where a method predicts the same of several, it chooses among them at random. Coloured where the " +
        "model by the median shows a difference.",
    ),
    tableOf(["", "mean regret", "right first choices"], methods.map(choiceRow), "compared"),
  ];
}

function choiceRow({ method, regretMs, rightShare, intervals, modelMinusThis }: RankingMethod): TableCell[] {
  const cell = (text: string, interval: string, difference: string, verdict: Verdict): TableCell =>
    difference === ""
      ? valueCell(text, interval)
      : { text: text + interval, note: `difference${difference}`, kind: VERDICTS[verdict].kind };
  const { regretMs: byRegret, rightShare: byShare } = modelMinusThis ?? { regretMs: null, rightShare: null };
  return [
    method,
    cell(msText(regretMs), intervalText(intervals.regretMs), intervalText(byRegret), verdictOf(byRegret)),
    cell(
      percentText(rightShare),
      percentIntervalText(intervals.rightShare),
      percentIntervalText(byShare),
      REVERSED[verdictOf(byShare)],
    ),
  ];
}

/**
 * The page of an evaluation: a summary, then section by section.
 *
 * @module
 */
import { lineChart, rankOf, rowChart } from "../../base/report/charts.ts";
import {
  type Block,
  contentsOf,
  element,
  type Figure,
  figuresOf,
  pageOf,
  type TableCell,
  tableOf,
} from "../../base/report/page.ts";
import { FIELD_ORDERS } from "../../data/tokens/vocab_v2.ts";
import type { BitsSection, ContextBits, PositionBits, TokenTypeBits } from "../sections/bits_section.ts";
import {
  capital,
  comparedCell,
  countText,
  fixedText,
  insideOf,
  intervalText,
  KIND_OF,
  levelHeadings,
  METRIC_NAMES,
  msText,
  NONE,
  percentIntervalText,
  scoreText,
  valueCell,
} from "./quantities.ts";
import type { DestinationScores, DestinationSection, MethodScores } from "../sections/destination_section.ts";
import { type ComparedMetric, REVERSED, type Verdict, verdictOf } from "../metrics/rtt_comparison.ts";
import type { Interval } from "../metrics/bootstrap.ts";
import type { FailureSection } from "../sections/failure_section.ts";
import { calibrationPart, reliabilityChart, rttPart } from "./rtt_part.ts";
import type { MeanWithError } from "../../base/sample_statistics.ts";
import type { CalibratedScores, TruthScores, TruthSection } from "../sections/truth_section.ts";
import { formatCount, formatSeconds, formatShare } from "../../base/text.ts";
import type { EvalReport, EvalRun } from "../report.ts";
import { adaptPart } from "./adapt_part.ts";
import { summaryPart } from "./summary.ts";
import {
  type FloorEffect,
  PLACE_GROUPINGS,
  type PlaceGroup,
  type PlaceSection,
} from "../sections/place_section.ts";
import type { PartScores, PartsSection } from "../sections/parts_section.ts";
import type { RankingMethod, RankingSection } from "../sections/ranking_section.ts";

const FIELDS = FIELD_ORDERS[0];
/** Positions with fewer than this share of the first position's measurements are not drawn. */
const MIN_SHARE = 0.1;

function bitsPart({ withTimes, withoutTimes }: BitsSection): Block[] {
  const types = withTimes.byTokenType.filter(({ tokenType }) => !tokenType.includes("Ipv6"));
  return [
    element("h2", "Bits per measurement"),
    element(
      "p",
      `-log2 of the probability of each token given all before it, in ${countText(withTimes.numContexts)} ` +
        "contexts of held-out measurements drawn as in training. This is the training loss, over " +
        "all tokens; other probabilities are only over the tokens that are valid in a position.",
    ),
    tableOf(["contexts", "bits per measurement", "per token", ...FIELDS, "measurements"], [
      totalsRow("with times", withTimes),
      totalsRow("without times", withoutTimes),
    ], "numbers"),
    typeFigure(types),
    ...(withTimes.byPosition.length > 1 ? [positionFigure(withTimes)] : []),
  ];
}

function totalsRow(name: string, bits: ContextBits): string[] {
  const fields = FIELDS.map((field) => fixedText(bits.fieldBits[field]));
  const perToken = fixedText(bits.bitsPerToken, 3);
  return [name, fixedText(bits.bitsPerMeasurement), perToken, ...fields, countText(bits.numMeasurements)];
}

function typeFigure(types: readonly TokenTypeBits[]): Block {
  const rows = types.map(({ tokenType, meanBits }) => ({
    label: tokenType,
    value: Math.max(0, meanBits),
    text: fixedText(meanBits),
  }));
  return {
    name: "bits-by-token-type",
    caption: "Mean bits of each type of token except those of IPv6 addresses; contexts with times.",
    chart: rowChart({ rows, title: "bits per token", width: 220 }),
  };
}

function positionFigure({ byPosition }: ContextBits): Block {
  const shown = byPosition.filter(({ numMeasurements }) =>
    numMeasurements >= MIN_SHARE * byPosition[0].numMeasurements
  );
  const lines: [label: string, valueOf: (at: PositionBits) => number | null][] = [
    ["whole measurement", ({ meanBits }) => meanBits],
    ...FIELDS.map((field): typeof lines[number] => [field, ({ fieldBits }) => fieldBits[field]]),
  ];
  return {
    name: "bits-by-position",
    caption:
      "Mean bits of a measurement and of its parts, by the number of earlier measurements in its context. They fall as " +
      "the model learns from its context.",
    chart: lineChart({
      curves: lines.map(([label, valueOf], i) => ({
        label,
        points: shown.map((at) => ({ x: at.position, y: valueOf(at) })),
        rank: rankOf(i),
      })),
      x: { title: "earlier measurements in the context" },
      y: { title: "bits per measurement" },
      width: 640,
      height: 300,
    }),
  };
}

function destinationPart({ numCases, scores }: DestinationSection): Block[] {
  return [
    element("h2", "Guessing destinations"),
    element(
      "p",
      `The destinations of ${countText(numCases)} measurements, guessed from source, RTT, time and the ` +
        "newest earlier measurements of the source.",
    ),
    ...scores.flatMap(guessTable),
  ];
}

function titleOf({ version, numContext, numCases }: DestinationScores): string {
  const context = numContext === 0 ? "no" : `up to ${numContext}`;
  return `IPv${version}, ${context} context measurements, ${countText(numCases)} cases`;
}

/** How often a method was right, with its interval and the verdict on its difference from the model. */
function exactCell(method: MethodScores, count: "top1Exact" | "top5Exact"): TableCell {
  const difference = method.modelMinusThis?.[count];
  const verdict = difference ? `; ${SHOWN[verdictOf(difference)]}` : "";
  return valueCell(formatShare(method[count]), percentIntervalText(method.intervals[count]) + verdict);
}

/** Verdicts on methods for which a larger share is better. */
const SHOWN = { better: "the model is worse", worse: "the model is better", none: "not significant" };

function guessTable(scores: DestinationScores): Block[] {
  const { methods } = scores;
  const lengths = Object.keys(methods[0].top1Prefix);
  const rows = methods.map((method): TableCell[] => [
    method.method,
    exactCell(method, "top1Exact"),
    exactCell(method, "top5Exact"),
    ...lengths.map((bits) => formatShare(method.top1Prefix[bits])),
  ]);
  const headings = ["", "address, first guess", "in five", ...lengths.map((bits) => `/${bits}, first guess`)];
  return [element("h3", titleOf(scores)), tableOf(headings, rows, "compared")];
}

/** If all probabilities are below this, axes are logarithmic. */
const SMALL = 0.3;

function failurePart(section: FailureSection): Block[] {
  const points = section.reliability.map(({ predicted, observed, numMeasurements }) => ({
    promised: predicted,
    observed,
    count: numMeasurements,
  }));
  const isSmall = points.every(({ promised, observed }) => promised < SMALL && observed < SMALL);
  const numLeftOut = points.filter(({ observed }) => observed === 0).length;
  const leftOut = numLeftOut === 0 ? "" : ` Groups in which every measurement had a reply: ${numLeftOut}.`;
  const figure = {
    name: "failure-reliability",
    caption:
      "Groups of equal size by predicted probability. On the dashed line, the share of failures is as predicted. Vertical " +
      `lines: 95 % intervals.${leftOut}`,
    chart: reliabilityChart(points, {
      xTitle: "predicted probability of no reply",
      yTitle: "share without reply",
      scale: isSmall ? "log" : "linear",
    }),
  };
  const table = tableOf(["", "Brier score"], failureRows(section), "compared");
  return [
    element("h2", "Predicting missing replies"),
    element(
      "p",
      `${countText(section.numFailed)} of ${countText(section.numMeasurements)} measurements had no reply. ` +
        "The Brier score is the mean squared difference between the predicted probability and the outcome (1: no " +
        "reply, 0: reply). 0 is perfect.",
    ),
    { beside: points.length === 0 ? [table] : [table, figure] },
  ];
}

function failureRows(section: FailureSection): TableCell[][] {
  const score = (brier: number | null, interval: Interval | null) =>
    valueCell(scoreText(brier), intervalText(interval, scoreText));
  return [
    ["model", score(section.brier, section.brierInterval)],
    ...section.baselines.map(({ name, brier, brierInterval }) => [name, score(brier, brierInterval)]),
    [
      `always the share held out (${formatShare(section.heldOutShare, 2)})`,
      scoreText(section.heldOutShareBrier),
    ],
    ...section.byContext.map(({ numContext, brier, brierInterval }) => [
      `model, ${numContext} context measurements`,
      score(brier, brierInterval),
    ]),
  ];
}

function truthPart(section: TruthSection): Block[] {
  const { byContext, byIpVersion, coverage, calibrated } = section;
  const groups: [name: string, scores: CalibratedScores & Partial<TruthScores>][] = [["all", section]];
  if (calibrated) groups.push(["all, corrected with the validation split", calibrated]);
  for (const scores of byContext) groups.push([`${scores.context} context measurements`, scores]);
  for (const scores of byIpVersion) groups.push([`IPv${scores.ipVersion}`, scores]);
  const headings = ["", "entropy, bits", "excess, bits", "excess for reply or not"];
  return [
    element("h2", "Distance from the truth"),
    element(
      "p",
      "The true distributions of this synthetic Internet are known. No model can reach a mean of -log2 P(RTT " +
        "code) below their conditional entropy. The excess over it remains to be learned. Intervals: the true " +
        "probability inside the predicted intervals. Median: the median error of the predicted median " +
        "against the true one.",
    ),
    tableOf(
      [...headings, ...levelHeadings(coverage), "median", "replies"],
      groups.filter(([, { numReplies }]) => numReplies !== 0).map(truthRow),
      "compared",
    ),
  ];
}

function truthRow([name, scores]: [name: string, scores: CalibratedScores & Partial<TruthScores>]): string[] {
  const { trueBits, excessBits, outcomeExcessBits, coverage, quantiles, numReplies } = scores;
  return [
    name,
    withErrorText(trueBits),
    withErrorText(excessBits),
    withErrorText(outcomeExcessBits, 4),
    ...coverage.map(({ share }) => formatShare(share)),
    msText(quantiles?.find(({ q }) => q === 0.5)?.medianAbsoluteMs ?? null),
    numReplies === undefined ? NONE : countText(numReplies),
  ];
}

function withErrorText(value: MeanWithError | undefined, digits = 2): string {
  if (!value) return NONE;
  const error = value.standardError === null ? "" : ` ± ${fixedText(value.standardError, digits)}`;
  return fixedText(value.mean, digits) + error;
}

/** Renders a report as HTML. Missing sections are left out. */
export async function evalPage(report: EvalReport): Promise<string> {
  const parts = [...sectionParts(report), ...runPart(report.run)];
  const title = `Evaluation of ${report.run.checkpoint}`;
  return await pageOf(title, [...summaryPart(report), contentsOf(parts), ...parts]);
}

/** The pictures of {@link evalPage}. */
export function evalFigures(report: EvalReport): Figure[] {
  return figuresOf(sectionParts(report));
}

function sectionParts(report: EvalReport): Block[] {
  const { rtt, adapted, failures, bits, parts: ofParts, places, ranking, destinations, truth } = report;
  const parts: Block[] = [];
  if (rtt && rtt.model.overall.numMeasurements > 0) {
    parts.push(...rttPart(rtt), ...calibrationPart(rtt, report.calibration));
  }
  if (ofParts) parts.push(...partsPart(ofParts));
  if (places && places.numPlaced > 0) parts.push(...placePart(places));
  if (ranking) parts.push(...rankingPart(ranking));
  if (adapted) parts.push(...adaptPart(adapted));
  if (truth && truth.numReplies > 0) parts.push(...truthPart(truth));
  if (failures) parts.push(...failurePart(failures));
  if (bits) parts.push(...bitsPart(bits));
  if (destinations && destinations.scores.length > 0) parts.push(...destinationPart(destinations));
  return parts;
}

const HISTORIES = {
  all: "all earlier measurements of the same source, held-out ones included",
  train: "earlier measurements of the same source in the training rows only",
};

function runPart(run: EvalRun): Block[] {
  const drawn = run.numMeasurements === run.numHeldOut ? "all of them" : "drawn at random";
  const contexts = run.contexts.join(", ");
  const size = `${formatCount(run.numParameters)} parameters, sequences of ${run.sequenceLength} tokens`;
  const facts = {
    "checkpoint": `${run.checkpoint}, step ${run.step}`,
    "model": `${size}, trained on data with fingerprint ${run.modelFingerprint}`,
    "data": `${run.data}, split ${run.split} (fingerprint ${run.dataFingerprint})`,
    "split by": run.splitBy ?? "unknown",
    "training rows": `${run.train} (fingerprint ${run.trainFingerprint})`,
    "history": HISTORIES[run.history],
    "measurements": `${run.numMeasurements} of ${run.numHeldOut} held-out ones, ${drawn}`,
    "contexts": run.isEveryContext
      ? `each measurement with ${contexts} context measurements`
      : `one of ${contexts} context measurements for each measurement, in rotation`,
    "seed": String(run.seed),
    "time": `${formatSeconds(run.seconds)} on ${run.adapter}`,
    "engine": run.engine,
    "software": `ping-llm ${run.version}`,
  };
  return [element("h2", "About this run"), tableOf(["", ""], Object.entries(facts))];
}

const PART_NAMES: Record<string, string> = {
  all: "the network and the pool",
  network: "the network alone",
  pool: "the pool without the network",
};

function partsPart({ numMeasurements, scores }: PartsSection): Block[] {
  return [
    element("h2", "What each part adds"),
    element(
      "p",
      `${countText(numMeasurements)} of the measurements with a reply, predicted with parts of the model: ` +
        "-log2 P(RTT code), and CRPS. If a forecast of the pool is left out, the others keep the ratios of their " +
        "weights. Coloured if the difference, the whole model minus these parts, is significant.",
    ),
    tableOf(["", "bits of the RTT", "CRPS"], scores.map(partsRow), "compared"),
  ];
}

function partsRow({ parts, codeBits, crpsMs, intervals, modelMinusThis }: PartScores): TableCell[] {
  const [ofBits, ofCrps] = [modelMinusThis?.codeBits, modelMinusThis?.crpsMs];
  return [
    PART_NAMES[parts] ?? parts,
    differenceCell(
      fixedText(codeBits),
      intervalText(intervals.codeBits),
      intervalText(ofBits),
      verdictOf(ofBits ?? null),
    ),
    differenceCell(
      msText(crpsMs),
      intervalText(intervals.crpsMs),
      intervalText(ofCrps),
      verdictOf(ofCrps ?? null),
    ),
  ];
}

/** @param difference The interval of the whole model's number minus this one; empty if there is none. */
function differenceCell(text: string, interval: string, difference: string, verdict: Verdict): TableCell {
  if (difference === "") return valueCell(text, interval);
  return { text: text + interval, note: `difference${difference}`, kind: KIND_OF[verdict] };
}

const METRICS = ["medianAbsoluteMs", "crpsMs"] as const satisfies readonly ComparedMetric[];

function placePart(
  { numMeasurements, numPlaced, groups, floors, alignments }: PlaceSection,
): Block[] {
  const headings = [
    ...METRICS.map((metric) => METRIC_NAMES[metric]),
    "in 90 % intervals",
    "predictions",
  ];
  return [
    element("h2", "Errors by place"),
    element(
      "p",
      "By great-circle distance, country and AS of both endpoints, for the largest groups. " +
        `${countText(numPlaced)} of ${countText(numMeasurements)} predictions are between addresses ` +
        "with a position. Below the numbers: the best baseline, and the interval of the difference from it. " +
        "Coloured if the difference is significant.",
    ),
    ...PLACE_GROUPINGS.flatMap((by) => {
      const rows = groups.filter((group) => group.by === by).map(placeRow);
      return rows.length === 0 ? [] : [tableOf([capital(by), ...headings], rows, "numbers")];
    }),
    ...floors.length === 0 ? [] : [
      element("h3", "Effect of the speed of light"),
      element(
        "p",
        "Answers have no probability below the time that light in fibre needs between the places of the two " +
          "addresses. The table compares the same predictions with and without these floors, for measurements " +
          "that have one. An RTT below its floor shows that the database has a wrong place.",
      ),
      tableOf(
        [
          ["", "with a floor", "RTTs below it", "probability below"],
          METRICS.map((metric) => METRIC_NAMES[metric]),
          ["in 90 % intervals"],
        ].flat(),
        floors.map(floorRow),
        "numbers",
      ),
    ],
    ...alignments.length === 0 ? [] : [
      element("h3", "Do place embeddings match geography?"),
      element(
        "p",
        "Spearman's rank correlation between the great-circle distance and one minus the cosine of the " +
          "embeddings, or the RTT that the coordinates estimate, over pairs of places in the training data: 1 if " +
          "nearer places are always more alike, 0 if there is no relation. Intervals are from resamples of the places.",
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

function floorRow(effect: FloorEffect): TableCell[] {
  const { of, numMeasurements, numBelow, massBelow, comparisons, coverage, coverageWithout } = effect;
  return [
    of === "all" ? "all" : "with more than 1 % of the probability below",
    countText(numMeasurements),
    `${countText(numBelow)} (${formatShare(numBelow / numMeasurements)})`,
    formatShare(massBelow),
    ...METRICS.map((metric): TableCell => {
      const compared = comparisons.find((each) => each.metric === metric);
      if (!compared) return NONE;
      const { model, baseline, differenceInterval: interval, verdict } = compared;
      const note = `without ${msText(baseline)}${intervalText(interval)}`;
      return { text: msText(model), note, kind: KIND_OF[verdict] };
    }),
    {
      text: formatShare(insideOf(coverage)),
      note: `without ${formatShare(insideOf(coverageWithout))}`,
    },
  ];
}

function signedText(value: number): string {
  return fixedText(value).replace("-", "−");
}

function placeRow({ name, model, coverage, comparisons }: PlaceGroup): TableCell[] {
  return [
    name,
    ...METRICS.map((metric) => comparedCell(metric, model, comparisons)),
    formatShare(insideOf(coverage)),
    countText(model.numMeasurements),
  ];
}

function rankingPart(
  { windowS, numChoices, numSources, meanCandidates, numContext, methods }: RankingSection,
): Block[] {
  const window = windowS === null ? "at all" : `within ${windowS === 3600 ? "an hour" : "a day"}`;
  return [
    element("h2", "Finding the nearest destination"),
    element(
      "p",
      `${countText(numChoices)} different choices of ${countText(numSources)} sources among ` +
        `${fixedText(meanCandidates, 1)} destinations on average that they measured ${window}, ` +
        `each predicted before it was measured, by the model with at most ${numContext} context measurements. ` +
        "The regret is how much longer the RTT of the first choice is than the shortest one. If a method " +
        "predicts the same for several, it chooses among them at random. Coloured if the difference from " +
        "the model, ranking by median, is significant.",
    ),
    tableOf(["", "mean regret", "correct first choices"], methods.map(choiceRow), "compared"),
  ];
}

function choiceRow({ method, regretMs, rightShare, intervals, modelMinusThis }: RankingMethod): TableCell[] {
  const { regretMs: byRegret, rightShare: byShare } = modelMinusThis ?? { regretMs: null, rightShare: null };
  return [
    method,
    differenceCell(
      msText(regretMs),
      intervalText(intervals.regretMs),
      intervalText(byRegret),
      verdictOf(byRegret),
    ),
    differenceCell(
      formatShare(rightShare),
      percentIntervalText(intervals.rightShare),
      percentIntervalText(byShare),
      REVERSED[verdictOf(byShare)],
    ),
  ];
}

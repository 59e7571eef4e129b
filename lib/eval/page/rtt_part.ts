/**
 * How well RTTs are predicted: the tables and pictures of the model and the baselines.
 *
 * @module
 */
import { type ChartCurve, lineChart, rankOf } from "../../base/report/charts.ts";
import { type Block, element, type TableCell, tableOf } from "../../base/report/page.ts";
import {
  type ErrorMeasure,
  type ErrorMetrics,
  errorOf,
  type MethodMetrics,
} from "../metrics/forecast_errors.ts";
import type { ComparedMetric, RttComparison } from "../metrics/rtt_comparison.ts";
import type { RttSection } from "../sections/rtt_section.ts";
import {
  capital,
  countText,
  METRIC_NAMES,
  metricIntervalText,
  metricText,
  msText,
  NONE,
  percentText,
  ratioText,
  rivalText,
  valueCell,
  VERDICTS,
} from "./quantities.ts";

/** The number of baselines with a colour; the others are thin lines. */
const NUM_COLORED = 3;
/** The resolution of measured RTTs, ms: errors below it are drawn as this. */
const LEAST_ERROR_MS = 0.01;
/** With fewer clusters than about this, intervals come out too narrow (Cameron, Gelbach, Miller, 2008, section I). */
const FEW_CLUSTERS = 30;
/** Values that spread wider than this are drawn on a logarithmic scale. */
const MAX_LINEAR_SPREAD = 8;

type Method = { name: string; settings?: string } & MethodMetrics<ErrorMetrics>;

/** The metrics whose comparisons are on the page; those of the others are near to them, and in report.json. */
export const SHOWN_METRICS: readonly ComparedMetric[] = [
  "medianAbsoluteMs",
  "likeliestAbsoluteMs",
  "meanAbsoluteMs",
  "p90Relative",
  "crpsMs",
];

export function rttPart(section: RttSection): Block[] {
  const model = { name: "model", ...section.model };
  const likeliest = { name: "its likeliest RTT", ...section.likeliest };
  const medianOf = ({ overall }: Method) => overall.medianAbsoluteMs ?? Infinity;
  const baselines = section.baselines.toSorted((a, b) => medianOf(a) - medianOf(b));
  const methods = [model, ...baselines];
  const byContext = [
    contextFigure(methods, "error-by-context", "medianAbsoluteMs"),
    contextFigure(methods, "crps-by-context", "crpsMs"),
  ];
  return [
    element("h2", "How far predictions are off"),
    element("p", introduction(section)),
    tableOf(HEADINGS, [model, likeliest, ...baselines].map(rowOf), "compared"),
    cdfFigure(methods),
    ...(section.baselines.length > 0 ? comparisonTable(section) : []),
    ...(section.contexts.length > 1 ? [{ beside: byContext }] : []),
  ];
}

function introduction(section: RttSection): string {
  const { by, numClusters, numResamples, confidence } = section.resampling;
  const turns = section.isEveryContext
    ? "each predicted with every number of context measurements"
    : "the numbers of context measurements taking turns";
  const others = section.baselines.length === 0
    ? ""
    : ` The baselines learned from ${countText(section.numTrainingUsed)} training measurements and ` +
      `${countText(section.numObserved)} others later. They know the whole history that is allowed, ` +
      "whatever the context of the model. Their settings, below their names, were chosen on the validation " +
      "split, or without one on a share of the training rows. Their errors there make distributions of their " +
      "numbers.";
  const few = numClusters < FEW_CLUSTERS ? " These are few: the true intervals are wider." : "";
  return `${countText(section.model.overall.numMeasurements)} predictions of measurements with a reply, ` +
    `${turns}. The first row has the error of the predicted median, the second row that of the likeliest RTT ` +
    "(the median within the likeliest interval that is 1 % wide). Relative errors are shares of the measured " +
    "RTT. NMAE is the sum of the errors over the sum of the measured RTTs. CRPS scores the whole " +
    `distribution; for a single number it is the absolute error.${others} In brackets: ` +
    `${percentText(confidence, 0)} intervals from ${countText(numResamples)} resamples of the ` +
    `${countText(numClusters)} ${by}s of the measurements.${few} A difference is shown where its interval, ` +
    "from the same resamples, does not contain 0.";
}

/** The columns of the table of methods. */
const COLUMNS = {
  medianAbsoluteMs: "median error",
  meanAbsoluteMs: "mean error",
  nmae: "NMAE",
  p50Relative: "relative: half below",
  p90Relative: "90 % below",
  crpsMs: "CRPS",
} as const satisfies Partial<Record<ErrorMeasure & ComparedMetric, string>>;
const HEADINGS = ["", ...Object.values(COLUMNS), "predictions"];

function rowOf({ name, settings, overall }: Method): TableCell[] {
  const measures = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[];
  return [
    settings === undefined ? name : { text: name, note: settings },
    ...measures.map((measure) => {
      const interval = metricIntervalText(measure, overall.intervals[measure]);
      return valueCell(metricText(measure, errorOf(measure, overall)), interval);
    }),
    countText(overall.numMeasurements),
  ];
}

function cdfFigure(methods: readonly Method[]): Block {
  const ends = methods.flatMap(({ errorCdf }) => errorCdf.length === 0 ? [] : [errorCdf[5], errorCdf[98]]);
  const low = Math.max(LEAST_ERROR_MS, Math.min(...ends));
  const colored = coloredOf(methods);
  return {
    name: "error-cdf",
    caption:
      "The share of predictions with at most this error. A curve further up and to the left is better. Beside " +
      "the names: the median error.",
    chart: lineChart({
      curves: methods.map(({ name, errorCdf, overall }) => ({
        label: `${name}: ${msText(overall.medianAbsoluteMs)}`,
        points: errorCdf.map((errorMs, k) => ({
          x: Math.max(errorMs, low / 2),
          y: k / (errorCdf.length - 1),
        })),
        rank: rankOf(colored.indexOf(name)),
      })),
      x: {
        title: "absolute error of the predicted median, ms (logarithmic)",
        scale: "log",
        domain: [low, Math.max(...ends, 2 * low)],
      },
      y: { title: "share of predictions", format: ".0%", domain: [0, 1] },
      width: 580,
      height: 330,
    }),
  };
}

/**
 * The methods whose curves have colours, the same in every picture: the model, the best baselines by median error and
 * by CRPS, and the next by median error.
 */
function coloredOf([model, ...baselines]: readonly Method[]): string[] {
  const byCrps = baselines.toSorted((a, b) =>
    (a.overall.crpsMs ?? Infinity) - (b.overall.crpsMs ?? Infinity)
  );
  const order = [...baselines.slice(0, 1), ...byCrps.slice(0, 1), ...baselines].map(({ name }) => name);
  return [model.name, ...[...new Set(order)].slice(0, NUM_COLORED)];
}

/** A metric of the methods with colours by the number of context measurements. */
function contextFigure(
  methods: readonly Method[],
  figureName: string,
  metric: "medianAbsoluteMs" | "crpsMs",
): Block {
  const curves = coloredOf(methods).map((name, i): ChartCurve => ({
    label: name,
    points: (methods.find((method) => method.name === name)?.byContext ?? [])
      .map((metrics) => ({ x: metrics.numContext, y: metrics[metric] })),
    rank: rankOf(i),
    style: "marked",
  }));
  const values = curves.flatMap(({ points }) => points.flatMap(({ y }) => y ?? []));
  const isWide = Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > MAX_LINEAR_SPREAD;
  return {
    name: figureName,
    caption:
      `${capital(METRIC_NAMES[metric])} by the number of earlier measurements that the model was given, ` +
      "beside the best baselines. These always know the whole history; they vary since the measurements do.",
    chart: lineChart({
      curves,
      x: { title: "measurements in the model's context", scale: "ordinal" },
      y: {
        title: `${METRIC_NAMES[metric]}, ms${isWide ? " (logarithmic)" : ""}`,
        scale: isWide ? "log" : "linear",
      },
    }),
  };
}

/** The model against the best baseline: a row per number of context measurements, a column per metric. */
function comparisonTable({ comparisons, placeComparisons = [] }: RttSection): Block[] {
  const metrics = SHOWN_METRICS.filter((shown) => comparisons.some(({ metric }) => metric === shown));
  const rows = new Map([...Map.groupBy(comparisons, ({ numContext }) => String(numContext ?? "all"))]);
  if (placeComparisons.length > 0) rows.set("all, against methods that know places", placeComparisons);
  const cells = [...rows].map(([name, row]): TableCell[] => [
    name,
    ...metrics.map((metric) => comparisonCell(row.find((comparison) => comparison.metric === metric))),
  ]);
  return [
    element("h3", "The model against the best baseline of each measure"),
    element("p", "Coloured where a difference is shown."),
    tableOf(["context", ...metrics.map((metric) => METRIC_NAMES[metric])], cells, "numbers"),
  ];
}

function comparisonCell(comparison: RttComparison | undefined): TableCell {
  if (!comparison) return NONE;
  const { metric, model, ratio, verdict } = comparison;
  const difference = ratio === null ? "" : ` (${ratioText(ratio)})`;
  return {
    text: `${metricText(metric, model)}${difference}`,
    note: rivalText(comparison, ": "),
    kind: VERDICTS[verdict].kind,
  };
}

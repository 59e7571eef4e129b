/**
 * How well RTTs are predicted: the tables and pictures of the model and the baselines.
 *
 * @module
 */
import { type LinePlot, type PlotCurve, specOfLines } from "../../plot/line_plot.ts";
import { besideOf, figureOf, type TableCell, tableOf } from "../../plot/page.ts";
import { renderSvg } from "../../plot/svg.ts";
import type { Interval } from "../bootstrap.ts";
import { type ErrorMeasure, type ErrorMetrics, errorOf, type MethodMetrics } from "../forecast_errors.ts";
import type { ComparedMetric, RttComparison } from "../rtt_comparison.ts";
import type { Resampling, RttSection } from "../rtt_section.ts";
import {
  countText,
  intervalText,
  msText,
  percentIntervalText,
  percentText,
  ratioText,
} from "./quantities.ts";

/** So many baselines have colours; the others are thin lines. */
const NUM_COLORED = 3;
/** Errors below this, in ms, are as good as none: the resolution of what is measured. */
const LEAST_ERROR_MS = 0.01;
/** With fewer clusters than about this, intervals come out too narrow (Cameron, Gelbach, Miller, 2008, section I). */
const FEW_CLUSTERS = 30;
/** Values that spread wider than this are drawn on a logarithmic scale. */
const MAX_LINEAR_SPREAD = 8;

/** A method with its name. */
type Method = { name: string; settings?: string } & MethodMetrics<ErrorMetrics>;

/** The names that metrics have on the page. */
export const METRIC_NAMES: Record<ComparedMetric, string> = {
  medianAbsoluteMs: "median absolute error",
  likeliestAbsoluteMs: "median absolute error of the likeliest RTT",
  meanAbsoluteMs: "mean absolute error",
  nmae: "NMAE",
  p50Relative: "median relative error",
  p90Relative: "relative error (90th percentile)",
  crpsMs: "CRPS",
};

/** The metrics whose comparisons the page tells; those of the others are near to them, and in report.json. */
export const TOLD_METRICS: readonly ComparedMetric[] = [
  ...["medianAbsoluteMs", "likeliestAbsoluteMs", "meanAbsoluteMs", "p90Relative", "crpsMs"] as const,
];

const SHARES: readonly ComparedMetric[] = ["nmae", "p50Relative", "p90Relative"];

/** A value of a metric with its unit. */
export function metricText(metric: ComparedMetric, value: number | null): string {
  return SHARES.includes(metric) ? percentText(value) : msText(value);
}

/** The interval of a metric, without its unit. */
export function metricIntervalText(metric: ComparedMetric, interval: Interval | null): string {
  return SHARES.includes(metric) ? percentIntervalText(interval) : intervalText(interval);
}

/** The section as HTML. */
export async function rttPart(section: RttSection): Promise<string> {
  const model = { name: "model", ...section.model };
  const likeliest = { name: "its likeliest RTT", ...section.likeliest };
  const baselines = byMedianError(section.baselines);
  const methods = [model, ...baselines];
  const hasContexts = section.contexts.length > 1;
  return [
    "<h2>How far predictions are off</h2>",
    `<p>${introduction(section)}</p>`,
    tableOf(HEADINGS, [model, likeliest, ...baselines].map(rowOf), "compared"),
    await cdfFigure(methods),
    ...(section.baselines.length === 0 ? [] : [comparisonTable(section)]),
    ...(hasContexts
      ? [besideOf([
        await contextFigure(methods, section, "medianAbsoluteMs"),
        await contextFigure(methods, section, "crpsMs"),
      ])]
      : []),
  ].join("\n");
}

function introduction({ model, isEveryContext, baselines, ...section }: RttSection): string {
  const turns = isEveryContext
    ? "each predicted with every number of context measurements"
    : "the numbers of context measurements taking turns";
  const others = baselines.length === 0
    ? ""
    : ` The baselines learned from ${countText(section.numTrainingUsed)} training measurements ` +
      `and went on learning from ${
        countText(section.numObserved)
      } others; they know the whole history that is allowed, ` +
      "however few measurements the model was given as its context. Their settings, below their names, were chosen on " +
      "the validation split, or without one on a share of the training rows; their errors there make distributions of " +
      "their numbers.";
  return `${
    countText(model.overall.numMeasurements)
  } predictions of measurements that had a reply, ${turns}. The error is ` +
    `that of the predicted median, in the second row that of the likeliest RTT (the median within the likeliest ` +
    `interval that is 1 % wide); the relative one is of the measured RTT, NMAE the sum of the errors over that of the ` +
    `measured RTTs. CRPS scores the whole distribution; of a single number it is the absolute error.${others} ${
      aboutIntervals(section.resampling)
    }`;
}

function aboutIntervals({ by, numClusters, numResamples, confidence }: Resampling): string {
  const few = numClusters < FEW_CLUSTERS ? " These are few: the true intervals are wider." : "";
  return `In brackets: ${percentText(confidence, 0)} intervals from ${
    countText(numResamples)
  } resamples of the ${
    countText(numClusters)
  } ${by}s of the measurements.${few} Better and worse are said where the interval of the difference, both of the ` +
    "same resamples, does not hold 0.";
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
    ...measures.map((measure): TableCell => ({
      text: metricText(measure, errorOf(measure, overall)),
      note: metricIntervalText(measure, overall.intervals[measure]).trim(),
    })),
    countText(overall.numMeasurements),
  ];
}

function byMedianError(baselines: readonly Method[]): Method[] {
  const errorOf = ({ overall }: Method) => overall.medianAbsoluteMs ?? Infinity;
  return baselines.toSorted((a, b) => errorOf(a) - errorOf(b));
}

async function cdfFigure(methods: readonly Method[]): Promise<string> {
  const ends = methods.flatMap(({ errorCdf }) => errorCdf.length === 0 ? [] : [errorCdf[5], errorCdf[98]]);
  const low = Math.max(LEAST_ERROR_MS, Math.min(...ends));
  const colored = coloredOf(methods);
  const curves = methods.map(({ name, errorCdf, overall }): PlotCurve => ({
    label: `${name}: ${msText(overall.medianAbsoluteMs)}`,
    points: errorCdf.map((errorMs, k) => ({ x: Math.max(errorMs, low / 2), y: k / (errorCdf.length - 1) })),
    rank: rankOf(colored.indexOf(name)),
  }));
  const plot: LinePlot = {
    curves,
    x: {
      title: "absolute error of the predicted median, ms (logarithmic)",
      scale: "log",
      format: "~r",
      domain: [low, Math.max(...ends, 2 * low)],
    },
    y: { title: "share of predictions", scale: "linear", format: ".0%", domain: [0, 1] },
    ...{ width: 610, height: 330, labels: "list" },
  };
  return figureOf(await renderSvg(specOfLines(plot)), {
    name: "error-cdf",
    caption:
      "The share of predictions that are off by at most so much: the further to the left and the higher " +
      "a curve, the better. Beside the names, in the order of the table: the error that half of the predictions stay below.",
  });
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

function rankOf(place: number): PlotCurve["rank"] {
  return place >= 0 && place <= NUM_COLORED ? place as 0 | 1 | 2 | 3 : undefined;
}

/** A metric of the methods with colours by the number of context measurements. */
async function contextFigure(
  methods: readonly Method[],
  { contexts }: RttSection,
  metric: "medianAbsoluteMs" | "crpsMs",
): Promise<string> {
  const curves = coloredOf(methods).map((name, i): PlotCurve => ({
    label: name,
    points: (methods.find((method) => method.name === name)?.byContext ?? []).flatMap((metrics) => {
      const value = metrics[metric];
      return value === null ? [] : [{ x: metrics.numContext, y: value }];
    }),
    rank: rankOf(i),
  }));
  const values = curves.flatMap(({ points }) => points.map(({ y }) => y));
  const isWide = Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > MAX_LINEAR_SPREAD;
  const plot: LinePlot = {
    curves,
    x: { title: "measurements in the model's context", scale: "ordinal", format: "~r", values: contexts },
    y: {
      title: `${METRIC_NAMES[metric]}, ms${isWide ? " (logarithmic)" : ""}`,
      scale: isWide ? "log" : "linear",
      format: "~r",
    },
    ...{ width: 230, height: 240, labels: "end", hasPoints: true },
  };
  return figureOf(await renderSvg(specOfLines(plot)), {
    name: metric === "crpsMs" ? "crps-by-context" : "error-by-context",
    caption: `${capital(METRIC_NAMES[metric])} by how many earlier measurements the model was given, ` +
      "beside the best baselines. These know their whole history in any case; they differ between numbers because the " +
      "measurements do.",
  });
}

/** The model against the best baseline: a row per number of context measurements, a column per metric. */
function comparisonTable({ comparisons }: RttSection): string {
  const metrics = TOLD_METRICS.filter((told) => comparisons.some(({ metric }) => metric === told));
  const rows = Map.groupBy(comparisons, ({ numContext }) => numContext);
  const cells = [...rows].map(([numContext, row]): TableCell[] => [
    numContext === null ? "all" : String(numContext),
    ...metrics.map((metric): TableCell => {
      const found = row.find((comparison) => comparison.metric === metric);
      return found ? comparisonCell(found) : "–";
    }),
  ]);
  return "<h3>The model against the best baseline of each measure</h3>\n" +
    "<p>Coloured where a difference is shown.</p>\n" +
    tableOf(["context", ...metrics.map((metric) => METRIC_NAMES[metric])], cells, "numbers");
}

function comparisonCell(comparison: RttComparison): TableCell {
  const { metric, model, baseline, bestBaseline, ratio, differenceInterval, verdict } = comparison;
  const difference = ratio === null ? "" : ` (${ratioText(ratio)})`;
  const interval = metricIntervalText(metric, differenceInterval);
  return {
    text: `${metricText(metric, model)}${difference}`,
    note: `${bestBaseline}: ${metricText(metric, baseline)}${interval && `; difference${interval}`}`,
    kind: KIND_OF[verdict],
  };
}

/** How a table's cell shows a verdict. */
export const KIND_OF = { better: "wins", worse: "loses", none: "same" } as const;

function capital(text: string): string {
  return text[0].toUpperCase() + text.slice(1);
}

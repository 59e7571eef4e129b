/**
 * The part of the page about RTTs: tables and figures of the model and the baselines.
 *
 * @module
 */
import { formatShare } from "../../base/text.ts";
import {
  type Chart,
  type ChartAxis,
  type ChartCurve,
  histogramChart,
  lineChart,
  rankOf,
} from "../../base/report/charts.ts";
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
  KIND_OF,
  levelHeadings,
  METRIC_NAMES,
  metricIntervalText,
  metricText,
  msText,
  NONE,
  percentIntervalText,
  ratioText,
  rivalText,
  valueCell,
} from "./quantities.ts";
import type { Coverage } from "../metrics/calibration.ts";
import type { CalibrationSection } from "../sections/calibration_section.ts";

/** Baselines with a colour; the others are thin lines. */
const NUM_COLORED = 3;
/** The resolution of measured RTTs, ms; smaller errors are drawn with this value. */
const LEAST_ERROR_MS = 0.01;
/** With fewer clusters, intervals come out too narrow (Cameron, Gelbach, Miller, 2008, section I). */
const FEW_CLUSTERS = 30;
/** A wider spread of values gets a logarithmic scale. */
const MAX_LINEAR_SPREAD = 8;

type Method = { name: string; settings?: string } & MethodMetrics<ErrorMetrics>;

/** The metrics compared on the page. report.json also contains the others, which are close to these. */
const SHOWN_METRICS: readonly ComparedMetric[] = [
  "medianAbsoluteMs",
  "likeliestAbsoluteMs",
  "meanAbsoluteMs",
  "p90Relative",
  "crpsMs",
];

export function rttPart(section: RttSection): Block[] {
  const model = { name: "model", ...section.model };
  const likeliest = { name: "its likeliest RTT", ...section.likeliest };
  const noise = { name: "noise within pairs", ...section.noise };
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
    tableOf(HEADINGS, [model, likeliest, noise, ...baselines].map(rowOf), "compared"),
    cdfFigure(methods),
    ...(section.baselines.length > 0 ? comparisonTable(section) : []),
    ...(section.contexts.length > 1 ? [{ beside: byContext }] : []),
  ];
}

function introduction(section: RttSection): string {
  const { by, numClusters, numResamples, confidence } = section.resampling;
  const turns = section.isEveryContext
    ? "each predicted with every number of context measurements"
    : "with the numbers of context measurements in rotation";
  const others = section.baselines.length === 0
    ? ""
    : ` The baselines learned from ${countText(section.numTrainingUsed)} training measurements and ` +
      `${countText(section.numObserved)} later ones. They know the whole allowed history, ` +
      "regardless of the model's context. Their settings, below their names, were chosen on the validation " +
      "split or, without one, on a share of the training rows. Their errors there turn their predictions " +
      "into distributions.";
  const few = numClusters < FEW_CLUSTERS ? " These are few: the true intervals are wider." : "";
  return `${countText(section.model.overall.numMeasurements)} predictions of measurements with a reply, ` +
    `${turns}. The first row shows the error of the predicted median, the second row that of the likeliest RTT ` +
    "(the median within the likeliest interval that is 1 % wide). Noise within pairs is the error that is left if " +
    "the pair's other replies in the split are known, but not their times. Relative errors are shares of the measured " +
    "RTT. NMAE is the sum of the errors divided by the sum of the measured RTTs. CRPS scores the whole " +
    `distribution; for a single number it is the absolute error.${others} In brackets: ` +
    `${formatShare(confidence, 0)} intervals from ${countText(numResamples)} resamples of the ` +
    `${countText(numClusters)} ${by}s of the measurements.${few} ` +
    "A difference is significant if its interval, " +
    "from the same resamples, does not contain 0.";
}

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
      "The share of predictions with at most this error. Curves further up and to the left are better. Next to " +
      "the names: the median error.",
    chart: lineChart({
      curves: methods.map(({ name, errorCdf, overall }) => ({
        label: `${name}: ${msText(overall.medianAbsoluteMs)}`,
        name,
        points: errorCdf.map((errorMs, k) => ({ x: errorMs, y: k / (errorCdf.length - 1) })),
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
 * The methods with a colour, the same in every figure: the model, the best baselines by median error and by
 * CRPS, and the next ones by median error.
 */
function coloredOf([model, ...baselines]: readonly Method[]): string[] {
  const byCrps = baselines.toSorted((a, b) =>
    (a.overall.crpsMs ?? Infinity) - (b.overall.crpsMs ?? Infinity)
  );
  const order = [...baselines.slice(0, 1), ...byCrps.slice(0, 1), ...baselines].map(({ name }) => name);
  return [model.name, ...[...new Set(order)].slice(0, NUM_COLORED)];
}

/** A metric of the coloured methods by context size. */
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
    caption: `${capital(METRIC_NAMES[metric])} by the number of earlier measurements given to the model, ` +
      "with the best baselines. These always know the whole history; they vary because the measurements do.",
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

/** The model against the best baseline: one row per context size, one column per metric. */
function comparisonTable({ comparisons, placeComparisons = [] }: RttSection): Block[] {
  const metrics = SHOWN_METRICS.filter((shown) => comparisons.some(({ metric }) => metric === shown));
  const rows = new Map([...Map.groupBy(comparisons, ({ numContext }) => String(numContext ?? "all"))]);
  if (placeComparisons.length > 0) rows.set("all, against baselines that know places", placeComparisons);
  const cells = [...rows].map(([name, row]): TableCell[] => [
    name,
    ...metrics.map((metric) => comparisonCell(row.find((comparison) => comparison.metric === metric))),
  ]);
  return [
    element("h3", "The model against the best baseline by each metric"),
    element("p", "Coloured if the difference is significant."),
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
    kind: KIND_OF[verdict],
  };
}

// Calibration: a reliability diagram, and the PIT histogram.

/** 95 % of a normal distribution lie within this many standard deviations. */
const Z95 = 1.96;

/** Cases with similar predicted probabilities. */
interface Promised {
  /** The predicted probability, and the observed share. */
  promised: number;
  observed: number;
  /** At least 1; determines the error bar. */
  count: number;
}

/** Draws the points and the diagonal. @param options `log`: for mostly small probabilities; omits zeros. */
export function reliabilityChart(
  points: readonly Promised[],
  { xTitle, yTitle, scale }: { xTitle: string; yTitle: string; scale: "linear" | "log" },
): Chart {
  const isLog = scale === "log";
  const drawn = points.filter(({ promised, observed }) => !isLog || (promised > 0 && observed > 0));
  const least = isLog ? 0.8 * Math.min(1, ...drawn.flatMap((point) => [point.promised, point.observed])) : 0;
  const axis = (title: string): ChartAxis => ({
    title,
    scale,
    format: isLog ? "~%" : ".0%",
    domain: [least, 1],
  });
  return lineChart({
    curves: [
      {
        label: "found",
        points: points.map((point) => ({ x: point.promised, y: point.observed, ...intervalOf(point) })),
        rank: 0,
        style: "points",
      },
      { label: "right", points: [{ x: least, y: least }, { x: 1, y: 1 }], style: "dashed" },
    ],
    x: axis(xTitle),
    y: axis(yTitle),
    width: 300,
    height: 300,
    hasLegend: false,
  });
}

/** Wilson's 95 % interval (JASA 22, 1927). */
function intervalOf({ observed, count }: Promised): { low: number; high: number } {
  const z2 = Z95 ** 2 / count;
  const centre = (observed + z2 / 2) / (1 + z2);
  const half = Z95 * Math.sqrt(observed * (1 - observed) / count + z2 / (4 * count)) / (1 + z2);
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

/**
 * Draws shares that should be equal, and the band that contains 95 % of them by chance.
 *
 * @param shares Shares of the cases in equal parts of 0 to 1.
 * @param count Number of cases.
 */
export function pitChart(shares: readonly number[], count: number): Chart {
  const fair = 1 / shares.length;
  const half = Z95 * Math.sqrt(fair * (1 - fair) / count);
  return histogramChart({
    bins: shares.map((value, i) => ({ low: i * fair, high: (i + 1) * fair, value })),
    x: {
      title: "quantile in the prediction (0 lowest, 1 highest)",
      scale: "linear",
      format: "~r",
      domain: [0, 1],
    },
    y: { title: "share of measurements", format: ".0%" },
    width: 330,
    height: 300,
    lines: [
      { y: fair, isDashed: false },
      { y: Math.max(0, fair - half), isDashed: true },
      { y: fair + half, isDashed: true },
    ],
  });
}

/** @param corrected Coverage after the correction, if there was one. */
export function calibrationPart(
  { model: { overall, byContext }, baselines }: RttSection,
  corrected: CalibrationSection | undefined,
): Block[] {
  const groups = [
    { name: "all", ...overall },
    ...(byContext.length > 1 ? byContext : []).map((each) => ({ ...each, name: String(each.numContext) })),
  ];
  return [
    element("h2", "Calibration of the intervals"),
    { beside: [coverageFigure(overall), pitFigure(overall)] },
    element("h3", "Share of measurements inside, by number of context measurements"),
    coverageTable(groups),
    ...(corrected ? correctedTable(groups, corrected) : []),
    ...baselineTable(baselines),
  ];
}

function coverageFigure({ coverage, numMeasurements: count }: RttSection["model"]["overall"]): Block {
  const points = coverage.flatMap(({ level, share }) =>
    share === null ? [] : [{ promised: level, observed: share, count }]
  );
  return {
    name: "coverage",
    caption:
      "Central intervals of the predicted distributions. On the dashed line they contain the right share of " +
      "measurements; below it they are too narrow. Vertical lines: 95 % intervals.",
    chart: reliabilityChart(points, {
      xTitle: "share that should lie inside",
      yTitle: "share inside",
      scale: "linear",
    }),
  };
}

function pitFigure({ pit, numMeasurements }: RttSection["model"]["overall"]): Block {
  return {
    name: "pit",
    caption:
      "Where measurements fall in their predicted distributions. Flat is correct. A U shape means too narrow " +
      "distributions, a hill too wide ones, a slope a bias. If flat, 95 % of the columns end between the dotted lines.",
    chart: pitChart(pit, numMeasurements),
  };
}

function correctedTable(
  [all, ...byContext]: readonly Covered[],
  { numMeasurements, coverage, byContext: corrected }: CalibrationSection,
): Block[] {
  return [
    element(
      "h3",
      `The same, corrected with ${countText(numMeasurements)} measurements of the validation split`,
    ),
    coverageTable([
      { ...all, coverage },
      ...byContext.map((group, i) => ({ ...group, coverage: corrected[i].coverage })),
    ]),
    element(
      "p",
      "Each level of a predicted distribution is replaced by the share of the validation split's measurements " +
        "below it (Kuleshov, Fenner, Ermon, 2018). query rtt --calibration takes this report.json.",
    ),
  ];
}

function baselineTable(baselines: RttSection["baselines"]): Block[] {
  const covered = baselines.flatMap(({ name, coverage }) => coverage ? [{ name, coverage }] : []);
  return covered.length === 0
    ? []
    : [element("h3", "The same for the baselines' distributions"), coverageTable(covered)];
}

/** Coverage of intervals, and the number of predictions if known. */
interface Covered {
  name: string;
  coverage: readonly Coverage[];
  numMeasurements?: number;
}

function coverageTable(groups: readonly Covered[]): string {
  const isCounted = groups.some(({ numMeasurements }) => numMeasurements !== undefined);
  const rows = groups.map(({ name, coverage, numMeasurements = 0 }): TableCell[] => [
    name,
    ...coverage.map(({ share, interval }) => valueCell(formatShare(share), percentIntervalText(interval))),
    ...(isCounted ? [countText(numMeasurements)] : []),
  ]);
  const headings = [...levelHeadings(groups[0].coverage), ...(isCounted ? ["predictions"] : [])];
  return tableOf([isCounted ? "context" : "", ...headings], rows, "numbers");
}

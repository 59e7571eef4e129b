/** The calibration of predictions: coverage of intervals and the PIT histogram. @module */
import { type Block, element, type TableCell, tableOf } from "../../base/report/page.ts";
import type { Coverage } from "../metrics/calibration.ts";
import type { CalibrationSection } from "../sections/calibration_section.ts";
import type { RttSection } from "../sections/rtt_section.ts";
import { countText, levelHeadings, percentIntervalText, percentText, valueCell } from "./quantities.ts";
import { type Chart, type ChartAxis, histogramChart, lineChart } from "../../base/report/charts.ts";

// Whether probabilities are right, as charts: points on a diagonal, and columns of the same height.

/** 95 % of a normal distribution lie within so many standard deviations. */
const Z95 = 1.96;

/** Cases with about the same promise. */
interface Promised {
  /** The probability that was promised, and the share that came. */
  promised: number;
  observed: number;
  /** How many cases there are, at least 1; gives the error bar. */
  count: number;
}

/** Draws the points and the diagonal. @param options `log`: for promises that are mostly small; 0 is left out. */
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
        points: drawn.map((point) => ({ x: point.promised, y: point.observed, ...intervalOf(point, least) })),
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

/** Where the share may lie that so many cases show by chance (Wilson's interval of 95 %, JASA 22, 1927). */
function intervalOf({ observed, count }: Promised, least: number): { low: number; high: number } {
  const z2 = Z95 ** 2 / count;
  const centre = (observed + z2 / 2) / (1 + z2);
  const half = Z95 * Math.sqrt(observed * (1 - observed) / count + z2 / (4 * count)) / (1 + z2);
  return { low: Math.max(least, centre - half), high: Math.min(1, centre + half) };
}

/**
 * Draws shares that should be alike, and the band in which chance puts 95 % of them.
 *
 * @param shares Of the cases in each of as many equal parts of 0 to 1.
 * @param count How many cases there are.
 */
export function pitChart(shares: readonly number[], count: number): Chart {
  const fair = 1 / shares.length;
  const half = Z95 * Math.sqrt(fair * (1 - fair) / count);
  return histogramChart({
    bins: shares.map((value, i) => ({ low: i * fair, high: (i + 1) * fair, value })),
    x: {
      title: "place in the prediction (0 lowest, 1 highest)",
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

/** The section. @param corrected Coverage after the correction, if there was one. */
export function calibrationPart(
  { model: { overall, byContext }, baselines }: RttSection,
  corrected: CalibrationSection | undefined,
): Block[] {
  const groups = [
    { name: "all", ...overall },
    ...(byContext.length > 1 ? byContext : []).map((each) => ({ ...each, name: String(each.numContext) })),
  ];
  return [
    element("h2", "Whether its intervals are right"),
    { beside: [coverageFigure(overall), pitFigure(overall)] },
    element("h3", "Share of measurements inside, by context measurements"),
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
      "Central intervals of the predicted distributions. On the dashed line they contain as many measurements " +
      "as they should; below it they are too narrow. Vertical lines: 95 % intervals.",
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
      "Where measurements fall in their predicted distributions. Flat is right. A U shape means too narrow " +
      "distributions, a hill too wide ones, a slope a bias. Of flat columns 95 % lie between the dotted lines.",
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
      `The same, corrected by ${countText(numMeasurements)} measurements of the validation split`,
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

/** The coverage of the baselines' intervals. */
function baselineTable(baselines: RttSection["baselines"]): Block[] {
  const covered = baselines.flatMap(({ name, coverage }) => coverage ? [{ name, coverage }] : []);
  return covered.length === 0
    ? []
    : [element("h3", "The same of the baselines' distributions"), coverageTable(covered)];
}

/** The coverage of intervals, and of how many predictions where that is known. */
interface Covered {
  name: string;
  coverage: readonly Coverage[];
  numMeasurements?: number;
}

function coverageTable(groups: readonly Covered[]): string {
  const isCounted = groups.some(({ numMeasurements }) => numMeasurements !== undefined);
  const rows = groups.map(({ name, coverage, numMeasurements = 0 }): TableCell[] => [
    name,
    ...coverage.map(({ share, interval }) => valueCell(percentText(share), percentIntervalText(interval))),
    ...(isCounted ? [countText(numMeasurements)] : []),
  ]);
  const headings = [...levelHeadings(groups[0].coverage), ...(isCounted ? ["predictions"] : [])];
  return tableOf([isCounted ? "context" : "", ...headings], rows, "numbers");
}

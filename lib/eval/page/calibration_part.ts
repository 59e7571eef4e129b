/** The calibration of predictions: coverage of intervals and the PIT histogram. @module */
import { type Block, element, type TableCell, tableOf } from "../../base/report/page.ts";
import type { Coverage } from "../metrics/calibration.ts";
import type { CalibrationSection } from "../sections/calibration_section.ts";
import type { RttSection } from "../sections/rtt_section.ts";
import { countText, levelHeadings, percentIntervalText, percentText, valueCell } from "./quantities.ts";
import { pitChart, reliabilityChart } from "./calibration_charts.ts";

/** The section. @param corrected What the intervals hold after their correction, if there was one. */
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

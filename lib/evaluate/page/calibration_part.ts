/** Whether predictions are as sure as they may be: coverage of intervals and the PIT histogram. @module */
import { specOfColumns } from "../../plot/column_plot.ts";
import { besideOf, figureOf, type TableCell, tableOf } from "../../plot/page.ts";
import { specOfReliability } from "../../plot/reliability_plot.ts";
import { renderSvg } from "../../plot/svg.ts";
import { type Coverage, COVERAGE_LEVELS } from "../calibration.ts";
import type { CalibrationSection } from "../calibration_section.ts";
import type { RttSection } from "../rtt_section.ts";
import { countText, percentIntervalText, percentText } from "./quantities.ts";

/** What a table of coverage tells of. */
type Covered = Pick<RttSection["model"], "overall" | "byContext">;

/** The section as HTML. @param corrected What the intervals hold after their correction, if there was one. */
export async function calibrationPart(
  { model, baselines }: RttSection,
  corrected: CalibrationSection | undefined,
): Promise<string> {
  const { coverage, pit, numMeasurements: count } = model.overall;
  const points = coverage.flatMap(({ level, share }) =>
    share === null ? [] : [{ promised: level, observed: share, count }]
  );
  const coverageSvg = await renderSvg(specOfReliability({
    ...{ points, size: 300 },
    ...{ xTitle: "of the measurements, so many should lie inside", yTitle: "so many do" },
  }));
  const pitSvg = await renderSvg(specOfColumns({
    ...{ shares: pit, count, width: 330, height: 300 },
    ...{
      xTitle: "place in the predicted distribution (0 lowest, 1 highest)",
      yTitle: "share of measurements",
    },
  }));
  return [
    "<h2>Whether it knows how sure it may be</h2>",
    besideOf([
      figureOf(coverageSvg, {
        name: "coverage",
        caption:
          "Central intervals of the predicted distributions. On the dashed line they hold as many measurements " +
          "as they promise; below it the model is too sure. Vertical lines: 95 % of chance.",
      }),
      figureOf(pitSvg, {
        name: "pit",
        caption:
          "Where measurements fall in their predicted distributions. Flat is right; a U is too sure, a hill not " +
          "sure enough, a slope leans to one side. Chance keeps 95 % of flat columns between the dotted lines.",
      }),
    ]),
    coverageTable("Share of measurements inside, by context measurements", model),
    ...(corrected ? correctedTable(model, corrected) : []),
    ...baselineTable(baselines),
  ].join("\n");
}

function correctedTable(
  { overall, byContext }: Covered,
  { numMeasurements, coverage, byContext: corrected }: CalibrationSection,
): string[] {
  const title = `The same, corrected by ${countText(numMeasurements)} measurements of the validation split`;
  return [
    coverageTable(title, {
      overall: { ...overall, coverage },
      byContext: byContext.map((metrics, i) => ({ ...metrics, coverage: corrected[i].coverage })),
    }),
    "<p>A level of a predicted distribution stands for the share of the validation split's measurements that lay " +
    "below it (Kuleshov, Fenner, Ermon, 2018). <code>query rtt --calibration</code> with this report.json answers so.</p>",
  ];
}

/** What intervals of the methods without a model hold. */
function baselineTable(baselines: RttSection["baselines"]): string[] {
  const rows = baselines.flatMap(({ name, coverage }): TableCell[][] =>
    coverage ? [[name, ...coverage.map(shareCell)]] : []
  );
  if (rows.length === 0) return [];
  const levels = COVERAGE_LEVELS.map((level) => `${percentText(level, 0)} interval`);
  return ["<h3>The same of the baselines' distributions</h3>", tableOf(["", ...levels], rows, "numbers")];
}

function shareCell({ share, interval }: Coverage): TableCell {
  return { text: percentText(share), note: percentIntervalText(interval).trim() };
}

function coverageTable(title: string, { overall, byContext }: Covered): string {
  const levels = overall.coverage.map(({ level }) => `${percentText(level, 0)} interval`);
  const row = (name: string, { coverage, numMeasurements }: typeof overall): TableCell[] => [
    ...[name, ...coverage.map(shareCell), countText(numMeasurements)],
  ];
  const contexts = byContext.length > 1
    ? byContext.map((metrics) => row(String(metrics.numContext), metrics))
    : [];
  return `<h3>${title}</h3>\n` +
    tableOf(["context", ...levels, "predictions"], [row("all", overall), ...contexts], "numbers");
}

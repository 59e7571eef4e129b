/** How far predictions are from the truth of a synthetic Internet. @module */
import { lineChart } from "../../plot/charts.ts";
import { type Block, element, tableOf } from "../../plot/page.ts";
import type { MeanWithError } from "../metrics/sample_statistics.ts";
import type { CalibratedScores, TruthScores, TruthSection } from "../sections/truth_section.ts";
import { countText, fixedText, levelHeadings, msText, percentText } from "./quantities.ts";

/** The section. */
export function truthPart(section: TruthSection): Block[] {
  const { byContext, byIpVersion, coverage, calibrated } = section;
  const groups: [name: string, scores: TruthScores][] = [["all", section]];
  for (const scores of byContext) groups.push([`${scores.context} context measurements`, scores]);
  for (const scores of byIpVersion) groups.push([`IPv${scores.ipVersion}`, scores]);
  const headings = ["", "entropy, bits", "excess, bits", "excess of whether a reply comes"];
  return [
    element("h2", "How far it is from the truth"),
    element(
      "p",
      "The true distributions of this synthetic Internet are known. The least mean of -log2 P(RTT code) " +
        "that any model can reach is their conditional entropy; the excess over it is what is left to " +
        "learn. Intervals: the true probability inside the predicted ones. Quantile: median error of the " +
        "predicted median against the true one.",
    ),
    ...(byContext.length > 1 ? [excessFigure(section)] : []),
    tableOf(
      [...headings, ...levelHeadings(coverage), "median", "replies"],
      groups.filter(([, { numReplies }]) => numReplies > 0).map(rowOf),
      "compared",
    ),
    ...(calibrated ? calibratedTable(calibrated) : []),
  ];
}

function rowOf([name, scores]: [name: string, scores: TruthScores]): string[] {
  return [
    name,
    withErrorText(scores.trueBits),
    withErrorText(scores.excessBits),
    withErrorText(scores.outcomeExcessBits, 4),
    ...scores.coverage.map(({ share }) => percentText(share)),
    msText(scores.quantiles.find(({ q }) => q === 0.5)?.medianAbsoluteMs ?? null),
    countText(scores.numReplies),
  ];
}

function calibratedTable({ excessBits, coverage }: CalibratedScores): Block[] {
  const row = [withErrorText(excessBits), ...coverage.map(({ share }) => percentText(share))];
  return [
    element("h3", "Of all, corrected by the validation split"),
    tableOf(["excess, bits", ...levelHeadings(coverage)], [row], "numbers"),
  ];
}

function withErrorText({ mean, standardError }: MeanWithError, digits = 2): string {
  const error = standardError === null ? "" : ` ± ${fixedText(standardError, digits)}`;
  return fixedText(mean, digits) + error;
}

function excessFigure({ byContext }: TruthSection): Block {
  const points = byContext.map(({ context, excessBits: { mean } }) => ({ x: context, y: mean }));
  return {
    name: "excess-by-context",
    caption:
      "Bits that an RTT costs over the conditional entropy, which is 0 here, by number of context measurements.",
    chart: lineChart({
      curves: [{ label: "model", points, rank: 0, style: "marked" }],
      x: { title: "measurements in the model's context", scale: "ordinal" },
      y: { title: "bits over the conditional entropy" },
    }),
  };
}

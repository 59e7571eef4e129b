/** How far predictions are from the truth of a synthetic Internet. @module */
import { specOfLines } from "../../plot/line_plot.ts";
import { figureOf, tableOf } from "../../plot/page.ts";
import { renderSvg } from "../../plot/svg.ts";
import type { MeanWithError } from "../sample_statistics.ts";
import type { CalibratedScores, TruthScores, TruthSection } from "../truth_section.ts";
import { countText, fixedText, msText, percentText } from "./quantities.ts";

/** The section as HTML. */
export async function truthPart(section: TruthSection): Promise<string> {
  const { byContext, byIpVersion } = section;
  const rows: [string, TruthScores][] = [
    ["all", section],
    ...byContext.map((scores): [string, TruthScores] => [`${scores.context} context measurements`, scores]),
    ...byIpVersion.map((scores): [string, TruthScores] => [`IPv${scores.ipVersion}`, scores]),
  ];
  const shown = rows.filter(([, { numReplies }]) => numReplies > 0);
  const levels = section.coverage.map(({ level }) => `${percentText(level, 0)} interval`);
  return [
    "<h2>How far it is from the truth</h2>",
    "<p>The true distributions of this synthetic Internet are known. The least mean of -log2 P(RTT code) that any model " +
    "can reach is their conditional entropy; the excess over it is what is left to learn. Intervals: the true probability " +
    "inside the predicted ones. Quantile: median error of the predicted median against the true one.</p>",
    ...(byContext.length > 1 ? [await excessFigure(section)] : []),
    tableOf(
      [
        "",
        "entropy, bits",
        "excess, bits",
        "excess of whether a reply comes",
        ...levels,
        "median",
        "replies",
      ],
      shown.map(([name, scores]) => [
        name,
        ...[scores.trueBits, scores.excessBits].map((value) => withErrorText(value)),
        withErrorText(scores.outcomeExcessBits, 4),
        ...scores.coverage.map(({ share }) => percentText(share)),
        msText(scores.quantiles.find(({ q }) => q === 0.5)?.medianAbsoluteMs ?? null),
        countText(scores.numReplies),
      ]),
      "compared",
    ),
    ...(section.calibrated ? [calibratedTable(section.calibrated)] : []),
  ].join("\n");
}

function calibratedTable({ excessBits, coverage }: CalibratedScores): string {
  return "<h3>Of all, corrected by the validation split</h3>\n" + tableOf(
    ["excess, bits", ...coverage.map(({ level }) => `${percentText(level, 0)} interval`)],
    [[withErrorText(excessBits), ...coverage.map(({ share }) => percentText(share))]],
    "numbers",
  );
}

function withErrorText({ mean, standardError }: MeanWithError, digits = 2): string {
  return standardError === null
    ? fixedText(mean, digits)
    : `${fixedText(mean, digits)} ± ${fixedText(standardError, digits)}`;
}

async function excessFigure({ byContext }: TruthSection): Promise<string> {
  const svg = await renderSvg(specOfLines({
    curves: [{
      label: "model",
      points: byContext.flatMap(({ context, excessBits: { mean } }) =>
        mean === null ? [] : [{ x: context, y: mean }]
      ),
      rank: 0,
    }],
    x: { title: "measurements in the model's context", scale: "ordinal", format: "~r" },
    y: { title: "bits over the conditional entropy", scale: "linear", format: "~r" },
    ...{ width: 420, height: 220, labels: "end", hasPoints: true },
  }));
  return figureOf(svg, {
    name: "excess-by-context",
    caption:
      "Bits that an RTT costs over the conditional entropy, which is 0 here, by number of context measurements.",
  });
}

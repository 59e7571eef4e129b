/** How well the model foresees that no reply comes. @module */
import { besideOf, figureOf, tableOf } from "../../plot/page.ts";
import { specOfReliability } from "../../plot/reliability_plot.ts";
import { renderSvg } from "../../plot/svg.ts";
import type { Interval } from "../bootstrap.ts";
import type { FailureSection } from "../failure_section.ts";
import { countText, intervalText, percentText, scoreText } from "./quantities.ts";

/** Probabilities that are all below this are drawn on logarithmic axes. */
const SMALL = 0.3;

/** The section as HTML. */
export async function failurePart(section: FailureSection): Promise<string> {
  const points = section.reliability.map(({ predicted, observed, numMeasurements }) => ({
    ...{ promised: predicted, observed, count: numMeasurements },
  }));
  const svg = points.length === 0 ? undefined : await renderSvg(specOfReliability({
    ...{ points, size: 280, xTitle: "predicted probability of no reply", yTitle: "share without reply" },
    scale: points.every(({ promised, observed }) => promised < SMALL && observed < SMALL) ? "log" : "linear",
  }));
  const numLeftOut = points.filter(({ observed }) => observed === 0).length;
  const leftOut = numLeftOut === 0 ? "" : ` Groups in which every measurement had a reply: ${numLeftOut}.`;
  return [
    "<h2>Whether it foresees that no reply comes</h2>",
    `<p>${countText(section.numFailed)} of ${
      countText(section.numMeasurements)
    } measurements had no reply. The Brier ` +
    "score is the mean squared difference of the predicted probability and what came; 0 is perfect.</p>",
    besideOf([
      tableOf(["", "Brier score"], rowsOf(section), "compared"),
      ...(svg
        ? [figureOf(svg, {
          name: "failure-reliability",
          caption:
            "Groups of as many measurements each, by predicted probability. On the dashed line as many fail as " +
            `predicted; vertical lines: 95 % of chance.${leftOut}`,
        })]
        : []),
    ]),
  ].join("\n");
}

function rowsOf(section: FailureSection): string[][] {
  const score = (brier: number | null, interval: Interval | null) =>
    scoreText(brier) + intervalText(interval, scoreText);
  const share = (name: string, value: number | null) => `${name} (${percentText(value, 2)})`;
  return [
    ["model", score(section.brier, section.brierInterval)],
    [
      share("always the share in training", section.trainingShare),
      score(section.trainingShareBrier, section.trainingShareBrierInterval),
    ],
    [share("always the share held out", section.heldOutShare), scoreText(section.heldOutShareBrier)],
    ...section.byContext.map(({ numContext, brier, brierInterval }) => [
      ...[`model, ${numContext} context measurements`, score(brier, brierInterval)],
    ]),
  ];
}

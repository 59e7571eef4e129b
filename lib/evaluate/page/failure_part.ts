/** How well the model predicts that no reply comes. @module */
import { type Block, element, type TableCell, tableOf } from "../../report/page.ts";
import type { Interval } from "../metrics/bootstrap.ts";
import type { FailureSection } from "../sections/failure_section.ts";
import { countText, intervalText, percentText, scoreText, valueCell } from "./quantities.ts";
import { reliabilityChart } from "./calibration_charts.ts";

/** Probabilities that are all below this are drawn on logarithmic axes. */
const SMALL = 0.3;

/** The section. */
export function failurePart(section: FailureSection): Block[] {
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
      "Groups of equal size by predicted probability. On the dashed line as many fail as predicted. Vertical " +
      `lines: 95 % intervals.${leftOut}`,
    chart: reliabilityChart(points, {
      xTitle: "predicted probability of no reply",
      yTitle: "share without reply",
      scale: isSmall ? "log" : "linear",
    }),
  };
  const table = tableOf(["", "Brier score"], rowsOf(section), "compared");
  return [
    element("h2", "Whether it foresees that no reply comes"),
    element(
      "p",
      `${countText(section.numFailed)} of ${countText(section.numMeasurements)} measurements had no reply. ` +
        "The Brier score is the mean squared difference of the predicted probability and the outcome (1: no " +
        "reply, 0: reply). 0 is perfect.",
    ),
    { beside: points.length === 0 ? [table] : [table, figure] },
  ];
}

function rowsOf(section: FailureSection): TableCell[][] {
  const score = (brier: number | null, interval: Interval | null) =>
    valueCell(scoreText(brier), intervalText(interval, scoreText));
  const share = (name: string, value: number | null) => `${name} (${percentText(value, 2)})`;
  return [
    ["model", score(section.brier, section.brierInterval)],
    [
      share("always the share in training", section.trainingShare),
      score(section.trainingShareBrier, section.trainingShareBrierInterval),
    ],
    [share("always the share held out", section.heldOutShare), scoreText(section.heldOutShareBrier)],
    ...section.byContext.map(({ numContext, brier, brierInterval }) => [
      `model, ${numContext} context measurements`,
      score(brier, brierInterval),
    ]),
  ];
}

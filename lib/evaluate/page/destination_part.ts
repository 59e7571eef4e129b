/** How well destinations are guessed from source, RTT and time. @module */
import { type Block, element, type TableCell, tableOf } from "../../report/page.ts";
import type {
  DestinationScores,
  DestinationSection,
  GuessIntervals,
  MethodScores,
} from "../sections/destination_section.ts";
import { verdictOf } from "../metrics/rtt_comparison.ts";
import { countText, percentIntervalText, percentText, valueCell } from "./quantities.ts";

/** The section. */
export function destinationPart({ numCases, scores }: DestinationSection): Block[] {
  return [
    element("h2", "Which destination fits"),
    element(
      "p",
      `The destinations of ${countText(numCases)} measurements, guessed from source, RTT, time and the ` +
        "newest earlier measurements of the source.",
    ),
    ...scores.flatMap(guessTable),
  ];
}

function titleOf({ version, numContext, numCases }: DestinationScores): string {
  const context = numContext === 0 ? "no" : `up to ${numContext}`;
  return `IPv${version}, ${context} context measurements, ${countText(numCases)} cases`;
}

/** How often a method was right, with its interval and the verdict on its difference to the model. */
function exactCell(method: MethodScores, count: keyof GuessIntervals): TableCell {
  const difference = method.modelMinusThis?.[count];
  const verdict = difference ? `; ${SHOWN[verdictOf(difference)]}` : "";
  return valueCell(percentText(method[count]), percentIntervalText(method.intervals[count]) + verdict);
}

/** The words for a verdict. The larger share is the better one. */
const SHOWN = { better: "the model is worse", worse: "the model is better", none: "no difference shown" };

function guessTable(scores: DestinationScores): Block[] {
  const { methods } = scores;
  const lengths = Object.keys(methods[0].top1Prefix);
  const rows = methods.map((method): TableCell[] => [
    method.method,
    exactCell(method, "top1Exact"),
    exactCell(method, "top5Exact"),
    ...lengths.map((bits) => percentText(method.top1Prefix[bits])),
  ]);
  const headings = ["", "address, first guess", "of five", ...lengths.map((bits) => `/${bits}, first guess`)];
  return [element("h3", titleOf(scores)), tableOf(headings, rows, "compared")];
}

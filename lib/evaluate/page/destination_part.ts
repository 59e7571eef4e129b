/** How well destinations are guessed from source, RTT and time. @module */
import { lineChart, rankOf } from "../../plot/charts.ts";
import { type Block, element, type TableCell, tableOf } from "../../plot/page.ts";
import type {
  DestinationScores,
  DestinationSection,
  GuessIntervals,
  GuessScores,
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
      `The destinations of ${
        countText(numCases)
      } measurements, guessed from source, RTT, time and the newest ` +
        "earlier measurements of the source.",
    ),
    { beside: scores.map(prefixFigure) },
    ...scores.flatMap(guessTable),
  ];
}

function titleOf({ version, numContext, numCases }: DestinationScores): string {
  const context = numContext === 0 ? "no" : `up to ${numContext}`;
  return `IPv${version}, ${context} context measurements, ${countText(numCases)} cases`;
}

/** Prefix lengths of a method's first guess with their shares, the whole address last. */
function prefixesOf({ top1Prefix, top1Exact }: GuessScores, version: 4 | 6): [bits: number, share: number][] {
  const prefixes = Object.entries(top1Prefix).map(([bits, share]): [number, number] => [Number(bits), share]);
  const bits = version === 4 ? 32 : 128;
  return [...prefixes.filter(([length]) => length < bits).sort(([a], [b]) => a - b), [bits, top1Exact]];
}

function prefixFigure(scores: DestinationScores): Block {
  const { version, numContext, methods } = scores;
  return {
    name: `destinations-ipv${version}-context-${numContext}`,
    caption: `${titleOf(scores)}: how often the first guess shares so long a prefix with the destination.`,
    chart: lineChart({
      curves: methods.map((method, i) => ({
        label: method.method,
        points: prefixesOf(method, version).map(([x, y]) => ({ x, y })),
        rank: rankOf(i),
        style: "marked",
      })),
      x: { title: "bits of the address in common", scale: "ordinal" },
      y: { title: "share of first guesses", format: ".0%", domain: [0, 1] },
    }),
  };
}

/** How often a method was right, with its interval and what the difference to the model shows. */
function exactCell(method: MethodScores, count: keyof GuessIntervals): TableCell {
  const difference = method.modelMinusThis?.[count];
  const verdict = difference ? `; ${SHOWN[verdictOf(difference)]}` : "";
  return valueCell(percentText(method[count]), percentIntervalText(method.intervals[count]) + verdict);
}

/** What the sign of a difference of shares says, of which the larger is the better. */
const SHOWN = { better: "the model is worse", worse: "the model is better", none: "no difference shown" };

function guessTable(scores: DestinationScores): Block[] {
  const { methods, version } = scores;
  const shorter = (method: MethodScores) => prefixesOf(method, version).slice(0, -1);
  const lengths = methods.slice(0, 1).flatMap(shorter).map(([bits]) => `/${bits}, first guess`);
  const rows = methods.map((method): TableCell[] => [
    method.method,
    exactCell(method, "top1Exact"),
    exactCell(method, "top5Exact"),
    ...shorter(method).map(([, share]) => percentText(share)),
  ]);
  return [
    element("h3", titleOf(scores)),
    tableOf(["", "address, first guess", "of five", ...lengths], rows, "compared"),
  ];
}

/** How well destinations are told from source, RTT and time. @module */
import { specOfLines } from "../../plot/line_plot.ts";
import { besideOf, figureOf, type TableCell, tableOf } from "../../plot/page.ts";
import { renderSvg } from "../../plot/svg.ts";
import type {
  DestinationScores,
  DestinationSection,
  GuessIntervals,
  GuessScores,
  MethodScores,
} from "../destination_section.ts";
import { verdictOf } from "../rtt_comparison.ts";
import { countText, percentIntervalText, percentText } from "./quantities.ts";

/** The section as HTML. */
export async function destinationPart({ numCases, scores }: DestinationSection): Promise<string> {
  const figures: string[] = [];
  for (const each of scores) figures.push(await prefixFigure(each));
  return [
    "<h2>Which destination fits</h2>",
    `<p>The destinations of ${
      countText(numCases)
    } measurements, guessed from source, RTT, time and the newest earlier ` +
    "measurements of the source.</p>",
    besideOf(figures),
    ...scores.map(guessTable),
  ].join("\n");
}

function titleOf({ version, numContext, numCases }: DestinationScores): string {
  return `IPv${version}, ${numContext === 0 ? "no" : `up to ${numContext}`} context measurements, ${
    countText(numCases)
  } cases`;
}

/** Prefix lengths of a method's first guess with their shares, the whole address last. */
function prefixesOf({ top1Prefix, top1Exact }: GuessScores, version: 4 | 6): [bits: number, share: number][] {
  const prefixes = Object.entries(top1Prefix).map(([bits, share]): [number, number] => [Number(bits), share]);
  const bits = version === 4 ? 32 : 128;
  return [...prefixes.filter(([length]) => length < bits).sort(([a], [b]) => a - b), [bits, top1Exact]];
}

async function prefixFigure(scores: DestinationScores): Promise<string> {
  const { version, numContext, methods } = scores;
  const svg = await renderSvg(specOfLines({
    curves: methods.map((method, i) => ({
      label: method.method,
      points: prefixesOf(method, version).map(([x, y]) => ({ x, y })),
      rank: i < 4 ? i as 0 | 1 | 2 | 3 : undefined,
    })),
    x: { title: "bits of the address in common", scale: "ordinal", format: "~r" },
    y: { title: "share of first guesses", scale: "linear", format: ".0%", domain: [0, 1] },
    ...{ width: 190, height: 210, labels: "end", hasPoints: true },
  }));
  return figureOf(svg, {
    name: `destinations-ipv${version}-context-${numContext}`,
    caption: `${titleOf(scores)}: how often the first guess shares so long a prefix with the destination.`,
  });
}

/** How often a method was right, with its interval and what the difference to the model shows. */
function exactCell(method: MethodScores, count: keyof GuessIntervals): TableCell {
  const interval = percentIntervalText(method.intervals[count]).trim();
  const difference = method.modelMinusThis?.[count];
  const verdict = difference ? `; ${VERDICTS[verdictOf(difference)]}` : "";
  return { text: percentText(method[count]), note: `${interval}${verdict}` };
}

/** What the sign of a difference of shares says, of which the larger is the better. */
const VERDICTS = { better: "the model is worse", worse: "the model is better", none: "no difference shown" };

function guessTable(scores: DestinationScores): string {
  const { methods, version } = scores;
  const [first] = methods;
  const lengths = first ? prefixesOf(first, version).slice(0, -1).map(([bits]) => bits) : [];
  return `<h3>${titleOf(scores)}</h3>\n` +
    tableOf(
      ["", "address, first guess", "of five", ...lengths.map((bits) => `/${bits}, first guess`)],
      methods.map((method): TableCell[] => [
        ...[method.method, exactCell(method, "top1Exact"), exactCell(method, "top5Exact")],
        ...prefixesOf(method, version).slice(0, -1).map(([, share]) => percentText(share)),
      ]),
      "compared",
    );
}

/**
 * An answer of `query rtt` in words.
 *
 * @module
 */
import { drawHistogram, formatMs } from "../lib/text/histogram.ts";
import type { PrefixAnswer } from "../lib/query/rtt/prefix_query.ts";
import { type RttLikelihood, summaryOf, type SummaryOptions } from "../lib/query/rtt/rtt_summary.ts";

const TEXT_BARS = 16;
const LABEL_WIDTH = 12;

/** Describes an answer. @param pair Between what. */
export function describeAnswer(answer: PrefixAnswer, options: SummaryOptions, pair: string): string {
  const { pFailed, meanMs, meanBelowQ999Ms, likeliest, quantilesMs, at = [], drawn } = summaryOf(
    answer,
    options,
  );
  const errors = drawn?.standardErrors;
  const line = (label: string, value: string) => `  ${label.padEnd(LABEL_WIDTH)}${value}`;
  const ms = (value: number, error: number | undefined) =>
    `${formatMs(value)} ms${error === undefined ? "" : ` ± ${formatMs(error)}`}`;
  return [
    `RTT ${pair}`,
    line("no reply", percent(pFailed) + (errors ? ` ± ${percent(errors.pFailed)}` : "")),
    line("mean", ms(meanMs, errors?.meanMs)),
    line("  to 99.9 %", ms(meanBelowQ999Ms, undefined)),
    line(
      "likeliest",
      `${formatMs(likeliest.rttMs)} ms, ${percent(likeliest.probability)} in an interval 1 % wide`,
    ),
    ...options.quantiles.map((q) =>
      line(`${+(q * 100).toFixed(4)} %`, ms(quantilesMs[q], errors?.quantilesMs[q]))
    ),
    ...at.flatMap((each, i) => describeLikelihood(each, errors?.cdf?.[i]).map((text) => `  ${text}`)),
    ...describeDraws(answer),
    ...(Deno.stdout.isTerminal()
      ? ["", ...drawHistogram(answer.mixture.distribution.histogram(TEXT_BARS), 40)]
      : []),
  ].join("\n");
}

function describeLikelihood(
  { rttMs, cdf, probability, bits, lowMs, highMs }: RttLikelihood,
  error: number | undefined,
): string[] {
  const bounds = highMs === null
    ? `${formatMs(lowMs)} ms or more`
    : `${+lowMs.toFixed(3)}-${+highMs.toFixed(3)} ms`;
  return [
    `P(RTT <= ${rttMs} ms) ${percent(cdf)}${error === undefined ? "" : ` ± ${percent(error)}`}`,
    `  in ${bounds}: ${percent(probability)}, ${bits === null ? "no mass" : `${bits.toFixed(2)} bits`}`,
  ];
}

function describeDraws({ mixture, ...answer }: PrefixAnswer): string[] {
  const { numDraws, numDistinct } = mixture;
  if (numDraws === 0) return [];
  const { sourceProbability, destinationProbability, destinationProbabilityError: error } = answer;
  return [
    `  of ${numDraws} draws from the model, ${numDistinct} different; ± is a standard error`,
    ...(sourceProbability === null ? [] : [`  P(source in its prefix) ${percent(sourceProbability)}`]),
    ...(destinationProbability === null ? [] : [
      `  P(destination in its prefix) ${percent(destinationProbability)}${
        error > 0 ? ` ± ${percent(error)}` : ""
      }`,
    ]),
  ];
}

/** Three significant figures: masses of prefixes are often tiny. */
function percent(share: number): string {
  return `${+(share * 100).toPrecision(3)} %`;
}

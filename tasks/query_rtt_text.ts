/**
 * An answer of `query rtt` as text.
 *
 * @module
 */
import { drawHistogram, formatMs } from "../lib/base/text.ts";
import type { RttDistribution } from "../lib/query/rtt/rtt_distribution.ts";
import type { RttSummary } from "../lib/query/rtt/rtt_summary.ts";

const TEXT_BARS = 16;
const LABEL_WIDTH = 12;

/**
 * Describes an answer.
 *
 * @param options `title`: source and destination; `distribution`: drawn on a terminal; `basis`: the basis of the
 *   answer.
 */
export function describeAnswer(
  summary: RttSummary,
  options: { title: string; quantiles: readonly number[]; distribution: RttDistribution; basis: string },
): string {
  const { pFailed, meanMs, likeliest, quantilesMs, at = [], drawn } = summary;
  const errors = drawn?.standardErrors;
  const line = (label: string, value: string) => `  ${label.padEnd(LABEL_WIDTH)}${value}`;
  const ms = (value: number, error?: number) =>
    `${formatMs(value)} ms${error === undefined ? "" : ` ± ${formatMs(error)}`}`;
  const lines = [
    `RTT ${options.title}`,
    line("median", ms(options.distribution.quantileMs(0.5), errors?.quantilesMs[0.5])),
    line("rests on", options.basis),
    line("no reply", percent(pFailed, errors?.pFailed)),
    line(
      "likeliest",
      `${formatMs(likeliest.rttMs)} ms, ${percent(likeliest.probability)} in an interval 1 % wide`,
    ),
    ...options.quantiles.filter((q) => q !== 0.5).map((q) =>
      line(`${+(q * 100).toFixed(4)} %`, ms(quantilesMs[q], errors?.quantilesMs[q]))
    ),
    line("mean", ms(meanMs, errors?.meanMs)),
    ...at.flatMap((each, i) => describeLikelihood(each, errors?.cdf?.[i])),
  ];
  if (drawn) lines.push(...describeDraws(drawn));
  if (Deno.stdout.isTerminal()) {
    lines.push("", ...drawHistogram(options.distribution.histogram(TEXT_BARS), 40));
  }
  return lines.join("\n");
}

function describeLikelihood(
  likelihood: NonNullable<RttSummary["at"]>[number],
  error: number | undefined,
): string[] {
  const { rttMs, cdf, probability, bits, lowMs, highMs } = likelihood;
  const bounds = highMs === null
    ? `${formatMs(lowMs)} ms or more`
    : `${+lowMs.toFixed(3)}-${+highMs.toFixed(3)} ms`;
  return [
    `  P(RTT <= ${rttMs} ms) ${percent(cdf, error)}`,
    `    in ${bounds}: ${percent(probability)}, ${bits === null ? "no mass" : `${bits.toFixed(2)} bits`}`,
  ];
}

function describeDraws(drawn: NonNullable<RttSummary["drawn"]>): string[] {
  const { numDraws, numDistinct, sourceProbability, destinationProbability, standardErrors } = drawn;
  const lines = [`  of ${numDraws} draws from the model, ${numDistinct} different; ± is a standard error`];
  if (sourceProbability !== null) lines.push(`  P(source in its prefix) ${percent(sourceProbability)}`);
  if (destinationProbability !== null) {
    const error = standardErrors.destinationProbability || undefined;
    lines.push(`  P(destination in its prefix) ${percent(destinationProbability, error)}`);
  }
  return lines;
}

/** Three significant figures: masses of prefixes are often tiny. */
function percent(share: number, error?: number): string {
  const text = `${+(share * 100).toPrecision(3)} %`;
  return error === undefined ? text : `${text} ± ${percent(error)}`;
}

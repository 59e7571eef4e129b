/** How far predictions are from the truth of a synthetic Internet. @module */
import { type Block, element, tableOf } from "../../report/page.ts";
import type { MeanWithError } from "../metrics/sample_statistics.ts";
import type { CalibratedScores, TruthScores, TruthSection } from "../sections/truth_section.ts";
import { countText, fixedText, levelHeadings, msText, NONE, percentText } from "./quantities.ts";

/** The section. */
export function truthPart(section: TruthSection): Block[] {
  const { byContext, byIpVersion, coverage, calibrated } = section;
  const groups: [name: string, scores: CalibratedScores & Partial<TruthScores>][] = [["all", section]];
  if (calibrated) groups.push(["all, corrected by the validation split", calibrated]);
  for (const scores of byContext) groups.push([`${scores.context} context measurements`, scores]);
  for (const scores of byIpVersion) groups.push([`IPv${scores.ipVersion}`, scores]);
  const headings = ["", "entropy, bits", "excess, bits", "excess of whether a reply comes"];
  return [
    element("h2", "How far it is from the truth"),
    element(
      "p",
      "The true distributions of this synthetic Internet are known. No model can reach a mean of -log2 P(RTT " +
        "code) below their conditional entropy. The excess over it is left to learn. Intervals: the true " +
        "probability inside the predicted intervals. Median: the median error of the predicted median " +
        "against the true one.",
    ),
    tableOf(
      [...headings, ...levelHeadings(coverage), "median", "replies"],
      groups.filter(([, { numReplies }]) => numReplies !== 0).map(rowOf),
      "compared",
    ),
  ];
}

function rowOf([name, scores]: [name: string, scores: CalibratedScores & Partial<TruthScores>]): string[] {
  const { trueBits, excessBits, outcomeExcessBits, coverage, quantiles, numReplies } = scores;
  return [
    name,
    withErrorText(trueBits),
    withErrorText(excessBits),
    withErrorText(outcomeExcessBits, 4),
    ...coverage.map(({ share }) => percentText(share)),
    msText(quantiles?.find(({ q }) => q === 0.5)?.medianAbsoluteMs ?? null),
    numReplies === undefined ? NONE : countText(numReplies),
  ];
}

function withErrorText(value: MeanWithError | undefined, digits = 2): string {
  if (!value) return NONE;
  const error = value.standardError === null ? "" : ` ± ${fixedText(value.standardError, digits)}`;
  return fixedText(value.mean, digits) + error;
}

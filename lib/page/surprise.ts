/** How surprising one of many p-values is. @module */

/** Below it, a value is unusual. */
const UNUSUAL = 0.01;

/** `surprising`: also among so many values; `unusual`: taken by itself. */
export type Surprise = "surprising" | "unusual" | "usual";

/**
 * Judges p-values together: among n values that the model has right, n/100 lie below 0.01, so only those below
 * 0.01/n (Bonferroni) are called surprising.
 */
export function judge(pValues: readonly number[]): Surprise[] {
  const limit = UNUSUAL / Math.max(1, pValues.length);
  return pValues.map((p) => p < limit ? "surprising" : p < UNUSUAL ? "unusual" : "usual");
}

/** What the judgements say together, as a sentence. */
export function sumUp(judgements: readonly Surprise[]): string {
  const n = judgements.length;
  const count = (kind: Surprise) => judgements.filter((judgement) => judgement === kind).length;
  const numUnusual = count("unusual") + count("surprising");
  const expected = Number((n * UNUSUAL).toPrecision(2));
  const by = `${numUnusual} of ${n} have a p-value below ${UNUSUAL}; chance alone gives about ${expected}`;
  const numSurprising = count("surprising");
  if (numSurprising === 0) return `None is surprising among so many: ${by}.`;
  const is = numSurprising === 1 ? "is" : "are";
  return `${numSurprising} ${is} surprising even among ${n} (p < ${UNUSUAL}/${n}): ${by}.`;
}

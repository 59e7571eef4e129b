/** How surprising one of many p-values is. @module */
import { formatMs, formatRange } from "./number_text.ts";
import type { PastedPing } from "./paste.ts";

/** Below it, a value is unusual. */
const UNUSUAL = 0.01;
/** Unusual pings that are named in the sentence. */
const NUM_NAMED = 3;

/** `surprising`: also among so many values; `unusual`: taken by itself. */
export type Surprise = "surprising" | "unusual" | "usual";

/** A ping with what the model says of it. */
export interface JudgedPing {
  ping: PastedPing;
  /** Undefined where it could not be scored. */
  pValue: number | undefined;
  judgement: Surprise;
  /** Where 90 % of the replies were expected, given the pings before; of unusual ones only. */
  expected?: { lowMs: number; highMs: number };
}

/**
 * Judges p-values together: among n values that the model has right, n/100 lie below 0.01, so only those below
 * 0.01/n (Bonferroni) are called surprising.
 */
export function judge(pValues: readonly number[]): Surprise[] {
  const limit = UNUSUAL / Math.max(1, pValues.length);
  return pValues.map((p) => p < limit ? "surprising" : p < UNUSUAL ? "unusual" : "usual");
}

/** A ping in words: `line 8, 298 ms, expected 131–135 ms`. */
export function describeOdd({ ping, expected }: JudgedPing): string {
  const found = ping.rtt === null ? "no reply" : formatMs(ping.rtt);
  const range = expected ? `, expected ${formatRange(expected.lowMs, expected.highMs)}` : "";
  return `line ${ping.line}, ${found}${range}`;
}

/** What the judgements say together: `1 of 12 is unusual: line 8, 298 ms, expected 131–135 ms.` */
export function sumUp(rows: readonly JudgedPing[]): string {
  const judged = rows.filter(({ pValue }) => pValue !== undefined);
  const n = judged.length;
  if (n === 0) return "No ping could be scored.";
  const odd = judged.filter(({ judgement }) => judgement !== "usual")
    .sort((a, b) => (a.pValue ?? 1) - (b.pValue ?? 1));
  if (odd.length === 0) return n === 1 ? "The ping is not unusual." : `None of ${n} is unusual.`;
  const named = odd.slice(0, NUM_NAMED).map(describeOdd).join("; ");
  const more = odd.length > NUM_NAMED ? `; and ${odd.length - NUM_NAMED} more` : "";
  const chance = Number((n * UNUSUAL).toPrecision(2));
  return `${odd.length} of ${n} ${odd.length === 1 ? "is" : "are"} unusual: ${named}${more}. ` +
    `Chance alone gives about ${chance}.`;
}

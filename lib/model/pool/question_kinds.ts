/**
 * Kinds of questions, each with its own weights for the forecasts.
 *
 * @module
 */
import type { KnownOfQuestion } from "./forecast.ts";

const COUNTS = [2, 4, 8];
/** Interquartile range of the pair's RTTs, ln. */
const SPREADS = [0.003, 0.015, 0.08];
/** Seconds from the nearest RTT of the pair. */
const GAPS_S = [5400, 21_600, 172_800];
const CONTEXTS = [1, 5];

const NUM_PAIR_KINDS = (COUNTS.length + 1) * (SPREADS.length + 1) * (GAPS_S.length + 2);
/** Both endpoints are known. With fewer, kinds also depend on whether the others have known places. */
const BOTH = 3;
export const NUM_KINDS: number = NUM_PAIR_KINDS + (2 * BOTH + 1) * (CONTEXTS.length + 1);

export interface Kind {
  /** Index of the weights. */
  readonly number: number;
  /**
   * The groups that contain this kind, the largest first: `pair` if an RTT of the pair is known; else
   * `placed` if each endpoint or its place is known; else `unplaced`.
   */
  readonly groups: readonly string[];
}

/** Finds the kind of a question, by what is known about its pair, or about both endpoints and the context. */
export function kindOf(
  { ofPair, knowsSource, knowsDestination, knowsPlaces, inContext }: KnownOfQuestion,
): Kind {
  if (ofPair.length === 0) {
    const ends = (knowsSource ? 2 : 0) + (knowsDestination ? 1 : 0);
    const isPlaced = ends < BOTH && knowsPlaces;
    return unknownKind(ends + (isPlaced ? BOTH + 1 : 0), classOf(CONTEXTS, inContext.length));
  }
  const logs = ofPair.map(({ log }) => log).sort((a, b) => a - b);
  const width = logs[Math.floor((3 * logs.length - 1) / 4)] - logs[Math.floor(logs.length / 4)];
  const { gapS } = ofPair[0];
  const gap = gapS === null ? GAPS_S.length + 1 : classOf(GAPS_S, gapS);
  return pairKind(classOf(COUNTS, ofPair.length), classOf(SPREADS, width), gap);
}

/** Lists all kinds, ordered by number. */
export function allKinds(): Kind[] {
  const upTo = (last: number) => Array.from({ length: last + 1 }, (_, i) => i);
  return [
    ...upTo(COUNTS.length).flatMap((count) =>
      upTo(SPREADS.length).flatMap((spread) =>
        upTo(GAPS_S.length + 1).map((gap) => pairKind(count, spread, gap))
      )
    ),
    ...upTo(2 * BOTH).flatMap((ends) => upTo(CONTEXTS.length).map((context) => unknownKind(ends, context))),
  ];
}

function pairKind(count: number, spread: number, gap: number): Kind {
  return {
    number: (count * (SPREADS.length + 1) + spread) * (GAPS_S.length + 2) + gap,
    groups: ["pair", `count ${count}`, `count ${count} spread ${spread}`],
  };
}

function unknownKind(ends: number, context: number): Kind {
  return {
    number: NUM_PAIR_KINDS + ends * (CONTEXTS.length + 1) + context,
    groups: [ends < BOTH ? "unplaced" : "placed", `ends ${ends}`],
  };
}

/** Counts the limits that a value reaches. */
function classOf(limits: readonly number[], value: number): number {
  return limits.filter((limit) => value >= limit).length;
}

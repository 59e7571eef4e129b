/**
 * Kinds of questions, each with its own weights for the forecasts.
 *
 * @module
 */
import type { KnownOfQuestion } from "./forecast.ts";

/** Replies of the pair. */
const COUNTS = [2, 4, 8, 16, 64];
const CONTEXTS = [1, 5];

const NUM_PAIR_KINDS = COUNTS.length + 1;
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
  readonly groups: readonly [Group, ...string[]];
}

export type Group = "pair" | "placed" | "unplaced";

/** Finds the kind of a question, by what is known about its pair, or about both endpoints and the context. */
export function kindOf(
  { pair, knowsSource, knowsDestination, knowsPlaces, inContext }: KnownOfQuestion,
): Kind {
  if (pair) return pairKind(classOf(COUNTS, pair.numReplies));
  const ends = (knowsSource ? 2 : 0) + (knowsDestination ? 1 : 0);
  const isPlaced = ends < BOTH && knowsPlaces;
  return unknownKind(ends + (isPlaced ? BOTH + 1 : 0), classOf(CONTEXTS, inContext.length));
}

/** Lists all kinds, ordered by number. */
export function allKinds(): Kind[] {
  const upTo = (last: number) => Array.from({ length: last + 1 }, (_, i) => i);
  return [
    ...upTo(COUNTS.length).map(pairKind),
    ...upTo(2 * BOTH).flatMap((ends) => upTo(CONTEXTS.length).map((context) => unknownKind(ends, context))),
  ];
}

function pairKind(count: number): Kind {
  return { number: count, groups: ["pair"] };
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

/**
 * Forecasts of an RTT without a network, from what is known of the question: RTTs of the pair, the estimate by coordinates,
 * what the source and the destination usually have. Each is a mixture of Laplace kernels of one width, so fitting the
 * weights of several widths fits the width.
 *
 * @module
 */
import { quantileOfSample } from "../../base/sample_statistics.ts";
import type { RttEstimate } from "../selected_rows.ts";
import { type Kernel, kernelWidth } from "./kernel_mixture.ts";

/** An RTT of the pair. */
export interface PairRtt {
  /** ln ms. */
  readonly log: number;
  /** Seconds between it and the asked time; null if either is unknown. */
  readonly gapS: number | null;
}

/** Known RTTs that bear on the one to predict. All logarithms are of ms. */
export interface KnownOfQuestion {
  /** RTTs of the pair, at most {@link MAX_PAIR_RTTS}, the nearest in time first. */
  readonly ofPair: readonly PairRtt[];
  /** By coordinates; undefined without them. */
  readonly estimate: RttEstimate | undefined;
  /** Usual RTTs from the source to its destinations, and to the destination; empty if it is unknown. */
  readonly ofSource: readonly number[];
  readonly ofDestination: readonly number[];
  /** Whether the source and the destination have such RTTs or coordinates. */
  readonly knowsSource: boolean;
  readonly knowsDestination: boolean;
  /** Whether each end is known so, or by its place. */
  readonly knowsPlaces: boolean;
  /** RTTs from the source in the context, to other destinations. */
  readonly inContext: readonly number[];
  /** Usual RTTs of all pairs. */
  readonly ofAll: readonly number[];
  /** By the forest, see `PairForest`; empty if an RTT of the pair is known. */
  readonly ofForest: readonly number[];
  /** One number by `PairKriging`; empty as those of the forest. */
  readonly ofSimilarPairs: readonly number[];
  /** One number by `PairFactors`; empty as those of the forest, and if an end has no vectors. */
  readonly ofFactors: readonly number[];
}

/** RTTs of a pair that count. */
export const MAX_PAIR_RTTS = 24;

/** Weights of the pair's RTTs by their rank in time, the nearest first: kernels around each RTT. */
const RECENCIES: readonly ((rank: number) => number)[] = [(rank) => 0.75 ** rank, () => 1];
const WIDTHS = [-10, -8, -6].map((exponent) => 2 ** exponent);
/** Of how many of the nearest RTTs the median is taken: kernels around it. */
const MEDIANS = [1, 5, MAX_PAIR_RTTS];
const MEDIAN_WIDTHS = [-12, -10, -8, -6, -4, -2].map((exponent) => 2 ** exponent);
/** Widths of an estimate by its error, of which the median of |ln(estimate / RTT)| is ln 2 times the width. */
const ERROR_FACTORS = [0.25, 1, 4].map((factor) => factor / Math.LN2);
const LEAST_WIDTH = 2 ** -9;
const GREATEST_WIDTH = 1;
const USUAL_WIDTH = 2 ** -3.5;
const BROAD_WIDTH = 2 ** -1;
const FOREST_WIDTHS = [-6, -4].map((exponent) => 2 ** exponent);
const KRIGING_WIDTHS = [-5, -3, -1].map((exponent) => 2 ** exponent);
const FACTOR_WIDTHS = [-6, -4, -2].map((exponent) => 2 ** exponent);

/** The first component of each part; 0 is the model, the last is even over all codes. */
const PAIR = 1;
const PAIR_MEDIAN = PAIR + RECENCIES.length * WIDTHS.length;
const ESTIMATE = PAIR_MEDIAN + MEDIANS.length * MEDIAN_WIDTHS.length;
const SOURCE = ESTIMATE + ERROR_FACTORS.length;
const FOREST = SOURCE + 5;
/** The component of even mass. */
export const EVEN: number = FOREST + FOREST_WIDTHS.length + KRIGING_WIDTHS.length + FACTOR_WIDTHS.length;
/** The number of components, that of the model included. */
export const NUM_COMPONENTS: number = EVEN + 1;

/** Whether a component needs an RTT of the pair. */
export function isOfPair(component: number): boolean {
  return component >= PAIR && component < ESTIMATE;
}

/** Whether a component needs that no RTT of the pair is known. */
export function isOfForest(component: number): boolean {
  return component >= FOREST && component < EVEN;
}

/**
 * The kernels of a mixture of the components.
 *
 * @param weights (components): those of the model and of the even component are not used.
 */
export function kernelsOf(known: KnownOfQuestion, weights: ArrayLike<number>): Kernel[] {
  const { ofPair, estimate, ofAll } = known;
  const kernels: Kernel[] = [];
  const add = (log: number, width: number, mass: number) => {
    if (mass > 0) kernels.push({ log, width, mass });
  };
  const logs = ofPair.map(({ log }) => log);
  if (logs.length > 0) {
    const recencies = RECENCIES.map((recency) => shares(logs.length, recency));
    WIDTHS.forEach((width, w) =>
      logs.forEach((log, i) =>
        add(
          log,
          width,
          recencies.reduce((sum, of, r) => sum + of[i] * weights[PAIR + r * WIDTHS.length + w], 0),
        )
      )
    );
    MEDIANS.forEach((count, m) => {
      const centre = quantileOfSample(logs.slice(0, count), 0.5);
      MEDIAN_WIDTHS.forEach((width, w) =>
        add(centre, width, weights[PAIR_MEDIAN + m * MEDIAN_WIDTHS.length + w])
      );
    });
  }
  let component = ESTIMATE;
  const spread = (values: readonly number[], width: number) => {
    const used = values.length > 0 ? values : ofAll;
    for (const log of used) add(log, width, weights[component] / used.length);
    component++;
  };
  for (const factor of ERROR_FACTORS) {
    const width = Math.min(GREATEST_WIDTH, Math.max(LEAST_WIDTH, factor * (estimate?.error ?? 0)));
    spread(estimate ? [Math.log(estimate.rttMs)] : [], kernelWidth(estimate ? width : USUAL_WIDTH));
  }
  for (const values of [known.ofSource, known.ofDestination, known.inContext, ofAll]) {
    spread(values, USUAL_WIDTH);
  }
  spread(ofAll, BROAD_WIDTH);
  for (const width of FOREST_WIDTHS) spread(known.ofForest, width);
  for (const width of KRIGING_WIDTHS) spread(known.ofSimilarPairs, width);
  for (const width of FACTOR_WIDTHS) spread(known.ofFactors, width);
  return kernels;
}

// Kinds of questions.

const COUNTS = [2, 4, 8];
/** Ranges of the middle half of the pair's RTTs, ln. */
const SPREADS = [0.003, 0.015, 0.08];
/** Seconds from the nearest RTT of the pair. */
const GAPS_S = [5400, 21_600, 172_800];
const CONTEXTS = [1, 5];

const NUM_PAIR_KINDS = (COUNTS.length + 1) * (SPREADS.length + 1) * (GAPS_S.length + 2);
/** Which ends are known: both; of fewer, also whether the places of the others are known. */
const BOTH = 3;
/** The number of kinds. */
export const NUM_KINDS: number = NUM_PAIR_KINDS + (2 * BOTH + 1) * (CONTEXTS.length + 1);

/** A kind of question. */
export interface Kind {
  /** Which weights it has. */
  readonly number: number;
  /**
   * The groups of kinds that it is in, the largest first: `pair` if an RTT of the pair is known; if not, `placed` if each
   * end or its place is; else `unplaced`.
   */
  readonly groups: readonly string[];
}

/** The kind of a question: how much is known of its pair, or of both ends and the context. */
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

/** All kinds, by their numbers. */
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

/** How many limits a value reaches. */
function classOf(limits: readonly number[], value: number): number {
  return limits.filter((limit) => value >= limit).length;
}

function shares(count: number, weightOf: (rank: number) => number): number[] {
  const weights = Array.from({ length: count }, (_, rank) => weightOf(rank));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

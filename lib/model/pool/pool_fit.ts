/**
 * Fits the weights of a linear pool to measurements by stacking.
 *
 * If a kind of question has few measurements, its weights stay near those of a larger group: the weights of a
 * group are the prior of its parts, which counts as {@link PRIOR_CASES} events.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { EVEN, NUM_COMPONENTS, type PoolWeights, weightsOfParts } from "./forecasts.ts";
import {
  firstNeighbourWeights,
  levelOfCell,
  NEIGHBOUR_WIDTHS,
  NUM_NEIGHBOUR_CELLS,
} from "./pair_neighbours.ts";
import { stack } from "./stacking.ts";
import { allKinds, type Group, type Kind, NUM_KINDS } from "./question_kinds.ts";

/**
 * How much the weights of the larger group count, in events of weight 1: about six and twelve measurements. With
 * fewer the weights of kinds followed their few measurements too closely.
 */
const PRIOR_CASES: Readonly<Record<Group, number>> = { pair: 30, placed: 60, unplaced: 60 };
const NUM_ITERATIONS = 200;
/** How often the weights of neighbours and those of the others are fitted in turn. */
const NUM_TURNS = 3;
/** The weights of the parts before any measurement; that of the even component is fixed. */
const FIRST_SHARES: Readonly<Record<Group, Parameters<typeof weightsOfParts>[0]>> = {
  // The memory's narrow kernels have nearly all of its weight.
  pair: { pair_memory: [0.8, 0.022], coordinates: 0.066, usual_rtts: 0.111, even: 0.001 },
  placed: {
    model: 0.12,
    coordinates: 0.05,
    usual_rtts: 0.02,
    pair_forest: 0.2,
    kriging: 0.06,
    factors: 0.049,
    averages: 0.5,
    even: 0.001,
  },
  unplaced: {
    model: 0.3,
    coordinates: 0.04,
    usual_rtts: 0.4,
    pair_forest: 0.2,
    kriging: 0.04,
    factors: 0.009,
    averages: 0.01,
    even: 0.001,
  },
};

/** An event that occurred, and the probabilities that the components gave it. */
interface ScoredEvent {
  /** P(the event) by each component, then by the neighbours with each width if there are any. */
  readonly masses: Float64Array;
  /** The weight of its logarithmic score. */
  readonly weight: number;
}

export interface PoolCase {
  readonly kind: Kind;
  /** The cell of its neighbours. */
  readonly cell?: number | undefined;
  /** The first event is that the measurement has its exact code. */
  readonly events: readonly ScoredEvent[];
  /** How much it counts (default 1): less for several measurements of one unknown address. */
  readonly weight?: number;
}

// The logarithmic score of single codes would reward forecasts that are sharp rather than near. So the scores
// of longer runs of codes are added, and those of the events "at most x", which make up the continuous ranked
// probability score, where x is a quantile of the model's distribution. Sums of proper scores are proper
// (Gneiting, Raftery, JASA 102, 2007).

/**
 * Lengths of runs of codes and their weights. The exact code counts little: errors in the last bits should
 * not cost the network its weight, and sharp forecasts next to the RTT should not gain from it.
 */
const RESOLUTIONS = [1, 32, 256];
const RESOLUTION_WEIGHTS = [0.1, 0.3, 1];
/** Levels of the model's quantiles used as x, and the weight of each event. */
const LEVELS = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99];
const LEVEL_WEIGHT = 0.5;

/**
 * @param index Index of the measured code.
 * @param ofModel The model's distribution, (codes).
 * @param massesOf P(first <= index < end) by each component.
 */
export function eventsOf(
  index: number,
  ofModel: Float64Array,
  massesOf: (first: number, end: number) => Float64Array,
): ScoredEvent[] {
  const events: ScoredEvent[] = runsOfCode(index).map(([first, end], i) => ({
    masses: massesOf(first, end),
    weight: RESOLUTION_WEIGHTS[i],
  }));
  let sum = 0;
  let at = 0;
  for (const level of LEVELS) {
    while (at < ofModel.length - 1 && sum + ofModel[at] < level) sum += ofModel[at++];
    const masses = massesOf(0, at + 1);
    const above = masses.map((mass) => Math.max(0, 1 - mass));
    events.push({ masses: index <= at ? masses : above, weight: LEVEL_WEIGHT });
  }
  return events;
}

/** The runs that contain a code: indexes of the first code and of the code after the last. */
function runsOfCode(index: number): (readonly [first: number, end: number])[] {
  return RESOLUTIONS.map((length) => {
    // Code 0 does not exist, so below 2.048 ms index i has the code i + 1.
    const first = Math.floor((index + 1) / length) * length - 1;
    return [Math.max(0, first), first + length];
  });
}

/**
 * Fits weights to events.
 *
 * @param prior (components): the weights before any case; they sum to 1. @param worth How many events it counts as.
 */
function fitWeights(events: readonly ScoredEvent[], prior: Float64Array, worth: number): Float64Array {
  // Components with a prior weight of 0 keep it.
  const used = [...prior.keys()].filter((k) => prior[k] > 0);
  const weights = stack(
    {
      masses: Float64Array.from(events.flatMap(({ masses }) => used.map((k) => masses[k]))),
      counts: Float64Array.from(events, ({ weight }) => weight),
    },
    Float64Array.from(used, (k) => prior[k]),
    { worth, numIterations: NUM_ITERATIONS, fixed: used.indexOf(EVEN) },
  );
  const all = new Float64Array(NUM_COMPONENTS);
  used.forEach((k, i) => all[k] = weights[i]);
  return all;
}

/**
 * Fits the weights of the neighbours and those of the other forecasts in turn, each to the part of the events
 * that it explains (expectation maximisation).
 */
export function fitPool(cases: readonly PoolCase[]): PoolWeights {
  let ofNeighbours: Float64Array = new Float64Array(NUM_NEIGHBOUR_CELLS * NEIGHBOUR_WIDTHS.length);
  let ofKinds = fitKinds(cases, () => 1);
  for (let turn = 0; turn < NUM_TURNS; turn++) {
    ofNeighbours = fitNeighbours(cases, ofKinds);
    const own = ofNeighbours;
    const weights = ofKinds;
    ofKinds = fitKinds(cases, (each, event) => {
      const { near, others } = probabilitiesOf(each, event, { ofKinds: weights, ofNeighbours: own });
      return others / (near + others || 1);
    });
  }
  return { ofKinds, ofNeighbours };
}

/** The probability of an event by the neighbours, and by the other forecasts, weighted. */
export function probabilitiesOf(
  { kind, cell }: PoolCase,
  { masses }: Pick<ScoredEvent, "masses">,
  { ofKinds, ofNeighbours }: PoolWeights,
): { near: number; others: number } {
  let [near, share, others] = [0, 0, 0];
  for (let k = 0; k < NUM_COMPONENTS; k++) others += ofKinds[kind.number * NUM_COMPONENTS + k] * masses[k];
  if (cell !== undefined) {
    NEIGHBOUR_WIDTHS.forEach((_, w) => {
      const weight = ofNeighbours[cell * NEIGHBOUR_WIDTHS.length + w];
      share += weight;
      near += weight * masses[NUM_COMPONENTS + w];
    });
  }
  return { near, others: (1 - share) * others };
}

/** The weights of the neighbours, (cells, widths). */
function fitNeighbours(cases: readonly PoolCase[], ofKinds: Float64Array): Float64Array {
  const length = NEIGHBOUR_WIDTHS.length;
  const none = { ofKinds, ofNeighbours: new Float64Array(NUM_NEIGHBOUR_CELLS * length) };
  const near = cases.filter(({ cell }) => cell !== undefined);
  const fit = (chosen: readonly PoolCase[], prior: Float64Array) => {
    const events = chosen.flatMap((each) => each.events.map((event) => ({ each, event })));
    return stack(
      {
        masses: Float64Array.from(
          events.flatMap(({ each, event }) => [
            ...event.masses.subarray(NUM_COMPONENTS),
            probabilitiesOf(each, event, none).others,
          ]),
        ),
        counts: Float64Array.from(events, ({ each, event }) => event.weight * (each.weight ?? 1)),
      },
      prior,
      { worth: PRIOR_CASES.placed, numIterations: NUM_ITERATIONS },
    );
  };
  const all = new Float64Array(NUM_NEIGHBOUR_CELLS * length);
  const ofLevels = new Map<number, Float64Array>();
  for (let cell = 0; cell < NUM_NEIGHBOUR_CELLS; cell++) {
    const level = levelOfCell(cell);
    const prior = getOrMake(
      ofLevels,
      level,
      () => fit(near.filter((each) => levelOfCell(each.cell ?? 0) === level), firstNeighbourWeights(cell)),
    );
    const weights = fit(near.filter((each) => each.cell === cell), prior);
    all.set(weights.subarray(0, length), cell * length);
  }
  return all;
}

/** Fits the weights of all kinds, (kinds, components). @param countOf How much an event counts for them. */
function fitKinds(
  cases: readonly PoolCase[],
  countOf: (each: PoolCase, event: ScoredEvent) => number,
): Float64Array {
  const scoresOf = (chosen: readonly PoolCase[]) =>
    chosen.flatMap((each) =>
      each.events.map((event) => ({
        masses: event.masses,
        weight: event.weight * (each.weight ?? 1) * countOf(each, event),
      }))
    );
  const fitted = new Map<string, Float64Array>();
  const ofGroup = (group: string, level: number, prior: Float64Array, worth: number) =>
    getOrMake(
      fitted,
      group,
      () => fitWeights(scoresOf(cases.filter(({ kind }) => kind.groups[level] === group)), prior, worth),
    );
  const all = new Float64Array(NUM_KINDS * NUM_COMPONENTS);
  for (const { number, groups } of allKinds()) {
    let weights = weightsOfParts(FIRST_SHARES[groups[0]]);
    groups.forEach((group, level) => weights = ofGroup(group, level, weights, PRIOR_CASES[groups[0]]));
    const own = cases.filter(({ kind }) => kind.number === number);
    all.set(fitWeights(scoresOf(own), weights, PRIOR_CASES[groups[0]]), number * NUM_COMPONENTS);
  }
  return all;
}

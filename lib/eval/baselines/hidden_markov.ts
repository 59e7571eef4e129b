/**
 * A hidden Markov model of each pair's RTT, whose levels are routes and loads. Mouchet, Vaton, Chonavel,
 * Aben, den Hertog, "Large-Scale Characterization and Segmentation of Internet Path Delays With Infinite
 * HMMs", IEEE Access 8 (2020); here with a few levels at most instead of as many as the data need. Forecasts
 * are mixtures: each level has its probability one step after the newest measurement.
 *
 * @module
 */
import { quantileOfSorted } from "../../base/sample_statistics.ts";
import { getOrMake } from "../../base/collections.ts";
import { type BaselineMeasurement, type BaselineQuery, OnePassBaseline, SAMPLE_LEVELS } from "./baseline.ts";
import { logOfRtt } from "../../model/coordinates/rtt_scale.ts";

// A series that switches between levels: a hidden Markov model with few, sticky states, fitted by expectation
// maximisation. Rabiner, "A Tutorial on Hidden Markov Models", Proceedings of the IEEE 77 (1989), section
// III.C, with the scaling of V.A. Values have Student's t distribution around their level, so that single
// outliers do not move it: the weights are those of Peel and McLachlan, "Robust mixture modelling using the t
// distribution", Statistics and Computing 10 (2000). Staying has a prior, as in Fox et al., "A Sticky
// HDP-HMM", Annals of Applied Statistics 5 (2011).

/** Degrees of freedom of the t distribution (ASSUMPTION: the heaviest tails that still have a variance). */
const FREEDOM = 3;
/** The constant of its density: gamma(2) / (gamma(3/2) sqrt(3 pi)). */
const DENSITY = 2 / (Math.PI * Math.sqrt(FREEDOM));
const NUM_ITERATIONS = 15;
/** Pseudocounts of transitions: to any level, and to the same one (ASSUMPTION). */
const PRIOR_ANY = 0.1;
const PRIOR_STAY = 5;

interface Levels {
  /** (K,) */
  center: Float64Array;
  scale: Float64Array;
  /** (K, K) row-major: P(to | from). */
  transition: Float64Array;
}

interface LevelOptions {
  numLevels: number;
  minScale: number;
}

export function studentCdf(z: number): number {
  const scaled = z / Math.sqrt(FREEDOM);
  return 0.5 + (scaled / (1 + scaled * scaled) + Math.atan(scaled)) / Math.PI;
}

/** Fits levels to a series. @param series At least one value. */
export function fitLevels(series: Float64Array, { numLevels, minScale }: LevelOptions): Levels {
  const ascending = series.toSorted();
  const spread = (quantileOfSorted(ascending, 0.9) - quantileOfSorted(ascending, 0.1)) / (2 * numLevels);
  const levels: Levels = {
    center: Float64Array.from(
      { length: numLevels },
      (_, k) => quantileOfSorted(ascending, (k + 0.5) / numLevels),
    ),
    scale: new Float64Array(numLevels).fill(Math.max(minScale, spread)),
    transition: new Float64Array(numLevels ** 2),
  };
  setTransitions(levels, new Float64Array(numLevels ** 2));
  for (let iteration = 0; iteration < NUM_ITERATIONS; iteration++) {
    const { states, moves } = expect(series, levels);
    setTransitions(levels, moves);
    maximise({ series, levels, states }, minScale);
  }
  return levels;
}

/**
 * Moves P(level) one step ahead, then updates it with a value.
 *
 * @param state P(level | the series so far), (K,); updated in place.
 */
export function advance(state: Float64Array, value: number, levels: Levels): void {
  const series = Float64Array.of(value);
  const after = new Float64Array(state.length);
  forwardStep({ series, levels, states: after }, 0, state);
  state.set(after);
}

/** P(level) one step later. */
export function stepped(state: Float64Array, { transition }: Levels): Float64Array {
  const numLevels = state.length;
  const after = new Float64Array(numLevels);
  for (let from = 0; from < numLevels; from++) {
    for (let to = 0; to < numLevels; to++) after[to] += state[from] * transition[from * numLevels + to];
  }
  return after;
}

/** A series and P(level) at each of its positions, (T, K). */
interface Pass {
  series: Float64Array;
  levels: Levels;
  states: Float64Array;
}

/** Computes the state at t from the one before it. */
function forwardStep({ series, levels, states }: Pass, t: number, before: Float64Array): void {
  const { center, scale, transition } = levels;
  const numLevels = center.length;
  const at = t * numLevels;
  let sum = 0;
  let reached = 0;
  for (let to = 0; to < numLevels; to++) {
    let p = 0;
    for (let from = 0; from < numLevels; from++) p += before[from] * transition[from * numLevels + to];
    const z = (series[t] - center[to]) / scale[to];
    states[at + to] = p * DENSITY / (scale[to] * (1 + z * z / FREEDOM) ** ((FREEDOM + 1) / 2));
    sum += states[at + to];
    reached += p;
  }
  // A value that no level could have produced changes nothing.
  for (let k = 0; k < numLevels; k++) states[at + k] = sum > 0 ? states[at + k] / sum : reached / numLevels;
}

/** P(level at each position | the whole series), (T, K), and the expected numbers of transitions, (K, K). */
function expect(series: Float64Array, levels: Levels): { states: Float64Array; moves: Float64Array } {
  const numLevels = levels.center.length;
  const { transition } = levels;
  const states = new Float64Array(series.length * numLevels);
  const pass = { series, levels, states };
  const stateAt = (t: number) => states.subarray(t * numLevels, (t + 1) * numLevels);
  let before: Float64Array = new Float64Array(numLevels).fill(1 / numLevels);
  for (let t = 0; t < series.length; t++) {
    forwardStep(pass, t, before);
    before = stateAt(t);
  }
  const moves = new Float64Array(numLevels ** 2);
  for (let t = series.length - 2; t >= 0; t--) {
    const [state, later] = [stateAt(t), stateAt(t + 1)];
    const predicted = stepped(state, levels);
    for (let from = 0; from < numLevels; from++) {
      let sum = 0;
      for (let to = 0; to < numLevels; to++) {
        if (predicted[to] === 0) continue;
        const move = state[from] * transition[from * numLevels + to] * later[to] / predicted[to];
        moves[from * numLevels + to] += move;
        sum += move;
      }
      state[from] = sum;
    }
  }
  return { states, moves };
}

function setTransitions({ transition, center: { length } }: Levels, moves: Float64Array): void {
  for (let from = 0; from < length; from++) {
    let sum = 0;
    for (let to = 0; to < length; to++) {
      const count = moves[from * length + to] + PRIOR_ANY + (to === from ? PRIOR_STAY : 0);
      transition[from * length + to] = count;
      sum += count;
    }
    for (let to = 0; to < length; to++) transition[from * length + to] /= sum;
  }
}

function maximise({ series, levels: { center, scale }, states }: Pass, minScale: number): void {
  const numLevels = center.length;
  for (let k = 0; k < numLevels; k++) {
    let mass = 0;
    let weight = 0;
    let sum = 0;
    let squares = 0;
    for (let t = 0; t < series.length; t++) {
      const z = (series[t] - center[k]) / scale[k];
      const p = states[t * numLevels + k];
      const own = p * (FREEDOM + 1) / (FREEDOM + z * z);
      mass += p;
      weight += own;
      sum += own * series[t];
      squares += own * series[t] * series[t];
    }
    // An empty level stays where it is.
    if (mass < 1e-6) continue;
    center[k] = sum / weight;
    scale[k] = Math.max(minScale, Math.sqrt(Math.max(0, squares - weight * center[k] ** 2) / mass));
  }
}

/** How many of a pair's newest measurements levels are fitted to. */
const MAX_SERIES = 1000;
/** Each level needs at least this many. */
const MEASUREMENTS_PER_LEVEL = 6;
/** Levels are refitted when a series has grown by this factor. */
const REFIT_GROWTH = 1.25;
/** RTTs of one level vary by at least this share (ASSUMPTION; RTT codes have steps of 0.05 %). */
const MIN_SCALE = 2e-3;
/** Bisections for a quantile; they leave 1e-4 of the range. */
const NUM_HALVINGS = 14;

interface Pair {
  /** Logarithms of RTTs, oldest first. */
  series: number[];
  /** The number of measurements, and what it was when the levels were fitted. */
  count: number;
  fittedAt: number;
  levels?: Levels;
  /** P(level) after the newest measurement. */
  state: Float64Array;
}

/** Predicts the median of the mixture of a pair's levels. */
export class HiddenMarkovBaseline extends OnePassBaseline {
  readonly #numLevels: number;
  readonly #pairs = new Map<string, Pair>();

  /** @param options `numLevels`: the most levels that a pair may have. */
  constructor(options: { numLevels: number }) {
    super();
    this.#numLevels = options.numLevels;
  }

  observe({ source, destination, rttMs }: BaselineMeasurement): void {
    if (rttMs === null) return;
    const pair = getOrMake(this.#pairs, `${source} ${destination}`, (): Pair => ({
      series: [],
      count: 0,
      fittedAt: 0,
      state: new Float64Array(0),
    }));
    const log = logOfRtt(rttMs);
    pair.count++;
    pair.series.push(log);
    if (pair.series.length > 2 * MAX_SERIES) pair.series.splice(0, MAX_SERIES);
    if (pair.levels) advance(pair.state, log, pair.levels);
  }

  /** The median; undefined for a pair that was never measured. */
  predictMs(query: BaselineQuery): number | undefined {
    const mixture = this.#mixtureOf(query);
    return mixture && Math.exp(quantile(mixture, 0.5));
  }

  predictSampleMs(query: BaselineQuery): Float64Array | undefined {
    const mixture = this.#mixtureOf(query);
    return mixture && Float64Array.from(SAMPLE_LEVELS, (level) => Math.exp(quantile(mixture, level)));
  }

  #mixtureOf({ source, destination }: BaselineQuery): Mixture | undefined {
    const pair = this.#pairs.get(`${source} ${destination}`);
    if (!pair) return undefined;
    if (!pair.levels || pair.count >= REFIT_GROWTH * pair.fittedAt) this.#fit(pair);
    const { levels, state } = pair;
    return levels && { levels, weights: stepped(state, levels) };
  }

  #fit(pair: Pair): void {
    const series = Float64Array.from(pair.series.slice(-MAX_SERIES));
    const numLevels = Math.min(this.#numLevels, Math.ceil(series.length / MEASUREMENTS_PER_LEVEL));
    const levels = fitLevels(series, { numLevels, minScale: MIN_SCALE });
    const state = new Float64Array(numLevels).fill(1 / numLevels);
    for (const log of series) advance(state, log, levels);
    Object.assign(pair, { levels, state, fittedAt: pair.count });
  }
}

interface Mixture {
  levels: Levels;
  weights: Float64Array;
}

/** A quantile of a mixture, by bisection. */
function quantile({ levels: { center, scale }, weights }: Mixture, level: number): number {
  const cdf = (x: number) => {
    let sum = 0;
    for (let k = 0; k < weights.length; k++) sum += weights[k] * studentCdf((x - center[k]) / scale[k]);
    return sum;
  };
  const reach = TAIL * scale.reduce((a, b) => Math.max(a, b));
  let low = center.reduce((a, b) => Math.min(a, b)) - reach;
  let high = center.reduce((a, b) => Math.max(a, b)) + reach;
  for (let i = 0; i < NUM_HALVINGS; i++) {
    const middle = (low + high) / 2;
    if (cdf(middle) < level) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Beyond this many scales the t distribution has less mass than the outermost level. */
const TAIL = 6;

/**
 * Levels between which a series switches: a hidden Markov model of few states that tend to stay, fitted by expectation
 * maximisation. Rabiner, "A Tutorial on Hidden Markov Models", Proceedings of the IEEE 77 (1989), section III.C, with
 * the scaling of V.A. Around its level a value has Student's t distribution, so that single outliers do not move a
 * level: its weights are those of Peel and McLachlan, "Robust mixture modelling using the t distribution", Statistics
 * and Computing 10 (2000). To stay has a prior, as in Fox et al., "A Sticky HDP-HMM", Annals of Applied Statistics 5
 * (2011).
 *
 * @module
 */
import { quantileOfSorted } from "../metrics/sample_statistics.ts";

/** Degrees of freedom of the t distribution (ASSUMPTION: tails that have a variance, but only just). */
const FREEDOM = 3;
/** The constant of its density: gamma(2) / (gamma(3/2) sqrt(3 pi)). */
const DENSITY = 2 / (Math.PI * Math.sqrt(FREEDOM));
const NUM_ITERATIONS = 15;
/** Counts that are added to transitions: to any level, and to the same one (ASSUMPTION). */
const PRIOR_ANY = 0.1;
const PRIOR_STAY = 5;

/** A fitted model of K levels. */
export interface Levels {
  /** (K,) */
  center: Float64Array;
  scale: Float64Array;
  /** (K, K) row-major: P(to | from). */
  transition: Float64Array;
}

/** How levels are fitted. */
export interface LevelOptions {
  numLevels: number;
  /** Scales are at least this. */
  minScale: number;
}

/** The distribution function of the t distribution. */
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
 * Takes P(level) a step further and then to what a value says of it.
 *
 * @param state P(level | the series so far), (K,); it is replaced.
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

/** A series beside P(level) at each of its places, (T, K). */
interface Pass {
  series: Float64Array;
  levels: Levels;
  states: Float64Array;
}

/** Fills the state at t by the one before it. */
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
  // Where no level could have given the value, it says nothing.
  for (let k = 0; k < numLevels; k++) states[at + k] = sum > 0 ? states[at + k] / sum : reached / numLevels;
}

/** P(level at each place | the whole series), (T, K), and the expected numbers of moves, (K, K). */
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
    // A level that nothing belongs to stays where it is.
    if (mass < 1e-6) continue;
    center[k] = sum / weight;
    scale[k] = Math.max(minScale, Math.sqrt(Math.max(0, squares - weight * center[k] ** 2) / mass));
  }
}

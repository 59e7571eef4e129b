/**
 * Baseline: a hidden Markov model of each pair's RTT, whose levels are routes and loads. Mouchet, Vaton, Chonavel, Aben,
 * den Hertog, "Large-Scale Characterization and Segmentation of Internet Path Delays With Infinite HMMs", IEEE Access 8
 * (2020); here with a few levels that are chosen beforehand instead of as many as the data ask for. It forecasts a
 * mixture: each level as probable as it is after the newest measurement and one step.
 *
 * @module
 */
import { getOrMake } from "../../collections/get_or_make.ts";
import { type BaselineMeasurement, type BaselineQuery, OnePassBaseline, SAMPLE_LEVELS } from "./baseline.ts";
import { advance, fitLevels, type Levels, stepped, studentCdf } from "./hidden_levels.ts";
import { logOfRtt } from "../../coordinates/rtt_scale.ts";

/** The newest measurements of a pair that levels are fitted to. */
const MAX_SERIES = 1000;
/** A level for so many measurements at most. */
const MEASUREMENTS_PER_LEVEL = 6;
/** Levels are fitted again when a series has grown by this factor. */
const REFIT_GROWTH = 1.25;
/** RTTs of one level vary by this share at least (ASSUMPTION; an RTT's code has steps of 0.05 %). */
const MIN_SCALE = 2e-3;
/** Halvings of the range that a quantile is searched in; it is then 1e-4 of the range. */
const NUM_HALVINGS = 14;

interface Pair {
  /** Logarithms of RTTs, oldest first. */
  series: number[];
  /** Measurements in all, and when the levels were fitted. */
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

  /** The median; undefined of a pair that was never measured. */
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

/** Levels and how probable each is. */
interface Mixture {
  levels: Levels;
  weights: Float64Array;
}

/** By halving between the ends that the single levels' quantiles lie between. */
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

/** Scales beyond which the t distribution has less than the outermost of the levels asked for. */
const TAIL = 6;

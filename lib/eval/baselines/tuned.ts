/**
 * A baseline whose settings are chosen by measurements that were held out from its training, and whose errors there
 * turn its numbers into distributions.
 *
 * The settings of the least median absolute error are taken. Around a number the distribution is that of the held-out
 * ratios of measured and predicted RTTs: Roulston and Smith, "Combining dynamical and statistical ensembles", Tellus 55A
 * (2003), section 3 ("dressing"). It is kept only where its CRPS there is below that of the number alone.
 *
 * @module
 */
import { crpsOfNumberMs, crpsOfSampleMs } from "../metrics/crps.ts";
import { meanOf, quantileOfSample } from "../../base/sample_statistics.ts";
import {
  askInOrder,
  type Baseline,
  type BaselineMeasurement,
  type BaselineQuery,
  SAMPLE_LEVELS,
  type Tuning,
} from "./baseline.ts";
import { logOfRtt } from "../../model/coordinates/rtt_scale.ts";

/** Predictions beside what was measured, ms. */
interface Trial {
  predictedMs: number[];
  measuredMs: number[];
}

/** One of several baselines that differ in their settings. */
export class TunedBaseline implements Baseline {
  readonly #candidates: ReadonlyMap<string, () => Baseline>;
  #chosen: Baseline;
  #settings: string;
  /** By what a number is multiplied at each of the sample levels; undefined where a number stays one. */
  #factors: Float64Array | undefined;

  /** @param candidates Make untrained baselines, by their settings in words; the usual ones first. */
  constructor(candidates: ReadonlyMap<string, () => Baseline>) {
    this.#candidates = candidates;
    const [[settings, make]] = candidates;
    [this.#settings, this.#chosen] = [settings, make()];
  }

  /** As {@link Baseline.train}: each candidate on the tuning's training rows, then the chosen one on all. */
  train(measurements: Iterable<BaselineMeasurement>, tuning?: Tuning): void {
    if (tuning && tuning.heldOut.length > 0) this.#choose(tuning);
    this.#chosen = this.#make(this.#settings);
    this.#chosen.train(measurements);
  }

  observe(measurement: BaselineMeasurement): void {
    this.#chosen.observe(measurement);
  }

  /** That of the chosen one. */
  predictMs(query: BaselineQuery): number | undefined {
    return this.#chosen.predictMs(query);
  }

  /** That of the chosen one, or around its number. */
  predictSampleMs(query: BaselineQuery): Float64Array | undefined {
    const own = this.#chosen.predictSampleMs?.(query);
    const predictedMs = own ? undefined : this.#chosen.predictMs(query);
    return own ??
      (predictedMs === undefined ? undefined : this.#factors?.map((factor) => predictedMs * factor));
  }

  /** The chosen setting among several. */
  get settings(): string | undefined {
    return this.#candidates.size > 1 ? this.#settings : undefined;
  }

  #choose(tuning: Tuning): void {
    let best = Infinity;
    let trial: Trial | undefined;
    for (const settings of this.#candidates.keys()) {
      const tried = tryOut(this.#make(settings), tuning);
      const error = quantileOfSample(
        tried.predictedMs.map((ms, i) => Math.abs(ms - tried.measuredMs[i])),
        0.5,
      );
      if (error < best) [best, trial, this.#settings] = [error, tried, settings];
    }
    this.#factors = trial && dressing(trial);
  }

  #make(settings: string): Baseline {
    return (this.#candidates.get(settings) as () => Baseline)();
  }
}

function tryOut(baseline: Baseline, { training, heldOut, known }: Tuning): Trial {
  baseline.train(training);
  const trial: Trial = { predictedMs: [], measuredMs: [] };
  askInOrder(baseline, heldOut, {
    known,
    ask: (query) => {
      const predictedMs = baseline.predictMs(query);
      if (predictedMs === undefined) return;
      trial.predictedMs.push(predictedMs);
      trial.measuredMs.push(query.rttMs);
    },
  });
  return trial;
}

/** The factors that make distributions of numbers, if they are better than the numbers. */
function dressing({ predictedMs, measuredMs }: Trial): Float64Array | undefined {
  const ratios = predictedMs.map((ms, i) => Math.exp(logOfRtt(measuredMs[i]) - logOfRtt(ms)));
  const factors = Float64Array.from(SAMPLE_LEVELS, (level) => quantileOfSample(ratios, level));
  const meanScore = (score: (ms: number, i: number) => number) => meanOf(predictedMs.map(score)) ?? Infinity;
  const dressed = meanScore((ms, i) => crpsOfSampleMs(factors.map((factor) => ms * factor), measuredMs[i]));
  return dressed < meanScore((ms, i) => crpsOfNumberMs(ms, measuredMs[i])) ? factors : undefined;
}

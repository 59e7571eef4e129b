/** A model's forecasts of RTTs of watched pairs, given their earlier measurements. @module */
import type { TimedMeasurement } from "../files/arriving.ts";
import type { PingModel } from "../ping_model.ts";
import { rttMsOf, type WatchedPair } from "./pair_watch.ts";

export const EXPECTED_QUANTILES = [0.05, 0.5, 0.95] as const;

/** The forecast RTT of a measurement, and the p-value of the measured one. */
export interface Expectation {
  /** At {@link EXPECTED_QUANTILES}, ms. */
  readonly quantilesMs: readonly number[];
  /** P(a reply at least as far out), two-sided; undefined for a loss. */
  readonly pValue: number | undefined;
}

/** A measurement of a pair, with earlier ones. */
interface ExpectedOf {
  readonly measurement: Pick<TimedMeasurement, "source" | "destination" | "timeS">;
  /** Oldest first. */
  readonly before: readonly TimedMeasurement[];
  /** The RTT to compare, ms; NaN for a loss. */
  readonly rttMs: number;
}

/** Forecasts the RTTs of measurements. Times are rounded down, since models know whole seconds only. */
export async function expectationsOf(model: PingModel, asked: readonly ExpectedOf[]): Promise<Expectation[]> {
  const queries = asked.map(({ measurement: { source, destination, timeS }, before }) => ({
    source,
    destination,
    timeS: Math.floor(timeS),
    context: before.map((each) => ({ ...each, timeS: Math.floor(each.timeS) })),
  }));
  const found: Expectation[] = [];
  await model.likelyRttDistributions(queries, (distribution, i) => {
    const below = Number.isNaN(asked[i].rttMs) ? undefined : distribution.cdf(asked[i].rttMs);
    found.push({
      quantilesMs: EXPECTED_QUANTILES.map((quantile) => distribution.quantileMs(quantile)),
      pValue: below === undefined ? undefined : Math.min(1, 2 * Math.min(below, 1 - below)),
    });
  });
  return found;
}

interface KnownExpectation {
  readonly measurement: TimedMeasurement;
  readonly expectation: Expectation;
}

/** Forecasts for the newest measurement of each pair, kept until the pair has a newer one. */
export class PairExpectations {
  #known = new Map<string, KnownExpectation>();

  constructor(readonly model: PingModel) {}

  /** Runs the model for pairs with newer measurements and forgets all other pairs. */
  async update(pairs: readonly WatchedPair[]): Promise<void> {
    const kept = new Map<string, KnownExpectation>();
    const asked: (ExpectedOf & { key: string; measurement: TimedMeasurement })[] = [];
    for (const { src, dst, recent } of pairs) {
      const key = `${src} ${dst}`;
      const measurement = recent[recent.length - 1];
      const known = this.#known.get(key);
      // Compares objects, since two measurements may have the same time.
      if (known?.measurement === measurement) kept.set(key, known);
      else asked.push({ key, measurement, before: recent.slice(0, -1), rttMs: rttMsOf(measurement) });
    }
    const found = await expectationsOf(this.model, asked);
    asked.forEach(({ key, measurement }, i) => kept.set(key, { measurement, expectation: found[i] }));
    this.#known = kept;
  }

  /** The forecast for a pair's newest measurement as of the last update. */
  of({ src, dst }: WatchedPair): Expectation | undefined {
    return this.#known.get(`${src} ${dst}`)?.expectation;
  }
}

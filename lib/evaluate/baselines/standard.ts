/**
 * The baselines of every evaluation, by the names they have in reports.
 *
 * @module
 */
import type { Baseline } from "./baseline.ts";
import { BiasedFactorisationBaseline } from "./biased_factorisation.ts";
import { DmfsgdBaseline } from "./dmfsgd.ts";
import { FallBackBaseline } from "./fall_back.ts";
import { MedianBaseline } from "./median.ts";
import { MovingAverageBaseline } from "./moving_average.ts";
import { RecentBaseline } from "./recent.ts";
import { VivaldiBaseline } from "./vivaldi.ts";

/**
 * Makes all baselines, untrained. Where one cannot say, the source's median steps in, then the destination's, then
 * the one of all measurements; so each predicts something after one answered measurement.
 *
 * @param seed Seed of those that begin at random.
 * @returns The baselines by name, in the order of a report.
 */
export function standardBaselines(seed: number): Map<string, Baseline> {
  const own: [name: string, baseline: Baseline][] = [
    ["global median", new MedianBaseline("all")],
    ["source median", new MedianBaseline("source")],
    ["destination median", new MedianBaseline("destination")],
    ["pair median", new MedianBaseline("pair")],
    ["pair last seen", new RecentBaseline({ of: "pair", count: 1, summary: "mean" })],
    ["pair mean of last 3", new RecentBaseline({ of: "pair", count: 3, summary: "mean" })],
    ["pair median of last 9", new RecentBaseline({ of: "pair", count: 9, summary: "median" })],
    ["pair moving average", new MovingAverageBaseline({ of: "pair", alpha: 0.3 })],
    ["Vivaldi", new VivaldiBaseline({ seed })],
    ["DMFSGD", new DmfsgdBaseline({ seed })],
    ["biased factorisation", new BiasedFactorisationBaseline({ seed })],
  ];
  return new Map(own.map(([name, baseline]) => [name, withMedians(baseline)]));
}

function withMedians(baseline: Baseline): Baseline {
  return new FallBackBaseline(
    baseline,
    new MedianBaseline("source"),
    new MedianBaseline("destination"),
    new MedianBaseline("all"),
  );
}

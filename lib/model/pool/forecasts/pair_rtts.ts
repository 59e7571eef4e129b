import type { Forecast } from "../forecast.ts";

/** Weights of RTTs by their rank in time, nearest first. */
const RECENCIES: readonly ((rank: number) => number)[] = [(rank) => 0.75 ** rank, () => 1];
const WIDTHS = [-10, -8, -6].map((exponent) => 2 ** exponent);

/** Kernels around each RTT of the pair. If no time is asked about, they are weighted by the RTTs' spans. */
export const pairRtts: Forecast = {
  name: "pair_rtts",
  numWeights: RECENCIES.length * WIDTHS.length,
  needsPair: true,
  ask({ ofPair, spans }) {
    const recencies = RECENCIES.map((recency) => {
      if (spans) return spans;
      const weights = ofPair.map((_, rank) => recency(rank));
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      return weights.map((weight) => weight / total);
    });
    return (weights) =>
      WIDTHS.flatMap((width, w) =>
        ofPair.map(({ log }, i) => ({
          log,
          width,
          mass: recencies.reduce((sum, of, r) => sum + of[i] * weights[r * WIDTHS.length + w], 0),
        }))
      );
  },
};

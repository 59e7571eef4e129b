import { quantileOfSample } from "../../../base/sample_statistics.ts";
import { type Forecast, MAX_PAIR_RTTS } from "../forecast.ts";

/** How many of the nearest RTTs a median is taken over. */
const COUNTS = [1, 5, MAX_PAIR_RTTS];
const WIDTHS = [-12, -10, -8, -6, -4, -2].map((exponent) => 2 ** exponent);

/** Kernels around medians of the pair's RTTs; for any time around each of them, by the spans that they stand for. */
export const pairMedians: Forecast = {
  name: "pair_medians",
  numWeights: COUNTS.length * WIDTHS.length,
  needsPair: true,
  ask({ ofPair, spans }) {
    const logs = ofPair.map(({ log }) => log);
    if (spans) {
      return (weights) =>
        weights.flatMap((weight, w) =>
          logs.map((log, i) => ({ log, width: WIDTHS[w % WIDTHS.length], mass: weight * spans[i] }))
        );
    }
    const medians = COUNTS.map((count) => quantileOfSample(logs.slice(0, count), 0.5));
    return (weights) =>
      medians.flatMap((log, m) =>
        WIDTHS.map((width, w) => ({ log, width, mass: weights[m * WIDTHS.length + w] }))
      );
  },
};

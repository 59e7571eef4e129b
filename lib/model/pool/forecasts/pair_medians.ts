import { quantileOfSample } from "../../../base/sample_statistics.ts";
import { type Forecast, MAX_PAIR_RTTS } from "../forecast.ts";

/** Each median is taken over this many of the nearest RTTs. */
const COUNTS = [1, 5, MAX_PAIR_RTTS];
const WIDTHS = [-12, -10, -8, -6, -4, -2].map((exponent) => 2 ** exponent);

/** Kernels around medians of the pair's RTTs, or around each RTT by its span if no time is asked about. */
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

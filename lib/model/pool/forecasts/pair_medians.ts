import { quantileOfSample } from "../../../base/sample_statistics.ts";
import { type Forecast, MAX_PAIR_RTTS } from "../forecast.ts";

/** Of how many of the nearest RTTs the median is taken. */
const COUNTS = [1, 5, MAX_PAIR_RTTS];
const WIDTHS = [-12, -10, -8, -6, -4, -2].map((exponent) => 2 ** exponent);

/** Kernels around medians of the pair's RTTs. */
export const pairMedians: Forecast = {
  name: "pair_medians",
  numWeights: COUNTS.length * WIDTHS.length,
  needsPair: true,
  ask({ ofPair }) {
    const logs = ofPair.map(({ log }) => log);
    const medians = COUNTS.map((count) => quantileOfSample(logs.slice(0, count), 0.5));
    return (weights) =>
      medians.flatMap((log, m) =>
        WIDTHS.map((width, w) => ({ log, width, mass: weights[m * WIDTHS.length + w] }))
      );
  },
};

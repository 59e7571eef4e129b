import { evenKernels, type Forecast, FORECAST_LEVELS } from "../forecast.ts";
import { FIRST_INDEXES, logOfIndex } from "../kernel_mixture.ts";
import { PAIR_FOREST } from "../pair_forest.ts";

const WIDTHS = [2 ** -6, 2 ** -4];

/**
 * Kernels around the averages of three forecasts' quantiles: those of the network and of the forest, and the mean of
 * kriging (Ratcliff, "Group Reaction Time Distributions", Psychological Bulletin 86, 1979: Vincent averages). Errors
 * of the three in opposite directions cancel, which a mixture cannot do.
 */
export const averages: Forecast = {
  name: "averages",
  numWeights: WIDTHS.length,
  needsPair: false,
  memory: PAIR_FOREST,
  ask(known) {
    const { ends, ofNetwork } = known;
    const forest = known.recall(PAIR_FOREST);
    const [kriged] = forest.krigedLogs(ends);
    const logs = ofNetwork ? forest.logs(ends).map((log, i) => (ofNetwork[i] + log + kriged) / 3) : [];
    return evenKernels(known, logs, WIDTHS);
  },
};

/**
 * Quantiles of the network's distribution at {@link FORECAST_LEVELS}, ln ms, interpolated within first bytes.
 *
 * @param firstBytes In proportion to P(first byte), (first bytes). @param end The first code that is too long.
 */
export function networkLogs(firstBytes: Float64Array, end: number): number[] {
  const count = FIRST_INDEXES.findLastIndex((first) => first < end) + 1;
  const masses = firstBytes.subarray(0, count);
  const total = masses.reduce((sum, mass) => sum + mass, 0);
  let [at, below] = [0, 0];
  return FORECAST_LEVELS.map((level) => {
    while (at < masses.length - 1 && below + masses[at] < level * total) below += masses[at++];
    const [low, high] = [FIRST_INDEXES[at], FIRST_INDEXES[at + 1]].map(logOfIndex);
    const share = masses[at] > 0 ? Math.min(1, (level * total - below) / masses[at]) : 0;
    return low + share * (high - low);
  });
}

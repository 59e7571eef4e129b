import { evenKernels, type Forecast } from "../forecast.ts";
import { PAIR_FOREST } from "../pair_forest.ts";

const WIDTHS = [2 ** -5, 2 ** -3, 2 ** -1];

/** Kernels around the mean of a Gaussian process of similar pairs. */
export const kriging: Forecast = {
  name: "kriging",
  numWeights: WIDTHS.length,
  needsPair: false,
  memory: PAIR_FOREST,
  ask: (known) => evenKernels(known, known.recall(PAIR_FOREST).krigedLogs(known.ends), WIDTHS),
};

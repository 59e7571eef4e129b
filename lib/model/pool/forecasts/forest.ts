import { evenKernels, type Forecast } from "../forecast.ts";
import { PAIR_FOREST } from "../pair_forest.ts";

const WIDTHS = [2 ** -6, 2 ** -4];

/** Kernels around the quantiles of a random forest. */
export const forest: Forecast = {
  name: "pair_forest",
  numWeights: WIDTHS.length,
  needsPair: false,
  memory: PAIR_FOREST,
  ask: (known) => evenKernels(known, known.recall(PAIR_FOREST).logs(known.ends), WIDTHS),
};

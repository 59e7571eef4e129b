import { evenKernels, type Forecast } from "../forecast.ts";
import { PAIR_FACTORS } from "../pair_factors.ts";

const WIDTHS = [2 ** -6, 2 ** -4, 2 ** -2];

/** Kernels around the product of the endpoints' vectors. */
export const factors: Forecast = {
  name: "factors",
  numWeights: WIDTHS.length,
  needsPair: false,
  memory: PAIR_FACTORS,
  ask: (known) => evenKernels(known, known.recall(PAIR_FACTORS).logs(...known.hashes), WIDTHS),
};

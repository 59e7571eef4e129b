import type { Forecast } from "../forecast.ts";

/** Factors of the kernels' widths. They are whole octaves, which keeps the number of widths small. */
const FACTORS = [1 / 2, 2];

/** Kernels around the RTTs of the pair, by kernels in time. */
export const pairMemory: Forecast = {
  name: "pair_memory",
  numWeights: FACTORS.length,
  needsPair: true,
  ask({ pair }) {
    const kernels = pair?.kernels() ?? [];
    return (weights) =>
      FACTORS.flatMap((factor, f) =>
        kernels.map(({ log, width, mass }) => ({ log, width: factor * width, mass: weights[f] * mass }))
      );
  },
};

import type { Forecast } from "../forecast.ts";

/** Factors of the kernels' widths. They are whole octaves, which keeps the number of widths small. */
const FACTORS = [1 / 2, 2];
/** The width of kernels for outliers. */
const WIDE = 2 ** -3;

/** Kernels around the RTTs of the pair, by kernels in time. */
export const pairMemory: Forecast = {
  name: "pair_memory",
  numWeights: FACTORS.length + 1,
  needsPair: true,
  ask({ pair }) {
    const kernels = pair?.kernels() ?? [];
    return (weights) =>
      weights.flatMap((weight, w) =>
        kernels.map(({ log, width, mass }) => ({
          log,
          width: w < FACTORS.length ? FACTORS[w] * width : WIDE,
          mass: weight * mass,
        }))
      );
  },
};

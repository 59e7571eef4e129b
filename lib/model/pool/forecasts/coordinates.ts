import { evenKernels, type Forecast, USUAL_WIDTH } from "../forecast.ts";

/** Kernel widths relative to the error. The median of |ln(estimate / RTT)| is ln 2 times the width. */
const ERROR_FACTORS = [0.25, 1, 4].map((factor) => factor / Math.LN2);
const [LEAST_WIDTH, GREATEST_WIDTH] = [2 ** -9, 1];

export const coordinates: Forecast = {
  name: "coordinates",
  numWeights: ERROR_FACTORS.length,
  ask(known) {
    const { estimate } = known;
    if (!estimate) return evenKernels(known, [], ERROR_FACTORS.map(() => USUAL_WIDTH));
    const widths = ERROR_FACTORS.map((factor) =>
      Math.min(GREATEST_WIDTH, Math.max(LEAST_WIDTH, factor * estimate.error))
    );
    return evenKernels(known, [Math.log(estimate.rttMs)], widths);
  },
};

import { evenKernels, type Forecast, USUAL_WIDTH } from "../forecast.ts";

const WIDTHS = [USUAL_WIDTH, 2 ** -1];

/**
 * Kernels around the usual RTTs of the source, those of the destination, RTTs of the context from the source
 * to other destinations, and the usual RTTs of all pairs, the last in two widths.
 */
export const usualRtts: Forecast = {
  name: "usual_rtts",
  numWeights: 5,
  ask(known) {
    const of = (logs: readonly number[]) => evenKernels(known, logs, WIDTHS);
    const asked = [known.ofSource, known.ofDestination, known.inContext].map(of);
    const all = of(known.ofAll);
    return (weights) => [
      ...asked.flatMap((kernels, i) => kernels([weights[i]])),
      ...all(weights.slice(asked.length)),
    ];
  },
};

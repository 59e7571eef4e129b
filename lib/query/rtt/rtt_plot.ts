/** Plots the density of an RTT distribution on a logarithmic axis, with quantiles marked. @module */
import { threeDigits } from "../../base/text.ts";
import { histogramChart, renderPicture } from "../../base/report/charts.ts";
import type { RttDistribution } from "./rtt_distribution.ts";

const NUM_BARS = 160;

/** Texts and marks of the plot. */
export interface RttPlotOptions {
  /** The endpoints, such as `192.0.2.1 -> 198.51.100.7`. */
  readonly title: string;
  /** Shown below the title, for example the number of drawn addresses. */
  readonly subtitle?: string;
  /** Quantiles to mark, in [0, 1]. */
  readonly quantiles: readonly number[];
}

/** Plots a distribution from its 0.5 % to its 99.5 % quantile as SVG. */
export async function plotRttDistribution(
  distribution: RttDistribution,
  options: RttPlotOptions,
): Promise<string> {
  const bars = distribution.histogram(NUM_BARS);
  const domain = [bars[0].lowMs, bars[bars.length - 1].highMs] as const;
  const lines = options.quantiles.toSorted((a, b) => a - b).flatMap((q) => {
    const x = distribution.quantileMs(q);
    return x < domain[0] || x > domain[1]
      ? []
      : [{ x, label: `${+(q * 100).toFixed(4)} %: ${threeDigits(x)}` }];
  });
  const chart = histogramChart({
    bins: bars.map(({ lowMs, highMs, probability }) => ({
      low: lowMs,
      high: highMs,
      value: probability / Math.log10(highMs / lowMs),
    })),
    x: { title: "RTT, ms", scale: "log", format: "~g", domain },
    y: { title: "probability of a tenfold range of RTTs" },
    width: 560,
    height: 260,
    lines,
  });
  const text = `RTT ${options.title} · no reply ${(distribution.pFailed * 100).toPrecision(3)} %`;
  return await renderPicture({ ...chart, title: { text, subtitle: options.subtitle ?? "" } });
}

/** Plots the density of an RTT distribution on a logarithmic axis, with quantiles marked. @module */
import { threeDigits } from "../../base/text.ts";
import { histogramChart, renderPicture } from "../../base/report/charts.ts";

const NUM_BARS = 160;

/** Texts and marks of the plot. */
export interface RttPlotOptions {
  /** The endpoints, such as `192.0.2.1 -> 198.51.100.7` (none). */
  readonly title?: string;
  /** Shown below the title, for example the number of drawn addresses. */
  readonly subtitle?: string;
  /** Quantiles to mark, in [0, 1] (0.05, 0.5 and 0.95). */
  readonly quantiles?: readonly number[];
}

/** @internal What a plot shows of a distribution. */
interface Plotted {
  readonly pFailed: number;
  quantileMs(q: number): number;
  histogram(numBars: number): readonly { lowMs: number; highMs: number; probability: number }[];
}

/** A plot that notebooks display. */
export class RttPlot {
  /** Wraps a picture. @param svg One `svg` element. */
  constructor(readonly svg: string) {}

  /** The picture for Deno's notebooks. */
  [Symbol.for("Jupyter.display")](): { "image/svg+xml": string } {
    return { "image/svg+xml": this.svg };
  }
}

/** Plots a distribution from its 0.5 % to its 99.5 % quantile. */
export async function plotRttDistribution(
  distribution: Plotted,
  { title = "", subtitle = "", quantiles = [0.05, 0.5, 0.95] }: RttPlotOptions = {},
): Promise<RttPlot> {
  const bars = distribution.histogram(NUM_BARS);
  const domain = [bars[0].lowMs, bars[bars.length - 1].highMs] as const;
  const lines = quantiles.toSorted((a, b) => a - b).flatMap((q) => {
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
  const loss = `no reply ${(distribution.pFailed * 100).toPrecision(3)} %`;
  const text = `RTT${title === "" ? "" : ` ${title}`} · ${loss}`;
  return new RttPlot(await renderPicture({ ...chart, title: { text, subtitle } }));
}

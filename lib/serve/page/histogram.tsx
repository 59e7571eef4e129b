/** The probability density of an RTT: the share of replies in each bin of so many milliseconds. @module */
import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import type { RttApiAnswer } from "../api/schemas.ts";
import { axisStyle, Chart, type ChartPlan, faded, PLAIN } from "./chart.tsx";
import { type Curve, CURVE_QUANTILES, formatTick, quantileOf, summaryOf } from "./distribution_chart.tsx";
import { formatPercent, formatRange } from "./number_text.ts";

const HEIGHT_PX = 260;
/** Bins of a chart, at most. */
const MAX_BINS = 60;
/** A bin is at least that part of its RTT wide: quantiles do not resolve more. */
const LEAST_RELATIVE_WIDTH = 0.001;

/** Bins of equal width, and what each answer gives to each. */
export interface Bins {
  widthMs: number;
  /** One more than there are bins, ms. */
  edgesMs: number[];
  /** For each answer the share of its replies in each bin. */
  shares: number[][];
}

/** P(RTT <= x | a reply), linear between the quantiles; 0 and 1 outside of them. */
function cumulativeAt(answer: RttApiAnswer, rttMs: number): number {
  const i = CURVE_QUANTILES.findLastIndex((quantile) => quantileOf(answer, quantile) <= rttMs);
  if (i < 0) return 0;
  if (i === CURVE_QUANTILES.length - 1) return 1;
  const [low, high] = [i, i + 1].map((k) => quantileOf(answer, CURVE_QUANTILES[k]));
  const step = CURVE_QUANTILES[i + 1] - CURVE_QUANTILES[i];
  return CURVE_QUANTILES[i] + step * (rttMs - low) / (high - low);
}

/** Where nearly all replies are; long tails are cut, as they would leave no width to the rest. */
function shownRange(answer: RttApiAnswer): [number, number] {
  const q = (quantile: number) => quantileOf(answer, quantile);
  const spread = 4 * (q(0.75) - q(0.25));
  return [
    Math.max(q(0.01), Math.min(q(0.03), q(0.5) - spread)),
    Math.min(q(0.99), Math.max(q(0.97), q(0.5) + spread)),
  ];
}

/** Puts the replies of answers into bins of a round width. */
export function binsOf(answers: readonly RttApiAnswer[]): Bins {
  const ranges = answers.map(shownRange);
  const low = Math.min(...ranges.map(([first]) => first));
  const high = Math.max(...ranges.map(([, last]) => last));
  const least = Math.max((high - low) / MAX_BINS, high * LEAST_RELATIVE_WIDTH, 1e-3);
  const decade = 10 ** Math.floor(Math.log10(least));
  const widthMs = [1, 2, 5, 10].map((factor) => factor * decade).find((width) => width >= least) ?? least;
  // An RTT at an edge belongs to the bin that ends there.
  const first = Math.max(0, Math.ceil(low / widthMs) - 1);
  const numBins = Math.max(1, Math.ceil(high / widthMs) - first);
  const edgesMs = Array.from(
    { length: numBins + 1 },
    (_, i) => Number(((first + i) * widthMs).toPrecision(12)),
  );
  const shares = answers.map((answer) => {
    const cumulative = edgesMs.map((edge) => cumulativeAt(answer, edge));
    return cumulative.slice(1).map((value, i) => value - cumulative[i]);
  });
  return { widthMs, edgesMs, shares };
}

/** The chart. The last curve is filled; the others are drawn as dashes. */
export function Histogram({ curves }: { curves: readonly Curve[] }) {
  const bins = useMemo(() => binsOf(curves.map(({ answer }) => answer)), curves.map(({ answer }) => answer));
  const plan = useMemo(() => planOf(curves, bins), [bins]);
  const { answer, name } = curves[curves.length - 1];
  const outside = 1 - bins.shares[curves.length - 1].reduce((sum, share) => sum + share, 0);
  const names = curves.length > 1
    ? ` Filled: ${name}; dashed: ${curves.slice(0, -1).map((curve) => curve.name).join(", ")}.`
    : "";
  return (
    <figure>
      <figcaption>
        Share of the replies per {formatTick(bins.widthMs)}; dotted: the median.{names}
        {outside > 0.001 ? ` ${formatPercent(outside)} of the replies are outside this chart.` : ""}
      </figcaption>
      <Chart label={`Histogram of the RTT. ${summaryOf(answer)}`} heightPx={HEIGHT_PX} plan={plan} />
    </figure>
  );
}

function planOf(curves: readonly Curve[], { edgesMs, shares }: Bins): ChartPlan {
  const stepped = uPlot.paths.stepped?.({ align: 1 }) as uPlot.Series.PathBuilder;
  const last = curves.length - 1;
  const median = quantileOf(curves[last].answer, 0.5);
  const most = Math.max(...shares.flat());
  return {
    // A step reaches to the next edge, so the last edge ends the last bin.
    data: [edgesMs, ...shares.map((each) => [...each, 0])],
    readout: (index) => {
      const i = Math.min(index, edgesMs.length - 2);
      const texts = shares.map((each, k) => `${formatPercent(each[i])}${` ${curves[k].name}`.trimEnd()}`);
      return `${formatRange(edgesMs[i], edgesMs[i + 1])}: ${texts.join(", ")} of the replies`;
    },
    options: (colors) => ({
      scales: {
        x: { time: false, range: [edgesMs[0], edgesMs[edgesMs.length - 1]] },
        y: { range: [0, most * 1.1] },
      },
      ...PLAIN,
      series: [
        {},
        ...curves.map((_, i) => ({
          stroke: i === last ? colors.accent : colors.contrast,
          width: i === last ? 1 : 2,
          ...(i === last ? { fill: faded(colors.accent, 0.35) } : { dash: [6, 4] }),
          paths: stepped,
          points: { show: false },
        })),
      ],
      axes: [
        {
          ...axisStyle(colors, "below"),
          values: (_chart, splits) => splits.map(formatTick),
        },
        {
          ...axisStyle(colors, "left"),
          values: (_chart, splits) => splits.map((value) => `${Number((value * 100).toPrecision(3))} %`),
        },
      ],
      hooks: {
        draw: [(chart) => {
          const { ctx, bbox } = chart;
          const x = chart.valToPos(median, "x", true);
          if (x < bbox.left || x > bbox.left + bbox.width) return;
          ctx.save();
          ctx.strokeStyle = colors.ink;
          ctx.lineWidth = devicePixelRatio;
          ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
          ctx.beginPath();
          ctx.moveTo(x, bbox.top);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
          ctx.restore();
        }],
      },
    }),
  };
}

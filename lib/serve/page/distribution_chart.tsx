/** The distribution function of an RTT, with its 50 % and 90 % bands. @module */
import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import type { RttApiAnswer } from "../api/schemas.ts";
import { axisStyle, Chart, CHART_FONT, type ChartPlan, type Colors, faded, PLAIN } from "./chart.tsx";
import { formatMs, formatPercent, formatRange } from "./number_text.ts";

// Where the labels of a logarithmic axis stand.

/** How many decades are between labels where there is room for few. */
const STRIDES = [6, 4, 3, 2];
/** Steps of labels within a decade, from few to many. */
const STEPS = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]];

/**
 * Round numbers in a range, about evenly spread on a logarithmic axis.
 *
 * @param low The least, greater than 0.
 * @param high The greatest.
 * @param most How many labels there is room for.
 */
export function logTicks(low: number, high: number, most: number): number[] {
  const firstDecade = Math.floor(Math.log10(low));
  const lastDecade = Math.ceil(Math.log10(high));
  const decades = Array.from({ length: lastDecade - firstDecade + 1 }, (_, i) => firstDecade + i);
  const isInside = (value: number) => value >= low && value <= high;
  const sparse = STRIDES.map((stride) =>
    decades.filter((decade) => decade % stride === 0).map((decade) => Number(`1e${decade}`))
  );
  const dense = STEPS.map((steps) =>
    decades.flatMap((decade) => steps.map((step) => Number(`${step}e${decade}`)))
  );
  const choices = [...sparse, ...dense].map((ticks) => ticks.filter(isInside));
  const best = choices.filter(({ length }) => length <= most).at(-1) ?? [];
  // A range shorter than a decade is nearly linear.
  return best.length < Math.min(4, most) && high < 10 * low ? linearTicks(low, high, most) : best;
}

function linearTicks(low: number, high: number, most: number): number[] {
  const least = (high - low) / Math.max(1, most);
  const decade = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((factor) => factor * decade).find((value) => value >= least) ?? least;
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high; i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/** The quantiles of a curve: every half per cent, so that it is as fine where it is steep as where it is flat. */
export const CURVE_QUANTILES = Array.from({ length: 199 }, (_, i) => (i + 1) / 200);

/** A curve of the chart. */
export interface Curve {
  /** For its label beside it; empty if it is the only one. */
  name: string;
  answer: RttApiAnswer;
}

const HEIGHT_PX = 300;
/** The curve from here to as much below 1: what is beyond is rare, far away, and in the table. */
const SHOWN_FROM = 0.01;

/** The chart. The last curve is the one that bands and marks belong to; the others are drawn as dashes. */
export function DistributionChart({ curves }: { curves: readonly Curve[] }) {
  const plan = useMemo(() => planOf(curves), curves.map(({ answer }) => answer));
  const label = curves.map(({ name, answer }) => `${name === "" ? "" : `${name}: `}${summaryOf(answer)}`)
    .join(" ");
  return <Chart label={`Distribution function of the RTT. ${label}`} heightPx={HEIGHT_PX} plan={plan} />;
}

/** The distribution in a sentence. */
export function summaryOf(answer: RttApiAnswer): string {
  const q = (quantile: number) => quantileOf(answer, quantile);
  return `Median ${formatMs(q(0.5))}; half of the replies take ${formatRange(q(0.25), q(0.75))}, ` +
    `90 % of them ${formatRange(q(0.05), q(0.95))}.`;
}

/** A quantile that was asked for, ms. */
export function quantileOf(answer: RttApiAnswer, quantile: number): number {
  return answer.quantiles_ms[String(quantile)];
}

/** The curve as uPlot takes it: the logarithm of RTTs, and P(RTT <= it), equal RTTs once. */
function pointsOf(answer: RttApiAnswer): [number[], number[]] {
  const byRtt = new Map(
    CURVE_QUANTILES.filter((quantile) => quantile >= SHOWN_FROM && quantile <= 1 - SHOWN_FROM).map((
      quantile,
    ) => [Math.log10(Math.max(quantileOf(answer, quantile), 1e-3)), quantile]),
  );
  return [[...byRtt.keys()], [...byRtt.values()]];
}

function planOf(curves: readonly Curve[]): ChartPlan {
  const points = curves.map(({ answer }) => pointsOf(answer));
  const data = points.length === 1 ? points[0] as uPlot.AlignedData : uPlot.join(points);
  const xs = data[0] as number[];
  const main = curves[curves.length - 1].answer;
  return {
    data,
    readout: (index) => readoutOf(curves, 10 ** xs[index]),
    options: (colors) => ({
      scales: { x: { time: false, range: paddedRange(xs[0], xs[xs.length - 1]) }, y: { range: [0, 1.2] } },
      ...PLAIN,
      series: [
        {},
        ...curves.map((_, i) => ({
          stroke: i === curves.length - 1 ? colors.accent : colors.contrast,
          width: 2,
          ...(i === curves.length - 1 ? {} : { dash: [6, 4] }),
          spanGaps: true,
          points: { show: false },
        })),
      ],
      axes: [
        {
          ...axisStyle(colors, "below"),
          splits: (chart, _axis, low, high) =>
            logTicks(10 ** low, 10 ** high, Math.max(3, chart.width / 90)).map(Math.log10),
          values: (_chart, splits) => splits.map((log) => formatTick(10 ** log)),
        },
        {
          ...axisStyle(colors, "left"),
          splits: () => [0, 0.25, 0.5, 0.75, 1],
          values: (_chart, splits) => splits.map((value) => `${value * 100} %`),
        },
      ],
      hooks: {
        drawClear: [(chart) => drawBands(chart, main, colors)],
        draw: [(chart) => {
          drawMarks(chart, main, colors);
          if (curves.length > 1) drawNames(chart, curves, colors);
        }],
      },
    }),
  };
}

/** The probabilities of at most so many milliseconds. */
function readoutOf(curves: readonly Curve[], rttMs: number): string {
  const texts = curves.map(({ name, answer }) => {
    const quantile = CURVE_QUANTILES.findLast((q) => quantileOf(answer, q) <= rttMs * (1 + 1e-9)) ?? 0;
    return `${formatPercent(quantile)}${name === "" ? "" : ` ${name}`}`;
  });
  return `P(RTT ≤ ${formatMs(rttMs)}) = ${texts.join(", ")}`;
}

function paddedRange(low: number, high: number): [number, number] {
  const padding = Math.max(0.02, (high - low) * 0.04);
  return [low - padding, high + padding];
}

/** A round number without the zeros behind its point. */
export function formatTick(rttMs: number): string {
  return formatMs(rttMs).replace(/\.?0+ /, (zeros) => zeros.startsWith(".") ? " " : zeros);
}

/** Shades what 90 % and 50 % of the replies take, and says so above. */
function drawBands(chart: uPlot, answer: RttApiAnswer, colors: Colors): void {
  const { ctx, bbox } = chart;
  const pixel = devicePixelRatio;
  ctx.save();
  ctx.font = CHART_FONT.replace("12px", `${12 * pixel}px`);
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  for (const [low, high, opacity, row] of [[0.05, 0.95, 0.1, 0], [0.25, 0.75, 0.16, 1]]) {
    const [from, to] = [low, high].map((quantile) => positionOf(chart, quantileOf(answer, quantile)));
    ctx.fillStyle = faded(colors.accent, opacity);
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
    ctx.fillStyle = colors.ink;
    // A row for each name: the bands may lie close together, or begin at the same RTT.
    ctx.fillText(`${Math.round((high - low) * 100)} %`, from + 4 * pixel, bbox.top + (3 + 15 * row) * pixel);
  }
  ctx.restore();
}

/** Marks the median and the likeliest RTT. */
function drawMarks(chart: uPlot, answer: RttApiAnswer, colors: Colors): void {
  const { ctx, bbox } = chart;
  const pixel = devicePixelRatio;
  const bottom = bbox.top + bbox.height;
  ctx.save();
  ctx.strokeStyle = colors.ink;
  ctx.lineWidth = pixel;
  ctx.setLineDash([2 * pixel, 3 * pixel]);
  const median = positionOf(chart, quantileOf(answer, 0.5));
  const middle = chart.valToPos(0.5, "y", true);
  line(ctx, [[bbox.left, middle], [median, middle], [median, bottom]]);
  ctx.setLineDash([]);
  // A triangle on the axis: it is told apart by its shape.
  const likeliest = positionOf(chart, answer.likeliest.rtt_ms);
  ctx.fillStyle = colors.contrast;
  ctx.beginPath();
  ctx.moveTo(likeliest, bottom - 9 * pixel);
  ctx.lineTo(likeliest - 5 * pixel, bottom);
  ctx.lineTo(likeliest + 5 * pixel, bottom);
  ctx.fill();
  ctx.restore();
}

/** Names each curve where it is steepest, at the side away from the other. */
function drawNames(chart: uPlot, curves: readonly Curve[], colors: Colors): void {
  const { ctx, bbox } = chart;
  const pixel = devicePixelRatio;
  ctx.save();
  ctx.font = CHART_FONT.replace("12px", `600 ${12 * pixel}px`);
  const places = curves.map(({ name, answer }, i) => {
    const isLast = i === curves.length - 1;
    return {
      name,
      color: isLast ? colors.accent : colors.contrast,
      x: positionOf(chart, quantileOf(answer, 0.5)),
    };
  });
  places.sort((a, b) => a.x - b.x).forEach(({ name, color, x }, i) => {
    const isLeft = i === 0;
    const width = ctx.measureText(name).width + 6 * pixel;
    const start = isLeft
      ? Math.max(bbox.left + 2 * pixel, x - width)
      : Math.min(x + 6 * pixel, bbox.left + bbox.width - width);
    ctx.fillStyle = color;
    ctx.textAlign = "left";
    ctx.fillText(name, start, chart.valToPos(isLeft ? 0.66 : 0.38, "y", true));
  });
  ctx.restore();
}

function positionOf(chart: uPlot, rttMs: number): number {
  return chart.valToPos(Math.log10(Math.max(rttMs, 1e-3)), "x", true);
}

function line(ctx: CanvasRenderingContext2D, points: readonly (readonly [number, number])[]): void {
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(x, y);
  ctx.stroke();
}

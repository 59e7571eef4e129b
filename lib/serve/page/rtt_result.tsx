/** Shows the distribution of an RTT: figures, curve, quantiles. @module */
import uPlot from "uplot";
import type { AnswerOf, QuestionOf } from "../../query/questions/questions.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import { formatMs, formatRange, formatTime, percentText } from "../../base/text.ts";
import { formatPercent } from "./texts.ts";
import { CsvButton, CurlButton } from "./saved_files.tsx";
import { useMemo } from "preact/hooks";
import { Table } from "./table.tsx";
import { Basis } from "./basis.tsx";
import { Measured } from "./strip.tsx";
import { axisStyle, Chart, CHART_FONT, type ChartPlan, type Colors, faded, PLAIN } from "./chart.tsx";

const TABLE_QUANTILES = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99];

/** Adds what {@link RttResult} shows. */
export function wholeQuestion(question: QuestionOf<"rtt">): QuestionOf<"rtt"> {
  return { ...question, quantiles: CURVE_QUANTILES, measured: true };
}

/** Shows the last of several answers, compared with the earlier ones. */
export function RttResult(
  { curves, command = false }: { curves: readonly Curve[]; command?: (() => string) | false },
) {
  const { answer } = curves[curves.length - 1];
  return (
    <>
      <RttFigures answer={answer} />
      <Basis basis={answer.basis} />
      <div class="chart-beside">
        <Histogram curves={curves} />
        <QuantileTable curves={curves} />
        <figure>
          <figcaption>
            P(RTT ≤ x), given a reply. Shaded: 50 % and 90 % of the replies; dotted: the median;{" "}
            <span class="likeliest-mark" aria-hidden="true">▲</span> the likeliest RTT.
          </figcaption>
          <DistributionChart curves={curves} />
        </figure>
      </div>
      <div class="tools">
        <CsvButton
          name="rtt-quantiles"
          columns={["src", "dst", "time", "given", "quantile", "rtt_ms"]}
          rows={() =>
            curves.flatMap(({ name, answer: { src, dst, time, quantiles_ms } }) =>
              Object.entries(quantiles_ms).map(([quantile, rttMs]) =>
                [src, dst, time, name, Number(quantile), rttMs] as const
              )
            )}
        />
        <CurlButton command={command} />
      </div>
      {answer.measured && <Measured measured={answer.measured} />}
      <RttNotes answer={answer} />
    </>
  );
}

function RttFigures({ answer }: { answer: AnswerOf<"rtt"> }) {
  const { likeliest, p_failed, floor_ms, drawn } = answer;
  const q = (quantile: number) => quantileOf(answer, quantile);
  const errors = drawn?.standard_errors;
  return (
    <dl class={`figures ${answer.basis.kind}`}>
      <Figure
        name="Median"
        value={formatMs(q(0.5))}
        note={errors ? `± ${formatMs(errors.quantiles_ms["0.5"])}` : undefined}
      />
      <Figure name="50 % of replies" value={formatRange(q(0.25), q(0.75))} />
      <Figure
        name="90 % of replies"
        value={formatRange(q(0.05), q(0.95))}
        note={floor_ms === null ? undefined : `light needs ${formatMs(floor_ms)}`}
      />
      <Figure
        name="Likeliest"
        value={formatMs(likeliest.rtt_ms)}
        note={`${formatPercent(likeliest.probability)} within 1 %`}
      />
      <Figure
        name="No reply"
        value={formatPercent(p_failed)}
        note={errors ? `± ${formatPercent(errors.p_failed)}` : undefined}
      />
    </dl>
  );
}

export function Figure({ name, value, note }: { name: string; value: string; note?: string | undefined }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        {note === undefined ? null : <small>{note}</small>}
      </dd>
    </div>
  );
}

function QuantileTable({ curves }: { curves: readonly Curve[] }) {
  return (
    <Table
      class="numbers quantiles"
      caption="Quantiles of the RTT"
      columns={["Share of replies", ...curves.map(({ name }) => name || "RTT at most")]}
      rows={[
        ...TABLE_QUANTILES.map((quantile) => [
          `${Math.round(quantile * 100)} %`,
          ...curves.map(({ answer }) => formatMs(quantileOf(answer, quantile))),
        ]),
        ["No reply", ...curves.map(({ answer }) => formatPercent(answer.p_failed))],
      ]}
    />
  );
}

function RttNotes({ answer }: { answer: AnswerOf<"rtt"> }) {
  const { drawn, notes = [], time, context_measurements } = answer;
  const given = context_measurements === 1
    ? ", given 1 measurement"
    : `, given ${context_measurements} measurements`;
  return (
    <div class="notes">
      <p>
        {withName(answer.src, answer.src_name)} to {withName(answer.dst, answer.dst_name)}, {formatTime(time)}
        {context_measurements === 0 ? "" : given}.
        {drawn ? ` A mixture over ${drawn.num_distinct} address pairs drawn by the model.` : ""}
      </p>
      {notes.map((note) => <p key={note}>{note}</p>)}
    </div>
  );
}

const HISTOGRAM_HEIGHT_PX = 260;
const MAX_BINS = 60;
/** Minimum width of a bin relative to its RTT. Quantiles resolve no finer. */
const LEAST_RELATIVE_WIDTH = 0.001;

interface Bins {
  widthMs: number;
  /** One more edge than bins. */
  edgesMs: number[];
  /** For each answer, the share of its replies in each bin. */
  shares: number[][];
  /** The same of the measurements of the last answer's pair, if the model remembers any. */
  measured: number[] | undefined;
}

type Quantiles = Record<string, number>;

/** P(RTT <= x | a reply), linear between the quantiles; 0 and 1 outside them. */
function cumulativeAt(quantiles: Quantiles, rttMs: number): number {
  const rtts = CURVE_QUANTILES.map((quantile) => quantiles[quantile]);
  const i = rtts.findLastIndex((each) => each <= rttMs);
  if (i < 0) return 0;
  if (i === rtts.length - 1) return 1;
  const [low, high] = [rtts[i], rtts[i + 1]];
  const step = CURVE_QUANTILES[i + 1] - CURVE_QUANTILES[i];
  return CURVE_QUANTILES[i] + step * (rttMs - low) / (high - low);
}

/** The range of nearly all replies. Long tails are cut, because they would leave no width for the rest. */
function shownRange(answer: AnswerOf<"rtt">): [number, number] {
  const q = (quantile: number) => quantileOf(answer, quantile);
  const spread = 4 * (q(0.75) - q(0.25));
  return [
    Math.max(q(0.01), Math.min(q(0.03), q(0.5) - spread)),
    Math.min(q(0.99), Math.max(q(0.97), q(0.5) + spread)),
  ];
}

/** Puts replies into bins of a round width. Measured RTTs extend the range to at most twice its width. */
export function binsOf(answers: readonly AnswerOf<"rtt">[]): Bins {
  const ranges = answers.map(shownRange);
  const [least0, most0] = [
    Math.min(...ranges.map(([first]) => first)),
    Math.max(...ranges.map(([, last]) => last)),
  ];
  const room = (most0 - least0) / 2;
  const near = answers.flatMap(({ measured }) => Object.values(measured?.quantiles_ms ?? {})).filter((
    rttMs,
  ) => rttMs >= least0 - room && rttMs <= most0 + room);
  const [low, high] = [Math.min(least0, ...near), Math.max(most0, ...near)];
  const least = Math.max((high - low) / MAX_BINS, high * LEAST_RELATIVE_WIDTH, 1e-3);
  const widthMs = roundStep(least);
  // An RTT at an edge belongs to the bin that ends there.
  const first = Math.max(0, Math.ceil(low / widthMs) - 1);
  const numBins = Math.max(1, Math.ceil(high / widthMs) - first);
  const edgesMs = Array.from(
    { length: numBins + 1 },
    (_, i) => Number(((first + i) * widthMs).toPrecision(12)),
  );
  const sharesOf = (quantiles: Quantiles) => {
    const cumulative = edgesMs.map((edge) => cumulativeAt(quantiles, edge));
    return cumulative.slice(1).map((value, i) => value - cumulative[i]);
  };
  const ofMeasured = answers[answers.length - 1].measured?.quantiles_ms;
  return {
    widthMs,
    edgesMs,
    shares: answers.map(({ quantiles_ms }) => sharesOf(quantiles_ms)),
    measured: ofMeasured ? sharesOf(ofMeasured) : undefined,
  };
}

function sumOf(shares: readonly number[]): number {
  return shares.reduce((sum, share) => sum + share, 0);
}

/** Names the replies outside the chart. */
function outsideText(shares: readonly number[], replies: string): string {
  const outside = 1 - sumOf(shares);
  return outside > 0.001 ? ` ${formatPercent(outside)} of the ${replies} are outside this chart.` : "";
}

/** The last curve is filled; the others are dashed. */
function Histogram({ curves }: { curves: readonly Curve[] }) {
  const bins = useMemo(() => binsOf(curves.map(({ answer }) => answer)), curves.map(({ answer }) => answer));
  const plan = useMemo(() => histogramPlan(curves, bins), [bins]);
  const { answer, name } = curves[curves.length - 1];
  const names = curves.length > 1
    ? ` Filled: ${name}; dashed: ${curves.slice(0, -1).map((curve) => curve.name).join(", ")}.`
    : "";
  return (
    <figure>
      <figcaption>
        Share of the replies per {formatTick(bins.widthMs)}; dotted: the median.{names}
        {outsideText(bins.shares[curves.length - 1], "replies")}
        {bins.measured ? ` Bars: measured RTTs.${outsideText(bins.measured, "measured RTTs")}` : ""}
      </figcaption>
      <Chart
        label={`Histogram of the RTT. ${summaryOf(answer)}${measuredSummary(answer)}`}
        heightPx={HISTOGRAM_HEIGHT_PX}
        plan={plan}
      />
    </figure>
  );
}

function histogramPlan(curves: readonly Curve[], { edgesMs, shares, measured = [] }: Bins): ChartPlan {
  const stepped = uPlot.paths.stepped?.({ align: 1 }) as uPlot.Series.PathBuilder;
  const last = curves.length - 1;
  const median = quantileOf(curves[last].answer, 0.5);
  const most = Math.max(...shares.flat(), ...measured);
  const { answer } = curves[last];
  return {
    // A step extends to the next edge, so the last edge closes the last bin.
    data: [edgesMs, ...shares.map((each) => [...each, 0])],
    readout: (index) => {
      const i = Math.min(index, edgesMs.length - 2);
      const texts = shares.map((each, k) => `${formatPercent(each[i])}${` ${curves[k].name}`.trimEnd()}`);
      const ofMeasured = measured.length > 0 ? `, ${formatPercent(measured[i])} of the measured` : "";
      return `${formatRange(edgesMs[i], edgesMs[i + 1])}: ${texts.join(", ")} of the replies${ofMeasured}`;
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
          stroke: i === last ? colors[colorOf(answer.basis)] : colors.contrast,
          width: i === last ? 1 : 2,
          ...(i === last ? { fill: faded(colors[colorOf(answer.basis)], 0.35) } : { dash: [6, 4] }),
          paths: stepped,
          points: { show: false },
        })),
      ],
      axes: [
        { ...axisStyle(colors, "below"), values: (_chart, splits) => splits.map(formatTick) },
        {
          ...axisStyle(colors, "left"),
          values: (_chart, splits) => splits.map((value) => percentText(value)),
        },
      ],
      hooks: {
        drawClear: [(chart) => drawMeasured(chart, edgesMs, measured, colors)],
        draw: [(chart) => {
          const { ctx, bbox } = chart;
          const x = chart.valToPos(median, "x", true);
          if (x < bbox.left || x > bbox.left + bbox.width) return;
          ctx.save();
          dotted(ctx, [[x, bbox.top], [x, bbox.top + bbox.height]], colors);
          ctx.restore();
        }],
      },
    }),
  };
}

/** Guesses are drawn in a pale colour. */
export function colorOf({ kind }: Pick<AnswerOf<"rtt">["basis"], "kind">): keyof Colors {
  return kind === "guess" ? "faint" : "accent";
}

/** Draws the share of the measured RTTs in each bin as a bar narrower than the bin. */
function drawMeasured(
  chart: uPlot,
  edgesMs: readonly number[],
  shares: readonly number[],
  colors: Colors,
): void {
  const { ctx } = chart;
  ctx.save();
  ctx.fillStyle = faded(colors.contrast, 0.5);
  shares.forEach((share, i) => {
    const [left, right] = [edgesMs[i], edgesMs[i + 1]].map((edge) => chart.valToPos(edge, "x", true));
    const [top, bottom] = [share, 0].map((each) => chart.valToPos(each, "y", true));
    ctx.fillRect(left + (right - left) / 4, top, (right - left) / 2, bottom - top);
  });
  ctx.restore();
}

/** Decades between labels, from few to many labels. */
const STRIDES = [6, 4, 3, 2];
/** Labels within a decade, from few to many. */
const STEPS = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]];

/**
 * Round numbers in a range, about evenly spaced on a logarithmic axis.
 *
 * @param most Maximum number of labels.
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
  const step = roundStep((high - low) / Math.max(1, most));
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high; i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/** The smallest round number that is at least `least`. */
function roundStep(least: number): number {
  const decade = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * decade).find((step) => step >= least) ?? least;
}

/** Every half percent, so that curves are equally fine where they are steep and where they are flat. */
export const CURVE_QUANTILES = Array.from({ length: 199 }, (_, i) => (i + 1) / 200);

interface Curve {
  /** Label of the curve; empty if there is only one. */
  name: string;
  answer: AnswerOf<"rtt">;
}

const CURVE_HEIGHT_PX = 300;
/** Curves are cut at this quantile and at 1 minus it: the rest is rare, far away, and in the table. */
const SHOWN_FROM = 0.01;

/** Bands and marks belong to the last curve; the others are dashed. */
function DistributionChart({ curves }: { curves: readonly Curve[] }) {
  const plan = useMemo(() => curvePlan(curves), curves.map(({ answer }) => answer));
  const label = curves.map(({ name, answer }) => `${name === "" ? "" : `${name}: `}${summaryOf(answer)}`)
    .join(" ");
  return (
    <Chart
      label={`Distribution function of the RTT. ${label}`}
      heightPx={CURVE_HEIGHT_PX}
      plan={plan}
    />
  );
}

export function summaryOf(answer: AnswerOf<"rtt">): string {
  const q = (quantile: number) => quantileOf(answer, quantile);
  return `Median ${formatMs(q(0.5))}; half of the replies take ${formatRange(q(0.25), q(0.75))}, ` +
    `90 % of them ${formatRange(q(0.05), q(0.95))}.`;
}

function measuredSummary({ measured }: AnswerOf<"rtt">): string {
  if (!measured?.quantiles_ms) return "";
  const [low, median, high] = [0.05, 0.5, 0.95].map((quantile) => measured.quantiles_ms?.[quantile] ?? NaN);
  return ` Measured: median ${formatMs(median)}, 90 % ${formatRange(low, high)}.`;
}

export function quantileOf(answer: AnswerOf<"rtt">, quantile: number): number {
  return answer.quantiles_ms[String(quantile)];
}

/** The points of a curve: the logarithm of each RTT, and P(RTT <= it). */
function pointsOf(answer: AnswerOf<"rtt">): [number[], number[]] {
  const byRtt = new Map(
    CURVE_QUANTILES.filter((quantile) => quantile >= SHOWN_FROM && quantile <= 1 - SHOWN_FROM).map((
      quantile,
    ) => [Math.log10(Math.max(quantileOf(answer, quantile), 1e-3)), quantile]),
  );
  return [[...byRtt.keys()], [...byRtt.values()]];
}

function curvePlan(curves: readonly Curve[]): ChartPlan {
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
          stroke: i === curves.length - 1 ? colors[colorOf(main.basis)] : colors.contrast,
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

/** P(RTT <= x) according to each curve. */
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

/** Formats an RTT without trailing zeros after the decimal point. */
function formatTick(rttMs: number): string {
  return formatMs(rttMs).replace(/\.?0+ /, (zeros) => zeros.startsWith(".") ? " " : zeros);
}

/** Shades and labels the ranges of 90 % and 50 % of the replies. */
function drawBands(chart: uPlot, answer: AnswerOf<"rtt">, colors: Colors): void {
  const { ctx, bbox } = chart;
  const pixel = devicePixelRatio;
  ctx.save();
  ctx.font = CHART_FONT.replace("12px", `${12 * pixel}px`);
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  for (const [low, high, opacity, row] of [[0.05, 0.95, 0.1, 0], [0.25, 0.75, 0.16, 1]]) {
    const [from, to] = [low, high].map((quantile) => positionOf(chart, quantileOf(answer, quantile)));
    ctx.fillStyle = faded(colors[colorOf(answer.basis)], opacity);
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
    ctx.fillStyle = colors.ink;
    // Each label has its own row, because bands may lie close together or begin at the same RTT.
    ctx.fillText(`${Math.round((high - low) * 100)} %`, from + 4 * pixel, bbox.top + (3 + 15 * row) * pixel);
  }
  ctx.restore();
}

/** Marks the median and the likeliest RTT. */
function drawMarks(chart: uPlot, answer: AnswerOf<"rtt">, colors: Colors): void {
  const { ctx, bbox } = chart;
  const pixel = devicePixelRatio;
  const bottom = bbox.top + bbox.height;
  ctx.save();
  const median = positionOf(chart, quantileOf(answer, 0.5));
  const middle = chart.valToPos(0.5, "y", true);
  dotted(ctx, [[bbox.left, middle], [median, middle], [median, bottom]], colors);
  // A triangle on the axis, distinguished by its shape.
  const likeliest = positionOf(chart, answer.likeliest.rtt_ms);
  ctx.fillStyle = colors.contrast;
  ctx.beginPath();
  ctx.moveTo(likeliest, bottom - 9 * pixel);
  ctx.lineTo(likeliest - 5 * pixel, bottom);
  ctx.lineTo(likeliest + 5 * pixel, bottom);
  ctx.fill();
  ctx.restore();
}

/** Labels each curve at its steepest point, on the side away from the other. */
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

/** Draws a dotted line. The caller restores the canvas state. */
function dotted(
  ctx: CanvasRenderingContext2D,
  points: readonly (readonly [number, number])[],
  colors: Colors,
): void {
  ctx.strokeStyle = colors.ink;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(x, y);
  ctx.stroke();
}

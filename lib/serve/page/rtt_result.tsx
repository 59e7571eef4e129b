/** The distribution of an RTT: its figures, its curve, its quantiles. @module */
import uPlot from "uplot";
import type { RttApiAnswer, RttApiQuestion } from "../api/schemas.ts";
import {
  type Curve,
  CURVE_QUANTILES,
  DistributionChart,
  formatTick,
  quantileOf,
  summaryOf,
} from "./distribution_chart.tsx";
import { withName } from "../../data/addresses/ip_prefix.ts";
import { formatMs, formatPercent, formatRange } from "./number_text.ts";
import { formatTime } from "./question_time.ts";
import { CsvButton, CurlButton } from "./saved_files.tsx";
import { useMemo } from "preact/hooks";
import { axisStyle, Chart, type ChartPlan, faded, PLAIN } from "./chart.tsx";

/** The quantiles of the table. */
const TABLE_QUANTILES = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99];

/** A question for all that this part of the page shows. */
export function wholeQuestion(question: RttApiQuestion): RttApiQuestion {
  return { ...question, quantiles: CURVE_QUANTILES };
}

/**
 * Shows answers; the last one is what it is about, those before it are there to be compared with.
 *
 * @param command The question as a command of curl, where a server answers it.
 */
export function RttResult(
  { curves, command }: { curves: readonly Curve[]; command?: (() => string) | undefined },
) {
  const { answer } = curves[curves.length - 1];
  return (
    <>
      <RttFigures answer={answer} />
      <p class="basis">{answer.basis.text}</p>
      <div class="chart-beside">
        <Histogram curves={curves} />
        <QuantileTable curves={curves} />
        <figure>
          <figcaption>
            P(RTT ≤ x), if a reply comes. Shaded: what 50 % and 90 % of the replies take; dotted: the median;
            {" "}
            <span class="likeliest-mark" aria-hidden="true">▲</span> the likeliest RTT.
          </figcaption>
          <DistributionChart curves={curves} />
        </figure>
      </div>
      <div class="tools">
        <CsvButton
          name="rtt-quantiles"
          columns={["src_addr", "dst_addr", "timestamp", "given", "quantile", "rtt_ms"]}
          rows={() =>
            curves.flatMap(({ name, answer: { src_addr, dst_addr, timestamp, quantiles_ms } }) =>
              Object.entries(quantiles_ms).map(([quantile, rttMs]) =>
                [src_addr, dst_addr, timestamp, name, Number(quantile), rttMs] as const
              )
            )}
        />
        {command ? <CurlButton command={command} /> : null}
      </div>
      <RttNotes answer={answer} />
    </>
  );
}

function RttFigures({ answer }: { answer: RttApiAnswer }) {
  const { likeliest, p_failed, drawn } = answer;
  const q = (quantile: number) => quantileOf(answer, quantile);
  const errors = drawn?.standard_errors;
  return (
    <dl class="figures">
      <Figure
        name="Median"
        value={formatMs(q(0.5))}
        note={errors ? `± ${formatMs(errors.quantiles_ms["0.5"])}` : undefined}
      />
      <Figure name="50 % of replies" value={formatRange(q(0.25), q(0.75))} />
      <Figure name="90 % of replies" value={formatRange(q(0.05), q(0.95))} />
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

function Figure({ name, value, note }: { name: string; value: string; note?: string | undefined }) {
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
    <table class="numbers quantiles">
      <caption>Quantiles of the RTT</caption>
      <thead>
        <tr>
          <th scope="col">Share of replies</th>
          {curves.map(({ name }) => <th scope="col" key={name}>{name || "RTT at most"}</th>)}
        </tr>
      </thead>
      <tbody>
        {TABLE_QUANTILES.map((quantile) => (
          <tr key={quantile}>
            <th scope="row">{Math.round(quantile * 100)} %</th>
            {curves.map(({ name, answer }) => <td key={name}>{formatMs(quantileOf(answer, quantile))}</td>)}
          </tr>
        ))}
        <tr>
          <th scope="row">No reply</th>
          {curves.map(({ name, answer }) => <td key={name}>{formatPercent(answer.p_failed)}</td>)}
        </tr>
      </tbody>
    </table>
  );
}

/** A note on the mean: the page shows none. */
const IS_ABOUT_MEAN = /^\d+ % of the mean /;

function RttNotes({ answer }: { answer: RttApiAnswer }) {
  const { drawn, notes = [], timestamp, context_measurements } = answer;
  const given = context_measurements === 1
    ? ", given 1 measurement"
    : `, given ${context_measurements} measurements`;
  return (
    <div class="notes">
      <p>
        {withName(answer.src_addr, answer.src_name)} to {withName(answer.dst_addr, answer.dst_name)},{" "}
        {formatTime(timestamp)}
        {context_measurements === 0 ? "" : given}.
        {drawn ? ` A mixture over ${drawn.num_distinct} pairs of addresses that the model drew.` : ""}
      </p>
      {notes.filter((note) => !IS_ABOUT_MEAN.test(note)).map((note) => <p key={note}>{note}</p>)}
    </div>
  );
}

// The probability density of an RTT: the share of replies in each bin of so many milliseconds.

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

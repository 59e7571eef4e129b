/** RTTs and losses along time, as a chart and as a table. @module */
import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import { formatRange, formatTime, isoTime } from "../../base/text.ts";
import { formatAge } from "../../data/addresses/measured_text.ts";
import type { AnswerOf } from "../../query/questions/questions.ts";
import { axisStyle, Chart, type ChartPlan, type Colors, faded, PLAIN } from "./chart.tsx";
import { ScrolledTable } from "./table.tsx";
import { formatPercent } from "./texts.ts";

const QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95];
export const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const HEIGHT_PX = 200;
/** Distances between labels of a long axis. */
const DAYS = [1, 2, 7, 14, 28, 91, 182, 364, 1820, 3640];
/** A longer pause interrupts the line; in distances between rows. */
const LONGEST_PAUSE = 3;

/** `quantiles_ms`: null without a reply. */
type Summary = Pick<AnswerOf<"rtt">, "p_failed"> & { quantiles_ms: Record<string, number> | null };

export interface StripRow extends Summary {
  /** Place on the axis, Unix seconds. */
  readonly timeS: number;
  readonly label: string;
  readonly measurements?: number;
}

function quantile({ quantiles_ms }: Summary, q: number): number | null {
  return quantiles_ms?.[String(q)] ?? null;
}

function rangeText(row: Summary, low: number, high: number): string {
  const ends = [quantile(row, low), quantile(row, high)];
  return ends[0] === null || ends[1] === null ? "–" : formatRange(ends[0], ends[1]);
}

/** A chart is shown if a quantile differs by at least this share, or P(no reply) by at least this amount. */
const LEAST_RTT_CHANGE = 0.05;
const LEAST_FAILED_CHANGE = 0.02;

/** How much rows differ. `isMuch`: whether they differ enough for a chart. */
export function rangeOf(rows: readonly Summary[]) {
  const range = (values: number[]) => [Math.min(...values), Math.max(...values)] as const;
  const rttsMs = [0.5, 0.05, 0.95].map((q) => range(rows.flatMap((row) => quantile(row, q) ?? [])));
  const [leastFailed, mostFailed] = range(rows.map(({ p_failed }) => p_failed));
  const isMuch = rttsMs.some(([low, high]) => high >= low * (1 + LEAST_RTT_CHANGE)) ||
    mostFailed - leastFailed >= LEAST_FAILED_CHANGE;
  const failed = [...new Set([leastFailed, mostFailed].map(formatPercent))].join(" to ");
  return { text: `median ${formatRange(...rttsMs[0])}, no reply ${failed}`, isMuch };
}

/**
 * @param title The caption of the chart.
 * @param even What is said instead of the chart if the rows differ little; without it the chart is shown.
 * @param rows Ascending, at least one with a reply.
 * @param stepS Distance between rows without a pause.
 */
export function Strip({ name, title, even, rows, color, stepS }: {
  name: string;
  title: string;
  even?: string;
  rows: readonly StripRow[];
  color: keyof Colors;
  stepS: number;
}) {
  const plan = useMemo(() => planOf(rows, color, stepS), [rows, color, stepS]);
  const { text, isMuch } = rangeOf(rows);
  const isCounted = rows[0].measurements !== undefined;
  return (
    <>
      {even === undefined || isMuch
        ? (
          <figure>
            <figcaption>
              {title}{" "}
              Line: the median; bands: 50 % and 90 % of the replies; bars from below: the share without a
              reply.
            </figcaption>
            <Chart label={`${title} ${text}.`} heightPx={HEIGHT_PX} plan={plan} />
          </figure>
        )
        : (
          <p>
            {even}{" "}
            {text}. A chart is shown if the median or the 5 or 95 % quantile differs by 5 %, or no reply by 2
            percentage points.
          </p>
        )}
      <details>
        <summary>{name} as a table</summary>
        <ScrolledTable
          name={name}
          class="numbers"
          columns={[
            ...["Time", "Median", "50 % of replies", "90 % of replies", "No reply"],
            ...isCounted ? ["Measurements"] : [],
          ]}
          rows={rows.map((row) => [
            row.label,
            rangeText(row, 0.5, 0.5),
            rangeText(row, 0.25, 0.75),
            rangeText(row, 0.05, 0.95),
            formatPercent(row.p_failed),
            ...isCounted ? [row.measurements?.toLocaleString("en")] : [],
          ])}
        />
      </details>
    </>
  );
}

function planOf(rows: readonly StripRow[], color: keyof Colors, stepS: number): ChartPlan {
  const shown = rows.flatMap((row, i) => {
    const pauseS = i === 0 ? 0 : row.timeS - rows[i - 1].timeS;
    const pause = { timeS: row.timeS - pauseS / 2, label: "", p_failed: 0, quantiles_ms: null };
    return pauseS > LONGEST_PAUSE * stepS ? [pause, row] : [row];
  });
  const isLong = rows[rows.length - 1].timeS - rows[0].timeS > 2 * DAY_S;
  return {
    data: [shown.map(({ timeS }) => timeS), ...QUANTILES.map((q) => shown.map((row) => quantile(row, q)))],
    readout: (index) => {
      const row = shown[index];
      if (row.label === "") return "";
      return `${row.label}: ${rangeText(row, 0.5, 0.5)}, 90 % in ${rangeText(row, 0.05, 0.95)}, no reply ${
        formatPercent(row.p_failed)
      }`;
    },
    options: (colors) => ({
      tzDate: (timeS) => uPlot.tzDate(new Date(timeS * 1000), "Etc/UTC"),
      scales: {
        y: {
          range: (_chart, low, high) => {
            const room = Math.max((high - low) * 0.15, high * 0.01);
            return [Math.max(0, low - room), high + room];
          },
        },
      },
      ...PLAIN,
      series: [
        {},
        ...QUANTILES.map((quantile) => ({
          stroke: colors[color],
          width: quantile === 0.5 ? 2 : 0,
          // A median beside pauses has no line.
          points: quantile === 0.5 ? {} : { show: false },
        })),
      ],
      bands: [
        { series: [5, 1], fill: faded(colors[color], 0.12) },
        { series: [4, 2], fill: faded(colors[color], 0.2) },
      ],
      axes: [
        {
          ...axisStyle(colors, "below"),
          ...isLong && { incrs: DAYS.map((days) => days * DAY_S) },
          values: (_chart, splits) =>
            splits.map((timeS) => isoTime(timeS).slice(...isLong ? [5, 10] : [11, 16])),
        },
        axisStyle(colors, "left"),
      ],
      hooks: { drawClear: [(chart) => drawLosses(chart, shown, colors)] },
    }),
  };
}

/** Draws the share without a reply of each row as a bar; all would reach the top. */
function drawLosses(chart: uPlot, rows: readonly StripRow[], colors: Colors): void {
  const { ctx, bbox } = chart;
  const width = 3 * devicePixelRatio;
  ctx.save();
  ctx.fillStyle = faded(colors.ink, 0.55);
  for (const { timeS, p_failed } of rows) {
    const height = Math.round(p_failed * bbox.height);
    const x = chart.valToPos(timeS, "x", true);
    ctx.fillRect(x - width / 2, bbox.top + bbox.height - height, width, height);
  }
  ctx.restore();
}

type MeasuredJson = NonNullable<AnswerOf<"rtt">["measured"]>;

/** Everything that the model remembers of a pair: by time, and by hour of the day where the data have hours. */
export function Measured({ measured }: { measured: MeasuredJson }) {
  const { measurements, without_reply, from, to, bin_s, by_time, by_hour } = measured;
  const [times, hours] = useMemo(() => [
    by_time.map((each) =>
      rowOf(each, formatTime(Date.parse(each.time) / 1000), Date.parse(each.time) / 1000 + bin_s / 2)
    ),
    by_hour?.map((each) =>
      rowOf(each, `${String(each.hour).padStart(2, "0")}:00 UTC`, (each.hour + 0.5) * HOUR_S)
    ),
  ], [measured]);
  const lost = without_reply === 0
    ? "all with a reply"
    : `${without_reply.toLocaleString("en")} without a reply`;
  const days = [from, to].map((time) => time.slice(0, 10));
  const shared = { color: "contrast" } as const;
  return (
    <>
      <p>
        The model remembers {measurements.toLocaleString("en")}{" "}
        {measurements === 1 ? "measurement" : "measurements"} of the pair, {lost}, from {days[0]} to{" "}
        {days[1]}.
      </p>
      {times.length > 1 && without_reply < measurements && (
        <Strip
          {...shared}
          name="What was measured"
          title={`Measured RTTs in ms, ${days[0]} to ${days[1]}, each point over ${formatAge(bin_s)}.`}
          rows={times}
          stepS={bin_s}
        />
      )}
      {hours && without_reply < measurements && (
        <Strip
          {...shared}
          name="Measured hours of the day"
          title="Measured RTTs in ms by hour of the day (UTC)."
          even="Measured RTTs differ little by hour of the day:"
          rows={hours}
          stepS={DAY_S}
        />
      )}
    </>
  );
}

function rowOf(
  { measurements, without_reply, quantiles_ms }: Omit<MeasuredJson["by_time"][number], "time">,
  label: string,
  timeS: number,
): StripRow {
  return { timeS, label, quantiles_ms, measurements, p_failed: without_reply / measurements };
}

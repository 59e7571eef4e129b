/** The RTT of the hours to come: median and bands, hour by hour. @module */
import uPlot from "uplot";
import { useMemo } from "preact/hooks";
import type { PingApi } from "../api/ping_api.ts";
import type { LineError, RttApiAnswer, RttApiQuestion } from "../api/schemas.ts";
import { AnswerState, useAnswer } from "./answer_state.tsx";
import { axisStyle, Chart, type ChartPlan, faded, PLAIN } from "./chart.tsx";
import { quantileOf } from "./distribution_chart.tsx";
import { NumberTable } from "./number_table.tsx";
import { formatMs, formatPercent, formatRange } from "./number_text.ts";
import { formatTime } from "./question_time.ts";

const NUM_HOURS = 24;
const HOUR_S = 3600;
const QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95];
const HEIGHT_PX = 200;

interface Hour {
  timeS: number;
  answer: RttApiAnswer;
}

/**
 * Asks for the 24 hours that follow, and shows them.
 *
 * @param question The question of the first hour; null asks nothing.
 * @param startS Its time, Unix seconds.
 */
export function HoursStrip(
  { api, question, startS }: { api: PingApi; question: RttApiQuestion | null; startS: number },
) {
  const answer = useAnswer(question && JSON.stringify(["hours", question, startS]), async (signal) => {
    const times = Array.from({ length: NUM_HOURS + 1 }, (_, i) => startS + i * HOUR_S);
    const questions = times.map((timestamp) =>
      ({ ...question, timestamp, quantiles: QUANTILES }) as RttApiQuestion
    );
    const answers = await api.rttBatch(questions, signal);
    return answers.map((answer, i) => ({ timeS: times[i], answer: answered(answer) }));
  });
  return (
    <section aria-labelledby="hours">
      <h2 id="hours">The next 24 hours</h2>
      <AnswerState answer={answer} doing="Asking for 25 hours">
        {(hours) => <Strip hours={hours} />}
      </AnswerState>
    </section>
  );
}

function answered(answer: RttApiAnswer | LineError): RttApiAnswer {
  if ("error" in answer) throw new Error(answer.error);
  return answer;
}

/** The least relative difference of medians, and difference of P(no reply), that the chart is shown for. */
const LEAST_MEDIAN_CHANGE = 0.05;
const LEAST_FAILED_CHANGE = 0.02;

/**
 * How much the hours differ.
 *
 * @returns The least and the greatest median (ms) and P(no reply); `isMuch`: the greatest median is at least 5 % above
 * the least, or P(no reply) differs by 2 percentage points.
 */
export function rangeOfHours(answers: readonly RttApiAnswer[]) {
  const medians = answers.map((answer) => quantileOf(answer, 0.5));
  const failed = answers.map(({ p_failed }) => p_failed);
  const [lowMs, highMs] = [Math.min(...medians), Math.max(...medians)];
  const [leastFailed, mostFailed] = [Math.min(...failed), Math.max(...failed)];
  const isMuch = highMs >= lowMs * (1 + LEAST_MEDIAN_CHANGE) ||
    mostFailed - leastFailed >= LEAST_FAILED_CHANGE;
  return { lowMs, highMs, leastFailed, mostFailed, isMuch };
}

function Strip({ hours }: { hours: readonly Hour[] }) {
  const plan = useMemo(() => planOf(hours), [hours]);
  const { lowMs, highMs, leastFailed, mostFailed, isMuch } = rangeOfHours(hours.map(({ answer }) => answer));
  const label = `Median and bands from ${formatTime(hours[0].timeS)}: the medians lie between ` +
    `${formatMs(lowMs)} and ${formatMs(highMs)}.`;
  return (
    <>
      {isMuch
        ? (
          <figure>
            <figcaption>
              RTT in ms by hour (UTC): line, the median; bands, what 50 % and 90 % of the replies take.
            </figcaption>
            <Chart label={label} heightPx={HEIGHT_PX} plan={plan} />
          </figure>
        )
        : (
          <p>
            The hour makes little difference: median {formatRange(lowMs, highMs)}, no reply{" "}
            {formatPercent(leastFailed)} to{" "}
            {formatPercent(mostFailed)}. A chart is shown where medians differ by 5 % or no reply by 2
            percentage points.
          </p>
        )}
      <details>
        <summary>These hours as a table</summary>
        <NumberTable
          name="Hours"
          columns={["Time", "Median", "50 % of replies", "90 % of replies", "No reply"]}
          rows={hours.map(({ timeS, answer }) => [
            formatTime(timeS),
            formatMs(quantileOf(answer, 0.5)),
            formatRange(quantileOf(answer, 0.25), quantileOf(answer, 0.75)),
            formatRange(quantileOf(answer, 0.05), quantileOf(answer, 0.95)),
            formatPercent(answer.p_failed),
          ])}
        />
      </details>
    </>
  );
}

function planOf(hours: readonly Hour[]): ChartPlan {
  const rows = QUANTILES.map((quantile) => hours.map(({ answer }) => quantileOf(answer, quantile)));
  return {
    data: [hours.map(({ timeS }) => timeS), ...rows],
    readout: (index) => {
      const [low, , median, , high] = rows.map((row) => row[index]);
      return `${formatTime(hours[index].timeS)}: ${formatMs(median)}, 90 % in ${formatRange(low, high)}`;
    },
    options: (colors) => ({
      tzDate: (timeS) => uPlot.tzDate(new Date(timeS * 1000), "Etc/UTC"),
      scales: {
        y: { range: (_chart, low, high) => [low - (high - low) * 0.15, high + (high - low) * 0.15] },
      },
      ...PLAIN,
      series: [
        {},
        ...QUANTILES.map((quantile) => ({
          stroke: colors.accent,
          width: quantile === 0.5 ? 2 : 0,
          points: { show: false },
        })),
      ],
      bands: [
        { series: [5, 1], fill: faded(colors.accent, 0.12) },
        { series: [4, 2], fill: faded(colors.accent, 0.2) },
      ],
      axes: [
        { ...axisStyle(colors, "below"), values: (_chart, splits) => splits.map(formatHour) },
        axisStyle(colors, "left"),
      ],
    }),
  };
}

function formatHour(timeS: number): string {
  return new Date(timeS * 1000).toISOString().slice(11, 16);
}

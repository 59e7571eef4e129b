/** Each pasted ping with its p-value. @module */
import uPlot from "uplot";
import { useMemo } from "preact/hooks";
import { axisStyle, Chart, type ChartPlan, PLAIN } from "./chart.tsx";
import { formatMs, formatPValue, formatRange } from "./number_text.ts";
import { formatSecond } from "./question_time.ts";
import type { LineError, RttApiAnswer, ScoreApiAnswer } from "../api/schemas.ts";
import { quantileOf } from "./distribution_chart.tsx";
import type { PastedPing } from "./paste.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import { CsvButton } from "./saved_files.tsx";

// How surprising one of many p-values is.

/** Below it, a value is unusual. */
const UNUSUAL = 0.01;
/** Unusual pings that are named in the sentence. */
const NUM_NAMED = 3;

/** `surprising`: also among so many values; `unusual`: taken by itself. */
export type Surprise = "surprising" | "unusual" | "usual";

/** A ping with what the model says of it. */
export interface JudgedPing {
  ping: PastedPing;
  /** The names of its ends. */
  names?: Pick<ScoreApiAnswer, "src_name" | "dst_name">;
  /** Undefined where it could not be scored. */
  pValue: number | undefined;
  judgement: Surprise;
  /** Where 90 % of the replies were expected, given the pings before; of unusual ones only. */
  expected?: { lowMs: number; highMs: number };
}

/**
 * Judges p-values together: among n values that the model has right, n/100 lie below 0.01, so only those below
 * 0.01/n (Bonferroni) are called surprising.
 */
export function judge(pValues: readonly number[]): Surprise[] {
  const limit = UNUSUAL / Math.max(1, pValues.length);
  return pValues.map((p) => p < limit ? "surprising" : p < UNUSUAL ? "unusual" : "usual");
}

/** A ping in words: `line 8, 298 ms, expected 131–135 ms`. */
function describeOdd({ ping, expected }: JudgedPing): string {
  const found = ping.rtt === null ? "no reply" : formatMs(ping.rtt);
  const range = expected ? `, expected ${formatRange(expected.lowMs, expected.highMs)}` : "";
  return `line ${ping.line}, ${found}${range}`;
}

/** The judgements in one sentence: `1 of 12 is unusual: line 8, 298 ms, expected 131–135 ms.` */
export function sumUp(rows: readonly JudgedPing[]): string {
  const judged = rows.filter(({ pValue }) => pValue !== undefined);
  const n = judged.length;
  if (n === 0) return "No ping could be scored.";
  const odd = judged.filter(({ judgement }) => judgement !== "usual")
    .sort((a, b) => (a.pValue ?? 1) - (b.pValue ?? 1));
  if (odd.length === 0) return n === 1 ? "The ping is not unusual." : `None of ${n} is unusual.`;
  const named = odd.slice(0, NUM_NAMED).map(describeOdd).join("; ");
  const more = odd.length > NUM_NAMED ? `; and ${odd.length - NUM_NAMED} more` : "";
  const chance = Number((n * UNUSUAL).toPrecision(2));
  return `${odd.length} of ${n} ${odd.length === 1 ? "is" : "are"} unusual: ${named}${more}. ` +
    `Chance alone gives about ${chance}.`;
}

// Pings over time: the odd ones by another shape and colour, with the range that was expected of them.

const HEIGHT_PX = 220;

/** See the module. Pings without a time are drawn by their place in the text. */
function PingsChart({ rows }: { rows: readonly JudgedPing[] }) {
  const plan = useMemo(() => planOf(rows), [rows]);
  const numOdd = rows.filter(({ judgement }) => judgement !== "usual").length;
  return (
    <figure>
      <figcaption>
        RTT in ms {hasTimes(rows) ? "over time (UTC)" : "by line"}: ● usual, <span class="odd-mark">▲</span>
        {" "}
        unusual, with a line where 90 % of the replies were expected; ✕ no reply, at the bottom.
      </figcaption>
      <Chart
        label={`Pings over time. ${rows.length} pings, ${numOdd} of them unusual.`}
        heightPx={HEIGHT_PX}
        plan={plan}
      />
    </figure>
  );
}

function hasTimes(rows: readonly JudgedPing[]): boolean {
  return rows.every(({ ping }) => ping.timestamp !== null);
}

/** A place on the axis: a line, or the time, with seconds in spans below ten minutes, as a date beyond two days. */
function labelOf(x: number, isTimed: boolean, spanS: number): string {
  if (!isTimed) return Number.isInteger(x) ? String(x) : "";
  const text = new Date(x * 1000).toISOString();
  return spanS > 2 * 86_400 ? text.slice(5, 10) : text.slice(11, spanS < 600 ? 19 : 16);
}

function planOf(rows: readonly JudgedPing[]): ChartPlan {
  const isTimed = hasTimes(rows);
  const xs = rows.map(({ ping }) => isTimed ? ping.timestamp as number : ping.line);
  const rtts = rows.map(({ ping }) => ping.rtt);
  const shown = [
    ...rtts.filter((rtt) => rtt !== null),
    ...rows.flatMap(({ expected }) => expected ? [expected.lowMs, expected.highMs] : []),
  ];
  const [low, high] = shown.length > 0 ? [Math.min(...shown), Math.max(...shown)] : [0, 1];
  const padding = Math.max((high - low) * 0.12, high * 0.02, 0.1);
  const [first, last] = [Math.min(...xs), Math.max(...xs)];
  const side = Math.max((last - first) * 0.03, 1);
  return {
    data: [xs, rtts],
    readout: (index) => {
      const { ping } = rows[index];
      const said = describeOdd(rows[index]);
      return isTimed ? `${formatSecond(ping.timestamp)}: ${said}` : said;
    },
    options: (colors) => ({
      tzDate: (timeS) => uPlot.tzDate(new Date(timeS * 1000), "Etc/UTC"),
      scales: {
        x: { time: isTimed, range: [first - side, last + side] },
        y: { range: [Math.max(0, low - padding), high + padding] },
      },
      ...PLAIN,
      series: [{}, { stroke: colors.accent, width: 0, points: { show: false } }],
      axes: [{
        ...axisStyle(colors, "below"),
        values: (_chart, splits) => splits.map((x) => labelOf(x, isTimed, last - first)),
      }, {
        ...axisStyle(colors, "left"),
        size: 64,
        values: (_chart, splits) => splits.map((value) => formatMs(value)),
      }],
      hooks: {
        draw: [(chart) => {
          const { ctx, bbox } = chart;
          const pixel = devicePixelRatio;
          ctx.save();
          rows.forEach(({ ping: { rtt }, judgement, expected }, i) => {
            const isOdd = judgement !== "usual";
            const x = chart.valToPos(xs[i], "x", true);
            const y = rtt === null ? bbox.top + bbox.height - 7 * pixel : chart.valToPos(rtt, "y", true);
            ctx.strokeStyle = ctx.fillStyle = isOdd ? colors.contrast : colors.accent;
            ctx.lineWidth = 2 * pixel;
            ctx.beginPath();
            if (isOdd && expected) {
              ctx.moveTo(x, chart.valToPos(expected.lowMs, "y", true));
              ctx.lineTo(x, chart.valToPos(expected.highMs, "y", true));
              ctx.stroke();
              ctx.beginPath();
            }
            if (rtt === null) {
              for (const slope of [1, -1]) {
                ctx.moveTo(x - 4 * pixel, y - 4 * slope * pixel);
                ctx.lineTo(x + 4 * pixel, y + 4 * slope * pixel);
              }
              ctx.stroke();
            } else if (isOdd) {
              ctx.moveTo(x, y - 6 * pixel);
              ctx.lineTo(x - 6 * pixel, y + 5 * pixel);
              ctx.lineTo(x + 6 * pixel, y + 5 * pixel);
              ctx.fill();
            } else {
              ctx.arc(x, y, 3 * pixel, 0, 2 * Math.PI);
              ctx.fill();
            }
          });
          ctx.restore();
        }],
      },
    }),
  };
}

/** Rows that are shown at once; the others behind a button to open. */
const NUM_SHOWN = 50;
const MARKS: Record<Surprise, string> = { surprising: "▲ surprising", unusual: "△ unusual", usual: "" };

/** Judges pings by their scores. */
export function judgePings(
  pings: readonly PastedPing[],
  scores: readonly (ScoreApiAnswer | LineError)[],
): JudgedPing[] {
  const pValues = scores.map((score) => "error" in score ? undefined : score.p_value);
  const judgements = judge(pValues.filter((p) => p !== undefined));
  let judged = 0;
  return pings.map((ping, i) => {
    const pValue = pValues[i];
    const judgement = pValue === undefined ? "usual" : judgements[judged++];
    const score = scores[i];
    return { ping, pValue, judgement, ...("error" in score ? {} : { names: score }) };
  });
}

function rangeOf(answer: RttApiAnswer | undefined): Pick<JudgedPing, "expected"> {
  return answer ? { expected: { lowMs: quantileOf(answer, 0.05), highMs: quantileOf(answer, 0.95) } } : {};
}

/** The pings in order of time, the surprising ones marked. */
export function ScoredPings(
  { pings, scores, expected }: {
    pings: readonly PastedPing[];
    scores: readonly (ScoreApiAnswer | LineError)[];
    /** Expected RTTs of the unusual ones, by their index; undefined until they are known. */
    expected: ReadonlyMap<number, RttApiAnswer> | undefined;
  },
) {
  const rows = useMemo(
    () => judgePings(pings, scores).map((row, i) => ({ ...row, ...rangeOf(expected?.get(i)) })),
    [pings, scores, expected],
  );
  const numErrors = rows.filter(({ pValue }) => pValue === undefined).length;
  return (
    <section aria-labelledby="scores">
      <h2 id="scores">Which pings are unusual</h2>
      <p>
        <strong>{sumUp(rows)}</strong>
        {numErrors === 0 ? "" : ` ${numErrors} could not be scored.`}
      </p>
      <p class="hint">
        The p-value is the probability of a result that the model holds for at most as likely, given the pings
        before.
      </p>
      <PingsChart rows={rows} />
      <div class="tools">
        <CsvButton
          name="pings"
          columns={["line", "timestamp", "src_addr", "dst_addr", "rtt", "p_value", "mark"]}
          rows={() =>
            rows.map(({ ping, pValue, judgement }) => [
              ...[ping.line, ping.timestamp, ping.src_addr, ping.dst_addr, ping.rtt],
              ...[pValue ?? null, judgement],
            ])}
        />
      </div>
      <PingTable rows={rows.slice(0, NUM_SHOWN)} />
      {rows.length <= NUM_SHOWN ? null : (
        <details>
          <summary>{rows.length - NUM_SHOWN} more</summary>
          <PingTable rows={rows.slice(NUM_SHOWN)} />
        </details>
      )}
    </section>
  );
}

function PingTable(
  { rows }: { rows: readonly JudgedPing[] },
) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Pings with their p-values">
      <table class="numbers pings">
        <thead>
          <tr>
            <th scope="col">Line</th>
            <th scope="col">RTT</th>
            <th scope="col">p-value</th>
            <th scope="col" class="text">Mark</th>
            <th scope="col" class="text">Time</th>
            <th scope="col" class="text">Source</th>
            <th scope="col" class="text">Destination</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ ping, names, pValue, judgement }, i) => (
            <tr key={i} class={judgement}>
              <th scope="row">{ping.line}</th>
              <td>{ping.rtt === null ? "no reply" : formatMs(ping.rtt)}</td>
              <td>{pValue === undefined ? "–" : formatPValue(pValue)}</td>
              <td class="text mark">{MARKS[judgement]}</td>
              <td class="text">{formatSecond(ping.timestamp)}</td>
              <td class="text">{withName(ping.src_addr, names?.src_name)}</td>
              <td class="text">{withName(ping.dst_addr, names?.dst_name)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

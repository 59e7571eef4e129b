/** The "Check pings" part of the page: scores the user's own pings and gives them as context. @module */
import { useMemo } from "preact/hooks";
import { withName } from "../../data/addresses/ip_prefix.ts";
import type { PingApi } from "../api/ping_service.ts";
import type { LineError } from "../../query/questions/question.ts";
import type { AnswerOf } from "../../query/questions/questions.ts";
import type { ScoreAnswer } from "../../query/questions/score.ts";
import { AnswerState, useAnswer } from "./answer_state.tsx";
import { AddressFields } from "./ask_part.tsx";
import { quantileOf, RttResult, summaryOf, wholeQuestion } from "./rtt_result.tsx";
import {
  besideField,
  faultOfEnd,
  type Faults,
  LinesField,
  type PartProps,
  Question,
  readTime,
  TextField,
} from "./fields.tsx";
import {
  FIELD_LABELS,
  parsePaste,
  type Pasted,
  type PastedPing,
  type PasteOptions,
  withFields,
} from "./paste.ts";
import { parseColumns } from "../../data/formats/table.ts";
import { isZone } from "../../data/formats/time_text.ts";
import { UserError } from "../../base/errors.ts";
import { formatMs, formatRange, formatTime } from "../../base/text.ts";
import { formatPValue } from "./texts.ts";
import { CsvButton, curlPost } from "./saved_files.tsx";
import { ScrolledTable } from "./table.tsx";
import type { Fields } from "./url_state.ts";
import uPlot from "uplot";
import { axisStyle, Chart, type ChartPlan, PLAIN } from "./chart.tsx";

/** More than fits in any sequence. */
const MAX_PINGS = 1000;
/** Number of the most unusual pings for which to ask what was expected. */
const MAX_EXPLAINED = 10;
/** Earlier pings in the context of a ping, the default of `score`. */
const NUM_CONTEXT = 20;
const PLACEHOLDER = `PING 198.51.100.7 (198.51.100.7) 56(84) bytes of data.
64 bytes from 198.51.100.7: icmp_seq=1 ttl=57 time=12.3 ms
64 bytes from 198.51.100.7: icmp_seq=2 ttl=57 time=12.1 ms`;

interface PingsAnswer {
  before: AnswerOf<"rtt">;
  after?: AnswerOf<"rtt">;
  scores?: (ScoreAnswer | LineError)[];
  /** Expected RTTs of the unusual pings, by index. */
  expected?: Map<number, AnswerOf<"rtt">>;
}

interface PingsQuestion {
  pasted: Pasted;
  src: string;
  dst: string;
  time: number | null;
  faults: Faults;
}

function questionOf(fields: Fields, nowMs: number): PingsQuestion {
  const { time: asked, faults } = readTime(fields, [], nowMs);
  const source = fields.src?.trim() ?? "";
  const destination = fields.dst?.trim() ?? "";
  const pasted = parsePaste(fields.pings ?? "", {
    source,
    destination,
    endTimeS: asked,
    ...tableOptions(fields, faults),
  });
  const { pings } = pasted;
  const last = pings.at(-1);
  // The pings already name a pair, so only what differs from it must be entered.
  const src = last?.src || source;
  // If no time is chosen, ask about the time of the pings instead of the present.
  const time = fields.time ? asked : last?.time ?? asked;
  const dst = destination || last?.dst || "";
  const srcFault = src === "" ? "Enter a source: the pings do not contain one" : faultOfEnd(src);
  const dstFault = dst === "" ? undefined : faultOfEnd(dst);
  if (srcFault) faults.src = srcFault;
  if (dstFault) faults.dst = dstFault;
  if (!fields.pings?.trim()) faults.pings = "Paste at least one ping";
  else if (pings.length === 0 && !pasted.needsSource) {
    faults.pings = `Found no pings: ${pasted.faults[0]?.message ?? "no line contains one"}`;
  } else if (pings.length > MAX_PINGS) {
    faults.pings = `Paste at most ${MAX_PINGS} pings; found ${pings.length}`;
  }
  return { pasted, src, dst, time, faults };
}

/** Parses the fields that state how to read a table. @param faults Takes their faults. */
function tableOptions(fields: Fields, faults: Faults): Pick<PasteOptions, "columns" | "zone"> {
  const [columns, zone] = [fields.columns?.trim(), fields.zone?.trim()];
  const isZoned = zone && isZone(zone);
  if (zone && !isZoned) {
    faults.zone =
      `Cannot use ${zone}: expected an IANA name such as Europe/Berlin, or an offset such as +01:00`;
  }
  try {
    return { zone: isZoned ? zone : undefined, columns: columns ? parseColumns(columns) : undefined };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    faults.columns = withFields(error.message);
    return {};
  }
}

export function PingsPart(part: PartProps) {
  const { fields, askedAtMs, opened: { api, hasServer } } = part;
  const isAsked = fields.pings !== undefined;
  const { pasted, src, dst, time, faults } = useMemo(() => questionOf(fields, askedAtMs), [
    fields,
    askedAtMs,
  ]);
  const isRight = isAsked && Object.keys(faults).length === 0;
  const question = { src, dst, time };
  const measurements = pasted.pings.map(({ line: _, ...measurement }) => measurement);
  const { answer, faults: told } = besideField(useAnswer<PingsAnswer>(
    isRight ? JSON.stringify(["pings", question, measurements]) : null,
    async (signal, report) => {
      const before = await api.rtt(wholeQuestion(question), signal);
      report({ before });
      const after = await api.rtt(wholeQuestion({ ...question, context: measurements }), signal);
      report({ before, after });
      const scores = await api.score(measurements, signal);
      report({ before, after, scores });
      return { before, after, scores, expected: await expectedOf(api, pasted.pings, scores, signal) };
    },
  ));
  const { value } = answer;
  const curves = useMemo(() => {
    if (!value) return [];
    const before = { name: value.after ? "before" : "", answer: value.before };
    return value.after ? [before, { name: "after", answer: value.after }] : [before];
  }, [value?.before, value?.after]);
  const allFaults = isAsked ? { ...faults, ...told } : {};
  return (
    <>
      <Question part={part} verb="Check these pings">
        <LinesField
          part={part}
          faults={allFaults}
          name="pings"
          label="Your pings"
          hint="Output of ping or fping, results of RIPE Atlas, Globalping, scamper or Prometheus as JSON, or a table with src, dst, time, rtt."
          placeholder={PLACEHOLDER}
          rows={8}
        />
        <div class="row">
          <TextField
            part={part}
            faults={allFaults}
            name="columns"
            label={FIELD_LABELS.columns}
            hint="Only for a table with other names: which column is what, by name or number."
            placeholder="time=Zeit,src=Quelle,dst=Ziel,rtt=Laufzeit"
          />
          <TextField
            part={part}
            faults={allFaults}
            name="zone"
            label={FIELD_LABELS.zone}
            hint="The zone of times that state none."
            placeholder="UTC"
          />
        </div>
        <AddressFields part={part} faults={allFaults} dstPlaceholder="taken from the pings" addressesOnly />
        <p class="hint">
          The output of ping does not contain its source: enter your public address. For JSON and CSV, source
          and time are taken from the data. The destination is taken from the pings unless you enter another.
          Pings without a time count as sent one per second, the last at the chosen time.
        </p>
      </Question>
      {isAsked && <PasteReport pasted={pasted} />}
      <AnswerState
        answer={answer}
        doing={doingOf(value, pasted.pings.length)}
        summary={({ before, after }) =>
          `Before: ${summaryOf(before)} ${after ? `With your pings: ${summaryOf(after)}` : ""}`}
      >
        {({ scores, expected }) => (
          <>
            {scores && scores.length === pasted.pings.length && (
              <ScoredPings pings={pasted.pings} scores={scores} expected={expected} />
            )}
            <h2>{src} to {dst}, {formatTime(time)}</h2>
            <RttResult
              curves={curves}
              command={hasServer && (() => curlPost("v1/score", measurements))}
            />
          </>
        )}
      </AnswerState>
    </>
  );
}

function doingOf(value: PingsAnswer | undefined, numPings: number): string {
  if (!value) return "1 of 4: asking without your pings";
  if (value.scores) return "4 of 4: asking what was expected of the unusual pings";
  return value.after ? `3 of 4: scoring ${numPings} pings` : "2 of 4: asking with your pings";
}

/** Asks what was expected of the unusual pings, given the earlier pings of the same source. */
async function expectedOf(
  api: PingApi,
  pings: readonly PastedPing[],
  scores: readonly (ScoreAnswer | LineError)[],
  signal: AbortSignal,
): Promise<Map<number, AnswerOf<"rtt">>> {
  if (scores.length !== pings.length) return new Map();
  const odd = judgePings(pings, scores)
    .flatMap(({ judgement, pValue = 1 }, i) => judgement === "usual" ? [] : [{ i, pValue }])
    .sort((a, b) => a.pValue - b.pValue).slice(0, MAX_EXPLAINED).map(({ i }) => i);
  if (odd.length === 0) return new Map();
  const questions = odd.map((i) => {
    const { src, dst, time } = pings[i];
    const context = pings.slice(0, i).filter((ping) => ping.src === src).slice(-NUM_CONTEXT)
      .map(({ line: _, ...measurement }) => measurement);
    return { src, dst, time, context, quantiles: [0.05, 0.95] };
  });
  const answers = await api.rttBatch(questions, signal);
  return new Map(answers.flatMap((answer, k) => "error" in answer ? [] : [[odd[k], answer] as const]));
}

function PasteReport({ pasted: { format, reading, pings, faults } }: { pasted: Pasted }) {
  if (pings.length === 0) return null;
  const numLost = pings.filter(({ rtt }) => rtt === null).length;
  return (
    <div class="notes" role="status">
      <p>
        {format}: {pings.length} {pings.length === 1 ? "ping" : "pings"}, {numLost} without a reply.
        {faults.length === 0
          ? ""
          : ` ${faults.length} ${faults.length === 1 ? "line is" : "lines are"} left out:`}
      </p>
      {reading.map((line) => <p key={line}>{line[0].toUpperCase() + line.slice(1)}</p>)}
      {faults.length === 0 ? null : (
        <ul class="faults">
          {faults.slice(0, 20).map(({ line, message }) => <li key={line}>line {line}: {message}</li>)}
          {faults.length > 20 && <li>and {faults.length - 20} more</li>}
        </ul>
      )}
    </div>
  );
}

/** P-values below this are unusual. */
const UNUSUAL = 0.01;
const NUM_NAMED = 3;

/** `surprising`: even among this many p-values; `unusual`: taken on its own. */
type Surprise = "surprising" | "unusual" | "usual";

export interface JudgedPing {
  ping: PastedPing;
  names?: Pick<ScoreAnswer, "src_name" | "dst_name">;
  /** Undefined if the ping could not be scored. */
  pValue: number | undefined;
  judgement: Surprise;
  /** Where 90 % of replies were expected, given the earlier pings; only for unusual pings. */
  expected?: { lowMs: number; highMs: number };
}

/**
 * Judges p-values together. If the model is right, n/100 of n values are below 0.01, so only values below
 * 0.01/n (Bonferroni) are called surprising.
 */
export function judge(pValues: readonly number[]): Surprise[] {
  const limit = UNUSUAL / Math.max(1, pValues.length);
  return pValues.map((p) => p < limit ? "surprising" : p < UNUSUAL ? "unusual" : "usual");
}

/** Describes a ping: `line 8, 298 ms, expected 131–135 ms`. */
function describeOdd({ ping, expected }: JudgedPing): string {
  const found = ping.rtt === null ? "no reply" : formatMs(ping.rtt);
  const range = expected ? `, expected ${formatRange(expected.lowMs, expected.highMs)}` : "";
  return `line ${ping.line}, ${found}${range}`;
}

/** Sums up the judgements in a sentence: `1 of 12 is unusual: line 8, 298 ms, expected 131–135 ms.` */
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
    `Chance alone would give about ${chance}.`;
}

const HEIGHT_PX = 220;

/** Plots pings over time, or by line if some have no time. */
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
  return rows.every(({ ping }) => ping.time !== null);
}

/** A line number, or a time: with seconds for spans below 10 minutes, a date for spans above 2 days. */
function labelOf(x: number, isTimed: boolean, spanS: number): string {
  if (!isTimed) return Number.isInteger(x) ? String(x) : "";
  const text = new Date(x * 1000).toISOString();
  return spanS > 2 * 86_400 ? text.slice(5, 10) : text.slice(11, spanS < 600 ? 19 : 16);
}

function planOf(rows: readonly JudgedPing[]): ChartPlan {
  const isTimed = hasTimes(rows);
  const xs = rows.map(({ ping }) => isTimed ? ping.time as number : ping.line);
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
      return isTimed ? `${formatTime(ping.time)}: ${said}` : said;
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

/** Rows shown at once; the others are collapsed. */
const NUM_SHOWN = 50;
const MARKS: Record<Surprise, string> = { surprising: "▲ surprising", unusual: "△ unusual", usual: "" };

function judgePings(
  pings: readonly PastedPing[],
  scores: readonly (ScoreAnswer | LineError)[],
): JudgedPing[] {
  const pValues = scores.map((score) =>
    "error" in score ? undefined : Math.min(score.p_value, score.loss_run_p_value)
  );
  const judgements = judge(pValues.filter((p) => p !== undefined));
  let judged = 0;
  return pings.map((ping, i) => {
    const pValue = pValues[i];
    const judgement = pValue === undefined ? "usual" : judgements[judged++];
    const score = scores[i];
    return { ping, pValue, judgement, ...("error" in score ? {} : { names: score }) };
  });
}

function rangeOf(answer: AnswerOf<"rtt"> | undefined): Pick<JudgedPing, "expected"> {
  return answer ? { expected: { lowMs: quantileOf(answer, 0.05), highMs: quantileOf(answer, 0.95) } } : {};
}

/** The pings in time order, with the unusual ones marked. */
function ScoredPings(
  { pings, scores, expected }: {
    pings: readonly PastedPing[];
    scores: readonly (ScoreAnswer | LineError)[];
    /** Expected RTTs of the unusual pings, by index; undefined until known. */
    expected: ReadonlyMap<number, AnswerOf<"rtt">> | undefined;
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
        The p-value is the probability of a result at least as surprising, given the earlier pings. For
        consecutive lost replies it is the probability that all of them are lost.
      </p>
      <PingsChart rows={rows} />
      <div class="tools">
        <CsvButton
          name="pings"
          columns={["line", "time", "src", "dst", "rtt", "p_value", "mark"]}
          rows={() =>
            rows.map(({ ping, pValue, judgement }) => [
              ...[ping.line, ping.time, ping.src, ping.dst, ping.rtt],
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

function PingTable({ rows }: { rows: readonly JudgedPing[] }) {
  return (
    <ScrolledTable
      name="Pings with their p-values"
      class="numbers pings"
      columns={["Line", "RTT", "p-value", "Mark", "Time", "Source", "Destination"]}
      rowClasses={rows.map(({ judgement }) => judgement)}
      rows={rows.map(({ ping, names, pValue, judgement }) => [
        ping.line,
        ping.rtt === null ? "no reply" : formatMs(ping.rtt),
        pValue === undefined ? "–" : formatPValue(pValue),
        MARKS[judgement],
        formatTime(ping.time),
        withName(ping.src, names?.src_name),
        withName(ping.dst, names?.dst_name),
      ])}
    />
  );
}

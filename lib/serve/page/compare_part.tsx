/** The "Compare" part of the page: several sources against several destinations. @module */
import { useMemo, useRef, useState } from "preact/hooks";
import type { LineError } from "../../query/questions/question.ts";
import type { AnswerOf, QuestionOf } from "../../query/questions/questions.ts";
import { quantileOf, RttResult, summaryOf, wholeQuestion } from "./rtt_result.tsx";
import { formatMs } from "../../base/text.ts";
import { formatPercent } from "./texts.ts";
import { isMeantAsPrefix } from "../../query/rtt/rtt_question.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import type { PingApi } from "../api/ping_service.ts";
import { BasisBadge } from "./basis.tsx";
import { AnswerState, useAnswer } from "./answer_state.tsx";
import { faultOfEnd, LinesField, type PartProps, Question, readTime, TimeField } from "./fields.tsx";
import { CsvButton, CurlButton, curlPost } from "./saved_files.tsx";
import { SitesPart } from "./sites_part.tsx";

/** A larger table would be too much for one request and for its reader. */
const MAX_CELLS = 400;

/** The distinct lines of a field. A line with several addresses is split. */
function linesOf(text: string | undefined): string[] {
  const ends = (text ?? "").split("\n").flatMap((line) => {
    const parts = line.split(/[\s,]+/).filter((part) => part !== "");
    return parts.every(isMeantAsPrefix) ? parts : [line.trim()];
  });
  return [...new Set(ends)];
}

function faultOfLines(lines: readonly string[]): string | undefined {
  if (lines.length === 0) return "Enter addresses or prefixes, one per line";
  return lines.filter(isMeantAsPrefix).map(faultOfEnd).find((fault) => fault);
}

export function ComparePart(part: PartProps) {
  const { fields, askedAtMs, opened: { api, hasServer } } = part;
  const sources = linesOf(fields.sources);
  const destinations = linesOf(fields.destinations);
  const isAsked = sources.length + destinations.length > 0;
  const { time, faults } = readTime(fields, [], askedAtMs);
  for (const [name, lines] of [["sources", sources], ["destinations", destinations]] as const) {
    const fault = isAsked ? faultOfLines(lines) : undefined;
    if (fault) faults[name] = fault;
  }
  const numCells = sources.length * destinations.length;
  if (numCells > MAX_CELLS) {
    faults.destinations =
      `Enter at most ${MAX_CELLS} pairs; found ${sources.length} × ${destinations.length}`;
  }
  const isRight = isAsked && Object.keys(faults).length === 0;
  const questions = sources.flatMap((src) =>
    destinations.map((dst): QuestionOf<"rtt"> => ({ src, dst, time }))
  );
  const answer = useAnswer(
    isRight ? JSON.stringify(["compare", questions]) : null,
    (signal) => api.rttBatch(questions.map((question) => ({ ...question, quantiles: [0.5] })), signal),
  );
  const [row, column] = (fields.cell ?? "").split(",").map(Number);
  const chosen = isRight && fields.cell && row < sources.length && column < destinations.length
    ? questions[row * destinations.length + column]
    : undefined;
  return (
    <>
      <Question part={part} verb="Compare">
        <div class="row">
          <LinesField part={part} faults={faults} name="sources" label="Sources, one per line" rows={5} />
          <LinesField
            part={part}
            faults={faults}
            name="destinations"
            label="Destinations, one per line"
            rows={5}
          />
          <TimeField part={part} faults={faults} />
        </div>
      </Question>
      <AnswerState
        answer={answer}
        doing={`Asking for ${numCells} medians`}
        summary={(answers) => `${answers.length} medians computed.`}
      >
        {(answers: (AnswerOf<"rtt"> | LineError)[]) =>
          answers.length === numCells
            ? (
              <>
                <MedianMatrix
                  sources={sources}
                  destinations={destinations}
                  answers={answers}
                  chosen={chosen && { row, column }}
                  choose={(cell) => part.submit({ cell: `${cell.row},${cell.column}` })}
                />
                <div class="tools">
                  <CsvButton
                    name="medians"
                    columns={["src", "dst", "time", "median_ms", "p_failed", "basis", "error"]}
                    rows={() =>
                      answers.map((answer, i) => {
                        const { src, dst } = questions[i];
                        const found = "error" in answer
                          ? [null, null, null, answer.error]
                          : [quantileOf(answer, 0.5), answer.p_failed, answer.basis.kind, null];
                        return [src, dst, time, ...found];
                      })}
                  />
                  <CurlButton
                    command={hasServer && (() => curlPost("v1/rtt:batch?quantiles=0.5", questions))}
                  />
                </div>
                {sources.length > 1 && destinations.length > 1 && (
                  <SitesPart
                    api={api}
                    hasServer={hasServer}
                    sources={sources}
                    destinations={destinations}
                    time={time}
                  />
                )}
              </>
            )
            : null}
      </AnswerState>
      {chosen && <ChosenPair api={api} question={chosen} />}
    </>
  );
}

function ChosenPair({ api, question }: { api: PingApi; question: QuestionOf<"rtt"> }) {
  const answer = useAnswer(
    JSON.stringify(["ask", question]),
    (signal) => api.rtt(wholeQuestion(question), signal),
  );
  const { value } = answer;
  const curves = useMemo(() => value ? [{ name: "", answer: value }] : [], [value]);
  return (
    <section aria-labelledby="chosen-pair">
      <h2 id="chosen-pair">{question.src} to {question.dst}</h2>
      <AnswerState answer={answer} doing="Asking the model" summary={summaryOf}>
        {() => <RttResult curves={curves} />}
      </AnswerState>
    </section>
  );
}

const NUM_SHADES = 7;
/** Rows and columns that the arrow keys move by. */
const STEPS: Record<string, readonly [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

interface Cell {
  row: number;
  column: number;
}

/** The shade of each RTT, evenly spaced on a logarithmic scale from the shortest to the longest. */
export function shadesOf(rttsMs: readonly (number | undefined)[]): (number | undefined)[] {
  const logs = rttsMs.map((rttMs) => rttMs === undefined ? undefined : Math.log(Math.max(rttMs, 1e-3)));
  const known = logs.filter((log) => log !== undefined);
  const low = Math.min(...known);
  // Nearly equal medians get the same shade instead of being spread over the whole scale.
  const span = Math.max(Math.max(...known) - low, Math.log(1.2));
  return logs.map((log) =>
    log === undefined ? undefined : Math.min(NUM_SHADES - 1, Math.floor((log - low) / span * NUM_SHADES))
  );
}

function MedianMatrix({ sources, destinations, answers, chosen, choose }: {
  sources: readonly string[];
  destinations: readonly string[];
  answers: readonly (AnswerOf<"rtt"> | LineError)[];
  chosen: Cell | undefined;
  choose: (cell: Cell) => void;
}) {
  const [focus, setFocus] = useState<Cell>(chosen ?? { row: 0, column: 0 });
  const table = useRef<HTMLTableElement>(null);
  const shades = shadesOf(answers.map((answer) => "error" in answer ? undefined : quantileOf(answer, 0.5)));
  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const row = Math.min(sources.length - 1, Math.max(0, focus.row + step[0]));
    const column = Math.min(destinations.length - 1, Math.max(0, focus.column + step[1]));
    setFocus({ row, column });
    table.current?.querySelector<HTMLElement>(`[data-cell="${row},${column}"]`)?.focus();
  };
  const nameOf = (index: number, end: "src_name" | "dst_name") => {
    const answer = answers[index];
    return answer && "error" in answer ? undefined : answer?.[end];
  };
  const errors = [...new Set(answers.flatMap((answer) => "error" in answer ? [answer.error] : []))];
  return (
    <>
      <p class="hint" id="matrix-hint">
        Median RTT and share of pings without a reply: stronger blue means longer, orange that at least 10 %
        are lost. <BasisBadge kind="measured" />: the pair was measured;{" "}
        <BasisBadge kind="estimate" />: both addresses were, but never as a pair;{" "}
        <BasisBadge kind="guess" />: at least one address never was. Arrow keys move, Enter or a click shows
        the distribution.
      </p>
      <div class="scroll">
        <table
          class="matrix"
          role="grid"
          aria-describedby="matrix-hint"
          aria-label="Medians"
          ref={table}
          onKeyDown={move}
        >
          <thead>
            <tr>
              <td>from \ to</td>
              {destinations.map((destination, column) => (
                <th scope="col" key={destination}>{withName(destination, nameOf(column, "dst_name"))}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sources.map((source, row) => (
              <tr key={source}>
                <th scope="row">{withName(source, nameOf(row * destinations.length, "src_name"))}</th>
                {destinations.map((destination, column) => {
                  const index = row * destinations.length + column;
                  const isFocus = focus.row === row && focus.column === column;
                  const isChosen = chosen?.row === row && chosen.column === column;
                  return (
                    <td
                      key={destination}
                      {...lookOf(answers[index], shades[index])}
                      aria-selected={isChosen}
                    >
                      <button
                        type="button"
                        data-cell={`${row},${column}`}
                        tabIndex={isFocus ? 0 : -1}
                        aria-pressed={isChosen}
                        onFocus={() => setFocus({ row, column })}
                        onClick={() => choose({ row, column })}
                      >
                        <CellText answer={answers[index]} />
                      </button>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {errors.map((error) => <p class="fault" key={error}>{error}</p>)}
    </>
  );
}

function CellText({ answer }: { answer: AnswerOf<"rtt"> | LineError }) {
  if ("error" in answer) return <>no answer</>;
  return (
    <>
      {formatMs(quantileOf(answer, 0.5))}
      <small>{formatPercent(answer.p_failed)} lost</small>
      <BasisBadge kind={answer.basis.kind} />
    </>
  );
}

/** P(no reply) from which a cell is orange, and the percentage of orange in its colour. */
const LOSSES = [[0.9, 44], [0.3, 30], [0.1, 18]];

/** Styles a cell by P(no reply) if that is high, else by the median. The class includes the basis. */
export function lookOf(answer: AnswerOf<"rtt"> | LineError, shade = 0) {
  const mix = (percent: number) => ({ "--mix": `${percent}%` });
  if ("error" in answer) return { class: "none", style: mix(0) };
  const { p_failed, basis: { kind } } = answer;
  const loss = LOSSES.find(([least]) => p_failed >= least);
  return loss ? { class: `lossy ${kind}`, style: mix(loss[1]) } : { class: kind, style: mix(4 + 6 * shade) };
}

/** The second part of the page: several sources against several destinations. @module */
import { useMemo } from "preact/hooks";
import { faultOfPrefix } from "../addresses/ip_prefix.ts";
import type { PingApi } from "../api/ping_api.ts";
import type { LineError, RttApiAnswer, RttApiQuestion } from "../api/schemas.ts";
import { AnswerState } from "./answer_state.tsx";
import { MedianMatrix } from "./median_matrix.tsx";
import { quantileOf, summaryOf } from "./distribution_chart.tsx";
import { type Faults, faultsOf, LinesField, Question, TimeField } from "./fields.tsx";
import type { PartProps } from "./part_props.ts";
import { questionTimeS } from "./question_time.ts";
import { RttResult, wholeQuestion } from "./rtt_result.tsx";
import { CsvButton, CurlButton, curlPost } from "./saved_files.tsx";
import { useAnswer } from "./use_answer.ts";

/** More are one request too large, and no table to look at. */
const MAX_CELLS = 400;

/** The lines of a field, without empty and equal ones. */
function linesOf(text: string | undefined): string[] {
  return [...new Set((text ?? "").split(/[\s,]+/).filter((line) => line !== ""))];
}

/** What is wrong with a list of addresses; undefined if nothing is. */
function faultOfLines(lines: readonly string[]): string | undefined {
  if (lines.length === 0) return "Found nothing, addresses or prefixes were wanted, one a line";
  const wrong = lines.map((line) => ({ line, fault: faultOfPrefix(line) })).find(({ fault }) => fault);
  return wrong && `Cannot read ${wrong.line}: ${wrong.fault}`;
}

/** See the module. */
export function ComparePart(part: PartProps) {
  const { fields, askedAtMs, opened: { api, hasServer } } = part;
  const sources = linesOf(fields.sources);
  const destinations = linesOf(fields.destinations);
  const isAsked = sources.length + destinations.length > 0;
  const faults: Faults = isAsked ? faultsOf(fields, [], askedAtMs) : {};
  for (const [name, lines] of [["sources", sources], ["destinations", destinations]] as const) {
    const fault = isAsked ? faultOfLines(lines) : undefined;
    if (fault) faults[name] = fault;
  }
  const numCells = sources.length * destinations.length;
  if (numCells > MAX_CELLS) {
    faults.destinations =
      `Found ${sources.length} × ${destinations.length} pairs, at most ${MAX_CELLS} were wanted`;
  }
  const isRight = isAsked && Object.keys(faults).length === 0;
  const timestamp = questionTimeS(fields.time, askedAtMs) as number | null;
  const questions = sources.flatMap((src_addr) =>
    destinations.map((dst_addr): RttApiQuestion => ({ src_addr, dst_addr, timestamp }))
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
          <LinesField part={part} faults={faults} name="sources" label="Sources, one a line" rows={5} />
          <LinesField
            part={part}
            faults={faults}
            name="destinations"
            label="Destinations, one a line"
            rows={5}
          />
          <TimeField part={part} faults={faults} />
        </div>
      </Question>
      <AnswerState
        answer={answer}
        doing={`Asking for ${numCells} medians`}
        summary={(answers) => `${answers.length} medians are there.`}
      >
        {(answers: (RttApiAnswer | LineError)[]) =>
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
                    columns={["src_addr", "dst_addr", "timestamp", "median_ms", "p_failed", "error"]}
                    rows={() =>
                      answers.map((answer, i) => {
                        const { src_addr, dst_addr } = questions[i];
                        const found = "error" in answer
                          ? [null, null, answer.error]
                          : [quantileOf(answer, 0.5), answer.p_failed, null];
                        return [src_addr, dst_addr, timestamp, ...found];
                      })}
                  />
                  {hasServer
                    ? <CurlButton command={() => curlPost("v1/rtt:batch?quantiles=0.5", questions, true)} />
                    : null}
                </div>
              </>
            )
            : null}
      </AnswerState>
      {chosen ? <ChosenPair api={api} question={chosen} /> : null}
    </>
  );
}
ComparePart.heading = "Compare sources and destinations";

/** The distribution of the cell that was chosen. */
function ChosenPair({ api, question }: { api: PingApi; question: RttApiQuestion }) {
  const answer = useAnswer(
    JSON.stringify(["ask", question]),
    (signal) => api.rtt(wholeQuestion(question), signal),
  );
  const { value } = answer;
  const curves = useMemo(() => value ? [{ name: "", answer: value }] : [], [value]);
  return (
    <section aria-labelledby="chosen-pair">
      <h2 id="chosen-pair">{question.src_addr} to {question.dst_addr}</h2>
      <AnswerState answer={answer} doing="Asking the model" summary={summaryOf}>
        {() => <RttResult curves={curves} />}
      </AnswerState>
    </section>
  );
}

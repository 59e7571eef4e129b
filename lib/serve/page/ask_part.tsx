/** The "Ask" part of the page: the RTT between two addresses or prefixes. @module */
import type { Fields } from "./url_state.ts";
import { useEffect, useMemo } from "preact/hooks";
import type { LineError } from "../../query/questions/question.ts";
import type { AnswerOf, QuestionOf } from "../../query/questions/questions.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import type { ModelAnswer } from "../api/schemas.ts";
import { AnswerState, useAnswer } from "./answer_state.tsx";
import { colorOf, RttResult, summaryOf, wholeQuestion } from "./rtt_result.tsx";
import {
  besideField,
  type Faults,
  type PartProps,
  Question,
  readTime,
  SearchField,
  TimeField,
} from "./fields.tsx";
import { formatTime } from "../../base/text.ts";
import { ANY_TIME, periodOf, startTime } from "./texts.ts";
import { curlGet } from "./saved_files.tsx";
import type { PingApi } from "../api/ping_service.ts";
import { MeasureNext } from "./advise_part.tsx";
import { HOUR_S, Strip } from "./strip.tsx";

export function AddressFields(
  { dstPlaceholder, ...shared }: {
    part: PartProps;
    faults: Faults;
    dstPlaceholder: string;
    addressesOnly?: boolean;
  },
) {
  const { part, faults } = shared;
  return (
    <div class="row">
      <SearchField {...shared} name="src" label="Source" placeholder="192.0.2.1" />
      <SearchField {...shared} name="dst" label="Destination" placeholder={dstPlaceholder} />
      <TimeField part={part} faults={faults} />
    </div>
  );
}

export function AskPart(part: PartProps) {
  const { fields, askedAtMs, opened: { api, hasServer }, model } = part;
  const isAsked = fields.src !== undefined || fields.dst !== undefined;
  const { time, faults } = readTime(fields, isAsked ? ["src", "dst"] : [], askedAtMs);
  const { src = "", dst = "" } = isAsked ? fields : model.value?.examples[0] ?? {};
  const isRight = src !== "" && dst !== "" && Object.keys(faults).length === 0;
  const question = isRight ? { src: src.trim(), dst: dst.trim(), time } : null;
  // Separate hooks, so that the example's answer never appears under a question's heading.
  const ask = (signal: AbortSignal) => api.rtt(wholeQuestion(question as QuestionOf<"rtt">), signal);
  const key = question && JSON.stringify(["ask", question]);
  const asked = useAnswer(isAsked ? key : null, ask);
  const worked = useAnswer(isAsked ? null : key, ask);
  const { answer, faults: told } = besideField(isAsked ? asked : worked);
  const { value, isBusy } = answer;
  useEffect(() => {
    if (asked.value) rememberQuestion({ src: asked.value.src, dst: asked.value.dst });
  }, [asked.value]);
  const curves = useMemo(() => value ? [{ name: "", answer: value }] : [], [value]);
  return (
    <>
      <Question part={part} verb="Ask">
        <AddressFields part={part} faults={{ ...faults, ...told }} dstPlaceholder="198.51.100.0/24" />
      </Question>
      {isAsked || lastQuestions().length > 0 ? <LastQuestions part={part} /> : <Examples part={part} />}
      <AnswerState answer={answer} doing="Asking the model" summary={summaryOf}>
        {() => (
          <>
            <h2>{headingOf(question, isAsked, value)}</h2>
            <RttResult
              curves={curves}
              command={hasServer && question !== null && (() => curlGet("v1/rtt", { ...question }))}
            />
            {value && hasCoordinates(model.value) && (["src", "dst"] as const).map((end) => (
              <MeasureNext
                key={`${end} ${value[end]}`}
                api={api}
                end={value[end]}
                seen={value.basis[end]}
              />
            ))}
          </>
        )}
      </AnswerState>
      {value && (
        <HoursStrip
          api={api}
          question={isBusy ? null : question}
          startS={question?.time ?? hourOf(model.value, askedAtMs)}
        />
      )}
    </>
  );
}

/** Whether a model can tell what to measure next. */
function hasCoordinates(model: ModelAnswer | undefined): boolean {
  const { coordinates } = (model?.config.model ?? {}) as { coordinates?: object | null };
  return Boolean(coordinates);
}

/** The current hour, or the last hour of old data, in Unix seconds. */
function hourOf(model: ModelAnswer | undefined, nowMs: number): number {
  const period = periodOf(model?.data);
  const timeS = period && startTime(period, nowMs) === ANY_TIME ? period.endS : nowMs / 1000;
  return Math.floor(timeS / HOUR_S) * HOUR_S;
}

/** Names the pair. The names of addresses are included once the answer has arrived. */
function headingOf(
  question: QuestionOf<"rtt"> | null,
  isAsked: boolean,
  answer: AnswerOf<"rtt"> | undefined,
): string {
  if (!question) return "Answer";
  const isOf = answer?.src === question.src && answer.dst === question.dst;
  const src = withName(question.src, isOf ? answer.src_name : undefined);
  const dst = withName(question.dst, isOf ? answer.dst_name : undefined);
  return isAsked ? `${src} to ${dst}` : `Example: ${src} → ${dst}`;
}

function LastQuestions({ part }: { part: PartProps }) {
  const { fields } = part;
  const others = lastQuestions().filter(({ src, dst }) => src !== fields.src || dst !== fields.dst);
  return <Pairs part={part} title="Recent questions:" pairs={others} />;
}

const KEY = "ping-llm last questions";
const MAX_QUESTIONS = 5;

type LastQuestion = Readonly<Pick<Required<Fields>, "src" | "dst">>;

/** Newest first; empty if the browser stores nothing. */
function lastQuestions(): LastQuestion[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(value) ? value.filter(isQuestion) : [];
  } catch {
    return []; // Storage is disabled or contains something else.
  }
}

function rememberQuestion({ src, dst }: LastQuestion): void {
  const others = lastQuestions().filter((other) => other.src !== src || other.dst !== dst);
  try {
    localStorage.setItem(KEY, JSON.stringify([{ src, dst }, ...others].slice(0, MAX_QUESTIONS)));
  } catch {
    // Storage is full or disabled. Remembering questions is optional, so this is not an error.
  }
}

function isQuestion(value: unknown): value is LastQuestion {
  return typeof value === "object" && value !== null && "src" in value && "dst" in value &&
    typeof value.src === "string" && typeof value.dst === "string";
}

function Examples({ part }: { part: PartProps }) {
  const { model: { value } } = part;
  const pairs = value?.examples.map(({ src, dst, src_name, dst_name }) => (
    { src, dst, names: [src_name, dst_name] }
  )) ?? [];
  return (
    <>
      <p class="hint">
        An address or a prefix, IPv4 or IPv6. This browser will keep your recent questions here. Below is an
        example.
      </p>
      <Pairs part={part} title="For example:" pairs={pairs} />
    </>
  );
}

function Pairs({ part, title, pairs }: {
  part: PartProps;
  title: string;
  pairs: readonly (LastQuestion & { names?: readonly (string | undefined)[] })[];
}) {
  if (pairs.length === 0) return null;
  return (
    <div class="examples">
      <span id="pairs">{title}</span>
      <ul aria-labelledby="pairs">
        {pairs.map(({ src, dst, names = [] }) => (
          <li key={`${src} ${dst}`}>
            <button type="button" class="quiet" onClick={() => part.submit({ src, dst })}>
              {withName(src, names[0])} → {withName(dst, names[1])}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

const NUM_HOURS = 24;
const QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95];

/** Asks about the 24 hours from `startS` and shows them. @param question Null asks nothing. */
function HoursStrip(
  { api, question, startS }: { api: PingApi; question: QuestionOf<"rtt"> | null; startS: number },
) {
  const answer = useAnswer(question && JSON.stringify(["hours", question, startS]), async (signal) => {
    const times = Array.from({ length: NUM_HOURS + 1 }, (_, i) => startS + i * HOUR_S);
    const questions = times.map((time) => ({ ...question, time, quantiles: QUANTILES }) as QuestionOf<"rtt">);
    const answers = await api.rttBatch(questions, signal);
    return answers.map((answer, i) => {
      const { basis: { kind }, quantiles_ms, p_failed } = answered(answer);
      return { timeS: times[i], label: formatTime(times[i]), kind, quantiles_ms, p_failed };
    });
  });
  return (
    <section aria-labelledby="hours">
      <h2 id="hours">The 24 hours from {formatTime(startS)}</h2>
      <AnswerState answer={answer} doing="Asking for 25 hours">
        {(rows) => (
          <Strip
            name="These hours"
            title="RTT in ms by hour (UTC)."
            even="The answers for these hours differ little:"
            rows={rows}
            color={colorOf(rows[0])}
            stepS={HOUR_S}
          />
        )}
      </AnswerState>
    </section>
  );
}

function answered(answer: AnswerOf<"rtt"> | LineError): AnswerOf<"rtt"> {
  if ("error" in answer) throw new Error(answer.error);
  return answer;
}

/** The "Find destination" part of the page: which destinations fit an RTT. @module */
import { Fragment } from "preact";
import { withName } from "../../data/addresses/ip_prefix.ts";
import { times } from "../../data/addresses/measured_text.ts";
import type { AnswerOf, QuestionOf } from "../../query/questions/questions.ts";
import { AnswerState, useAnswer } from "./answer_state.tsx";
import { BasisBadge } from "./basis.tsx";
import {
  besideField,
  type Faults,
  type PartProps,
  Question,
  readTime,
  SearchField,
  TextField,
  TimeField,
} from "./fields.tsx";
import { formatRange, formatTime } from "../../base/text.ts";
import { formatPercent } from "./texts.ts";
import { CsvButton, CurlButton, curlGet } from "./saved_files.tsx";
import { ScrolledTable } from "./table.tsx";
import type { Fields } from "./url_state.ts";

const TOP = 20;

function questionOf(fields: Fields, nowMs: number): { question: QuestionOf<"destinations">; faults: Faults } {
  const { time, faults } = readTime(fields, ["src"], nowMs);
  const low = rttOf(fields.low);
  const high = fields.high?.trim() ? rttOf(fields.high) : low;
  if (!(low >= 0)) faults.low = "Enter an RTT in ms, such as 20";
  if (!(high >= low)) faults.high = "Enter an RTT in ms, at least as large as the first, or nothing";
  return { question: { src: fields.src?.trim() ?? "", rtt: [low, high], time, top: TOP }, faults };
}

function rttOf(text: string | undefined): number {
  const trimmed = text?.trim().replace(/ ?ms$/, "") ?? "";
  return trimmed === "" ? NaN : Number(trimmed);
}

export function FitsPart(part: PartProps) {
  const { fields, askedAtMs, opened: { api, hasServer } } = part;
  const isAsked = fields.low !== undefined || fields.high !== undefined;
  const { question, faults } = questionOf(fields, askedAtMs);
  const isRight = isAsked && Object.keys(faults).length === 0;
  const { answer, faults: told } = besideField(useAnswer<AnswerOf<"destinations">>(
    isRight ? JSON.stringify(["fits", question]) : null,
    (signal) => api.destinations(question, signal),
  ));
  const shown = isAsked ? { ...faults, ...told } : {};
  return (
    <>
      <Question part={part} verb="Search">
        <div class="row">
          <SearchField
            part={part}
            faults={shown}
            name="src"
            label="Source"
            placeholder="192.0.2.1"
            addressesOnly
          />
          <TextField
            part={part}
            faults={shown}
            name="low"
            label="RTT, ms"
            inputMode="decimal"
            placeholder="20"
          />
          <TextField
            part={part}
            faults={shown}
            name="high"
            label="to, ms (if a range)"
            inputMode="decimal"
            placeholder="25"
          />
          <TimeField part={part} faults={shown} />
        </div>
      </Question>
      <AnswerState
        answer={answer}
        doing="Ranking destinations"
        summary={({ destinations: [{ prefix, name, probability }] }) =>
          `The most probable: ${withName(prefix, name)} with ${formatPercent(probability)}.`}
      >
        {(answered: AnswerOf<"destinations">) => (
          <>
            <Fitting answer={answered} />
            <div class="tools">
              <CsvButton
                name="destinations"
                columns={["prefix", "name", "place", "probability", "basis", "measurements"]}
                rows={() =>
                  answered.destinations.map((
                    { prefix, name = null, place = null, probability, basis, measured },
                  ) => [prefix, name, place, probability, basis, measured?.measurements ?? null] as const)}
              />
              <CurlButton
                command={hasServer &&
                  (() => curlGet("v1/destinations", { ...question, rtt: question.rtt.join("..") }))}
              />
            </div>
          </>
        )}
      </AnswerState>
    </>
  );
}

function Fitting({ answer }: { answer: AnswerOf<"destinations"> }) {
  const { src, rtt: [low, high], time, destinations, prior_mass, unlisted_probability, notes = [] } = answer;
  return (
    <section aria-labelledby="fitting">
      <h2 id="fitting">
        Destinations at {formatRange(low, high)} from {withName(src, answer.src_name)}
      </h2>
      <p>
        {formatTime(time)}. Probabilities are relative to {answer.candidates}{" "}
        candidates: the destinations that this source is known to measure, and other likely ones. Their total
        probability before the RTT was known was {formatPercent(prior_mass)}; others cannot be listed.
      </p>
      <ScrolledTable
        name="Destinations"
        class="fitting"
        columns={["Destination", "Probability", "Basis"]}
        rowClasses={destinations.map(({ basis }) => basis)}
        rows={[
          ...destinations.map(({ prefix, name, place, probability, basis, measured }) => [
            <Fragment key="destination">
              {withName(prefix, name)}
              {place === undefined ? null : <small>{place}</small>}
            </Fragment>,
            <Fragment key="probability">
              <meter min={0} max={1} value={probability} aria-hidden="true" /> {formatPercent(probability)}
            </Fragment>,
            <Fragment key="basis">
              <BasisBadge kind={basis} />
              {measured && <small>{times(measured)} by this source</small>}
            </Fragment>,
          ]),
          ...unlisted_probability > 0 ? [["all others", formatPercent(unlisted_probability), ""]] : [],
        ]}
      />
      {notes.map((note) => <p class="hint" key={note}>{note}</p>)}
    </section>
  );
}

/** The fourth part of the page: which destinations an RTT fits. @module */
import { withName } from "../../data/addresses/ip_prefix.ts";
import { times } from "../../data/addresses/measured_text.ts";
import type { AnswerOf, QuestionOf } from "../../query/questions/questions.ts";
import { AnswerState, useAnswer } from "./answer_state.tsx";
import { BasisBadge } from "./basis.tsx";
import {
  type Faults,
  faultsOf,
  faultsOfError,
  type PartProps,
  Question,
  SearchField,
  TextField,
  TimeField,
} from "./fields.tsx";
import { formatPercent, formatRange, formatTime, questionTimeS } from "./texts.ts";
import { CsvButton, CurlButton, curlGet } from "./saved_files.tsx";
import type { Fields } from "./url_state.ts";

/** How many destinations are listed. */
const TOP = 20;

function questionOf(fields: Fields, nowMs: number): { question: QuestionOf<"destinations">; faults: Faults } {
  const faults = faultsOf(fields, ["src"], nowMs);
  const low = rttOf(fields.low);
  const high = fields.high?.trim() ? rttOf(fields.high) : low;
  if (!(low >= 0)) faults.low = "Expected an RTT in ms, such as 20";
  if (!(high >= low)) faults.high = "Expected an RTT in ms, at least the other one, or nothing";
  const time = questionTimeS(fields.time, nowMs) as number | null;
  return {
    question: {
      src: fields.src?.trim() ?? "",
      rtt: [low, high],
      time,
      top: TOP,
    },
    faults,
  };
}

function rttOf(text: string | undefined): number {
  const trimmed = text?.trim().replace(/ ?ms$/, "") ?? "";
  return trimmed === "" ? NaN : Number(trimmed);
}

/** See the module. */
export function FitsPart(part: PartProps) {
  const { fields, askedAtMs, opened: { api, hasServer } } = part;
  const isAsked = fields.low !== undefined || fields.high !== undefined;
  const { question, faults } = questionOf(fields, askedAtMs);
  const isRight = isAsked && Object.keys(faults).length === 0;
  const answer = useAnswer<AnswerOf<"destinations">>(
    isRight ? JSON.stringify(["fits", question]) : null,
    (signal) => api.destinations(question, signal),
  );
  const errorFaults = faultsOfError(answer.error);
  const shown = isAsked ? { ...faults, ...errorFaults } : {};
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
        answer={Object.keys(errorFaults).length > 0 ? { ...answer, error: undefined } : answer}
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
              {hasServer
                ? (
                  <CurlButton
                    command={() =>
                      curlGet("v1/destinations", {
                        src: question.src,
                        rtt: question.rtt.join(".."),
                        time: question.time as number | null,
                        top: TOP,
                      })}
                  />
                )
                : null}
            </div>
          </>
        )}
      </AnswerState>
    </>
  );
}
FitsPart.heading = "Which destinations fit an RTT?";

function Fitting({ answer }: { answer: AnswerOf<"destinations"> }) {
  const { src, rtt: [low, high], time, destinations, prior_mass, unlisted_probability, notes = [] } = answer;
  return (
    <section aria-labelledby="fitting">
      <h2 id="fitting">
        Destinations at {formatRange(low, high)} from {withName(src, answer.src_name)}
      </h2>
      <p>
        {formatTime(time)}. Probabilities are shares among {answer.candidates}{" "}
        destinations: those that this source is known to measure, and likely ones. Before the RTT was known,
        they had {formatPercent(prior_mass)} together; others cannot be listed.
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-labelledby="fitting">
        <table class="fitting">
          <thead>
            <tr>
              <th scope="col">Destination</th>
              <th scope="col">Probability</th>
              <th scope="col">Basis</th>
            </tr>
          </thead>
          <tbody>
            {destinations.map(({ prefix, name, place, probability, basis, measured }) => (
              <tr key={prefix} class={basis}>
                <th scope="row">
                  {withName(prefix, name)}
                  {place === undefined ? null : <small>{place}</small>}
                </th>
                <td class="share">
                  <meter min={0} max={1} value={probability} aria-hidden="true" />{" "}
                  {formatPercent(probability)}
                </td>
                <td>
                  <BasisBadge kind={basis} />
                  {measured ? <small>{times(measured)} by this source</small> : null}
                </td>
              </tr>
            ))}
            {unlisted_probability > 0
              ? (
                <tr>
                  <th scope="row">all others</th>
                  <td class="share">{formatPercent(unlisted_probability)}</td>
                  <td />
                </tr>
              )
              : null}
          </tbody>
        </table>
      </div>
      {notes.map((note) => <p class="hint" key={note}>{note}</p>)}
    </section>
  );
}

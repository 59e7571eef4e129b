/** Each pasted ping with its p-value. @module */
import { useMemo } from "preact/hooks";
import type { LineError, RttApiAnswer, ScoreApiAnswer } from "../api/schemas.ts";
import { quantileOf } from "./distribution_chart.tsx";
import { formatMs, formatPValue } from "./number_text.ts";
import type { PastedPing } from "./paste.ts";
import { PingsChart } from "./pings_chart.tsx";
import { formatSecond } from "./question_time.ts";
import { CsvButton } from "./saved_files.tsx";
import { judge, type JudgedPing, sumUp, type Surprise } from "./surprise.ts";

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
    return { ping, pValue, judgement: pValue === undefined ? "usual" : judgements[judged++] };
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
    /** What was expected of the unusual ones, by their index; undefined until it is known. */
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
          {rows.map(({ ping, pValue, judgement }, i) => (
            <tr key={i} class={judgement}>
              <th scope="row">{ping.line}</th>
              <td>{ping.rtt === null ? "no reply" : formatMs(ping.rtt)}</td>
              <td>{pValue === undefined ? "–" : formatPValue(pValue)}</td>
              <td class="text mark">{MARKS[judgement]}</td>
              <td class="text">{formatSecond(ping.timestamp)}</td>
              <td class="text">{ping.src_addr}</td>
              <td class="text">{ping.dst_addr}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

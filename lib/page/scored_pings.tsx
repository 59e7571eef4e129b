/** Each pasted ping with its p-value. @module */
import type { LineError, ScoreApiAnswer } from "../api/schemas.ts";
import { formatMs, formatPValue } from "./number_text.ts";
import type { PastedPing } from "./paste.ts";
import { formatSecond } from "./question_time.ts";
import { judge, sumUp, type Surprise } from "./surprise.ts";

/** Rows that are shown at once; the others behind a button to open. */
const NUM_SHOWN = 50;
const MARKS: Record<Surprise, string> = { surprising: "▲ surprising", unusual: "△ unusual", usual: "" };

/** The pings in order of time, the surprising ones marked. */
export function ScoredPings(
  { pings, scores }: { pings: readonly PastedPing[]; scores: readonly (ScoreApiAnswer | LineError)[] },
) {
  const pValues = scores.map((score) => "error" in score ? undefined : score.p_value);
  const judgements = judge(pValues.filter((p) => p !== undefined));
  const numErrors = scores.length - judgements.length;
  let judged = 0;
  const rows = pings.map((ping, i) => {
    const pValue = pValues[i];
    return { ping, pValue, judgement: pValue === undefined ? "usual" : judgements[judged++] };
  });
  return (
    <section aria-labelledby="scores">
      <h2 id="scores">How surprising each ping is</h2>
      <p>{sumUp(judgements)}{numErrors === 0 ? "" : ` ${numErrors} could not be scored.`}</p>
      <p class="hint">
        The p-value is the probability of a result that the model holds for at most as likely, given the pings
        before.
      </p>
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
  { rows }: { rows: readonly { ping: PastedPing; pValue: number | undefined; judgement: Surprise }[] },
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
              <td class="text">{ping.dst_addr}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The distribution of an RTT: its figures, its curve, its quantiles. @module */
import type { RttApiAnswer, RttApiQuestion } from "../api/schemas.ts";
import { type Curve, CURVE_QUANTILES, DistributionChart, quantileOf } from "./distribution_chart.tsx";
import { Histogram } from "./histogram.tsx";
import { formatMs, formatPercent, formatRange } from "./number_text.ts";
import { formatTime } from "./question_time.ts";
import { CsvButton, CurlButton } from "./saved_files.tsx";

/** The quantiles of the table. */
const TABLE_QUANTILES = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99];

/** A question for all that this part of the page shows. */
export function wholeQuestion(question: RttApiQuestion): RttApiQuestion {
  return { ...question, quantiles: CURVE_QUANTILES };
}

/**
 * Shows answers; the last one is what it is about, those before it are there to be compared with.
 *
 * @param command The question as a command of curl, where a server answers it.
 */
export function RttResult(
  { curves, command }: { curves: readonly Curve[]; command?: (() => string) | undefined },
) {
  const { answer } = curves[curves.length - 1];
  return (
    <>
      <RttFigures answer={answer} />
      <p class="basis">{answer.basis.text}</p>
      <div class="chart-beside">
        <Histogram curves={curves} />
        <QuantileTable curves={curves} />
        <figure>
          <figcaption>
            P(RTT ≤ x), if a reply comes. Shaded: what 50 % and 90 % of the replies take; dotted: the median;
            {" "}
            <span class="likeliest-mark" aria-hidden="true">▲</span> the likeliest RTT.
          </figcaption>
          <DistributionChart curves={curves} />
        </figure>
      </div>
      <div class="tools">
        <CsvButton
          name="rtt-quantiles"
          columns={["src_addr", "dst_addr", "timestamp", "given", "quantile", "rtt_ms"]}
          rows={() =>
            curves.flatMap(({ name, answer: { src_addr, dst_addr, timestamp, quantiles_ms } }) =>
              Object.entries(quantiles_ms).map(([quantile, rttMs]) =>
                [src_addr, dst_addr, timestamp, name, Number(quantile), rttMs] as const
              )
            )}
        />
        {command ? <CurlButton command={command} /> : null}
      </div>
      <RttNotes answer={answer} />
    </>
  );
}

function RttFigures({ answer }: { answer: RttApiAnswer }) {
  const { likeliest, p_failed, drawn } = answer;
  const q = (quantile: number) => quantileOf(answer, quantile);
  const errors = drawn?.standard_errors;
  return (
    <dl class="figures">
      <Figure
        name="Median"
        value={formatMs(q(0.5))}
        note={errors ? `± ${formatMs(errors.quantiles_ms["0.5"])}` : undefined}
      />
      <Figure name="50 % of replies" value={formatRange(q(0.25), q(0.75))} />
      <Figure name="90 % of replies" value={formatRange(q(0.05), q(0.95))} />
      <Figure
        name="Likeliest"
        value={formatMs(likeliest.rtt_ms)}
        note={`${formatPercent(likeliest.probability)} within 1 %`}
      />
      <Figure
        name="No reply"
        value={formatPercent(p_failed)}
        note={errors ? `± ${formatPercent(errors.p_failed)}` : undefined}
      />
    </dl>
  );
}

function Figure({ name, value, note }: { name: string; value: string; note?: string | undefined }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        {note === undefined ? null : <small>{note}</small>}
      </dd>
    </div>
  );
}

function QuantileTable({ curves }: { curves: readonly Curve[] }) {
  return (
    <table class="numbers quantiles">
      <caption>Quantiles of the RTT</caption>
      <thead>
        <tr>
          <th scope="col">Share of replies</th>
          {curves.map(({ name }) => <th scope="col" key={name}>{name || "RTT at most"}</th>)}
        </tr>
      </thead>
      <tbody>
        {TABLE_QUANTILES.map((quantile) => (
          <tr key={quantile}>
            <th scope="row">{Math.round(quantile * 100)} %</th>
            {curves.map(({ name, answer }) => <td key={name}>{formatMs(quantileOf(answer, quantile))}</td>)}
          </tr>
        ))}
        <tr>
          <th scope="row">No reply</th>
          {curves.map(({ name, answer }) => <td key={name}>{formatPercent(answer.p_failed)}</td>)}
        </tr>
      </tbody>
    </table>
  );
}

/** A note on the mean: the page shows none. */
const IS_ABOUT_MEAN = /^\d+ % of the mean /;

function RttNotes({ answer }: { answer: RttApiAnswer }) {
  const { drawn, notes = [], timestamp, context_measurements } = answer;
  const given = context_measurements === 1
    ? ", given 1 measurement"
    : `, given ${context_measurements} measurements`;
  return (
    <div class="notes">
      <p>
        {answer.src_addr} to {answer.dst_addr}, {formatTime(timestamp)}
        {context_measurements === 0 ? "" : given}.
        {drawn ? ` A mixture over ${drawn.num_distinct} pairs of addresses that the model drew.` : ""}
      </p>
      {notes.filter((note) => !IS_ABOUT_MEAN.test(note)).map((note) => <p key={note}>{note}</p>)}
    </div>
  );
}

/** The third part of the page: one's own pings, as what the model is told before it answers. @module */
import { useMemo } from "preact/hooks";
import { faultOfPrefix } from "../../data/addresses/ip_prefix.ts";
import type { PingApi } from "../api/ping_api.ts";
import type { LineError, RttApiAnswer, ScoreApiAnswer } from "../api/schemas.ts";
import { AnswerState, useAnswer } from "./answer_state.tsx";
import { AddressFields } from "./ask_part.tsx";
import { summaryOf } from "./distribution_chart.tsx";
import { type Faults, faultsOf, faultsOfError, LinesField, Question } from "./fields.tsx";
import type { PartProps } from "./part_props.ts";
import { parsePaste, type Pasted, type PastedPing } from "./paste.ts";
import { formatTime, questionTimeS } from "./question_time.ts";
import { RttResult, wholeQuestion } from "./rtt_result.tsx";
import { curlPost } from "./saved_files.tsx";
import { judgePings, ScoredPings } from "./scored_pings.tsx";
import type { Fields } from "./url_state.ts";

/** As many as the model scores at once; more than any sequence holds. */
const MAX_PINGS = 1000;
/** Unusual pings, the least probable first, of which it is asked what was expected. */
const MAX_EXPLAINED = 10;
/** Pings before a ping that the model is told, as `score` has them by default. */
const NUM_CONTEXT = 20;
const PLACEHOLDER = `PING 198.51.100.7 (198.51.100.7) 56(84) bytes of data.
64 bytes from 198.51.100.7: icmp_seq=1 ttl=57 time=12.3 ms
64 bytes from 198.51.100.7: icmp_seq=2 ttl=57 time=12.1 ms`;

interface PingsAnswer {
  before: RttApiAnswer;
  after?: RttApiAnswer;
  scores?: (ScoreApiAnswer | LineError)[];
  /** Expected RTTs of the unusual ones, by their index. */
  expected?: Map<number, RttApiAnswer>;
}

/** The content of the fields: the pings, and the question, completed with defaults. */
interface PingsQuestion {
  pasted: Pasted;
  src: string;
  dst: string;
  timestamp: number | null;
  faults: Faults;
}

function questionOf(fields: Fields, nowMs: number): PingsQuestion {
  const faults: Faults = { ...faultsOf(fields, [], nowMs) };
  const time = questionTimeS(fields.time, nowMs);
  const asked = typeof time === "object" ? null : time;
  const source = fields.src?.trim() ?? "";
  const pasted = parsePaste(fields.pings ?? "", { source, endTimeS: asked });
  const { pings } = pasted;
  const last = pings.at(-1);
  // The pings are about a pair already: only what differs from it must be said.
  const src = (pasted.format === "Output of ping" ? source : "") || last?.src_addr || source;
  // Where no time is chosen, the pings' own time is asked for, and not the present.
  const timestamp = fields.time ? asked : last?.timestamp ?? asked;
  const dst = fields.dst?.trim() || last?.dst_addr || "";
  if (src === "") faults.src = "Found no source, expected one: the output of ping does not say it";
  else if (faultOfPrefix(src)) faults.src = `Cannot read ${src}: ${faultOfPrefix(src)}`;
  if (dst !== "" && faultOfPrefix(dst)) faults.dst = `Cannot read ${dst}: ${faultOfPrefix(dst)}`;
  if (!fields.pings?.trim()) faults.pings = "Found nothing, expected pings";
  else if (pings.length === 0) {
    faults.pings = `Found no ping in it: ${pasted.faults[0]?.message ?? "no line says one"}`;
  } else if (pings.length > MAX_PINGS) {
    faults.pings = `Found ${pings.length} pings, expected at most ${MAX_PINGS}`;
  }
  return { pasted, src, dst, timestamp, faults };
}

/** See the module. */
export function PingsPart(part: PartProps) {
  const { fields, askedAtMs, opened: { api, hasServer } } = part;
  const isAsked = fields.pings !== undefined;
  const { pasted, src, dst, timestamp, faults } = useMemo(() => questionOf(fields, askedAtMs), [
    fields,
    askedAtMs,
  ]);
  const isRight = isAsked && Object.keys(faults).length === 0;
  const question = { src_addr: src, dst_addr: dst, timestamp };
  const measurements = pasted.pings.map(({ line: _, ...measurement }) => measurement);
  const answer = useAnswer<PingsAnswer>(
    isRight ? JSON.stringify(["pings", question, measurements]) : null,
    async (signal, report) => {
      const before = await api.rtt(wholeQuestion(question), signal);
      report({ before });
      const after = await api.rtt(wholeQuestion({ ...question, context: measurements }), signal);
      report({ before, after });
      const scores = await api.score(measurements, {}, signal);
      report({ before, after, scores });
      return { before, after, scores, expected: await expectedOf(api, pasted.pings, scores, signal) };
    },
  );
  const { value } = answer;
  const curves = useMemo(() => {
    if (!value) return [];
    const before = { name: value.after ? "before" : "", answer: value.before };
    return value.after ? [before, { name: "after", answer: value.after }] : [before];
  }, [value?.before, value?.after]);
  const errorFaults = faultsOfError(answer.error);
  const allFaults = isAsked ? { ...faults, ...errorFaults } : {};
  return (
    <>
      <Question part={part} verb="Check these pings">
        <LinesField
          part={part}
          faults={allFaults}
          name="pings"
          label="Your pings"
          hint="Output of ping (Linux, macOS, Windows, busybox), results of RIPE Atlas as JSON, or CSV with src, dst, time, rtt."
          placeholder={PLACEHOLDER}
          rows={8}
        />
        <AddressFields part={part} faults={allFaults} dstPlaceholder="that of the pings" addressesOnly />
        <p class="hint">
          Output of ping does not say its source: give your public address. Source and time of JSON and CSV
          are their own. The destination is that of the pings unless another is given. Pings without a time
          count as sent each second up to the time that is chosen.
        </p>
      </Question>
      {isAsked ? <PasteReport pasted={pasted} /> : null}
      <AnswerState
        answer={Object.keys(errorFaults).length > 0 ? { ...answer, error: undefined } : answer}
        doing={doingOf(value, pasted.pings.length)}
        summary={({ before, after }) =>
          `Before: ${summaryOf(before)} ${after ? `With your pings: ${summaryOf(after)}` : ""}`}
      >
        {({ scores, expected }) => (
          <>
            {scores && scores.length === pasted.pings.length
              ? <ScoredPings pings={pasted.pings} scores={scores} expected={expected} />
              : null}
            <h2>{src} to {dst}, {formatTime(timestamp)}</h2>
            <RttResult
              curves={curves}
              command={hasServer ? () => curlPost("v1/score", measurements, true) : undefined}
            />
          </>
        )}
      </AnswerState>
    </>
  );
}
PingsPart.heading = "Are your pings unusual?";

function doingOf(value: PingsAnswer | undefined, numPings: number): string {
  if (!value) return "1 of 4: asking without your pings";
  if (value.scores) return "4 of 4: asking what was expected of the unusual pings";
  return value.after ? `3 of 4: scoring ${numPings} pings` : "2 of 4: asking with your pings";
}

/** Asks what was expected of unusual pings, given those of the same source before. */
async function expectedOf(
  api: PingApi,
  pings: readonly PastedPing[],
  scores: readonly (ScoreApiAnswer | LineError)[],
  signal: AbortSignal,
): Promise<Map<number, RttApiAnswer>> {
  if (scores.length !== pings.length) return new Map();
  const odd = judgePings(pings, scores)
    .flatMap(({ judgement, pValue = 1 }, i) => judgement === "usual" ? [] : [{ i, pValue }])
    .sort((a, b) => a.pValue - b.pValue).slice(0, MAX_EXPLAINED).map(({ i }) => i);
  if (odd.length === 0) return new Map();
  const questions = odd.map((i) => {
    const { src_addr, dst_addr, timestamp } = pings[i];
    const context = pings.slice(0, i).filter((ping) => ping.src_addr === src_addr).slice(-NUM_CONTEXT)
      .map(({ line: _, ...measurement }) => measurement);
    return { src_addr, dst_addr, timestamp, context, quantiles: [0.05, 0.95] };
  });
  const answers = await api.rttBatch(questions, signal);
  return new Map(answers.flatMap((answer, k) => "error" in answer ? [] : [[odd[k], answer] as const]));
}

/** Lists the pings found in the pasted text and the lines that cannot be used. */
function PasteReport({ pasted: { format, pings, faults } }: { pasted: Pasted }) {
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
      {faults.length === 0 ? null : (
        <ul class="faults">
          {faults.slice(0, 20).map(({ line, message }) => <li key={line}>line {line}: {message}</li>)}
          {faults.length > 20 ? <li>and {faults.length - 20} more</li> : null}
        </ul>
      )}
    </div>
  );
}

/** Which of the compared destinations serve all sources best, alone and together. @module */
import { useState } from "preact/hooks";
import { formatMs } from "../../base/text.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import { lossText, NEAREST_COLUMNS, nearestRows, worstText } from "../../query/destinations/nearest_texts.ts";
import type { AnswerOf, QuestionOf } from "../../query/questions/questions.ts";
import type { PingApi } from "../api/ping_service.ts";
import { AnswerState, useAnswer } from "./answer_state.tsx";
import { CsvButton, CurlButton, curlPost } from "./saved_files.tsx";
import { ScrolledTable } from "./table.tsx";
import { formatPercent } from "./texts.ts";

const MAX_TOGETHER = 5;

/** Asks only when wanted, since it takes as long as the table of medians. */
export function SitesPart({ api, hasServer, sources, destinations, time }: {
  api: PingApi;
  hasServer: boolean;
  sources: readonly string[];
  destinations: readonly string[];
  time: QuestionOf<"nearest">["time"];
}) {
  const question: QuestionOf<"nearest"> = {
    sources: [...sources],
    candidates: [...destinations],
    top: destinations.length,
    best: Math.min(MAX_TOGETHER, destinations.length),
    time,
  };
  const key = JSON.stringify(["nearest", question]);
  const [wanted, setWanted] = useState<string>();
  const answer = useAnswer(wanted === key ? key : null, (signal) => api.nearest(question, signal));
  return (
    <details
      open={wanted === key}
      onToggle={(event) => setWanted(event.currentTarget.open ? key : undefined)}
    >
      <summary>Which destinations serve all sources best?</summary>
      <AnswerState
        answer={answer}
        doing="Ranking destinations"
        summary={({ nearest: [{ candidate, name }] }) => `The best alone: ${withName(candidate, name)}.`}
      >
        {(answered: AnswerOf<"nearest">) => (
          <>
            <BestSites answer={answered} />
            <div class="tools">
              <CsvButton name="sites" columns={NEAREST_COLUMNS} rows={() => nearestRows(answered)} />
              <CurlButton command={hasServer && (() => curlPost("v1/nearest:batch", [question]))} />
            </div>
          </>
        )}
      </AnswerState>
    </details>
  );
}

function BestSites({ answer: { nearest, best = [] } }: { answer: AnswerOf<"nearest"> }) {
  const shares = best[best.length - 1]?.shares ?? [];
  const names = new Map(nearest.map(({ candidate, name }) => [candidate, withName(candidate, name)]));
  return (
    <section aria-labelledby="best-sites">
      <h2 id="best-sites">Destinations for all sources</h2>
      <p>Alone: the RTTs of all sources mixed, and the longest median of a source.</p>
      <ScrolledTable
        name="Destinations alone"
        class="fitting"
        columns={["Destination", "Median", "95 %", "Worst median", "No reply", "Nearest"]}
        rows={nearest.map((each) => [
          withName(each.candidate, each.name),
          formatMs(each.median_ms),
          formatMs(each.high_ms ?? NaN),
          worstText(each),
          formatPercent(each.p_failed),
          formatPercent(each.p_nearest),
        ])}
      />
      <p>
        Together, each source using the one with the shortest median. Each row adds the destination that
        lowers the mean of these medians most; the loss is how much longer the mean is than that of the best
        choice of as many.
      </p>
      <ScrolledTable
        name="Destinations together"
        class="fitting"
        columns={["Added", "Mean", "95 %", "Worst", "Loss", "Share of the sources"]}
        rows={best.map((each, k) => [
          names.get(each.candidates[k]),
          formatMs(each.mean_ms),
          formatMs(each.high_ms),
          worstText(each),
          lossText(each),
          formatPercent(shares[k]),
        ])}
      />
    </section>
  );
}

/** What to measure next about an address that training did not measure; asked when it is opened. @module */
import { useState } from "preact/hooks";
import { formatMs } from "../../base/text.ts";
import { parseAddress } from "../../data/addresses/ip.ts";
import type { SeenJson } from "../../data/addresses/known_addresses.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import type { AnswerOf } from "../../query/questions/questions.ts";
import type { PingApi } from "../api/ping_service.ts";
import { AnswerState, useAnswer } from "./answer_state.tsx";
import { ScrolledTable } from "./table.tsx";

/** Number of proposed measurements. */
const BUDGET = 5;

/** @param props `end`: nothing is shown unless it is an address; `seen`: its measurements. */
export function MeasureNext({ api, end, seen }: { api: PingApi; end: string; seen: SeenJson }) {
  const [isOpen, setOpen] = useState(false);
  const isNew = parseAddress(end) !== undefined && seen.measurements === seen.in_adaptation;
  const answer = useAnswer<AnswerOf<"advise">>(
    isOpen && isNew ? JSON.stringify(["advise", end]) : null,
    (signal) => api.advise({ src: end, budget: BUDGET }, signal),
  );
  if (!isNew) return null;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What to measure next about {end}?</summary>
      <AnswerState
        answer={answer}
        doing="Comparing measurements"
        summary={({ advice: [best] }) => `The best: ${textOf(best)}.`}
      >
        {({ advice }) => (
          <>
            <p>
              After <code>adapt</code>{" "}
              with these, the model would be surest about its RTTs to known addresses:
            </p>
            <ScrolledTable
              name={`Measurements of ${end}`}
              class="numbers"
              columns={["Measurement", "Median", "Spread of all after it"]}
              rows={advice.map((each) => [
                textOf(each),
                formatMs(each.median_ms),
                formatMs(each.spread_after_ms),
              ])}
            />
          </>
        )}
      </AnswerState>
    </details>
  );
}

function textOf(pair: AnswerOf<"advise">["advice"][number]): string {
  return `${withName(pair.src, pair.src_name)} to ${withName(pair.dst, pair.dst_name)}`;
}

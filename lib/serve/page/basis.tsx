/** Shows what an answer is based on: a badge, a sentence, and the measurements. @module */
import type { BasisJson, BasisKind } from "../../data/addresses/known_addresses.ts";
import { medianOf } from "../../data/addresses/measured_text.ts";
import { ScrolledTable } from "./table.tsx";
import { formatMs } from "../../base/text.ts";

const MEANINGS: Record<BasisKind, string> = {
  measured: "The pair was measured.",
  estimate: "Both addresses were measured, but never as a pair.",
  guess: "At least one address was never measured: the answer is based on its network or place.",
};

export function BasisBadge({ kind }: { kind: BasisKind }) {
  return <span class={`badge ${kind}`} title={MEANINGS[kind]}>{kind}</span>;
}

export function Basis({ basis: { kind, text, rtts, moment } }: { basis: BasisJson }) {
  return (
    <div class="basis">
      <p>
        <BasisBadge kind={kind} /> {moment ? `For ${moment.text}. ` : ""}
        {text}
      </p>
      {rtts && (
        <details>
          <summary>
            Newest measured RTTs:{" "}
            {rtts.length === 1 ? "" : `${rtts.length} with a median of ${formatMs(medianOf(rtts))}, the `}
            newest {formatMs(rtts[0].rtt_ms)}
          </summary>
          <ScrolledTable
            name="Newest measured RTTs"
            class="numbers"
            columns={["#", "Time (UTC)", "RTT"]}
            rows={rtts.map(({ rtt_ms, time }, i) => [
              String(i + 1),
              time?.slice(0, 19).replace("T", " ") ?? "unknown",
              formatMs(rtt_ms),
            ])}
          />
        </details>
      )}
    </div>
  );
}

/** Where the map's source is by its RTTs, beside what the database says; asked when it is opened. @module */
import { useState } from "preact/hooks";
import { formatMs } from "../../base/text.ts";
import { parseAddress } from "../../data/addresses/ip.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import type { AnswerOf } from "../../query/questions/questions.ts";
import type { PingApi } from "../api/ping_service.ts";
import { AnswerState, useAnswer } from "./answer_state.tsx";
import { ScrolledTable } from "./table.tsx";
import { formatPercent } from "./texts.ts";

type Located = NonNullable<AnswerOf<"place">["located"]>;

/** @param props `src`: nothing is shown unless it is an address. */
export function WhereIs({ api, src }: { api: PingApi; src: string }) {
  const [isOpen, setOpen] = useState(false);
  const isAddress = parseAddress(src) !== undefined;
  const answer = useAnswer<AnswerOf<"place">>(
    isOpen && isAddress ? JSON.stringify(["place", src]) : null,
    (signal) => api.place({ src }, signal),
  );
  if (!isAddress) return null;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Where is {src} by its RTTs?</summary>
      <AnswerState
        answer={answer}
        doing="Locating it"
        summary={({ located, notes = [] }) => located ? `It is at ${textOf(located)}.` : notes.join(" ")}
      >
        {({ located, contradicted, notes = [] }) =>
          located
            ? (
              <>
                <p>
                  At {textOf(located)}: 50 % within {located.radius50_km} km, 90 % within{" "}
                  {located.radius90_km} km. {landmarksText(located)}
                </p>
                <p>{[databaseText(located), ...contradicted.map(proofText), ...notes].join(" ")}</p>
                <ScrolledTable
                  name="Likeliest places"
                  class="numbers"
                  columns={["Place", "Probability"]}
                  rows={located.places.map((each) => [textOf(each), formatPercent(each.probability)])}
                />
              </>
            )
            : <p>{notes.join(" ")}</p>}
      </AnswerState>
    </details>
  );
}

function textOf({ place, latitude, longitude }: Pick<Located, "place" | "latitude" | "longitude">): string {
  return place ?? `${latitude},${longitude}`;
}

function landmarksText({ landmarks: { agree, used }, light }: Located): string {
  return `${agree} of ${used} landmarks agree; light allows ${light.places} of ${light.of} places.`;
}

function databaseText({ database }: Located): string {
  if (!database) return "The database does not know where it is.";
  const verdict = database.contradicted ? "contradicted by light" : "not contradicted by light";
  return `The database says ${textOf(database)}, ${database.distance_km} km away: ${verdict}.`;
}

function proofText(proof: AnswerOf<"place">["contradicted"][number]): string {
  return `The RTT from ${withName(proof.landmark, proof.landmark_name)} (${proof.landmark_place ?? "?"}), ${
    Math.round(proof.distance_km)
  } km away, was ${formatMs(proof.rtt_ms)}; light takes ${formatMs(proof.least_ms)}.`;
}

/** Where the numbers come from: the model's data. @module */
import type { ModelApiAnswer } from "../api/schemas.ts";
import { formatCount } from "../text/quantities.ts";
import type { Answer } from "./use_answer.ts";

/** The data in a sentence or two. */
function describeData(data: ModelApiAnswer["data"]): string {
  if (!data) return "This checkpoint does not say which data the model was trained on.";
  const { origin, start, end, measurements, sources, destinations, adaptation } = data;
  const days = [start, end].flatMap((time) => time === null ? [] : [time.slice(0, 10)]);
  const text = [
    `${formatCount(measurements)} measurements`,
    `between ${formatCount(sources)} sources and ${formatCount(destinations)} destinations`,
    ...(days.length > 0 ? [`made ${[...new Set(days)].join(" to ")}`] : []),
  ].join(" ");
  const later = adaptation ? ` Adapted to ${formatCount(adaptation.measurements)} measurements more.` : "";
  return `Trained on ${text}.${origin === "" ? "" : ` Origin: ${origin}.`}${later}`;
}

/** The banner above each part. */
export function DataBanner({ model: { value, isBusy } }: { model: Answer<ModelApiAnswer> }) {
  if (!value) {
    return isBusy ? <p class="busy">Reading what the model was trained on</p> : null;
  }
  const { data } = value;
  return (
    <p class={`banner ${data?.is_synthetic ? "synthetic" : ""}`.trim()}>
      {data?.is_synthetic ? <strong>Synthetic data: the answers describe no real network.</strong> : null}
      {" "}
      {describeData(data)}
    </p>
  );
}

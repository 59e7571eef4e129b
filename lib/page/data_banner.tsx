/** Where the numbers come from: the model's data, and what an answer rests on. @module */
import type { ModelApiAnswer, RttApiAnswer } from "../api/schemas.ts";
import { formatCount } from "../text/quantities.ts";
import type { Answer } from "./use_answer.ts";

/** What a model was trained on; of older checkpoints nothing is known. */
interface ModelData {
  origin?: string | null;
  is_synthetic?: boolean | null;
  /** ISO 8601. */
  start?: string | null;
  end?: string | null;
  measurements?: number | null;
  sources?: number | null;
  destinations?: number | null;
}

/** The data of a model; undefined where its checkpoint does not say it. */
function dataOf(model: ModelApiAnswer): ModelData | undefined {
  return (model as { data?: ModelData | null }).data ?? undefined;
}

/** What an answer rests on, as a sentence; undefined where the model does not say it. */
export function basisOf(answer: RttApiAnswer | undefined): string | undefined {
  return (answer as { basis?: { text?: string } } | undefined)?.basis?.text;
}

/** The data in a sentence or two. */
function describeData(data: ModelData | undefined): string {
  if (!data) return "This checkpoint does not say which data the model was trained on.";
  const { origin, start, end, measurements, sources, destinations } = data;
  const days = [start, end].flatMap((time) => time ? [String(time).slice(0, 10)] : []);
  const count = (number: number | null | undefined, name: string) =>
    typeof number === "number" ? [`${formatCount(number)} ${name}`] : [];
  const counts = [...count(sources, "sources"), ...count(destinations, "destinations")];
  const text = [
    ...count(measurements, "measurements"),
    ...(counts.length > 0 ? [`between ${counts.join(" and ")}`] : []),
    ...(days.length > 0 ? [`made ${[...new Set(days)].join(" to ")}`] : []),
  ].join(" ");
  const from = origin ? ` Origin: ${origin}.` : "";
  return text === "" ? `Training data:${from || " unknown."}` : `Trained on ${text}.${from}`;
}

/** The banner above each part. */
export function DataBanner({ model: { value, isBusy } }: { model: Answer<ModelApiAnswer> }) {
  if (!value) {
    return isBusy ? <p class="busy">Reading what the model was trained on</p> : null;
  }
  const data = dataOf(value);
  return (
    <p class={`banner ${data?.is_synthetic ? "synthetic" : ""}`.trim()}>
      {data?.is_synthetic ? <strong>Synthetic data: the answers describe no real network.</strong> : null}
      {" "}
      {describeData(data)}
    </p>
  );
}

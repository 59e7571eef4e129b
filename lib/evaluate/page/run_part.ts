/** What was evaluated, and how: the end of an evaluation's page. @module */
import { formatCount, formatSeconds } from "../../text/quantities.ts";
import { type Block, element, tableOf } from "../../plot/page.ts";
import type { EvalRun } from "../report.ts";

const HISTORIES = {
  all: "all earlier measurements of the same source, held-out ones included",
  train: "earlier measurements of the same source in the training rows only",
};

/** The facts of a run as a table. */
export function runPart(run: EvalRun): Block[] {
  const drawn = run.numMeasurements === run.numHeldOut ? "all of them" : "drawn at random";
  const contexts = run.contexts.join(", ");
  const size = `${formatCount(run.numParameters)} parameters, sequences of ${run.sequenceLength} tokens`;
  const facts = {
    "checkpoint": `${run.checkpoint}, step ${run.step}`,
    "model": `${size}, trained on data with fingerprint ${run.modelFingerprint}`,
    "data": `${run.data}, split ${run.split} (fingerprint ${run.dataFingerprint})`,
    "split by": run.splitBy ?? "unknown",
    "training rows": `${run.train} (fingerprint ${run.trainFingerprint})`,
    "history": HISTORIES[run.history],
    "measurements": `${run.numMeasurements} of ${run.numHeldOut} held-out ones, ${drawn}`,
    "contexts": run.isEveryContext
      ? `each measurement with ${contexts} context measurements`
      : `one of ${contexts} context measurements for each measurement, in rotation`,
    "seed": String(run.seed),
    "time": `${formatSeconds(run.seconds)} on ${run.adapter}`,
    "software": `ping-llm ${run.version}`,
  };
  return [element("h2", "What was run"), tableOf(["", ""], Object.entries(facts))];
}

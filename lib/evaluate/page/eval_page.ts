/**
 * An evaluation as a page: in words first, then section by section.
 *
 * @module
 */
import { formatCount, formatSeconds } from "../../text/quantities.ts";
import { type Block, element, listOf, pageOf, tableOf } from "../../report/page.ts";
import type { EvalReport, EvalRun } from "../report.ts";
import { adaptPart } from "./adapt_part.ts";
import { bitsPart } from "./bits_part.ts";
import { calibrationPart } from "./calibration_part.ts";
import { destinationPart } from "./destination_part.ts";
import { failurePart } from "./failure_part.ts";
import { findingsOf } from "./headline.ts";
import { rttPart } from "./rtt_part.ts";
import { truthPart } from "./truth_part.ts";

/** The page of a report, as HTML. Sections that the report does not have are left out. */
export async function evalPage(report: EvalReport): Promise<string> {
  const { run, rtt, adapted, failures, bits, destinations, truth } = report;
  const parts: Block[] = [listOf(findingsOf(report))];
  if (rtt && rtt.model.overall.numMeasurements > 0) {
    parts.push(...rttPart(rtt), ...calibrationPart(rtt, report.calibration));
  }
  if (adapted) parts.push(...adaptPart(adapted));
  if (truth && truth.numReplies > 0) parts.push(...truthPart(truth));
  if (failures) parts.push(...failurePart(failures));
  if (bits) parts.push(...bitsPart(bits));
  if (destinations && destinations.scores.length > 0) parts.push(...destinationPart(destinations));
  return await pageOf(`Evaluation of ${run.checkpoint}`, [...parts, ...runPart(run)]);
}

const HISTORIES = {
  all: "all earlier measurements of the same source, held-out ones included",
  train: "earlier measurements of the same source in the training rows only",
};

/** What was evaluated, and how. */
function runPart(run: EvalRun): Block[] {
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

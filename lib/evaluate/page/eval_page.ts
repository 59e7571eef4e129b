/**
 * An evaluation as a page: in words first, then section by section.
 *
 * @module
 */
import { listOf, pageOf } from "../../plot/page.ts";
import type { EvalReport } from "../report.ts";
import { adaptPart } from "./adapt_part.ts";
import { bitsPart } from "./bits_part.ts";
import { calibrationPart } from "./calibration_part.ts";
import { destinationPart } from "./destination_part.ts";
import { failurePart } from "./failure_part.ts";
import { findingsOf } from "./headline.ts";
import { rttPart } from "./rtt_part.ts";
import { runPart } from "./run_part.ts";
import { truthPart } from "./truth_part.ts";

/** The page of a report, as HTML. Sections that the report does not have are left out. */
export async function evalPage(report: EvalReport): Promise<string> {
  const { run, rtt, adapted, failures, bits, destinations, truth } = report;
  const hasForecasts = rtt !== undefined && rtt.model.overall.numMeasurements > 0;
  return await pageOf(`Evaluation of ${run.checkpoint}`, [
    listOf(findingsOf(report)),
    ...(hasForecasts ? [...rttPart(rtt), ...calibrationPart(rtt, report.calibration)] : []),
    ...(adapted ? adaptPart(adapted) : []),
    ...(truth && truth.numReplies > 0 ? truthPart(truth) : []),
    ...(failures ? failurePart(failures) : []),
    ...(bits ? bitsPart(bits) : []),
    ...(destinations && destinations.scores.length > 0 ? destinationPart(destinations) : []),
    ...runPart(run),
  ]);
}

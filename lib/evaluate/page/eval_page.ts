/**
 * An evaluation as a page: in words first, then section by section.
 *
 * @module
 */
import { pageOf } from "../../plot/page.ts";
import type { EvalReport } from "../report.ts";
import { adaptPart } from "./adapt_part.ts";
import { bitsPart } from "./bits_part.ts";
import { calibrationPart } from "./calibration_part.ts";
import { destinationPart } from "./destination_part.ts";
import { failurePart } from "./failure_part.ts";
import { headlineOf } from "./headline.ts";
import { rttPart } from "./rtt_part.ts";
import { runPart } from "./run_part.ts";
import { truthPart } from "./truth_part.ts";

/** The page of a report, as HTML. Sections that the report does not have are left out. */
export async function evalPage(report: EvalReport): Promise<string> {
  const { run, rtt, adapted, failures, bits, destinations, truth } = report;
  const hasForecasts = rtt !== undefined && rtt.model.overall.numMeasurements > 0;
  return pageOf(`Evaluation of ${run.checkpoint}`, [
    headlineOf(report),
    ...(hasForecasts ? [await rttPart(rtt), await calibrationPart(rtt, report.calibration)] : []),
    ...(adapted ? [await adaptPart(adapted)] : []),
    ...(truth && truth.numReplies > 0 ? [await truthPart(truth)] : []),
    ...(failures ? [await failurePart(failures)] : []),
    ...(bits ? [await bitsPart(bits)] : []),
    ...(destinations && destinations.scores.length > 0 ? [await destinationPart(destinations)] : []),
    runPart(run),
  ]);
}

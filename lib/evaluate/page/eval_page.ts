/**
 * An evaluation as a page: in words first, then section by section.
 *
 * @module
 */
import { pageOf } from "../../plot/page.ts";
import type { EvalReport } from "../report.ts";
import { runPart } from "./run_part.ts";

/** The page of a report, as HTML. */
export async function evalPage(report: EvalReport): Promise<string> {
  const parts: string[] = await Promise.resolve([]);
  return pageOf(`Evaluation of ${report.run.checkpoint}`, [...parts, runPart(report.run)]);
}

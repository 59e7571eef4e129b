/**
 * `inspect`: a summary of any file or folder of the chain.
 *
 * @module
 */
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { UsageError } from "../lib/base/errors.ts";
import { inspect } from "../lib/cli/inspect/inspect.ts";
import { describeReports, plotHistograms, reportsAsJson } from "../lib/cli/inspect/report.ts";
import { checkInputs } from "./stage_files.ts";
import { STAGES } from "./stages.ts";

export const inspectStage = defineStage(STAGES.inspect, async (options, context, paths) => {
  const { plot } = options;
  if (plot !== undefined && !/\.svg$/i.test(plot)) {
    throw new UsageError(`Cannot use --plot ${plot}: expected a name that ends with .svg`);
  }
  await checkInputs(paths, options, context);
  using progress = context.progress("inspecting", { unit: "rows" });
  const reports = await inspect(paths, {
    ...options,
    vocabulary: options.vocab,
    signal: context.signal,
    onProgress: (done, path) => progress.update(done, path),
  });
  if (plot !== undefined) {
    const groups = reports.map(({ kind, path, histograms = [] }) => ({
      title: `${kind}: ${path}`,
      histograms,
    }));
    await plotHistograms(plot, groups, { stage: "inspect", inputs: paths });
  }
  return { text: describeReports(reports), json: reportsAsJson(reports) };
});

if (import.meta.main) serveStage(inspectStage);

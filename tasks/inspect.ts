/** `inspect`: summarises any file or folder of the chain. @module */
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { UsageError } from "../lib/base/errors.ts";
import { inspect } from "../lib/cli/inspect/inspect.ts";
import { describeReports, plotHistograms, reportsAsJson } from "../lib/cli/inspect/report.ts";
import { openOwn, signed } from "./own_outputs.ts";
import { checkInputs } from "./stage_files.ts";
import { inspectCommand } from "./inspect.command.ts";

export const inspectStage = defineStage(inspectCommand, async (options, context, paths) => {
  const { plot } = options;
  if (plot !== undefined && !/\.svg$/i.test(plot)) {
    throw new UsageError(`Cannot use --plot ${plot}: expected a name that ends with .svg`);
  }
  using file = openOwn("inspect --plot", plot, options.overwrite);
  await checkInputs(paths, options, context);
  using progress = context.progress("inspecting", { unit: "rows" });
  const reports = await inspect(paths, {
    ...options,
    vocabulary: options.vocab,
    signal: context.signal,
    onProgress: (done, path) => progress.update(done, path),
  });
  if (file) {
    const groups = reports.map(({ kind, path, histograms = [] }) => ({
      title: `${kind}: ${path}`,
      histograms,
    }));
    file.finish(signed(await plotHistograms(file.path, groups), "inspect"));
  }
  return { text: describeReports(reports), json: reportsAsJson(reports) };
});

if (import.meta.main) serveStage(inspectStage);

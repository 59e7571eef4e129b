/**
 * `inspect`: a summary of any file or folder of the chain.
 *
 * @module
 */
import { flag } from "../lib/cli/flags.ts";
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { UsageError } from "../lib/base/errors.ts";
import { plotHistograms } from "../lib/cli/inspect/histogram.ts";
import { inspect } from "../lib/cli/inspect/inspect.ts";
import { describeReports, reportsAsJson } from "../lib/cli/inspect/report.ts";
import { checkInputs, verifyFlag } from "./input_check.ts";

/** The stage `inspect`. */
export const inspectStage = defineStage({
  name: "inspect",
  purpose:
    "summarises files or folders of the chain: counts, ranges, violations, samples; writes nothing except a picture.",
  example: "data/rows --samples 3",
  positionals: { placeholder: "PATH…", min: 1 },
  flags: {
    samples: flag.integer("number of rows, records and token samples to show", {
      default: 5,
      min: 0,
      max: 1000,
    }),
    sequenceLength: flag.integer("length of the sequences for the trial packing of probe rows, tokens", {
      default: 1024,
      min: 64,
      max: 0xffff,
    }),
    vocab: flag.choice(["v1", "v2"], "vocabulary of the token samples of measurements; probe rows have v2", {
      default: "v2",
    }),
    plot: flag.optionalText("draw histograms of measurements or probe rows to this file", {
      placeholder: "F.svg",
    }),
    onCorrupt: flag.choice(
      ["error", "skip"],
      "error: a damaged ArrayRecord chunk is an error; skip: it is skipped",
      {
        default: "error",
      },
    ),
    verify: verifyFlag,
  },
  async run(options, context, paths) {
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
  },
});

if (import.meta.main) serveStage(inspectStage);

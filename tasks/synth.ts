/**
 * `synth`: a synthetic Internet with a known truth, as a measurements Parquet file.
 *
 * @module
 */
import { flag } from "../lib/cli/flags.ts";
import { formatSeconds } from "../lib/base/text.ts";
import { defineStage, serveStage, type Stage, type StageResult } from "../lib/cli/stage.ts";
import { synthesize } from "../lib/data/synth/synthesize.ts";
import { truthPathBeside } from "../lib/data/synth/truth.ts";
import { type FileRun, makeOutputFile, outputPaths } from "./one_file_stage.ts";

/** The stage `synth`. */
export const synthStage: Stage = defineStage({
  name: "synth",
  purpose:
    "writes the measurements of a synthetic Internet as Parquet, and its truth as F.truth.json beside it.",
  example: "--output synth.parquet --rows 1_000_000",
  flags: {
    output: flag.requiredText("the Parquet file to write", { placeholder: "F.parquet" }),
    rows: flag.integer("measurements", { default: 200_000, min: 1, max: 2 ** 40 }),
    probes: flag.integer("sources", { default: 500, min: 1, max: 100_000 }),
    destinations: flag.integer("destinations", { default: 200, min: 1, max: 100_000 }),
    days: flag.number("length of the campaign, in days", { default: 28, min: 0.01, max: 3650 }),
    ipv6Share: flag.number("share of the probes that measure over IPv6", { default: 0.42, min: 0, max: 1 }),
    overwrite: flag.boolean("replace an output file that this stage wrote with other inputs or options"),
  },
  async run(options, context): Promise<StageResult> {
    const { output, seed, rows, probes, destinations, days, ipv6Share, workers, overwrite } = options;
    const made = { seed, rows, probes, destinations, days, ipv6Share };
    const besides = (path: string) => [truthPathBeside(path)];
    const start = { stage: "synth", inputs: [], options: made, overwrite, besides };
    const run = await makeOutputFile(output, start, async ({ path }) => {
      using progress = context.progress("making", { total: rows, unit: "rows" });
      const counts = await synthesize(path, {
        ...made,
        workers,
        signal: context.signal,
        onProgress: (done) => progress.update(done),
      });
      return { counts: { ...counts }, rows };
    });
    return describe(output, run);
  },
});

function describe(output: string, { manifest, seconds, isDone }: FileRun): StageResult {
  const { counts } = manifest;
  const json = {
    stage: "synth",
    ...counts,
    seconds,
    doneAlready: isDone,
    outputs: outputPaths(output, manifest),
  };
  const text = isDone
    ? `${output} exists already, made with the same options: ${counts.rows} rows`
    : `Wrote ${output} (${counts.rows} rows, ${counts.failed} without reply) and ` +
      `${truthPathBeside(output)} in ${formatSeconds(seconds)}`;
  return { text, json };
}

if (import.meta.main) serveStage(synthStage);

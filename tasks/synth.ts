/** `synth`: makes measurements of a synthetic Internet, with their true distributions. @module */
import { defineStage, serveStage, snakeKeys, type StageResult } from "../lib/cli/stage.ts";
import { synthesize } from "../lib/data/synth/synthesize.ts";
import { truthPathBeside } from "../lib/data/synth/truth.ts";
import { type FileRun, madeText, makeOutputFile, outputPaths } from "./stage_files.ts";
import { synthCommand } from "./synth.command.ts";

export const synthStage = defineStage(synthCommand, async (options, context): Promise<StageResult> => {
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
});

function describe(output: string, { manifest, seconds, isDone }: FileRun): StageResult {
  const { counts } = manifest;
  const json = {
    stage: "synth",
    ...snakeKeys(counts),
    seconds,
    done_already: isDone,
    outputs: outputPaths(output, manifest),
  };
  const text =
    `${madeText(output, { isDone, seconds })}: ${counts.rows} rows, ${counts.failed} without reply; ` +
    `their truth is in ${truthPathBeside(output)}`;
  return { text, json };
}

if (import.meta.main) serveStage(synthStage);

/**
 * `bench surprise`: how many planted outages, level shifts and spikes the p-values of `score` find.
 *
 * @module
 */
import { compareSurprise, describeSurprise, readCampaign } from "../lib/cli/bench/surprise.ts";
import { UserError } from "../lib/base/errors.ts";
import { PhaseProgress } from "../lib/cli/progress.ts";
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { listInputs } from "../lib/io/files/inputs.ts";
import { loadModel } from "../lib/query/files/load_model.ts";
import { parseNumbers } from "./bench_data.ts";
import { benchSurpriseCommand } from "./bench_surprise.command.ts";

const WANTED = { extensions: [".parquet"], wanted: "a measurements Parquet file" };

export const surpriseBench = defineStage(benchSurpriseCommand, async (options, stage) => {
  const [input, history] = [options.input, options.history].map((paths) => listInputs(paths, WANTED));
  const seeds = parseNumbers("seeds", options.seeds, { min: 0, max: 2 ** 32 - 1, example: "1,2,3" });
  const oneIn = parseNumbers("rows-per-false-alarm", options.rowsPerFalseAlarm, {
    min: 1,
    max: 1e9,
    example: "1000,100",
  });
  const campaign = await readCampaign(history, input);
  if (campaign.normal.length === 0) {
    throw new UserError(
      `Cannot compare on ${
        options.input.join(" ")
      }: found no row of a pair with ten replies in --history, expected some; ` +
        "give more history of the same pairs",
    );
  }
  using phases = new PhaseProgress(stage, "rows");
  using model = await loadModel(options.checkpoint, { onLog: stage.log });
  const compared = await compareSurprise(model, campaign, { seeds, oneIn, context: options.context }, {
    onProgress: phases.update,
    signal: stage.signal,
  });
  return { text: describeSurprise(compared), json: { stage: "bench surprise", ...compared } };
});

if (import.meta.main) serveStage(surpriseBench);

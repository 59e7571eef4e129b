/**
 * The worker thread of `eval`'s baselines, which need no GPU.
 *
 * @module
 */
import { serveJobs } from "../../io/threads/worker_pool.ts";
import { loadCheckpoint } from "../../train/checkpoint.ts";
import { openEvalRows } from "../eval_rows.ts";
import { placeLookup } from "../sections/place_section.ts";
import { type BaselineForecasts, type BaselineJob, forecastWithBaselines } from "./baseline_forecasts.ts";
import { chosenBaselines } from "./standard.ts";

serveJobs<undefined, BaselineJob, BaselineForecasts, [done: number, total: number]>(
  () => async ({ dataDir, checkpoint, geo, names, cases, ...options }, { report }) => {
    using rows = await openEvalRows(dataDir, options);
    const placeOf = await placeLookup(loadCheckpoint(checkpoint), geo);
    return await forecastWithBaselines(rows, cases, {
      ...options,
      baselines: chosenBaselines(names, options.seed, placeOf),
      onProgress: (done, total) => report([done, total]),
    });
  },
);

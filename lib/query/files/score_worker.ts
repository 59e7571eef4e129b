/** Worker thread of `score`: scores rows with its own copy of the model. @module */
import { serveJobs } from "../../io/threads/worker_pool.ts";
import { Gpu } from "../../tensor/device.ts";
import type { EngineName } from "../../tensor/engine.ts";
import { KernelRegistry } from "../../tensor/registry.ts";
import { PingModel } from "../ping_model.ts";
import { type Score, type ScoreCase, type ScoredModel, scoreResults } from "../score/score_results.ts";

interface Start extends ScoredModel {
  readonly engine: EngineName;
  readonly seed: number;
}

serveJobs(async ({ config, weights, pool, engine, seed }: Start) => {
  const model = PingModel.of(config, new KernelRegistry(await Gpu.open({ engine })), { weights, pool });
  return async (cases: ScoreCase[]): Promise<Score[]> => (await scoreResults(model, cases, { seed })).scores;
});

/**
 * Worker thread of `shard` or `probe-rows`; see stage_threads.ts.
 *
 * @module
 */
import { serveJobs } from "../../io/threads/worker_pool.ts";
import { type ProbeRowsOptions, probeRowsStage } from "./probe_rows.ts";
import { type ShardOptions, shardStage } from "./shard.ts";
import { doStageWork, type StageEvent, type StageResult, type StageWork } from "./stage_threads.ts";

/** What the pool's thread makes its own stage from. */
type StageSetup =
  | { name: "shard"; options: ShardOptions }
  | { name: "probe-rows"; options: ProbeRowsOptions };

serveJobs<StageSetup, StageWork, StageResult, StageEvent>(({ name, options }) => {
  const stage = name === "shard" ? shardStage(options) : probeRowsStage(options);
  return (work, context) => doStageWork(stage, work, context);
});

/**
 * A thread that makes blocks of sequences for the loader; see batches.ts.
 *
 * @module
 */
/// <reference no-default-lib="true" />
/// <reference lib="deno.worker" />
import { serveJobs } from "../threads/worker_pool.ts";
import { type BlockJob, BlockMaker, type BlockOptions } from "./blocks.ts";
import { openRowFiles, type RowFiles } from "./row_source.ts";

/** What the blocks of a worker are made from. */
export interface BlockWorkerSetup {
  /** Where rows are read from. */
  files: RowFiles;
  /** What blocks depend on; `blockRows` is chosen. */
  options: BlockOptions;
}

serveJobs(async ({ files, options }: BlockWorkerSetup) => {
  const maker = new BlockMaker(await openRowFiles(files), options);
  return (job: BlockJob) => maker.make(job);
});

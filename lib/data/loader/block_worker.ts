/**
 * Worker thread of the loader that makes blocks of sequences; see batches.ts.
 *
 * @module
 */
import { serveJobs } from "../../io/threads/worker_pool.ts";
import { type BlockJob, BlockMaker, type LoaderOptions } from "./blocks.ts";
import { openRowFiles, type RowFiles } from "./row_source.ts";

export interface BlockWorkerSetup {
  files: RowFiles;
  /** `blockRows` must be set. */
  options: LoaderOptions;
}

serveJobs(async ({ files, options }: BlockWorkerSetup) => {
  const maker = new BlockMaker(await openRowFiles(files), options);
  return (job: BlockJob) => maker.make(job);
});

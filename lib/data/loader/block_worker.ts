/**
 * A thread that makes blocks of sequences for the loader; see batches.ts.
 *
 * @module
 */
import { serveJobs } from "../../io/threads/worker_pool.ts";
import { type BlockJob, BlockMaker, type LoaderOptions } from "./blocks.ts";
import { openRowFiles, type RowFiles } from "./row_source.ts";

export interface BlockWorkerSetup {
  files: RowFiles;
  /** With a chosen `blockRows`. */
  options: LoaderOptions;
}

serveJobs(async ({ files, options }: BlockWorkerSetup) => {
  const maker = new BlockMaker(await openRowFiles(files), options);
  return (job: BlockJob) => maker.make(job);
});

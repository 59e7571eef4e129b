/**
 * The row groups of a campaign in the order of the file, made by this thread or by workers: the same bytes for any
 * number of them, since a group depends on its place alone.
 *
 * @module
 */
import { WorkerPool } from "../threads/worker_pool.ts";
import { ROW_GROUP_ROWS } from "../measurement/parquet_writer.ts";
import type { Campaign } from "./campaign.ts";
import { type MadeRowGroup, RowGroupMaker } from "./row_groups.ts";

const WORKER = new URL("./row_group_worker.ts", import.meta.url);

/**
 * Makes all row groups of a campaign. Memory holds two groups of a worker, some 3 MB each.
 *
 * @param options `numThreads`: 1 for this thread; more are workers, while this one only takes what they made.
 *   `signal`: ends the work when it is aborted.
 * @throws {Error} If a worker dies.
 */
export async function* makeRowGroups(
  campaign: Campaign,
  { numThreads, signal }: { numThreads: number; signal?: AbortSignal | undefined },
): AsyncGenerator<MadeRowGroup> {
  const numGroups = Math.ceil(campaign.numRows / ROW_GROUP_ROWS);
  const places = Array.from({ length: numGroups }, (_, index) => index);
  const numWorkers = Math.min(numThreads, numGroups);
  if (numWorkers > 1) {
    const options = { name: "synth", module: WORKER, numWorkers, signal };
    using pool = new WorkerPool<number, MadeRowGroup>(campaign, options);
    return yield* pool.inOrder(places);
  }
  const maker = new RowGroupMaker(campaign);
  for (const index of places) {
    await new Promise((resolve) => setTimeout(resolve, 0)); // so that signals are heard
    signal?.throwIfAborted();
    yield maker.make(index);
  }
}
